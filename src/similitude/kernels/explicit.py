"""Explicit feature maps phi of kernels, with K(x, z) = <phi(x), phi(z)>.

Order of the features: those of the parts of a sum one after the other, an added constant first; of a product the first
feature of the first part times all of the second part, and so on; monomials by degree, and within a degree by the order
of their factors: 1, x1, x2, x1 x1, x1 x2, x2 x2.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import combinations_with_replacement, repeat
from math import comb, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import check_objects, is_sparse, itemsize, rows
from similitude.compute.engines import current_engine, format_bytes
from similitude.kernels.graphs import Graphlet, ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from similitude.kernels.ragged import ragged_rows
from similitude.kernels.series import Convolutions, Signature
from similitude.kernels.sets import Intersection
from similitude.kernels.strings import Gapped, Mismatch, Spectrum, Words
from similitude.kernels.vectors import Cosine, Gaussian, Linear, Polynomial
from similitude.kernels.vectors.pairwise import squared_norms, unit_rows
from similitude.similarity import (
    Exponential,
    Normalized,
    Power,
    Product,
    Pullback,
    Scaled,
    Shifted,
    Similarity,
    Sum,
    image,
    remembered_images,
)
from similitude.support import check_integer


def explicit_dimension(kernel: Similarity, n_features: int, degree: int | None = None) -> int:
    r"""Return the number of features of :func:`explicit_map`, without computing them.

    :math:`\binom{d + k - 1}{k}` for :math:`\langle x, z\rangle^k` on d numbers, :math:`\binom{d + k}{k}` for
    :math:`(\langle x, z\rangle + c)^k` and for a series up to degree k; the numbers of the parts are added in a sum and
    multiplied in a product. (Balcan, lecture notes 10-315, section 1.2.1; Lecture 6: Kernels.)

    Parameters
    ----------
    kernel, degree
        See :func:`explicit_map`; here ``sigma="median"`` may be unresolved.
    n_features : int
        The dimension of the vectors; for a pulled-back kernel, of the values of its function.

    Examples
    --------
    >>> from similitude.kernels import Polynomial, explicit_dimension
    >>> explicit_dimension(Polynomial(degree=6, coef0=0.0), 100)
    1609344100
    """
    if not isinstance(kernel, Similarity):
        raise TypeError(f"expected a Similarity such as Polynomial(2), got {type(kernel).__name__}")
    kernel.check_params()
    check_integer("n_features", n_features, 0)
    check_integer("degree", 0 if degree is None else degree, 0)
    return _map_of(kernel, map(_Map, repeat(int(n_features))), degree).width


def explicit_map(kernel: Similarity, X: Any, degree: int | None = None, like: Any = None) -> Any:
    r"""Return the features phi(x) of every object, with :math:`K(x, z) = \langle\phi(x), \phi(z)\rangle`.

    Those of :math:`(s\langle x, z\rangle + c)^k` are, for all :math:`|\alpha| \le k` (= k if c = 0),

    .. math:: \sqrt{\frac{k!}{\alpha!\,(k - |\alpha|)!}\; c^{k - |\alpha|}\, s^{|\alpha|}}\; x^\alpha,

    so the linear ones of :math:`(\langle x, z\rangle + c)^2` are :math:`\sqrt{2c}\,x`. The Gaussian has
    :math:`e^{-|x|^2/(2\sigma^2)}\, x^\alpha / (\sigma^{|\alpha|} \sqrt{\alpha!})`, here up to `degree`, and
    exp(K) has the features of :math:`K^j/j!`, here up to j = `degree`. (Balcan, lecture notes 10-315, section
    1.2.1; Lecture 6: Kernels; Baros, Kernel Methods, example of the Gaussian.)

    Parameters
    ----------
    kernel : Similarity
        Linear, Cosine, Polynomial, Gaussian, or made of these by sums, products, integer powers, exp, factors and
        constants >= 0, normalization and pullback. Also Spectrum, Gapped, Mismatch, Words of strings, WeisfeilerLehman,
        WeisfeilerLehmanAssignment, ShortestPath, Graphlet of graphs, Convolutions, Signature of series and Intersection
        of sets.
    X : sequence of vectors, strings, graphs, series or sets
        Or the objects that a pulled-back kernel takes.
    degree : int, optional
        The highest degree of the series of Gaussian and exponential parts; only these need it.
    like : sequence of strings, graphs or sets, optional
        The objects whose features have columns; by default X. For new objects give those that a learner was trained
        on: the columns are then the same, and :math:`\langle\phi(x), \phi(z)\rangle` is exact for z in `like`. The norm
        of all other features of an object is in a last column. Not needed for vectors, series and graphlets.

    Returns
    -------
    array of shape (n, explicit_dimension)
        Sparse (CSR) for sparse vectors, strings, graphs and sets.
        Its size is checked against the memory budget and logged (logger ``similitude``) before it is computed.

    Examples
    --------
    >>> from similitude.kernels import Polynomial, explicit_map
    >>> explicit_map(Polynomial(degree=2, coef0=0.0), [[1., 2.]])
    array([[1.        , 2.82842712, 4.        ]])
    >>> from similitude.kernels import Spectrum
    >>> phi = explicit_map(Spectrum(2), ["banana", "bandana"])
    >>> (phi @ phi.T).toarray()
    array([[3., 3.],
           [3., 5.]])
    """
    explicit_dimension(kernel, 1, 0 if degree is None else degree)  # refuses kernels without a feature map
    kernel.check_resolved("explicit_map(kernel, X)")
    n = check_objects(X)
    with remembered_images():
        leaves = list(_leaves(kernel, X, like, n))
    D, size = _checked_size(kernel, leaves, degree)
    step = max(16, 2**22 * n // max(1, size))  # rows of a strip: 4 MiB fit into the cache
    cuts = [slice(start, start + step) for start in range(0, n, step)]
    strips = ((_Map(A.shape[1], partial(rows, A, cut)) for A in leaves) for cut in cuts)
    built = (_map_of(kernel, strip, degree).build() for strip in strips)
    if any(map(is_sparse, leaves)):
        found = _stacked(list(built), axis=0)
        if max(*found.shape, found.nnz) < 2**31:  # many learners take no other indices
            found.indices = found.indices.astype(np.int32, copy=False)
            found.indptr = found.indptr.astype(np.int32, copy=False)
        return found
    features = np.empty((n, D), np.result_type(*leaves))
    for cut, values in zip(cuts, built, strict=True):
        features[cut] = values
    return features


def _leaves(k: Similarity, X: Any, like: Any, n: int) -> Iterator[Any]:
    """Yield the matrix of each leaf; that of K ** 0 is a column of ones."""
    if isinstance(k, Pullback):
        X, like = (None if objects is None else image(k.f, objects, k.batched) for objects in (X, like))
    for part in k.premises():
        yield from _leaves(part, X, like, n)
    if hasattr(k, "features"):
        yield k.features(X, like)
    elif not k.premises():
        A: Any = np.ones((n, 1), f"f{itemsize(X)}") if isinstance(k, Power) else k.encode(X)
        if not isinstance(A, np.ndarray) and not is_sparse(A):
            raise TypeError(f"explicit_map needs NumPy or scipy sparse arrays, got {type(A).__name__}")
        if A.shape[0] != n:
            raise ValueError(f"the function of a pullback returned {A.shape[0]} vectors for {n} objects")
        yield A


def _checked_size(kernel: Similarity, leaves: list[Any], degree: int | None) -> tuple[int, int]:
    """Return the columns and bytes of the result (if sparse, as stored); log them, or refuse them by the budget."""
    n = leaves[0].shape[0]
    budget = current_engine().budget
    D = _map_of(kernel, (_Map(int(A.shape[1])) for A in leaves), degree).width
    value = max(A.dtype.itemsize for A in leaves)
    entries = n * D
    if any(map(is_sparse, leaves)):
        stored = [np.diff(A.indptr) if is_sparse(A) else np.full(n, A.shape[1]) for A in leaves]
        kinds, times = np.unique(np.column_stack(stored), axis=0, return_counts=True)
        widths = (_map_of(kernel, map(_Map, kind), degree).width for kind in kinds.tolist())
        entries = sum(map(prod, zip(widths, times.tolist(), strict=True)))
        value += 4 if D < 2**31 else 8  # and its column
    size = entries * value
    message = f"{D:,} explicit features of {n:,} objects take {format_bytes(min(size, 2**90))}"
    if size > budget or D >= 2**63:
        remedy = "use the kernel itself, a lower degree, or an engine with more memory"
        raise MemoryError(f"{message}, the memory budget is {format_bytes(budget)}: {remedy}")
    logging.getLogger("similitude").info(message)
    return D, size


class _Map(NamedTuple):
    """A feature map: its number of columns, and a function that computes them."""

    width: int
    build: Any = None

    def then(self, change: Callable[[Any], Any], width: int | None = None) -> _Map:
        return _Map(self.width if width is None else width, lambda: change(self.build()))

    def plus(self, c: float) -> _Map:
        wider = self.width + 1
        added = self.then(lambda A: _stacked([np.full((A.shape[0], 1), sqrt(c), A.dtype), A], axis=1), wider)
        return added if c > 0 else self

    def power(self, k: int, series: bool = False, damped: bool = False) -> _Map:
        width = comb(max(0, self.width + k - 1 + series), k)
        return self.then(lambda A: _monomials(A, k, series, damped), width)


def _map_of(k: Similarity, leaves: Iterator[_Map], degree: int | None) -> _Map:
    """Return the feature map of k, from those of its leaves in order."""
    if type(k) not in _RULES or getattr(k, "attributes", None) is not None:  # a subclass may compute something else
        raise TypeError(f"{k!r} has no finite feature map: use its gram and cross instead")
    for name in sorted({"scale", "coef0", "factor", "constant", "exponent"} & vars(k).keys()):
        value = getattr(k, name)
        needed = "a whole number >= 0" if name == "exponent" else ">= 0"
        if not value >= 0 or (name == "exponent" and value % 1):
            raise ValueError(f"{k!r} has no explicit features: its {name} must be {needed}, not {value}")
    if degree is None and isinstance(k, (Gaussian, Exponential)):
        remedy = f"give degree= for the truncated series of {k!r}, or use its gram and cross"
        raise ValueError(f"{type(k).__name__} has infinitely many features: {remedy}")
    parts = [_map_of(part, leaves, degree) for part in k.premises()] or [next(leaves)]
    return _RULES[type(k)](k, degree, *parts)


_RULES: dict[type, Callable[..., _Map]] = {
    **dict.fromkeys((Linear, Spectrum, Gapped, Mismatch, Words, Intersection), lambda k, degree, F: F),
    **dict.fromkeys((WeisfeilerLehman, WeisfeilerLehmanAssignment, ShortestPath), lambda k, degree, F: F),
    **dict.fromkeys((Graphlet, Convolutions), lambda k, degree, F: F.then(lambda A: A, k.width)),
    Signature: lambda k, degree, F: F.then(lambda A: A, k.width(F.width)),
    Cosine: lambda k, degree, F: F.then(unit_rows),
    Polynomial: lambda k, degree, F: F.then(lambda A: A * sqrt(k.scale)).plus(k.coef0).power(int(k.degree)),
    Gaussian: lambda k, degree, F: F.then(lambda A: A * (1 / float(k.sigma))).power(degree, True, True),
    Sum: lambda k, _, *F: _Map(sum(f.width for f in F), lambda: _stacked([f.build() for f in F], axis=1)),
    Product: lambda k, _, *F: _Map(prod(f.width for f in F), lambda: reduce(_outer, [f.build() for f in F])),
    Scaled: lambda k, degree, F: F.then(lambda A: A * sqrt(k.factor)),
    Shifted: lambda k, degree, F: F.plus(k.constant),
    Power: lambda k, degree, F: F.power(int(k.exponent)),
    Exponential: lambda k, degree, F: F.power(degree, True),
    Normalized: lambda k, degree, F: F.then(unit_rows),
    Pullback: lambda k, degree, F: F,
}


def _monomials(A: Any, k: int, series: bool, damped: bool) -> Any:
    start = np.exp(-0.5 * squared_norms(A)) if damped else np.ones(A.shape[0], A.dtype)
    if is_sparse(A):
        return _sparse_monomials(A, k, series, start)
    levels = list(_levels(A, k, series, start))
    return _stacked(levels if series else levels[-1:], axis=1)


def _levels(A: np.ndarray, k: int, series: bool, start: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the weighted monomials of degree 0, 1, …, k, each degree from the one before.

    x_i is multiplied with every monomial whose first factor is x_i or later, so that each monomial is made once. If x_i
    then has the power r, the weight sqrt(j! / alpha!) of degree j grows by sqrt(j / r).
    """
    level = start[:, None]
    first = np.zeros(1, int)
    power = np.zeros(1, int)
    yield level
    for j in range(1, k + 1):
        begins = np.searchsorted(first, np.arange(A.shape[1])) if j > 1 else np.zeros(A.shape[1], int)
        powers = [np.where(first[begin:] == i, power[begin:], 0) + 1 for i, begin in enumerate(begins)]
        weights = [np.sqrt((1 if series else j) / r).astype(A.dtype) for r in powers]
        parts = [level[:, b:] * A[:, i : i + 1] * w for i, (b, w) in enumerate(zip(begins, weights, strict=True))]
        first = np.repeat(np.arange(A.shape[1]), [len(r) for r in powers])
        level = np.concatenate([level[:, :0], *parts], axis=1)
        power = np.concatenate([power[:0], *powers])
        yield level


