"""EarlyStops: which predictions of a frugal fit stop before all landmarks, and on what ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.support import ESTIMATE, PROVEN, Result


@dataclass(frozen=True)
class EarlyStops(Result):
    """Where predictions stopped, and on what ground.

    Attributes
    ----------
    calls : array of int
        Landmarks that each object was compared with; one counts twice if both directions are asked for.
    most : int
        All of them.
    settled : array of bool
        Whether no further similarity within its bounds can change the class that the object got.
    grade : str
        PROVEN if the bounds follow from claims of the similarity, ESTIMATE if they are those of the values seen.
    reason : str
        Why the bounds hold.
    """

    calls: np.ndarray
    most: int
    settled: np.ndarray
    grade: str
    reason: str

    @property
    def grades(self) -> np.ndarray:
        """For each object: PROVEN or ESTIMATE if it stopped early, an empty text if it was compared with all."""
        ground = np.where(self.settled & (self.grade == PROVEN), PROVEN, ESTIMATE)
        found: np.ndarray = np.where(self.calls < self.most, ground, "")
        return found

    def __str__(self) -> str:
        early = self.calls < self.most
        settled = int((self.settled & early).sum())
        return (
            f"{early.sum():,} of {len(early):,} predictions stopped early, after {self.calls.mean():.1f} of "
            f"{self.most:,} landmarks on average:\n"
            f"{settled:,} because the others cannot change the class ({self.grade}: {self.reason}),\n"
            f"{early.sum() - settled:,} because the others would hardly ever change it ({ESTIMATE}: training rows left "
            "out of the fit)"
        )
