"""Held-out evaluation: which rows are held out while choices are made, their losses, and the error on new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson

LEAVE_ONE_OUT = 5_000
"""Rows up to which each is evaluated by a model of all others; with more rows, a part is held out."""

HELD_OUT_SHARE = 0.2
"""The part of many rows that is held out."""

MOST_HELD_OUT = 5_000
"""Most rows that a pass over all rows holds out."""


def n_fitted(n: int) -> int:
    """Return the number of training rows while choices are made; n under leave-one-out."""
    if n <= LEAVE_ONE_OUT:
        return n
    return n - round(HELD_OUT_SHARE * n)


def n_held_out(n: int) -> int:
    """Return how many of n rows a pass over all rows holds out, the last ones in random order."""
    return min(MOST_HELD_OUT, max(min(2, n - 1), round(HELD_OUT_SHARE * n)))


def n_judged(held_out: int) -> int:
    """Return how many of some held-out rows, the last ones, judge the model; choices are made on the others."""
    return held_out // 2


class LastRows(NamedTuple):
    """How many rows, the last ones in random order, are held out, and how many of these, the very last, evaluate."""

    held_out: int
    judged: int

    @classmethod
    def of(cls, n: int) -> LastRows:
        """Return the numbers for n rows without groups."""
        held = n_held_out(n)
        return cls(held, n_judged(held))


@dataclass(frozen=True)
class Trial:
    """Held-out rows under a model that was not fitted to them."""

    lam: float  # the penalty
    scores: np.ndarray  # of shape (n, outputs)
    losses: np.ndarray  # of each row, summed over outputs
    loss: float  # their weighted mean
    deviation: float  # its standard error

    @classmethod
    def of(
        cls, lam: float, scores: np.ndarray, Y: np.ndarray, weights: np.ndarray, losses: np.ndarray | None = None
    ) -> Trial:
        """Evaluate scores by the losses of their rows, by default the squared errors."""
        if losses is None:
            losses = ((scores - Y) ** 2).sum(axis=1)
        loss = float(weights @ losses / weights.sum())
        deviation = float(np.sqrt(weights**2 @ (losses - loss) ** 2) / weights.sum())
        return cls(lam, scores, losses, loss, deviation)


def error_of_classes(wrong: np.ndarray, n_classes: int, groups: np.ndarray | None) -> Estimate:
    """Return the error on new rows, given which rows were predicted wrongly, and their groups if by folds.

    The interval is that of Clopper and Pearson for as many trials as there are groups. By folds, its lower end allows
    for models that saw fewer rows than the final one, and its upper end for a prediction of whichever class is the
    most frequent one by chance.
    """
    share = float(wrong.mean())
    n = len(wrong)
    least = share
    level = LEVEL
    if groups is not None:
        n = len(np.unique(groups))
        # the share of an error rate, and of a mean squared error, by folds that surely remains with all rows: models
        # of folds see fewer rows
        least = 0.8 * share
        level = 1 - (1 - LEVEL) / n_classes
    low, high = clopper_pearson(n * np.array([least, share]), n, np.array([LEVEL, level]))
    return Estimate(share, float(low[0]), float(high[1]), LEVEL, ESTIMATE)


def error_of_numbers(
    losses: np.ndarray, weights: np.ndarray, groups: np.ndarray | None, left_out: Trial | None = None
) -> Estimate:
    """Return the mean squared error on new rows, with an interval that is normal for its logarithm.

    The squared errors of equal rows count as one. If rows were also left out one by one, the interval reaches down to
    the lower end of that error: where targets are nearly a function of the objects, a model of all rows may be several
    times better than the models of folds.
    """
    mean = float(np.average(losses, weights=weights))
    if mean == 0:
        return Estimate(0.0, 0.0, 0.0, LEVEL, ESTIMATE)
    apart = weights * (losses - mean)
    sums = apart if groups is None else np.bincount(groups, apart)
    spread = 1.96 * float(np.sqrt(sums @ sums)) / float(weights.sum()) / mean
    # of a mean squared error by folds, seven tenths surely remain with all rows
    low = mean * float(np.exp(-spread)) * (1.0 if groups is None else 0.7)
    if left_out is not None and left_out.loss > 0:
        low = min(low, left_out.loss * float(np.exp(-1.96 * left_out.deviation / left_out.loss)))
    # how much farther the upper end of the interval of a mean squared error lies than that of a normal one, in
    # logarithms: squares with heavy tails mostly have a mean below the expected one
    return Estimate(mean, low, mean * float(np.exp(2.0 * spread)), LEVEL, ESTIMATE)
