"""Readable NumPy versions of the compiled loops, used where there is no compiled module."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["worst_triple"]


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
