r"""Minimization of the mean loss plus a multiple of :math:`|w|^2` over a span, with a duality gap.

For :math:`P(w) = \sum_i v_i L(y_i, f_i) + \mu |w|^2` and any slopes :math:`g_i`, Fenchel's inequality gives
:math:`P \ge -\sum_i v_i L^*(y_i, g_i) - \mu |w_g|^2` with :math:`w_g = -\sum_i v_i g_i \phi(x_i) / (2\mu)`, and
equality at the minimum. Every solver here ends with slopes whose conjugates are known, and so bounds its distance from
the minimum. If :math:`g_i` is the slope at a score z, :math:`L^*(y_i, g_i) = g_i z - L(y_i, z)` for any loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from similitude.learners.limits import DOUBLE_EPS, MOST_STALLED
from similitude.learners.representer.spans import Span
from similitude.learners.svm.dual import BoxProblem, solve
from similitude.linear import Loss


@dataclass(frozen=True)
class Risk:
    """A weighted mean of losses to be minimized over a span."""

    loss: Loss
    y: np.ndarray
    weights: np.ndarray  # they sum to 1
    span: Span
    tolerance: float  # the largest acceptable duality gap
    most_steps: int

    def mean(self, scores: np.ndarray) -> float:
        """Return the weighted mean of the losses."""
        return float(self.weights @ self.loss.value(self.y, scores))


@dataclass(frozen=True)
class Minimizer:
    """The solution for a multiplier mu: a point w, and slopes g that bound the minimum from below."""

    mu: float
    point: np.ndarray
    scores: np.ndarray  # <w, phi(x_i)>
    slopes: np.ndarray  # g, one per example
    squared_norm: float  # |w|^2
    dual_squared_norm: float  # |w_g|^2
    mean_loss: float  # the weighted mean of the losses at the scores
    conjugate: float  # that of their conjugates at the slopes
    steps: int

    @property
    def gap(self) -> float:
        """The duality gap."""
        both = self.squared_norm + self.dual_squared_norm
        return max(0.0, self.mean_loss + self.conjugate + self.mu * both)

    @property
    def norm(self) -> float:
        """|w|."""
        return math.sqrt(max(0.0, self.squared_norm))

    @property
    def pull(self) -> float:
        """The norm of sum_i v_i g_i phi(x_i), the gradient of the mean loss: 2 mu |w_g|."""
        return 2 * self.mu * math.sqrt(max(0.0, self.dual_squared_norm))


def minimize(risk: Risk, mu: float, start: Minimizer | None = None) -> Minimizer:
    """Minimize mean loss + mu |w|^2: by the dual of piecewise linear losses, Newton steps, or those on envelopes."""
    if risk.loss.smooth:
        point, scores, steps = _newton(risk, mu, start, 1e-6 * risk.tolerance)
        return _minimizer(risk, mu, point, risk.loss.derivative(risk.y, scores), scores, steps)
    if risk.loss.pieces(risk.y) is not None:
        start = minimize_dual(risk, mu)
        if start.gap <= risk.tolerance or start.steps >= risk.most_steps:
            return start
    return _minimize_envelopes(risk, mu, start)


def _minimizer(risk: Risk, mu: float, point: np.ndarray, slopes: np.ndarray, at: np.ndarray, steps: int) -> Minimizer:
    """Return a point as the minimizer, with slopes of the loss at some scores."""
    span = risk.span
    v = risk.weights
    scores = span.scores(point)
    dual = span.combine(v * slopes / (-2 * mu))
    dual_squared = span.inner(dual, dual, span.scores(dual))
    conjugate = float(v @ (slopes * at - risk.loss.value(risk.y, at)))
    squared = span.inner(point, point, scores)
    return Minimizer(mu, point, scores, slopes, squared, dual_squared, risk.mean(scores), conjugate, steps)


def _newton(risk: Risk, mu: float, start: Minimizer | None, target: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Take Newton steps, one or more, until the gap meets a target or rounding stops; return point, scores, steps."""
    span = risk.span
    point = start.point if start else span.origin()
    scores = span.scores(point)
    decrease = least = math.inf
    steps = stalled = 0
    while True:
        slopes = risk.loss.derivative(risk.y, scores)
        gradient = 2 * mu * point + span.combine(risk.weights * slopes)
        gap = max(0.0, span.inner(gradient, gradient, span.scores(gradient))) / (4 * mu)  # that of these slopes
        if steps > 0 and not (gap > target and steps < risk.most_steps):
            break
        stalled += 1
        if gap <= 0.25 * least or decrease > risk.tolerance:
            stalled = 0
        least = min(least, gap)
        if stalled >= (2 if gap <= risk.tolerance else MOST_STALLED):
            break
        steps += 1
        found = _newton_step(risk, mu, point, scores, slopes)
        if found is None:
            break
        point, scores, decrease = found
    return point, scores, steps


