"""Landmarks chosen among all rows of a collection, which stay on their workers.

A rule gives every row a weight, its squared distance from the landmarks so far. In each round, workers weight the rows
of their partitions and propose many at once: each row a random number of times, Poisson with mean `rate` times its
weight, so that no partition needs to know about the others. The client accepts each proposal as in memory (see
`landmarks.pivots`), and accepted proposals have exactly the distribution of sequential draws. So this is k-means++ in a
few passes, where k-means|| (Bahmani et al., Scalable k-means++, 2012) approximates; and it is randomly pivoted Cholesky
in large blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, join, join_all, rows, take
from similitude.compute.engines import DistributedEngine, Handle, LocalEngine
from similitude.data.sources import (
    Batch,
    FirstPass,
    errors_in_batch,
    errors_in_partition,
    partition_source,
)
from similitude.evaluation import at_rows
from similitude.landmarks.pivots import FEWEST, ROUNDING, Exactness, Nearest, Residual
from similitude.landmarks.projection import solve_rows, solver
from similitude.landmarks.rules import Pool
from similitude.scikit import InputCheck, check_weights
from similitude.similarity import Similarity
from similitude.support import SourceError, key_order, objects_at, pairs_at, random_keys


def batch_weights(batch: Batch) -> np.ndarray:
    """Return the weights of a batch; unlike those of all rows, they may all be zero."""
    if batch.weights is not None and not batch.weights.any():
        return np.zeros(len(batch))
    return check_weights(batch.weights, len(batch))


@dataclass(frozen=True, eq=False)
class RowReader:
    """Validates the rows of batches; without targets, every row counts, and labels stay as they are."""

    check: InputCheck
    targets: Any = None

    def copy(self) -> RowReader:
        """Return a copy that sees rows of its own."""
        return RowReader(self.check.copy(), None if self.targets is None else self.targets.copy())

    def batches(self, columns: Sequence[Any]) -> Iterator[Batch]:
        """Yield the batches of a partition, which may be empty."""
        source = partition_source(*columns)
        if source is not None:
            yield from source.batches(source.batch_rows(self.check.engine.budget))

    def see(self, X: Any, batch: Batch) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the labels and weights of validated objects, and which rows count, in the first pass."""
        weights = batch_weights(batch)
        if self.targets is None:
            return batch.labels, weights, np.ones(len(batch), dtype=bool)
        labels, counted = self.targets.see(X, batch.labels, weights)
        return labels, weights, counted

    def counted(self, batch: Batch) -> np.ndarray:
        """Return which rows count, in a later pass."""
        if self.targets is None:
            return np.ones(len(batch), dtype=bool)
        counted: np.ndarray = self.targets.read(batch.labels, batch_weights(batch))[1] > 0
        return counted


@dataclass
class Look:
    """What a first look at a partition shows."""

    number: int
    n: int = 0  # rows
    described: dict[str, str] = field(default_factory=dict)  # what must be equal in all partitions
    inputs: dict[str, Any] = field(default_factory=dict)  # attributes of the estimator, such as `n_features_in_`
    counted: int = 0  # rows that count
    targets: Any = None  # after a look at the labels
    first_pass: FirstPass = field(default_factory=FirstPass)  # the rows, which every pass must give again


def look_at_partition(reader: RowReader, number: int, *columns: Any) -> Look:
    """Count and validate the rows of a partition, and its labels if there are targets."""
    reader = reader.copy()
    found = Look(number)
    with errors_in_partition(number):
        batches = reader.batches(columns)
        if reader.targets is not None:
            batches = found.first_pass.recorded(batches)
        for batch in batches:
            found.described = found.described or batch.schema()
            with errors_in_batch(batch):
                X = reader.check(batch.objects, reset=batch.start == 0)
                found.counted += int(reader.see(X, batch)[2].sum())
            found.n = batch.stop
    if found.n:
        found.inputs = reader.check.attributes
        found.targets = reader.targets
    return found


