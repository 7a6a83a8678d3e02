"""Passes over rows in strips: their features, and sums over their features."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, check_fits, concatenated, rows, run_on_strips, strips
from similitude.compute.engines import EncodedBatch, Engine, PartialSums, partial_sums, sum_batches
from similitude.landmarks import FeatureUnion
from similitude.linear import Moments
from similitude.support import digest, pairs_at

Marks = Callable[[], dict[str, str]]
"""Describes what the sums of a pass belong to, for its checkpoint."""


def covering(marks: Marks, *data: Any) -> Marks:
    """Return marks that also change when these data do: all rows of a pass, or digests of them."""

    def marked() -> dict[str, str]:
        found = marks()
        return {**found, "data": digest((found["data"], data), 16).hex()}

    return marked


@dataclass(frozen=True)
class SumsTask:
    """Compute the features of a strip of rows, and sum over them."""

    threadsafe: bool
    on_tensors: bool = False

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


def features_of(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> np.ndarray:
    """Return the features of all rows as an array."""
    task = FeaturesTask(union.threadsafe, union.on_tensors)
    return as_numpy(run_on_strips(task, encodings, union, engine, itemsize))


def features_where_computed(union: FeatureUnion, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Return the features of all rows on the device where the engine computes."""
    here = engine.to_device(encodings) if union.on_tensors else encodings
    return run_on_strips(FeaturesTask(union.threadsafe, union.on_tensors), here, union, engine, itemsize)


def sums_over(
    batches: Callable[[int], Iterator[EncodedBatch]],
    union: FeatureUnion,
    n: int,
    engine: Engine,
    itemsize: int,
    marks: Marks,
) -> Moments:
    """Return the sums over the features of all rows ``(encodings, targets, weights)`` in the batches, in one pass."""
    task = SumsTask(union.threadsafe, union.on_tensors)
    tiles = functools.partial(strips, width=len(union), itemsize=itemsize, engine=engine, task=task)

    def sums(start: int) -> Iterator[PartialSums]:
        return partial_sums(task, union, tiles, batches(start), engine)

    with pairs_at(None, union.positions):
        found: Moments = sum_batches(sums, n, engine, Moments.from_arrays, marks)
    return found.moved(as_numpy)


def check_features_fit(loss: str, penalty: str, n: int, width: int, size: int, engine: Engine) -> None:
    """Refuse features that do not fit into memory, for a loss or penalty that needs all of them at once."""
    try:
        # memory of a fit that goes over all features several times, in units of these features
        check_fits(n, width, math.ceil(2.5 * size), engine)
    except MemoryError as error:
        raise MemoryError(
            f"loss={loss!r} with penalty={penalty!r} goes over all features several times; "
            f"loss='squared' with penalty='l2' needs one pass. {error}"
        ) from error
