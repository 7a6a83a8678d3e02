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

__all__ = ["SHAPES", "SUMS", "apply", "of_products", "of_sums", "worst_triple"]

Array = NDArray[Any]

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
