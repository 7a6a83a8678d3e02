r"""Regularizers: non-decreasing functions R of the norm, and the minimization of mean loss + lam R(|w|).

For any non-decreasing R a minimizer also minimizes mean loss + mu |w|^2 for some mu: it has the smallest loss among all
w that are no longer. So the path of minimizers w(mu) is searched for :math:`\lambda R'(|w|) = 2 \mu |w|`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.learners.representer.minimization import Minimizer, Risk, minimize
from similitude.linear import as_instance, named_function
from similitude.similarity import Parametric
from similitude.support import Result, brief

FINER = 0.1
"""Minimizers on the path are computed to this fraction of the tolerance, so that the search can tell them apart."""

RANGE, MARKS = (1e9, 1e-14), 24
"""The largest and smallest multiplier that is tried, relative to the one that balances |w|^2 and the losses; and the
number of points between them at which a sign change is sought, twice as many if the regularizer is not convex."""

LIGHT = 1e-9
"""The smallest such multiplier for a penalty that is flat at the current w, where the sign will not change."""

PROBED, LONGEST_NORM, SLOPE_HALVINGS = 200, 2.0**60, 200
"""Norms at which the slope of a user's regularizer is evaluated; their largest ratio to the size of the problem; and
the number of bisections in the search for a slope."""

CLOSE = 1e-12
"""Relative width of the final bracket of the multiplier."""

DUALITY_GAP = "duality gap"
STATIONARITY = "stationarity"


class Regularizer(Parametric):
    """A non-decreasing function of the norm. A subclass implements `value` and `derivative` of a number.

    Attributes
    ----------
    convex : bool or None
        Whether it is convex; None if unknown.
    """

    convex: bool | None = None

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
    """A user's non-decreasing function of the norm.

    Parameters
    ----------
    given : object or pair of functions
        An object with ``value(norm)`` and ``derivative(norm)``, or these two functions of a number.
    """

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
    """Return the regularizer for a name, a Regularizer, or a user's functions.

    >>> as_regularizer("norm").derivative(3.0)
    1.0
    """
    made: Regularizer = as_instance("regularizer", given, REGULARIZERS, Regularizer, OwnRegularizer)
    return made


@dataclass(frozen=True)
class Optimality(Result):
    """How far a solution may be from the minimum.

    Attributes
    ----------
    name : str
        What was measured. ``"duality gap"`` bounds the objective minus its minimum; ``"stationarity"``, |w| times the
        norm of the gradient, does not, and is used if a user's regularizer is not convex.
    value : float
    tolerance : float
        The largest acceptable value.

    Examples
    --------
    >>> print(Optimality("duality gap", 2e-12, 1e-8))
    duality gap 2e-12, within the tolerance of 1e-08
    """

    name: str
    value: float
    tolerance: float

    @property
    def met(self) -> bool:
        """Whether the value is within the tolerance."""
        return self.value <= self.tolerance

    def __str__(self) -> str:
        verdict = "within" if self.met else "above"
        return f"{self.name} {self.value:.3g}, {verdict} the tolerance of {self.tolerance:.3g}"

    def warn_if_missed(self) -> None:
        """Warn if the value is above the tolerance."""
        if not self.met:
            advice = "raise max_iter, lam or tol"
            warnings.warn(f"the minimum was not reached: {self}; {advice}", ConvergenceWarning, stacklevel=5)


class RegularizedMinimum(NamedTuple):
    """A minimizer of mean loss + lam R(|w|): the objective, |w|, how optimal it is, and the number of steps."""

    minimizer: Minimizer
    objective: float
    norm: float
    optimality: Optimality
    steps: int


def minimize_regularized(risk: Risk, regularizer: Regularizer, lam: float) -> RegularizedMinimum:
    """Minimize mean loss + lam R(|w|); the tolerance of the risk is relative to the loss at w = 0."""
    none = np.zeros(len(risk.y))
    with np.errstate(over="ignore"):
        at_zero = risk.mean(none)
    if not math.isfinite(at_zero):
        raise ValueError("the loss of the score 0 is not finite: divide the targets y by a number of their size")
    risk = replace(risk, tolerance=risk.tolerance * at_zero)
    unit = 1 / math.sqrt(risk.span.scale)
    penalty = ScaledRegularizer(regularizer, lam, unit)
    if at_zero == 0:  # w = 0 is a minimizer
        zero = Minimizer(1.0, risk.span.origin(), none, none, 0.0, 0.0, 0.0, 0.0, 0)
        return RegularizedMinimum(zero, penalty.value(0.0), 0.0, Optimality(DUALITY_GAP, 0.0, 0.0), 0)
    size = float(np.abs(risk.y).max()) or 1.0
    if isinstance(regularizer, SquaredNorm):
        mu = lam / risk.span.scale
        one = minimize(risk, max(mu, RANGE[1] * at_zero / size**2))
        name, distance, steps = DUALITY_GAP, one.gap if one.mu == mu else math.inf, one.steps
    else:
        search = PathSearch(replace(risk, tolerance=FINER * risk.tolerance), penalty, at_zero, size)
        one, name, distance = search.run()
        steps = sum(seen.steps for seen in search.seen.values())
    objective = one.mean_loss + penalty.value(one.norm)
    if name == DUALITY_GAP:
        distance = min(distance, objective - penalty.value(0.0))  # no loss is negative
    tolerance = risk.tolerance if name == DUALITY_GAP else math.sqrt(risk.tolerance * at_zero)
    return RegularizedMinimum(one, objective, unit * one.norm, Optimality(name, distance, tolerance), steps)


@dataclass(frozen=True)
class ScaledRegularizer:
    """lam R(|w|), where |w| is `unit` times a norm in the scaled span."""

    regularizer: Regularizer
    lam: float
    unit: float

    def value(self, norm: float) -> float:
        """Return lam R."""
        return self.lam * self.regularizer.value(self.unit * norm)

    def slope(self, norm: float) -> float:
        """Return the derivative in the norm."""
        return self.lam * self.unit * self.regularizer.derivative(self.unit * norm)

    def is_convex(self, worth: float, size: float) -> bool:
        """Tell whether R is convex; for a user's, whether its slope is non-decreasing as far as the penalty matters."""
        if self.regularizer.convex is not None:
            return self.regularizer.convex
        longest = size
        while self.value(longest) - self.value(0.0) < worth and longest < LONGEST_NORM * size:
            longest *= 2
        slopes = [self.slope(norm) for norm in np.geomspace(longest / LONGEST_NORM, longest, PROBED)]
        return all(after >= before * (1 - 1e-9) for before, after in pairwise(slopes))

    def conjugate(self, pull: float, size: float) -> float:
        """Return the maximum over t of pull t - penalty(t), for a convex R; infinity if it is unbounded.

        It is attained where the slope of the penalty passes `pull`, which bisection brackets.
        """
        if self.slope(0.0) >= pull:
            return -self.value(0.0)
        low, high = 0.0, size
        while self.slope(high) < pull:
            low, high = high, 2 * high
            if high > LONGEST_NORM**2 * size:
                return math.inf
        for _ in range(SLOPE_HALVINGS):
            middle = low + (high - low) / 2
            low, high = (middle, high) if self.slope(middle) < pull else (low, middle)
        return pull * high - self.value(low)


