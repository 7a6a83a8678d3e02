"""Training rows: a sample in memory on which choices are made, and all rows, wherever they are."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from similitude.compute import Encoding, itemsize, rows, take
from similitude.compute.engines import Batched, Engine
from similitude.data.sources import MAX_BATCH_ROWS
from similitude.evaluation import (
    FEWEST_NESTED_GROUPS,
    LastRows,
    at_rows,
    copies,
    copies_evaluated_together,
    equal_rows,
    hold_out_groups,
    in_order,
    n_fitted,
)
from similitude.fitting import limits
from similitude.fitting.passes import FeatureUnion, Marks, covering, features_where_computed, sums_over
from similitude.fitting.targets import Targets
from similitude.landmarks import Landmarks
from similitude.linear import Moments
from similitude.similarity import Similarity
from similitude.support import NotAKernelError, generator, key_order, pairs_at, random_keys

Design = tuple[Any, np.ndarray, np.ndarray]
"""Features, targets and weights of rows."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """How the rows in memory were drawn."""

    seed: int  # of the random order of all rows
    places: np.ndarray | None = None  # their positions among all rows; None if they are all rows
    # how many rows with a weight precede each one among all rows; None if they are all rows
    ranks: np.ndarray | None = None
    # all rows, if there are more: in batches of a source (`SourceRows`), or on workers (`DistributedRows`)
    all_rows: Any = None
    later: int = 0  # the number of rows that the model predicts within the same budget of calls
    counted: bool = True  # whether the number of all rows is known; if not, there are at least so many

    def order(self, weighted: np.ndarray) -> np.ndarray:
        """Return the positions of rows with a weight in random order, which depends on seed and ranks alone."""
        ranks = np.arange(len(weighted))
        if self.ranks is not None:
            ranks = self.ranks[weighted]
        return weighted[key_order(random_keys(ranks, self.seed))]


def draw_seed(random_state: Any) -> int:
    """Return the seed of the random order of rows."""
    return int(generator(random_state).integers(2**63))


@dataclass(eq=False)
class TrainingSet:
    """Rows in memory with their targets; once similarities are chosen, also as these encode them."""

    X: Any
    Y: np.ndarray  # codes of classes, or numbers
    weights: np.ndarray  # multiplied by those of the classes
    given_weights: Any  # as the user gave them; medians of distances are weighted by these
    labels: np.ndarray | None  # the class number of each row
    sampling: Sampling  # how the rows were drawn, and where all rows are if there are more
    groups: np.ndarray | None = None  # the group of each row, in which copies are together; no split separates one
    equal: Any = None  # a number for each row, the same for equal ones, where all rows are in memory
    copies: Any = None  # a number for each row, the same for copies, where there are no groups
    similarities: tuple[Similarity, ...] = ()  # resolved
    encodings: tuple[Encoding, ...] = ()  # one for each similarity
    reordered: np.ndarray | None = None  # the rows with a weight, if their order is not that of the sampling
    weighted: np.ndarray = field(init=False)  # the positions of the rows with a weight
    n: int = field(init=False)  # the number of rows with a weight, here or among all rows
    # the number of rows in memory on which medians are computed and from which landmarks are drawn, at most
    n_sampled: int = field(init=False)
    all_in_memory: bool = field(init=False)  # whether these are all rows

    def __post_init__(self) -> None:
        if self.equal is None:
            self.equal = np.arange(len(self.Y))
        if self.copies is None:
            self.copies = np.arange(len(self.Y))
        self.weighted = np.flatnonzero(self.weights > 0)
        known = len(self.weighted)
        self.all_in_memory = self.sampling.all_rows is None
        self.n = known
        if not self.all_in_memory:
            self.n = self.sampling.all_rows.n
        self.n_sampled = limits.rows_in_sample(known)

    def with_copies(self) -> TrainingSet:
        """Find equal rows; many copies are groups, because choices would suffer from them."""
        equal = equal_rows(self.X)
        if self.groups is not None:
            return replace(self, equal=equal)
        found = replace(self, equal=equal, copies=copies(self.X, equal))
        if limits.too_many_copies(found.n_copies, len(equal)):
            return replace(found, groups=found.copies)
        return found

    @property
    def n_copies(self) -> int:
        """The number of rows that are copies of earlier ones; with groups of the user they count as parts of these."""
        return len(self.copies) - int(np.count_nonzero(np.bincount(self.copies)))

    def units(self, which: np.ndarray) -> np.ndarray:
        """Return a number for each of some rows, the same for rows that no split separates: groups, or copies."""
        if self.groups is not None:
            return self.groups[which]
        return in_order(self.copies[which])

    @classmethod
    def of_sample(
        cls, targets: Targets, X: Any, labels: np.ndarray, weights: np.ndarray, weighted: bool, sampling: Sampling
    ) -> TrainingSet:
        """Read the targets of a sample; `weighted` tells whether its weights were given."""
        Y, multiplied = targets.read(labels, weights)
        given = None
        if weighted:
            given = weights
        return cls(X, Y, multiplied, given, targets.numbers(labels), sampling)

    @functools.cached_property
    def order(self) -> np.ndarray:
        """The rows with a weight in random order.

        The last ones are held out, unless each is predicted by leave-one-out: choices are made on the first half of
        these, and the second half evaluates the model. With groups, whole groups are held out; of many rows, copies of
        those that evaluate the model come last, too.
        """
        if self.reordered is not None:
            return self.reordered
        order = self.sampling.order(self.weighted)
        if self.groups is not None:
            return hold_out_groups(order, self.groups)[0]
        if self.n_copies and not limits.leaves_one_out(len(order)):
            return copies_evaluated_together(order, self.copies[order])
        return order

    @functools.cached_property
    def last(self) -> LastRows:
        """How many of many rows are held out."""
        if self.groups is None:
            return LastRows.of(self.n)
        return hold_out_groups(self.sampling.order(self.weighted), self.groups)[1]

    @property
    def n_fitted(self) -> int:
        """The number of rows to fit to while choices are made; all of few rows."""
        if self.groups is None or limits.leaves_one_out(self.n):
            return n_fitted(self.n)
        return self.n - self.last.held_out

    @property
    def n_rows(self) -> int:
        """The number of rows, with or without a weight."""
        if self.sampling.all_rows is None:
            return len(self.Y)
        return self.sampling.all_rows.n_rows

    @functools.cached_property
    def itemsize(self) -> int:
        """Bytes of a similarity value."""
        return max(map(itemsize, self.encodings))

    @functools.cached_property
    def proven(self) -> bool:
        """Whether every similarity is a kernel by proof."""
        return all(map(attrgetter("proven"), self.similarities))

    @functools.cached_property
    def families(self) -> dict[str, tuple[Similarity, ...]]:
        """The similarities to try, by kind of objects, as far as they were asked for."""
        return {}

    def family(self, kind: str) -> tuple[Similarity, ...]:
        """Return the similarities to try for objects of a kind, which takes a look at them once."""
        if kind not in self.families:
            from similitude.kernels import family_of  # loads all kernels

            self.families[kind] = family_of(kind, self.X)
        return self.families[kind]

    def first(self, order: np.ndarray, n: int) -> np.ndarray:
        """Return the first n rows of an order, on which similarities are chosen; with groups, none that is held out."""
        if self.groups is None:
            return order[:n]
        if not limits.leaves_one_out(len(order)):
            order = order[: len(order) - self.last.held_out]
        pilot = order[:n]
        if len(np.unique(self.groups[pilot])) < 2:
            raise ValueError(f"{len(pilot):,} random rows are of one group: give fewer rows of the largest groups")
        return pilot

    @property
    def known(self) -> np.ndarray:
        """The class number of each row, or its targets if these are numbers."""
        if self.labels is None:
            return self.Y
        return self.labels

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the groups of some rows."""
        if self.groups is None:
            return None
        return self.groups[rows]

    def located_at(self, which: np.ndarray) -> np.ndarray:
        """Return the positions among all rows of some rows in memory."""
        if self.sampling.places is None:
            return which
        return self.sampling.places[which]

    def only(self, which: np.ndarray, later: int) -> TrainingSet:
        """Return some of the rows; `later` others are predicted within the same budget of calls."""
        given = self.given_weights
        if given is not None:
            given = np.asarray(given)[which]
        return TrainingSet(
            take(self.X, which),
            self.Y[which],
            self.weights[which],
            given,
            at_rows(self.labels, which),
            Sampling(self.sampling.seed, which, later=later),
            self.groups_of(which),
            at_rows(self.equal, which),
            at_rows(self.copies, which),
        )

    def pilot(self, most: int) -> tuple[np.ndarray, int, int]:
        """Return a sample: rows fitted to, for choices, to evaluate; and how many of it are the first and last."""
        if self.n <= most and limits.leaves_one_out(self.n):
            return self.order, self.n, 0
        if self.n <= most:
            return self.order, self.n_fitted, self.last.evaluating
        chosen_on, evaluating = self.held_out()
        n = min(most, self.n - len(evaluating))
        fitted = n - min(n - n_fitted(n), len(chosen_on))
        if self.groups is not None:
            fitted = min(fitted, self.n - self.last.held_out)
        return np.concatenate([self.order[:fitted], chosen_on[: n - fitted]]), fitted, 0

    def held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows that a pass holds out: for choices, and to evaluate the model."""
        last = self.last
        if not last.evaluating:
            raise ValueError(f"need at least {FEWEST_NESTED_GROUPS} groups to hold some of them out of the fit")
        held = self.order[len(self.order) - last.held_out :]
        cut = len(held) - last.evaluating
        return np.sort(held[:cut]), np.sort(held[cut:])

    @contextmanager
    def located(self, landmarks: Landmarks) -> Iterator[None]:
        """Let an error name objects, and landmarks that are rows of X, by their positions among all rows."""
        places = self.sampling.places
        if places is None:
            yield
            return
        foreign = landmarks.positions is None
        try:
            with pairs_at(places, None if foreign else places):
                yield
        except NotAKernelError as error:
            if error.witness is None or foreign:
                raise
            at = tuple(int(places[i]) for i in error.witness.indices)
            raise NotAKernelError(error.problem, replace(error.witness, indices=at)) from error

    def sums(self, union: FeatureUnion, held_out: np.ndarray, engine: Engine, marks: Marks) -> Moments:
        """Return the sums over the features of all rows except those held out, in one pass."""
        everything = self.sampling.all_rows
        if everything is not None:
            return everything.sums(union, self.located_at(held_out), engine, marks)
        batches = functools.partial(self._batches, held_out)
        marks = covering(marks, self.encodings, self.Y, self.weights)
        return sums_over(batches, union, self.n_rows, engine, marks)

    def _batches(self, held_out: np.ndarray, start: int) -> Iterator[Batched]:
        """Yield all rows from one on as ``(encodings, targets, weights)``; held-out rows have weight zero."""
        weights = self.weights.copy()
        weights[held_out] = 0.0
        for a in range(start, len(self.Y), MAX_BATCH_ROWS):
            cut = slice(a, a + MAX_BATCH_ROWS)
            encoded = rows(self.encodings, cut), self.Y[cut], weights[cut]
            yield encoded, a, min(a + MAX_BATCH_ROWS, len(self.Y))

    def features(self, union: FeatureUnion, engine: Engine) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        everything = self.sampling.all_rows
        if everything is not None:
            return everything.features(union, engine)
        encodings = rows(self.encodings, self.order)
        if union.on_tensors:  # the features stay on the device
            encodings = engine.to_device(encodings)
        F = features_where_computed(union, encodings, engine)
        return F, self.Y[self.order], self.weights[self.order]
