r"""Sparse linear models: the penalty :math:`\lambda \sum_j |w_j|_2` leaves most features without weight.

(Balcan, Blum and Srebro, "Improved Guarantees for Learning via Similarity Functions", 2008: a linear separator of
bounded l1 norm on similarities to landmarks; here penalized, and with the squared hinge instead of the hinge. For
several outputs the norms of the features' weights are added, so that a landmark is dropped for all of them at once:
Yuan and Lin, "Model Selection and Estimation in Regression with Grouped Variables", 2006.)

Working sets of features grow along the path of penalties. On each, the alternating direction method of multipliers
(Boyd et al., "Distributed Optimization and Statistical Learning via the Alternating Direction Method of Multipliers",
2011) alternates between weights that minimize a quadratic and weights that are sparse, with multipliers that pull both
together; for losses that are not quadratic it splits the scores in the same way. The quadratic is solved with a factor
of the Gram matrix, so that correlated features, such as similarities to nearby landmarks, cost no more steps. Where the
objective is smooth, on the features with nonzero weight, Newton steps finish the work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from similitude.linear.features import Features
from similitude.linear.l2_penalty import check_penalties
from similitude.linear.lapack import EPS, factorize, inverse, solve
from similitude.linear.losses import Loss, Squared
from similitude.linear.moments import LinearModel
from similitude.linear.weighted_loss import WeightedLoss, line_minimum

L1_TOLERANCE = 1e-3
"""Maximum duality gap, relative to the objective at w = 0."""


FEWEST_CANDIDATES = 50
"""Features that may join a working set, if it does not hold more already."""

INVERTED = 500
"""Features up to which the matrix of the quadratic is inverted: calls of a solver cost more than its work then."""

TINY = float(np.finfo(np.float64).tiny)


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

    :math:`w_j` holds the weights of feature j for all outputs; the intercepts are not penalized. Decreasing penalties
    are fastest, as each minimizer is found starting from the previous one. The tolerance, of all penalties or of each,
    is the largest duality gap, relative to the objective at w = 0; the `gap` of a model is an upper bound: the
    objective less that of a feasible point of the dual, in float64.

    >>> F = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> largest = largest_penalty(F, F[:, 0], np.ones(4), Squared())
    >>> none, one = l1_path(F, F[:, 0], np.ones(4), [largest, largest / 2], Squared(), tolerance=1e-9)
    >>> none.weights.ravel(), one.weights.ravel().round(6)
    (array([0., 0.]), array([0.5, 0. ]))
    """
    features, (whole, start, shift) = Features(F, weights), _centered(loss, targets, weights)
    search = WorkingSets(features, whole, start)
    lams = check_penalties(penalties)
    for lam, gap in zip(lams, np.broadcast_to(tolerance, lams.shape), strict=True):
        found = search.minimize(float(lam), float(gap))
        yield LinearModel(found.weights, found.intercept + shift, found.gap)


def largest_penalty(F: np.ndarray, targets: np.ndarray, weights: np.ndarray, loss: Loss) -> float:
    """Return the largest norm of a gradient at w = 0, where :func:`l1_path` leaves no weight; 1 if it is zero."""
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
    """A path of penalties, each solved on a growing working set of features, starting from the previous solution."""

    def __init__(self, features: Features, loss: WeightedLoss, start: np.ndarray) -> None:
        self.features = features
        self.loss = loss
        self.V = np.vstack([np.zeros((features.F.shape[1], len(start))), start])
        self.Z = np.tile(start, (len(features.F), 1))
        self.reference = loss.value(self.Z)
        self.gradient = features.combine(loss.slopes(self.Z))
        self.last = float(row_norms(self.gradient[:-1]).max())
        self.rho = (10.0, 1.0)

    def minimize(self, lam: float, tolerance: float) -> LinearModel:
        """Return the minimizer for the next penalty."""
        goal = max(tolerance, 4 * EPS) * self.reference
        objective = L1Objective(self.features, self.loss, lam)
        # the power of the penalty with which rho changes along a path: a rule of thumb
        self.rho = (self.rho[0] * min(max(lam / max(self.last, TINY), 1e-6), 1e6) ** 1.25, self.rho[1])
        point = objective.at(self.V, self.Z)
        self.V = point.V
        self.Z = point.Z
        gap = objective.gap(point, self.gradient)
        working = row_norms(self.V[:-1]) > 0
        # The strong rule: features likely to get weight (Tibshirani et al., "Strong Rules for Discarding Predictors in
        # Lasso-Type Problems", 2012).
        self._join(working, row_norms(self.gradient[:-1]) >= 2 * lam - self.last)
        # maximum number of working sets for one penalty; one to three are usual
        for _ in range(30):
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
        method = ADMM(part, replace(point, V=self.V[rows]), *self.rho)
        found = method.minimize(goal / 2)
        self.rho = (method.rho_weights, method.rho_scores)
        self.V = np.zeros_like(self.V)
        self.Z = found.Z
        self.V[rows] = found.V
        self.gradient = self.features.combine(found.R)
        return replace(found, V=self.V)