class PathSearch:
    """A search along the path of minimizers w(mu).

    `at_zero` is the mean loss at w = 0, `size` a norm at which scores are as large as targets.
    """

    def __init__(self, risk: Risk, penalty: ScaledRegularizer, at_zero: float, size: float) -> None:
        self.risk, self.penalty, self.at_zero, self.size = risk, penalty, at_zero, size
        self.seen: dict[float, Minimizer] = {}

    def excess(self, log_mu: float) -> float:
        """Return the slope of the penalty minus that of the losses: positive if w is too long."""
        if log_mu not in self.seen:
            near = min(self.seen, key=lambda other: abs(other - log_mu), default=None)
            self.seen[log_mu] = minimize(self.risk, math.exp(log_mu), None if near is None else self.seen[near])
        here = self.seen[log_mu]
        return self.penalty.slope(here.norm) - here.pull

    def run(self) -> tuple[Minimizer, str, float]:
        """Return the best minimizer on the path, or w = 0; what was measured; and how far the minimum may be."""
        from scipy.optimize import brentq

        convex = self.penalty.is_convex(self.at_zero, self.size)
        typical = self.at_zero / self.size**2
        heaviest, lightest = (math.log10(typical * factor) for factor in RANGE)
        marks = np.linspace(heaviest, lightest, MARKS if convex else 2 * MARKS - 1) * math.log(10)
        for heavy, light in pairwise(marks.tolist()):
            too_long = self.excess(heavy) > 0
            if convex and too_long:
                break  # even the shortest
            if self.excess(light) > 0 and not too_long:
                brentq(self.excess, heavy, light, xtol=CLOSE, rtol=4 * np.finfo(float).eps, maxiter=100, disp=False)
                if convex:
                    break
            if self._long_enough(self.seen[light], LIGHT * typical):
                break
        best = min([self._zero(marks[0]), *self.seen.values()], key=self._objective)
        if convex:
            return best, DUALITY_GAP, self._gap(best)
        return best, STATIONARITY, best.norm * abs(self.penalty.slope(best.norm) - best.pull)

    def _long_enough(self, one: Minimizer, light: float) -> bool:
        """Tell whether longer w need not be tried: the penalty alone is too large, or it is flat and w hardly moves."""
        slope, least = self.penalty.slope(one.norm), min(self._objective(other) for other in self.seen.values())
        return (slope > one.pull and self.penalty.value(one.norm) >= least) or (slope == 0 and one.mu < light)

    def _zero(self, heaviest: float) -> Minimizer:
        """Return w = 0, with the slopes of the shortest w seen, which are nearly its own."""
        one = self.seen[heaviest]
        point, scores = np.zeros_like(one.point), np.zeros_like(one.scores)
        return replace(one, point=point, scores=scores, squared_norm=0.0, mean_loss=self.at_zero)

    def _objective(self, one: Minimizer) -> float:
        return one.mean_loss + self.penalty.value(one.norm)

    def _gap(self, one: Minimizer) -> float:
        """Return a bound on the objective minus its minimum, for a convex R.

        For any number `pull`, mean loss + pull |w| and penalty - pull |w| each have a lower bound.
        """
        pulls = one.pull, self.penalty.slope(one.norm)
        least = max(self._lower_bound(pull) - self.penalty.conjugate(pull, self.size) for pull in pulls)
        return max(0.0, self._objective(one) - least)

    def _lower_bound(self, pull: float) -> float:
        """Return a lower bound of mean loss + pull |w|.

        Minus the mean conjugate of slopes g is one if their sum v_i g_i phi(x_i) is no longer than `pull`. So is an
        average of several, since conjugates are convex; and 0, that of g = 0, since no loss is negative.
        """
        known = [(0.0, 0.0), *((one.pull, -one.conjugate) for one in self.seen.values())]
        short = [(length, value) for length, value in known if length <= pull]
        long = [(length, value) for length, value in known if length > pull]
        mixed = [v + (pull - length) / (longer - length) * (w - v) for length, v in short for longer, w in long]
        return max([value for _, value in short] + mixed)
