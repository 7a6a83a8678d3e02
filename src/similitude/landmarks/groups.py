"""Groups of training rows around a few landmarks, of one class each where there are classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import beside, in_precision, namespace
from similitude.landmarks.features import LandmarkFeatures, Landmarks
from similitude.linear import Members

MOST_NUMBERS, OF_FEW = 28, 12
"""Numbers that are kept of each landmark to explain predictions: groups, times the outputs if each has its own; and how
many of them if there are few landmarks. In double precision, they take less than 256 bytes."""

FEWEST_GROUPS, OF_MANY = 4, 2
"""The fewest groups of rows with several targets, and of rows with more targets than `MOST_NUMBERS` allows."""


def most_numbers(n_landmarks: int) -> int:
    """Return how many numbers are kept of each landmark to explain predictions."""
    return min(MOST_NUMBERS, max(OF_FEW, n_landmarks // 2))


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
        most = most_numbers(len(landmarks))
        if not classes:
            return cls(candidates[: max(FEWEST_GROUPS if numbers <= most else OF_MANY, most // numbers)])
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

    def members(self, basis: np.ndarray, offset: np.ndarray, F: Any, Y: Any) -> Members:
        """Return to which group each row belongs.

        Parameters
        ----------
        basis, offset : array
            See :meth:`nearness`.
        F : array or tensor of shape (n, columns)
            The features of rows; those of the first similarity come first.
        Y : array or tensor
            Their targets: codes of classes, or numbers.
        """
        own, numbers = None, Y
        if self.classes is not None:
            own, numbers = Y.argmax(1) if Y.shape[1] > 1 else Y[:, 0] >= 0, None
        if isinstance(F, np.ndarray):
            return Members(self._nearest(F, basis, offset, own), len(self), numbers)
        near = in_precision(beside(basis, F), F.dtype) @ F[:, : basis.shape[1]].T - beside(offset, F)[:, None]
        if own is not None and self.classes is not None:
            near = namespace(F).where(beside(self.classes, F)[:, None] == own[None, :], near, -np.inf)
        return Members(near.argmax(0), len(self), numbers)

    def _nearest(self, F: np.ndarray, basis: np.ndarray, offset: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Return the nearest group of each row, among those of its class; single precision is enough to choose one."""
        F, basis = F[:, : basis.shape[1]].astype(np.float32, copy=False), basis.astype(np.float32)
        if own is None:
            return np.argmax(F @ basis.T - offset.astype(np.float32), axis=1)
        assert self.classes is not None
        nearest, order = np.zeros(len(F), dtype=np.intp), np.argsort(own, kind="stable")
        kinds, starts = np.unique(own[order], return_index=True)
        for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
            groups = np.flatnonzero(self.classes == kind)
            if len(groups):
                near = F[rows] @ basis[groups].T - offset[groups].astype(np.float32)
                nearest[rows] = groups[near.argmax(axis=1)]
        return nearest

    def nearness(self, features: LandmarkFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Return B and b such that B f - b is the nearness of a row to each group, given its features f.

        The features are those of the first similarity, complete or made for sums; only the first ones are used.
        Nearness is the similarity to the landmark of the group; in a projection, minus half the squared distance from
        it, but for a constant.
        """
        if features.factor is None:
            basis = (np.arange(self.landmarks.max(initial=0) + 1) == self.landmarks[:, None]).astype(float)
            return basis, np.zeros(len(self))
        U = features.factor[:, self.landmarks]
        complete = len(U) if features.leading is None else features.leading
        last = self.landmarks >= complete  # their columns hold what the complete features leave of the similarity
        basis = np.where(np.arange(len(U))[:, None] < complete, U, 0.0)
        basis[self.landmarks[last], np.flatnonzero(last)] = 1.0
        used = int(np.flatnonzero(basis.any(axis=1)).max(initial=0)) + 1
        return basis[:used].T, (U**2).sum(axis=0) / (2 * features.scale)
