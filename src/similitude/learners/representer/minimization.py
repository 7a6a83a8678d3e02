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

from similitude.learners.representer.spans import Span
from similitude.learners.svm.dual import BoxProblem, solve
from similitude.linear import Loss

BEYOND = 1e-6
"""Newton steps continue until the gap is smaller than the tolerance by this factor: it takes a step or two."""

NARROWING, NARROWEST = 4.0, 1e-5
"""Factor by which envelopes approach the loss when the gap shrinks slowly, and their smallest relative width."""

FEWEST_ROUNDS = 20
"""Rounds after which the dual of a small problem is too slow; one more for every 200 examples."""

MOST_STALLED = 10
"""Newton steps, or envelopes, in a row without progress before giving up."""

SHORTEST_STEP = 2.0**-40
"""The smallest fraction of a Newton step that is tried."""

PROXIMAL_HALVINGS = 1100
"""Maximum number of bisections for a proximal point; about 55 unless slopes are absurd."""


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
    """Minimize mean loss + mu |w|^2 by the solver that suits the loss.

    Piecewise linear losses are solved by their dual, smooth ones by Newton steps, all others by Newton steps on smooth
    envelopes; so are piecewise linear ones if their dual stops early, as it may on a singular Gram matrix.
    """
    if risk.loss.smooth:
        point, scores, steps = _newton(risk, mu, start, BEYOND * risk.tolerance)
        return _minimizer(risk, mu, point, risk.loss.derivative(risk.y, scores), scores, steps)
    if risk.loss.pieces(risk.y) is not None:
        start = minimize_dual(risk, mu)
        if start.gap <= risk.tolerance or start.steps >= risk.most_steps:
            return start
    return _minimize_envelopes(risk, mu, start)


def _minimizer(risk: Risk, mu: float, point: np.ndarray, slopes: np.ndarray, at: np.ndarray, steps: int) -> Minimizer:
    """Return a point as the minimizer, with slopes of the loss at some scores."""
    span, v = risk.span, risk.weights
    scores, dual = span.scores(point), span.combine(v * slopes / (-2 * mu))
    dual_squared = span.inner(dual, dual, span.scores(dual))
    conjugate = float(v @ (slopes * at - risk.loss.value(risk.y, at)))
    squared = span.inner(point, point, scores)
    return Minimizer(mu, point, scores, slopes, squared, dual_squared, risk.mean(scores), conjugate, steps)


def _newton(risk: Risk, mu: float, start: Minimizer | None, target: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Take Newton steps until the duality gap meets a target or rounding stops them; return point, scores and steps.

    At least one is taken: near the minimum it doubles the number of digits, which comparing minima needs.
    """
    span = risk.span
    point = span.origin() if start is None else start.point
    scores, steps, decrease, least, stalled = span.scores(point), 0, math.inf, math.inf, 0
    while True:
        slopes = risk.loss.derivative(risk.y, scores)
        gradient = 2 * mu * point + span.combine(risk.weights * slopes)
        gap = max(0.0, span.inner(gradient, gradient, span.scores(gradient))) / (4 * mu)  # that of these slopes
        if steps > 0 and not (gap > target and steps < risk.most_steps):
            break
        gained = gap <= 0.25 * least or decrease > risk.tolerance
        stalled, least = 0 if gained else stalled + 1, min(least, gap)
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
    v, span = risk.weights, risk.span
    curvature = v * risk.loss.second_derivative(risk.y, scores)
    goal = span.newton(curvature, curvature * scores - v * slopes, mu)
    move = goal - point
    along = span.scores(move)
    across = 2 * mu * span.inner(point, move, along)
    square = mu * span.inner(move, move, along)
    slope = float(v @ (slopes * along)) + across
    here, part = risk.mean(scores), 1.0
    slack = 1e-14 * (abs(here) + abs(across))
    while part >= SHORTEST_STEP:
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
    n, cost = len(risk.y), risk.weights / (2 * mu)
    pieces = risk.loss.pieces(risk.y) or []
    target, low, high = (np.concatenate(part) for part in zip(*pieces, strict=True))
    costs = np.tile(cost, len(pieces))
    box = BoxProblem(target, low * costs, high * costs, np.tile(np.arange(n), len(pieces)), keep_sum=False)
    found: list[Minimizer] = []
    most_rounds = min(risk.most_steps, FEWEST_ROUNDS + n // 200)

    def look(beta: np.ndarray, residual: np.ndarray) -> None:
        a = np.bincount(box.example, beta, minlength=n)
        scores, squared = target[:n] - residual[:n], float(a @ (target[:n] - residual[:n]))
        loss, conjugate = risk.mean(scores), -2 * mu * float(target @ beta)
        here = Minimizer(mu, a, scores, a, squared, squared, loss, conjugate, len(found) + 1)
        found.append(here)
        if here.gap <= risk.tolerance or here.steps >= most_rounds:
            raise _Enough

    try:
        solution = solve(box, risk.span.rows(), 1e-3 * risk.tolerance, look)
        look(solution.beta, solution.residual)
    except _Enough:
        pass
    best = min(found, key=lambda one: one.gap)
    slopes = np.where(cost > 0, -best.point / np.where(cost > 0, cost, 1.0), 0.0)
    return replace(best, point=risk.span.combine(best.point), slopes=slopes)


def _minimize_envelopes(risk: Risk, mu: float, start: Minimizer | None = None) -> Minimizer:
    """Minimize any convex loss by its Moreau envelopes, which are smooth: the augmented Lagrangian method.

    The envelope of the loss, shifted by slopes, is minimized by Newton steps; its slopes are the next shift. The minima
    of the envelopes converge to that of the loss (Rockafellar, 1976).
    """
    y, loss = risk.y, risk.loss
    slopes = loss.derivative(y, np.zeros(len(y)))
    width = (float(np.abs(y).max(initial=0.0)) or 1.0) / (float(np.abs(slopes).max(initial=0.0)) or 1.0)
    slopes = slopes if start is None else start.slopes
    best = start if start is not None and start.mu == mu else None
    narrowest, last, steps, stalled = NARROWEST * width, math.inf, 0 if best is None else best.steps, 0
    while steps < risk.most_steps and stalled < MOST_STALLED:
        envelope = Envelope(loss, width, slopes)
        smooth = replace(risk, loss=envelope, most_steps=risk.most_steps - steps)
        point, scores, taken = _newton(smooth, mu, start, BEYOND**2 * risk.tolerance)
        slopes = envelope.derivative(y, scores)
        steps += max(1, taken)
        start = _minimizer(risk, mu, point, slopes, envelope.nearest(y, scores), steps)
        stalled = stalled + 1 if start.gap > last / 2 else 0
        best = start if best is None or start.gap < best.gap else best
        if best.gap <= risk.tolerance:
            break
        width, last = (max(width / NARROWING, narrowest) if start.gap > last / 5 else width), start.gap
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
        low, high = np.minimum(c, other), np.maximum(c, other)
        least = np.minimum(np.abs(c), np.abs(other)) + 1e-3 * np.abs(c).mean()
        for _ in range(PROXIMAL_HALVINGS):
            middle = low + (high - low) / 2
            if (
                high - low <= np.finfo(np.float64).eps * np.maximum(least, np.maximum(np.abs(low), np.abs(high)))
            ).all():
                break
            above = middle + self.width * self.loss.derivative(y, middle) > c
            low, high = np.where(above, low, middle), np.where(above, middle, high)
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
