r"""Convex minimization over a span: losses of scores plus a multiple of |w|^2, with a duality gap.

For :math:`P(w) = \sum_i v_i L(y_i, f_i) + \mu |w|^2` and any slopes :math:`g_i`, Fenchel's inequality gives
:math:`P \ge -\sum_i v_i L^*(y_i, g_i) - \mu |w_g|^2` with :math:`w_g = -\sum_i v_i g_i \phi(x_i) / (2\mu)`, and
equality at the minimum. Every solver below ends with slopes whose conjugates are known, and so knows how far from the
minimum it may be. Where :math:`g_i` is the slope at a score z, :math:`L^*(y_i, g_i) = g_i z - L(y_i, z)`, whatever the
loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from similitude.learners.proximal import Envelope
from similitude.learners.spaces import Space
from similitude.learners.svm.dual import BoxProblem, solve
from similitude.linear.losses import Loss

BEYOND = 1e-6
"""Newton steps go on until the gap is this much smaller than asked: it costs a step or two, for digits double."""

NARROWING, NARROWEST = 4.0, 1e-5
"""By how much envelopes come closer to the loss when the gap shrinks slowly, and about how close, from the first."""

FEWEST_ROUNDS = 20
"""Rounds after which the dual of a small problem is too slow; of a larger one, one more for every 200 examples."""

MOST_STALLED = 10
"""Newton steps, or envelopes, in a row that gain nothing before one gives up."""

SHORTEST = 2.0**-40
"""The shortest part of a Newton step that is tried."""


@dataclass(frozen=True)
class Problem:
    """Losses to be minimized.

    Attributes
    ----------
    loss : Loss
    y, weights : array of float64
        Targets, and weights that add up to 1.
    space : Space
    tolerance : float
        The gap that is asked for.
    most_steps : int
    """

    loss: Loss
    y: np.ndarray
    weights: np.ndarray
    space: Space
    tolerance: float
    most_steps: int

    def mean_loss(self, scores: np.ndarray) -> float:
        """Return the weighted mean of the losses."""
        return float(self.weights @ self.loss.value(self.y, scores))


@dataclass(frozen=True)
class Minimum:
    """What was found for a multiplier mu: a point w, and slopes g that bound the minimum from below.

    Attributes
    ----------
    mu : float
    point, scores : array
        w, and <w, phi(x_i)>.
    slopes : array
        g, one per example.
    squared_norm, dual_squared_norm : float
        |w|^2 and |w_g|^2.
    mean_loss, conjugate : float
        The means of the losses at the scores, and of their conjugates at the slopes.
    steps : int
    """

    mu: float
    point: np.ndarray
    scores: np.ndarray
    slopes: np.ndarray
    squared_norm: float
    dual_squared_norm: float
    mean_loss: float
    conjugate: float
    steps: int

    @property
    def gap(self) -> float:
        """Objective minus dual objective."""
        both = self.squared_norm + self.dual_squared_norm
        return max(0.0, self.mean_loss + self.conjugate + self.mu * both)

    @property
    def norm(self) -> float:
        """|w|."""
        return math.sqrt(max(0.0, self.squared_norm))

    @property
    def pull(self) -> float:
        """The length of sum_i v_i g_i phi(x_i), the gradient of the mean loss: 2 mu |w_g|."""
        return 2 * self.mu * math.sqrt(max(0.0, self.dual_squared_norm))


def minimize(problem: Problem, mu: float, start: Minimum | None = None) -> Minimum:
    """Return the minimum for the multiplier mu, by the solver that the loss allows.

    Straight losses are a box problem, smooth ones take Newton steps, any other is first made smooth; so is a straight
    one where its dual stops early, as it may on a singular Gram matrix.
    """
    if problem.loss.smooth:
        return by_newton(problem, mu, start)
    if problem.loss.pieces(problem.y) is not None:
        start = by_box(problem, mu)
        if start.gap <= problem.tolerance or start.steps >= problem.most_steps:
            return start
    return by_envelopes(problem, mu, start)


def by_newton(problem: Problem, mu: float, start: Minimum | None = None) -> Minimum:
    """Minimize a smooth loss by Newton steps."""
    walk = walked(problem, mu, start, BEYOND * problem.tolerance)
    return walk.end(problem, problem.loss.derivative(problem.y, walk.scores), walk.scores, walk.steps)


def walked(problem: Problem, mu: float, start: Minimum | None, target: float) -> Walk:
    """Take Newton steps, shortened until the objective falls, until the gap is a target or rounding stops them.

    One is always taken: near the minimum it doubles the digits, and who compares minima needs them.
    """
    walk = Walk.begin(problem, mu, start)
    least, stalled = np.inf, 0
    while walk.steps == 0 or (walk.gap > target and walk.steps < problem.most_steps):
        gained = walk.gap <= 0.25 * least or walk.fall > problem.tolerance
        stalled, least = 0 if gained else stalled + 1, min(least, walk.gap)
        if stalled >= (2 if walk.gap <= problem.tolerance else MOST_STALLED):
            break
        walk, moved = walk.step()
        if not moved:
            break
    return walk


@dataclass(frozen=True)
class Walk:
    """A point on the way of Newton's method, its scores, and by how much the objective fell on the last step."""

    problem: Problem
    mu: float
    point: np.ndarray
    scores: np.ndarray
    gradient: np.ndarray
    steps: int
    fall: float = math.inf

    @classmethod
    def begin(cls, problem: Problem, mu: float, start: Minimum | None) -> Walk:
        """Start at 0, or at an earlier minimum."""
        space = problem.space
        point = space.origin() if start is None else start.point
        return cls(problem, mu, point, space.scores(point), np.empty(0), 0)._with_gradient()

    def _with_gradient(self) -> Walk:
        g = self.problem.weights * self.problem.loss.derivative(self.problem.y, self.scores)
        return replace(self, gradient=2 * self.mu * self.point + self.problem.space.combine(g))

    @property
    def gap(self) -> float:
        """The squared gradient over 4 mu, which is the duality gap of the slopes here."""
        r = self.gradient
        return max(0.0, self.problem.space.inner(r, r, self.problem.space.scores(r))) / (4 * self.mu)

    def step(self) -> tuple[Walk, bool]:
        """Return the next point, and whether it is another one."""
        loss, y, v, space = self.problem.loss, self.problem.y, self.problem.weights, self.problem.space
        curvature = v * loss.second_derivative(y, self.scores)
        b = curvature * self.scores - v * loss.derivative(y, self.scores)
        target = space.newton(curvature, b, self.mu)
        move = target - self.point
        along = space.scores(move)
        across = 2 * self.mu * space.inner(self.point, move, along)
        square = self.mu * space.inner(move, move, along)
        slope = float(v @ (loss.derivative(y, self.scores) * along)) + across
        here, part = self.problem.mean_loss(self.scores), 1.0
        slack = 1e-14 * (abs(here) + abs(across))
        while part >= SHORTEST:
            scores = self.scores + part * along
            rise = self.problem.mean_loss(scores) - here + part * across + part**2 * square
            if rise <= 1e-4 * part * slope + slack:  # false where it is not finite
                point = target if part == 1 else self.point + part * move
                moved = replace(self, point=point, scores=scores, steps=self.steps + 1, fall=-rise)
                return moved._with_gradient(), True
            part /= 2
        return replace(self, steps=self.steps + 1), False

    def end(self, problem: Problem, slopes: np.ndarray, at: np.ndarray, steps: int) -> Minimum:
        """Return this point as the minimum of a problem, with slopes of its loss at some scores."""
        space, v = problem.space, problem.weights
        scores = space.scores(self.point)
        squared = space.inner(self.point, self.point, scores)
        dual = space.combine(v * slopes / (-2 * self.mu))
        dual_squared = space.inner(dual, dual, space.scores(dual))
        conjugate = float(v @ (slopes * at - problem.loss.value(problem.y, at)))
        loss = problem.mean_loss(scores)
        return Minimum(self.mu, self.point, scores, slopes, squared, dual_squared, loss, conjugate, steps)