def sample_partition(
    reader: RowReader, seed: int, low: np.uint64, high: np.uint64, number: int, start: int, rank: int, *columns: Any
) -> Any:
    """Return rows as `joined` has them, objects, labels, weights, positions and ranks: those with extreme keys.

    Their keys are at most `low` or at least `high`, and follow from the seed and their ranks: `rank` rows before the
    partition count. Without targets, objects are not validated again.
    """
    reader = reader.copy()
    found = []
    with errors_in_partition(number):
        for batch in reader.batches(columns):
            X = batch.objects if reader.targets is None else reader.check(batch.objects, reset=False)
            labels, weights, counted = reader.see(X, batch)
            which = np.flatnonzero(counted)
            ranks = np.arange(rank, rank + len(which))
            rank += len(which)
            mine = random_keys(ranks, seed)
            near = (mine <= low) | (mine >= high)
            which = which[near]
            if len(which):
                found.append(
                    (take(X, which), at_rows(labels, which), weights[which], start + batch.start + which, ranks[near])
                )
    return joined(found)


def joined(parts: Sequence[tuple[Any, ...] | None]) -> Any:
    """Concatenate rows, given as objects and arrays beside them; None if there are none."""
    full = [part for part in parts if part is not None]
    if not full:
        return None
    objects, *others = zip(*full, strict=True)
    return join_all(objects), *(None if one[0] is None else np.concatenate(one) for one in others)


