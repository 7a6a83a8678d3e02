"""KernelRidge and KernelRidgeClassifier: least squares with a penalty, every penalty from one eigendecomposition."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from similitude.compute import as_numpy, check_objects
from similitude.compute.engines import Engine
from similitude.fitting import Plan, PlanStep, Spent, objects_in_words, plan_gram
from similitude.learners.kernel_learner import KernelLearner, Objects, without_single_column
from similitude.linear import GRAM_PENALTIES, Gram
from similitude.scikit import (
    ScoreClassifier,
    all_or_nothing,
    check_class_weights,
    check_targets,
    check_weights,
    class_weights,
    tensors_for_tensors,
)
from similitude.similarity import Precomputed, as_similarity
from similitude.support import check_flag, check_nonnegative, number_of


class LeastSquares(KernelLearner):
    """What regression and classification share: the penalties to try, the fit and the scores."""

    lam: Any
    fit_intercept: bool
    _takes_tensors = True

    def _lams(self) -> float | np.ndarray | None:
        """Return lam as a number, as an array of candidates, or None for ``"auto"``."""
        lam = self.lam
        if isinstance(lam, str) and lam == "auto":
            return None
        several = isinstance(lam, Sequence) or (isinstance(lam, np.ndarray) and lam.ndim > 0)
        if several and not isinstance(lam, str) and len(lam):
            return np.array([check_nonnegative("each lam", one) for one in lam])
        return check_nonnegative("lam", lam, otherwise="a list of them or 'auto'")

    def plan(self, X: Any, y: Any, sample_weight: Any = None) -> Plan:
        """Return how a fit to these objects is made and what it costs, without fitting.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        """
        model = copy.copy(self)
        X = model._checked(X, reset=True)
        return model._planned(X, y, check_weights(sample_weight, check_objects(X)))

    def _planned(self, X: Any, y: Any, weights: np.ndarray) -> Plan:
        kind = self._kind()
        lams = self._lams()
        n_lams = None
        if lams is None:
            n_lams = GRAM_PENALTIES
        elif not isinstance(lams, float):
            n_lams = len(lams)
        if self._is_automatic:
            from similitude.kernels import default_similarity  # loads all kernels

            k = default_similarity(X, kind)
        elif self._precomputed:
            k = Precomputed(X)
        else:
            k = as_similarity(self.kernel)
        objects = objects_in_words(X, kind)
        return plan_gram(k, objects, int(np.count_nonzero(weights)), self._targets_in_words(y), n_lams, self._engine)

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray, sample_weight: Any, plan: Plan) -> None:
        """Fit coefficients for y, or for each of its columns, and keep the examples that have a weight."""
        began = time.perf_counter()
        lams = self._lams()
        used = np.flatnonzero(weights)
        if len(used) < 2 and not isinstance(lams, float):
            raise ValueError("leave-one-out needs two examples of positive weight, got n_samples = 1: give one lam")
        with_intercept = check_flag("fit_intercept", self.fit_intercept)
        k, X, A = self._start(X, None, sample_weight)
        objects = Objects(k, X, A, used, self._engine)
        Y = y.reshape(len(y), -1)
        with self._engine.linear_algebra(f"ridge regression on {len(used):,} objects"):
            gram, eps, self.validity_ = objects.gram()
            if isinstance(gram, np.ndarray):
                self._note_cpu("the Gram matrix was factorized")
            ridge = Gram(
                gram, Y[used], weights[used], constant=with_intercept, eps=eps, refuse_negative=objects.refuse_negative
            )
            del gram
            errors = None
            if isinstance(lams, float):
                self.lam_ = lams
            else:
                if lams is None:
                    lams = ridge.path()
                self.lam_, errors = ridge.best(lams)
            found = ridge.fit(self.lam_)
        coefficients = np.zeros(Y.shape)
        coefficients[used] = found.weights
        self._keep(X, A, coefficients.reshape(y.shape))
        self.intercept_: Any = found.intercept
        if y.ndim == 1:
            self.intercept_ = float(found.intercept[0])
        for name in ("lams_", "loo_errors_"):
            self.__dict__.pop(name, None)
        if errors is not None:
            self.lams_ = lams
            self.loo_errors_ = errors[:, 0] if y.ndim == 1 else errors
        model = PlanStep(f"{plan.model.what} ({self.lam_:.3g})", plan.model.why)
        self.plan_ = replace(plan, model=model, spent=Spent(time.perf_counter() - began, 0))

    @tensors_for_tensors
    def _scores(self, X: Any) -> np.ndarray:
        return self._weighted(X) + self.intercept_


class KernelRidge(MultiOutputMixin, RegressorMixin, LeastSquares):
    r"""Ridge regression on a kernel, with exact leave-one-out to choose its penalty.

    Minimizes :math:`\sum_i s_i (y_i - \langle w, \phi(x_i)\rangle - b)^2 + \lambda |w|^2` over w and an unpenalized
    b. Without b and with weights :math:`s_i = 1` the solution is :math:`f(x) = \sum_i a_i K(x, x_i)` with
    :math:`a = (K + \lambda I)^{-1} y`; for :math:`\lambda = 0` it is kernel linear regression, with the pseudo-inverse.
    (Balcan, lecture notes 10-315, on what can be kernelised.) Given several :math:`\lambda`, one eigendecomposition
    serves all of them and gives the exact leave-one-out residuals without another fit.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    lam : float, sequence of float, or "auto"
        The penalty. Of several, the one with the smallest squared leave-one-out error is chosen, summed over outputs;
        an example is left out with all of its weight. ``"auto"``: 45 values from 1e-10 to 10 times the trace of
        the (centered) Gram matrix. A single number needs only a Cholesky factor, and gives no
        leave-one-out errors; a list of one number does.
    fit_intercept : bool
        Whether to fit b.
    engine : Engine, optional

    Attributes
    ----------
    lam_ : float
        The penalty.
    lams_, loo_errors_ : array
        The penalties tried and their mean squared leave-one-out errors (one column per output if y has columns).
        Only if `lam` is not a single number.
    support_, support_objects_, dual_coef_, intercept_
        The prediction is sum_j dual_coef_j K(x, support_j) + intercept.
    kernel_, validity_
        The kernel with data-dependent parameters resolved; whether it is known to be PSD.

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
        self, kernel: Any = "auto", *, lam: Any = 1.0, fit_intercept: bool = True, engine: Engine | None = None
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Learn from objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        sample_weight : sequence of float, optional
            Weights of the squared errors; an integer is the same as repetition (for a given `lam`).
        """
        self._lams()
        X = self._checked(X, reset=True)
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, len(y))
        self._learn(X, y, weights, sample_weight, self._planned(X, y, weights))
        return self

    def _targets_in_words(self, y: Any) -> str:
        return number_of(int(np.prod(np.shape(y)[1:])), "output")

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object, of shape (n,) or (n, outputs)."""
        return self._scores(X)


