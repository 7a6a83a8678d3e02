"""Landmarks chosen among all rows of a collection, which stay on their workers.

To choose among all rows, a rule gives every row a weight, its squared distance from the landmarks so far. In each
round, workers weight the rows of their partitions and propose many at once: each row a random number of times, Poisson
with mean `rate` times its weight. Whatever the rate, the proposals of all partitions in random order are then
independent draws in proportion to the weights, and no partition needs to know about the others.

The client accepts each proposal with probability (its weight by now) / (its weight when drawn), for which the
similarities of the proposals among themselves are enough. As with blocks in memory (see `landmarks.pivots`), accepted
proposals have exactly the distribution of sequential draws. So this is k-means++ itself in a few passes over the data,
where k-means|| (Bahmani et al., Scalable k-means++, 2012) oversamples in the same way but then approximates; and it is
randomly pivoted Cholesky in large blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, join, join_all, rows, take
from similitude.compute.engines import DistributedEngine, Handle, LocalEngine
from similitude.data.sources import (
    Batch,
    FirstPass,
    Source,
    errors_in_batch,
    errors_in_partition,
    partition_source,
)
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

    def batches(self, source: Source) -> Iterator[Batch]:
        """Yield the batches of a partition."""
        return source.batches(source.batch_rows(self.check.engine.budget))

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
        source = partition_source(*columns)
        if source is None:
            return found
        batches = reader.batches(source)
        for batch in batches if reader.targets is None else found.first_pass.recorded(batches):
            found.described = found.described or batch.schema()
            with errors_in_batch(batch):
                X = reader.check(batch.objects, reset=batch.start == 0)
                found.counted += int(reader.see(X, batch)[2].sum())
            found.n = batch.stop
    found.inputs = reader.check.attributes
    found.targets = reader.targets
    return found


Keys = tuple[int, int, int]
"""The seed of the keys, and two keys: rows up to the one, or from the other on, are drawn."""


def sample_partition(reader: RowReader, keys: Keys, number: int, start: int, rank: int, *columns: Any) -> Any:
    """Return the rows with such keys, as `joined` has them: objects, labels, weights, positions and ranks.

    Keys are those of ranks: `rank` rows before the partition count. Without targets, objects are not validated again.
    """
    reader = reader.copy()
    seed, low, high = keys
    found = []
    with errors_in_partition(number):
        source = partition_source(*columns)
        for batch in () if source is None else reader.batches(source):
            X = batch.objects if reader.targets is None else reader.check(batch.objects, reset=False)
            labels, weights, counted = reader.see(X, batch)
            which = np.flatnonzero(counted)
            ranks = np.arange(rank, rank + len(which))
            rank += len(which)
            mine = random_keys(ranks, seed)
            near = (mine <= np.uint64(low)) | (mine >= np.uint64(high))
            which = which[near]
            if len(which):
                drawn = None if labels is None else labels[which]
                found.append((take(X, which), drawn, weights[which], start + batch.start + which, ranks[near]))
    return joined(found)


def joined(parts: Sequence[tuple[Any, ...] | None]) -> Any:
    """Concatenate rows, given as objects and arrays beside them; None if there are none."""
    full = [part for part in parts if part is not None]
    if not full:
        return None
    objects, *others = zip(*full, strict=True)
    return join_all(objects), *(None if one[0] is None else np.concatenate(one) for one in others)


Weigh = Callable[[Exactness], tuple[np.ndarray, np.ndarray, float]]
"""Returns squared distances of rows, their scale, and the share of the scale below which they are rounding."""


def distance_from_nearest(landmarks: Encoding, exact: Exactness) -> tuple[np.ndarray, np.ndarray, float]:
    """Weigh rows by the squared distance from the nearest landmark; all alike before the first."""
    pool = exact.pool
    own = exact.diagonal
    if landmarks is None:
        return np.ones(pool.n), np.zeros(pool.n), 0.0
    theirs = as_numpy(pool.similarity.diagonal(landmarks)).astype(np.float64)
    left = np.empty(pool.n)
    scale = np.empty(pool.n)
    for strip, values in pool.similarity.blocks(pool.encoding, landmarks, pool.engine).rows():
        squares = own[strip, None] + theirs - 2.0 * as_numpy(values).astype(np.float64)
        nearest = squares.argmin(axis=1)
        left[strip] = squares[np.arange(len(squares)), nearest]
        scale[strip] = np.abs(own[strip]) + np.abs(theirs[nearest])
    return left, scale, 32 * exact.eps


def distance_from_span(
    landmarks: Encoding, triangle: np.ndarray, exact: Exactness
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weigh rows by the squared distance from the span of the landmarks, given the Cholesky factor of their Gram."""
    pool = exact.pool
    left = exact.diagonal.copy()
    if landmarks is not None:
        T = solver(triangle.T, np.dtype(np.float64))
        for strip, values in pool.similarity.blocks(pool.encoding, landmarks, pool.engine).rows():
            F = solve_rows(as_numpy(values).astype(np.float64), T)
            left[strip] -= np.einsum("ij,ij->i", F, F)
    return left, np.abs(exact.diagonal), ROUNDING * (1 + math.sqrt(len(triangle))) * exact.eps


