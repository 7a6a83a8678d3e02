"""Margins: the largest margin of a kernel on a sample, and the error of a model at a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import as_matrix, check_objects, take
from similitude.compute.engines import Engine
from similitude.goodness.sampling import SamplingPlan, Similarities
from similitude.learners import KernelSVC, row_norms
from similitude.learners.svm import LargestMargin, nearest_point, separates
from similitude.scikit import CHECKED_OBJECTS, proven, read_labels
from similitude.similarity import Precomputed
from similitude.support import HELD_OUT, Curve, Estimate, NotAKernelError, Result, brief, written
from similitude.theory import LEVEL, clopper_pearson, dkw_radius, proportion
from similitude.validity import Validity, check_gram

REACHED = 1e-10
"""A margin that misses gamma by a smaller relative difference counts as reaching it."""


@dataclass(frozen=True, eq=False)
class Margin(Result):
    """The largest margin of a sample in a kernel's feature space, and the separator that attains it.

    The separator is w = sum_j a_j phi(x_j) with ``|w| = 1``; the score of an object x is sum_j a_j K(x, x_j).

    Attributes
    ----------
    value : float
        The margin: with `normalized` the smallest ``y <w, phi(x)> / |phi(x)| + y b``, otherwise the smallest
        ``y (<w, phi(x)> + b)``. (b is 0 without a bias.)
    coefficients : array of shape (n,)
        The signed weights a, zero outside of the support.
    support : array of int
        Positions of the objects with a nonzero weight.
    gap : float
        Relative duality gap: no separator has a margin above value / (1 - gap).
    intercept : float
        The bias b.
    bias, normalized : bool
        The parameters of `margin`.
    classes_ : array of shape (2,)
        The labels; the second is the positive one.
    validity : Validity
        The verdict on the kernel.
    """

    value: float
    coefficients: np.ndarray
    support: np.ndarray
    gap: float
    intercept: float
    bias: bool
    normalized: bool
    classes_: np.ndarray
    validity: Validity
    _model: LargestMargin

    def normalized_margin(self, X: Any) -> np.ndarray:
        """Return ``<w, phi(x)> / (|w| |phi(x)|)`` for each object: positive for ``classes_[1]``.

        A bias b is the weight of an additional feature that is constantly 1. An object with phi(x) = 0 has the value 0.

        Parameters
        ----------
        X : sequence of objects
            Not for ``kernel="precomputed"``: rows K(new, train) do not contain the length of phi(x). Use
            ``margin(Precomputed(M), indices, y)`` instead.
        """
        return self._model.normalized_margin(X)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as dicts, lists, numbers and strings, without the kernel and its objects."""
        return {name: value for name, value in super().to_dict().items() if not name.startswith("_")}

    def __repr__(self) -> str:
        return f"Margin(value={self.value!r}, support={self.support.tolist()!r}, gap={self.gap!r})"

    def __str__(self) -> str:
        kind = "normalized" if self.normalized else "geometric"
        where = f"with intercept {self.intercept:.4g}" if self.bias else "through the origin"
        return (
            f"{kind} margin {self.value:.4g} {where} (relative gap {self.gap:.1g}): {self.classes_[1].item()!r} "
            f"against {self.classes_[0].item()!r}, {len(self.support)} support objects of {len(self.coefficients)}"
        )


