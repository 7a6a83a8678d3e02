r"""Partial projection: how many features to complete for every row, and how many only after summing over rows.

Features are :math:`f = k\,U^{-1}`, and computing them costs as much for each row as adding :math:`f f^\top` to the
normal equations. But :math:`\sum f f^\top = U^{-\top} (\sum k k^\top)\,U^{-1}`, so sums of similarities would be
enough, were it not for rounding: dividing by U amplifies it. The amplification is large for the few directions in which
all objects are similar, and a few landmarks span these. So the features of the first `leading` landmarks are computed
for every row and subtracted from its similarities to the others; only the rest waits until after the sum.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

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
    inverse, F = np.triu(dtrtri(U)[0]), F[:: -(-len(F) // DECIDING_ROWS)].astype(np.float64)
    allowed = slack * _largest_square(F)
    for r in range(0, len(U) // LARGEST_PART + 1, PANEL):
        left = F[:, r:] @ U[r:, r:]
        if np.square(left).mean(axis=0).max() * _largest_square(inverse[r:, r:]) * len(F) <= allowed:
            return r
    return None


def _largest_square(A: np.ndarray) -> float:
    """Return the square of the largest singular value, or a little less."""
    v = A[np.square(A).sum(axis=1).argmax()]
    if not v.any():
        return 0.0
    for _ in range(TURNS):
        v = A.T @ (A @ (v / np.linalg.norm(v)))
    return float(np.linalg.norm(v))
