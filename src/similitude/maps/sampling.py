"""What maps are fitted to: objects in memory as they are, of a source or a collection a uniform sample of rows."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import join_all, take
from similitude.compute.engines import distributed_engine, is_distributed
from similitude.data.sources import (
    Source,
    StableSample,
    batch_rows,
    check_sample_fits,
    errors_in_batch,
    key_order,
    looks_like_source,
    random_keys,
    read_ahead,
)
from similitude.landmarks.distributed import Whole, check_alike, key_below
from similitude.landmarks.partitions import Reader, draw, for_workers, look
from similitude.support.randomness import generator

SAMPLE = 20_000
"""Rows of a source or a collection at most that a map is fitted to."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Objects and labels to fit to.

    Attributes
    ----------
    objects, labels
    places : array of int, or None
        Where they stand in a source or collection; None: they are what was given.
    whole : Whole or None
        The collection of which they are a sample.
    """

    objects: Any
    labels: Any
    places: np.ndarray | None = None
    whole: Whole | None = None


def connected(estimator: Any, X: Any) -> AbstractContextManager[Any]:
    """Hold a connection to the workers of a collection while something is fitted to it."""
    return distributed_engine(estimator._engine).session() if is_distributed(X) else nullcontext()


def sampled(estimator: Any, X: Any, y: Any = None) -> Sampled:
    """Return what a map is fitted to; of a source or collection a uniform sample of 20,000 rows, the same of both."""
    given = getattr(estimator, "landmark_indices", None) is not None
    apart = is_distributed(X) or looks_like_source(X)
    if estimator._precomputed or not apart or (given and isinstance(X, np.memmap)):
        return Sampled(X, y)
    if given:
        raise ValueError(
            f"landmark_indices are positions in memory: of a {'collection' if is_distributed(X) else 'source'} give "
            f"the landmarks themselves"
        )
    seed = int(generator(getattr(estimator, "random_state", None)).integers(2**63))
    return _of_collection(estimator, X, y, seed) if is_distributed(X) else _of_source(estimator, X, y, seed)


def _of_source(estimator: Any, X: Any, y: Any, seed: int) -> Sampled:
    source = X if isinstance(X, Source) else Source(X, y)
    source.require_passes(2, "one to see how large rows are, one to draw a sample")
    ends, budget = StableSample(SAMPLE, 0, seed), estimator._engine.budget
    labeled = False
    for batch in read_ahead(source.batches(batch_rows(next(source.batches(256)).objects, budget))):
        with errors_in_batch(batch):
            Z = estimator._checked(batch.objects, reset=batch.start == 0)
        places, labeled = np.arange(batch.start, batch.stop), batch.labels is not None
        ends.add(Z, batch.labels if labeled else places, np.ones(len(batch)), places)
        check_sample_fits(len(ends.positions), Z, budget)
    return Sampled(ends.objects, ends.labels if labeled else None, ends.positions)


def _of_collection(estimator: Any, X: Any, y: Any, seed: int) -> Sampled:
    """Look at all partitions, then draw from them the rows whose keys are smallest."""
    engine = distributed_engine(estimator._engine)
    columns = engine.partitions(X, y)
    k = len(columns[0])
    reader = engine.broadcast(for_workers(estimator, engine.memory))
    looks = list(engine.collect(engine.map(look, [reader] * k, range(k), *columns)))
    vars(estimator).update(check_alike(looks).inputs)
    sizes = np.array([one.n for one in looks])
    starts, n = np.cumsum(sizes) - sizes, int(sizes.sum())
    limits = [seed] * k, [key_below(SAMPLE, n)] * k
    parts = list(engine.collect(engine.map(draw, [reader] * k, *limits, range(k), starts.tolist(), *columns)))
    parts = [part for part in parts if part is not None]
    places = np.concatenate([part[2] for part in parts])
    kept = np.sort(key_order(random_keys(places, seed))[:SAMPLE])
    labels = None if y is None else np.concatenate([part[1] for part in parts])[kept]
    whole = Whole(engine, Reader(for_workers(estimator, engine.memory)), columns, sizes, seed)
    return Sampled(take(join_all([part[0] for part in parts]), kept), labels, places[kept], whole)
