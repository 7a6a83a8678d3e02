r"""How much of a projection every example needs, and how much can wait until examples are added up.

Features are :math:`f = k\,U^{-1}`, and for each example that costs as much as adding its :math:`f f^\top` to the
sums. But :math:`\sum f f^\top = U^{-\top} (\sum k k^\top)\,U^{-1}`, so that sums of similarities would do, were it not
for rounding: dividing by U makes it larger. It is large for the few directions in which all objects are much alike, and
these are told by a few landmarks. So the coordinates of the first `leading` landmarks are made for every example and
taken out of its similarities to the others; only what is left waits.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from similitude.landmarks.triangular import PANEL

LARGEST_PART = 3
"""More than one part in so many of the landmarks are not worth the trouble."""

TIMES, HARMLESS = 4.0, 1e-12
"""Relative errors of the sums that are no reason to do more: so many times those of complete features, or so small."""

LOOKED_AT = 1_000
"""Examples by which it is decided."""

TURNS = 10
"""Steps of the power method."""


def leading(U: np.ndarray, F: np.ndarray) -> int | None:
    """Return how many coordinates to make for every example; None: all of them.

    Parameters
    ----------
    U : array of shape (m, m)
        The factor of the landmarks' Gram matrix.
    F : array of shape (n, m)
        The features of some examples, in the precision of all.

    Returns
    -------
    int or None
        Few enough to gain by it, and as many as keep the rounding of the sums, after the rest is made of them, near
        what rounding does to sums of complete features.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.random.default_rng(0).standard_normal((50, 4))
    >>> leading(np.eye(4), F)
    0
    >>> leading(np.diag([1.0, 1.0, 1.0, 1e-9]), F) is None
    True
    """
    slack = max(TIMES, HARMLESS / float(np.finfo(F.dtype).eps))
    inverse, F = np.triu(dtrtri(U)[0]), F[:: -(-len(F) // LOOKED_AT)].astype(np.float64)
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
