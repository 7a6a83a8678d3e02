"""Probabilities from scores: a scale, and after a fit with weights of classes a shift, fitted to held-out scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import beside, namespace


def probabilities(scores: Any, scale: float) -> Any:
    """Return one column per class: the logistic function of a scaled score, or the softmax of several columns.

    The most probable class is always the one that the scores decide for: the largest, or the second of two classes if
    their score is >= 0. A tensor for a tensor.

    >>> probabilities(np.array([0.0, 2.0]), 1.0).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    """
    xp = np if isinstance(scores, np.ndarray) else namespace(scores)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    both = xp.stack([xp.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
    powers = xp.exp(scale * (both - xp.max(both, axis=1, keepdims=True)))
    return winner_first(powers / xp.sum(powers, axis=1, keepdims=True), scores)


def winner_first(chances: Any, scores: Any) -> Any:
    """Return probabilities, that of the winner moved by its last digit where a tie or rounding let another class win.

    >>> winner_first(np.array([[0.5, 0.5]]), np.array([0.0])).argmax(axis=1)  # as the second of two classes wins at 0
    array([1])
    """
    xp = np if isinstance(chances, np.ndarray) else namespace(chances)
    winner = 1 * (scores >= 0) if scores.ndim == 1 else xp.argmax(scores, axis=1)
    behind = xp.argmax(chances, axis=1) != winner
    if not behind.any():
        return chances
    most = xp.max(chances, axis=1, keepdims=True)
    classes = beside(np.arange(chances.shape[1]), chances)
    moved = behind[:, None] & (classes[None, :] == winner[:, None])
    return xp.where(moved, most * (1.0 + 2.0 * xp.finfo(chances.dtype).eps), chances)


def temperature(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Return the scale with the largest likelihood, given the class number and weight of each row.

    As in Platt (1999), the target probability of a class of n rows is (n + 1) / (n + 2) rather than 1.
    """
    from scipy.optimize import minimize_scalar

    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    counts = np.bincount(classes, weights, minlength=2 if scores.ndim == 1 else scores.shape[1])
    target = ((counts + 1) / (counts + 2))[classes]
    others = len(counts) - 1
    size = max(float(np.average(np.abs(scores).reshape(len(scores), -1).mean(axis=1), weights=weights)), 1e-300)

    def cross_entropy(log_scale: float) -> float:
        logs = np.log(np.maximum(probabilities(scores, float(np.exp(log_scale) / size)), 1e-300))
        own = logs[np.arange(len(logs)), classes]
        return float(-weights @ (target * own + (1 - target) / others * (logs.sum(axis=1) - own)))

    return float(np.exp(minimize_scalar(cross_entropy, bounds=(-7.0, 7.0), method="bounded").x) / size)


def scale_and_shift(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a scale, and what to add to the score of each output before, with the largest likelihood together.

    Scores of a model in which rare classes had larger weights are too large for these: the shift, fitted with the
    weights of the rows alone, makes probabilities agree with the frequencies of the classes. Target probabilities are
    those of `temperature`.

    >>> rng = np.random.default_rng(0)
    >>> classes = (rng.random(20_000) < 0.02).astype(int)
    >>> scale, shift = scale_and_shift(2.0 * classes - 1.0 + rng.normal(size=20_000), classes, np.ones(20_000))
    >>> round(scale), round(scale * float(shift[0])), round(float(np.log(0.02 / 0.98)))
    (2, -4, -4)
    """
    from scipy.optimize import minimize

    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    n_outputs = 1 if scores.ndim == 1 else scores.shape[1]
    columns = np.stack([np.zeros(len(scores)), scores], axis=1) if n_outputs == 1 else scores
    counts = np.bincount(classes, weights, minlength=columns.shape[1])
    own = ((counts + 1) / (counts + 2))[classes]
    targets = np.repeat((1 - own)[:, None] / (columns.shape[1] - 1), columns.shape[1], axis=1)
    targets[np.arange(len(targets)), classes] = own
    start = np.log(temperature(scores, classes, weights))

    def cross_entropy(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        shift = np.r_[0.0, parameters[1:]] if n_outputs == 1 else parameters[1:]
        logits = np.exp(parameters[0]) * columns + shift
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        slopes = weights[:, None] * (np.exp(logs) - targets)
        of_shift = slopes.sum(axis=0)[-n_outputs:]
        of_scale = float((slopes * columns).sum() * np.exp(parameters[0]))
        total = weights.sum()
        return float(-(weights[:, None] * targets * logs).sum() / total), np.r_[of_scale, of_shift] / total

    found = minimize(cross_entropy, np.r_[start, np.zeros(n_outputs)], jac=True, method="L-BFGS-B").x
    scale = float(np.exp(found[0]))
    return scale, found[1:] / scale
