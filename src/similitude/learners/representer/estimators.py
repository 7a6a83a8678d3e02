"""RepresenterClassifier and RepresenterRegressor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from similitude.compute import as_numpy, check_fits, check_objects
from similitude.compute.engines import Engine
from similitude.fitting import winner_first
from similitude.learners.kernel_learner import KernelLearner, scalar_or_array, without_single_column
from similitude.learners.representer.minimization import PathSearch, Regularizer, Risk, SquaredNorm, as_regularizer
from similitude.learners.representer.spans import LandmarkSpan, Span, span_of_objects
from similitude.linear import Logistic, Loss, as_loss, check_convex
from similitude.maps import ProjectionMap
from similitude.scikit import (
    ScoreClassifier,
    all_or_nothing,
    check_class_weights,
    check_targets,
    check_weights,
    tensors_for_tensors,
)
from similitude.support import check_integer, check_positive, is_integer


class Representer(KernelLearner):
    """What classification and regression share: parameters, the span, and the minimization."""

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        loss: Any = "squared",
        lam: float = 1e-3,
        regularizer: Any = "squared_norm",
        n_landmarks: Any = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.lam = lam
        self.regularizer = regularizer
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.engine = engine

    def _check_params(self) -> tuple[Loss, Regularizer]:
        check_positive("lam", self.lam)
        check_positive("tol", self.tol)
        check_integer("max_iter", self.max_iter)
        if self.n_landmarks is not None and not (isinstance(self.n_landmarks, str) and self.n_landmarks == "auto"):
            check_integer("n_landmarks", self.n_landmarks, otherwise="'auto' or None")
        return as_loss(self.loss), as_regularizer(self.regularizer)

    def _learn(self, X: Any, y: np.ndarray, sample_weight: Any) -> None:
        """Minimize for the targets, or for each of their columns, and keep the model."""
        loss, regularizer = self._check_params()
        check_convex(loss, y)
        n = check_objects(X)
        weights = check_weights(sample_weight, n)
        m = n
        if isinstance(self.n_landmarks, str) and n > 2000:  # as many have an exact solution
            m = 500
        elif is_integer(self.n_landmarks):
            m = min(n, int(self.n_landmarks))
        check_fits(n, m, 8, self._engine)
        k, X, A = self._start(X, self.random_state, sample_weight)
        span: Span
        if m == n:
            span, self.validity_ = span_of_objects(k, X, A, self._engine)
        else:
            landmarks = ProjectionMap(
                k, n_components=m, landmarks="rpcholesky", random_state=self.random_state, engine=self._engine
            ).fit(X)
            self.validity_ = landmarks.validity_
            span = LandmarkSpan(X, landmarks, self._engine)
        shares = weights / weights.sum()
        risks = (Risk(loss, column, shares, span, self.tol, self.max_iter) for column in y.reshape(n, -1).T)
        found = [PathSearch(risk, regularizer, self.lam) for risk in risks]
        method = "Newton steps on Moreau envelopes"
        if loss.smooth:
            method = "Newton steps"
        elif loss.pieces(np.ones(1)) is not None:
            method = "the dual over a box"
        if not isinstance(regularizer, SquaredNorm):
            method = f"{method}, for each multiplier of |f|^2 that is tried"
        self.solver_ = f"{span.described}; {method}"
        self.objective_ = scalar_or_array([one.objective for one in found])
        self.norm_ = scalar_or_array([one.norm for one in found])
        optimalities = [one.optimality for one in found]
        self.optimality_ = max(optimalities, key=lambda one: one.value / max(one.tolerance, 1e-300))
        self.n_iter_ = max(1, sum(one.steps for one in found))
        coefficients = span.coefficients(np.stack([one.minimizer.point for one in found], axis=1))
        self._keep(X, A, coefficients.reshape(y.shape))
        if not self.optimality_.met:
            problem = f"the minimum was not reached: {self.optimality_}; raise max_iter, lam or tol"
            warnings.warn(problem, ConvergenceWarning, stacklevel=4)


class RepresenterClassifier(ScoreClassifier, Representer):
    r"""Classification with any convex loss and any non-decreasing function of the norm.

    Minimizes :math:`\frac{1}{m} \sum_i L(y_i, f(x_i)) + \lambda R(|f|)` over the functions
    :math:`f(x) = \langle w, \phi(x)\rangle` of the kernel, :math:`|f| = |w|`, labels +1 and -1. By the representer
    theorem a minimizer is :math:`f = \sum_j a_j K(x_j, \cdot)`, so that n numbers describe it. (Baros, Kernel Methods,
    equations 26 and 27; with ``loss="hinge"`` it is the soft-margin support vector machine there, equation 10.) There
    is no intercept: add a constant to the kernel, ``kernel + 1.0``. Several classes are classified one-vs-rest.

    Piecewise linear losses are solved by their dual, smooth ones by Newton steps, all others (and a piecewise linear
    one whose dual is slow) by Newton steps on their Moreau envelopes. For a regularizer other than the squared norm,
    the multiplier of the squared norm with the same minimizer is found by a search.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    loss : str, Loss, object or pair of functions
        ``"hinge"``, ``"squared_hinge"``, ``"logistic"``, ``"squared"``, ``"huber"``, ``"quantile"``,
        ``"epsilon_insensitive"``, an instance of a class in :mod:`similitude.learners.losses`; or your own convex
        loss: an object with ``value(y, f)`` and ``derivative(y, f)``, or the two functions, on arrays. A third one, the
        second derivative in f, saves time. A model with lambdas can be pickled if they are wrapped in
        :class:`similitude.learners.losses.OwnLoss`.
    lam : float
        The weight of the regularizer.
    regularizer : str, Regularizer, object or pair of functions
        ``"squared_norm"``, ``"norm"``, or your own non-decreasing R: an object with ``value(norm)`` and
        ``derivative(norm)``, or the two functions, of a number.
    n_landmarks : int, "auto" or None
        None: search the span of all training objects; a number: that of this many landmarks, by
        :class:`similitude.maps.ProjectionMap`. ``"auto"``: all up to 2,000 objects, 500 landmarks beyond.
    tol : float
        The largest acceptable duality gap, relative to the loss of f = 0.
    max_iter : int
        Maximum number of Newton steps (for piecewise linear losses, of rounds of the dual), for each multiplier.
    random_state : int, Generator, optional
        For landmarks, and for the sample on which a kernel without a proof is checked.
    engine : Engine, optional

    Attributes
    ----------
    classes_, support_, support_objects_, dual_coef_
        The classes; the objects with a nonzero coefficient and their coefficients, one column per class if there are
        more than two.
    objective_, norm_ : float or array
        The minimum found, and ``|f|``; for each class if there are more than two.
    optimality_ : Optimality
        How far the objective may be from its minimum.
    solver_ : str
        In which span the minimum was searched, and how.
    n_iter_ : int
        Total number of steps.
    kernel_, validity_
        The kernel with data-dependent parameters resolved; whether it is known to be PSD.

    Examples
    --------
    >>> from similitude.learners.representer import RepresenterClassifier
    >>> model = RepresenterClassifier("linear", loss="hinge", lam=1.0).fit([[1.0], [-1.0]], ["up", "down"])
    >>> model.decision_function([[1.0]]), model.objective_
    (array([0.5]), 0.75)
    >>> print(RepresenterClassifier(lam=0.01).fit([[1.0], [-1.0]], [1, 0]).optimality_.name)
    duality gap
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        loss: Any = "logistic",
        lam: float = 1e-3,
        regularizer: Any = "squared_norm",
        n_landmarks: Any = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.lam = lam
        self.regularizer = regularizer
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RepresenterClassifier:
        """Learn from labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            Weights of the mean loss.
        """
        self._check_params()
        X, codes = self._labeled(X, y)
        check_class_weights(self.classes_, codes, check_weights(sample_weight, len(codes)))
        self._learn(X, without_single_column(self._signs(codes)), sample_weight)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class if there are more than two."""
        return self._weighted(X)

    @available_if(lambda self: isinstance(as_loss(self.loss), Logistic))
    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, for the logistic loss; `predict` gives the most probable class.

        With more than two classes, the one-vs-rest probabilities are divided by their sum.
        """
        columns = scores = as_numpy(self.decision_function(X))
        if scores.ndim == 1:
            columns = np.stack([-scores, scores], axis=1)
        logs = log_expit(columns)
        return np.asarray(winner_first(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), scores))


