"""KernelSGDSVC: the soft support vector machine by stochastic gradient steps, one example at a time."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_array

from similitude.compute.encodings import Encoding, itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, check_labels
from similitude.learners.kernel_rows import KernelRows
from similitude.learners.representer.minimization import Risk, minimize_dual
from similitude.learners.representer.spans import GramSpan
from similitude.linear.losses import Hinge
from similitude.scikit.estimator import all_or_nothing
from similitude.similarity import Similarity
from similitude.support.errors import brief
from similitude.support.randomness import generator
from similitude.support.results import NONE, PROVEN, Guarantee

PASSES, FEWEST_STEPS = 10, 10_000
"""Steps where nothing is said: ten times the number of examples, and so many at least."""

FIRST_CHUNK, CHUNK = 16, 512
"""Steps that are looked ahead for kernel rows: few at first, when most examples change the score of all others."""

MEASURED_VALUES = 10**8
"""Kernel values at most that are computed to measure the objective."""

MEASURED_GAP, MEASURED_GAP_SLOWLY = 1000, 200
"""Examples at most for which the dual is solved to measure the gap; the second where a Python function is called."""

SOURCE = "Shalev-Shwartz and Ben-David, Understanding Machine Learning, Theorem 14.11, with gradients of 2R at most"


class KernelSGDSVC(ClassifierMixin, KernelLearner):
    r"""The soft support vector machine by stochastic gradient steps.

    Minimizes :math:`\lambda |w|^2 + \frac{1}{m} \sum_i \max(0, 1 - y_i \langle w, \phi(x_i)\rangle)`. With
    :math:`\beta = 0` at first and :math:`\mu = 2\lambda`, step t = 1, ..., T takes :math:`a = \beta / (\mu t)`, draws
    an example i, and adds :math:`y_i` to :math:`\beta_i` if :math:`y_i \sum_j a_j K(x_j, x_i) < 1`. The model is the
    mean of a over all steps, the first of which is 0. (Baros, Kernel Methods, the SGD algorithm. As printed there it
    takes :math:`\mu = \lambda` and so minimizes :math:`\frac{\lambda}{2} |w|^2` plus the losses, not its own equation
    10: ``as_printed=True`` does that.) There is no intercept: add a constant to the kernel, ``kernel + 1.0``. Several
    classes: one against the rest, on the same examples in the same order.

    The order is drawn ahead. Rows of the kernel matrix are computed, a block at a time, for examples that change
    :math:`\beta` (and for few others that were about to), on the columns that are ever drawn.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD is refused with its witness.
    lam : float
        The weight of the squared norm.
    n_iter : int, optional
        T. Default: ten times the number of examples, 10,000 at least; or the length of `order`.
    average : bool
        Take the mean of a over all steps; False takes the last a.
    as_printed : bool
        Run with :math:`\mu = \lambda`.
    random_state : int, Generator, optional
    engine : Engine, optional

    Attributes
    ----------
    classes_, support_, support_objects_, dual_coef_
        The classes; the objects that carry the score, and what each weighs; one column per class where there are
        several.
    beta_ : array of shape (n,) or (n, classes)
        The sums of signs at the end, for every example.
    n_updates_ : int or array
        How many steps changed beta.
    objective_ : float, array or None
        What was minimized, at the model. None where that would need more than 1e8 kernel values.
    suboptimality_ : float, array or None
        By how much the objective may exceed the minimum: its distance from a dual value. Up to 1,000 examples (200
        where a Python function is called) whose Gram matrix fits into memory, None beyond.
    suboptimality_bound_ : float or None
        By how much it exceeds the minimum on average over orders, at most: :math:`2R^2(1 + \ln T)/(\mu T)` with
        :math:`R^2 = \max K(x, x)`. None for an order of your own, and for the last a.
    guarantee_ : Guarantee
        The bound in words, or why there is none.
    n_iter_ : int
        T.
    kernel_, validity_
        With what data had to fix; what is known of the kernel.

    Examples
    --------
    >>> from similitude.learners.sgd import KernelSGDSVC
    >>> model = KernelSGDSVC("precomputed", lam=0.5, as_printed=True)
    >>> model.fit([[1.0, 0.5], [0.5, 1.0]], [1, -1], order=[0, 1, 0, 1]).dual_coef_
    array([ 0.666667, -0.291667])
    >>> model.beta_
    array([ 2., -2.])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
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
        """Learn from labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        order : sequence of int, optional
            The example of each step. Default: drawn uniformly.
        """
        self._check_params()
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        drawn = self._draw(order, len(numbers))
        k, X, A = self._begin(X)
        ones = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.array([1])
        signs = np.where(numbers[:, None] == ones, 1.0, -1.0)
        longest = float(np.asarray(k.diagonal(A), dtype=np.float64).max())
        visited, steps = np.unique(drawn, return_inverse=True)
        K = Rows(k, _some(A, visited, len(numbers)), self._engine, _precision(A))
        walks = [Walk(y, self._pace, longest) for y in signs[visited].T]
        descend(K, steps, walks)
        beta, coefficients = np.zeros_like(signs), np.zeros_like(signs)
        for column, walk in enumerate(walks):
            beta[visited, column] = walk.beta()
            coefficients[visited, column] = walk.mean(len(drawn)) if self.average else walk.last(len(drawn))
        self.n_iter_ = len(drawn)
        self.n_updates_ = _figure([len(walk.times) for walk in walks])
        self._promise(longest, order is not None)
        self._measure(k, A, K if len(visited) == len(numbers) else None, signs, coefficients)
        self.beta_ = beta if len(walks) > 1 else beta[:, 0]
        self._keep(X, A, coefficients if len(walks) > 1 else coefficients[:, 0])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class where there are several."""
        return self._weighted(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each object: by the sign of the score, or the class of the largest."""
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @property
    def _pace(self) -> float:
        return float(self.lam) * (1 if self.as_printed else 2)

    def _check_params(self) -> None:
        if isinstance(self.lam, bool) or not isinstance(self.lam, Real) or not 0 < float(self.lam) < np.inf:
            raise ValueError(f"lam must be a positive number, got {self.lam!r}")
        whole = isinstance(self.n_iter, Integral) and not isinstance(self.n_iter, bool)
        if self.n_iter is not None and not (whole and self.n_iter >= 1):
            raise ValueError(f"n_iter must be a whole number >= 1 or None, got {self.n_iter!r}")

    def _draw(self, order: Any, n: int) -> np.ndarray:
        """Return the example of each step; refuse an order that names examples that are not there."""
        if order is None:
            steps = max(PASSES * n, FEWEST_STEPS) if self.n_iter is None else int(self.n_iter)
            return generator(self.random_state).integers(n, size=steps)
        given = check_array(order, ensure_2d=False, dtype=None, input_name="order")
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ValueError(f"order must be a list of positions in X, got {brief(order)}")
        if given.min() < 0 or given.max() >= n:
            raise ValueError(f"order names example {given[(given < 0) | (given >= n)][0]}, X holds 0 to {n - 1}")
        if self.n_iter is not None and self.n_iter != len(given):
            raise ValueError(f"n_iter = {self.n_iter} but order has {len(given)} steps: leave n_iter out")
        return given.astype(np.int64)

    def _promise(self, longest: float, own_order: bool) -> None:
        T, numbers = self.n_iter_, {"T": float(self.n_iter_), "R2": longest}
        self.suboptimality_bound_ = None
        if own_order or not self.average:
            reason = (
                "the order was given, not drawn uniformly" if own_order else "the last step was taken, not the mean"
            )
            self.guarantee_ = Guarantee(f"no bound: {reason}", "", "", numbers, NONE)
            return
        self.suboptimality_bound_ = bound = 2 * longest * (1 + math.log(T)) / (self._pace * T)
        statement = f"on average over orders the objective is {bound:.3g} above its minimum, at most"
        self.guarantee_ = Guarantee(statement, SOURCE, "examples are drawn uniformly, as here", numbers, PROVEN)

    def _measure(self, k: Similarity, A: Encoding, K: Rows | None, signs: np.ndarray, coefficients: np.ndarray) -> None:
        """Set the objective, and its distance from the dual of a small problem."""
        n = len(signs)
        used = np.flatnonzero(coefficients.any(axis=1))
        self.objective_ = self.suboptimality_ = None
        if K is None and n * len(used) > MEASURED_VALUES:
            return
        K = Rows(k, A, self._engine, _precision(A)) if K is None else K
        objectives = [
            _objective(K, used, *column, self._pace / 2) for column in zip(signs.T, coefficients.T, strict=True)
        ]
        self.objective_ = _figure(objectives)
        if n <= (MEASURED_GAP if k.threadsafe else MEASURED_GAP_SLOWLY) and 8 * n * n <= self._engine.budget:
            space = GramSpan(K.square(np.arange(n)).astype(np.float64))
            duals = [_dual(space, y, self._pace / 2) for y in signs.T]
            self.suboptimality_ = _figure([max(0.0, o - d) for o, d in zip(objectives, duals, strict=True)])


