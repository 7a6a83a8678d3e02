"""Landmarks chosen among all rows of a collection, which stay on their workers, by the laws of the rules in memory.

Turn by turn, workers weigh their rows by the landmarks so far and propose many at once, drawn in proportion to the
weights (see `landmarks.partitions`). Here each proposal in turn is accepted with probability (its weight by now)
/ (its weight when drawn), for which the similarities of the proposals among themselves are enough. As with blocks in
memory (see `landmarks.pivots`), the accepted ones have exactly the law of draws one by one. So this is k-means++
itself in a few passes over the data, where k-means|| (Bahmani et al., Scalable k-means++, 2012) oversamples likewise
but then approximates; and it is randomly pivoted Cholesky in large blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.compute.encodings import join, join_all, rows, take
from similitude.compute.engines import DistributedEngine, Handle, LocalEngine
from similitude.landmarks.partitions import Apart, Look, Proposed, Reader, Standing, Turn, Unexplained, placed, propose
from similitude.landmarks.pivots import FEWEST, Residual
from similitude.landmarks.rules import Nearest, Pool
from similitude.similarity import Similarity
from similitude.support.errors import SourceError

SPARE = 10.0
"""Standard deviations by which more rows are drawn than are needed: in vain once in 10^20 times."""

PER_LANDMARK = 4
"""Proposals for each landmark that is still wanted: many of them are refused, and another turn costs a pass."""

MOST_PROPOSED = 2_048
"""Proposals in a turn: their similarities among themselves are computed in one place."""

LEAST_SHARE = 1 / 16
"""The total weight is never expected to shrink by more than this in a turn, so that proposals cannot run over."""


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of a collection, on workers.

    Attributes
    ----------
    engine : DistributedEngine
        With a session.
    reader : Reader
    columns : list of lists of handles
        The partitions of objects, and of what stands beside them.
    sizes : array of int
        The rows of each partition.
    seed : int
    barred : array of int
        Places of rows that may not become landmarks.
    """

    engine: DistributedEngine
    reader: Reader
    columns: Sequence[Sequence[Handle]]
    sizes: np.ndarray
    seed: int
    barred: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def proposals(
        self, k: Similarity, standing: Standing, chosen: np.ndarray, rate: float, number: int
    ) -> tuple[float, Any, np.ndarray, np.ndarray]:
        """Return the total weight, and the proposals of all partitions: objects, places, and how often each."""
        starts = np.cumsum(self.sizes) - self.sizes
        barred = np.sort(np.concatenate([self.barred, chosen]))
        cut = np.split(barred, np.searchsorted(barred, starts[1:]))
        turn = Turn(self.reader, k, standing, chosen, rate, self.seed, number, self.engine.memory)
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
    """Return the first partition with rows; refuse one that is not like it in kind, width, precision or labels."""
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
    """Return a key below which so many of n rows lie, and a few more.

    >>> key_below(10, 10) == 2**64 - 1
    True
    """
    enough = int(wanted + SPARE * wanted**0.5)
    return 2**64 - 1 if enough >= n else enough * 2**64 // n


class Growing:
    """Landmarks so far. A subclass knows how a rule weighs rows.

    Attributes
    ----------
    objects, places, encoding
        Of the landmarks.
    total : float
        The weight of all rows, as far as is known: zero if it is not.
    """

    def __init__(self, k: Similarity, memory: int | str) -> None:
        self.k, self.engine = k, LocalEngine(memory=memory)
        self.objects: Any = None
        self.encoding: Any = None
        self.places = np.empty(0, dtype=np.int64)
        self.total = 0.0

    def standing(self) -> Standing:
        """Return how workers weigh rows."""
        raise NotImplementedError

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and what part of its weight the whole keeps: zero if that is not known.

        The landmarks so far are the first objects of the pool.
        """
        raise NotImplementedError

    def add(self, objects: Any, places: np.ndarray, proposed: np.ndarray, most: int, rng: np.random.Generator) -> int:
        """Accept some of the proposals, positions in these objects, and return how many."""
        m = len(self.places)
        objects = objects if self.objects is None else join(self.objects, objects)
        places = np.concatenate([self.places, places])
        pool = Pool(self.k, self.k._encoded(objects, "X"), self.engine, None, rng, objects)
        with placed(places):
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
        """Return how workers weigh rows."""
        return Apart(self.encoding)

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and what part of its weight the whole keeps."""
        if not len(self.places):
            return proposed[:1], 0.0
        weights = Nearest(pool)
        weights.resume(len(self.places))
        return _sifted(weights, pool, proposed, most)


class Cholesky(Growing):
    """Each landmark is drawn by its squared distance from the span of those before it."""

    triangle = np.empty((0, 0))

    def standing(self) -> Standing:
        """Return how workers weigh rows."""
        return Unexplained(self.encoding, self.triangle)

    def sift(self, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the accepted proposals, and what part of its weight the whole keeps."""
        m = len(self.places)
        weights = Residual(pool, m + most)
        if m:
            weights.resume(self.triangle)
        accepted, share = _sifted(weights, pool, proposed, most)
        kept = np.concatenate([np.arange(m), accepted])
        self.triangle = np.tril(weights.factor[kept, : len(kept)].astype(np.float64))
        return accepted, share


def _sifted(weights: Nearest | Residual, pool: Pool, proposed: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Return the accepted proposals, and the mean part of their weight that proposals keep: that of the whole."""
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


def looked_at(rule: str, sample: int, n: int) -> str:
    """Say among which rows of a collection landmarks were chosen.

    >>> looked_at("kmeans++", 20, 1_000)
    "landmarks='kmeans++' chose among all 1,000 rows"
    >>> looked_at("diverse", 20, 1_000)
    "landmarks='diverse' chose among a uniform sample of 20 of 1,000 rows"
    """
    few = rule not in AMONG_ALL and sample < n
    return f"landmarks={rule!r} chose among {f'a uniform sample of {sample:,} of' if few else 'all'} {n:,} rows"


def choose_among_all(rule: str, k: Similarity, whole: Whole, n: int) -> tuple[Any, np.ndarray]:
    """Choose landmarks among all rows of a collection.

    Parameters
    ----------
    rule : str
        A name in `AMONG_ALL`.
    k : Similarity
        Resolved.
    whole : Whole
    n : int
        How many at most; fewer where no further row would add anything.

    Returns
    -------
    objects : sequence
    places : array of int
        Where they stand in the collection, in the order chosen.
    """
    so_far = AMONG_ALL[rule](k, whole.engine.memory)
    rng, number = np.random.default_rng(whole.seed), 0
    while len(so_far.places) < n:
        left = n - len(so_far.places)
        wanted = min(max(FEWEST, PER_LANDMARK * left), MOST_PROPOSED)
        rate = wanted / so_far.total if so_far.total else 0.0
        total, objects, places, times = whole.proposals(k, so_far.standing(), so_far.places, rate, number)
        so_far.total, number = total, number + 1
        proposed = rng.permutation(np.repeat(np.arange(len(times)), times))[: 2 * MOST_PROPOSED]
        added = 0 if objects is None else so_far.add(objects, places, proposed, left, rng)
        if total == 0.0 or (len(proposed) and not added):
            break
    if not len(so_far.places):
        raise ValueError(f"{k!r} is zero for every object and itself: landmarks={rule!r} has nothing to draw by")
    return so_far.objects, so_far.places
