"""What workers compute on one partition: its size, a sample, sums over features, features, predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.compute import join, take
from similitude.data.sources import (
    Batch,
    FirstPass,
    errors_in_batch,
    errors_in_partition,
    partition_objects,
    partition_source,
)
from similitude.fitting.batches import SourceRows, batch_weights
from similitude.fitting.passes import features_of
from similitude.fitting.targets import Targets
from similitude.landmarks import FeatureUnion, Look
from similitude.linear import Moments
from similitude.scikit import InputCheck
from similitude.similarity import Similarity
from similitude.support import random_keys


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
    check, targets = share[0].copy(), share[1].copy()
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
            found.n, found.counted = batch.stop, found.counted + int(counted.sum())
    found.inputs, found.targets = check.attributes, targets
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
    check, targets, limits = share[0].copy(), share[1].copy(), share[2]
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
            which, ranks = which[near], ranks[near]
            if len(which):
                some = [take(X, which), labels[which], weights[which], start + batch.start + which, ranks]
                found = some if not found else [join(found[0], some[0]), *map(_both, found[1:], some[1:])]
    return tuple(found) if found else None


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
