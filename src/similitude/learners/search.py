r"""Any regularizer by way of the squared norm, and the certificate of what was found.

For any non-decreasing R a minimizer of mean loss + lam R(|w|) also minimizes mean loss + mu |w|^2 for some mu: it has
the least loss among all w that are no longer. So the path of the minima w(mu) is searched for
:math:`\lambda R'(|w|) = 2 \mu |w|`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.learners.convex import Minimum, Problem, minimize
from similitude.learners.regularizers import Regularizer, SquaredNorm
from similitude.support.results import Result

FINER = 0.1
"""Minima on the path are asked for with this share of the gap: the search must tell them apart."""

RANGE, MARKS = (1e9, 1e-14), 24
"""The largest and the least multiplier that is tried, times that at which |w|^2 and the losses are of one size; and at
how many between them a change of sign is sought, twice as many where the regularizer is not convex."""

LIGHT = 1e-9
"""The least multiplier for a penalty that is flat where w has come to, likewise: the sign is not going to change."""

PROBED, LONGEST, HALVINGS = 200, 2.0**60, 200
"""Norms at which the slope of a user's regularizer is looked at; how far at most, from the size of the problem; and
halvings of an interval in which a slope is sought."""

CLOSE = 1e-12
"""Relative width of the interval in which the multiplier is known at the end."""


DUALITY_GAP = "duality gap"
STATIONARITY = "stationarity"


@dataclass(frozen=True)
class Certificate(Result):
    """How far from the minimum a solution may be.

    Attributes
    ----------
    name : str
        What was measured: ``"duality gap"`` bounds the objective minus its minimum; ``"stationarity"``, |w| times the
        norm of the gradient, does not, and stands where a user's regularizer is not convex.
    value : float
    tolerance : float
        What was asked for.

    Examples
    --------
    >>> print(Certificate("duality gap", 2e-12, 1e-8))
    duality gap 2e-12, as asked for (1e-08 at most)
    """

    name: str
    value: float
    tolerance: float

    @property
    def met(self) -> bool:
        """Whether it is as small as was asked for."""
        return self.value <= self.tolerance

    def __str__(self) -> str:
        verdict = "as asked for" if self.met else "more than was asked for"
        return f"{self.name} {self.value:.3g}, {verdict} ({self.tolerance:.3g} at most)"

    @classmethod
    def worst(cls, several: list[Certificate]) -> Certificate:
        """Return the one that is furthest from what was asked for."""
        return max(several, key=lambda one: one.value / max(one.tolerance, 1e-300))

    def warn_if_missed(self) -> None:
        """Warn if it is larger than what was asked for."""
        if not self.met:
            advice = "raise max_iter or lam, or ask for less with tol"
            warnings.warn(f"the minimum was not reached: {self}; {advice}", ConvergenceWarning, stacklevel=5)


@dataclass(frozen=True)
class Penalty:
    """lam R(|w|), where |w| is `unit` times a norm in scaled space."""

    regularizer: Regularizer
    lam: float
    unit: float

    def value(self, norm: float) -> float:
        """Return lam R."""
        return self.lam * self.regularizer.value(self.unit * norm)

    def slope(self, norm: float) -> float:
        """Return the derivative by the norm."""
        return self.lam * self.unit * self.regularizer.derivative(self.unit * norm)

    def is_convex(self, worth: float, size: float) -> bool:
        """Tell whether R is convex; of a user's, whether its slope rises as far as the penalty matters."""
        if self.regularizer.convex is not None:
            return self.regularizer.convex
        longest = size
        while self.value(longest) - self.value(0.0) < worth and longest < LONGEST * size:
            longest *= 2
        slopes = [self.slope(norm) for norm in np.geomspace(longest / LONGEST, longest, PROBED)]
        return all(after >= before * (1 - 1e-9) for before, after in pairwise(slopes))

    def conjugate(self, pull: float, size: float) -> float:
        """Return what pull t - penalty(t) is at most, for a convex R; infinite where it is not bounded.

        The largest is where the slope of the penalty passes `pull`: between two norms that halving brings together.
        """
        if self.slope(0.0) >= pull:
            return -self.value(0.0)
        low, high = 0.0, size
        while self.slope(high) < pull:
            low, high = high, 2 * high
            if high > LONGEST**2 * size:
                return math.inf
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            low, high = (middle, high) if self.slope(middle) < pull else (low, middle)
        return pull * high - self.value(low)


@dataclass(frozen=True)
class Found:
    """A minimum of mean loss + penalty.

    Attributes
    ----------
    minimum : Minimum
    objective, norm : float
        What was minimized, and |w|.
    certificate : Certificate
    steps : int
    """

    minimum: Minimum
    objective: float
    norm: float
    certificate: Certificate
    steps: int


