"""The alternating direction method of multipliers for an l1-penalized loss, on a working set of features.

(Boyd et al., "Distributed Optimization and Statistical Learning via the Alternating Direction Method of Multipliers",
2011.) It alternates between weights that minimize a quadratic and weights that are sparse, with multipliers that pull
both together; for losses that are not quadratic it splits the scores in the same way. The quadratic is solved with a
factor of the Gram matrix, so that correlated features, such as similarities to nearby landmarks, cost no more steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from similitude.linear.active_set_newton import newton_on_active_set
from similitude.linear.cholesky import factorize, inverse, solve
from similitude.linear.l1_objective import TINY, L1Objective, L1Point, row_norms
from similitude.linear.losses import Squared

MOST_ROUNDS = 100
"""Maximum number of rounds on one working set; a few are usual."""

STEPS_PER_ROUND = 20
"""Steps of a round, after which the duality gap is computed."""

MOST_CHANGE = 1.0
"""By how much rho may grow, relative to itself, between two rounds at first."""

SETTLED = 20
"""Rounds after which it may grow by a quarter of that, and so on, so that the method converges."""

POLISHED = 4
"""Rounds after which Newton steps are tried for the first time, then after twice as many, and so on."""

INVERTED = 500
"""Features up to which the matrix of the quadratic is inverted: calls of a solver cost more than its work then."""

RELAXED = 1.8
"""Over-relaxation (Boyd et al., section 3.4.3)."""

FEWEST_ACTIVE = 0.02
"""Lower bound on the part of the rows that is assumed to have curvature."""

FAINT = 1e-12
"""Lower bound on the spread of a feature, relative to the largest."""


@dataclass
class Rho:
    """The parameters of the augmented Lagrangian, adapted as the method runs and kept along a path of penalties.

    They are factors of half the squared distance between the two copies of weights (times the spread of each feature)
    and of scores.
    """

    weights: float
    scores: float


class ADMM:
    """The method on a working set, from a starting point."""

    def __init__(self, objective: L1Objective, point: L1Point, rho: Rho) -> None:
        self.objective, self.rho = objective, rho
        self.features, self.loss = objective.features, objective.loss
        self.quadratic = isinstance(self.loss.loss, Squared)
        spread = self.features.spread
        self.scale = np.maximum(spread, FAINT * max(float(spread.max()), TINY))
        if self.quadratic:
            rho.scores = 2.0
        self._sums: tuple[np.ndarray, np.ndarray] | None = None
        self._scored: tuple[np.ndarray, np.ndarray] | None = None
        self._begin(point)
        self._factorize()

    def minimize(self, goal: float) -> L1Point:
        """Return a point whose duality gap on the working set meets the goal, or the best one found."""
        best, least_gap = None, np.inf
        for round_ in range(1, MOST_ROUNDS + 1):
            ratio, point = self._round()
            gap = self._gap(point)
            if gap > goal and round_ >= POLISHED and round_ & (round_ - 1) == 0:
                better = newton_on_active_set(self.objective, point, goal)
                if self._gap(better) < gap:
                    point, gap = better, self._gap(better)
                    self._begin(point)
            best, least_gap = (point, gap) if gap < least_gap else (best, least_gap)
            if gap <= goal:
                break
            self._adapt(ratio, point, 1.0 + MOST_CHANGE / (1.0 + round_ / SETTLED) ** 2)
        assert best is not None
        return best

    def _gap(self, point: L1Point) -> float:
        return self.objective.gap(point, self.features.combine(point.R))

    def _begin(self, point: L1Point) -> None:
        """Start at a point, with the multipliers it would have at the minimum, scaled to be feasible."""
        s, gradient = self.features.weights[:, None], self.features.combine(point.R)[:-1]
        feasible = self.objective.penalty / np.maximum(row_norms(gradient), self.objective.penalty)
        self.sparse = point.V[:-1]
        self.dual = -gradient * (feasible / (self.rho.weights * self.scale))[:, None]
        if self.quadratic:
            self.scores, self.score_dual = self.loss.targets, np.zeros_like(point.R)
        else:
            self.scores = point.Z
            self.score_dual = np.divide(point.R, s * self.rho.scores, out=np.zeros_like(point.R), where=s > 0)

    def _round(self) -> tuple[float, L1Point]:
        """Take some steps; return the last ratio of residuals and the point reached."""
        if not self.quadratic:
            self._sums = self._scored = None
        for _ in range(STEPS_PER_ROUND):
            fitted, before = self._step()
        ratio = _residual_ratio(fitted[:-1], self.sparse, before, self.dual)
        V = np.vstack([self.sparse, np.zeros(self.sparse.shape[1])])
        return ratio, self.objective.at(V, self.features.scores(V))

    def _step(self) -> tuple[np.ndarray, np.ndarray]:
        """Take a step; return the weights that fit, and the sparse weights before the step."""
        V = self._fit()
        if not self.quadratic:
            mixed = RELAXED * self._scores_of(V) + (1 - RELAXED) * self.scores + self.score_dual
            self.scores = self.loss.loss.proximal(self.loss.targets, mixed, self.rho.scores)
            self.score_dual = mixed - self.scores
        mixed = RELAXED * V[:-1] + (1 - RELAXED) * self.sparse + self.dual
        self.dual = _limited(mixed, self.longest)
        before, self.sparse = self.sparse, mixed - self.dual
        return V, before

    def _fit(self) -> np.ndarray:
        """Return the weights that minimize the quadratic, given the sparse weights and the split scores."""
        right = self._sums_of_scores()
        V = np.empty_like(right)
        V[:-1] = self._divide(right[:-1] + self.ratio[:, None] * (self.sparse - self.dual))
        V[-1] = right[-1] / self.features.total
        return V

    def _sums_of_scores(self) -> np.ndarray:
        """Return the right-hand side that the split scores contribute; roughly, by the change since the last step."""
        if self.quadratic and self._sums is not None:
            return self._sums[1]
        target = self.scores - self.score_dual
        if self._sums is None:
            right = self.features.combine(self.features.weights[:, None] * target)
        else:
            change = self.features.weights[:, None] * (target - self._sums[0])
            right = self._sums[1] + self.features.combine(change, rough=True)
        self._sums = target, right
        return right

    def _scores_of(self, V: np.ndarray) -> np.ndarray:
        """Return the scores of weights; roughly, by the change since the last step."""
        if self._scored is None:
            Z = self.features.scores(V)
        else:
            Z = self._scored[1] + self.features.scores(V - self._scored[0], rough=True)
        self._scored = V, Z
        return Z

    def _factorize(self) -> None:
        self.ratio = self.rho.weights / self.rho.scores * self.scale
        self.longest = self.objective.penalty / (self.rho.weights * self.scale)  # of the multipliers of a feature
        factor = factorize(self.features.gram, self.ratio)
        if len(factor) <= INVERTED:
            self._divide = inverse(factor).__matmul__
        else:
            self._divide = partial(solve, factor)

    def _adapt(self, ratio: float, point: L1Point, most: float) -> None:
        """Change rho, each part by at most a factor.

        That of weights grows with the ratio of primal to dual residual (Boyd et al., section 3.4.1). That of scores
        tends to 2 a^2, if a part a of the rows has curvature: among 2, 2 a and other rules this took the fewest steps,
        whether a was 1 or 0.1.
        """
        change = min(max(ratio, 1 / most), most)
        self.rho.weights *= change
        self.dual /= change
        if not self.quadratic:
            part = float(self.features.weights @ np.count_nonzero(point.R, axis=1)) / point.R.shape[1]
            aim = 2 * max(part / self.features.total, FEWEST_ACTIVE) ** 2
            change = min(max(aim / self.rho.scores, 1 / most), most)
            self.rho.scores *= change
            self.score_dual /= change
        self._factorize()


def _limited(W: np.ndarray, longest: np.ndarray) -> np.ndarray:
    """Return each row shortened to a length, unchanged if it is not longer."""
    return W * (longest / np.maximum(row_norms(W), longest))[:, None]


def _residual_ratio(fitted: np.ndarray, new: np.ndarray, old: np.ndarray, dual: np.ndarray) -> float:
    """Return the root of the relative primal residual over the relative dual residual."""
    primal, change = float(np.linalg.norm(fitted - new)), float(np.linalg.norm(new - old))
    size, pulled = float(np.linalg.norm(fitted)), float(np.linalg.norm(dual))
    apart, moved = primal * pulled, size * change
    return math.sqrt(apart / moved) if moved > 0 else math.inf if apart > 0 else 1.0
