r"""Regularizers: non-decreasing functions R of the norm, and the minimization of mean loss + lam R(|w|).

For any non-decreasing R a minimizer also minimizes mean loss + mu |w|^2 for some mu: it has the smallest loss among all
w that are no longer. So the path of minimizers w(mu) is searched for :math:`\lambda R'(|w|) = 2 \mu |w|`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.learners.limits import DOUBLE_EPS, LONGEST_NORM
from similitude.learners.representer.minimization import Minimizer, Risk, minimize
from similitude.linear import as_instance, named_function
from similitude.similarity import Parametric
from similitude.support import Result, brief


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


def minimize_regularized(risk: Risk, regularizer: Regularizer, lam: float) -> PathSearch:
    """Minimize mean loss + lam R(|w|); the tolerance of the risk is relative to the loss at w = 0."""
    with np.errstate(over="ignore"):
        at_zero = risk.mean(np.zeros(len(risk.y)))
    if not math.isfinite(at_zero):
        raise ValueError("the loss of the score 0 is not finite: divide the targets y by a number of their size")
    search = PathSearch(replace(risk, tolerance=risk.tolerance * at_zero), regularizer, lam, at_zero)
    search.run()
    return search


class PathSearch:
    """A search along the path of minimizers w(mu), and what it found.

    Norms inside are those of the scaled span, `unit` times which are norms in the kernel's. `at_zero` is the mean loss
    at w = 0, `size` a norm at which scores are as large as targets.
    """

    minimizer: Minimizer
    optimality: Optimality

    def __init__(self, risk: Risk, regularizer: Regularizer, lam: float, at_zero: float) -> None:
        self.risk = risk
        self.regularizer = regularizer
        self.lam = lam
        self.unit = 1 / math.sqrt(risk.span.scale)
        self.at_zero = at_zero
        self.size = float(np.abs(risk.y).max()) or 1.0
        self.steps = 0
        self.seen: dict[float, Minimizer] = {}

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty of the minimizer."""
        return self._objective(self.minimizer)

    @property
    def norm(self) -> float:
        """|w| of the minimizer."""
        return self.unit * self.minimizer.norm

    def run(self) -> None:
        """Set the minimizer and how far the objective may be from its minimum."""
        tolerance = self.risk.tolerance
        if self.at_zero == 0:  # w = 0 is a minimizer
            none = np.zeros(len(self.risk.y))
            self.minimizer = Minimizer(1.0, self.risk.span.origin(), none, none, 0.0, 0.0, 0.0, 0.0, 0)
            self.optimality = Optimality("duality gap", 0.0, 0.0)
            return
        typical = self.at_zero / self.size**2  # the multiplier that balances |w|^2 and the losses
        if isinstance(self.regularizer, SquaredNorm):
            mu = self.lam / self.risk.span.scale
            self.minimizer = minimize(self.risk, max(mu, 1e-14 * typical))
            self.steps = self.minimizer.steps
            distance = math.inf
            if self.minimizer.mu == mu:
                distance = self.minimizer.gap
        else:
            self.risk = replace(self.risk, tolerance=0.1 * tolerance)  # so that the search can tell minimizers apart
            convex = self._is_convex()
            self.minimizer = self._along_path(typical, convex)
            self.steps = sum(seen.steps for seen in self.seen.values())
            if not convex:
                here = self.minimizer
                stationarity = here.norm * abs(self._slope(here.norm) - here.pull)
                self.optimality = Optimality("stationarity", stationarity, math.sqrt(tolerance * self.at_zero))
                return
            distance = self._gap(self.minimizer)
        distance = min(distance, self.objective - self._penalty(0.0))  # no loss is negative
        self.optimality = Optimality("duality gap", distance, tolerance)

    def _along_path(self, typical: float, convex: bool) -> Minimizer:
        from scipy.optimize import brentq

        marks = np.linspace(math.log10(1e9 * typical), math.log10(1e-14 * typical), 24 if convex else 47) * math.log(10)
        for heavy, light in pairwise(marks.tolist()):
            too_long = self._excess(heavy) > 0
            if convex and too_long:
                break  # even the shortest
            if self._excess(light) > 0 and not too_long:
                brentq(self._excess, heavy, light, xtol=1e-12, rtol=4 * DOUBLE_EPS, maxiter=100, disp=False)
                if convex:
                    break
            if self._long_enough(self.seen[light], 1e-9 * typical):
                break
        one = self.seen[marks[0]]  # its slopes are nearly those of w = 0
        zero = replace(
            one,
            point=np.zeros_like(one.point),
            scores=np.zeros_like(one.scores),
            squared_norm=0.0,
            mean_loss=self.at_zero,
        )
        return min([zero, *self.seen.values()], key=self._objective)

    def _excess(self, log_mu: float) -> float:
        """Return the slope of the penalty minus that of the losses: positive if w is too long."""
        if log_mu not in self.seen:
            near = min(self.seen, key=lambda other: abs(other - log_mu), default=log_mu)
            self.seen[log_mu] = minimize(self.risk, math.exp(log_mu), self.seen.get(near))
        here = self.seen[log_mu]
        return self._slope(here.norm) - here.pull

    def _long_enough(self, one: Minimizer, light: float) -> bool:
        """Whether longer w need not be tried: the penalty alone is too large, or it is flat and w hardly moves."""
        slope = self._slope(one.norm)
        least = min(self._objective(other) for other in self.seen.values())
        return (slope > one.pull and self._penalty(one.norm) >= least) or (slope == 0 and one.mu < light)

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
        """Return a bound on the objective minus its minimum, for a convex R: both are bounded at a pull."""
        pulls = one.pull, self._slope(one.norm)
        least = max(self._lower_bound(pull) - self._conjugate(pull) for pull in pulls)
        return max(0.0, self._objective(one) - least)

    def _lower_bound(self, pull: float) -> float:
        """Return a lower bound of mean loss + pull |w|: minus mean conjugates of slopes with a short enough sum."""
        known = [(0.0, 0.0), *((one.pull, -one.conjugate) for one in self.seen.values())]
        short = [(length, value) for length, value in known if length <= pull]
        long = [(length, value) for length, value in known if length > pull]
        mixed = [v + (pull - length) / (longer - length) * (w - v) for length, v in short for longer, w in long]
        return max([value for _, value in short] + mixed)