def squared_distances(
    exact: Exactness, landmarks: Encoding, triangle: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return squared distances of rows, their scale, and the share of the scale below which they are rounding.

    They are those from the nearest landmark, all alike before the first; or, given the Cholesky factor of the
    landmarks' Gram matrix, those from their span.
    """
    pool = exact.pool
    own = exact.diagonal
    if triangle is not None:
        left = own.copy()
        if len(triangle):
            T = solver(triangle.T, np.dtype(np.float64))
            for strip, values in pool.similarity.blocks(pool.encoding, landmarks, pool.engine).rows():
                F = solve_rows(as_numpy(values).astype(np.float64), T)
                left[strip] -= np.einsum("ij,ij->i", F, F)
        return left, np.abs(own), ROUNDING * (1 + math.sqrt(len(triangle))) * exact.eps
    left = np.ones(pool.n)
    scale = np.zeros(pool.n)
    if landmarks is not None:
        theirs = as_numpy(pool.similarity.diagonal(landmarks)).astype(np.float64)
        for strip, values in pool.similarity.blocks(pool.encoding, landmarks, pool.engine).rows():
            squares = own[strip, None] + theirs - 2.0 * as_numpy(values).astype(np.float64)
            nearest = squares.argmin(axis=1)
            left[strip] = squares[np.arange(len(squares)), nearest]
            scale[strip] = np.abs(own[strip]) + np.abs(theirs[nearest])
    return left, scale, 32 * exact.eps


def propose(
    reader: RowReader,
    so_far: LandmarksSoFar,
    rate: float,
    seed: tuple[int, int],
    number: int,
    start: int,
    barred: np.ndarray,
    *columns: Any,
) -> tuple[float, Any]:
    """Weigh the rows of a partition, and propose `rate` of them for each unit of weight; barred rows weigh nothing.

    Return the sum of the weights and the proposals, as `joined` has them: objects, positions and how often each is
    proposed. Objects that show that the similarity is not a kernel are proposed zero times.
    """
    rng = np.random.default_rng([*seed, number])
    total = 0.0
    found = []
    with errors_in_partition(number, 0):
        for batch in reader.batches(columns):
            with errors_in_batch(batch):
                X = reader.check(batch.objects, reset=False)
                counted = reader.counted(batch)
                A = so_far.k.encode_checked(X, "X")
            places = np.arange(start + batch.start, start + batch.stop)
            with objects_at(places):
                exact = Exactness(Pool(so_far.k, A, reader.check.engine, None, rng, X))
            with pairs_at(places, so_far.places):
                left, scale, rounding = squared_distances(exact, so_far.encoding, so_far.triangle)
            impossible = exact.impossible(left, scale)
            left[~counted | np.isin(places, barred) | (left <= rounding * scale)] = 0.0
            times = rng.poisson(rate * left)
            which = np.union1d(np.flatnonzero(times), impossible or ()).astype(np.intp)
            total += float(left.sum())
            if len(which):
                found.append((take(X, which), places[which], times[which]))
    return total, joined(found)


@dataclass(frozen=True, eq=False)
class Collection:
    """All rows of a collection, on workers."""

    engine: DistributedEngine  # with a session
    columns: Sequence[Sequence[Handle]]  # the partitions of objects, labels and weights
    reader: RowReader
    seed: int  # of the random order
    looks: Sequence[Look]

    @classmethod
    def of(cls, engine: DistributedEngine, columns: Any, reader: RowReader, seed: int) -> Any:
        """Look at all rows."""
        k = len(columns[0])
        readers = [engine.broadcast(reader.copy())] * k
        looks = list(engine.collect(engine.map(look_at_partition, readers, range(k), *columns)))
        check_alike(looks)
        return cls(engine, columns, reader, seed, looks)

    @property
    def inputs(self) -> dict[str, Any]:
        """Input attributes of the estimator."""
        return next(one.inputs for one in self.looks if one.n)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each partition."""
        return np.array([one.n for one in self.looks])

    @property
    def starts(self) -> np.ndarray:
        """The first row of each partition."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def n(self) -> int:
        """The number of rows that count."""
        return sum(one.counted for one in self.looks)

    def map(self, function: Any, *columns: Any, shared: Sequence[Any]) -> list[Handle]:
        """Call a function on every partition: what is shared, the number of the partition, values, its columns."""
        k = len(self.looks)
        shares = [[self.engine.broadcast(one)] * k for one in shared]
        return self.engine.map(function, *shares, range(k), *columns, *self.columns)

    def sample(self, first: int, last: int) -> Any:
        """Return the first and the last rows in random order: objects, labels, weights, positions and ranks."""
        keys = self.seed, np.uint64(key_below(first, self.n)), np.uint64(2**64 - 1 - key_below(last, self.n))
        counted = np.array([one.counted for one in self.looks])
        ranks = np.cumsum(counted) - counted
        calls = self.map(sample_partition, self.starts.tolist(), ranks.tolist(), shared=(self.reader.copy(), *keys))
        drawn = joined(list(self.engine.collect(calls)))
        if len(drawn[-1]) <= first + last:
            return drawn
        order = key_order(random_keys(drawn[-1], self.seed))
        kept = np.sort(np.concatenate([order[:first], order[len(order) - last :]]))
        return take(drawn[0], kept), *(at_rows(one, kept) for one in drawn[1:])

    def proposals(self, so_far: LandmarksSoFar, barred: Sequence[int], rate: float, number: int) -> tuple[float, Any]:
        """Return the total weight, and the proposals of all partitions."""
        excluded = np.sort(np.array([*barred, *so_far.places], dtype=np.int64))
        cut = np.split(excluded, np.searchsorted(excluded, self.starts[1:]))
        shared = (self.reader.copy(), so_far, rate, (self.seed, number))
        calls = self.map(propose, self.starts.tolist(), cut, shared=shared)
        totals, parts = zip(*self.engine.collect(calls), strict=True)
        return sum(totals), joined(parts)


def check_alike(looks: Sequence[Look]) -> Look:
    """Return the first partition with rows; raise an error if another differs in kind, width, precision or labels."""
    full = [one for one in looks if one.n]
    if not full:
        raise SourceError("the collection holds no rows")
    first = full[0]
    for one in full:
        wrong = next((what for what in first.described if first.described[what] != one.described[what]), None)
        if wrong is not None:
            raise SourceError(
                f"partition {one.number} has {wrong} {one.described[wrong]}, partition {first.number} has "
                f"{first.described[wrong]}"
            )
    return first


def key_below(wanted: int, n: int) -> int:
    """Return a key below which at least the wanted number of n rows lie, with near certainty.

    >>> key_below(10, 10) == 2**64 - 1
    True
    """
    # standard deviations by which more rows are drawn than needed: too few once in 10^20 times
    enough = int(wanted + 10.0 * wanted**0.5)
    return min(2**64 - 1, enough * 2**64 // max(n, 1))


class LandmarksSoFar:
    """The landmarks that a rule in `AMONG_ALL` has chosen so far."""

    def __init__(self, rule: str, k: Similarity) -> None:
        self.k = k
        self.encoding: Any = None
        self.places = np.empty(0, dtype=np.int64)
        # the Cholesky factor of their Gram matrix, for the rule that measures the distance from their span
        self.triangle = np.empty((0, 0)) if rule == "rpcholesky" else None

    def add(self, pool: Pool, places: np.ndarray, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Accept some of the proposals, given by their positions in a pool that begins with the landmarks so far.

        Return the positions of all landmarks, and the share of the weight of all rows that is left; inf if unknown.
        """
        known = np.arange(len(self.places))
        share = math.inf
        with objects_at(places):
            if self.triangle is None and not len(known):
                accepted = proposed[:1]  # the first is drawn uniformly
            else:
                accepted, share = self._sifted(pool, proposed, most)
        kept = np.concatenate([known, accepted])
        if len(accepted):
            self.encoding = rows(pool.encoding, kept)
            self.places = places[kept]
        return kept, share

    def _sifted(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and the mean share of their weight that proposals keep: that of all rows."""
        weights: Nearest | Residual
        if self.triangle is None:
            weights = Nearest(pool)
            weights.add(np.arange(len(self.places)))
        else:
            weights = Residual(pool, len(self.places) + most)
            if len(self.places):
                weights.resume(self.triangle)
        if not len(proposed):
            return proposed, math.inf
        before = weights.current[proposed]
        accepted = proposed[weights.sift(proposed, pool.rng.random(len(proposed)), most)]
        if not len(accepted):
            return accepted, math.inf
        weights.add(accepted)
        if isinstance(weights, Residual):
            self.triangle = np.tril(weights.factor[weights.pivots, : len(weights.pivots)].astype(np.float64))
        return accepted, float(np.mean(weights.current[proposed][before > 0] / before[before > 0])) or math.inf


AMONG_ALL = ("kmeans++", "rpcholesky")
"""Rules that choose among all rows of a collection; the others choose among a uniform sample."""


def describe_choice(rule: str, sample: int, n: int) -> str:
    """Describe from which rows of a collection landmarks were chosen.

    >>> describe_choice("kmeans++", 20, 1_000)
    "landmarks='kmeans++' chose among all 1,000 rows"
    >>> describe_choice("diverse", 20, 1_000)
    "landmarks='diverse' chose among a uniform sample of 20 of 1,000 rows"
    """
    if rule in AMONG_ALL or sample >= n:
        return f"landmarks={rule!r} chose among all {n:,} rows"
    return f"landmarks={rule!r} chose among a uniform sample of {sample:,} of {n:,} rows"


def choose_among_all(
    rule: str, k: Similarity, collection: Collection, n: int, barred: Sequence[int] = ()
) -> tuple[Any, np.ndarray]:
    """Return at most n objects of a collection in the order chosen, and their positions; none is barred.

    They are fewer if no other adds anything. The rule is a name in `AMONG_ALL`.
    """
    so_far = LandmarksSoFar(rule, k)
    chosen = None
    engine = LocalEngine(memory=collection.engine.memory)
    rng = np.random.default_rng(collection.seed)
    weight = math.inf  # of all rows, if it is known: the first round measures it
    for number in itertools.count():
        m = len(so_far.places)
        if m == n:
            break
        # proposals for each landmark still missing: many are rejected, and another round costs a pass; but the client
        # computes their similarities among themselves
        most = 2_048
        wanted = min(max(FEWEST, 4 * (n - m)), most)
        total, found = collection.proposals(so_far, barred, wanted / weight, number)
        weight = total
        stuck = total == 0.0
        if found is not None:
            objects, places, times = found
            proposed = m + rng.permutation(np.repeat(np.arange(len(times)), times))[: 2 * most]
            if m:
                objects = join(chosen, objects)
            pool = Pool(k, k.encode_checked(objects, "X"), engine, None, rng, objects)
            kept, share = so_far.add(pool, np.concatenate([so_far.places, places]), proposed, n - m)
            if len(kept) > m:
                chosen = take(objects, kept)
                # it is never assumed to shrink by more than this in a round, which bounds the proposals
                weight = total * max(share, 1 / 16)
            stuck |= len(proposed) > 0 and len(kept) == m
        if stuck:
            break
    if not len(so_far.places):
        raise ValueError(f"{k!r} is zero for every object and itself: landmarks={rule!r} has nothing to draw by")
    return chosen, so_far.places
