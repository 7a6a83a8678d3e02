"""Minimize a loss of linear scores plus a penalty that makes weights zero, on a working set of features.

The alternating direction method of multipliers (Boyd et al., "Distributed Optimization and Statistical Learning via
the Alternating Direction Method of Multipliers", 2011): weights that fit a quadratic, weights that are sparse, and
multipliers that pull both together. The quadratic is solved with a factor of the Gram matrix, so that features that
resemble each other, as similarities to near landmarks do, cost no more steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.linear.factors import divided, factored
from similitude.linear.objective import TINY, Objective, Point, lengths
from similitude.linear.support import polished

MOST_ROUNDS = 100
"""Rounds at most on one working set; some ten are usual."""

STEPS = 20
"""Steps of a round, after which the duality gap is looked at."""

MOST_CHANGE = 4.0
"""By how much ties may grow, of themselves, between two rounds at first."""

SETTLED = 20
"""Rounds after which they may grow by a quarter of that, and so on, so that the method converges."""

POLISHED = 4
"""Rounds after which Newton steps are tried for the first time, then after twice as many, and so on."""

RELAXED = 1.6
"""Over-relaxation (Boyd et al., section 3.4.3)."""

FEWEST_BENT = 0.02
"""The least part of the rows that is taken to bend."""

FAINT = 1e-12
"""The least spread of a feature that counts, over the largest."""


def shortened(W: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return rows that are shorter by a length each, zero where they were not longer."""
    size = lengths(W)
    return W * (np.maximum(size - by, 0.0) / np.maximum(size, TINY))[:, None]


@dataclass
class Ties:
    """How strongly weights that fit are tied to weights that are sparse, and their scores to scores that cost little.

    Attributes
    ----------
    weights, scores : float
        Factors of half the squared distances, the first over the spread of each feature. They are changed as distances
        and multipliers ask, and kept along a path.
    """

    weights: float
    scores: float


