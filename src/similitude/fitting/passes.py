"""Passes over rows in strips: features of several similarities side by side, and sums over them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding, as_numpy, check_fits, concatenated, rows, run_on_strips, strips
from similitude.compute.engines import Batched, Engine, partial_sums, sum_batches
from similitude.landmarks import LandmarkFeatures, n_leading, side_by_side
from similitude.linear import Members, Moments
from similitude.similarity import Similarity
from similitude.support import digest, pairs_at

if TYPE_CHECKING:
    from similitude.fitting.influence import Groups

Marks = Callable[[], dict[str, str]]
"""Describes what the sums of a pass belong to, for its checkpoint."""


def covering(marks: Marks, *data: Any) -> Marks:
    """Return marks that also change when these data do: all rows of a pass, or digests of them."""

    def marked() -> dict[str, str]:
        found = marks()
        return {**found, "data": digest((found["data"], data), 16).hex()}

    return marked


@dataclass(frozen=True, eq=False)
class FeatureUnion:
    """Landmark features of one or several similarities, prepared for objects of one precision.

    It is the second encoding of the tasks of a pass: it is sent along with every strip of rows and never cut.
    """

    parts: tuple[LandmarkFeatures, ...]
    itemsize: int  # of a similarity
    groups: Groups | None = None  # of rows whose sums are kept, too

    @classmethod
    def of(cls, parts: Sequence[LandmarkFeatures], itemsize: int, groups: Groups | None = None) -> FeatureUnion:
        """Prepare features for objects whose values have a size in bytes."""
        dtype = {4: np.float32}.get(itemsize, np.float64)
        return cls(tuple(part.ready(dtype) for part in parts), itemsize, groups)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, which: Any) -> FeatureUnion:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        """The similarity of each part."""
        return tuple(part.similarity for part in self.parts)

    @property
    def positions(self) -> np.ndarray | None:
        """The position in X of the landmark of each column; None if some are not rows of X, or parts differ."""
        known = self.parts[0].landmarks.positions
        return np.tile(known, 2) if len(self.parts) == 1 and known is not None else None

    @property
    def threadsafe(self) -> bool:
        """Whether threads may share the work."""
        return all(k.hints.threadsafe for k in self.similarities)

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

    @functools.cached_property
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
        return list(map(slice, [0, *stops[:-1]], stops))


@dataclass(frozen=True)
class FeaturesTask:
    """Compute the features of a strip of rows."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Any]) -> Any:
        """Return the features of all parts."""
        return concatenated(parts)

    def __call__(self, a: Encoding, b: FeatureUnion, out: Any = None) -> Any:
        """Return the features."""
        return b.features(a)


@dataclass(frozen=True)
class SumsTask(FeaturesTask):
    """Compute the features of a strip of rows, and sum over them."""

    def joined(self, parts: list[Moments]) -> Moments:
        """Return the sums over both parts."""
        return parts[0] + parts[1]

    def __call__(self, a: Encoding, b: FeatureUnion, out: Any = None) -> Moments:
        """Return the sums over encoded rows ``(encodings, targets, weights)``; those without a weight are left out."""
        encodings, Y, weights = a
        if isinstance(weights, np.ndarray) and 0 < np.count_nonzero(weights) < len(weights):
            weighted = np.flatnonzero(weights)
            with pairs_at(weighted, None):
                return self(rows(a, weighted), b)
        return b.moments(b.features(encodings), Y, weights)


def features_of(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine) -> np.ndarray:
    """Return the features of all rows as an array."""
    task = FeaturesTask(union.threadsafe, union.on_tensors)
    return as_numpy(run_on_strips(task, encodings, union, engine, union.itemsize))


def features_where_computed(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine) -> Any:
    """Return the features of all rows on the device where the engine computes."""
    here = engine.to_device(encodings) if union.on_tensors else encodings
    return run_on_strips(FeaturesTask(union.threadsafe, union.on_tensors), here, union, engine, union.itemsize)


def sums_over(
    batches: Callable[[int], Iterator[Batched]], union: FeatureUnion, n: int, engine: Engine, marks: Marks
) -> Moments:
    """Return the sums over the features of all rows ``(encodings, targets, weights)`` in the batches, in one pass."""
    task = SumsTask(union.threadsafe, union.on_tensors)
    tiles = functools.partial(strips, width=len(union), itemsize=union.itemsize, engine=engine, task=task)

    def sums(start: int) -> Iterator[Batched]:
        return partial_sums(task, union, tiles, batches(start), engine)

    with pairs_at(None, union.positions):
        found: Moments = sum_batches(sums, n, engine, Moments.from_arrays, marks)
    return found.moved(as_numpy)


def check_features_fit(loss: str, penalty: str, n: int, union: FeatureUnion, engine: Engine) -> None:
    """Refuse features that do not fit into memory, for a loss or penalty that needs all of them at once."""
    try:
        # memory of a fit that goes over all features several times, in units of these features
        check_fits(n, len(union), math.ceil(2.5 * union.itemsize), engine)
    except MemoryError as error:
        raise MemoryError(
            f"loss={loss!r} with penalty={penalty!r} goes over all features several times; "
            f"loss='squared' with penalty='l2' needs one pass. {error}"
        ) from error
