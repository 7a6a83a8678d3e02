r"""Partial projection: how many features to complete for every row, and how many only after summing over rows.

Features are :math:`f = k\,U^{-1}`, and computing them costs as much for each row as adding :math:`f f^\top` to the
normal equations. But :math:`\sum f f^\top = U^{-\top} (\sum k k^\top)\,U^{-1}`, so sums of similarities would be
enough, were it not for rounding: dividing by U amplifies it. The amplification is large for the few directions in which
all objects are similar, and a few landmarks span these. So the features of the first `leading` landmarks are computed
for every row and subtracted from its similarities to the others; only the rest waits until after the sum.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from scipy.linalg import get_lapack_funcs

from similitude.landmarks.projection import PANEL

LARGEST_PART = 3
"""At most one landmark in this many leads; more would save too little."""

TIMES, HARMLESS = 4.0, 1e-12
"""Accepted relative error of the sums: a multiple of that of complete features, or this small."""

DECIDING_ROWS = 1_000
"""Rows that the decision is based on."""

TURNS = 10
"""Steps of the power method."""


def n_leading(U: np.ndarray, F: np.ndarray) -> int | None:
    """Return how many features to complete for every row; None: all of them.

    Parameters
    ----------
    U : array of shape (m, m)
        The factor of the landmarks' Gram matrix.
    F : array of shape (n, m)
        The features of some rows, in the precision of all.

    Returns
    -------
    int or None
        As many as keep the rounding of the completed sums near that of sums of complete features, if these are few
        enough to save time.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.random.default_rng(0).standard_normal((50, 4))
    >>> n_leading(np.eye(4), F)
    0
    >>> n_leading(np.diag([1.0, 1.0, 1.0, 1e-9]), F) is None
    True
    """
    slack = max(TIMES, HARMLESS / float(np.finfo(F.dtype).eps))
    F = F[:: -(-len(F) // DECIDING_ROWS)]
    U = U.astype(F.dtype, copy=False)
    (inverted,) = get_lapack_funcs(("trtri",), (U,))
    inverse, left = inverted(U)[0], _left_by(U, F)
    allowed = slack * _largest_square(F) / len(F)
    numbers = sorted(left)  # the more, the less is left and the smaller is what remains of the inverse
    place = bisect_left(numbers, True, key=lambda r: left[r] * _largest_square(inverse[r:, r:]) <= allowed)
    return numbers[place] if place < len(numbers) else None


def _left_by(U: np.ndarray, F: np.ndarray) -> dict[int, float]:
    """Return, for each number of features that may lead, the largest mean square of a similarity less its projection.

    The last features are added up first: nothing cancels.
    """
    left, found, stop = np.zeros_like(F), {}, len(U)
    for r in reversed(range(0, len(U) // LARGEST_PART + 1, PANEL)):
        left[:, r:] += F[:, r:stop] @ U[r:stop, r:]
        found[r] = float(np.square(left[:, r:]).mean(axis=0).max())
        stop = r
    return found


def _largest_square(A: np.ndarray) -> float:
    """Return the square of the largest singular value, or a little less."""
    v = A[np.einsum("ij,ij->i", A, A).argmax()]
    if not v.any():
        return 0.0
    for _ in range(TURNS):
        v = A.T @ (A @ (v / np.linalg.norm(v)))
    return float(np.linalg.norm(v))