class Splitting:
    """The method on a working set, from a point.

    Parameters
    ----------
    objective : Objective
    point : Point
    ties : Ties
    """

    def __init__(self, objective: Objective, point: Point, ties: Ties) -> None:
        self.objective, self.ties = objective, ties
        self.features, self.loss = objective.features, objective.loss
        spread = self.features.spread
        self.scale = np.maximum(spread, FAINT * max(float(spread.max()), TINY))
        if self.loss.quadratic:
            ties.scores = 2.0
        self._known: tuple[np.ndarray, np.ndarray] | None = None
        self._seen: tuple[np.ndarray, np.ndarray] | None = None
        self._begin(point)
        self._factor()

    def solved(self, goal: float) -> Point:
        """Return a point whose duality gap on the working set is at most a goal, or the best that was found."""
        best, least_gap = None, np.inf
        for round_ in range(1, MOST_ROUNDS + 1):
            ratio, point = self._round()
            gap = self._gap(point)
            if gap > goal and round_ >= POLISHED and round_ & (round_ - 1) == 0:
                better = polished(self.objective, point, goal)
                if self._gap(better) < gap:
                    point, gap = better, self._gap(better)
                    self._begin(point)
            best, least_gap = (point, gap) if gap < least_gap else (best, least_gap)
            if gap <= goal:
                break
            self._balance(ratio, point, 1.0 + MOST_CHANGE / (1.0 + round_ / SETTLED) ** 2)
        assert best is not None
        return best

    def _gap(self, point: Point) -> float:
        return self.objective.gap(point, self.features.combine(point.R))

    def _begin(self, point: Point) -> None:
        """Start at a point, with the multipliers that it has if it is the minimum, made feasible if it is not."""
        s, gradient = self.features.weights[:, None], self.features.combine(point.R)[:-1]
        feasible = self.objective.penalty / np.maximum(lengths(gradient), self.objective.penalty)
        self.sparse = point.V[:-1]
        self.pull = -gradient * (feasible / (self.ties.weights * self.scale))[:, None]
        if self.loss.quadratic:
            self.cheap, self.push = self.loss.targets, np.zeros_like(point.R)
        else:
            self.cheap = point.Z
            self.push = np.divide(point.R, s * self.ties.scores, out=np.zeros_like(point.R), where=s > 0)

    def _round(self) -> tuple[float, Point]:
        """Take some steps; return the last ratio, and the point that they came to."""
        if not self.loss.quadratic:
            self._known = self._seen = None
        for _ in range(STEPS):
            ratio = self._step()
        V = np.vstack([self.sparse, np.zeros(self.sparse.shape[1])])
        return ratio, self.objective.at(V, self.features.scores(V))

    def _step(self) -> float:
        """Take a step; return how far apart both kinds of weights are, over how far one has moved."""
        V = self._fitted()
        if not self.loss.quadratic:
            Z = self._scores(V)
            mixed = RELAXED * Z + (1 - RELAXED) * self.cheap + self.push
            cheap = self.loss.nearest(mixed, self.ties.scores)
            self.push = mixed - cheap
            self.cheap = cheap
        mixed = RELAXED * V[:-1] + (1 - RELAXED) * self.sparse + self.pull
        sparse = shortened(mixed, self.objective.penalty / (self.ties.weights * self.scale))
        self.pull = mixed - sparse
        ratio = _ratio(V[:-1], sparse, self.sparse, self.pull)
        self.sparse = sparse
        return ratio

    def _fitted(self) -> np.ndarray:
        """Return the weights nearest to the sparse ones whose scores are nearest to the cheap ones."""
        right = self._gathered()
        V = np.empty_like(right)
        V[:-1] = divided(self.factor, right[:-1] + self.ratio[:, None] * (self.sparse - self.pull))
        V[-1] = right[-1] / self.features.total
        return V

    def _gathered(self) -> np.ndarray:
        """Return what the cheap scores pull the weights by; roughly, what the last change adds to it."""
        target = self.cheap - self.push
        if self._known is None:
            right = self.features.combine(self.features.weights[:, None] * target)
        elif self.loss.quadratic:
            right = self._known[1]
        else:
            change = self.features.weights[:, None] * (target - self._known[0])
            right = self._known[1] + self.features.combine(change, rough=True)
        self._known = target, right
        return right

    def _scores(self, V: np.ndarray) -> np.ndarray:
        """Return the scores of weights; roughly, what the last change adds to them."""
        if self._seen is None:
            Z = self.features.scores(V)
        else:
            Z = self._seen[1] + self.features.scores(V - self._seen[0], rough=True)
        self._seen = V, Z
        return Z

    def _factor(self) -> None:
        self.ratio = self.ties.weights / self.ties.scores * self.scale
        self.factor = factored(self.features.gram, self.ratio)

    def _balance(self, ratio: float, point: Point, most: float) -> None:
        """Change the ties, each at most by a factor.

        Weights are tied more strongly where both kinds are far apart, less strongly where they hardly move (Boyd et
        al., section 3.4.1). Scores are tied by 2 a^2, where a part a of the rows bends: among 2, 2 a and other rules
        this took the fewest steps, whether a was 1 or 0.1.
        """
        change = min(max(ratio, 1 / most), most)
        self.ties.weights *= change
        self.pull /= change
        if not self.loss.quadratic:
            part = float(self.features.weights @ np.count_nonzero(point.R, axis=1)) / point.R.shape[1]
            aim = 2 * max(part / self.features.total, FEWEST_BENT) ** 2
            change = min(max(aim / self.ties.scores, 1 / most), most)
            self.ties.scores *= change
            self.push /= change
        self._factor()


def _ratio(fitted: np.ndarray, new: np.ndarray, old: np.ndarray, multiplier: np.ndarray) -> float:
    """Return the root of the relative distance of two kinds over the relative change of their multiplier."""
    distance, change = float(np.linalg.norm(fitted - new)), float(np.linalg.norm(new - old))
    size, pulled = float(np.linalg.norm(fitted)), float(np.linalg.norm(multiplier))
    apart, moved = distance * pulled, size * change
    return math.sqrt(apart / moved) if moved > 0 else math.inf if apart > 0 else 1.0
