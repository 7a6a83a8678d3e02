"""Newton steps on the features that have weight, where what they minimize is smooth."""

from __future__ import annotations

import numpy as np

from similitude.linear.factors import EPS, divided, factored
from similitude.linear.objective import Objective, Point, lengths

MOST_UNKNOWNS = 1500
"""Weights and intercepts at most that are worth the factor of their second derivative."""

MOST_STEPS = 20
"""Newton steps at most; as soon as they no longer halve what is left, they end."""

MOST_HALVINGS = 20
"""Halvings at most of a step that does not lower the objective."""

DAMPING = 1e-2
"""What is added to second derivatives at first, over the weights of rows; less after each step that goes well."""


def polished(objective: Objective, point: Point, goal: float) -> Point:
    """Return a point at least as good, with weight on the same features or fewer.

    A weight that a step would take past zero stops there. (Chen, Curtis and Robinson, "A Reduced-Space Algorithm for
    Minimizing l1-Regularized Convex Functions", 2017.)
    """
    damping, gap = DAMPING, np.inf
    for _ in range(MOST_STEPS):
        moving = np.flatnonzero(point.V[:-1].any(axis=1))
        if len(moving) == 0 or (len(moving) + 1) * point.V.shape[1] > MOST_UNKNOWNS:
            break
        part = Objective(objective.features.columns(moving), objective.loss, objective.penalty)
        here = Point(point.V[np.append(moving, -1)], point.Z, point.R, point.objective)
        there, t = _stepped(part, here, damping)
        if t == 0:
            break
        point = _widened(point, moving, there)
        last, gap = gap, part.gap(there, part.features.combine(there.R))
        if gap <= goal / 2 or gap > last / 2:
            break
        damping = min(max(damping * (0.1 if t == 1 else 4.0), EPS), 1.0)
    return point


def _widened(point: Point, moving: np.ndarray, there: Point) -> Point:
    """Return a point of some features as one of all."""
    V = np.zeros_like(point.V)
    V[np.append(moving, -1)] = there.V
    return Point(V, there.Z, there.R, there.objective)


def _stepped(objective: Objective, point: Point, damping: float) -> tuple[Point, float]:
    """Return the point after a Newton step, and which part of the step it took; 0 if none was any good."""
    features, W = objective.features, point.V[:-1]
    gradient = features.combine(point.R)
    gradient[:-1] += objective.penalty * W / lengths(W)[:, None]
    seconds = objective.loss.seconds(point.Z) + damping * features.weights[:, None]
    factor = factored(_second_derivative(objective, W, seconds), 0.0)
    P = -divided(factor, gradient.ravel()).reshape(gradient.shape)
    fall = -float(np.vdot(gradient, P))
    for halvings in range(MOST_HALVINGS):
        t = 0.5**halvings
        V = point.V + t * P
        V[:-1][np.einsum("ij,ij->i", V[:-1], W) <= 0] = 0.0
        there = objective.at(V, features.scores(V))
        if there.objective <= point.objective - 1e-4 * t * fall:
            return there, t
    return point, 0.0


def _second_derivative(objective: Objective, W: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return the second derivative in all weights and intercepts, an upper triangle in the order of Fortran."""
    features, (d, k) = objective.features, W.shape
    whole = np.zeros((d + 1, k, d + 1, k))
    for j in range(k):
        upper = features.bent(seconds[:, j])
        whole[:, j, :, j] = np.triu(upper) + np.triu(upper, 1).T
    size = lengths(W)
    unit = W / size[:, None]
    for i in range(d):
        whole[i, :, i, :] += objective.penalty / size[i] * (np.eye(k) - np.outer(unit[i], unit[i]))
    return np.asfortranarray(whole.reshape((d + 1) * k, (d + 1) * k))
