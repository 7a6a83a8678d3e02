"""Minimization of the mean loss plus a function of the norm over a span, with a duality gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.learners.limits import DOUBLE_EPS, LONGEST_NORM, MOST_STALLED
from similitude.learners.representer.spans import Span
from similitude.learners.svm.dual import BoxProblem, solve
from similitude.linear import Loss, as_instance, named_function
from similitude.similarity import Parametric
from similitude.support import Result, brief


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
    point = span.origin
    if start is not None:
        point = start.point
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
        if stalled >= MOST_STALLED or (stalled >= 2 and gap <= risk.tolerance):
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
            if part < 1:
                goal = point + part * move
            return goal, there, -rise
        part /= 2
    return None


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

    def look(beta: np.ndarray, residual: np.ndarray) -> bool:
        a = np.bincount(box.example, beta, minlength=n)
        scores = target[:n] - residual[:n]
        squared = float(a @ scores)
        conjugate = -2 * mu * float(target @ beta)
        here = Minimizer(mu, a, scores, a, squared, squared, risk.mean(scores), conjugate, len(found) + 1)
        found.append(here)
        return here.gap <= risk.tolerance or here.steps >= most_rounds

    beta, residual, *_ = solve(box, risk.span.rows(), 1e-3 * risk.tolerance, look)
    if not found:  # the start is the solution
        look(beta, residual)
    best = min(found, key=lambda one: one.gap)
    slopes = np.divide(-best.point, cost, out=np.zeros(n), where=cost > 0)
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
    """The Moreau envelope min_z L(y, z) + (f + w s - z)^2 / (2w) of a loss shifted by slopes s, convex and smooth.

    Its derivative (f + w s - z) / w is a slope of L at the minimizing z. A smaller width w brings it nearer to L.
    """

    smooth = True

    def __init__(self, loss: Loss, width: float, slopes: np.ndarray) -> None:
        self.loss = loss
        self.width = width
        self.slopes = slopes
        self._last: tuple[Any, Any] = (None, None)

    def nearest(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the minimizing z, the root of z + w L'(y, z) = f + w s, by bisection; the last one is remembered."""
        if self._last[0] is f:
            return np.asarray(self._last[1])
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
        self._last = f, low + (high - low) / 2
        return np.asarray(self._last[1])

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


class Regularizer(Parametric):
    """A non-decreasing function of the norm. A subclass implements `value` and `derivative` of a number."""

    convex: bool | None = None  # None if unknown

    def check_params(self) -> None:
        """Raise TypeError if a parameter is not what it must be."""

    def value(self, norm: float) -> float:
        """Return R(norm)."""
        raise NotImplementedError

    def derivative(self, norm: float) -> float:
        """Return R'(norm); at 0, the derivative from the right."""
        raise NotImplementedError


class SquaredNorm(Regularizer):
    """R = |w|^2."""

    convex = True

    def value(self, norm: float) -> float:
        """Return the squared norm."""
        return norm**2

    def derivative(self, norm: float) -> float:
        """Return twice the norm."""
        return 2 * norm


class Norm(Regularizer):
    """R = |w|: w = 0 for every lam that is large enough."""

    convex = True

    def value(self, norm: float) -> float:
        """Return the norm."""
        return norm

    def derivative(self, norm: float) -> float:
        """Return 1."""
        return 1.0


class OwnRegularizer(Regularizer):
    """A user's non-decreasing function: an object with ``value(norm)`` and ``derivative(norm)``, or these two."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def check_params(self) -> None:
        """Validate that there are two functions."""
        pair = not isinstance(self.given, (tuple, list)) or len(self.given) == 2
        if not pair or not all(callable(named_function(self.given, name)) for name in ("value", "derivative")):
            raise TypeError(
                f"regularizer must be 'squared_norm', 'norm', an object with value(norm) and derivative(norm), or a "
                f"pair of such functions, got {brief(self.given)}"
            )

    def value(self, norm: float) -> float:
        """Return the user's R(norm)."""
        return self._call("value", norm)

    def derivative(self, norm: float) -> float:
        """Return the user's R'(norm), which must not be negative."""
        slope = self._call("derivative", norm)
        if slope < 0:
            raise ValueError(f"the regularizer falls at norm {norm:g}: it must be non-decreasing")
        return slope

    def _call(self, name: str, norm: float) -> float:
        function: Any = named_function(self.given, name)
        answer = float(function(norm))
        if not math.isfinite(answer):
            raise ValueError(f"{name} of the regularizer is {answer} at norm {norm:g}, not a finite number")
        return answer