def _sparse_monomials(A: Any, k: int, series: bool, start: np.ndarray) -> Any:
    """Return the monomials of sparse rows: those of the stored entries, in their columns among all monomials."""
    counts = np.diff(A.indptr)
    d = A.shape[1]
    degrees = range(k * (not series), k + 1)
    width = sum(_number_of_monomials(d, j) for j in degrees)
    values = [A.data[:0]]
    places = [np.zeros(0, np.int64)]
    owners = [np.zeros(0, np.int64)]
    for m in np.unique(counts):
        rows_of_m = np.flatnonzero(counts == m)
        stored = A.indptr[rows_of_m][:, None] + np.arange(m)
        levels = list(_levels(A.data[stored], k, series, start[rows_of_m]))
        offset = 0
        for j in degrees:
            values.append(levels[j].ravel())
            places.append((offset + _places(A.indices[stored], j, d)).ravel())
            owners.append(np.repeat(rows_of_m, levels[j].shape[1]))
            offset += _number_of_monomials(d, j)
    coordinates = np.concatenate(owners), np.concatenate(places)
    from scipy.sparse import coo_array

    return type(A)(coo_array((np.concatenate(values), coordinates), shape=(A.shape[0], width)).tocsr())


def _number_of_monomials(d: Any, j: int) -> Any:
    """Return the number of monomials of degree j in d variables, for a number or an array of numbers d."""
    if isinstance(d, int):
        return comb(max(0, d + j - 1), j)
    different, which = np.unique(d, return_inverse=True)
    return np.array([_number_of_monomials(m, j) for m in different.tolist()], np.int64)[which].reshape(d.shape)


