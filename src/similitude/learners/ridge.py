"""KernelRidge and KernelRidgeClassifier: least squares with a penalty, every penalty from one eigendecomposition."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from similitude.compute import as_numpy
from similitude.compute.engines import Engine
from similitude.learners.gram_matrix import Objects
from similitude.learners.kernel_learner import KernelLearner
from similitude.learners.least_squares import Centered, Fit, Units, solve_all, solve_one
from similitude.scikit import all_or_nothing, check_labels, check_targets, check_weights, tensors_for_tensors
from similitude.support import brief
from similitude.validity import Validity

GRID = np.geomspace(1e-6, 1e4, 20)
"""What ``lam="auto"`` tries, in units of the mean eigenvalue."""


class LeastSquares(KernelLearner):
    """What regression and classification share: the penalties asked for, the problem posed and solved."""

    lam: Any
    fit_intercept: bool
    _takes_tensors = True

    def _fit_targets(self, X: Any, y: np.ndarray, weights: np.ndarray, sample_weight: Any) -> None:
        """Fit coefficients for each column of y, and keep the examples that have a weight."""
        asked, used = _asked(self.lam), np.flatnonzero(weights)
        if len(used) < 2 and not isinstance(asked, float):
            raise ValueError("leave-one-out needs two examples of positive weight, got n_samples = 1: give one lam")
        k, X, A = self._start(X, None, sample_weight)
        objects = Objects(k, X, A, used, self._engine)
        with self._engine.linear_algebra(f"ridge regression on {len(used):,} objects"):
            fit, lams, self.validity_ = self._solved(objects, y.reshape(len(y), -1)[used], weights[used], asked)
        coefficients = np.zeros((len(weights), fit.coefficients.shape[1]))
        coefficients[used] = fit.coefficients
        flat = y.ndim == 1
        self._keep(X, A, coefficients[:, 0] if flat else coefficients)
        self.intercept_ = float(fit.intercept[0]) if flat else fit.intercept
        self.lam_ = float(lams[fit.chosen])
        for name in {"lams_", "loo_errors_"} & set(vars(self)):
            delattr(self, name)
        if fit.loo_errors is not None:
            self.lams_, self.loo_errors_ = lams, fit.loo_errors[:, 0] if flat else fit.loo_errors

    def _solved(
        self, objects: Objects, Y: np.ndarray, weights: np.ndarray, asked: float | np.ndarray | None
    ) -> tuple[Fit, np.ndarray, Validity]:
        """Return the fit, the lams that were tried, and what is known of the kernel."""
        K, eps, validity = objects.gram()
        if isinstance(K, np.ndarray):
            self._note_cpu("the Gram matrix was factorized")
        units = Units.of(K, weights, Y)
        if units.kernel != 1.0:
            K /= units.kernel
        Y, weights = Y / units.target, weights / units.weight
        middle = Y[0] + np.average(Y - Y[0], axis=0, weights=weights) if self.fit_intercept else np.zeros(Y.shape[1])
        problem = Centered.of(K, Y - middle, weights, bool(self.fit_intercept))
        del K
        with np.errstate(over="ignore", under="ignore"):
            scale = units.kernel * units.weight
            lams = GRID * (problem.mean_eigenvalue() * scale) if asked is None else np.atleast_1d(asked)
            fit = solve_one(problem, float(units.lam(lams)[0])) if isinstance(asked, float) else None
            if fit is None:
                fit = solve_all(problem, units.lam(lams), eps, objects, choose=not isinstance(asked, float))
            return units.given(fit, middle), lams, validity


def _asked(lam: Any) -> float | np.ndarray | None:
    """Return lam as a number, as an array of candidates, or None for ``"auto"``."""
    if isinstance(lam, str) and lam == "auto":
        return None
    single = isinstance(lam, Real) and not isinstance(lam, (bool, np.bool_))
    several = isinstance(lam, (Sequence, np.ndarray)) and not isinstance(lam, str)
    if single or several:
        try:
            lams = np.array(lam, dtype=np.float64)
        except (TypeError, ValueError):
            lams = np.array(np.nan)
        if lams.ndim <= 1 and lams.size and np.isfinite(lams).all() and (lams >= 0).all():
            return lams if several else float(lams)
    raise ValueError(f"lam must be a number >= 0, a list of them, or 'auto', got {brief(lam)}")


class KernelRidge(RegressorMixin, LeastSquares):
    r"""Ridge regression on a kernel, with exact leave-one-out to choose its penalty.

    Minimizes :math:`\sum_i s_i (y_i - \langle w, \phi(x_i)\rangle - b)^2 + \lambda |w|^2` over w and an unpenalized
    b. Without b and with weights :math:`s_i = 1` the solution is :math:`f(x) = \sum_i a_i K(x, x_i)` with
    :math:`a = (K + \lambda I)^{-1} y`; for :math:`\lambda = 0` it is kernel linear regression, with the pseudo-inverse.
    (Balcan, lecture notes 10-315, on what can be kernelised.) Given several :math:`\lambda`, one eigendecomposition
    serves all of them, and the residual that an example has when it is left out comes from the same eigenvectors
    without another fit.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD is refused with its witness.
    lam : float, sequence of float, or "auto"
        The penalty. Of several the one with the smallest squared leave-one-out error is taken, summed over outputs;
        an example is left out with all of its weight. ``"auto"``: 20 values from 1e-6 to 1e4 times the mean
        eigenvalue of the (centered) Gram matrix. A single number needs a Cholesky factor only, and gives no
        leave-one-out errors; a list of one number does.
    fit_intercept : bool
        Learn b.
    engine : Engine, optional

    Attributes
    ----------
    lam_ : float
        The penalty in use.
    lams_, loo_errors_ : array
        The penalties tried and their mean squared leave-one-out errors (one column per output where y has columns).
        Only where `lam` is not a single number.
    support_, support_objects_, dual_coef_, intercept_
        The prediction is sum_j coefficients_j K(x, support_j) + intercept.
    kernel_, validity_
        With what data had to fix; what is known of the kernel.

    Examples
    --------
    >>> from similitude.learners.ridge import KernelRidge
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0]
    >>> KernelRidge("linear", lam=1.0, fit_intercept=False).fit(X, y).predict([[4.0]])
    array([2.93333333])
    >>> KernelRidge("linear", lam=[0.01, 1.0, 100.0]).fit(X, y).loo_errors_
    array([0.73068051, 0.41666667, 0.497531  ])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Learn from objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        sample_weight : sequence of float, optional
            What each squared error is multiplied by; a whole number equals repetition (for a given `lam`).
        """
        _asked(self.lam)
        X = self._checked(X, reset=True)
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, len(y))
        self._fit_targets(X, y, weights, sample_weight)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n,) or (n, outputs)
        """
        return self._weighted(X) + self.intercept_


