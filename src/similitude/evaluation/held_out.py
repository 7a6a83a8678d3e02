"""Held-out evaluation: how many rows are held out or dealt to folds, their losses, and the error on new rows.

What depends on the number of rows is decided here: a fit, its folds and functions that learn a kernel ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from similitude.evaluation.limits import (
    FEW_ROWS,
    FEWEST_NESTED_GROUPS,
    FEWEST_NESTED_ROWS,
    FEWEST_TO_LEARN,
    FIRST_FITTED_ROWS,
    HELD_OUT_SHARE,
    LEAVE_ONE_OUT,
    MOST_HELD_OUT,
    PILOT_FITTED_ROWS,
    PILOT_HELD_OUT_ROWS,
    THREE_FOLDS,
    VERY_FEW_ROWS,
)
from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson


def n_fitted(n: int) -> int:
    """Return the number of training rows while choices are made; n under leave-one-out."""
    if n <= LEAVE_ONE_OUT:
        return n
    return n - round(HELD_OUT_SHARE * n)


def n_held_out(n: int) -> int:
    """Return how many of n rows a pass over all rows holds out, the last ones in random order."""
    return min(MOST_HELD_OUT, max(min(2, n - 1), round(HELD_OUT_SHARE * n)))


def n_evaluating(held_out: int) -> int:
    """Return how many of some held-out rows, the last ones, evaluate the model; choices are made on the others."""
    return held_out // 2


def enough_for_folds(n: int) -> bool:
    """Whether n rows are enough for nested folds, and for intervals of their error."""
    return n >= FEWEST_NESTED_ROWS


def folds_of(n: int) -> int:
    """Return the number of nested folds of n rows."""
    if n <= THREE_FOLDS:
        return 3
    return 2


def fewest_groups(n: int) -> int:
    """Return the smallest number of groups of n rows that a fit takes.

    >>> fewest_groups(200), fewest_groups(20_000)
    (2, 4)
    """
    if n <= LEAVE_ONE_OUT:
        return 2
    return FEWEST_NESTED_GROUPS


class Pilot(NamedTuple):
    """The rows that kernels are learned from and compared on: folds of few rows, a single split of many.

    >>> [Pilot.of(n).folds for n in (150, 500, 5_000)], Pilot.of(100_000).size
    ([8, 4, 1], 2600)
    """

    size: int
    folds: int
    held_out: int  # by a single split
    teaches: bool = True  # whether rows are enough to learn a metric or weights from
    first_fitted: int = FIRST_FITTED_ROWS
    most_fitted: int = PILOT_FITTED_ROWS
    most_held_out: int = PILOT_HELD_OUT_ROWS

    @classmethod
    def of(cls, n: int) -> Pilot:
        """Return the pilot of n rows."""
        if n >= FEW_ROWS:
            held_out = min(PILOT_HELD_OUT_ROWS, n // 3)
            return cls(min(n, held_out + PILOT_FITTED_ROWS), 1, held_out)
        folds = 4
        if n < VERY_FEW_ROWS:
            folds = min(8, n)
        return cls(n, folds, 0, n >= FEWEST_TO_LEARN)


class LastRows(NamedTuple):
    """How many rows, the last ones in random order, are held out, and how many of these, the very last, evaluate."""

    held_out: int
    evaluating: int

    @classmethod
    def of(cls, n: int) -> LastRows:
        """Return the numbers for n rows without groups."""
        held = n_held_out(n)
        return cls(held, n_evaluating(held))


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

    @classmethod
    def of_path(cls, lams: Iterable[float], scores: Any, Y: np.ndarray, weights: np.ndarray) -> list[Trial]:
        """Evaluate the scores under each penalty by the squared errors of their rows."""
        return [cls.of(lam, one, Y, weights) for lam, one in zip(lams, scores, strict=True)]


def error_of_classes(wrong: np.ndarray, n_classes: int, groups: np.ndarray | None) -> Estimate:
    """Return the error on new rows, given which rows were predicted wrongly, and their groups if by folds.

    The interval is that of Clopper and Pearson for as many trials as there are groups, or fewer if some are much larger
    than others. By folds, its lower end allows for models that saw fewer rows than the final one, and its upper end for
    a prediction of whichever class is the most frequent one by chance. Too few rows say nothing.
    """
    share = float(wrong.mean())
    n = float(len(wrong))
    least = share
    level = LEVEL
    if not enough_for_folds(len(wrong)):
        return Estimate(share, 0.0, 1.0, LEVEL, ESTIMATE)
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        n = sizes.sum() ** 2 / (sizes @ sizes)  # Kish's effective number of groups
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
    times better than the models of folds. Too few rows say nothing.
    """
    mean = float(np.average(losses, weights=weights))
    if not enough_for_folds(len(losses)):
        return Estimate(mean, 0.0, np.inf, LEVEL, ESTIMATE)
    if mean == 0:
        return Estimate(0.0, 0.0, 0.0, LEVEL, ESTIMATE)
    sums = weights * (losses - mean)
    least = mean
    if groups is not None:
        sums = np.bincount(groups, sums).astype(np.float64)
        least *= 0.7  # of a mean squared error by folds, seven tenths surely remain with all rows
    spread = 1.96 * float(np.sqrt(sums @ sums)) / float(weights.sum()) / mean
    low = least * float(np.exp(-spread))
    if left_out is not None and left_out.loss > 0:
        low = min(low, left_out.loss * float(np.exp(-1.96 * left_out.deviation / left_out.loss)))
    # how much farther the upper end of the interval of a mean squared error lies than that of a normal one, in
    # logarithms: squares with heavy tails mostly have a mean below the expected one
    return Estimate(mean, low, mean * float(np.exp(2.0 * spread)), LEVEL, ESTIMATE)