class Rows(KernelRows):
    """Kernel rows that are looked at one by one."""

    def fetch(self, which: np.ndarray) -> None:
        """Compute those of these rows that are not held, as a block, as far as there is room."""
        missing = which[self.slot[which] < 0]
        if len(missing):
            self.clock += 1
            self._compute(missing[: max(1, self.room // 2)])

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the weighted sum of rows to `out`, as many rows at a time as there is room for."""
        for start in range(0, len(which), self.room):
            some = slice(start, start + self.room)
            super().add_to(out, which[some], weights[some])

    def part(self, i: int, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for j in `columns`."""
        if self.slot[i] < 0:
            self.fetch(np.array([i]))
        self.used[self.slot[i]] = self.clock
        return self.store[self.slot[i]][columns]


class Walk:
    """The steps of one class against the rest, on the examples that are ever drawn.

    Parameters
    ----------
    y : array
        +1 and -1.
    pace : float
        mu: at step t, w is 1 / (mu t) times the sum over all violations so far.
    longest : float
        The largest K(x, x); scores are kept divided by it.
    """

    def __init__(self, y: np.ndarray, pace: float, longest: float) -> None:
        self.y, self.pace = y, pace
        self.unit = 1 / longest if longest > 0 else 1.0
        self.score = np.zeros(len(y))  # sum_j beta_j K(x_j, x_i), scaled
        self.times: list[int] = []
        self.examples: list[int] = []

    def go(self, K: Rows, start: int, examples: np.ndarray, chunk: np.ndarray) -> None:
        """Take the steps after `start`: `chunk` says which of `examples` each one is about."""
        y, score = self.y[examples], self.score[examples]
        slow = self.pace * self.unit
        K.fetch(examples[y * score < slow * (start + len(chunk))])
        changes = np.zeros(len(examples))
        for t, i in enumerate(chunk.tolist(), start + 1):
            if y[i] * score[i] < slow * t:
                changes[i] += y[i]
                self.times.append(t)
                self.examples.append(int(examples[i]))
                score += (y[i] * self.unit) * K.part(examples[i], examples)
        moved = np.flatnonzero(changes)
        K.add_to(self.score, examples[moved], changes[moved] * self.unit)

    def beta(self) -> np.ndarray:
        """Return beta after the last step."""
        return self._sum(np.ones(len(self.times)))

    def mean(self, T: int) -> np.ndarray:
        """Return the mean of a: a violation at step s is in those of steps s + 1 to T, with weight 1 / (mu t)."""
        left = np.append(np.cumsum(1 / np.arange(T, 0, -1.0))[::-1], 0.0)  # left[s]: the sum of 1 / t over t > s
        return self._sum(left[np.array(self.times, np.int64)]) / self.pace / T

    def last(self, T: int) -> np.ndarray:
        """Return a of step T."""
        return self._sum(np.array(self.times) < T) / self.pace / T

    def _sum(self, weights: np.ndarray) -> np.ndarray:
        examples = np.array(self.examples, np.int64)
        return np.bincount(examples, self.y[examples] * weights, minlength=len(self.y))


def descend(K: Rows, steps: np.ndarray, walks: list[Walk]) -> None:
    """Take all steps, a chunk after another, with kernel rows that all classes share."""
    start, size = 0, FIRST_CHUNK
    while start < len(steps):
        examples, chunk = np.unique(steps[start : start + size], return_inverse=True)
        for walk in walks:
            walk.go(K, start, examples, chunk)
        start, size = start + size, min(2 * size, CHUNK)


def _objective(K: Rows, used: np.ndarray, y: np.ndarray, a: np.ndarray, lam: float) -> float:
    scores = np.zeros(len(y))
    K.add_to(scores, used, a[used])
    return lam * float(a @ scores) + float(np.maximum(0.0, 1 - y * scores).mean())


def _dual(space: GramSpan, y: np.ndarray, lam: float) -> float:
    """Return a value that no objective is below."""
    risk = Risk(Hinge(), y, np.full(len(y), 1 / len(y)), space, tolerance=1e-7, most_steps=100)
    found = minimize_dual(risk, lam / space.scale)
    return -found.conjugate - found.mu * found.dual_squared_norm


def _some(A: Encoding, visited: np.ndarray, n: int) -> Encoding:
    return A if len(visited) == n else rows(A, visited)


def _precision(A: Encoding) -> np.dtype:
    return np.dtype(np.float32 if itemsize(A) == 4 else np.float64)


def _figure(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)
