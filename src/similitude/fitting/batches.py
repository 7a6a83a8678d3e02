"""Rows of a source, or on workers of a cluster: a first pass counts and samples them, a second one computes sums."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.compute.engines import Batched, DistributedEngine, Engine, Handle, sum_batches, with_progress
from similitude.data.sources import (
    Batch,
    FirstPass,
    Source,
    StableSample,
    batch_rows,
    check_sample_fits,
    errors_in_batch,
    errors_in_partition,
    partition_objects,
    partition_source,
    read_ahead,
)
from similitude.fitting import limits
from similitude.fitting.passes import FeatureUnion, Marks, covering, features_of, sums_over
from similitude.fitting.targets import Targets
from similitude.fitting.training_set import Design, Sampling, TrainingSet
from similitude.landmarks import Collection, RowReader, batch_weights
from similitude.linear import Moments
from similitude.scikit import InputCheck
from similitude.support import SourceError, error_prefix


def sample_source(
    source: Source, targets: Targets, check: Any, engine: Engine, n_landmarks: int | str, seed: int
) -> TrainingSet:
    """Validate, count and sample all rows of a source in a first pass; start again if rows get much longer."""
    source.require_passes(2, "one that counts and draws a sample, one over the similarities")
    affordable = source.batch_rows(engine.budget)
    rows = sys.maxsize
    while 2 * affordable < rows:
        rows = affordable
        ends = StableSample(*limits.rows_sampled(n_landmarks), seed)
        reader = RowReader(check, targets.copy())
        first_pass = FirstPass()
        n_rows = 0
        weighted = False
        for batch in prefetched(first_pass.recorded(source.batches(rows)), source.n, engine):
            with errors_in_batch(batch):
                X = check(batch.objects, reset=batch.start == 0)
                labels, weights, counted = reader.see(X, batch)
            affordable = batch_rows(X, engine.budget)
            if 2 * affordable < rows:
                break
            weighted = batch.weights is not None
            which = np.flatnonzero(counted)
            if len(which):
                some = X if len(which) == len(batch) else take(X, which)
                ends.add(some, labels[which], weights[which], batch.start + which)
                check_sample_fits(len(ends.positions), X, engine.budget)
            n_rows = batch.stop
    targets.absorb(reader.targets)
    targets.close()
    if ends.n_seen == 0:
        raise ValueError("every weight is zero: there is nothing to learn from")
    everything = None
    if not ends.is_complete:
        everything = SourceRows(source, RowReader(check, targets), seed, rows, ends.n_seen, n_rows, first_pass)
    sampling = Sampling(seed, ends.positions, ends.ranks, everything)
    return TrainingSet.of_sample(targets, ends.objects, ends.labels, ends.weights, weighted, sampling)


def first_rows(source: Source, targets: Targets, check: Any, engine: Engine, seed: int) -> TrainingSet:
    """Read the first rows of a source, to plan a fit to all of them; if their number is not known, to one more."""
    wanted = min(limits.rows_sampled("auto")[0], source.batch_rows(engine.budget))
    batch = next(source.batches(wanted))
    reader = RowReader(check, targets)
    with errors_in_batch(batch):
        X = check(batch.objects, reset=True)
        labels, weights, _ = reader.see(X, batch)
    with error_prefix("first rows"):
        targets.close()
    read = len(batch)
    n = source.n or read + (read == wanted)
    everything = None
    if n > read:
        everything = SourceRows(source, reader, seed, wanted, n, n, FirstPass())
    sampling = Sampling(
        seed, np.arange(read), np.arange(read), everything, counted=everything is None or bool(source.n)
    )
    return TrainingSet.of_sample(targets, X, labels, weights, batch.weights is not None, sampling)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """All rows of a source, validated and encoded batch by batch."""

    source: Source
    reader: RowReader
    seed: int  # of the random order
    rows: int  # of a batch
    n: int  # rows with a weight
    n_rows: int
    first_pass: FirstPass  # the rows, which every other pass must give again

    def batches(self, union: FeatureUnion, start: int = 0) -> Iterator[Batched]:
        """Yield all rows from one on as ``(encodings, targets, weights)``, prefetching the next batch."""
        return read_ahead(self._encoded(union, start))

    def _encoded(self, union: FeatureUnion, start: int) -> Iterator[Batched]:
        stop = start
        for batch in self.first_pass.compared(self.source.batches(self.rows, start)):
            with errors_in_batch(batch):
                X = self.reader.check(batch.objects, reset=False)
                Y, weights = self.reader.targets.read(batch.labels, batch_weights(batch))
                encodings = tuple(k.encode_checked(X, "X") for k in union.similarities)
            stop = batch.stop
            yield (encodings, Y, weights), batch.start, stop
        if stop != self.n_rows:
            raise SourceError(f"the first pass gave {self.n_rows:,} rows and the next {stop:,}: it must give the same")

    def sums(self, union: FeatureUnion, held_out: np.ndarray, engine: Engine, marks: Marks) -> Moments:
        """Return the sums over the features of all rows except those held out, by position, in one pass."""

        def kept(start: int) -> Iterator[Batched]:
            for (encodings, Y, given), begin, end in self.batches(union, start):
                weights = np.array(given)  # a copy: they may be the user's own
                weights[held_out[(held_out >= begin) & (held_out < end)] - begin] = 0.0
                yield (encodings, Y, weights), begin, end

        return sums_over(kept, union, self.n_rows, engine, covering(marks, self.first_pass.digest()))

    def features(self, union: FeatureUnion, engine: Engine) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        logging.getLogger("similitude").info("this loss or penalty needs a further pass over the similarities")
        return in_random_order(self.designs(union, engine.without_progress()), self.seed)

    def designs(self, union: FeatureUnion, engine: Engine) -> Iterator[Design]:
        """Yield features, targets and weights of the rows with a weight, batch by batch."""
        for (encodings, Y, weights), _, _ in self.batches(union):
            F = features_of(union, encodings, engine)
            yield F[weights > 0], Y[weights > 0], weights[weights > 0]


def in_random_order(designs: Iterable[Design], seed: int) -> Design:
    """Return the rows of batches, which all have a weight, in the random order of a seed."""
    F, Y, weights = map(np.concatenate, zip(*designs, strict=True))
    order = Sampling(seed).order(np.arange(len(weights)))
    return F[order], Y[order], weights[order]


def batches_to_predict(source: Source, width: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield the batches of a source whose objects are to be predicted; width: of vectors, if they are vectors."""
    rows = batch_rows([None] if width is None else np.empty((1, width)), engine.budget)
    return prefetched(source.batches(rows), source.n, engine)


def prefetched(batches: Iterator[Batch], n: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield batches, prefetching the next one, and show progress if the engine does."""
    return with_progress(read_ahead(batches), engine.progress, n, len, unit="rows")


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


def partition_prediction(asked: tuple[Any, str, np.ndarray], number: int, objects: Any) -> np.ndarray:
    """Return the predictions for a partition by a method of a fitted estimator; the last asked is a row of them."""
    estimator, method, like = asked
    with errors_in_partition(number):
        if partition_source(objects) is None:
            return like[:0]
        found: np.ndarray = getattr(estimator, method)(partition_objects(objects))
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
) -> tuple[TrainingSet, dict[str, Any]]:
    """Validate, count and sample all rows of a collection as in memory; also return the input attributes found."""
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
    return TrainingSet.of_sample(targets, objects, labels, weights, weighted, sampling), rows.inputs
