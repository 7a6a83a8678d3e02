"""Groups of training rows around a few landmarks, of one class each where there are classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import beside, in_precision, namespace
from similitude.landmarks.features import LandmarkFeatures, Landmarks, side_by_side

MOST_NUMBERS, OF_FEW = 28, 20
"""Numbers that are kept of each landmark to explain predictions: groups, times the outputs if each has its own; and how
many of them if there are few landmarks. In double precision, they take less than 256 bytes."""

FEWEST_GROUPS = 4
"""Groups of rows with several numbers as targets, however many these are."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows are grouped by the landmark that they are most similar to, among some landmarks; classes are kept apart.

    Attributes
    ----------
    landmarks : array of int
        The landmark of each group, by its position among those of the first similarity.
    classes : array of int, or None
        The class of the rows of each group; None if targets are numbers.
    """

    landmarks: np.ndarray
    classes: np.ndarray | None = None

    @classmethod
    def around(
        cls, landmarks: Landmarks, n_outputs: int, *, classes: bool, numbers: int = 1, among: Any = None
    ) -> Groups:
        """Choose landmarks to group rows around: the first ones, of each class if their classes are known.

        Parameters
        ----------
        landmarks : Landmarks
        n_outputs : int
            Columns of the targets; 1 for two classes.
        classes : bool
            Whether targets are codes of classes.
        numbers : int
            How many numbers a group takes for each landmark.
        among : array of int, optional
            The landmarks to choose from; by default all of them.
        """
        candidates = np.arange(len(landmarks)) if among is None else among
        most = min(MOST_NUMBERS, max(OF_FEW, len(landmarks) // 2))
        if not classes:
            return cls(candidates[: max(FEWEST_GROUPS, most // numbers)])
        n_classes = max(2, n_outputs)
        each, chosen, kinds = max(1, most // (n_classes * numbers)), [], []
        for one in range(n_classes):
            own = candidates if landmarks.labels is None else candidates[landmarks.labels[candidates] == one]
            own = (own if len(own) else candidates)[:each]
            chosen.append(own)
            kinds.append(np.full(len(own), one))
        return cls(np.concatenate(chosen), np.concatenate(kinds))

    def __len__(self) -> int:
        return len(self.landmarks)

    def members(self, features: LandmarkFeatures, F: Any, Y: Any) -> Any:
        """Return one column per group: 1 for its rows and 0 for others, as an array or tensor like F.

        Parameters
        ----------
        features : LandmarkFeatures
            Those of the first similarity, complete or made for sums.
        F : array or tensor of shape (n, columns)
            The features of rows; those of the first similarity come first.
        Y : array or tensor
            Their targets: codes of classes, or numbers.
        """
        xp = namespace(F)
        near = in_precision(self._nearness(features, F), xp.float64)
        if self.classes is not None:
            own = Y.argmax(1) if Y.shape[1] > 1 else in_precision(Y[:, 0] >= 0, xp.int64)
            near = xp.where(own[:, None] == beside(self.classes, F)[None, :], near, -np.inf)
        if not len(self):
            return in_precision(near, xp.float64)
        nearest = near.argmax(1)
        return in_precision(nearest[:, None] == beside(np.arange(len(self)), F)[None, :], xp.float64)

    def targets(self, features: LandmarkFeatures, F: Any, Y: Any) -> Any:
        """Return the targets whose cross products explain predictions: members, then for numbers these times Y."""
        members = self.members(features, F, Y)
        if self.classes is not None:
            return members
        parts = [members, *(members * Y[:, output, None] for output in range(Y.shape[1]))]
        return side_by_side(parts)

    def _nearness(self, features: LandmarkFeatures, F: Any) -> Any:
        """Return the similarity of rows to the landmarks of the groups; in a projection, minus half the distance."""
        if features.factor is None:
            return F[:, beside(self.landmarks, F)]
        U = features.factor[:, self.landmarks]
        complete = len(U) if features.leading is None else features.leading
        last = self.landmarks >= complete  # their columns hold what the complete features leave of the similarity
        basis = np.where(np.arange(len(U))[:, None] < complete, U, 0.0)
        basis[self.landmarks[last], np.flatnonzero(last)] = 1.0
        used = int(np.flatnonzero(basis.any(axis=1)).max(initial=0)) + 1
        near = F[:, :used] @ in_precision(beside(basis[:used], F), F.dtype)
        return near - beside((U**2).sum(axis=0) / (2 * features.scale), F)