def margin(
    kernel: Any, X: Any, y: Any, *, bias: bool = False, normalized: bool = True, engine: Engine | None = None
) -> Margin:
    r"""Return the largest margin of two classes in a kernel's feature space, and the separator that attains it.

    .. math:: \max_w\,\min_i\; \frac{y_i\,\langle w, \phi(x_i)\rangle}{\lVert w\rVert\,\lVert\phi(x_i)\rVert}

    (Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings", Definition 2.) The dual is solved
    exactly, up to the reported duality gap: w has the direction of the point nearest to the origin in the convex hull
    of the :math:`y_i \phi(x_i) / \lVert\phi(x_i)\rVert`. Time is cubic in the number of support objects, memory
    quadratic in the number of objects.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be positive semi-definite; otherwise an error with a witness is raised. ``"precomputed"``: X is the square
        matrix of K(x_i, x_j).
    X : sequence of objects
    y : sequence of labels
        Exactly two classes; the second in sorted order is the positive one.
    bias : bool
        True: the separator need not pass through the origin, and the margin is that of y_i (<w, phi> + b): half the
        distance between the two convex hulls (the hard-margin SVM).
    normalized : bool
        False: the geometric margin, without division by \|phi(x_i)\| (Balcan, lecture notes 10-315, section 1.1: the
        distance from the separating hyperplane).
    engine : Engine, optional

    Returns
    -------
    Margin

    Raises
    ------
    InseparableError
        If no separator has a margin above rounding (about 1e-7 of the lengths \|phi(x)\| in float64); its
        ``conflicts`` are a few examples that cannot be separated. An object with phi(x) = 0 has no positive margin.
    NotAKernelError
        With a witness, if the similarity is not a kernel.

    Examples
    --------
    >>> from similitude import margin
    >>> print(margin("linear", [[1.0], [3.0], [-2.0]], ["a", "a", "b"], bias=True, normalized=False))
    geometric margin 1.5 with intercept -0.5 (relative gap 0): 'b' against 'a', 2 support objects of 3
    """
    model = LargestMargin(kernel, bias=bias, normalized=normalized, engine=engine).fit(X, y)
    coefficients = np.zeros(len(y))
    coefficients[model.support_] = model.dual_coef_
    return Margin(
        value=model.value_,
        coefficients=coefficients,
        support=model.support_,
        gap=model.gap_,
        intercept=model.intercept_,
        bias=bias,
        normalized=normalized,
        classes_=model.classes_,
        validity=model.validity_,
        _model=model,
    )


@dataclass(frozen=True)
class MarginCurve(Curve):
    """How often a model falls short of each margin.

    Attributes
    ----------
    x : array
        Margins gamma.
    y : array
        The share of examples whose normalized margin is below gamma (strictly).
    low, high : array
        The exact binomial interval for a gamma that was fixed beforehand.
    level : float
    grade : str
    band_low, band_high : array
        The simultaneous band, valid also at a gamma chosen by looking at the curve.
    n : int
        The number of examples.
    """

    band_low: np.ndarray
    band_high: np.ndarray
    n: int

    def __str__(self) -> str:
        head = f"error at margin on {self.n} examples ({100 * self.level:g} %, {self.grade})"
        columns = (self.x, self.y, self.low, self.high, self.band_low, self.band_high)
        lines = [
            f"  below {x:8.4g}: {y:7.4g}  [{low:.4g}, {high:.4g}]  band [{down:.4g}, {up:.4g}]"
            for x, y, low, high, down, up in zip(*columns, strict=True)
        ]
        return "\n".join([head, *lines])


