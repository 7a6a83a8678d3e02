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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from similitude.compute import Encoding, as_numpy, join, join_all, rows, take
from similitude.compute.engines import DistributedEngine, Handle, LocalEngine
from similitude.data.sources import Batch, errors_in_batch, errors_in_partition, partition_source
from similitude.landmarks.pivots import FEWEST, ROUNDING, Exactness, Residual
from similitude.landmarks.projection import solve_rows, solver
from similitude.landmarks.rules import Nearest, Pool
from similitude.scikit import InputCheck
from similitude.similarity import Similarity
from similitude.support import SourceError, objects_at, pairs_at, random_keys


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
    check = check.copy()
    found = Look(number)
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
        pool = exact.pool
        own = exact.diagonal
        if self.landmarks is None:
            return np.ones(pool.n), np.zeros(pool.n), 0.0
        theirs = as_numpy(pool.similarity.diagonal(self.landmarks)).astype(np.float64)
        left = np.empty(pool.n)
        scale = np.empty(pool.n)
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
        pool = exact.pool
        left = exact.diagonal.copy()
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
    found = Proposed()
    engine = LocalEngine(threads=1, memory=turn.memory)
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


MOST_PROPOSED = 2_048
"""Most proposals in a round: their similarities among themselves are computed by the client."""


@dataclass(frozen=True, eq=False)
class Collection:
    """All rows of a collection, on workers.

    Attributes
    ----------
    engine : DistributedEngine
        With a session.
    candidates : Candidates
    columns : list of lists of handles
        The partitions of objects, labels and weights.
    sizes : array of int
        The rows of each partition.
    seed : int
    barred : array of int
        Positions of rows that may not become landmarks.
    """

    engine: DistributedEngine
    candidates: Candidates
    columns: Sequence[Sequence[Handle]]
    sizes: np.ndarray
    seed: int
    barred: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def proposals(
        self, k: Similarity, standing: Standing, chosen: np.ndarray, rate: float, number: int
    ) -> tuple[float, Any, np.ndarray, np.ndarray]:
        """Return the total weight, and the proposals of all partitions: objects, positions, and counts."""
        starts = np.cumsum(self.sizes) - self.sizes
        barred = np.sort(np.concatenate([self.barred, chosen]))
        cut = np.split(barred, np.searchsorted(barred, starts[1:]))
        turn = Turn(self.candidates, k, standing, chosen, rate, self.seed, number, self.engine.memory)
        turns = [self.engine.broadcast(turn)] * len(starts)
        calls = self.engine.map(propose, turns, range(len(starts)), starts.tolist(), cut, *self.columns)
        parts: list[Proposed] = list(self.engine.collect(calls))
        objects = [part.objects for part in parts if part.objects is not None]
        return (
            sum(part.total for part in parts),
            join_all(objects) if objects else None,
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.times for part in parts]),
        )


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
    """The landmarks so far. A subclass knows how its rule weights rows.

    Attributes
    ----------
    objects, places, encoding
        Of the landmarks.
    total : float
        The total weight of all rows; zero if unknown.
    """

    def __init__(self, k: Similarity, memory: int | str) -> None:
        self.k = k
        self.engine = LocalEngine(memory=memory)
        self.objects: Any = None
        self.encoding: Any = None
        self.places = np.empty(0, dtype=np.int64)
        self.total = 0.0

    def standing(self) -> Standing:
        """Return how workers weight rows."""
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

    def standing(self) -> Standing:
        """Return how workers weight rows."""
        return Apart(self.encoding)

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and the share of the total weight that remains."""
        if not len(self.places):
            return proposed[:1], 0.0
        weights = Nearest(pool)
        weights.resume(len(self.places))
        return _sifted(weights, pool, proposed, most)


class Cholesky(Growing):
    """Each landmark is drawn by its squared distance from the span of those before it."""

    triangle = np.empty((0, 0))

    def standing(self) -> Standing:
        """Return how workers weight rows."""
        return Unexplained(self.encoding, self.triangle)

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


def choose_among_all(rule: str, k: Similarity, collection: Collection, n: int) -> tuple[Any, np.ndarray]:
    """Choose landmarks among all rows of a collection.

    Parameters
    ----------
    rule : str
        A name in `AMONG_ALL`.
    k : Similarity
        Resolved.
    collection : Collection
    n : int
        Most landmarks; fewer if no further row would add anything.

    Returns
    -------
    objects : sequence
    places : array of int
        Their positions in the collection, in the order chosen.
    """
    so_far = AMONG_ALL[rule](k, collection.engine.memory)
    rng = np.random.default_rng(collection.seed)
    number = 0
    while len(so_far.places) < n:
        left = n - len(so_far.places)
        # proposals for each landmark still missing: many are rejected, and another round costs a pass
        wanted = min(max(FEWEST, 4 * left), MOST_PROPOSED)
        rate = wanted / so_far.total if so_far.total else 0.0
        total, objects, places, times = collection.proposals(k, so_far.standing(), so_far.places, rate, number)
        so_far.total = total
        number = number + 1
        proposed = rng.permutation(np.repeat(np.arange(len(times)), times))[: 2 * MOST_PROPOSED]
        added = 0 if objects is None else so_far.add(objects, places, proposed, left, rng)
        if total == 0.0 or (len(proposed) and not added):
            break
    if not len(so_far.places):
        raise ValueError(f"{k!r} is zero for every object and itself: landmarks={rule!r} has nothing to draw by")
    return so_far.objects, so_far.places
