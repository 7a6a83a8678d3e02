"""The error on new rows with its interval, from rows that were predicted without them."""

from __future__ import annotations

import numpy as np

from similitude.evaluation.held_out import Trial
from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson

REMAINING, REMAINING_SQUARES = 0.8, 0.7
"""The share of an error rate, and of a mean squared error, by folds that surely remains with all rows: models of folds
see fewer rows."""

UPWARD = 2.0
"""How much farther the upper end of the interval of a mean squared error lies than that of a normal one, in logarithms:
squares with heavy tails mostly have a mean below the expected one."""


def error_of_classes(wrong: np.ndarray, n_classes: int, groups: np.ndarray | None) -> Estimate:
    """Return the error on new rows, given which rows were predicted wrongly, and their groups if by folds.

    The interval is that of Clopper and Pearson for as many trials as there are groups. By folds, its lower end allows
    for models that saw fewer rows than the final one, and its upper end for a prediction of whichever class is the
    most frequent one by chance.
    """
    share, n = float(wrong.mean()), len(wrong) if groups is None else len(np.unique(groups))
    low, high = clopper_pearson(share * n, n)
    if groups is not None:
        low, _ = clopper_pearson(REMAINING * share * n, n)
        _, high = clopper_pearson(share * n, n, 1 - (1 - LEVEL) / n_classes)
    return Estimate(share, float(low), float(high), LEVEL, ESTIMATE)


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
    low = mean * float(np.exp(-spread)) * (1.0 if groups is None else REMAINING_SQUARES)
    if left_out is not None and left_out.loss > 0:
        low = min(low, left_out.loss * float(np.exp(-1.96 * left_out.deviation / left_out.loss)))
    return Estimate(mean, low, mean * float(np.exp(UPWARD * spread)), LEVEL, ESTIMATE)