class _Enough(Exception):  # noqa: N818 (no error: the gap is closed)
    pass


def by_box(problem: Problem, mu: float) -> Minimum:
    """Minimize a loss made of straight lines by its dual, a quadratic program over a box."""
    n, cost = len(problem.y), problem.weights / (2 * mu)
    pieces = problem.loss.pieces(problem.y) or []
    target, low, high = (np.concatenate(part) for part in zip(*pieces, strict=True))
    costs = np.tile(cost, len(pieces))
    box = BoxProblem(target, low * costs, high * costs, np.tile(np.arange(n), len(pieces)), keep_sum=False)
    found: list[Minimum] = []
    most_rounds = min(problem.most_steps, FEWEST_ROUNDS + n // 200)

    def look(beta: np.ndarray, residual: np.ndarray) -> None:
        a = np.bincount(box.example, beta, minlength=n)
        scores, squared = target[:n] - residual[:n], float(a @ (target[:n] - residual[:n]))
        loss, conjugate = problem.mean_loss(scores), -2 * mu * float(target @ beta)
        here = Minimum(mu, a, scores, a, squared, squared, loss, conjugate, len(found) + 1)
        found.append(here)
        if here.gap <= problem.tolerance or here.steps >= most_rounds:
            raise _Enough

    try:
        solution = solve(box, problem.space.rows(), 1e-3 * problem.tolerance, look)
        look(solution.beta, solution.residual)
    except _Enough:
        pass
    best = min(found, key=lambda one: one.gap)
    slopes = np.where(cost > 0, -best.point / np.where(cost > 0, cost, 1.0), 0.0)
    return replace(best, point=problem.space.combine(best.point), slopes=slopes)


def by_envelopes(problem: Problem, mu: float, start: Minimum | None = None) -> Minimum:
    """Minimize any convex loss by its Moreau envelopes, which are smooth: the augmented Lagrangian method.

    The envelope of a shifted loss is minimized by Newton steps, its slopes become the next shift, and the minimum of
    the envelopes tends to that of the loss (Rockafellar, 1976).
    """
    y, loss = problem.y, problem.loss
    slopes = loss.derivative(y, np.zeros(len(y)))
    width = (float(np.abs(y).max(initial=0.0)) or 1.0) / (float(np.abs(slopes).max(initial=0.0)) or 1.0)
    slopes = slopes if start is None else start.slopes
    best = start if start is not None and start.mu == mu else None
    narrowest, last, steps, stalled = NARROWEST * width, np.inf, 0 if best is None else best.steps, 0
    while steps < problem.most_steps and stalled < MOST_STALLED:
        envelope = Envelope(loss, width, slopes)
        left = replace(problem, loss=envelope, most_steps=problem.most_steps - steps)
        walk = walked(left, mu, start, BEYOND**2 * problem.tolerance)
        slopes = envelope.derivative(y, walk.scores)
        steps += max(1, walk.steps)
        start = walk.end(problem, slopes, envelope.nearest(y, walk.scores), steps)
        stalled = stalled + 1 if start.gap > last / 2 else 0
        best = start if best is None or start.gap < best.gap else best
        if best.gap <= problem.tolerance:
            break
        width, last = (max(width / NARROWING, narrowest) if start.gap > last / 5 else width), start.gap
    assert best is not None
    return replace(best, steps=steps)