@dataclass(frozen=True, eq=False)
class Turn:
    """What every partition needs to propose landmarks."""

    reader: RowReader
    similarity: Similarity
    weigh: Weigh
    places: np.ndarray  # of the landmarks so far, for errors
    rate: float  # expected number of proposals per unit of weight
    seed: tuple[int, int]  # and the number of rounds before this one


def propose(turn: Turn, number: int, start: int, barred: np.ndarray, *columns: Any) -> tuple[float, Any]:
    """Weigh the rows of a partition, and propose some; barred rows have weight zero.

    Return the sum of the weights and the proposals, as `joined` has them: objects, positions and how often each is
    proposed. Objects that show that the similarity is not a kernel are proposed zero times.
    """
    rng = np.random.default_rng([*turn.seed, number])
    engine = turn.reader.check.engine
    total = 0.0
    found = []
    with errors_in_partition(number, 0):
        source = partition_source(*columns)
        for batch in () if source is None else turn.reader.batches(source):
            with errors_in_batch(batch):
                X = turn.reader.check(batch.objects, reset=False)
                counted = turn.reader.counted(batch)
                A = turn.similarity.encode_checked(X, "X")
            places = np.arange(start + batch.start, start + batch.stop)
            with objects_at(places):
                exact = Exactness(Pool(turn.similarity, A, engine, None, rng, X))
            with pairs_at(places, turn.places):
                left, scale, rounding = turn.weigh(exact)
            impossible = exact.impossible(left, scale)
            left[~counted | np.isin(places, barred) | (left <= rounding * scale)] = 0.0
            times = rng.poisson(turn.rate * left)
            which = np.union1d(np.flatnonzero(times), () if impossible is None else impossible).astype(np.intp)
            total += float(left.sum())
            if len(which):
                found.append((take(X, which), places[which], times[which]))
    return total, joined(found)


MOST_PROPOSED = 2_048
"""Most proposals in a round: their similarities among themselves are computed by the client."""


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
        keys = self.seed, key_below(first, self.n), 2**64 - 1 - key_below(last, self.n)
        counted = np.array([one.counted for one in self.looks])
        ranks = np.cumsum(counted) - counted
        calls = self.map(sample_partition, self.starts.tolist(), ranks.tolist(), shared=(self.reader.copy(), keys))
        drawn = joined(list(self.engine.collect(calls)))
        if len(drawn[-1]) <= first + last:
            return drawn
        order = key_order(random_keys(drawn[-1], self.seed))
        kept = np.sort(np.concatenate([order[:first], order[len(order) - last :]]))
        return take(drawn[0], kept), *(None if one is None else one[kept] for one in drawn[1:])

    def proposals(
        self, k: Similarity, weigh: Weigh, chosen: np.ndarray, barred: Sequence[int], rate: float, number: int
    ) -> tuple[float, Any]:
        """Return the total weight, and the proposals of all partitions."""
        excluded = np.sort(np.array([*barred, *chosen], dtype=np.int64))
        cut = np.split(excluded, np.searchsorted(excluded, self.starts[1:]))
        turn = Turn(self.reader.copy(), k, weigh, chosen, rate, (self.seed, number))
        calls = self.map(propose, self.starts.tolist(), cut, shared=[turn])
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
    return 2**64 - 1 if enough >= n else enough * 2**64 // n


