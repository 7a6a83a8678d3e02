"""The margin that a kernel allows: on examples learned from, and on others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.compute.encodings import take
from similitude.goodness.certificates import share
from similitude.goodness.margins import MarginCurve, error_at_margin
from similitude.goodness.samples import Plan, Similarities
from similitude.learners import KernelSVC
from similitude.learners.svm import nearest_point, separates
from similitude.scikit import CHECKED_OBJECTS
from similitude.similarity import Precomputed
from similitude.support.errors import NotAKernelError
from similitude.support.results import Estimate, Result
from similitude.validity import Validity, check_gram

COSTS = (1.0, 10.0, 100.0)
"""Costs of a violated margin among which the soft machine is chosen."""

POINTS = 11
"""Margins at which the error of the soft machine is looked at."""


@dataclass(frozen=True, eq=False)
class Separability(Result):
    """The margin in the feature space of a kernel, through the origin and as a cosine.

    Attributes
    ----------
    value : float or None
        The largest margin by which the classes can be separated on `n` examples. It is a figure of these: that of the
        distribution is no larger, and no sample bounds it from below.
    reason : str
        Why there is none, or empty.
    n : int
        The number of examples.
    support : array of int
        Positions in X of the examples that hold it.
    error : Estimate or None
        How often a support vector machine, learned from the same examples, puts others not on their side (on none
        counts as wrong), with an exact interval.
    error_at_margin : MarginCurve or None
        How often it falls short of a margin. What is exact for this machine is an upper bound for the best separator.
    validity : Validity
        What is known of the kernel.
    """

    value: float | None
    reason: str
    n: int
    support: np.ndarray
    error: Estimate | None
    error_at_margin: MarginCurve | None
    validity: Validity

    def __str__(self) -> str:
        if self.value is None:
            text = f"no margin: {self.reason}"
        else:
            text = f"{self.value:.4g} on {self.n} examples, held by {len(self.support)} of them"
        if self.error is not None and self.error_at_margin is not None:
            text += f"; a support vector machine errs on {self.error_at_margin.n} others: {self.error}"
        return text


def separability(found: Similarities, plan: Plan) -> Separability:
    """Return the largest margin on the examples that weights are fitted on, if the similarity is a kernel."""
    validity, train = _validity(found, plan), plan.fit
    if validity.verdict == "INVALID":
        return _none(f"the similarity is not a kernel: {validity.in_short()}", plan, validity)
    if len(plan.labels.classes_) != 2 or not len(train):
        return _none("margins are of two classes" if len(train) else "there are too few examples", plan, validity)
    signs = 2.0 * plan.codes - 1.0
    K, zero = _normalized(found.K)
    try:
        machine = _machine(K, signs, plan)
    except NotAKernelError as error:
        return _none(f"the similarity is not a kernel: {error}", plan, validity)
    errors = _errors(machine, signs, plan)
    if zero[train].any():
        where = plan.used[train[zero[train]]][0]
        return _none(f"K(x, x) = 0 for example {where}, and no margin of it is positive", plan, validity, *errors)
    place = nearest_point(K[np.ix_(train, train)] * signs[train, None] * signs[train], np.zeros(len(train)))
    precision = found.raw.dtype if found.raw.dtype.kind == "f" else np.dtype(np.float64)
    if not separates(place, float(np.finfo(precision).eps)):
        reason = f"no hyperplane through the origin separates the {len(train)} examples beyond rounding"
        return _none(reason, plan, validity, *errors)
    value = float(place.lows.sum()) / math.sqrt(place.square)
    return Separability(value, "", len(train), plan.used[np.sort(train[place.corners])], *errors, validity)


def _none(
    reason: str, plan: Plan, validity: Validity, error: Estimate | None = None, curve: MarginCurve | None = None
) -> Separability:
    return Separability(None, reason, len(plan.fit), plan.used[:0], error, curve, validity)


def _validity(found: Similarities, plan: Plan) -> Validity:
    """Return the proof, or what the Gram matrix of 500 examples at most shows."""
    proof = found.similarity.proof()
    if proof.holds:
        return Validity("VALID", proof, effort="the algebra of kernels, no data needed")
    n = len(plan.used)
    few = np.arange(n) if n <= CHECKED_OBJECTS else np.unique(np.linspace(0, n - 1, CHECKED_OBJECTS).astype(int))
    values = found.raw[np.ix_(few, few)]
    values = values if values.dtype.kind == "f" else values.astype(float)
    with np.errstate(over="ignore"):  # sums of values near the largest number
        return check_gram(found.similarity, values, take(found.objects, few), plan.used[few], len(plan.labels.codes))


def _normalized(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return K(x, z) / sqrt(K(x, x) K(z, z)), and where K(x, x) is 0, which makes it 0."""
    squares = np.maximum(K.diagonal(), 0.0)
    zero = squares == 0
    lengths = np.sqrt(np.where(zero, 1.0, squares))
    values = (K + K.T) / 2 / lengths[:, None] / lengths
    values[zero] = values[:, zero] = 0.0
    return values, zero


@dataclass(frozen=True)
class Machine:
    """A separator w = sum_j a_j phi(x_j) of examples whose similarities are all known, with K(x, x) = 1.

    Attributes
    ----------
    K : array of shape (n, n)
    coefficients : array of shape (n,)
        The weights a.
    classes_ : tuple
    """

    K: np.ndarray
    coefficients: np.ndarray
    classes_: tuple[float, float] = (-1.0, 1.0)

    def normalized_margin(self, which: np.ndarray) -> np.ndarray:
        """Return <w, phi(x)> / |w| of some of the examples; 0 where w has no length."""
        square = float(self.coefficients @ self.K @ self.coefficients)
        if square <= 1e-12 * float(np.abs(self.coefficients).sum()) ** 2:
            return np.zeros(len(which))
        return np.clip(self.K[which] @ self.coefficients / math.sqrt(square), -1.0, 1.0)


def _machine(K: np.ndarray, signs: np.ndarray, plan: Plan) -> Machine:
    """Return the support vector machine, of a few costs, that errs least on the examples for choosing."""
    kernel, found = Precomputed(K, claims=("SYMMETRIC", "PSD")), []
    for C in COSTS:
        model = KernelSVC(kernel, C=C, fit_intercept=False).fit(plan.fit, signs[plan.fit])
        coefficients = np.zeros(len(K))
        coefficients[plan.fit[model.support_]] = model.dual_coef_
        found.append(Machine(K, coefficients))
    return min(found, key=lambda one: int((signs[plan.choice] * one.normalized_margin(plan.choice) <= 0).sum()))


def _errors(machine: Machine, signs: np.ndarray, plan: Plan) -> tuple[Estimate, MarginCurve]:
    """Return how often a machine errs, and falls short of a margin, on examples that played no part."""
    reach = float((signs[plan.fit] * machine.normalized_margin(plan.fit)).max())
    gammas = np.linspace(0.0, reach, POINTS) if reach > 0 else np.zeros(1)
    curve = error_at_margin(machine, plan.test, signs[plan.test], gammas)
    wrong = signs[plan.test] * machine.normalized_margin(plan.test) <= 0
    return share(int(wrong.sum()), len(plan.test)), curve
