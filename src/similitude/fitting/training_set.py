"""The rows that a fit is given: objects, targets and weights, in memory or a sample of rows elsewhere."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.evaluation import LastRows, hold_out_groups
from similitude.fitting import limits
from similitude.fitting.rows import Sampling
from similitude.similarity import Similarity


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows in memory with their targets.

    Attributes
    ----------
    X : sequence of objects
    Y : array of shape (n, outputs)
        Codes of classes, or numbers.
    weights : array of shape (n,)
        Multiplied by those of the classes.
    given_weights : sequence of float, or None
        As the user gave them; medians of distances are weighted by these.
    labels : array of int, or None
        The class number of each row.
    sampling : Sampling
        How the rows were drawn, and where all rows are if there are more.
    groups : array of int, or None
        The group of each row, in which equal rows are together; no split separates one.
    """

    X: Any
    Y: np.ndarray
    weights: np.ndarray
    given_weights: Any
    labels: np.ndarray | None
    sampling: Sampling
    groups: np.ndarray | None = None

    @functools.cached_property
    def weighted(self) -> np.ndarray:
        """The positions of the rows with a weight."""
        return np.flatnonzero(self.weights > 0)

    @functools.cached_property
    def order(self) -> np.ndarray:
        """The same in random order; with groups, those that are held out of many rows are whole groups."""
        order = self.sampling.order(self.weighted)
        return order if self.groups is None else hold_out_groups(order, self.groups)[0]

    @functools.cached_property
    def last(self) -> LastRows:
        """How many of many rows are held out."""
        if self.groups is None:
            return LastRows.of(self.n)
        return hold_out_groups(self.sampling.order(self.weighted), self.groups)[1]

    def first(self, order: np.ndarray, n: int) -> np.ndarray:
        """Return the first n rows of an order, on which similarities are chosen; with groups, none that is held out."""
        if self.groups is None:
            return order[:n]
        if len(order) > limits.LEAVE_ONE_OUT:
            order = order[: len(order) - self.last.held_out]
        pilot = order[:n]
        if len(np.unique(self.groups[pilot])) < 2:
            raise ValueError(f"{len(pilot):,} random rows are of one group: give fewer rows of the largest groups")
        return pilot

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the groups of some rows."""
        return None if self.groups is None else self.groups[rows]

    @property
    def all_in_memory(self) -> bool:
        """Whether these are all rows."""
        return self.sampling.all_rows is None

    def family(self, kind: str) -> tuple[Similarity, ...]:
        """Return the similarities to try for objects of a kind, which takes a look at them once."""
        if "_family" not in vars(self):
            from similitude.kernels import family_of  # loads all kernels

            vars(self)["_family"] = family_of(kind, self.X)
        found: tuple[Similarity, ...] = vars(self)["_family"]
        return found

    @property
    def copies_last(self) -> bool:
        """Whether rows that equal one of the last, which evaluate the model, evaluate it too."""
        if self.groups is not None:  # they are in one group anyway
            return False
        few = len(self.weighted) <= limits.SAMPLE_ROWS
        return self.all_in_memory and few and len(self.weighted) > limits.LEAVE_ONE_OUT

    @property
    def n(self) -> int:
        """The number of rows with a weight, here or among all rows."""
        return len(self.weighted) if self.sampling.all_rows is None else self.sampling.all_rows.n

    def only(self, which: np.ndarray, later: int) -> TrainingSet:
        """Return some of the rows; `later` others are predicted within the same budget of calls."""
        return TrainingSet(
            take(self.X, which),
            self.Y[which],
            self.weights[which],
            None if self.given_weights is None else np.asarray(self.given_weights)[which],
            None if self.labels is None else self.labels[which],
            Sampling(self.sampling.seed, which, later=later),
            self.groups_of(which),
        )
