"""Support vector machines: KernelSVC, KreinSVC, KernelSVR and KernelOneClassSVM."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import column_or_1d

from similitude.compute import Encoding, as_numpy, check_objects, itemsize, rows
from similitude.compute.engines import Engine, one_blas_thread
from similitude.fitting import probabilities, temperature
from similitude.learners.kernel_learner import KernelLearner, ScoreOutliers, scalar_or_array, without_single_column
from similitude.learners.limits import MANY_ROWS, MOST_AT_ONCE
from similitude.learners.svm.dual import GramRows, KernelRows, SVMSolution, solve_one_class, solve_svc, solve_svr
from similitude.learners.svm.hard_margin import solve_hard
from similitude.scikit import (
    CHECKED_OBJECTS,
    ScoreClassifier,
    all_or_nothing,
    check_class_weights,
    check_targets,
    check_weights,
    class_weights,
    demand_valid,
    in_single_precision,
    tensors_for_tensors,
    whole_gram,
)
from similitude.similarity import Similarity
from similitude.support import (
    NotAKernelError,
    check_flag,
    check_nonnegative,
    check_number,
    check_positive,
    interruptibly,
    user_stacklevel,
)
from similitude.validity import Validity, check_gram


class BaseSVM(KernelLearner):
    """What support vector classification and regression share: costs, kernel rows, and figures of the solution."""

    C: float
    lam: float | None
    hard = False
    fit_intercept: bool
    tol: float
    _gram: np.ndarray

    def _costs(self, weights: np.ndarray) -> np.ndarray:
        """Return the cost of each loss: its weight times C, or times 1 / (2 lam m) if lam is given."""
        check_positive("tol", self.tol)
        cost = check_positive("C", self.C)
        if self.lam is not None:
            cost = 1 / (2 * check_positive("lam", self.lam) * weights.sum())
        return weights * cost

    def _demand_kernel(self, k: Similarity, X: Any, A: Encoding, random_state: Any) -> Validity:
        """Check the kernel; the Gram matrix of few objects is kept for the solver: no pair is computed twice."""
        n = check_objects(X)
        if n > CHECKED_OBJECTS:
            return super()._demand_kernel(k, X, A, random_state)
        self._gram = as_numpy(whole_gram(k, A, self._engine))
        return demand_valid(check_gram(k, self._gram, X, np.arange(n), n))

    def _rows(self, k: Similarity, A: Encoding, costs: np.ndarray, shared: bool = False) -> KernelRows:
        """Return the rows of the Gram matrix: at once if they are few or shared, else as they are needed."""
        if self.tol >= 1e-5 and not self.hard:
            A = in_single_precision(k, A, 0.1 * self.tol / costs.max())
        n = len(costs)
        size = itemsize(A)
        engine = self._engine
        self.precision_ = f"float{8 * size}"
        dtype = np.dtype(self.precision_)
        if "_gram" in vars(self):
            return GramRows(self.__dict__.pop("_gram").astype(dtype, copy=False))
        if (n > MOST_AT_ONCE and not shared) or n * n * size > engine.budget // 2:
            return KernelRows(k, A, engine, dtype, np.arange(n))
        return GramRows(np.asarray(k.blocks(A, engine=engine).whole(), dtype=dtype))

    def _set_figures(self, svms: list[SVMSolution]) -> None:
        """Set the figures of the solutions: scalars for one, arrays for several."""
        figures = zip(*((svm.objective, svm.gap, svm.intercept, svm.squared_norm) for svm in svms), strict=True)
        self.objective_, self.dual_gap_, self.intercept_, squared = map(scalar_or_array, figures)
        self.margin_ = 1 / np.sqrt(np.maximum(squared, 1e-300))
        self.n_iter_ = sum(svm.rounds for svm in svms)


class BaseSVC(ScoreClassifier, BaseSVM):
    """Support vector classification, one-vs-one."""

    class_weight: Any

    @all_or_nothing
    @one_blas_thread  # its other threads would wait busily beside those of the engine
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            Multiplies C for each example.
        """
        check_flag("fit_intercept", self.fit_intercept)
        X, codes = self._labeled(X, y)
        each = class_weights(self.class_weight, self.classes_, np.bincount(codes))
        weights = check_weights(sample_weight, len(codes)) * each[codes]
        check_class_weights(self.classes_, codes, weights)
        costs = self._costs(weights)
        if len(codes) >= MANY_ROWS:
            warnings.warn(
                f"{type(self).__name__} on {len(codes):,} rows takes long: the time grows with the square of their "
                f"number. KernelSGDSVC takes less, and so do SimilarityClassifier or a LandmarkMap before LinearSVC, "
                f"which compare rows with landmarks only",
                stacklevel=user_stacklevel(),
            )
        k, X, A = self._start(X, sample_weight=sample_weight, kernel=self._role == "kernel")
        K = self._rows(k, A, costs, shared=len(self.classes_) > 2)
        pairs = list(combinations(range(len(self.classes_)), 2))
        coefficients = np.zeros((len(codes), len(pairs)))
        left_out = np.full((len(codes), len(pairs)), np.nan)
        svms = []
        for column, (first, second) in enumerate(pairs):
            members = np.flatnonzero((codes == first) | (codes == second))
            sign = np.where(codes[members] == second, 1.0, -1.0)
            if self.hard:
                labels = self.classes_[codes]
                svm = solve_hard(K.of(members).whole(), sign, self.fit_intercept, members, labels)
            else:
                svm = solve_svc(K.of(members), sign, costs[members], self.fit_intercept, self.tol)
            svms.append(svm)
            coefficients[members, column] = svm.coefficients
            left_out[members, column] = svm.leave_one_out
        self._set_figures(svms)
        if isinstance(K, AbsoluteRows):
            coefficients = K.of_the_similarity(coefficients)
        self._keep(X, A, without_single_column(coefficients))
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        self.scale_ = self._scale(k, A, codes, weights, left_out)
        return self

    def _scale(self, k: Similarity, A: Encoding, codes: np.ndarray, weights: np.ndarray, left_out: np.ndarray) -> float:
        """Return the scale of the probabilities, from leave-one-out scores of training objects."""
        if left_out.shape[1] == 1:
            return temperature(left_out[:, 0], codes, weights)
        positive = np.flatnonzero(weights)
        some = positive[np.unique(np.linspace(0, len(positive) - 1, 1000).astype(int))]
        scores = k.blocks(rows(A, some), self._support, self._engine).times(self.dual_coef_) + self.intercept_
        scores = np.where(np.isnan(left_out[some]), scores, left_out[some])
        return temperature(self._class_scores(scores), codes[some], weights[some])

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class for several classes.

        With several classes it is the number of one-vs-one votes, plus less than half a vote for how clear they were.
        """
        return self._class_scores(self._weighted(X) + self.intercept_)

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return one score per class, given one per pair of classes; the score of a single pair is unchanged."""
        if scores.ndim == 1:
            return scores
        return _ovr_decision_function(scores >= 0, scores, len(self.classes_))

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; the most probable class is that of `predict`.

        Probabilities are the logistic function (softmax for several classes) of the scores times ``scale_``, the
        maximum-likelihood scale for leave-one-out scores of the training objects (Vapnik and Chapelle, 2000).
        """
        return probabilities(as_numpy(self.decision_function(X)), self.scale_)


class KernelSVC(BaseSVC):
    r"""Support vector classification, solved exactly by its dual.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i(\langle w, \phi(x_i)\rangle + b))`; with ``lam`` given,
    :math:`\lambda |w|^2 + \frac1m \sum_i \max(0, \dots)`, which is the same for :math:`C = 1/(2\lambda m)`. (Baros,
    Kernel Methods, equations 10 and 27.) Several classes are classified one-vs-one. The solver starts from
    the solution of every fourth example if there are many, and optimizes all free variables and the worst violators in
    each round by sequential minimal optimization with the second-order rule of Fan, Chen and Lin (2005); rows of the
    kernel are computed in tiles, for variables that move. Of 50,000 rows on, 4,000 are tried first, and a
    warning says about how long a long fit takes.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD; for other similarities see :class:`KreinSVC`.
    C : float
        The cost of a violated margin.
    lam : float, optional
        Used instead of C.
    hard : bool
        Allow no violation; inseparable data raise an error that names conflicting examples.
    fit_intercept : bool
        Fit b, unpenalized.
    tol : float
        Tolerance of the optimality conditions. From 1e-5 on, kernel values of vectors are computed in single precision
        if a sample shows that this is accurate enough.
    class_weight : dict or "balanced", optional
        Multiplies C for the examples of a class.
    engine : Engine, optional

    Attributes
    ----------
    classes_, support_, support_objects_, n_support_
        The classes; positions of the support objects in X, the objects, and their number in each class.
    dual_coef_, intercept_
        The score is sum_j dual_coef_j K(x, support_j) + intercept; one column per pair of classes.
    objective_, dual_gap_, margin_
        The minimized function, an upper bound on its distance from the minimum, and ``1/|w|``.
    precision_ : str
        The precision of the kernel values in the solver.
    scale_ : float
        Scores are multiplied by this to obtain probabilities.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.learners import KernelSVC
    >>> X, y = iris()
    >>> model = KernelSVC(C=10.0).fit(X, y)
    >>> model.score(X, y) > 0.96
    True
    >>> words = KernelSVC(lambda s, t: len(set(s) & set(t))).fit(["aab", "ab", "xyz", "xz"], [1, 1, 0, 0])
    >>> words.predict(["abba", "zzx"])
    array([1, 0])
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        C: float = 1.0,
        lam: float | None = None,
        hard: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.hard = hard
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.engine = engine

    def normalized_margin(self, X: Any) -> np.ndarray:
        r"""Return the signed margin of each object as a cosine, for two classes; see `similitude.error_at_margin`.

        It is :math:`\langle w, \phi(x)\rangle / (|w| |\phi(x)|)`, where an intercept is the weight of an additional
        feature that is constantly 1. It is 0 for objects with K(x, x) = 0.
        """
        if len(self.classes_) > 2 or self._precomputed:
            raise ValueError(
                "normalized margins need two classes and K(x, x) of new objects, which precomputed rows do not hold"
            )
        constant = float(self.fit_intercept)
        k, A = self._ask(X)
        squares = np.maximum(np.asarray(k.diagonal(A), dtype=np.float64), 0.0) + constant
        lengths = np.sqrt(squares * (self.margin_**-2 + constant * self.intercept_**2))
        return np.divide(self.decision_function(X), lengths, out=np.zeros(len(lengths)), where=lengths > 0)


class KreinSVC(BaseSVC):
    r"""Support vector classification with any symmetric similarity, positive semi-definite or not.

    The Gram matrix :math:`K = U \Lambda U^\top` is replaced by :math:`|K| = U |\Lambda| U^\top`, which is PSD, and the
    problem of :class:`KernelSVC` is solved with it. The coefficients :math:`U \operatorname{sign}(\Lambda) U^\top a`
    give the same scores with K itself, so that prediction needs the similarity only. (Loosli, Canu and Ong, Learning
    SVM in Krein Spaces, 2016.) If K is PSD, the model is that of :class:`KernelSVC`. Needs memory for the Gram matrix,
    and time that grows with the cube of the number of training objects.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Must be symmetric.
    C, lam, hard, fit_intercept, tol, class_weight, engine
        See :class:`KernelSVC`.

    Attributes
    ----------
    classes_, support_, support_objects_, n_support_, dual_coef_, intercept_, precision_, scale_
        See :class:`KernelSVC`.
    objective_, dual_gap_, margin_
        See :class:`KernelSVC`; of the problem with :math:`|K|`.
    similarity_ : Similarity
        With data-dependent parameters resolved.

    Examples
    --------
    >>> from similitude.learners import KreinSVC
    >>> words, labels = ["aab", "ab", "xyz", "xz"], [1, 1, 0, 0]
    >>> model = KreinSVC(lambda s, t: -abs(len(set(s)) - len(set(t))) + 3.0 * bool(set(s) & set(t)))
    >>> model.fit(words, labels).predict(["abba", "zzx"])
    array([1, 0])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        C: float = 1.0,
        lam: float | None = None,
        hard: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.C = C
        self.lam = lam
        self.hard = hard
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.engine = engine

    def _rows(self, k: Similarity, A: Encoding, costs: np.ndarray, shared: bool = False) -> KernelRows:
        self.precision_ = "float64"
        K = np.asarray(whole_gram(k, A, self._engine), dtype=np.float64)
        apart = np.abs(K - K.T)
        if apart.max() > 1e-6 * np.abs(K).max():
            i, j = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
            raise NotAKernelError(
                f"{k!r} is not symmetric: K(X[{i}], X[{j}]) = {K[i, j]:.6g} but K(X[{j}], X[{i}]) = {K[j, i]:.6g}; "
                f"use k.symmetrized(), or LandmarkMap, which takes it as it is"
            )
        return AbsoluteRows(*interruptibly(np.linalg.eigh, (K + K.T) / 2))


class AbsoluteRows(GramRows):
    """The rows of |K|, given the eigenvalues and eigenvectors of a Gram matrix K."""

    def __init__(self, values: np.ndarray, U: np.ndarray) -> None:
        super().__init__((U * np.abs(values)) @ U.T)
        self.values = values
        self.U = U

    def of_the_similarity(self, a: np.ndarray) -> np.ndarray:
        """Return the coefficients that give the same scores with K as these with |K|, in columns."""
        return self.U @ (np.sign(self.values)[:, None] * (self.U.T @ a))


class KernelSVR(RegressorMixin, BaseSVM):
    r"""Support vector regression, solved exactly by its dual.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b| - \epsilon)`, with
    the same solver as :class:`KernelSVC`.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    C, lam, fit_intercept, tol, engine
        See :class:`KernelSVC`.
    epsilon : float
        Errors up to this cost nothing.

    Attributes
    ----------
    support_, support_objects_, dual_coef_, intercept_, objective_, dual_gap_, precision_, kernel_, validity_
        See :class:`KernelSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.learners import KernelSVR
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = KernelSVR(C=100.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        C: float = 1.0,
        lam: float | None = None,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.engine = engine

    @all_or_nothing
    @one_blas_thread  # its other threads would wait busily beside those of the engine
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVR:
        """Fit to objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        sample_weight : sequence of float, optional
            Multiplies C for each example.
        """
        epsilon = check_nonnegative("epsilon", self.epsilon)
        check_flag("fit_intercept", self.fit_intercept)
        X = self._checked(X, reset=True)
        y = check_targets(self, X, y)
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {y.shape} instead: "
                "sklearn.multioutput.MultiOutputRegressor(KernelSVR()) fits one model for each column"
            )
        y = column_or_1d(y, warn=True)
        costs = self._costs(check_weights(sample_weight, len(y)))
        k, X, A = self._start(X, sample_weight=sample_weight, kernel=True)
        svm = solve_svr(self._rows(k, A, costs), y, costs, epsilon, self.fit_intercept, self.tol)
        self._set_figures([svm])
        self._keep(X, A, svm.coefficients)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each object."""
        return self._weighted(X) + self.intercept_


class KernelOneClassSVM(ScoreOutliers, BaseSVM):
    r"""A one-class support vector machine, which finds objects unlike most of the training objects.

    Separates the training objects from the origin of the feature space,
    :math:`\min_{w, \rho, \xi} \frac12 |w|^2 - \nu n \rho + \sum_i \xi_i` with
    :math:`\langle w, \phi(x_i)\rangle \ge \rho - \xi_i` and :math:`\xi_i \ge 0`, by its dual
    :math:`\min_a \frac12 a^\top K a` with :math:`0 \le a_i \le 1`, :math:`\sum_i a_i = \nu n`. At most the share
    :math:`\nu` of the training objects are outliers, and at least that share are support objects, up to the tolerance.
    (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, "Estimating the Support of a High-Dimensional Distribution",
    2001.) The conventions are those of ``sklearn.svm.OneClassSVM``, the solver is that of :class:`KernelSVC`.
    For similarities that are not kernels, and for a false alarm rate on new objects, see :class:`SimilarityNovelty`.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    nu : float
        In (0, 1].
    tol : float
        Tolerance of the optimality conditions. From 1e-5 on, kernel values of vectors are computed in single precision
        if a sample shows that this is accurate enough.
    engine : Engine, optional

    Attributes
    ----------
    support_, support_objects_, dual_coef_
        Positions of the support objects in X, the objects, and their coefficients a.
    offset_ : float
        :math:`\rho`; the score of an object is sum_j dual_coef_j K(x, support_j), and it is an outlier if that is less.
    objective_ : float
        The minimized function of the dual.
    n_iter_, precision_
        Rounds of the solver, and the precision of the kernel values in it.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.learners import KernelOneClassSVM
    >>> words = ["banana", "bandana", "cabana", "ananas", "savanna", "cabala"]
    >>> model = KernelOneClassSVM("spectrum(2)", nu=0.2).fit(words)
    >>> model.predict(["cabanas", "xylophone"])
    array([ 1, -1])
    """

    def __init__(
        self, kernel: Any = "auto", *, nu: float = 0.5, tol: float = 1e-3, engine: Engine | None = None
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.engine = engine

    @all_or_nothing
    @one_blas_thread  # its other threads would wait busily beside those of the engine
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelOneClassSVM:
        """Fit to objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        sample_weight : sequence of float, optional
            The largest coefficient of each object; an integer is the same as repetition.
        """
        check_positive("tol", self.tol)
        nu = check_number("nu", self.nu, "(0, 1]")
        X = self._checked(X, reset=True)
        n = check_objects(X)
        weights = check_weights(sample_weight, n)
        k, X, A = self._start(X, sample_weight=sample_weight, kernel=True)
        # Rounding errors of the values add up like the square root of their number.
        K = self._rows(k, A, np.full(n, np.sqrt(weights.sum())))
        beta, residual, intercept, self.n_iter_ = solve_one_class(K, weights, nu, self.tol)
        self._keep(X, A, beta)
        self.offset_ = -intercept
        self.objective_ = -0.5 * float(beta @ residual)
        return self

    @tensors_for_tensors
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each object: the lower, the more unlike the training objects."""
        return self._weighted(X)
