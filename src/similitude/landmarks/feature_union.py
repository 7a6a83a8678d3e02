"""The landmark features of several similarities side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.landmarks.features import LandmarkFeatures, side_by_side
from similitude.landmarks.groups import Groups
from similitude.landmarks.partial_projection import n_leading
from similitude.linear import Members, Moments


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