def _places(indices: np.ndarray, j: int, d: int) -> np.ndarray:
    """Return the column of each monomial of degree j of the stored variables among all those of d variables."""
    combinations = list(combinations_with_replacement(range(indices.shape[1]), j))
    factors = np.array(combinations, int).reshape(len(combinations), j)
    places = np.zeros((len(indices), len(factors)), np.int64)
    before = np.zeros((len(indices), len(factors)), np.int64)
    for t in range(j):
        variable = indices[:, factors[:, t]].astype(np.int64)
        places += _number_of_monomials(d - before, j - t) - _number_of_monomials(d - variable, j - t)
        before = variable
    return places


def _outer(A: Any, B: Any) -> Any:
    shape = A.shape[0], A.shape[1] * B.shape[1]
    if not is_sparse(A) and not is_sparse(B):
        return (A[:, :, None] * B[:, None, :]).reshape(shape)
    A, B = map(type(A if is_sparse(A) else B), (A, B))
    a = np.diff(A.indptr)
    starts, right = ragged_rows(B.indptr, np.repeat(np.arange(len(a)), a))
    left = np.repeat(np.arange(A.nnz), np.diff(starts))
    place = A.indices[left].astype(np.int64) * B.shape[1] + B.indices[right]
    return type(A)((A.data[left] * B.data[right], place, starts[A.indptr]), shape=shape)


def _stacked(parts: list[Any], axis: int) -> Any:
    kinds = [type(A) for A in parts if is_sparse(A)]
    if not kinds:
        return np.concatenate(parts, axis=axis)
    from scipy import sparse

    return (sparse.vstack, sparse.hstack)[axis]([kinds[0](A) for A in parts], format="csr")
