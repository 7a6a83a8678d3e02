"""What the similarities to landmarks that were not asked for can be: intervals that hold, or that held so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity
from similitude.support import ESTIMATE, PROVEN

WIDENING = 1e-9
"""What is added to the diagonal of a Gram matrix before it is solved with, which widens the intervals a little."""


@dataclass(frozen=True, eq=False)
class ValueRange:
    """Bounds of similarities.

    Attributes
    ----------
    low, high : float
        All similarities are between these.
    gram : array or None
        The similarities of the landmarks with each other, for a kernel with K(x, x) = 1: then what is known about an
        object bounds its other similarities.
    grade : str
        PROVEN if the bounds follow from claims of the similarity, ESTIMATE if they are those of the values seen.
    reason : str
        Why they hold, in words.
    """

    low: float
    high: float
    gram: np.ndarray | None
    grade: str
    reason: str

    @classmethod
    def of(cls, k: Similarity, values: np.ndarray, gram: np.ndarray) -> ValueRange:
        """Return the bounds that claims imply, or those of the values seen; `gram` has NaN where it is not known."""
        if {SYMMETRIC, PSD, UNIT_DIAGONAL} <= k.claims and not np.isnan(gram).any():
            return cls(-1.0, 1.0, gram, PROVEN, "the similarity is claimed to be a kernel with K(x, x) = 1")
        if BOUNDED in k.claims:
            return cls(-1.0, 1.0, None, PROVEN, "the similarity is claimed to be between -1 and 1")
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        return cls(low, high, None, ESTIMATE, f"all values seen are between {low:.4g} and {high:.4g}")

    def of_rest(self, F: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the similarities of objects to the other landmarks, up to the n-th one.

        `F` holds the similarities to the first landmarks. For a kernel with feature vectors of length 1, what is left
        of x and l outside of the span of the first landmarks has the lengths r and s, so that K(x, l) differs by at
        most r s from what the span tells.
        """
        m, shape = F.shape[1], (len(F), n - F.shape[1])
        low, high = np.full(shape, self.low), np.full(shape, self.high)
        if self.gram is None or not m:
            return low, high
        factor = cho_factor(self.gram[:m, :m] + WIDENING * np.eye(m))
        solved = cho_solve(factor, self.gram[:m, m:n])
        told = F @ solved
        left_of_landmarks = 1.0 - np.einsum("ij,ij->j", self.gram[:m, m:n], solved)
        left_of_objects = 1.0 - np.einsum("ij,ji->i", F, cho_solve(factor, F.T))
        reach = np.sqrt(np.outer(np.maximum(left_of_objects, 0.0), np.maximum(left_of_landmarks, 0.0)))
        return np.maximum(low, told - reach - WIDENING), np.minimum(high, told + reach + WIDENING)
