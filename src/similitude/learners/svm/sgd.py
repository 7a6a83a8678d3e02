"""KernelSGDSVC: the soft-margin support vector machine by stochastic gradient descent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from similitude.compute import itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, scalar_or_array, without_single_column
from similitude.learners.limits import MAX_OBJECTIVE_VALUES
from similitude.learners.representer.minimization import Risk, minimize_dual
from similitude.learners.representer.spans import GramSpan
from similitude.learners.svm.dual import KernelRows
from similitude.linear import Hinge
from similitude.scikit import CHECKED_OBJECTS, ScoreClassifier, all_or_nothing, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import Guarantee, Premise, brief, check_integer, check_positive, generator, rounded_up

THEOREM = "Shalev-Shwartz and Ben-David, Understanding Machine Learning, Theorem 14.11, with gradients of 2R at most"


class KernelSGDSVC(ScoreClassifier, KernelLearner):
    r"""Soft-margin support vector classification by stochastic gradient descent.

    Minimizes :math:`\lambda |w|^2 + \frac{1}{m} \sum_i \max(0, 1 - y_i \langle w, \phi(x_i)\rangle)`. Starting with
    :math:`\beta = 0` and with :math:`\mu = 2\lambda`, step t = 1, ..., T sets :math:`a = \beta / (\mu t)`, draws an
    example i, and adds :math:`y_i` to :math:`\beta_i` if :math:`y_i \sum_j a_j K(x_j, x_i) < 1`. The model is the mean
    of a over all steps, the first of which is 0. (Baros, Kernel Methods, the SGD algorithm. As printed there it has
    :math:`\mu = \lambda` and so minimizes :math:`\frac{\lambda}{2} |w|^2` plus the losses, not its own equation 10:
    ``as_printed=True`` does that.) There is no intercept: add a constant to the kernel, ``kernel + 1.0``. Several
    classes are classified one-vs-rest, with the same examples in the same order.

    The order of the examples is drawn in advance, so that kernel rows are computed in blocks, only for examples that
    change :math:`\beta` (and a few that were about to), and only for the columns that are ever drawn.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    lam : float
        The weight of the squared norm.
    n_iter : int, optional
        T. Default: ten times the number of examples, at least 10,000; or the length of `order`.
    average : bool
        Take the mean of a over all steps; False takes the last a.
    as_printed : bool
        Run with :math:`\mu = \lambda`.
    random_state : int, Generator, optional
    engine : Engine, optional

    Attributes
    ----------
    classes_, support_, support_objects_, dual_coef_
        The classes; the support objects with their positions and coefficients, one column per class if there are
        several.
    beta_ : array of shape (n,) or (n, classes)
        The final beta, for every example.
    n_updates_ : int or array
        Number of steps that changed beta.
    objective_ : float, array or None
        The minimized function at the model. None if that would need more than 1e8 kernel values.
    suboptimality_ : float, array or None
        An upper bound on the distance of the objective from its minimum, by a dual value. Computed for up to 1,000
        examples (200 if the kernel is a Python function) whose Gram matrix fits into memory, otherwise None.
    suboptimality_bound_ : float or None
        An upper bound on the expected distance over random orders: :math:`2R^2(1 + \ln T)/(\mu T)` with
        :math:`R^2 = \max K(x, x)`. None if `order` was given, and for the last a.
    guarantee_ : Guarantee
        The bound in words, or why there is none.
    n_iter_ : int
        T.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.learners import KernelSGDSVC
    >>> model = KernelSGDSVC("precomputed", lam=0.5, as_printed=True)
    >>> model.fit([[1.0, 0.5], [0.5, 1.0]], [1, -1], order=[0, 1, 0, 1]).dual_coef_
    array([ 0.666667, -0.291667])
    >>> model.beta_
    array([ 2., -2.])
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        lam: float = 0.01,
        n_iter: int | None = None,
        average: bool = True,
        as_printed: bool = False,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.n_iter = n_iter
        self.average = average
        self.as_printed = as_printed
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, order: Any = None) -> KernelSGDSVC:
        """Fit to labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        order : sequence of int, optional
            The example of each step. Default: drawn uniformly.
        """
        mu = check_positive("lam", self.lam)
        if not self.as_printed:
            mu *= 2
        if self.n_iter is not None:
            check_integer("n_iter", self.n_iter, 1, 10**9)  # the example of each step is drawn in advance
        X, codes = self._labeled(X, y)
        drawn = self._drawn(order, len(codes))
        k, X, A = self._start(X, self.random_state, kernel=True)
        signs = self._signs(codes)
        radius = float(np.asarray(k.diagonal(A), dtype=np.float64).max())
        visited, steps = np.unique(drawn, return_inverse=True)
        dtype = np.dtype(f"float{8 * itemsize(A)}")
        K = KernelRows(k, rows(A, visited), self._engine, dtype, visited)
        runs = [SGDRun(sign, mu, radius) for sign in signs[visited].T]
        descend(K, steps, runs)
        T = len(drawn)
        counted = np.arange(T + 1.0) < T  # a violation at step s counts in the steps after it
        if self.average:
            counted = np.append(np.cumsum(1 / np.arange(T, 0, -1.0))[::-1], 0.0)  # step t with weight 1 / (mu t)
        beta = np.zeros_like(signs)
        coefficients = np.zeros_like(signs)
        for column, run in enumerate(runs):
            beta[visited, column] = run.sum(np.ones(T + 1))
            coefficients[visited, column] = run.sum(counted) / mu / T
        self.n_iter_ = T
        self.n_updates_ = scalar_or_array([len(run.times) for run in runs])
        self._set_guarantee(k, radius, mu, order is not None, len(codes))
        self.objective_ = self.suboptimality_ = None
        every = len(visited) == len(codes)
        if every or len(codes) * np.count_nonzero(coefficients.any(axis=1)) <= MAX_OBJECTIVE_VALUES:
            if not every:
                K = KernelRows(k, A, self._engine, dtype, np.arange(len(codes)))
            self._measure(K, mu / 2, signs, coefficients)
        self.beta_ = without_single_column(beta)
        self._keep(X, A, without_single_column(coefficients))
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class for several classes."""
        return self._weighted(X)

    def _drawn(self, order: Any, n: int) -> np.ndarray:
        if order is None:
            steps = self.n_iter or max(10 * n, 10_000)
            return generator(self.random_state).integers(n, size=steps)
        given = check_array(order, ensure_2d=False, dtype=None, input_name="order")
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ValueError(f"order must be a list of positions in X, got {brief(order)}")
        if given.min() < 0 or given.max() >= n:
            raise ValueError(f"order names example {given[(given < 0) | (given >= n)][0]}, X holds 0 to {n - 1}")
        if self.n_iter is not None and self.n_iter != len(given):
            raise ValueError(f"n_iter = {self.n_iter} but order has {len(given)} steps: leave n_iter out")
        return given.astype(np.int64)

    def _set_guarantee(self, k: Similarity, radius: float, mu: float, own_order: bool, n: int) -> None:
        T = self.n_iter_
        numbers = {"T": float(T), "R2": radius}
        self.suboptimality_bound_ = None
        if own_order or not self.average:
            reason = "the last a was taken, not the mean"
            if own_order:
                reason = "the order was given, not drawn uniformly"
            self.guarantee_ = Guarantee.none(reason, THEOREM, numbers)
            return
        self.suboptimality_bound_ = bound = 2 * radius * (1 + math.log(T)) / (mu * T)
        statement = f"on average over random orders the objective exceeds its minimum by at most {rounded_up(bound, 3)}"
        uniform = Premise("the examples are drawn uniformly", "proven", "by this implementation")
        known = ("assumed", f"that of {CHECKED_OBJECTS} of them is")
        if k.proven:
            known = ("proven", "by the algebra of kernels")
        elif n <= CHECKED_OBJECTS:
            known = ("proven", "by its eigenvalues, up to rounding")
        positive = Premise("the Gram matrix of the examples is positive semi-definite", *known)
        self.guarantee_ = Guarantee.under([uniform, positive], statement, THEOREM, numbers)

    def _measure(self, K: KernelRows, lam: float, signs: np.ndarray, coefficients: np.ndarray) -> None:
        """Set the objective and, for a small problem, its distance from a dual value."""
        n = len(signs)
        used = np.flatnonzero(coefficients.any(axis=1))
        objectives = []
        for y, a in zip(signs.T, coefficients.T, strict=True):
            scores = np.zeros(n)
            K.add_to(scores, used, a[used])
            objectives.append(lam * float(a @ scores) + float(np.maximum(0.0, 1 - y * scores).mean()))
        self.objective_ = scalar_or_array(objectives)
        most = 200
        if K.kernel.hints.threadsafe:
            most = 1000
        if n <= most and 8 * n * n <= self._engine.budget:
            space = GramSpan(K.between(np.arange(n), np.arange(n)).astype(np.float64))
            gaps = []
            for y, objective in zip(signs.T, objectives, strict=True):
                risk = Risk(Hinge(), y, np.full(n, 1 / n), space, tolerance=1e-7, most_steps=100)
                found = minimize_dual(risk, lam / space.scale)
                gaps.append(max(0.0, objective + found.conjugate + found.mu * found.dual_squared_norm))
            self.suboptimality_ = scalar_or_array(gaps)


class SGDRun:
    """The steps of one binary problem: w is 1 / (mu t) times the sum of violations; scores are over the radius."""

    def __init__(self, y: np.ndarray, mu: float, radius: float) -> None:
        self.y = y
        self.mu = mu
        self.unit = 1 / (radius or 1.0)
        self.score = np.zeros(len(y))  # sum_j beta_j K(x_j, x_i), scaled
        self.times: list[int] = []
        self.examples: list[int] = []

    def advance(self, K: KernelRows, start: int, examples: np.ndarray, chunk: np.ndarray) -> None:
        """Take the steps after `start`; `chunk` indexes into `examples`."""
        y = self.y[examples]
        score = self.score[examples]
        threshold = self.mu * self.unit
        K.prefetch(examples[y * score < threshold * (start + len(chunk))])
        changes = np.zeros(len(examples))
        for t, i in enumerate(chunk.tolist(), start + 1):
            if y[i] * score[i] < threshold * t:
                changes[i] += y[i]
                self.times.append(t)
                self.examples.append(int(examples[i]))
                score += (y[i] * self.unit) * K.part(examples[i], examples)
        moved = np.flatnonzero(changes)
        K.add_to(self.score, examples[moved], changes[moved] * self.unit)

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of violations of each example, weighted by their steps."""
        examples = np.array(self.examples, np.int64)
        counted = self.y[examples] * weights[np.array(self.times, np.int64)]
        return np.bincount(examples, counted, minlength=len(self.y))


def descend(K: KernelRows, steps: np.ndarray, runs: list[SGDRun]) -> None:
    """Take all steps in chunks, with kernel rows shared by all binary problems."""
    start = 0
    size = 16  # few at first, while most steps change the scores
    while start < len(steps):
        examples, chunk = np.unique(steps[start : start + size], return_inverse=True)
        for run in runs:
            run.advance(K, start, examples, chunk)
        start += size
        size = min(2 * size, 512)
