"""Fitting to a collection whose rows live on workers: they are counted, drawn from and added up where they are."""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute.encodings import take
from similitude.compute.engines import Engine, use_engine
from similitude.compute.engines.distributed import Handle, SpreadEngine, is_spread, own_engine
from similitude.compute.engines.folding import Summed, folded
from similitude.data.sources import in_order, keys
from similitude.estimators.order import Drawn, seed_of
from similitude.estimators.partitions import (
    Asked,
    Limits,
    Rows,
    Share,
    Weighted,
    answer,
    draw,
    features,
    followed,
    for_workers,
    look,
    moments,
)
from similitude.estimators.sourced import Targets
from similitude.estimators.streams import MOST_HELD_OUT
from similitude.estimators.training import PILOT, Fitted, Marks
from similitude.landmarks.distributed import Whole, check_alike, key_below
from similitude.landmarks.features import Together
from similitude.linear import Moments
from similitude.similarity import Similarity
from similitude.support.fingerprints import digest

GROUP = 16
"""Partitions whose sums are added up on workers; the sums of groups are added up here, where they can be kept."""


def fit_spread(machine: Any, X: Any, y: Any, sample_weight: Any) -> Fitted:
    """Fit a machine to a collection: count, draw a sample on which all is chosen, then one pass over the similarities.

    The sample is that of a fit in memory with the same seed, and so are the choices.
    """
    if machine.landmark_indices is not None:
        raise ValueError("landmark_indices are positions in memory: of a collection give the landmarks themselves")
    engine = own_engine(machine._engine)
    with engine.session(), use_engine(engine) if machine.engine is None else nullcontext():
        rows = Spread.of(machine, engine, engine.columns(X, y, sample_weight))
        objects, labels, weights, places, ranks = rows.sample()
        everything = len(places) == rows.n
        Y, weighed = rows.targets.read(labels, weights)
        drawn = Drawn(rows.seed, places, ranks, None if everything else rows)
        given = weights if rows.weighted else None
        fitted: Fitted = machine._train(objects, Y, weighed, given, rows.targets.numbers(labels), drawn)
    return fitted