REGULARIZERS: dict[str, type[Regularizer]] = {"norm": Norm, "squared_norm": SquaredNorm}
"""Regularizers by name."""


def as_regularizer(given: Any) -> Regularizer:
    """Return the regularizer for a name, a Regularizer, or a user's functions."""
    made: Regularizer = as_instance("regularizer", given, REGULARIZERS, Regularizer, OwnRegularizer)
    return made


@dataclass(frozen=True)
class Optimality(Result):
    """How far a solution may be from the minimum, and the largest acceptable value.

    ``"duality gap"`` bounds the objective minus its minimum; ``"stationarity"``, |w| times the norm of the gradient,
    does not, and is used if a user's regularizer is not convex.
    """

    name: str
    value: float
    tolerance: float

    @property
    def met(self) -> bool:
        """Whether the value is within the tolerance."""
        return self.value <= self.tolerance

    def __str__(self) -> str:
        verdict = ("above", "within")[self.met]
        return f"{self.name} {self.value:.3g}, {verdict} the tolerance of {self.tolerance:.3g}"


class PathSearch:
    """The minimum of the mean loss + lam R(|w|), searched along the path of minimizers w(mu).

    The given tolerance is relative to the mean loss at w = 0. Norms inside are those of the scaled span.
    """

    minimizer: Minimizer
    optimality: Optimality

    def __init__(self, risk: Risk, regularizer: Regularizer, lam: float) -> None:
        with np.errstate(over="ignore"):
            self.at_zero = risk.mean(np.zeros(len(risk.y)))
        if not math.isfinite(self.at_zero):
            raise ValueError("the loss of the score 0 is not finite: divide the targets y by a number of their size")
        tolerance = risk.tolerance * self.at_zero
        self.risk = replace(risk, tolerance=tolerance)
        self.regularizer = regularizer
        self.lam = lam
        self.unit = 1 / math.sqrt(risk.span.scale)  # the norm in the kernel's space of a vector of norm 1
        self.size = float(np.abs(risk.y).max()) or 1.0  # a norm at which scores are as large as targets
        self.seen: dict[float, Minimizer] = {}
        if self.at_zero == 0:  # w = 0 is a minimizer
            none = np.zeros(len(risk.y))
            self.minimizer = Minimizer(1.0, risk.span.origin, none, none, 0.0, 0.0, 0.0, 0.0, 0)
            self.steps = 0
            self.optimality = Optimality("duality gap", 0.0, 0.0)
            return
        typical = self.at_zero / self.size**2  # the multiplier that balances |w|^2 and the losses
        distance = math.inf
        if isinstance(regularizer, SquaredNorm):
            mu = max(lam / risk.span.scale, 1e-14 * typical)
            self.minimizer = minimize(self.risk, mu)
            self.steps = self.minimizer.steps
            if mu == lam / risk.span.scale:
                distance = self.minimizer.gap
        else:
            self.risk = replace(risk, tolerance=0.1 * tolerance)  # so that the search can tell minimizers apart
            convex = self._is_convex()
            self.minimizer = here = self._along_path(typical, convex)
            self.steps = sum(seen.steps for seen in self.seen.values())
            if not convex:
                stationarity = here.norm * abs(self._slope(here.norm) - here.pull)
                self.optimality = Optimality("stationarity", stationarity, math.sqrt(tolerance * self.at_zero))
                return
            distance = self._gap(here)
        distance = min(distance, self.objective - self._penalty(0.0))  # no loss is negative
        self.optimality = Optimality("duality gap", distance, tolerance)

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty of the minimizer."""
        return self._objective(self.minimizer)

    @property
    def norm(self) -> float:
        """|w| of the minimizer."""
        return self.unit * self.minimizer.norm

    def _along_path(self, typical: float, convex: bool) -> Minimizer:
        from scipy.optimize import brentq

        marks = np.log(10) * np.linspace(math.log10(1e9 * typical), math.log10(1e-14 * typical), 47 - 23 * convex)
        for heavy, light in pairwise(marks.tolist()):
            too_long = self._excess(heavy) > 0
            if convex and too_long:
                break  # even the shortest
            if self._excess(light) > 0 and not too_long:
                brentq(self._excess, heavy, light, xtol=1e-12, rtol=4 * DOUBLE_EPS, maxiter=100, disp=False)
                if convex:
                    break
            one = self.seen[light]
            slope = self._slope(one.norm)
            least = min(self._objective(other) for other in self.seen.values())
            if slope > one.pull and self._penalty(one.norm) >= least:
                break  # the penalty of longer w alone is too large
            if slope == 0 and one.mu < 1e-9 * typical:
                break  # the penalty is flat, and w hardly moves
        one = self.seen[marks[0]]  # its slopes are nearly those of w = 0
        zero = replace(one, point=0 * one.point, scores=0 * one.scores, squared_norm=0.0, mean_loss=self.at_zero)
        return min([zero, *self.seen.values()], key=self._objective)

    def _excess(self, log_mu: float) -> float:
        """Return the slope of the penalty minus that of the losses: positive if w is too long."""
        if log_mu not in self.seen:
            near = min(self.seen, key=lambda other: abs(other - log_mu), default=log_mu)
            self.seen[log_mu] = minimize(self.risk, math.exp(log_mu), self.seen.get(near))
        here = self.seen[log_mu]
        return self._slope(here.norm) - here.pull

    def _penalty(self, norm: float) -> float:
        return self.lam * self.regularizer.value(self.unit * norm)

    def _slope(self, norm: float) -> float:
        return self.lam * self.unit * self.regularizer.derivative(self.unit * norm)

    def _objective(self, one: Minimizer) -> float:
        return one.mean_loss + self._penalty(one.norm)

    def _is_convex(self) -> bool:
        """Whether R is convex; for a user's, whether its slope is non-decreasing as far as the penalty matters."""
        if self.regularizer.convex is not None:
            return self.regularizer.convex
        longest = self.size
        while self._penalty(longest) - self._penalty(0.0) < self.at_zero and longest < LONGEST_NORM * self.size:
            longest *= 2
        slopes = [self._slope(norm) for norm in np.geomspace(longest / LONGEST_NORM, longest, 200)]
        return all(after >= before * (1 - 1e-9) for before, after in pairwise(slopes))

    def _conjugate(self, pull: float) -> float:
        """Return the maximum over t of pull t - penalty(t), for a convex R, by bisection; it may be infinite."""
        if self._slope(0.0) >= pull:
            return -self._penalty(0.0)
        low = 0.0
        high = self.size
        while self._slope(high) < pull:
            low = high
            high *= 2
            if high > LONGEST_NORM**2 * self.size:
                return math.inf
        for _ in range(200):
            middle = low + (high - low) / 2
            if self._slope(middle) < pull:
                low = middle
            else:
                high = middle
        return pull * high - self._penalty(low)

    def _gap(self, one: Minimizer) -> float:
        """Return a bound on the objective minus its minimum, for a convex R: both are bounded at a pull.

        A lower bound of mean loss + pull |w| is minus the mean conjugates of slopes with a short enough sum.
        """
        known = [(0.0, 0.0), *((one.pull, -one.conjugate) for one in self.seen.values())]
        least = -math.inf
        for pull in (one.pull, self._slope(one.norm)):
            short = [(length, value) for length, value in known if length <= pull]
            long = [(length, value) for length, value in known if length > pull]
            mixed = [v + (pull - length) / (longer - length) * (w - v) for length, v in short for longer, w in long]
            least = max(least, max([value for _, value in short] + mixed) - self._conjugate(pull))
        return max(0.0, self._objective(one) - least)