def row_norms(W: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row."""
    if W.shape[1] == 1:
        return np.abs(W[:, 0])
    return np.sqrt(np.einsum("ij,ij->i", W, W))


@dataclass(frozen=True)
class L1Point:
    """Weights with intercepts in the last row, V; their scores Z; the slopes R of the loss there; the objective."""

    V: np.ndarray
    Z: np.ndarray
    R: np.ndarray
    objective: float


@dataclass(frozen=True)
class L1Objective:
    """The loss and the penalty on some features."""

    features: Features
    loss: WeightedLoss
    penalty: float

    def at(self, V: np.ndarray, Z: np.ndarray) -> L1Point:
        """Return the point with the best intercepts for its weights: the slopes of each output sum to zero."""
        rounding = 4 * EPS * np.abs(self.loss.slopes(Z)).sum(axis=0)
        more = line_minimum(self.loss.along(Z, np.ones_like(Z)), np.zeros(Z.shape[1]), 1e-13, rounding)
        V = V.copy()
        Z = Z + more
        V[-1] += more
        return L1Point(V, Z, self.loss.slopes(Z), self.loss.value(Z) + self.penalty * float(row_norms(V[:-1]).sum()))

    def gap(self, point: L1Point, gradient: np.ndarray) -> float:
        """Return the duality gap: the objective less the dual objective at the slopes, scaled to be feasible."""
        largest = float(row_norms(gradient[:-1]).max(initial=0.0))
        return point.objective + self.loss.conjugate(point.R * (self.penalty / max(largest, self.penalty)))


class ADMM:
    """The method on a working set; rho weighs the squared distance of the two copies of weights, and of scores."""

    def __init__(self, objective: L1Objective, point: L1Point, rho_weights: float, rho_scores: float) -> None:
        self.objective = objective
        self.rho_weights = rho_weights
        self.rho_scores = rho_scores
        self.features = objective.features
        self.loss = objective.loss
        self.quadratic = isinstance(self.loss.loss, Squared)
        spread = self.features.spread
        # lower bound on the spread of a feature, relative to the largest
        self.scale = np.maximum(spread, 1e-12 * max(float(spread.max()), TINY))
        if self.quadratic:
            self.rho_scores = 2.0
        self._sums: tuple[np.ndarray, np.ndarray] | None = None
        self._scored: tuple[np.ndarray, np.ndarray] | None = None
        self._begin(point)
        self._factorize()

    def minimize(self, goal: float) -> L1Point:
        """Return a point whose duality gap on the working set meets the goal, or the best one found."""
        best = None
        least_gap = np.inf
        for round_ in range(1, 101):  # a few rounds are usual
            ratio, point = self._round()
            gap = self._gap(point)
            # rounds after which Newton steps are tried for the first time, then after twice as many, and so on
            if gap > goal and round_ >= 4 and round_ & (round_ - 1) == 0:
                better = newton_on_active_set(self.objective, point, goal)
                if self._gap(better) < gap:
                    point = better
                    gap = self._gap(better)
                    self._begin(point)
            if gap < least_gap:
                best = point
                least_gap = gap
            if gap <= goal:
                break
            # the factor by which rho may change falls from 2 to 1, so that the method converges
            self._adapt(ratio, point, 1.0 + 1.0 / (1.0 + round_ / 20) ** 2)
        assert best is not None
        return best

    def _gap(self, point: L1Point) -> float:
        return self.objective.gap(point, self.features.combine(point.R))

    def _begin(self, point: L1Point) -> None:
        """Start at a point, with the multipliers it would have at the minimum, scaled to be feasible."""
        s = self.features.weights[:, None]
        gradient = self.features.combine(point.R)[:-1]
        feasible = self.objective.penalty / np.maximum(row_norms(gradient), self.objective.penalty)
        self.sparse = point.V[:-1]
        self.dual = -gradient * (feasible / (self.rho_weights * self.scale))[:, None]
        if self.quadratic:
            self.scores = self.loss.targets
            self.score_dual = np.zeros_like(point.R)
        else:
            self.scores = point.Z
            self.score_dual = np.divide(point.R, s * self.rho_scores, out=np.zeros_like(point.R), where=s > 0)

    def _round(self) -> tuple[float, L1Point]:
        """Take some steps; return the last ratio of residuals and the point reached."""
        if not self.quadratic:
            self._sums = self._scored = None
        # steps of a round, after which the duality gap is computed
        for _ in range(20):
            fitted, before = self._step()
        ratio = _residual_ratio(fitted[:-1], self.sparse, before, self.dual)
        V = np.vstack([self.sparse, np.zeros(self.sparse.shape[1])])
        return ratio, self.objective.at(V, self.features.scores(V))

    def _step(self) -> tuple[np.ndarray, np.ndarray]:
        """Take a step; return the weights that fit, and the sparse weights before the step."""
        V = self._fit()
        if not self.quadratic:
            mixed = _relaxed(self._scores_of(V), self.scores) + self.score_dual
            self.scores = self.loss.loss.proximal(self.loss.targets, mixed, self.rho_scores)
            self.score_dual = mixed - self.scores
        mixed = _relaxed(V[:-1], self.sparse) + self.dual
        self.dual = _limited(mixed, self.longest)
        before = self.sparse
        self.sparse = mixed - self.dual
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
        self.ratio = self.rho_weights / self.rho_scores * self.scale
        self.longest = self.objective.penalty / (self.rho_weights * self.scale)  # of the multipliers of a feature
        factor = factorize(self.features.gram, self.ratio)
        if len(factor) <= INVERTED:
            self._divide = inverse(factor).__matmul__
        else:
            self._divide = partial(solve, factor)

    def _adapt(self, ratio: float, point: L1Point, most: float) -> None:
        """Change rho, each part by at most a factor.

        That of weights grows with the ratio of primal to dual residual (Boyd et al., section 3.4.1); that of scores
        tends to 2 a^2, if a part a of the rows has curvature: among 2, 2 a and other rules this took the fewest steps.
        """
        change = min(max(ratio, 1 / most), most)
        self.rho_weights *= change
        self.dual /= change
        if not self.quadratic:
            part = float(self.features.weights @ np.count_nonzero(point.R, axis=1)) / point.R.shape[1]
            aim = 2 * max(part / self.features.total, 0.02) ** 2
            change = min(max(aim / self.rho_scores, 1 / most), most)
            self.rho_scores *= change
            self.score_dual /= change
        self._factorize()


def _relaxed(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return a step longer than the one from old to new (over-relaxation, Boyd et al., section 3.4.3)."""
    return 1.8 * new + (1 - 1.8) * old


def _limited(W: np.ndarray, longest: np.ndarray) -> np.ndarray:
    """Return each row shortened to a length, unchanged if it is not longer."""
    return W * (longest / np.maximum(row_norms(W), longest))[:, None]


def _residual_ratio(fitted: np.ndarray, new: np.ndarray, old: np.ndarray, dual: np.ndarray) -> float:
    """Return the root of the relative primal residual over the relative dual residual."""
    apart = float(np.linalg.norm(fitted - new) * np.linalg.norm(dual))
    moved = float(np.linalg.norm(fitted) * np.linalg.norm(new - old))
    if moved > 0:
        return math.sqrt(apart / moved)
    if apart > 0:
        return math.inf
    return 1.0


def newton_on_active_set(objective: L1Objective, point: L1Point, goal: float) -> L1Point:
    """Return a point at least as good, with nonzero weights on the same features or fewer.

    A weight that a step would take past zero stops there. (Chen, Curtis and Robinson, "A Reduced-Space Algorithm for
    Minimizing l1-Regularized Convex Functions", 2017.)
    """
    # initially added to the curvature of rows, relative to their weights; reduced after each full step
    damping = 1e-2
    gap = np.inf
    # maximum number of Newton steps; they end as soon as one no longer halves the gap
    for _ in range(20):
        active = np.flatnonzero(point.V[:-1].any(axis=1))
        if len(active) == 0 or (len(active) + 1) * point.V.shape[1] > 1500:  # factoring the Hessian would not pay
            break
        part = L1Objective(objective.features.columns(active), objective.loss, objective.penalty)
        rows = [*active, -1]
        there, t = _newton_step(part, L1Point(point.V[rows], point.Z, point.R, point.objective), damping)
        if t == 0:
            break
        V = np.zeros_like(point.V)
        V[rows] = there.V
        point = L1Point(V, there.Z, there.R, there.objective)
        last = gap
        gap = part.gap(there, part.features.combine(there.R))
        if gap <= goal / 2 or gap > last / 2:
            break
        damping = min(max(damping * (0.1 if t == 1 else 4.0), EPS), 1.0)
    return point


def _newton_step(objective: L1Objective, point: L1Point, damping: float) -> tuple[L1Point, float]:
    """Return the point after a Newton step and the step length; 0 if no length decreases the objective."""
    features = objective.features
    W = point.V[:-1]
    gradient = features.combine(point.R)
    gradient[:-1] += objective.penalty * W / row_norms(W)[:, None]
    curvatures = objective.loss.curvatures(point.Z) + damping * features.weights[:, None]
    factor = factorize(_hessian(objective, W, curvatures), 0.0)
    P = -solve(factor, gradient.ravel()).reshape(gradient.shape)
    decrease = -float(np.vdot(gradient, P))
    # maximum number of halvings of a step that does not decrease the objective
    for halvings in range(20):
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