class KernelRidgeClassifier(ScoreClassifier, LeastSquares):
    r"""Classification by ridge regression on the codes -1 and +1.

    With two classes it is :class:`KernelRidge` on -1 for ``classes_[0]`` and +1 for ``classes_[1]``; a prediction >= 0
    is the second class. With several, each has a column, +1 for its own examples, and the largest prediction wins. The
    squared loss gives no probabilities.

    Parameters
    ----------
    kernel, lam, fit_intercept, engine
        See :class:`KernelRidge`.
    class_weight : dict or "balanced", optional
        Multiplies the weights of the examples of a class; ``"balanced"``: every class has the same total weight.

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
        kernel: Any = "auto",
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
            Weights of the squared errors; an integer is the same as repetition (for a given `lam`).
        """
        self._lams()
        X, codes = self._labeled(X, y)
        weights = check_weights(sample_weight, len(codes))
        weights = weights * class_weights(self.class_weight, self.classes_, np.bincount(codes, weights))[codes]
        check_class_weights(self.classes_, codes, weights)
        plan = self._planned(X, y, weights)
        self._learn(X, without_single_column(self._signs(codes)), weights, sample_weight, plan)
        return self

    def _targets_in_words(self, y: Any) -> str:
        return f"{len(np.unique(as_numpy(y)))} classes"

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the predicted code of every object: one number for two classes, one per class for several."""
        return self._scores(X)
