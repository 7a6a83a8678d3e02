"""The landmark features of several similarities side by side, and groups of training rows around a few landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import Encoding, beside, in_precision, namespace
from similitude.landmarks.features import LandmarkFeatures, Landmarks, side_by_side
from similitude.landmarks.projection import n_leading
from similitude.linear import Members, Moments

MOST_NUMBERS = 28
OF_FEW = 12
"""Numbers that are kept of each landmark to explain predictions: groups, times the outputs if each has its own; and how
many of them if there are few landmarks. In double precision, they take less than 256 bytes."""

FEWEST_GROUPS = 4
OF_MANY = 2
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
        each = max(1, most // (n_classes * numbers))
        chosen = []
        kinds = []
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
        n = len(self.landmarks)
        own = None
        numbers = Y
        if self.classes is not None:
            own = Y.argmax(1) if Y.shape[1] > 1 else Y[:, 0] >= 0
            numbers = None
        if not isinstance(F, np.ndarray):
            near = in_precision(beside(basis, F), F.dtype) @ F[:, : basis.shape[1]].T - beside(offset, F)[:, None]
            if own is not None and self.classes is not None:
                near = namespace(F).where(beside(self.classes, F)[:, None] == own[None, :], near, -np.inf)
            return Members(near.argmax(0), n, numbers)
        F = F[:, : basis.shape[1]].astype(np.float32, copy=False)  # precise enough to choose a group
        basis = basis.astype(np.float32)
        offset = offset.astype(np.float32)
        if own is None or self.classes is None:
            return Members(np.argmax(F @ basis.T - offset, axis=1), n, numbers)
        nearest = np.zeros(len(F), dtype=np.intp)
        order = np.argsort(own, kind="stable")
        kinds, starts = np.unique(own[order], return_index=True)
        for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
            groups = np.flatnonzero(self.classes == kind)
            if len(groups):
                near = F[rows] @ basis[groups].T - offset[groups]
                nearest[rows] = groups[near.argmax(axis=1)]
        return Members(nearest, n, numbers)

    def nearness(self, features: LandmarkFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Return B and b such that B f - b is the nearness of a row to each group, given its features f.

        The features are those of the first similarity, complete or made for sums; only the first ones are used.
        Nearness is the similarity to the landmark of the group; in a projection, minus half the squared distance from
        it, but for a constant.
        """
        if features.factor is None:
            basis = (np.arange(self.landmarks.max(initial=0) + 1) == self.landmarks[:, None]).astype(float)
            return basis, np.zeros(len(basis))
        U = features.factor[:, self.landmarks]
        complete = len(U) if features.leading is None else features.leading
        last = self.landmarks >= complete  # their columns hold what the complete features leave of the similarity
        basis = np.where(np.arange(len(U))[:, None] < complete, U, 0.0)
        basis[self.landmarks[last], np.flatnonzero(last)] = 1.0
        used = int(np.flatnonzero(basis.any(axis=1)).max(initial=0)) + 1
        return basis[:used].T, (U**2).sum(axis=0) / (2 * features.scale)


@dataclass(frozen=True, eq=False)
class FeatureUnion:
    """Landmark features of one or several similarities, prepared for objects of one precision.

    It is the second encoding of the tasks of a pass: it is sent along with every strip of rows and never cut. `groups`
    are those of rows whose sums are kept apart, if any.
    """

    parts: tuple[LandmarkFeatures, ...]
    groups: Groups | None = None

    @classmethod
    def of(cls, parts: Sequence[LandmarkFeatures], itemsize: int, groups: Groups | None = None) -> FeatureUnion:
        """Prepare features for objects whose values have a size in bytes."""
        return cls(tuple(part.ready(np.float32 if itemsize == 4 else np.float64) for part in parts), groups)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __getitem__(self, which: Any) -> FeatureUnion:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    @property
    def positions(self) -> np.ndarray | None:
        """The position in X of the landmark of each column; None if some are not rows of X, or parts differ."""
        known = self.parts[0].landmarks.positions
        return np.tile(known, 2) if len(self.parts) == 1 and known is not None else None

    @property
    def threadsafe(self) -> bool:
        """Whether threads may share the work."""
        return all(part.similarity.hints.threadsafe for part in self.parts)

    @property
    def on_tensors(self) -> bool:
        """Whether a device can compute all similarities."""
        return all(part.on_tensors for part in self.parts)

    def movable(self) -> bool:
        """Tell that a device can hold it."""
        return True

    def moved(self, move: Callable[[Any], Any]) -> FeatureUnion:
        """Return the same with its arrays on another device."""
        return replace(self, parts=tuple(part.moved(move) for part in self.parts))

    def features(self, encodings: Sequence[Encoding]) -> Any:
        """Return the features of encoded objects: one encoding for each part."""
        made = [part.features(A) for part, A in zip(self.parts, encodings, strict=True)]
        return made[0] if len(made) == 1 else side_by_side(made)

    def moments(self, F: Any, Y: Any, weights: Any) -> Moments:
        """Return the weighted sums over rows of features, and those of groups of rows."""
        return Moments.of(F, Y, weights, self.members(F, Y))

    def members(self, F: Any, Y: Any) -> Members | None:
        """Return to which group each row belongs, if sums over groups are kept."""
        return None if self.groups is None else self.groups.members(*self._nearness, F, Y)

    @cached_property
    def _nearness(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.groups is not None
        return self.groups.nearness(self.parts[0])

    def for_sums(self, F: np.ndarray) -> FeatureUnion:
        """Return features that are only computed as far as sums over rows need them; F holds those of some rows."""
        parts = list(self.parts)
        for i, columns in enumerate(self._columns()):
            factor = parts[i].factor
            if factor is not None:
                parts[i] = replace(parts[i], leading=n_leading(factor, F[:, columns]))
        return replace(self, parts=tuple(parts))

    def completed(self, sums: Moments) -> Moments:
        """Return the sums of complete features, given those of features made `for_sums`."""
        for part, columns in zip(self.parts, self._columns(), strict=True):
            if part.leading is not None and part.factor is not None:
                r = part.leading
                sums = sums.divided(part.factor[r:, r:], slice(columns.start + r, columns.stop))
        return sums

    def _columns(self) -> list[slice]:
        """Return which columns hold the features of each part."""
        stops = np.cumsum([len(part) for part in self.parts]).tolist()
        return [slice(a, b) for a, b in zip([0, *stops], stops, strict=False)]
