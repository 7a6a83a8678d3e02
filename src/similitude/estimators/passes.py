"""Passes over rows in strips: their features, sums over their features, and scores of a model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.blocks import check_fits
from similitude.compute.encodings import Encoding, as_numpy, count, namespace
from similitude.compute.engines import Engine
from similitude.compute.engines.engine import TILE_EDGE, Tile
from similitude.compute.engines.folding import Encoded, Pass
from similitude.estimators.model import LandmarkModel
from similitude.landmarks.feature_union import FeatureUnion
from similitude.landmarks.features import LandmarkFeatures
from similitude.linear import Moments
from similitude.support.errors import pairs_at

STRIP_ROWS = (1024, 4096)
"""Fewest and most rows of a strip: with more landmarks, more rows make adding their Gram matrix worthwhile."""

Marks = Callable[[], dict[str, str]]


@dataclass(frozen=True)
class SumsTask:
    """Compute the features of a strip of rows, and sum over them."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Moments]) -> Moments:
        """Return the sums over both parts."""
        return parts[0] + parts[1]

    def __call__(self, a: Encoding, b: FeatureUnion, out: Any = None) -> Moments:
        """Return the sums over encoded rows ``(encodings, targets, weights)``."""
        encodings, Y, weights = a
        return Moments.of(b.features(encodings), Y, weights)


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
class ScoresTask:
    """Compute the scores of a strip of rows."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Any]) -> Any:
        """Return the scores of all parts."""
        return concatenated(parts)

    def __call__(self, a: Encoding, b: LandmarkModel, out: Any = None) -> Any:
        """Return the scores without the intercept."""
        return b.scores(a)


def strips(n: int, width: int, itemsize: int, engine: Engine, task: Any) -> list[Tile]:
    """Cut n rows into strips, so that those under way stay within the memory budget."""
    larger = engine.edge // TILE_EDGE
    few, many = (larger * rows for rows in STRIP_ROWS) if task.threadsafe else (128, 128)
    affordable = engine.budget // (8 * engine.workers(task) * max(1, width) * itemsize)
    if affordable == 0:
        raise MemoryError(f"one row of {width:,} similarities does not fit into the memory budget: use fewer landmarks")
    edge = min(max(few, min(width, many)), affordable)
    number = -(-n // edge)
    edges = [n * piece // number for piece in range(number + 1)]
    return [(slice(a, b), slice(0, width)) for a, b in itertools.pairwise(edges)]


def features_of(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> np.ndarray:
    """Return the features of all rows as an array."""
    return as_numpy(_run(FeaturesTask, union, encodings, engine, itemsize))


def features_where_computed(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Return the features of all rows on the device where the engine computes."""
    here = engine.here(encodings) if _on_tensors(union.parts) else encodings
    return _run(FeaturesTask, union, here, engine, itemsize)


def scores_of(model: LandmarkModel, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Return the scores of all rows without the intercept: tensors for tensors."""
    known = model.scores_by_products(encodings, engine)
    return _run(ScoresTask, model, encodings, engine, itemsize) if known is None else known


def _run(task: Any, against: Any, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Run a task on strips of rows and return the results as one array."""
    made = task(*_placement(against.parts))
    tiles = strips(count(encodings[0]), len(against), itemsize, engine, made)
    return concatenated(list(engine.run(made, encodings, against, tiles)))


def _placement(parts: Sequence[Any]) -> tuple[bool, bool]:
    """Return whether threads may share the work, and whether a device can do it."""
    features = [part if isinstance(part, LandmarkFeatures) else part.features for part in parts]
    return all(one.similarity.threadsafe for one in features), _on_tensors(features)


def _on_tensors(parts: Sequence[LandmarkFeatures]) -> bool:
    return all(part.on_tensors for part in parts)


def concatenated(parts: list[Any]) -> Any:
    """Return the rows of several arrays, or tensors, one after the other."""
    xp = namespace(parts[0])
    return np.concatenate(parts) if xp is np else xp.concat(parts)


def sums_over(
    batches: Callable[[int], Iterator[Encoded]],
    union: FeatureUnion,
    n: int,
    engine: Engine,
    itemsize: int,
    marks: Marks,
) -> Moments:
    """Return the sums over the features of all rows ``(encodings, targets, weights)`` in the batches, in one pass."""
    task = SumsTask(*_placement(union.parts))
    whole = Pass(task, union, lambda rows: strips(rows, len(union), itemsize, engine, task), batches, n)
    with pairs_at(None, union.positions):
        found: Moments = whole.run(engine, Moments.from_arrays, marks)
    return found.moved(as_numpy)


def check_features_fit(loss: str, penalty: str, n: int, width: int, size: int, engine: Engine) -> None:
    """Refuse features that do not fit into memory, for a loss or penalty that needs all of them at once."""
    try:
        check_fits(n, width, 2 * size, engine)
    except MemoryError as error:
        raise MemoryError(
            f"loss={loss!r} with penalty={penalty!r} goes over all features several times; "
            f"loss='squared' with penalty='l2' needs one pass. {error}"
        ) from error
