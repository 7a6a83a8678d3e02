"""Readable NumPy twins of the compiled loops: the oracle of the tests, and the fallback where nothing was compiled.

Loops that end in a function of a distance or of a dot product take it as `shape` with numbers `p`, `q`, `degree`:

====================  =======================================  =========================
shape                 value at x                               x is
====================  =======================================  =========================
identity              x                                        anything
root                  sqrt(x)                                  a squared distance
gaussian              exp(p x)                                 a (squared) distance
laplace               exp(p sqrt(x))                           a squared distance
matern3               (1 + u) exp(-u), u = p sqrt(x)           a squared distance
matern5               (1 + u + u^2/3) exp(-u), u = p sqrt(x)   a squared distance
rational_quadratic    (1 + p x)^-q                             a squared distance
polynomial            (p x + q)^degree                         a dot product
sigmoid               tanh(p x + q)                            a dot product
====================  =======================================  =========================
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.reference_solvers import add_rows, smo

__all__ = [
    "CSR",
    "SHAPES",
    "SUMS",
    "add_rows",
    "apply",
    "common_bits",
    "cos_sin",
    "count_bits",
    "hadamard",
    "mirror",
    "of_products",
    "of_sparse_sums",
    "of_sums",
    "perceptron_pass",
    "smo",
    "sparse_dense_products",
    "sparse_products",
    "worst_triple",
]

Array = NDArray[Any]
CSR = tuple[Array, Array, Array]
"""Sparse rows: row i has the entries data[indptr[i]:indptr[i+1]] in the columns indices[indptr[i]:indptr[i+1]]."""

FUNCTIONS: dict[str, Callable[[Array, float, float, int], Array]] = {
    "identity": lambda x, p, q, degree: x,
    "root": lambda x, p, q, degree: np.sqrt(x),
    "gaussian": lambda x, p, q, degree: np.exp(p * x),
    "laplace": lambda x, p, q, degree: np.exp(p * np.sqrt(x)),
    "matern3": lambda x, p, q, degree: (1 + p * np.sqrt(x)) * np.exp(-p * np.sqrt(x)),
    "matern5": lambda x, p, q, degree: (1 + p * np.sqrt(x) + p * p * x / 3) * np.exp(-p * np.sqrt(x)),
    "rational_quadratic": lambda x, p, q, degree: (1 + p * x) ** -q,
    "polynomial": lambda x, p, q, degree: (p * x + q) ** degree,
    "sigmoid": lambda x, p, q, degree: np.tanh(p * x + q),
}
SHAPES = tuple(FUNCTIONS)

TERMS: dict[str, Callable[[Array, Array], Array]] = {
    "squared_difference": lambda s, t: (s - t) ** 2,
    "absolute_difference": lambda s, t: np.abs(s - t),
    "smaller": np.minimum,
}
SUMS = tuple(TERMS)


def apply(values: Array, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """Replace every entry of a matrix by the value of a function, in place."""
    with np.errstate(all="ignore"):
        values[...] = FUNCTIONS[shape](values, p, q, degree)


def of_products(
    products: Array,
    A: Array,
    B: Array,
    a: Array,
    b: Array,
    shape: str,
    p: float = 0.0,
    q: float = 0.0,
    degree: int = 1,
) -> None:
    """Replace dot products <a_i, b_j> by a function of |a_i - b_j|^2 = |a_i|^2 + |b_j|^2 - 2 <a_i, b_j>, in place.

    Pairs that are so close that this formula loses half of the digits are computed from their difference.

    Parameters
    ----------
    products : array of shape (n, m)
        The dot products of the rows of `A` and `B`.
    A, B : arrays of shape (n, d) and (m, d)
        The vectors.
    a, b : arrays of shape (n,) and (m,)
        Their squared lengths.
    """
    both = a[:, np.newaxis] + b[np.newaxis, :]
    products[...] = both - 2 * products
    i, j = np.nonzero(products < 64 * np.sqrt(np.finfo(products.dtype).eps) * both)
    products[i, j] = ((A[i] - B[j]) ** 2).sum(axis=1)
    apply(products, shape, p, q, degree)


def of_sums(
    out: Array,
    A: Array,
    B: Array,
    terms: str,
    shape: str = "identity",
    p: float = 0.0,
    q: float = 0.0,
    degree: int = 1,
) -> None:
    """Write a function of sums over features into `out`.

    Parameters
    ----------
    out : array of shape (n, m)
        Where the results go.
    A, B : arrays of shape (n, d) and (m, d)
        The vectors.
    terms : str
        What is summed: ``squared_difference``, ``absolute_difference`` or ``smaller`` (the smaller of two entries).
    """
    out[...] = 0
    for k in range(A.shape[1]):
        out += TERMS[terms](A[:, k, np.newaxis], B[np.newaxis, :, k])
    apply(out, shape, p, q, degree)


def mirror(out: Array, values: Array) -> None:
    """Write the transposed matrix into `out`, which shares no entry with it."""
    out[...] = values.T


def sparse_products(out: Array, A: CSR, Bt: CSR) -> None:
    """Write the dot products <a_i, b_j> of sparse rows into `out`.

    Parameters
    ----------
    out : array of shape (n, m)
        Where the results go.
    A : triple of arrays
        Data, indices and indptr of n sparse rows, entries finite.
    Bt : triple of arrays
        The same of B transposed: for each column of B, the rows that have an entry there.
    """
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        for a, k in zip(values, columns, strict=True):
            of_k = slice(Bt[2][k], Bt[2][k + 1])
            np.add.at(row, Bt[1][of_k], a * Bt[0][of_k])


def sparse_dense_products(out: Array, A: CSR, Bt: Array) -> None:
    """Write the dot products <a_i, b_j> of sparse rows a_i and the columns b_j of a dense `Bt` into `out`."""
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        row += values @ Bt[columns]


def of_sparse_sums(
    out: Array,
    A: CSR,
    B: CSR,
    Bt: CSR,
    terms: str,
    shape: str = "identity",
    p: float = 0.0,
    q: float = 0.0,
    degree: int = 1,
) -> None:
    """Write a function of sums over features of sparse rows into `out`: `of_sums` for what is mostly zero.

    Rows that are equal give a difference of exactly zero, and rows that are close lose no digits.

    Parameters
    ----------
    out : array of shape (n, m)
        Where the results go.
    A, B : triples of arrays
        Data, indices and indptr of the rows; the indices of each row increase.
    Bt : triple of arrays
        The same of B transposed.
    terms : str
        As for `of_sums`.
    """
    term, zero = TERMS[terms], np.zeros(1, out.dtype)
    A_rows, B_rows = (list(zip(*_rows(M), strict=True)) for M in (A, B))
    a, b = (np.array([term(values, zero).sum() for values, _ in M], out.dtype) for M in (A_rows, B_rows))
    for i, (values, columns) in enumerate(A_rows):
        out[i] = a[i] + b
        for x, k in zip(values, columns, strict=True):
            of_k = slice(Bt[2][k], Bt[2][k + 1])
            z = Bt[0][of_k]
            out[i, Bt[1][of_k]] += term(x, z) - (term(x, zero) + term(zero, z))
        if terms != "smaller":
            for j in np.flatnonzero(out[i] < 64 * np.sqrt(np.finfo(out.dtype).eps) * (a[i] + b)):
                out[i, j] = _sum_of_pair(*A_rows[i], *B_rows[j], term)
    apply(out, shape, p, q, degree)


def _sum_of_pair(a: Array, a_columns: Array, b: Array, b_columns: Array, term: Callable[[Array, Array], Array]) -> Any:
    columns = np.union1d(a_columns, b_columns)
    both = np.zeros((2, len(columns)), a.dtype)
    both[0, np.searchsorted(columns, a_columns)] = a
    both[1, np.searchsorted(columns, b_columns)] = b
    return term(both[0], both[1]).sum()


def _rows(A: CSR) -> tuple[list[Array], list[Array]]:
    """Return the values of each row, and their columns."""
    ends = A[2][1:-1]
    if len(A[2]) == 1:
        return [], []
    return np.split(A[0], ends), np.split(A[1], ends)


def common_bits(out: Array, A: NDArray[np.uint64], B: NDArray[np.uint64]) -> None:
    """Write the numbers of bits that are set in both a_i and b_j, rows of 64-bit words, into `out`."""
    for i, row in enumerate(A):
        out[i] = count_bits(row & B)


def count_bits(A: NDArray[np.uint64]) -> Array:
    """Return the number of bits that are set in each row of 64-bit words."""
    return np.unpackbits(np.ascontiguousarray(A).view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)


def perceptron_pass(
    K: Array, y: NDArray[np.float64], scores: NDArray[np.float64], threshold: float = 0.0, strict: bool = False
) -> Array:
    """Let a kernel perceptron see the examples of one chunk one after the other; return which ones it learned from.

    It learns from example i if ``y[i] * scores[i] <= threshold`` (or ``<``, if `strict`): then ``y[i] * K[i, j]`` is
    added to the score of every later example j.

    Parameters
    ----------
    K : array of shape (n, n)
        Row i is what example i contributes to the scores of all.
    y : array of float64, shape (n,)
        1 or -1.
    scores : array of float64, shape (n,)
        In: the score of each example by what was learned before. Out: the score it had when its turn came.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.zeros(3)
    >>> perceptron_pass(np.ones((3, 3)), np.array([1.0, 1.0, -1.0]), scores)
    array([ True, False,  True])
    >>> scores
    array([0., 1., 1.])
    """
    if len(y) and not (np.abs(y) == 1).all():
        raise ValueError("y must be 1 or -1")
    updated = np.zeros(len(K), bool)
    for i in range(len(K)):
        margin = y[i] * scores[i]
        updated[i] = margin < threshold if strict else margin <= threshold
        if updated[i]:
            scores[i + 1 :] += y[i] * K[i, i + 1 :].astype(np.float64)
    return updated


def hadamard(values: Array, signs: Array, size: int) -> None:
    """Turn every stretch v of `size` entries of a row into H D_k ... H D_1 v, in place.

    D_i has row i of `signs` on its diagonal; H is the Walsh-Hadamard matrix of 1 and -1: ``H[i, j]`` is -1 where i and
    j have an odd number of binary digits 1 in common. `size` is a power of two that divides the number of columns.

    >>> values = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> hadamard(values, np.ones((1, 4)), 4)
    >>> values
    array([[10., -2., -4.,  0.]])
    """
    if size < 1 or size & (size - 1) or values.shape[1] % size or signs.shape[1] != values.shape[1]:
        raise ValueError("size must be a power of two that divides the number of columns, which signs must have too")
    for sign in signs:
        values *= sign
        h = 1
        while h < size:
            pairs = values.reshape(len(values), values.shape[1] // (2 * h), 2, h)  # of entries that are h apart
            left, right = pairs[:, :, 0], pairs[:, :, 1]
            left[...], right[...] = left + right, left - right
            h *= 2


def cos_sin(turns: Array, sines: Array, scale: float = 1.0) -> None:
    """Replace angles, in quarter turns, by their cosines and write their sines beside; both times `scale`.

    >>> turns, sines = np.array([[0.0, 1.0, 4.5]]), np.empty((1, 3))
    >>> cos_sin(turns, sines)
    >>> turns.round(3) + 0.0, sines.round(3)
    (array([[1.   , 0.   , 0.707]]), array([[0.   , 1.   , 0.707]]))
    """
    if sines.shape != turns.shape:
        raise ValueError("one place for the sine of each angle")
    angles = np.remainder(turns, 4) * (np.pi / 2)  # with little left of an angle to round
    sines[...], turns[...] = scale * np.sin(angles), scale * np.cos(angles)


def worst_triple(K: NDArray[np.float64]) -> tuple[int, int, int, float]:
    """Find the three items whose 3 x 3 determinant is smallest.

    A symmetric matrix with unit diagonal is positive semi-definite only if each of its
    3 x 3 principal minors ``1 + 2 a b c - a**2 - b**2 - c**2`` is at least 0, where
    ``a = K[i, j]``, ``b = K[i, k]`` and ``c = K[j, k]``.

    Parameters
    ----------
    K : array of float64, shape (n, n)
        A symmetric, C-contiguous matrix with unit diagonal and finite entries, n >= 3.
        Symmetry and the diagonal are taken on trust: only entries above the diagonal are used.

    Returns
    -------
    i, j, k : int
        The triple, i < j < k; of equal triples, the first in lexicographic order.
    value : float
        Its determinant.

    Raises
    ------
    ValueError
        If `K` is not square, has fewer than 3 rows, or has an entry that is not finite.

    Examples
    --------
    Item 0 resembles both 1 and 2, which are opposites of each other.

    >>> import numpy as np
    >>> K = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
    >>> i, j, k, value = worst_triple(K)
    >>> i, j, k
    (0, 1, 2)
    >>> value
    -2.888
    """
    if K.shape[0] < 3 or K.shape[1] != K.shape[0]:
        raise ValueError(f"worst_triple needs a square matrix with at least 3 rows, got shape {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("worst_triple needs finite entries")
    worst = (0, 0, 0, np.inf)
    for i in range(len(K) - 2):
        a = K[i, i + 1 :, np.newaxis]
        b = K[i, np.newaxis, i + 1 :]
        c = K[i + 1 :, i + 1 :]
        determinants = 1.0 + 2.0 * a * b * c - a * a - b * b - c * c
        determinants[np.tril_indices_from(determinants)] = np.inf
        j, k = divmod(int(determinants.argmin()), len(determinants))
        value = float(determinants[j, k])
        if value < worst[3]:
            worst = (i, i + 1 + j, i + 1 + k, value)
    return worst