class RepresenterRegressor(MultiOutputMixin, RegressorMixin, Representer):
    r"""Regression with any convex loss and any non-decreasing function of the norm.

    Minimizes :math:`\frac{1}{m} \sum_i L(y_i, f(x_i)) + \lambda R(|f|)`; see :class:`RepresenterClassifier`. With the
    squared error it is kernel ridge regression, with ``Quantile(tau)`` it predicts quantiles. Several targets are
    learned separately.

    Parameters
    ----------
    kernel, lam, regularizer, n_landmarks, tol, max_iter, random_state, engine
        See :class:`RepresenterClassifier`.
    loss : str, Loss, object or pair of functions
        ``"squared"``, ``"huber"``, ``"quantile"``, ``"epsilon_insensitive"``, or your own.

    Attributes
    ----------
    support_, support_objects_, dual_coef_, objective_, norm_, optimality_, solver_, n_iter_, kernel_, validity_
        See :class:`RepresenterClassifier`; one column or entry per target if y has columns.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.linear import Quantile
    >>> from similitude.learners.representer import RepresenterRegressor
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([0.0, 0.1, 0.2, 0.3, 0.4], 10)
    >>> high = RepresenterRegressor(loss=Quantile(0.9), lam=1e-3).fit(X, y).predict(X)
    >>> bool(0.75 < np.mean(y <= high + 1e-6) <= 1)
    True
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RepresenterRegressor:
        """Learn from objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, targets)
        sample_weight : sequence of float, optional
            Weights of the mean loss.
        """
        loss, _ = self._check_params()
        if loss.for_labels:
            raise ValueError(f"{loss!r} is a loss for labels +1 and -1: use RepresenterClassifier")
        X = self._checked(X, reset=True)
        self._learn(X, check_targets(self, X, y), sample_weight)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return f of each object."""
        return self._weighted(X)