class Growing:
    """The landmarks so far. A subclass knows how its rule weighs rows."""

    def __init__(self, k: Similarity, memory: int | str) -> None:
        self.k = k
        self.engine = LocalEngine(memory=memory)
        self.objects: Any = None
        self.encoding: Any = None
        self.places = np.empty(0, dtype=np.int64)
        self.total = 0.0  # the weight of all rows; zero if unknown

    @property
    def weigh(self) -> Weigh:
        """How workers weigh rows."""
        raise NotImplementedError

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and the share of the total weight that remains; zero if unknown.

        The landmarks so far are the first objects of the pool.
        """
        raise NotImplementedError

    def add(self, objects: Any, places: np.ndarray, proposed: np.ndarray, most: int, rng: np.random.Generator) -> int:
        """Accept some of the proposals (positions in these objects), and return how many."""
        m = len(self.places)
        if self.objects is not None:
            objects = join(self.objects, objects)
        places = np.concatenate([self.places, places])
        pool = Pool(self.k, self.k.encode_checked(objects, "X"), self.engine, None, rng, objects)
        with objects_at(places):
            accepted, share = self.sift(pool, m + proposed, most)
        if not len(accepted):
            return 0
        kept = np.concatenate([np.arange(m), accepted])
        self.objects = take(objects, kept)
        self.encoding = rows(pool.encoding, kept)
        self.places = places[kept]
        # the total weight is never assumed to shrink by more than this in a round, which bounds the proposals
        self.total *= max(share, 1 / 16) if share else 0.0
        return len(accepted)


class KMeans(Growing):
    """Each landmark is drawn by its squared distance from the nearest before it, the first uniformly."""

    @property
    def weigh(self) -> Weigh:
        """How workers weigh rows."""
        return partial(distance_from_nearest, self.encoding)

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and the share of the total weight that remains."""
        if not len(self.places):
            return proposed[:1], 0.0
        weights = Nearest(pool)
        weights.add(np.arange(len(self.places)))
        return _sifted(weights, pool, proposed, most)


class Cholesky(Growing):
    """Each landmark is drawn by its squared distance from the span of those before it."""

    triangle = np.empty((0, 0))

    @property
    def weigh(self) -> Weigh:
        """How workers weigh rows."""
        return partial(distance_from_span, self.encoding, self.triangle)

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and the share of the total weight that remains."""
        m = len(self.places)
        weights = Residual(pool, m + most)
        if m:
            weights.resume(self.triangle)
        accepted, share = _sifted(weights, pool, proposed, most)
        kept = np.concatenate([np.arange(m), accepted])
        self.triangle = np.tril(weights.factor[kept, : len(kept)].astype(np.float64))
        return accepted, share


def _sifted(weights: Nearest | Residual, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Return the accepted proposals, and the mean share of their weight that proposals keep: that of all rows."""
    if not len(proposed):
        return proposed, 0.0
    before = weights.current[proposed]
    accepted = proposed[weights.sift(proposed, pool.rng.random(len(proposed)), most)]
    if not len(accepted):
        return accepted, 0.0
    weights.add(accepted)
    return accepted, float(np.mean(weights.current[proposed][before > 0] / before[before > 0]))


AMONG_ALL: dict[str, Callable[[Similarity, int | str], Growing]] = {"kmeans++": KMeans, "rpcholesky": Cholesky}
"""Rules that choose among all rows of a collection; the others choose among a uniform sample."""


def describe_choice(rule: str, sample: int, n: int) -> str:
    """Describe from which rows of a collection landmarks were chosen.

    >>> describe_choice("kmeans++", 20, 1_000)
    "landmarks='kmeans++' chose among all 1,000 rows"
    >>> describe_choice("diverse", 20, 1_000)
    "landmarks='diverse' chose among a uniform sample of 20 of 1,000 rows"
    """
    few = rule not in AMONG_ALL and sample < n
    return f"landmarks={rule!r} chose among {f'a uniform sample of {sample:,} of' if few else 'all'} {n:,} rows"


def choose_among_all(
    rule: str, k: Similarity, collection: Collection, n: int, barred: Sequence[int] = ()
) -> tuple[Any, np.ndarray]:
    """Choose landmarks among all rows of a collection that are not barred: at most n; fewer if no other adds anything.

    Return their objects, and their positions in the collection, in the order chosen. The rule is a name in `AMONG_ALL`.
    """
    so_far = AMONG_ALL[rule](k, collection.engine.memory)
    rng = np.random.default_rng(collection.seed)
    for number in itertools.count():
        left = n - len(so_far.places)
        if not left:
            break
        # proposals for each landmark still missing: many are rejected, and another round costs a pass
        wanted = min(max(FEWEST, 4 * left), MOST_PROPOSED)
        rate = wanted / so_far.total if so_far.total else 0.0
        total, found = collection.proposals(k, so_far.weigh, so_far.places, barred, rate, number)
        so_far.total = total
        added = n_proposed = 0
        if found is not None:
            objects, places, times = found
            proposed = rng.permutation(np.repeat(np.arange(len(times)), times))[: 2 * MOST_PROPOSED]
            n_proposed = len(proposed)
            added = so_far.add(objects, places, proposed, left, rng)
        if total == 0.0 or (n_proposed and not added):
            break
    if not len(so_far.places):
        raise ValueError(f"{k!r} is zero for every object and itself: landmarks={rule!r} has nothing to draw by")
    return so_far.objects, so_far.places
