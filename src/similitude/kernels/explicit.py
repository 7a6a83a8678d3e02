"""Kernels as dot products: the features phi with K(x, z) = <phi(x), phi(z)>, written out as columns.

Order of features: a sum has those of its first part first, and an added constant before all; a product has the
first feature of its first part times all of its second part, and so on; monomials come by degree, and within a
degree by the order of their factors: 1, x1, x2, x1 x1, x1 x2, x2 x2.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import chain, repeat
from math import comb, prod, sqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from similitude.encodings import check_objects, is_sparse, itemsize, rows
from similitude.engines import current_engine
from similitude.engines.base import format_bytes
from similitude.errors import brief
from similitude.kernels.products import squared_norms
from similitude.kernels.radial import Gaussian
from similitude.kernels.vectors import Cosine, Linear, Polynomial
from similitude.similarity import Similarity
from similitude.similarity.algebra import Exponential, Power, Product, Scaled, Shifted, Sum
from similitude.similarity.base import image, remembered_images
from similitude.similarity.wrappers import Normalised, Pullback

STRIP_BYTES = 2**22
"""Features are built in strips of rows of about this size, so that little is held besides the result."""


def explicit_dimension(kernel: Similarity, n_features: int, degree: int | None = None) -> int:
    r"""Return how many features :func:`explicit_map` gives each object, without building anything.

    :math:`\binom{d + k - 1}{k}` for :math:`\langle x, z\rangle^k` on d numbers, :math:`\binom{d + k}{k}` for
    :math:`(\langle x, z\rangle + c)^k` and for a series up to degree k; parts add up in a sum and multiply in a
    product. (Balcan, lecture notes 10-315, section 1.2.1; Lecture 6: Kernels.)

    Parameters
    ----------
    kernel : Similarity
        See :func:`explicit_map`; here ``sigma="median"`` need not be fixed.
    n_features : int
        The dimension of the vectors; for a pulled-back kernel, of what its function returns.
    degree : int, optional
        Where the series of Gaussian and exponential parts ends.

    Examples
    --------
    >>> from similitude.kernels import Polynomial, explicit_dimension
    >>> explicit_dimension(Polynomial(degree=6, coef0=0.0), 100)
    1609344100
    """
    if not isinstance(kernel, Similarity):
        raise TypeError(f"explicit features need a Similarity such as Polynomial(2), got {brief(kernel)}")
    kernel.check_params()
    for name, value in (("n_features", n_features), ("degree", 0 if degree is None else degree)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} must be a whole number >= 0, got {value!r}")
    return _block(kernel, repeat(int(n_features)), degree).width


def explicit_map(kernel: Similarity, X: Any, degree: int | None = None) -> Any:
    r"""Return the features phi(x) of every object, with :math:`K(x, z) = \langle\phi(x), \phi(z)\rangle`.

    Those of :math:`(s\langle x, z\rangle + c)^k` are, for all :math:`|\alpha| \le k` (= k where c = 0),

    .. math:: \sqrt{\frac{k!}{\alpha!\,(k - |\alpha|)!}\; c^{k - |\alpha|}\, s^{|\alpha|}}\; x^\alpha,

    so the linear ones of :math:`(\langle x, z\rangle + c)^2` are :math:`\sqrt{2c}\,x`. The Gaussian has
    :math:`e^{-|x|^2/(2\sigma^2)}\, x^\alpha / (\sigma^{|\alpha|} \sqrt{\alpha!})`, here for :math:`|\alpha|` up to
    `degree`; exp(K) has the features of :math:`K^j/j!`, here for j up to `degree`. (Balcan, lecture notes 10-315,
    section 1.2.1; Lecture 6: Kernels; Baros, Kernel Methods, example of the Gaussian.)

    Parameters
    ----------
    kernel : Similarity
        Linear, Cosine, Polynomial, Gaussian, or made of these by sums, products, whole powers, exp, factors and
        constants >= 0, normalisation and pull-back.
    X : sequence of vectors
        Or of whatever a pulled-back kernel takes. Sparse vectors have sparse features.
    degree : int, optional
        Where the series of Gaussian and exponential parts ends; only these need it.

    Returns
    -------
    array of shape (n, explicit_dimension)
        Its size is logged on the logger ``similitude``, and refused beyond the engine's memory, before it is built.

    Examples
    --------
    >>> from similitude.kernels import Polynomial, explicit_map
    >>> explicit_map(Polynomial(degree=2, coef0=0.0), [[1., 2.], [3., -1.]])
    array([[ 1.        ,  2.82842712,  4.        ],
           [ 9.        , -4.24264069,  1.        ]])
    """
    explicit_dimension(kernel, 1, 0 if degree is None else degree)  # refuses what has no features at all
    kernel._demand_resolved("explicit_map(kernel, X)")
    explicit_dimension(kernel, 1, degree)
    n = check_objects(X)
    with remembered_images():
        leaves = list(_leaves(kernel, X, n))
    D, size = _announced(kernel, leaves, degree)
    step = max(16, STRIP_BYTES * n // max(1, size))
    strips = ([rows(A, slice(start, start + step)) for A in leaves] for start in range(0, n, step))
    built = (_block(kernel, iter(strip), degree).build() for strip in strips)
    if any(map(is_sparse, leaves)):
        return _stacked(list(built), axis=0)
    return np.fromiter(chain.from_iterable(built), np.dtype((np.result_type(*leaves), (D,))), n)


def _leaves(k: Similarity, X: Any, n: int) -> Iterator[Any]:
    """Yield the matrix of each leaf; K ** 0, which rests on no part, has a column of ones."""
    if isinstance(k, Pullback):
        X = image(k.f, X, k.batched)
    for part in k.premises():
        yield from _leaves(part, X, n)
    if not k.premises():
        A: Any = np.ones((n, 1), f"f{itemsize(X)}") if isinstance(k, Power) else k.encode(X)
        if not isinstance(A, np.ndarray) and not is_sparse(A):
            raise TypeError(f"explicit_map needs NumPy arrays or scipy sparse matrices, got {type(A).__name__}")
        if A.shape[0] != n:
            raise ValueError(f"the function of a pull-back returned {A.shape[0]} vectors for {n} objects")
        if is_sparse(A) and not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
        yield A


def _announced(kernel: Similarity, leaves: list[Any], degree: int | None) -> tuple[int, int]:
    """Return columns and bytes of the result (if sparse, of what it stores), once logged and within the budget."""
    n, budget = leaves[0].shape[0], current_engine().budget
    D = _block(kernel, iter([int(A.shape[1]) for A in leaves]), degree).width
    size = n * D * max(A.dtype.itemsize for A in leaves)
    if any(map(is_sparse, leaves)):
        stored = np.column_stack([np.diff(A.indptr) if is_sparse(A) else np.full(n, A.shape[1]) for A in leaves])
        kinds, times = np.unique(stored, axis=0, return_counts=True)
        entries = (_block(kernel, iter(kind), degree).width for kind in kinds.tolist())
        size = 16 * sum(map(prod, zip(entries, times.tolist(), strict=True)))  # a value and its place
    announcement = f"{D:,} explicit features of {n:,} objects take {format_bytes(min(size, 2**90))}"
    if size > budget or D >= 2**63:
        remedy = "use the kernel itself, a lower degree, or an engine with more memory"
        raise MemoryError(f"{announcement}, the memory budget is {format_bytes(budget)}: {remedy}")
    logging.getLogger("similitude").info(announcement)
    return D, size


class _Block(NamedTuple):
    """Features that are counted at once and built when asked for."""

    width: int
    build: Callable[[], Any]

    def then(self, change: Callable[[Any], Any], width: int | None = None) -> _Block:
        return _Block(self.width if width is None else width, lambda: change(self.build()))


def _block(k: Similarity, leaves: Iterator[Any], degree: int | None) -> _Block:
    """Return the features of k from its leaves, in order: their matrices, or only their numbers of columns."""
    if type(k) not in _RULES:  # a subclass may compute something else
        known = ", ".join(cls.__name__ for cls in _RULES)
        raise TypeError(f"{k!r} has no finite feature map: use its gram and cross. These have one: {known}")
    for name in {"scale", "coef0", "factor", "constant", "exponent"} & vars(k).keys():
        value, whole = getattr(k, name), name == "exponent"
        if not value >= 0 or (whole and value % 1):
            needed = "a whole number >= 0" if whole else ">= 0"
            raise ValueError(f"{k!r} has no features: its {name} must be {needed}, not {value}")
    if degree is None and isinstance(k, (Gaussian, Exponential)):
        remedy = f"give degree= for the truncated series of {k!r}, or use its gram and cross"
        raise ValueError(f"{type(k).__name__} has infinitely many features: {remedy}")
    parts = [_block(part, leaves, degree) for part in k.premises()] or [_leaf(next(leaves))]
    return _RULES[type(k)](k, degree, *parts)


def _leaf(A: Any) -> _Block:
    return _Block(A if isinstance(A, int) else A.shape[1], lambda: A)


def _shifted(F: _Block, c: float) -> _Block:
    def with_constant(A: Any) -> Any:
        return _stacked([np.full((A.shape[0], 1), sqrt(c), A.dtype), A], axis=1)

    return F.then(with_constant, F.width + 1) if c > 0 else F


def _power(F: _Block, k: int) -> _Block:
    return F.then(lambda A: deque(_levels(A, k), maxlen=1).pop(), comb(max(0, F.width + k - 1), k))


def _series(F: _Block, k: int, sigma: Any = None) -> _Block:
    return F.then(lambda A: _stacked([*_levels(A, k, True, sigma)], axis=1), comb(F.width + k, k))


_RULES: dict[type, Callable[..., _Block]] = {
    Linear: lambda k, degree, F: F,
    Cosine: lambda k, degree, F: F.then(_unit),
    Polynomial: lambda k, _, F: _power(_shifted(F.then(lambda A: A * sqrt(k.scale)), k.coef0), int(k.degree)),
    Gaussian: lambda k, degree, F: _series(F, degree, k.sigma),
    Sum: lambda k, degree, *F: _Block(sum(f.width for f in F), lambda: _stacked([f.build() for f in F], axis=1)),
    Product: lambda k, _, *F: _Block(prod(f.width for f in F), lambda: reduce(_outer, [f.build() for f in F])),
    Scaled: lambda k, degree, F: F.then(lambda A: A * sqrt(k.factor)),
    Shifted: lambda k, degree, F: _shifted(F, k.constant),
    Power: lambda k, degree, F: _power(F, int(k.exponent)),
    Exponential: lambda k, degree, F: _series(F, degree),
    Normalised: lambda k, degree, F: F.then(_unit),
    Pullback: lambda k, degree, F: F,
}


def _unit(A: Any) -> Any:
    norms = np.sqrt(squared_norms(A))
    return _outer(A, np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)[:, None])


def _levels(A: Any, last: int, series: bool = False, sigma: Any = None) -> Iterator[Any]:
    """Yield the monomials of degree j = 0 to `last`, times sqrt(j! / alpha!), or in a series sqrt(1 / alpha!).

    Level j has each stored x_i of a row times those of level j - 1 with no factor before x_i: the end of the row.
    """
    A = A if sigma is None else A * (1 / float(sigma))
    start = np.ones(A.shape[0], A.dtype) if sigma is None else np.exp(-0.5 * squared_norms(A))
    d, sparse = A.shape[1], is_sparse(A)
    x, columns, counts = (A.data, A.indices, np.diff(A.indptr)) if sparse else (A, np.arange(d), np.array([d]))
    after = np.repeat(np.cumsum(counts), counts) - np.arange(len(columns))  # entries from here to the row's end
    row = np.repeat(np.arange(len(counts)), counts)
    size = np.ones(d + 1, np.int64)  # how many monomials m variables have
    level, place, run, first = (start if sparse else start[:, None]), *np.zeros((3, len(counts)), np.int64)
    for j in range(last + 1):
        if j > 0:
            entry, nth = _ranges(size[after])
            older = np.cumsum(size[counts])[row[entry]] - size[after][entry] + nth
            run = np.where((first[older] == entry) & (j > 1), run[older] + 1, 1)  # how often x_i is a factor
            level = np.take(level, older, axis=-1)
            level *= np.take(x, entry, axis=-1)
            level *= np.sqrt((1 if series else j) / run).astype(A.dtype)
            m, fewer, size, first = d - columns[entry], size, np.append(0, np.cumsum(size[1:])), entry
            place = place[older] + (size[d] - size[m]) - (fewer[d] - fewer[m])
        yield _csr(A, level, place, size[counts], size[d]) if sparse else level


def _ranges(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 0, 0, 1, 1, 1 and 0, 1, 0, 1, 2 for lengths 2, 3."""
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, np.arange(len(which)) - (np.cumsum(lengths) - lengths)[which]


def _outer(A: Any, B: Any) -> Any:
    n, width = A.shape[0], A.shape[1] * B.shape[1]
    if not is_sparse(A) and not is_sparse(B):
        return (A[:, :, None] * B[:, None, :]).reshape(n, width)
    A, B = map(type(A if is_sparse(A) else B), (A, B))
    a, b = np.diff(A.indptr).astype(np.int64), np.diff(B.indptr)
    left, nth = _ranges(np.repeat(b, a))
    right = np.repeat(B.indptr[:-1], a)[left] + nth
    places = A.indices[left].astype(np.int64) * B.shape[1] + B.indices[right]
    return _csr(A, A.data[left] * B.data[right], places, a * b, width)


def _csr(like: Any, values: np.ndarray, places: np.ndarray, counts: np.ndarray, width: int) -> Any:
    return type(like)((values, places, np.append(0, np.cumsum(counts))), shape=(len(counts), int(width)))


def _stacked(parts: list[Any], axis: int) -> Any:
    kinds = [type(A) for A in parts if is_sparse(A)]
    if not kinds:
        return np.concatenate(parts, axis=axis)
    from scipy import sparse

    return (sparse.vstack, sparse.hstack)[axis]([kinds[0](A) for A in parts], format="csr")
