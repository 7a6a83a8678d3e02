"""Newton steps on the features with nonzero weight, where the l1-penalized objective is smooth."""

from __future__ import annotations

import numpy as np

from similitude.linear.cholesky import EPS, factorize, solve
from similitude.linear.l1_objective import L1Objective, L1Point, row_norms

MOST_UNKNOWNS = 1500
"""Maximum number of weights and intercepts whose Hessian is worth factoring."""

MOST_NEWTON_STEPS = 20
"""Maximum number of Newton steps; they end as soon as one no longer halves the gap."""

MOST_HALVINGS = 20
"""Maximum number of halvings of a step that does not decrease the objective."""

DAMPING = 1e-2
"""Initially added to the curvature of rows, relative to their weights; reduced after each full step."""


def newton_on_active_set(objective: L1Objective, point: L1Point, goal: float) -> L1Point:
    """Return a point at least as good, with nonzero weights on the same features or fewer.

    A weight that a step would take past zero stops there. (Chen, Curtis and Robinson, "A Reduced-Space Algorithm for
    Minimizing l1-Regularized Convex Functions", 2017.)
    """
    damping, gap = DAMPING, np.inf
    for _ in range(MOST_NEWTON_STEPS):
        active = np.flatnonzero(point.V[:-1].any(axis=1))
        if len(active) == 0 or (len(active) + 1) * point.V.shape[1] > MOST_UNKNOWNS:
            break
        part, rows = L1Objective(objective.features.columns(active), objective.loss, objective.penalty), [*active, -1]
        there, t = _newton_step(part, L1Point(point.V[rows], point.Z, point.R, point.objective), damping)
        if t == 0:
            break
        V = np.zeros_like(point.V)
        V[rows] = there.V
        point = L1Point(V, there.Z, there.R, there.objective)
        last, gap = gap, part.gap(there, part.features.combine(there.R))
        if gap <= goal / 2 or gap > last / 2:
            break
        damping = min(max(damping * (0.1 if t == 1 else 4.0), EPS), 1.0)
    return point


def _newton_step(objective: L1Objective, point: L1Point, damping: float) -> tuple[L1Point, float]:
    """Return the point after a Newton step and the step length; 0 if no length decreases the objective."""
    features, W = objective.features, point.V[:-1]
    gradient = features.combine(point.R)
    gradient[:-1] += objective.penalty * W / row_norms(W)[:, None]
    curvatures = objective.loss.curvatures(point.Z) + damping * features.weights[:, None]
    factor = factorize(_hessian(objective, W, curvatures), 0.0)
    P = -solve(factor, gradient.ravel()).reshape(gradient.shape)
    decrease = -float(np.vdot(gradient, P))
    for halvings in range(MOST_HALVINGS):
        t = 0.5**halvings
        V = point.V + t * P
        V[:-1][np.einsum("ij,ij->i", V[:-1], W) <= 0] = 0.0
        there = objective.at(V, features.scores(V))
        if there.objective <= point.objective - 1e-4 * t * decrease:
            return there, t
    return point, 0.0


def _hessian(objective: L1Objective, W: np.ndarray, curvatures: np.ndarray) -> np.ndarray:
    """Return the Hessian in all weights and intercepts, in Fortran order."""
    features, (d, k) = objective.features, W.shape
    whole = np.zeros((d + 1, k, d + 1, k))
    for j in range(k):
        upper = features.hessian(curvatures[:, j])
        whole[:, j, :, j] = np.triu(upper) + np.triu(upper, 1).T
    size = row_norms(W)
    unit = W / size[:, None]
    for i in range(d):
        whole[i, :, i, :] += objective.penalty / size[i] * (np.eye(k) - np.outer(unit[i], unit[i]))
    return np.asfortranarray(whole.reshape((d + 1) * k, (d + 1) * k))
