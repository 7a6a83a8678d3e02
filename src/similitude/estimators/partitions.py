"""What workers do with one partition of a collection: look at it, draw from it, add it up, map it, predict it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import join, take
from similitude.data.sources import (
    PEEK,
    Batch,
    about,
    batch_rows,
    batches_in,
    described,
    in_partition,
    keys,
    objects_in,
    opened,
)
from similitude.estimators.sourced import Streamed, Targets, weights_of
from similitude.estimators.streams import mapped
from similitude.landmarks import partitions as maps
from similitude.landmarks.features import Together
from similitude.linear import Moments
from similitude.similarity import Similarity

Rows = tuple[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Objects, labels, weights, places in the whole, and how many with a weight come before each."""


def for_workers(machine: Any, memory: int | str) -> Any:
    """Return a copy of a machine that computes in one thread, without objects that partitions have no use for."""
    made = maps.for_workers(machine, memory)
    made.landmarks, made.unlabeled = "auto", None
    return made


@dataclass
class Look(maps.Look):
    """What a first look at a partition tells.

    Attributes
    ----------
    counted : int
        Its rows with a weight.
    targets : Targets or None
    """

    counted: int = 0
    targets: Targets | None = None


def look(machine: Any, number: int, *columns: Any) -> Look:
    """Count and check the rows of a partition, and what there is of labels."""
    reader, found = copy.copy(machine), Look(number)
    with in_partition(number):
        source = opened(*columns)
        if source is None:
            return found
        found.targets = reader._reading()
        for batch in batches_in(source, reader.engine.budget):
            found.described = found.described or described(batch)
            with about(batch):
                X = reader._checked(batch.objects, reset=batch.start == 0)
                _, counted = found.targets.see(X, batch.labels, weights_of(batch))
            found.n, found.counted = batch.stop, found.counted + int(counted.sum())
    found.inputs = maps.inputs_of(reader)
    return found


@dataclass(frozen=True)
class Limits:
    """Rows whose keys lie below the one or above the other may be among the first or the last in a random order."""

    seed: int
    low: int
    high: int


def draw(machine: Any, limits: Limits, number: int, start: int, rank: int, *columns: Any) -> Rows | None:
    """Return the rows of a partition whose keys are near either end."""
    reader, found = copy.copy(machine), None
    with in_partition(number):
        source = opened(*columns)
        if source is None:
            return None
        targets = reader._reading()
        for batch in batches_in(source, reader.engine.budget):
            X = reader._checked(batch.objects, reset=False)
            weights = weights_of(batch)
            labels, counted = targets.see(X, batch.labels, weights)
            which = np.flatnonzero(counted)
            ranks = np.arange(rank, rank + len(which))
            rank += len(which)
            mine = keys(ranks, limits.seed)
            near = (mine <= np.uint64(limits.low)) | (mine >= np.uint64(limits.high))
            which, ranks = which[near], ranks[near]
            if len(which):
                some = take(X, which), labels[which], weights[which], start + batch.start + which, ranks
                found = some if found is None else followed(found, some)
    return found


@dataclass(frozen=True, eq=False)
class Weighted(maps.Reader):
    """Reads batches of which only examples with a weight may become landmarks."""

    targets: Targets

    def read(self, batch: Batch) -> tuple[Any, np.ndarray]:
        """Return checked objects, and which of them have a weight."""
        X, _ = super().read(batch)
        return X, self.targets.read(batch.labels, weights_of(batch))[1] > 0


def followed(one: Rows, other: Rows) -> Rows:
    """Return the rows of both, one after the other."""
    arrays = [np.concatenate(pair) for pair in zip(one[1:], other[1:], strict=True)]
    return join(one[0], other[0]), arrays[0], arrays[1], arrays[2], arrays[3]


@dataclass(frozen=True, eq=False)
class Share:
    """What every partition needs in the pass over the similarities."""

    machine: Any
    targets: Targets
    similarities: tuple[Similarity, ...]
    together: Together
    size: int
    seed: int

    def streamed(self, n: int, columns: tuple[Any, ...]) -> Streamed:
        """Return a partition as rows that are encoded batch by batch."""
        source = opened(*columns)
        assert source is not None
        rows = batch_rows(next(source.batches(PEEK)).objects, self.machine.engine.budget)
        return Streamed(self.machine, source, self.targets, self.seed, rows, n, n)


def moments(share: Share, number: int, start: int, n: int, held: np.ndarray, *columns: Any) -> Moments | None:
    """Return the moments of the features of a partition, but for the rows held out; None where it has no rows."""
    if n == 0:
        return None
    with in_partition(number, start):
        rows = share.streamed(n, columns)
        engine = share.machine.engine
        return rows.moments(share.similarities, share.together, held - start, engine, share.size, dict)


def features(share: Share, number: int, start: int, n: int, *columns: Any) -> list[tuple[np.ndarray, ...]]:
    """Return features, targets and weights of the rows of a partition that have a weight, in batches."""
    if n == 0:
        return []
    found: list[tuple[np.ndarray, ...]] = []
    with in_partition(number, start):
        for batch in share.streamed(n, columns).batches(share.similarities, 0):
            encodings, Y, weights = batch.encoding
            F = mapped(share.together, encodings, share.machine.engine, share.size)
            counted = weights > 0
            found.append((F[counted], Y[counted], weights[counted]))
    return found


@dataclass(frozen=True, eq=False)
class Asked:
    """A fitted machine, and which of its methods is asked; `like` holds a row of what it answers."""

    machine: Any
    method: str
    like: np.ndarray


def answer(asked: Asked, number: int, objects: Any) -> np.ndarray:
    """Return what a fitted machine says of a partition."""
    with in_partition(number):
        if opened(objects) is None:
            return asked.like[:0]
        found: np.ndarray = getattr(asked.machine, asked.method)(objects_in(objects))
    return found