class KernelRidgeClassifier(ClassifierMixin, LeastSquares):
    r"""Classification by ridge regression on the codes -1 and +1.

    Two classes: :class:`KernelRidge` on -1 for ``classes_[0]`` and +1 for ``classes_[1]``; a prediction of 0 or more is
    the second. Several: one column for each class, +1 for its own examples, and the largest prediction wins. There are
    no probabilities: squared errors know none.

    Parameters
    ----------
    kernel, lam, fit_intercept, engine
        See :class:`KernelRidge`.
    class_weight : dict or "balanced", optional
        Multiplies the weights of the examples of a class; balanced: each class weighs the same.

    Attributes
    ----------
    classes_ : array
    lam_, lams_, loo_errors_, support_, support_objects_, dual_coef_, intercept_, kernel_, validity_
        See :class:`KernelRidge`.

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.learners.ridge import KernelRidgeClassifier
    >>> X, y = iris()
    >>> KernelRidgeClassifier(lam="auto").fit(X, y).score(X, y) > 0.96
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Learn from labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            What each squared error is multiplied by; a whole number equals repetition (for a given `lam`).
        """
        _asked(self.lam)
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        weights = check_weights(sample_weight, len(numbers))
        weights = weights * self._class_weights(numbers, weights)[numbers]
        missing = np.bincount(numbers, weights > 0) == 0
        if missing.any():
            raise ValueError(
                f"class {self.classes_[missing].tolist()[0]!r} has examples of weight zero only: leave it out"
            )
        one_hot = numbers[:, None] == np.arange(len(self.classes_))
        codes = np.where(one_hot, 1.0, -1.0)
        self._fit_targets(X, codes[:, 1] if len(self.classes_) == 2 else codes, weights, sample_weight)
        return self

    def _class_weights(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each class; balanced: inversely proportional to the weight of its examples."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(numbers, weights)
            return np.divide(weights.sum(), len(totals) * totals, out=np.zeros(len(totals)), where=totals > 0)
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[numbers])

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the predicted code of every object: one number for two classes, one per class for several.

        Parameters
        ----------
        X : sequence of objects
        """
        return self._weighted(X) + self.intercept_

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every object.

        Parameters
        ----------
        X : sequence of objects
        """
        scores = as_numpy(self.decision_function(X))
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
