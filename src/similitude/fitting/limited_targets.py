r"""Huber's loss by modified residuals: targets far from predictions by other rows are moved to where they are just far.

The minimizer of Huber's loss is that of the squared loss for the targets :math:`f_i + \max(-\delta, \min(\delta, y_i -
f_i))` with f itself (Huber and Dutter, 1974). A flexible model comes close to every target, an outlier too; so f is
here the prediction by the other folds, and an outlier pulls no more than any other row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from similitude.evaluation import assign_folds, fold_pairs

HUBER_THRESHOLD = 1.345
"""Robust standard deviations from which on errors count as those of outliers: 95 % efficient for normal errors."""

FAR_TARGET = 3.0
"""Robust standard deviations from the median to which targets are limited before the first fit."""

LIMITING_ROUNDS = 2
LIMITING_FOLDS = 3
"""How often targets are limited, and the number of folds."""

FitAndPredict = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class LimitedTargets(NamedTuple):
    """Targets without outliers.

    Attributes
    ----------
    Y : array of shape (n, outputs)
        At most the threshold away from predictions by other rows.
    near : array of shape (n, outputs)
        The given targets, at most `FAR_TARGET` robust standard deviations from their median.
    predicted : array of shape (n, outputs)
        Predictions of these by other folds.
    n_limited : int
        Number of rows that were moved.
    """

    Y: np.ndarray
    near: np.ndarray
    predicted: np.ndarray
    n_limited: int


def limit_targets(
    fit: FitAndPredict, Y: np.ndarray, weights: np.ndarray, random_state: Any, groups: np.ndarray | None = None
) -> LimitedTargets:
    """Limit targets by their distance from predictions.

    Parameters
    ----------
    fit : callable
        ``fit(fold, train, test, targets)`` returns predictions for the rows of a fold by a model of others, of shape
        (n, outputs). It is called once for each fold, then once more with targets that differ little.
    Y : array of shape (n, outputs)
    weights : array of shape (n,)
        Rows of weight zero do not count.
    random_state : int or None
        Seed of the folds.
    groups : array of int, optional
        The group of each row; no fold separates one.
    """
    counted = weights > 0
    center = np.median(Y[counted], axis=0)
    near = limited = _limited(Y, center, FAR_TARGET * robust_deviation(Y[counted] - center))
    together = np.arange(len(Y)) if groups is None else groups
    folds = fold_pairs(assign_folds(together, counted, random_state, LIMITING_FOLDS))
    first = None
    for _ in range(LIMITING_ROUNDS):
        predicted = np.empty_like(Y)
        for fold, (others, test) in enumerate(folds):
            train = others[counted[others]]
            predicted[test] = fit(fold, train, test, limited[train])
        first = predicted if first is None else first
        limited = _limited(Y, predicted, HUBER_THRESHOLD * robust_deviation((Y - predicted)[counted]))
    assert first is not None
    moved = (limited != Y).any(axis=1) & counted
    return LimitedTargets(limited, near, first, int(moved.sum()))


def robust_deviation(errors: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column that its median absolute value suggests for a normal distribution.

    If more than half of a column is zero, the smallest larger quantile is taken that is not.

    >>> robust_deviation(np.array([[-1.0], [1.0], [1.0], [1e9]])).round(2)
    array([1.48])
    """
    sizes = np.sort(np.abs(errors), axis=0)
    # the upper quartile of the standard normal distribution
    middle = np.median(sizes, axis=0) / 0.6745
    positive = np.where(sizes > 0, sizes, np.inf).min(axis=0)
    return np.asarray(np.where(middle > 0, middle, np.where(np.isfinite(positive), positive, 0.0)))


def _limited(Y: np.ndarray, center: np.ndarray, distance: np.ndarray) -> np.ndarray:
    return np.asarray(center + np.clip(Y - center, -distance, distance))