def error_at_margin(model: Any, X: Any, y: Any, gammas: Any = None) -> MarginCurve:
    r"""Return how often a fitted model's normalized margin falls short of gamma, on held-out examples.

    .. math:: \gamma \mapsto \Pr\Big[\frac{y\,\langle w, \phi(x)\rangle}{\lVert w\rVert\,\lVert\phi(x)\rVert}
              < \gamma\Big]

    (Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings", Definition 4: w has error alpha at
    margin gamma if this probability is at most alpha.) If w was chosen without these examples, the intervals (Clopper
    and Pearson, exact at each gamma) and the band (Dvoretzky, Kiefer, Wolfowitz and Massart, for all gammas at once)
    are rigorous, each at level 0.95. They are about this w; the best w of its kernel has a smaller error.

    Parameters
    ----------
    model : Margin, or a fitted classifier of two classes
        One of:

        - anything with ``classes_`` and a method ``normalized_margin(X)``, which returns for each object the score
          divided by the lengths of w and phi(x): a number in [-1, 1], positive for ``classes_[1]``, 0 where
          phi(x) = 0. The result of `margin` is one.
        - a linear classifier with ``coef_`` and ``intercept_``. Unless it was fitted with ``fit_intercept=False``
          the intercept is the weight of an additional feature that is constantly 1.
        - a scikit-learn ``Pipeline`` that ends in either; phi(x) is then the output of the steps before it.
    X : sequence of objects
        Held-out examples.
    y : sequence of labels
    gammas : sequence of numbers in [-1, 1], optional
        Default: 50 values from 0 to the largest margin. As these depend on the examples, only the band is valid there.

    Returns
    -------
    MarginCurve
        With grade HELD-OUT. An object with phi(x) = 0 counts as an error at every gamma > 0.

    Examples
    --------
    >>> from similitude import error_at_margin, margin
    >>> model = margin("linear", [[0.0, 1.0], [0.0, -1.0]], [True, False])
    >>> curve = error_at_margin(model, [[1.0, 2.0], [0.0, -3.0], [5.0, 1.0]], [True, False, True], gammas=[0.0, 0.5])
    >>> curve.y
    array([0.        , 0.33333333])
    """
    n = check_objects(X)
    labels = read_labels(y, n)
    at = np.atleast_1d(np.asarray([] if gammas is None else gammas, dtype=float))
    if gammas is not None and (at.ndim != 1 or not len(at) or not (np.abs(at) <= 1).all()):  # NaN is not <= 1
        raise ValueError(f"gammas are normalized margins, numbers from -1 to 1, got {brief(gammas)}")
    signed = _signs(labels, _classes(model)) * _normalized_margins(model, X, n)
    if gammas is None:
        at = _up_to(float(signed.max()), 50)
    below = np.searchsorted(np.sort(signed), at - REACHED * np.abs(at), side="left")
    low, high = clopper_pearson(below, n, LEVEL)
    radius = dkw_radius(n, LEVEL)
    share = below / n
    band = np.maximum(share - radius, 0.0), np.minimum(share + radius, 1.0)
    return MarginCurve(at, share, low, high, LEVEL, HELD_OUT, *band, n)


def _up_to(largest: float, number: int) -> np.ndarray:
    if largest <= 0:
        return np.zeros(1)
    return np.linspace(0.0, largest, number)


def _classes(model: Any) -> list[Any]:
    if hasattr(model, "fit"):
        check_is_fitted(model)
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(f"a fitted classifier with classes_ is needed, or what margin(...) returns, got {brief(model)}")
    if len(classes) != 2:
        raise ValueError(f"a margin is defined for two classes, the model knows {len(classes)}: {brief(classes)}")
    return np.asarray(classes).tolist()


def _signs(labels: np.ndarray, classes: list[Any]) -> np.ndarray:
    sign = {classes[0]: -1.0, classes[1]: 1.0}
    for i, label in enumerate(labels.tolist()):
        if label not in sign:
            known = " and ".join(map(written, classes))
            raise ValueError(f"the label of example {i} is {written(label)}, the model knows {known}")
    return np.array([sign[label] for label in labels.tolist()])


def _normalized_margins(model: Any, X: Any, n: int) -> np.ndarray:
    if hasattr(model, "normalized_margin"):
        values = np.asarray(model.normalized_margin(X), dtype=float)
    elif hasattr(model, "steps"):
        return _normalized_margins(model[-1], model[:-1].transform(X) if len(model.steps) > 1 else X, n)
    elif hasattr(model, "coef_"):
        values = _linear_margins(model, X)
    else:
        raise TypeError(
            f"the margin of {brief(model)} is unknown: a model needs a method normalized_margin(X), or coef_ and "
            f"intercept_, or to be a Pipeline that ends in one that has them"
        )
    if values.shape != (n,) or not np.isfinite(values).all():
        raise ValueError(f"{brief(model)} gave no finite margin for each of {n} objects: shape {values.shape}")
    return values