def _newton_step(
    risk: Risk, mu: float, point: np.ndarray, scores: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return the point after a Newton step, shortened until the objective falls, its scores and the decrease."""
    v = risk.weights
    span = risk.span
    curvature = v * risk.loss.second_derivative(risk.y, scores)
    goal = span.newton(curvature, curvature * scores - v * slopes, mu)
    move = goal - point
    along = span.scores(move)
    across = 2 * mu * span.inner(point, move, along)
    square = mu * span.inner(move, move, along)
    slope = float(v @ (slopes * along)) + across
    here = risk.mean(scores)
    part = 1.0
    slack = 1e-14 * (abs(here) + abs(across))
    while part >= 2.0**-40:
        there = scores + part * along
        rise = risk.mean(there) - here + part * across + part**2 * square
        if rise <= 1e-4 * part * slope + slack:  # false if it is not finite
            return goal if part == 1 else point + part * move, there, -rise
        part /= 2
    return None


class _Enough(Exception):  # noqa: N818 (no error: the gap is closed)
    pass


def minimize_dual(risk: Risk, mu: float) -> Minimizer:
    """Minimize a piecewise linear loss by its dual, a quadratic program over a box."""
    n = len(risk.y)
    cost = risk.weights / (2 * mu)
    pieces = risk.loss.pieces(risk.y) or []
    target, low, high = (np.concatenate(part) for part in zip(*pieces, strict=True))
    costs = np.tile(cost, len(pieces))
    box = BoxProblem(target, low * costs, high * costs, np.tile(np.arange(n), len(pieces)), keep_sum=False)
    found: list[Minimizer] = []
    most_rounds = min(risk.most_steps, 20 + n // 200)  # then envelopes are faster

    def look(beta: np.ndarray, residual: np.ndarray) -> None:
        a = np.bincount(box.example, beta, minlength=n)
        scores = target[:n] - residual[:n]
        squared = float(a @ scores)
        conjugate = -2 * mu * float(target @ beta)
        here = Minimizer(mu, a, scores, a, squared, squared, risk.mean(scores), conjugate, len(found) + 1)
        found.append(here)
        if here.gap <= risk.tolerance or here.steps >= most_rounds:
            raise _Enough

    try:
        beta, residual, *_ = solve(box, risk.span.rows(), 1e-3 * risk.tolerance, look)
        look(beta, residual)
    except _Enough:
        pass
    best = min(found, key=lambda one: one.gap)
    slopes = np.where(cost > 0, -best.point / np.where(cost > 0, cost, 1.0), 0.0)
    return replace(best, point=risk.span.combine(best.point), slopes=slopes)


def _minimize_envelopes(risk: Risk, mu: float, start: Minimizer | None = None) -> Minimizer:
    """Minimize any convex loss by its Moreau envelopes: the augmented Lagrangian method (Rockafellar, 1976)."""
    y = risk.y
    loss = risk.loss
    slopes = loss.derivative(y, np.zeros(len(y)))
    width = (float(np.abs(y).max(initial=0.0)) or 1.0) / (float(np.abs(slopes).max(initial=0.0)) or 1.0)
    narrowest = 1e-5 * width
    best = None
    steps = stalled = 0
    last = math.inf
    if start is not None:
        slopes = start.slopes
        if start.mu == mu:
            best = start
            steps = start.steps
    while steps < risk.most_steps and stalled < MOST_STALLED:
        envelope = Envelope(loss, width, slopes)
        smooth = replace(risk, loss=envelope, most_steps=risk.most_steps - steps)
        point, scores, taken = _newton(smooth, mu, start, 1e-6**2 * risk.tolerance)
        slopes = envelope.derivative(y, scores)
        steps += max(1, taken)
        start = _minimizer(risk, mu, point, slopes, envelope.nearest(y, scores), steps)
        stalled = (stalled + 1) * (start.gap > last / 2)
        if best is None or start.gap < best.gap:
            best = start
        if best.gap <= risk.tolerance:
            break
        if start.gap > last / 5:
            width = max(width / 4, narrowest)
        last = start.gap
    assert best is not None
    return replace(best, steps=steps)


class Envelope(Loss):
    r"""The Moreau envelope :math:`M(f) = \min_z L(y, z) + (f + w s - z)^2 / (2w)` of a loss shifted by slopes s.

    It is convex and smooth for any L; its derivative is :math:`(f + w s - z) / w` at the minimizing z, which is a
    slope of L at z. The smaller the width w, the closer it is to the loss.
    """

    smooth = True

    def __init__(self, loss: Loss, width: float, slopes: np.ndarray) -> None:
        self.loss = loss
        self.width = width
        self.slopes = slopes
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def nearest(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the minimizing z; the last one is remembered."""
        if self._last is None or self._last[0] is not f:
            self._last = f, self._proximal_point(y, f)
        return self._last[1]

    def _proximal_point(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the root of z + w L'(y, z) = f + w s by bisection between known bounds."""
        c = f + self.width * self.slopes
        other = c - self.width * self.loss.derivative(y, c)
        low = np.minimum(c, other)
        high = np.maximum(c, other)
        least = np.minimum(np.abs(c), np.abs(other)) + 1e-3 * np.abs(c).mean()
        for _ in range(1100):  # about 55 unless slopes are absurd
            middle = low + (high - low) / 2
            if (high - low <= DOUBLE_EPS * np.maximum(least, np.maximum(np.abs(low), np.abs(high)))).all():
                break
            above = middle + self.width * self.loss.derivative(y, middle) > c
            low = np.where(above, low, middle)
            high = np.where(above, middle, high)
        return low + (high - low) / 2

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the envelope."""
        z = self.nearest(y, f)
        return self.loss.value(y, z) + (f + self.width * self.slopes - z) ** 2 / (2 * self.width)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the slope of the loss at the minimizing score."""
        return (f + self.width * self.slopes - self.nearest(y, f)) / self.width

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return L'' / (1 + w L'') with L'' by differences: about 1 / w at a kink."""
        z = self.nearest(y, f)
        step = 1e-6 * (np.abs(z) + self.width * np.abs(self.derivative(y, f)) + 1e-9)
        rise = self.loss.derivative(y, z + step) - self.loss.derivative(y, z - step)
        curvature = np.maximum(rise / (2 * step), 0.0)
        return curvature / (1 + self.width * curvature)
