"""What workers compute on one partition while landmarks are chosen: a first look, a sample, proposals.

To choose among all rows, a rule gives every row a weight, its squared distance from the landmarks so far. Each row is
proposed a random number of times, Poisson with mean `rate` times its weight. Whatever the rate, the proposals of all
partitions in random order are then independent draws in proportion to the weights, and no partition needs to know about
the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from similitude.compute import Encoding, as_numpy, join, join_all, take
from similitude.compute.engines import LocalEngine
from similitude.data.sources import Batch, errors_in_batch, errors_in_partition, partition_source
from similitude.landmarks.pivots import ROUNDING, Exactness
from similitude.landmarks.projection import solve_rows, solver
from similitude.landmarks.rules import Pool
from similitude.scikit import InputCheck
from similitude.similarity import Similarity
from similitude.support import objects_at, pairs_at, random_keys


@dataclass
class Look:
    """What a first look at a partition shows.

    Attributes
    ----------
    number : int
        The number of the partition.
    n : int
        The number of its rows.
    described : dict of str
        Properties that must be equal in all partitions.
    inputs : dict
        Input attributes of the estimator, such as ``n_features_in_``.
    """

    number: int
    n: int = 0
    described: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)


def look_at_partition(check: InputCheck, number: int, *columns: Any) -> Look:
    """Count and validate the rows of a partition."""
    check, found = check.copy(), Look(number)
    with errors_in_partition(number):
        source = partition_source(*columns)
        if source is None:
            return found
        for batch in source.batches(source.batch_rows(check.engine.budget)):
            found.described = found.described or batch.schema()
            with errors_in_batch(batch):
                check(batch.objects, reset=batch.start == 0)
            found.n = batch.stop
    found.inputs = check.attributes
    return found


def sample_partition(check: InputCheck, seed: int, below: int, number: int, start: int, *columns: Any) -> Any:
    """Return objects, labels and positions of the rows of a partition with small keys; None if there are none."""
    with errors_in_partition(number):
        source = partition_source(*columns)
        found = []
        for batch in [] if source is None else source.batches(source.batch_rows(check.engine.budget)):
            places = np.arange(start + batch.start, start + batch.stop)
            which = np.flatnonzero(random_keys(places, seed) <= np.uint64(below))
            if len(which):
                found.append((take(batch.objects, which), places[which], batch.labels, which))
    if not found:
        return None
    labels = None if found[0][2] is None else np.concatenate([labels[which] for _, _, labels, which in found])
    return join_all([one[0] for one in found]), labels, np.concatenate([one[1] for one in found])


class Standing(Protocol):
    """How a rule weights rows given the landmarks so far."""

    def weigh(self, exact: Exactness) -> tuple[np.ndarray, np.ndarray, float]:
        """Return squared distances, their scale, and the share of the scale below which they are rounding."""


@dataclass(frozen=True, eq=False)
class Apart:
    """The squared distance from the nearest landmark; 1 before the first."""

    landmarks: Encoding = None

    def weigh(self, exact: Exactness) -> tuple[np.ndarray, np.ndarray, float]:
        """Return squared distances, their scale, and the share of the scale below which they are rounding."""
        pool, own = exact.pool, exact.diagonal
        if self.landmarks is None:
            return np.ones(pool.n), np.zeros(pool.n), 0.0
        theirs = as_numpy(pool.similarity.diagonal(self.landmarks)).astype(np.float64)
        left, scale = np.empty(pool.n), np.empty(pool.n)
        for strip, values in pool.similarity.blocks(pool.encoding, self.landmarks, pool.engine).rows():
            squares = own[strip, None] + theirs - 2.0 * as_numpy(values).astype(np.float64)
            nearest = squares.argmin(axis=1)
            left[strip] = squares[np.arange(len(squares)), nearest]
            scale[strip] = np.abs(own[strip]) + np.abs(theirs[nearest])
        return left, scale, 32 * exact.eps


@dataclass(frozen=True, eq=False)
class Unexplained:
    """The squared distance from the span of the landmarks, whose Gram matrix has this Cholesky factor."""

    landmarks: Encoding = None
    triangle: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def weigh(self, exact: Exactness) -> tuple[np.ndarray, np.ndarray, float]:
        """Return squared distances, their scale, and the share of the scale below which they are rounding."""
        pool, left = exact.pool, exact.diagonal.copy()
        if self.landmarks is not None:
            T = solver(self.triangle.T, np.dtype(np.float64))
            for strip, values in pool.similarity.blocks(pool.encoding, self.landmarks, pool.engine).rows():
                F = solve_rows(as_numpy(values).astype(np.float64), T)
                left[strip] -= np.einsum("ij,ij->i", F, F)
        share = ROUNDING * (1 + math.sqrt(len(self.triangle))) * exact.eps
        return left, np.abs(exact.diagonal), share


@dataclass(frozen=True, eq=False)
class Candidates:
    """Reads batches of rows that may become landmarks.

    Attributes
    ----------
    check : InputCheck
    eligible : callable, optional
        Returns which rows of a batch may become landmarks. Default: all.
    """

    check: InputCheck
    eligible: Callable[[Batch], np.ndarray] | None = None

    def read(self, batch: Batch) -> tuple[Any, np.ndarray]:
        """Return validated objects, and which of them may become landmarks."""
        X = self.check(batch.objects, reset=False)
        return X, np.ones(len(batch), dtype=bool) if self.eligible is None else self.eligible(batch)


@dataclass(frozen=True, eq=False)
class Turn:
    """What every partition needs to propose landmarks.

    Attributes
    ----------
    candidates : Candidates
    similarity : Similarity
        Resolved.
    standing : Standing
    places : array of int
        Positions of the landmarks so far, for errors.
    rate : float
        Expected number of proposals per unit of weight.
    seed : int
    number : int
        Number of rounds before this one.
    memory : int or str
        Memory budget of a worker.
    """

    candidates: Candidates
    similarity: Similarity
    standing: Standing
    places: np.ndarray
    rate: float
    seed: int
    number: int
    memory: int | str


@dataclass(frozen=True, eq=False)
class Proposed:
    """The sum of all weights, and the proposed objects with their positions and counts.

    Objects that show that the similarity is not a kernel are included with count zero.
    """

    total: float = 0.0
    objects: Any = None
    places: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    times: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __add__(self, other: Proposed) -> Proposed:
        """Concatenate two sets of proposals."""
        objects = [one.objects for one in (self, other) if one.objects is not None]
        return Proposed(
            self.total + other.total,
            join(*objects) if len(objects) == 2 else objects[0] if objects else None,
            np.concatenate([self.places, other.places]),
            np.concatenate([self.times, other.times]),
        )


def propose(turn: Turn, number: int, start: int, barred: np.ndarray, *columns: Any) -> Proposed:
    """Weight the rows of a partition, and propose some; barred rows have weight zero."""
    rng = np.random.default_rng([turn.seed, turn.number, number])
    found, engine = Proposed(), LocalEngine(threads=1, memory=turn.memory)
    with errors_in_partition(number, 0):
        source = partition_source(*columns)
        if source is None:
            return found
        for batch in source.batches(source.batch_rows(engine.budget)):
            with errors_in_batch(batch):
                X, counted = turn.candidates.read(batch)
                A = turn.similarity.encode_checked(X, "X")
            places = np.arange(start + batch.start, start + batch.stop)
            counted[np.isin(places, barred)] = False
            pool = Pool(turn.similarity, A, engine, None, rng, X)
            found = found + _proposed(turn, pool, places, counted)
    return found


def _proposed(turn: Turn, pool: Pool, places: np.ndarray, counted: np.ndarray) -> Proposed:
    with objects_at(places):
        exact = Exactness(pool)
    with pairs_at(places, turn.places):
        left, scale, rounding = turn.standing.weigh(exact)
    impossible = exact.impossible(left, scale)
    left[~counted | (left <= rounding * scale)] = 0.0
    times = pool.rng.poisson(turn.rate * left)
    which = np.flatnonzero(times)
    if impossible is not None:
        which = np.union1d(which, impossible)
    some = take(pool.objects, which) if len(which) else None
    return Proposed(float(left.sum()), some, places[which], times[which])