def _linear_margins(model: Any, X: Any) -> np.ndarray:
    features = as_matrix(X)
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    w = coef.ravel().astype(float)
    b = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    if features.shape[1] != len(w):
        raise ValueError(f"X has {features.shape[1]} features, the model was fitted on {len(w)}")
    constant = float(getattr(model, "fit_intercept", b != 0))
    scores = features @ w + b
    sizes = np.hypot(row_norms(features), constant) * np.hypot(np.linalg.norm(w), b)
    return np.clip(np.divide(scores, sizes, out=np.zeros(len(scores)), where=sizes > 0), -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Separability(Result):
    """The margin in the feature space of a kernel, as a cosine, for separators through the origin.

    That of the distribution is not larger, and no sample bounds it from below.
    """

    value: float | None  # the largest margin on n examples
    reason: str  # why there is no margin, or empty
    n: int
    support: np.ndarray  # positions in X of the support examples
    error: Estimate | None  # of an SVM fitted to the same examples, on others; a score of 0 counts as an error
    error_at_margin: MarginCurve | None  # how often it falls short: an upper bound for the best separator
    validity: Validity  # the verdict on the kernel

    def __str__(self) -> str:
        text = f"no margin: {self.reason}"
        if self.value is not None:
            text = f"{self.value:.4g} on {self.n} examples, with {len(self.support)} support examples"
        if self.error is not None and self.error_at_margin is not None:
            text += f"; error of an SVM on {self.error_at_margin.n} others: {self.error}"
        return text


def separability(found: Similarities, plan: SamplingPlan) -> Separability:
    """Return the largest margin on the examples for fitting, if the similarity is a kernel."""
    validity = _validity(found, plan)
    train = plan.fit
    none = Separability(None, "", len(train), plan.used[:0], None, None, validity)
    if validity.verdict == "INVALID":
        return replace(none, reason=f"the similarity is not a kernel: {validity.in_short()}")
    if not len(train):
        return replace(none, reason="there are too few examples")
    if len(plan.labels.classes_) != 2:
        return replace(none, reason="margins need two classes")
    signs = 2.0 * plan.codes - 1.0
    zero = found.K.diagonal() <= 0
    lengths = np.sqrt(np.where(zero, 1.0, found.K.diagonal()))
    K = (found.K + found.K.T) / 2 / lengths[:, None] / lengths
    K[zero] = 0.0
    K[:, zero] = 0.0
    kernel = Precomputed(K, claims=("SYMMETRIC", "PSD"))
    try:
        fitted = [KernelSVC(kernel, C=C, fit_intercept=False).fit(train, signs[train]) for C in (1.0, 10.0, 100.0)]
    except NotAKernelError as error:
        return replace(none, reason=f"the similarity is not a kernel: {error}")
    # the one with the fewest errors on the examples for choosing
    svm = min(fitted, key=lambda one: int((signs[plan.choice] * one.normalized_margin(plan.choice) <= 0).sum()))
    reach = min(1.0, float((signs[train] * svm.normalized_margin(train)).max()))
    wrong = signs[plan.test] * svm.normalized_margin(plan.test) <= 0
    tested = replace(
        none,
        error=proportion(int(wrong.sum()), len(plan.test), HELD_OUT),
        error_at_margin=error_at_margin(svm, plan.test, signs[plan.test], _up_to(reach, 11)),
    )
    if zero[train].any():
        where = plan.used[train[zero[train]]][0]
        return replace(tested, reason=f"K(x, x) = 0 for example {where}, whose margin is never positive")
    point = nearest_point(K[np.ix_(train, train)] * signs[train, None] * signs[train], np.zeros(len(train)))
    if not separates(point, float(np.finfo(_floats(found.raw).dtype).eps)):
        reason = f"no hyperplane through the origin separates the {len(train)} examples beyond rounding"
        return replace(tested, reason=reason)
    value = float(point.lows.sum()) / math.sqrt(point.square)
    return replace(tested, value=value, support=plan.used[np.sort(train[point.corners])])


def _floats(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind == "f" else values.astype(float)


def _validity(found: Similarities, plan: SamplingPlan) -> Validity:
    """Return the verdict by proof, or from the Gram matrix of at most 500 examples."""
    validity = proven(found.similarity)
    if validity is not None:
        return validity
    n = len(plan.used)
    few = np.unique(np.linspace(0, n - 1, min(n, CHECKED_OBJECTS)).astype(int))
    values = _floats(found.raw[np.ix_(few, few)])
    with np.errstate(over="ignore"):  # sums of values near the largest number
        return check_gram(found.similarity, values, take(found.objects, few), plan.used[few], len(plan.labels.codes))
