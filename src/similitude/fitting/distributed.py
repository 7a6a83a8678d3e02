"""Rows on the workers of a cluster: counted, sampled and summed where they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.engines import Batched, DistributedEngine, Engine, Handle, sum_batches
from similitude.data.sources import FirstPass, errors_in_partition, partition_objects, partition_source
from similitude.fitting import limits
from similitude.fitting.batches import Sampled, SourceRows, in_random_order
from similitude.fitting.passes import FeatureUnion, Marks, covering
from similitude.fitting.targets import Targets
from similitude.fitting.training_set import Design, Sampling
from similitude.landmarks import Collection, RowReader
from similitude.linear import Moments
from similitude.scikit import InputCheck


def partition_rows(reader: RowReader, n: int, first_pass: FirstPass, columns: tuple[Any, ...]) -> SourceRows:
    """Return the rows of a partition, encoded batch by batch."""
    source = partition_source(*columns)
    assert source is not None
    return SourceRows(source, reader, 0, source.batch_rows(reader.check.engine.budget), n, n, first_pass)


def partition_sums(
    reader: RowReader,
    union: FeatureUnion,
    number: int,
    start: int,
    n: int,
    first_pass: FirstPass,
    held_out: np.ndarray,
    *columns: Any,
) -> Moments | None:
    """Return the sums over the features of a partition, except for held-out rows; None if it has no rows."""
    if n == 0:
        return None
    with errors_in_partition(number, start):
        rows = partition_rows(reader, n, first_pass, columns)
        return rows.sums(union, held_out - start, reader.check.engine, dict)


def partition_features(
    reader: RowReader, union: FeatureUnion, number: int, start: int, n: int, first_pass: FirstPass, *columns: Any
) -> list[Design]:
    """Return features, targets and weights of the rows of a partition that have a weight, in batches."""
    if n == 0:
        return []
    with errors_in_partition(number, start):
        return list(partition_rows(reader, n, first_pass, columns).designs(union, reader.check.engine))


@dataclass(frozen=True, eq=False)
class Prediction:
    """A fitted estimator, the method to call, and a row of what it returns."""

    estimator: Any
    method: str
    like: np.ndarray


def partition_prediction(asked: Prediction, number: int, objects: Any) -> np.ndarray:
    """Return the predictions for a partition."""
    with errors_in_partition(number):
        if partition_source(objects) is None:
            return asked.like[:0]
        found: np.ndarray = getattr(asked.estimator, asked.method)(partition_objects(objects))
    return found


GROUP = 16
"""Partitions whose sums are added on workers; the sums of groups are added, and checkpointed, by the client."""


class DistributedRows(Collection):
    """All rows of a collection, on workers, with their targets."""

    def sums(self, union: FeatureUnion, held_out: np.ndarray, engine: Engine, marks: Marks) -> Moments:
        """Return the sums over the features of all rows except those held out, by position, in one pass."""
        k = len(self.sizes)
        inside = np.split(np.sort(held_out), np.searchsorted(np.sort(held_out), self.starts[1:]))
        edges = np.append(self.starts, self.n_rows)

        def groups(start: int) -> Iterator[Batched]:
            parts = self.map(partition_sums, *self._passes, inside, shared=(self.reader.copy(), union))
            cuts = [slice(a, a + GROUP) for a in range(0, k, GROUP) if edges[min(a + GROUP, k)] > start]
            sums = self.engine.collect([self.engine.reduce(parts[cut]) for cut in cuts])
            for cut, total in zip(cuts, sums, strict=True):
                yield [total], int(edges[cut.start]), int(edges[min(cut.stop, k)])

        marks = covering(marks, self.sizes, [one.first_pass.digest() for one in self.looks])
        found: Moments = sum_batches(groups, self.n_rows, engine, Moments.from_arrays, marks)
        return found

    def features(self, union: FeatureUnion, engine: Engine) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        logging.getLogger("similitude").info("this loss or penalty brings the features of all rows to the client")
        calls = self.map(partition_features, *self._passes, shared=(self.reader.copy(), union))
        return in_random_order([one for part in self.engine.collect(calls) for one in part], self.seed)

    @property
    def _passes(self) -> tuple[list[int], list[int], list[FirstPass]]:
        """The first row and the number of rows of each partition, and these rows."""
        return self.starts.tolist(), self.sizes.tolist(), [one.first_pass for one in self.looks]


def sample_collection(
    columns: list[list[Handle]],
    targets: Targets,
    check: InputCheck,
    engine: DistributedEngine,
    n_landmarks: int | str,
    seed: int,
) -> tuple[Sampled, dict[str, Any]]:
    """Validate and count all rows of a collection, and sample them; also return the input attributes found.

    The sample is that of a fit in memory with the same seed, and so are the choices made on it.
    """
    rows: DistributedRows = DistributedRows.of(engine, columns, RowReader(check, targets), seed)
    for one in rows.looks:
        if one.n:
            targets.absorb(one.targets)
    targets.close()
    if not rows.n:
        raise ValueError("every weight is zero: there is nothing to learn from")
    weighted = any(one.described.get("weights", "none") != "none" for one in rows.looks)
    objects, labels, weights, places, ranks = rows.sample(*limits.rows_sampled(n_landmarks))
    sampling = Sampling(seed, places, ranks, None if len(places) == rows.n else rows)
    return Sampled(objects, labels, weights, weighted, sampling), rows.inputs
