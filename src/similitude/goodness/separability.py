"""The margin of a kernel, on training examples and on held-out ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.compute import take
from similitude.goodness.margins import MarginCurve, error_at_margin
from similitude.goodness.sampling import SamplingPlan, Similarities
from similitude.learners import KernelSVC
from similitude.learners.svm import nearest_point, separates
from similitude.scikit import CHECKED_OBJECTS, proven
from similitude.similarity import Precomputed
from similitude.support import HELD_OUT, Estimate, NotAKernelError, Result
from similitude.theory import proportion
from similitude.validity import Validity, check_gram


@dataclass(frozen=True, eq=False)
class Separability(Result):
    """The margin in the feature space of a kernel, as a cosine, for separators through the origin.

    Attributes
    ----------
    value : float or None
        The largest margin on `n` examples. That of the distribution is not larger, and no sample bounds it from below.
    reason : str
        Why there is no margin, or empty.
    n : int
        The number of examples.
    support : array of int
        Positions in X of the support examples.
    error : Estimate or None
        The error on other examples of an SVM fitted to the same examples, with an exact interval; a score of 0 counts
        as an error.
    error_at_margin : MarginCurve or None
        How often it falls short of a margin: an upper bound for the best separator.
    validity : Validity
        The verdict on the kernel.
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
            text = f"{self.value:.4g} on {self.n} examples, with {len(self.support)} support examples"
        if self.error is not None and self.error_at_margin is not None:
            text += f"; error of an SVM on {self.error_at_margin.n} others: {self.error}"
        return text


def separability(found: Similarities, plan: SamplingPlan) -> Separability:
    """Return the largest margin on the examples for fitting, if the similarity is a kernel."""
    validity = _validity(found, plan)
    train = plan.fit
    if validity.verdict == "INVALID":
        return _none(f"the similarity is not a kernel: {validity.in_short()}", plan, validity)
    if len(plan.labels.classes_) != 2 or not len(train):
        return _none("margins need two classes" if len(train) else "there are too few examples", plan, validity)
    signs = 2.0 * plan.codes - 1.0
    K, zero = _normalized(found.K)
    try:
        separator = _chosen_svm(K, signs, plan)
    except NotAKernelError as error:
        return _none(f"the similarity is not a kernel: {error}", plan, validity)
    errors = _errors(separator, signs, plan)
    if zero[train].any():
        where = plan.used[train[zero[train]]][0]
        return _none(f"K(x, x) = 0 for example {where}, whose margin is never positive", plan, validity, *errors)
    point = nearest_point(K[np.ix_(train, train)] * signs[train, None] * signs[train], np.zeros(len(train)))
    precision = found.raw.dtype if found.raw.dtype.kind == "f" else np.dtype(np.float64)
    if not separates(point, float(np.finfo(precision).eps)):
        reason = f"no hyperplane through the origin separates the {len(train)} examples beyond rounding"
        return _none(reason, plan, validity, *errors)
    value = float(point.lows.sum()) / math.sqrt(point.square)
    return Separability(value, "", len(train), plan.used[np.sort(train[point.corners])], *errors, validity)


def _none(
    reason: str, plan: SamplingPlan, validity: Validity, error: Estimate | None = None, curve: MarginCurve | None = None
) -> Separability:
    return Separability(None, reason, len(plan.fit), plan.used[:0], error, curve, validity)


def _validity(found: Similarities, plan: SamplingPlan) -> Validity:
    """Return the verdict by proof, or from the Gram matrix of at most 500 examples."""
    validity = proven(found.similarity)
    if validity is not None:
        return validity
    n = len(plan.used)
    few = np.arange(n) if n <= CHECKED_OBJECTS else np.unique(np.linspace(0, n - 1, CHECKED_OBJECTS).astype(int))
    values = found.raw[np.ix_(few, few)]
    values = values if values.dtype.kind == "f" else values.astype(float)
    with np.errstate(over="ignore"):  # sums of values near the largest number
        return check_gram(found.similarity, values, take(found.objects, few), plan.used[few], len(plan.labels.codes))


def _normalized(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return K(x, z) / sqrt(K(x, x) K(z, z)), set to 0 where K(x, x) = 0, and where that is."""
    squares = np.maximum(K.diagonal(), 0.0)
    zero = squares == 0
    lengths = np.sqrt(np.where(zero, 1.0, squares))
    values = (K + K.T) / 2 / lengths[:, None] / lengths
    values[zero] = values[:, zero] = 0.0
    return values, zero


def _chosen_svm(K: np.ndarray, signs: np.ndarray, plan: SamplingPlan) -> KernelSVC:
    """Return the SVM, among several values of C, with the fewest errors on the examples for choosing."""
    kernel = Precomputed(K, claims=("SYMMETRIC", "PSD"))
    fitted = [KernelSVC(kernel, C=C, fit_intercept=False).fit(plan.fit, signs[plan.fit]) for C in (1.0, 10.0, 100.0)]
    return min(fitted, key=lambda one: int((signs[plan.choice] * one.normalized_margin(plan.choice) <= 0).sum()))


def _errors(separator: KernelSVC, signs: np.ndarray, plan: SamplingPlan) -> tuple[Estimate, MarginCurve]:
    """Return the error of a separator, and how often it falls short of a margin, on held-out examples."""
    reach = min(1.0, float((signs[plan.fit] * separator.normalized_margin(plan.fit)).max()))
    gammas = np.linspace(0.0, reach, 11) if reach > 0 else np.zeros(1)
    curve = error_at_margin(separator, plan.test, signs[plan.test], gammas)
    wrong = signs[plan.test] * separator.normalized_margin(plan.test) <= 0
    return proportion(int(wrong.sum()), len(plan.test), HELD_OUT), curve
