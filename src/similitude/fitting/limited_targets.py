r"""Huber's loss by modified residuals: targets far from predictions by other rows are moved to where they are just far.

The minimizer of Huber's loss is that of the squared loss for the targets :math:`f_i + \max(-\delta, \min(\delta, y_i -
f_i))` with f itself (Huber and Dutter, 1974). A flexible model comes close to every target, an outlier too; so f is
here the prediction by the other folds, and an outlier pulls no more than any other row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.evaluation import assign_folds, fold_pairs

HUBER_THRESHOLD = 1.345
"""Robust standard deviations from which on errors count as those of outliers: 95 % efficient for normal errors."""

FAR_TARGET = 3.0
"""Robust standard deviations from the median to which targets are limited before the first fit."""

LIMITING_FITS = 6
"""Fits that limit targets: twice three folds."""

FitAndPredict = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""``fit(fold, train, test, targets)``: predictions for the rows of a fold by a model of others."""


def limit_targets(
    fit: FitAndPredict, Y: np.ndarray, weights: np.ndarray, random_state: Any, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return limited targets, the given ones limited to near their median, and predictions of these by other folds."""
    counted = weights > 0
    center = np.median(Y[counted], axis=0)
    near = limited = _limited(Y, center, FAR_TARGET * robust_deviation(Y[counted] - center))
    together = np.arange(len(Y)) if groups is None else groups
    folds = fold_pairs(assign_folds(together, counted, random_state, 3))
    rounds = []
    for _ in range(LIMITING_FITS // len(folds)):
        predicted = np.empty_like(Y)
        for fold, (others, test) in enumerate(folds):
            train = others[counted[others]]
            predicted[test] = fit(fold, train, test, limited[train])
        rounds.append(predicted)
        limited = _limited(Y, predicted, HUBER_THRESHOLD * robust_deviation((Y - predicted)[counted]))
    return limited, near, rounds[0]


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
