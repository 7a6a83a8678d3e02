r"""Sparse linear models: the penalty :math:`\lambda \sum_j |w_j|_2` leaves most features without weight.

(Balcan, Blum and Srebro, "Improved Guarantees for Learning via Similarity Functions", 2008: a linear separator of
bounded l1 norm on similarities to landmarks; here penalized, and with the squared hinge instead of the hinge. For
several outputs the norms of the features' weights are added, so that a landmark is dropped for all of them at once:
Yuan and Lin, "Model Selection and Estimation in Regression with Grouped Variables", 2006.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from similitude.linear.admm import ADMM, Rho
from similitude.linear.cholesky import EPS
from similitude.linear.features import Features
from similitude.linear.l1_objective import TINY, L1Objective, L1Point, row_norms
from similitude.linear.l2_penalty import check_penalties
from similitude.linear.losses import Loss, Squared
from similitude.linear.model import LinearModel
from similitude.linear.weighted_loss import WeightedLoss

L1_TOLERANCE = 1e-3
"""Maximum duality gap, relative to the objective at w = 0."""

MOST_SETS = 30
"""Maximum number of working sets for one penalty; one to three are usual."""

FEWEST_CANDIDATES = 50
"""Features that may join a working set, if it does not hold more already."""

SCALING = 1.25
"""The power of the penalty with which rho changes along a path: a rule of thumb."""


def l1_path(
    F: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    penalties: object,
    loss: Loss,
    *,
    tolerance: float | np.ndarray = L1_TOLERANCE,
) -> Iterator[LinearModel]:
    r"""Yield the minimizer of :math:`\sum_i s_i L(y_i, f(x_i)) + \lambda \sum_j |w_j|_2` for each penalty.

    :math:`w_j` holds the weights of feature j for all outputs; the intercepts are not penalized. Weights are exactly
    zero where those of the minimizer are. Targets are -1 or +1 for the squared hinge, numbers for the squared loss; a
    weight of 2 is the same as the row twice. Decreasing penalties are fastest, as each minimizer is found starting from
    the previous one. The tolerance, of all penalties or of each, is the largest duality gap, relative to the objective
    at w = 0; the `gap` of a model is an upper bound: the objective less that of a feasible point of the dual, in
    float64.

    >>> F = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> largest = largest_penalty(F, F[:, 0], np.ones(4), Squared())
    >>> none, one = l1_path(F, F[:, 0], np.ones(4), [largest, largest / 2], Squared(), tolerance=1e-9)
    >>> none.weights.ravel(), one.weights.ravel().round(6)
    (array([0., 0.]), array([0.5, 0. ]))
    """
    features, (whole, start, shift) = Features(F, weights), _centered(loss, targets, weights)
    search, lams = WorkingSets(features, whole, start), check_penalties(penalties)
    for lam, gap in zip(lams, np.broadcast_to(tolerance, lams.shape), strict=True):
        found = search.minimize(float(lam), float(gap))
        yield LinearModel(found.weights, found.intercept + shift, found.gap)


def largest_penalty(F: np.ndarray, targets: np.ndarray, weights: np.ndarray, loss: Loss) -> float:
    """Return the smallest penalty at which :func:`l1_path` leaves no weight; 1 if every penalty does.

    It is the largest norm of a feature's gradient at w = 0 and the best intercepts.
    """
    features, (whole, start, _) = Features(F, weights), _centered(loss, targets, weights)
    slopes = whole.slopes(np.tile(start, (len(F), 1)))
    sizes = row_norms(features.combine(slopes)[:-1])
    rounding = 8 * EPS * np.sqrt(features.total * features.spread) * row_norms(slopes).max()
    largest = float(np.where(sizes > rounding, sizes, 0.0).max())
    return largest if largest > 0 else 1.0


def _centered(
    loss: Loss, targets: np.ndarray, weights: np.ndarray
) -> tuple[WeightedLoss, np.ndarray, np.ndarray | float]:
    """Return the data term, its best constant scores, and the means subtracted from the targets of the squared loss."""
    whole = WeightedLoss.of(loss, targets, weights)
    best, _ = whole.start()
    if not isinstance(loss, Squared):
        return whole, best, 0.0
    centered = whole.targets - best
    centered = np.where(np.abs(centered) > 8 * EPS * np.abs(best), centered, 0.0)
    return WeightedLoss(loss, centered, whole.weights), np.zeros_like(best), best


class WorkingSets:
    """A path of penalties, each solved on a growing working set of features, starting from the previous solution.

    The first one starts from the best constant scores.
    """

    def __init__(self, features: Features, loss: WeightedLoss, start: np.ndarray) -> None:
        self.features, self.loss = features, loss
        self.V = np.vstack([np.zeros((features.F.shape[1], len(start))), start])
        self.Z = np.tile(start, (len(features.F), 1))
        self.reference = loss.value(self.Z)
        self.gradient = features.combine(loss.slopes(self.Z))
        self.last = float(row_norms(self.gradient[:-1]).max())
        self.rho = Rho(10.0, 1.0)

    def minimize(self, lam: float, tolerance: float) -> LinearModel:
        """Return the minimizer for the next penalty."""
        goal = max(tolerance, 4 * EPS) * self.reference
        objective = L1Objective(self.features, self.loss, lam)
        self.rho.weights *= min(max(lam / max(self.last, TINY), 1e-6), 1e6) ** SCALING
        point = objective.at(self.V, self.Z)
        self.V, self.Z = point.V, point.Z
        gap, working = objective.gap(point, self.gradient), row_norms(self.V[:-1]) > 0
        # The strong rule: features likely to get weight (Tibshirani et al., "Strong Rules for Discarding Predictors in
        # Lasso-Type Problems", 2012).
        self._join(working, row_norms(self.gradient[:-1]) >= 2 * lam - self.last)
        for _ in range(MOST_SETS):
            if gap <= goal:
                break
            point = self._solve(objective, working, point, goal)
            gap = objective.gap(point, self.gradient)
            if not self._join(working, row_norms(self.gradient[:-1]) > lam):
                break
        self.last = lam
        return self.features.model(self.V, gap / self.reference if self.reference > 0 else 0.0)

    def _join(self, working: np.ndarray, wanted: np.ndarray) -> bool:
        """Add the wanted features with the largest gradients to the working set; return whether there were any."""
        size = row_norms(self.gradient[:-1])
        more = np.flatnonzero(wanted & ~working)
        most = max(FEWEST_CANDIDATES, int(working.sum()))
        working[more[np.argsort(-size[more], kind="stable")][:most]] = True
        if 2 * working.sum() > len(working):  # copying that many columns would save little
            working[:] = True
        return len(more) > 0

    def _solve(self, objective: L1Objective, working: np.ndarray, point: L1Point, goal: float) -> L1Point:
        """Minimize over the working set, from a point; return the point reached."""
        chosen = np.flatnonzero(working)
        rows = np.append(chosen, len(self.V) - 1)
        few = objective.features if working.all() else objective.features.columns(chosen)
        part = L1Objective(few, self.loss, objective.penalty)
        found = ADMM(part, replace(point, V=self.V[rows]), self.rho).minimize(goal / 2)
        self.V, self.Z = np.zeros_like(self.V), found.Z
        self.V[rows] = found.V
        self.gradient = self.features.combine(found.R)
        return replace(found, V=self.V)
