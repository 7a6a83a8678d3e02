"""Rows on the workers of a cluster: counted, sampled and summed where they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.compute import join, take
from similitude.compute.engines import DistributedEngine, Engine, Handle, PartialSums, sum_batches
from similitude.data.sources import (
    Batch,
    FirstPass,
    errors_in_batch,
    errors_in_partition,
    partition_objects,
    partition_source,
)
from similitude.evaluation import MOST_HELD_OUT
from similitude.fitting.batches import Sampled, SourceRows, batch_weights, sample_size
from similitude.fitting.passes import FeatureUnion, Marks, covering, features_of
from similitude.fitting.targets import Targets
from similitude.fitting.training_set import Design, Sampling
from similitude.landmarks import Candidates, Collection, Look, check_alike, key_below
from similitude.linear import Moments
from similitude.scikit import InputCheck
from similitude.similarity import Similarity
from similitude.support import key_order, random_keys


@dataclass
class LabeledLook(Look):
    """What a first look at a partition shows.

    Attributes
    ----------
    counted : int
        Its rows with a weight.
    targets : Targets or None
    first_pass : FirstPass
        Its rows, which every pass must give again.
    """

    counted: int = 0
    targets: Targets | None = None
    first_pass: FirstPass = field(default_factory=FirstPass)


def partition_look(share: tuple[InputCheck, Targets], number: int, *columns: Any) -> LabeledLook:
    """Count and validate the rows of a partition, and its labels."""
    check = share[0].copy()
    targets = share[1].copy()
    found = LabeledLook(number)
    with errors_in_partition(number):
        source = partition_source(*columns)
        if source is None:
            return found
        for batch in found.first_pass.recorded(source.batches(source.batch_rows(check.engine.budget))):
            found.described = found.described or batch.schema()
            with errors_in_batch(batch):
                X = check(batch.objects, reset=batch.start == 0)
                _, counted = targets.see(X, batch.labels, batch_weights(batch))
            found.n = batch.stop
            found.counted = found.counted + int(counted.sum())
    found.inputs = check.attributes
    found.targets = targets
    return found


@dataclass(frozen=True)
class KeyRange:
    """Rows with keys at or below the one, or at or above the other, may be first or last in random order."""

    seed: int
    low: int
    high: int


def partition_sample(
    share: tuple[InputCheck, Targets, KeyRange], number: int, start: int, rank: int, *columns: Any
) -> Any:
    """Return the rows of a partition with keys in the range: objects, labels, weights, positions and ranks."""
    check = share[0].copy()
    targets = share[1].copy()
    limits = share[2]
    found: list[Any] = []
    with errors_in_partition(number):
        source = partition_source(*columns)
        if source is None:
            return None
        for batch in source.batches(source.batch_rows(check.engine.budget)):
            X = check(batch.objects, reset=False)
            weights = batch_weights(batch)
            labels, counted = targets.see(X, batch.labels, weights)
            which = np.flatnonzero(counted)
            ranks = np.arange(rank, rank + len(which))
            rank += len(which)
            mine = random_keys(ranks, limits.seed)
            near = (mine <= np.uint64(limits.low)) | (mine >= np.uint64(limits.high))
            which = which[near]
            ranks = ranks[near]
            if len(which):
                some = [take(X, which), labels[which], weights[which], start + batch.start + which, ranks]
                found = some if not found else [join(found[0], some[0]), *map(_both, found[1:], some[1:])]
    if found:
        return tuple(found)
    return None


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.concatenate([one, other])


@dataclass(frozen=True, eq=False)
class Eligible:
    """Tells which rows of a batch may become landmarks: those with a weight."""

    targets: Targets

    def __call__(self, batch: Batch) -> np.ndarray:
        """Return a mask of the rows."""
        return self.targets.read(batch.labels, batch_weights(batch))[1] > 0


@dataclass(frozen=True, eq=False)
class PartitionPass:
    """What every partition needs in the pass over the similarities."""

    check: InputCheck
    targets: Targets
    similarities: tuple[Similarity, ...]
    union: FeatureUnion
    size: int
    seed: int

    def rows(self, n: int, first_pass: FirstPass, columns: tuple[Any, ...]) -> SourceRows:
        """Return the rows of a partition, encoded batch by batch."""
        source = partition_source(*columns)
        assert source is not None
        rows = source.batch_rows(self.check.engine.budget)
        return SourceRows(source, self.check, self.targets, self.seed, rows, n, n, first_pass)


def partition_sums(
    share: PartitionPass, number: int, start: int, n: int, first_pass: FirstPass, held_out: np.ndarray, *columns: Any
) -> Moments | None:
    """Return the sums over the features of a partition, except for held-out rows; None if it has no rows."""
    if n == 0:
        return None
    with errors_in_partition(number, start):
        rows = share.rows(n, first_pass, columns)
        return rows.sums(share.similarities, share.union, held_out - start, share.check.engine, share.size, dict)


def partition_features(
    share: PartitionPass, number: int, start: int, n: int, first_pass: FirstPass, *columns: Any
) -> list[tuple[np.ndarray, ...]]:
    """Return features, targets and weights of the rows of a partition that have a weight, in batches."""
    if n == 0:
        return []
    found: list[tuple[np.ndarray, ...]] = []
    with errors_in_partition(number, start):
        for batch in share.rows(n, first_pass, columns).batches(share.similarities, 0):
            encodings, Y, weights = batch.encoding
            F = features_of(share.union, encodings, share.check.engine, share.size)
            counted = weights > 0
            found.append((F[counted], Y[counted], weights[counted]))
    return found


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


@dataclass(frozen=True, eq=False)
class DistributedRows:
    """All rows of a collection, on workers.

    Attributes
    ----------
    engine : DistributedEngine
        With a session.
    columns : list of lists of handles
        The partitions of objects, labels and weights.
    check : InputCheck
    targets : Targets
    seed : int
        Of the random order.
    sizes, counted : array of int
        The rows of each partition, and those with a weight.
    first_passes : list of FirstPass
        The rows of each partition, which every pass must give again.
    """

    engine: DistributedEngine
    columns: list[list[Handle]]
    check: InputCheck
    targets: Targets
    seed: int
    sizes: np.ndarray
    counted: np.ndarray
    first_passes: list[FirstPass]

    @property
    def n(self) -> int:
        """The number of rows with a weight."""
        return int(self.counted.sum())

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> np.ndarray:
        """The first row of each partition."""
        return np.cumsum(self.sizes) - self.sizes

    def map(self, function: Any, share: Any, *columns: Sequence[Any]) -> list[Handle]:
        """Call a function with a shared value on every partition: its number, some values, its columns."""
        shared = self.engine.broadcast(share)
        k = len(self.sizes)
        return self.engine.map(function, [shared] * k, range(k), *columns, *self.columns)

    def candidates(self, excluded: np.ndarray) -> Collection:
        """Return all rows as rules for landmarks see them, except those at some positions."""
        reader = Candidates(self.check, Eligible(self.targets.copy()))
        return Collection(self.engine, reader, self.columns, self.sizes, self.seed, excluded)

    def sums(
        self,
        similarities: Sequence[Similarity],
        union: FeatureUnion,
        held_out: np.ndarray,
        engine: Engine,
        size: int,
        marks: Marks,
    ) -> Moments:
        """Return the sums over the features of all rows except those held out, by position, in one pass."""
        share = self._share(similarities, union, size)
        k = len(self.sizes)
        inside = np.split(np.sort(held_out), np.searchsorted(np.sort(held_out), self.starts[1:]))
        edges = np.append(self.starts, self.n_rows)

        def groups(start: int) -> Iterator[PartialSums]:
            of_each = self.starts.tolist(), self.sizes.tolist(), self.first_passes, inside
            parts = self.map(partition_sums, share, *of_each)
            cuts = [slice(a, a + GROUP) for a in range(0, k, GROUP) if edges[min(a + GROUP, k)] > start]
            sums = self.engine.collect([self.engine.reduce(parts[cut]) for cut in cuts])
            for cut, total in zip(cuts, sums, strict=True):
                yield PartialSums([total], int(edges[cut.start]), int(edges[min(cut.stop, k)]))

        marks = covering(marks, self.sizes, [one.digest() for one in self.first_passes])
        found: Moments = sum_batches(groups, self.n_rows, engine, Moments.from_arrays, marks)
        return found

    def features(self, similarities: Sequence[Similarity], union: FeatureUnion, engine: Engine, size: int) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        logging.getLogger("similitude").info("this loss or penalty brings the features of all rows to the client")
        share = self._share(similarities, union, size)
        calls = self.map(partition_features, share, self.starts.tolist(), self.sizes.tolist(), self.first_passes)
        parts = [one for part in self.engine.collect(calls) for one in part]
        F, Y, weights = (np.concatenate(one) for one in zip(*parts, strict=True))
        order = Sampling(self.seed).order(np.arange(len(weights)))
        return F[order], Y[order], weights[order]

    def _share(self, similarities: Sequence[Similarity], union: FeatureUnion, size: int) -> PartitionPass:
        return PartitionPass(self.check, self.targets.copy(), tuple(similarities), union, size, self.seed)


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
    k = len(columns[0])
    calls = engine.map(partition_look, [engine.broadcast((check, targets.copy()))] * k, range(k), *columns)
    looks = list(engine.collect(calls))
    check_alike(looks)
    inputs: dict[str, Any] = {}
    for one in looks:
        if one.n:
            targets.absorb(one.targets)
            inputs |= one.inputs
    targets.close()
    sizes, counted = (np.array([getattr(one, name) for one in looks]) for name in ("n", "counted"))
    if counted.sum() == 0:
        raise ValueError("every weight is zero: there is nothing to learn from")
    weighted = any(one.described.get("weights", "none") != "none" for one in looks)
    first_passes = [one.first_pass for one in looks]
    rows = DistributedRows(engine, columns, check, targets, seed, sizes, counted, first_passes)
    objects, labels, weights, places, ranks = _sample(rows, sample_size(n_landmarks), MOST_HELD_OUT)
    sampling = Sampling(seed, places, ranks, None if len(places) == rows.n else rows)
    return Sampled(objects, labels, weights, weighted, sampling), inputs


def _sample(rows: DistributedRows, first: int, last: int) -> Any:
    """Return the first and the last rows in random order, in the order of the collection."""
    limits = KeyRange(rows.seed, key_below(first, rows.n), 2**64 - 1 - key_below(last, rows.n))
    ranks = np.cumsum(rows.counted) - rows.counted
    share = rows.check, rows.targets.copy(), limits
    drawn = rows.engine.collect(rows.map(partition_sample, share, rows.starts.tolist(), ranks.tolist()))
    parts = [one for one in drawn if one is not None]
    while len(parts) > 1:
        parts = [joined(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    objects, labels, weights, places, found = parts[0]
    if len(places) <= first + last:
        return parts[0]
    order = key_order(random_keys(found, rows.seed))
    kept = np.sort(np.concatenate([order[:first], order[len(order) - last :]]))
    return take(objects, kept), labels[kept], weights[kept], places[kept], found[kept]


def joined(one: Any, other: Any) -> Any:
    """Return the rows of both, one after the other."""
    return join(one[0], other[0]), *(np.concatenate(pair) for pair in zip(one[1:], other[1:], strict=True))
