"""Heads by name: fitted to features with the penalty that is best for examples not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from similitude.linear.held_out import n_fitted
from similitude.linear.hinge import squared_hinge
from similitude.linear.linear import Linear
from similitude.linear.path import Head, chosen
from similitude.linear.ridge import Trial
from similitude.linear.softmax import logistic
from similitude.linear.sparse import largest_penalty, sparse
from similitude.linear.tensors import features_of
from similitude.support.randomness import generator

PENALTIES = 10.0 ** np.arange(1.0, -8.01, -1.0)
"""Strengths of the l2 penalty, as parts of the trace of the features' Gram matrix, largest first."""

SPARSE_PENALTIES = 10.0 ** np.arange(-0.25, -4.01, -0.25)
"""Strengths of the l1 penalty, as parts of the one at which all weights are zero."""


def fit_classes(
    loss: str, penalty: str, F: Any, numbers: np.ndarray, n_classes: int, weights: np.ndarray, random_state: Any
) -> tuple[Linear, Trial, np.ndarray]:
    """Fit a linear model to classes; return the model, how held-out examples fared, and which these are.

    Features that are a tensor stay where they are; only penalty='l1' needs an array.
    """
    signs = np.where(numbers[:, None] == np.arange(n_classes), 1.0, -1.0)
    signs = signs[:, 1:] if n_classes == 2 else signs
    if penalty == "l1":
        made = _sparse(F, signs, weights, loss)
    elif loss == "logistic":
        made = Head(
            lambda rows: _trace(F[rows], weights[rows]) * PENALTIES,
            lambda rows, path: logistic(F[rows], numbers[rows], n_classes, weights[rows], path),
            lambda scores, rows: _surprise(scores, numbers[rows]),
        )
    else:
        made = Head(
            lambda rows: _trace(F[rows], weights[rows]) * PENALTIES,
            lambda rows, path: squared_hinge(F[rows], signs[rows], weights[rows], path),
            lambda scores, rows: (np.maximum(0.0, 1.0 - signs[rows] * scores) ** 2).sum(axis=1),
        )
    return _fitted(made, F, signs, weights, random_state)


def fit_numbers(
    F: np.ndarray, Y: np.ndarray, weights: np.ndarray, random_state: Any
) -> tuple[Linear, Trial, np.ndarray]:
    """Fit a sparse linear model to numbers; return the model, how held-out examples fared, and which these are."""
    return _fitted(_sparse(F, Y, weights, "squared"), F, Y, weights, random_state)


def _sparse(F: np.ndarray, targets: np.ndarray, weights: np.ndarray, loss: str) -> Head:
    def losses(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        left = 1.0 - targets[rows] * scores if loss == "squared_hinge" else targets[rows] - scores
        return np.sum((np.maximum(0.0, left) if loss == "squared_hinge" else left) ** 2, axis=1)

    def fit(rows: np.ndarray, path: np.ndarray) -> Iterable[Linear]:
        return sparse(F[rows], targets[rows], weights[rows], path, loss=loss)

    def penalties(rows: np.ndarray) -> np.ndarray:
        return largest_penalty(F[rows], targets[rows], weights[rows], loss=loss) * SPARSE_PENALTIES

    return Head(penalties, fit, losses)


def _fitted(
    head: Head, F: Any, targets: np.ndarray, weights: np.ndarray, random_state: Any
) -> tuple[Linear, Trial, np.ndarray]:
    linear, lam, judged, scores = chosen(head, F, weights, n_fitted(len(F)), generator(random_state))
    losses = head.losses(scores, judged)
    s = weights[judged]
    loss = float(s @ losses / s.sum())
    deviation = float(np.sqrt(s**2 @ (losses - loss) ** 2) / s.sum())
    return linear, Trial(lam, scores, losses, loss, deviation), judged


def _trace(F: Any, weights: np.ndarray) -> float:
    """Return the trace of the Gram matrix of the centered features; 1 where they are constant."""
    features = features_of(F, weights)
    trace = float(features.spread.sum())
    whole = trace + features.total * float(features.mean @ features.mean)
    return trace if trace > 1e-12 * whole else 1.0


def _surprise(scores: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return minus the logarithm of each own class's probability."""
    both = np.concatenate([np.zeros_like(scores), scores], axis=1) if scores.shape[1] == 1 else scores
    top = both.max(axis=1)
    own: Callable[..., Any] = both[np.arange(len(both)), numbers]
    return np.log(np.exp(both - top[:, None]).sum(axis=1)) + top - own