def regularized(problem: Problem, regularizer: Regularizer, lam: float) -> Found:
    """Minimize mean loss + lam R(|w|); the problem's tolerance is a share of the loss of w = 0."""
    none = np.zeros(len(problem.y))
    with np.errstate(over="ignore"):
        at_zero = problem.mean_loss(none)
    if not math.isfinite(at_zero):
        raise ValueError("the loss of the score 0 is not finite: divide the targets y by a number of their size")
    problem = replace(problem, tolerance=problem.tolerance * at_zero)
    unit = 1 / math.sqrt(problem.space.scale)
    penalty = Penalty(regularizer, lam, unit)
    if at_zero == 0:  # nothing to gain
        zero = Minimum(1.0, problem.space.origin(), none, none, 0.0, 0.0, 0.0, 0.0, 0)
        return Found(zero, penalty.value(0.0), 0.0, Certificate(DUALITY_GAP, 0.0, 0.0), 0)
    size = float(np.abs(problem.y).max()) or 1.0
    if isinstance(regularizer, SquaredNorm):
        mu = lam / problem.space.scale
        one = minimize(problem, max(mu, RANGE[1] * at_zero / size**2))
        name, distance, steps = DUALITY_GAP, one.gap if one.mu == mu else math.inf, one.steps
    else:
        finer = replace(problem, tolerance=FINER * problem.tolerance)
        search = Search(lambda mu, start: minimize(finer, mu, start), penalty, at_zero, size)
        one, name, distance = search.run()
        steps = search.steps
    objective = one.mean_loss + penalty.value(one.norm)
    if name == DUALITY_GAP:
        distance = min(distance, objective - penalty.value(0.0))  # no loss is negative
    asked = problem.tolerance if name == DUALITY_GAP else math.sqrt(problem.tolerance * at_zero)
    return Found(one, objective, unit * one.norm, Certificate(name, distance, asked), steps)


class Search:
    """The path of minima w(mu), looked at where it is needed.

    Parameters
    ----------
    solve : callable
        Gives the minimum for a multiplier, starting from another minimum or None.
    penalty : Penalty
    loss_of_zero : float
        The mean loss where w = 0.
    size : float
        A norm at which scores are as large as targets.
    """

    def __init__(
        self,
        solve: Callable[[float, Minimum | None], Minimum],
        penalty: Penalty,
        loss_of_zero: float,
        size: float,
    ) -> None:
        self.solve, self.penalty, self.loss_of_zero, self.size = solve, penalty, loss_of_zero, size
        self.seen: dict[float, Minimum] = {}

    def excess(self, log_mu: float) -> float:
        """Return the slope of the penalty minus that of the losses: positive where w is too long."""
        if log_mu not in self.seen:
            near = min(self.seen, key=lambda other: abs(other - log_mu), default=None)
            start = None if near is None else self.seen[near]
            self.seen[log_mu] = self.solve(math.exp(log_mu), start)
        here = self.seen[log_mu]
        return self.penalty.slope(here.norm) - here.pull

    @property
    def steps(self) -> int:
        """Steps of all minimizations together."""
        return sum(one.steps for one in self.seen.values())

    def run(self) -> tuple[Minimum, str, float]:
        """Return the best minimum on the path, or w = 0, what was measured, and how far it may be from the least."""
        convex = self.penalty.is_convex(self.loss_of_zero, self.size)
        typical = self.loss_of_zero / self.size**2
        heaviest, lightest = (math.log10(typical * factor) for factor in RANGE)
        marks = np.linspace(heaviest, lightest, MARKS if convex else 2 * MARKS - 1) * math.log(10)
        for heavy, light in pairwise(marks.tolist()):
            too_long = self.excess(heavy) > 0
            if convex and too_long:
                break  # even the shortest
            if self.excess(light) > 0 and not too_long:
                self._close_in(heavy, light)
                if convex:
                    break
            if self._no_longer(self.seen[light], LIGHT * typical):
                break
        best = min([self._zero(marks[0]), *self.seen.values()], key=self._objective)
        if convex:
            return best, DUALITY_GAP, self._bound(best)
        lack = abs(self.penalty.slope(best.norm) - best.pull)
        return best, STATIONARITY, best.norm * lack

    def _no_longer(self, one: Minimum, light: float) -> bool:
        """Tell that no longer w need be tried: the penalty alone is too large, or it is flat and w hardly moves."""
        slope, least = self.penalty.slope(one.norm), min(self._objective(other) for other in self.seen.values())
        return (slope > one.pull and self.penalty.value(one.norm) >= least) or (slope == 0 and one.mu < light)

    def _zero(self, heaviest: float) -> Minimum:
        """Return w = 0, with the slopes of the shortest w seen, which are nearly its own."""
        one = self.seen[heaviest]
        point, scores = np.zeros_like(one.point), np.zeros_like(one.scores)
        return replace(one, point=point, scores=scores, squared_norm=0.0, mean_loss=self.loss_of_zero)

    def _close_in(self, heavy: float, light: float) -> None:
        from scipy.optimize import brentq

        brentq(self.excess, heavy, light, xtol=CLOSE, rtol=4 * np.finfo(float).eps, maxiter=100, disp=False)

    def _objective(self, one: Minimum) -> float:
        return one.mean_loss + self.penalty.value(one.norm)

    def _bound(self, one: Minimum) -> float:
        """Return how far the objective may be from the minimum, for a convex R.

        Whatever w is, mean loss + pull |w| and penalty - pull |w| have each a least value, for any number `pull`.
        """
        pulls = one.pull, self.penalty.slope(one.norm)
        least = max(self._least_within(pull) - self.penalty.conjugate(pull, self.size) for pull in pulls)
        return max(0.0, self._objective(one) - least)

    def _least_within(self, pull: float) -> float:
        """Return what mean loss + pull |w| is at least.

        Minus the mean conjugate of slopes g is such a bound if their sum v_i g_i phi(x_i) is no longer than `pull`; so
        is a mean of several, for conjugates are convex; and 0 is that of g = 0, for no loss is negative.
        """
        known = [(0.0, 0.0), *((one.pull, -one.conjugate) for one in self.seen.values())]
        short = [(length, value) for length, value in known if length <= pull]
        long = [(length, value) for length, value in known if length > pull]
        mixed = [v + (pull - length) / (longer - length) * (w - v) for length, v in short for longer, w in long]
        return max([value for _, value in short] + mixed)
