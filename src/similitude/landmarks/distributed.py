"""Landmarks chosen among all rows of a collection, which stay on their workers.

In each round, workers weight their rows given the landmarks so far and propose many at once, drawn in proportion to
the weights (see `landmarks.partitions`). The client accepts each proposal with probability (its weight by now) / (its
weight when drawn), for which the similarities of the proposals among themselves are enough. As with blocks in memory
(see `landmarks.pivots`), accepted proposals have exactly the distribution of sequential draws. So this is k-means++
itself in a few passes over the data, where k-means|| (Bahmani et al., Scalable k-means++, 2012) oversamples in the same
way but then approximates; and it is randomly pivoted Cholesky in large blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.compute import join, join_all, rows, take
from similitude.compute.engines import DistributedEngine, Handle, LocalEngine
from similitude.landmarks.partitions import Apart, Candidates, Look, Proposed, Standing, Turn, Unexplained, propose
from similitude.landmarks.pivots import FEWEST, Residual
from similitude.landmarks.rules import Nearest, Pool
from similitude.similarity import Similarity
from similitude.support import SourceError, objects_at

SPARE = 10.0
"""Standard deviations by which more rows are drawn than needed: too few once in 10^20 times."""

PER_LANDMARK = 4
"""Proposals for each landmark still missing: many are rejected, and another round costs a pass."""

MOST_PROPOSED = 2_048
"""Most proposals in a round: their similarities among themselves are computed by the client."""

LEAST_SHARE = 1 / 16
"""The total weight is never assumed to shrink by more than this in a round, which bounds the proposals."""


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
    enough = int(wanted + SPARE * wanted**0.5)
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
        self.k, self.engine = k, LocalEngine(memory=memory)
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
        objects = objects if self.objects is None else join(self.objects, objects)
        places = np.concatenate([self.places, places])
        pool = Pool(self.k, self.k.encode_checked(objects, "X"), self.engine, None, rng, objects)
        with objects_at(places):
            accepted, share = self.sift(pool, m + proposed, most)
        if not len(accepted):
            return 0
        kept = np.concatenate([np.arange(m), accepted])
        self.objects, self.encoding, self.places = take(objects, kept), rows(pool.encoding, kept), places[kept]
        self.total *= max(share, LEAST_SHARE) if share else 0.0
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
    rng, number = np.random.default_rng(collection.seed), 0
    while len(so_far.places) < n:
        left = n - len(so_far.places)
        wanted = min(max(FEWEST, PER_LANDMARK * left), MOST_PROPOSED)
        rate = wanted / so_far.total if so_far.total else 0.0
        total, objects, places, times = collection.proposals(k, so_far.standing(), so_far.places, rate, number)
        so_far.total, number = total, number + 1
        proposed = rng.permutation(np.repeat(np.arange(len(times)), times))[: 2 * MOST_PROPOSED]
        added = 0 if objects is None else so_far.add(objects, places, proposed, left, rng)
        if total == 0.0 or (len(proposed) and not added):
            break
    if not len(so_far.places):
        raise ValueError(f"{k!r} is zero for every object and itself: landmarks={rule!r} has nothing to draw by")
    return so_far.objects, so_far.places
