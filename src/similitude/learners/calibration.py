"""Scores as probabilities that never contradict them: one scale, fitted to scores of objects not learned from."""

from __future__ import annotations

import numpy as np


def probabilities(scores: np.ndarray, scale: float) -> np.ndarray:
    """Return one column per class: the logistic function of one score, or the softmax of several, times the scale.

    The largest probability belongs to the class of the largest score (to the second class where one score is >= 0).

    >>> probabilities(np.array([0.0, 2.0]), 1.0).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    """
    both = np.stack([np.zeros(len(scores)), scores], axis=1) if scores.ndim == 1 else scores
    powers = np.exp(scale * (both - both.max(axis=1, keepdims=True)))
    return powers / powers.sum(axis=1, keepdims=True)


def temperature(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Return the scale at which the scores are the most likely, given the class number and weight of each object.

    As in Platt (1999), a class of n objects counts as certain to (n + 1) / (n + 2) only.
    """
    from scipy.optimize import minimize_scalar

    counts = np.bincount(classes, weights, minlength=2 if scores.ndim == 1 else scores.shape[1])
    certainty = ((counts + 1) / (counts + 2))[classes]
    others = len(counts) - 1
    size = max(float(np.average(np.abs(scores).reshape(len(scores), -1).mean(axis=1), weights=weights)), 1e-300)

    def surprise(log_scale: float) -> float:
        logs = np.log(np.maximum(probabilities(scores, float(np.exp(log_scale) / size)), 1e-300))
        own = logs[np.arange(len(logs)), classes]
        return float(-weights @ (certainty * own + (1 - certainty) / others * (logs.sum(axis=1) - own)))

    return float(np.exp(minimize_scalar(surprise, bounds=(-7.0, 7.0), method="bounded").x) / size)