@dataclass(frozen=True, eq=False)
class Spread:
    """All rows of a collection, on workers.

    Attributes
    ----------
    machine : LandmarkEstimator
    engine : SpreadEngine
    columns : list of lists of handles
        The partitions of objects, labels and weights.
    sizes, counted : array of int
        The rows of each partition, and those with a weight.
    targets : Targets
    weighted : bool
        Whether weights were given.
    seed : int
    """

    machine: Any
    engine: SpreadEngine
    columns: list[list[Handle]]
    sizes: np.ndarray
    counted: np.ndarray
    targets: Targets
    weighted: bool
    seed: int

    @classmethod
    def of(cls, machine: Any, engine: SpreadEngine, columns: list[list[Handle]]) -> Spread:
        """Look at every partition, and refuse what does not fit together."""
        helper, numbers = engine.broadcast(for_workers(machine, engine.memory)), range(len(columns[0]))
        looks = list(engine.collect(engine.map(look, [helper] * len(numbers), numbers, *columns)))
        check_alike(looks)
        targets = machine._reading()
        for one in looks:
            if one.n:
                targets.absorb(one.targets)
                vars(machine).update(one.inputs)
        targets.close()
        sizes, counted = (np.array([getattr(one, name) for one in looks]) for name in ("n", "counted"))
        if counted.sum() == 0:
            raise ValueError("every weight is zero: there is nothing to learn from")
        weighted = any(one.described.get("weights", "none") != "none" for one in looks)
        return cls(machine, engine, columns, sizes, counted, targets, weighted, seed_of(machine.random_state))

    @property
    def n(self) -> int:
        """How many rows have a weight."""
        return int(self.counted.sum())

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> np.ndarray:
        """The row with which each partition begins."""
        return np.cumsum(self.sizes) - self.sizes

    def sample(self) -> Rows:
        """Return the first and the last rows in the random order of all, in the order of the collection."""
        asked = self.machine.n_landmarks
        first, last = PILOT if asked == "auto" else max(PILOT, int(asked)), MOST_HELD_OUT
        limits = Limits(self.seed, key_below(first, self.n), 2**64 - 1 - key_below(last, self.n))
        ranks = np.cumsum(self.counted) - self.counted
        k, helper = len(self.sizes), self.engine.broadcast(for_workers(self.machine, self.engine.memory))
        ints = [range(k), self.starts.tolist(), ranks.tolist()]
        drawn = self.engine.collect(self.engine.map(draw, [helper] * k, [limits] * k, *ints, *self.columns))
        found = _joined([one for one in drawn if one is not None])
        if len(found[3]) <= first + last:
            return found
        order = in_order(keys(found[4], self.seed))
        kept = np.sort(np.concatenate([order[:first], order[len(order) - last :]]))
        return take(found[0], kept), found[1][kept], found[2][kept], found[3][kept], found[4][kept]

    def whole(self, barred: np.ndarray) -> Whole:
        """Return all rows as rules for landmarks see them; those at the barred places are not to be chosen."""
        helper = for_workers(self.machine, self.engine.memory)
        reader = Weighted(helper, self.targets.on_worker(helper))
        return Whole(self.engine, reader, self.columns, self.sizes, self.seed, barred)

    def _shared(self, similarities: Sequence[Similarity], together: Together, size: int) -> Handle:
        helper = for_workers(self.machine, self.engine.memory)
        share = Share(helper, self.targets.on_worker(helper), tuple(similarities), together, size, self.seed)
        return self.engine.broadcast(share)

    def moments(
        self,
        similarities: Sequence[Similarity],
        together: Together,
        held: np.ndarray,
        engine: Engine,
        size: int,
        marks: Marks,
    ) -> Moments:
        """Return the moments of the features of all rows but those held out, by place, in one pass."""
        share, k = self._shared(similarities, together, size), len(self.sizes)
        inside = np.split(np.sort(held), np.searchsorted(np.sort(held), self.starts[1:]))
        ints = [range(k), self.starts.tolist(), self.sizes.tolist()]
        edges = np.append(self.starts, self.n_rows)

        def groups(start: int) -> Iterator[Summed]:
            parts = self.engine.map(moments, [share] * k, *ints, inside, *self.columns)
            cuts = [slice(a, a + GROUP) for a in range(0, k, GROUP) if edges[min(a + GROUP, k)] > start]
            sums = self.engine.collect([self.engine.reduce(parts[cut]) for cut in cuts])
            for cut, total in zip(cuts, sums, strict=True):
                yield Summed([total], int(edges[cut.start]), int(edges[min(cut.stop, k)]))

        def marked() -> dict[str, str]:
            found = marks()
            return {**found, "data": digest((found["data"], self.sizes), 16).hex()}

        found: Moments = folded(groups, self.n_rows, engine, Moments.from_arrays, marked)
        return found

    def features(
        self, similarities: Sequence[Similarity], together: Together, engine: Engine, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, targets and weights of all rows with a weight, in their random order."""
        logging.getLogger("similitude").info("loss=%r brings the features of all rows here", self.machine.loss)
        share, k = self._shared(similarities, together, size), len(self.sizes)
        ints = [range(k), self.starts.tolist(), self.sizes.tolist()]
        parts = self.engine.collect(self.engine.map(features, [share] * k, *ints, *self.columns))
        F, Y, weights = (np.concatenate(one) for one in zip(*(one for part in parts for one in part), strict=True))
        order = Drawn(self.seed).order(np.arange(len(weights)))
        return F[order], Y[order], weights[order]


def _joined(parts: list[Rows]) -> Rows:
    """Return all rows, one part after the other."""
    while len(parts) > 1:
        parts = [followed(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def lazily(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a method that answers for every object return a lazy array for a collection."""

    @functools.wraps(method)
    def asked(self: Any, X: Any) -> Any:
        if not is_spread(X):
            return method(self, X)
        check_is_fitted(self)
        engine = own_engine(self._engine)
        one_row = copy.copy(self)
        one_row._scores = lambda X: np.zeros((1, len(self.intercept_)))
        helper = Asked(for_workers(self, engine.memory), method.__name__, method(one_row, None))
        return engine.lazily(answer, helper, X, helper.like)

    return asked
