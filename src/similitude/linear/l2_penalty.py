r"""Linear models with a smooth loss and an l2 penalty: squared hinge, logistic and multinomial logistic regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from similitude.linear.features import Features
from similitude.linear.losses import Loss
from similitude.linear.model import LinearModel
from similitude.linear.nonlinear_cg import minimize_path
from similitude.linear.weighted_loss import WeightedLoss
from similitude.support import brief

L2_TOLERANCE = 3e-6
"""How far the objective may be above its minimum, by an estimate, relative to its value at w = 0."""

MOST_OUTPUTS = 64
"""Outputs solved together: enough for products of matrices, few enough for the memory of their scores."""


def l2_path(
    F: Any, targets: Any, weights: Any, penalties: object, loss: Loss, *, tolerance: float | np.ndarray = L2_TOLERANCE
) -> Iterator[LinearModel]:
    r"""Yield the minimizer of :math:`\sum_i s_i L(y_i, f(x_i)) + \lambda |w|^2` for each penalty.

    The intercepts are not penalized. Outputs (one against the rest, for several classes) are separate problems, except
    for multinomial logistic regression, whose outputs add up to zero. Targets are -1 or +1, one-hot for the latter; if
    a class has no row, there may be no minimizer (an intercept would fall forever), and the result is within the
    tolerance of the infimum. A weight of 2 is the same as the row twice. Decreasing penalties are fastest, as each
    minimizer is found starting from the previous one. If F is a tensor, the work is done on its device.

    The tolerance, of all penalties or of each, is how far the objective of an output may be above its minimum, by an
    estimate, relative to its value at w = 0; the `gap` of a model is the largest such estimate.

    >>> from similitude.linear.losses import SquaredHinge
    >>> F, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    >>> strong, weak = l2_path(F, y, np.ones(4), [8.0, 1e-6], SquaredHinge())
    >>> strong.weights.round(3), weak.weights.round(3)
    (array([[0.333]]), array([[1.]]))
    """
    features, whole = Features(F, weights), WeightedLoss.of(loss, targets, weights)
    lams, outputs = check_penalties(penalties), whole.targets.shape[1]
    if loss.couples_outputs:
        for found in minimize_path(features, whole, lams, tolerance):
            centered = found.weights - found.weights.mean(axis=1, keepdims=True)
            yield LinearModel(centered, found.intercept - found.intercept.mean(), found.gap)
        return
    blocks = [whole.columns(slice(first, first + MOST_OUTPUTS)) for first in range(0, outputs, MOST_OUTPUTS)]
    for parts in zip(*(minimize_path(features, block, lams, tolerance) for block in blocks), strict=True):
        intercept = np.concatenate([part.intercept for part in parts])
        yield LinearModel(np.hstack([part.weights for part in parts]), intercept, max(part.gap for part in parts))


def check_penalties(penalties: object) -> np.ndarray:
    """Validate positive penalties."""
    path = np.atleast_1d(np.asarray(penalties, dtype=np.float64))
    if path.ndim != 1 or not (np.isfinite(path).all() and (path > 0).all()):
        raise ValueError(f"penalties must be positive numbers, got {brief(penalties)}")
    return path
