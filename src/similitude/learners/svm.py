"""KernelSVC and KernelSVR: support vector machines, solved exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from similitude.compute.encodings import Encoding, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.base import inseparable
from similitude.learners.calibration import probabilities, temperature
from similitude.learners.hard import ConflictError, separate_hard
from similitude.learners.kernel_learner import KernelLearner
from similitude.learners.kernel_rows import KernelRows, in_single_precision
from similitude.learners.krein import Spectrum
from similitude.learners.machines import Machine, fit_tube, separate
from similitude.scikit import all_or_nothing, check_labels, check_targets, check_weights
from similitude.similarity import Similarity

CALIBRATED = 1000
"""Training objects at most whose scores decide the scale of probabilities of several classes."""

LOOSE = 1e-5
"""A tolerance below this asks for kernel values in double precision."""


class SupportVectorMachine(KernelLearner):
    """What classification and regression share: the cost of losses, the precision of rows, the figures of a machine."""

    C: float
    lam: float | None
    fit_intercept: bool
    tol: float

    def _check_costs(self) -> None:
        for name in ("C", "lam", "tol"):
            value = getattr(self, name)
            if value is None and name == "lam":
                continue
            if isinstance(value, bool) or not np.isreal(value) or not 0 < value < np.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}")

    def _costs(self, weights: np.ndarray) -> np.ndarray:
        """Return what each loss is multiplied by: C, or 1 / (2 lam m) where lam is given."""
        return weights * (self.C if self.lam is None else 1 / (2 * self.lam * weights.sum()))

    def _encoded_for_rows(self, k: Similarity, A: Encoding, costs: np.ndarray) -> Encoding:
        """Return the encoding in single precision where no coefficient can make that felt."""
        single = in_single_precision(k, A, 0.1 * self.tol / costs.max()) if self.tol >= LOOSE else None
        self.precision_ = "float64" if itemsize(A if single is None else single) == 8 else "float32"
        return A if single is None else single

    def _note(self, machines: list[Machine]) -> None:
        """Set the figures of the machines: numbers for one, arrays for several."""

        def figure(values: list[float]) -> Any:
            return values[0] if len(values) == 1 else np.array(values)

        self.objective_ = figure([one.objective for one in machines])
        self.dual_gap_ = figure([one.gap for one in machines])
        self.margin_ = figure([1 / np.sqrt(max(one.squared_norm, 1e-300)) for one in machines])
        self.intercept_ = figure([one.intercept for one in machines])
        self.n_iter_ = int(sum(one.solution.rounds for one in machines))


class KernelSVC(ClassifierMixin, SupportVectorMachine):
    r"""Support vector classification, solved exactly by its dual.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i(\langle w, \phi(x_i)\rangle + b))`; with ``lam`` given,
    :math:`\lambda |w|^2 + \frac1m \sum_i \max(0, \dots)`, which is the same with :math:`C = 1/(2\lambda m)`. (Baros,
    Kernel Methods, equations 10 and 27.) Several classes: one machine for every two of them, and votes. A round of the
    solver takes about a thousand variables, whose kernel rows come as tiles, and minimizes over these by pairs with
    the second-order rule of Fan, Chen and Lin (2005).

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD is refused with its witness, unless `krein`.
    C : float
        The cost of a violated margin.
    lam : float, optional
        Used instead of C.
    hard : bool
        No violation is allowed; inseparable data raise an error that names conflicting examples.
    fit_intercept : bool
        Learn b, unpenalized.
    tol : float
        By how much the conditions of optimality may be missed. From 1e-5 on, vectors are compared in single precision
        where a sample shows that this suffices.
    class_weight : dict or "balanced", optional
        Multiplies C for the examples of a class.
    krein : bool
        Take an indefinite similarity: solve with the absolute value of its spectrum, predict with the similarity
        itself (Loosli, Canu and Ong, 2016).
    engine : Engine, optional

    Attributes
    ----------
    classes_, support_, support_objects_, n_support_
        The classes; positions of the support objects in X, the objects, and how many each class has.
    dual_coef_, intercept_
        The score is sum_j coefficients_j K(x, support_j) + intercept; one column for every two classes.
    objective_, dual_gap_, margin_
        What was minimized, how far from the minimum it may be, and ``1/|w|``.
    precision_ : str
        The precision of the kernel values in the solver.
    scale_ : float
        What scores are multiplied by to make probabilities.
    kernel_, validity_
        With what data had to fix; what is known of the kernel.

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
        kernel: Any = "gaussian",
        *,
        C: float = 1.0,
        lam: float | None = None,
        hard: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: Any = None,
        krein: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.hard = hard
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.krein = krein
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVC:
        """Learn from labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            Multiplies C for each example.
        """
        self._check_costs()
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        weights = check_weights(sample_weight, len(numbers)) * self._class_weights(y)[numbers]
        if len(np.unique(numbers[weights > 0])) < len(self.classes_):
            raise ValueError("every class needs an example of positive weight")
        k, X, A = self._start(X, None, sample_weight) if self.krein else self._begin(X, sample_weight)
        spectrum = Spectrum.of(k, A, self._engine) if self.krein else None
        costs = self._costs(weights)
        pairs = self._solve_pairs(self._rows(k, A, spectrum, costs), numbers, costs)
        coefficients = np.zeros((len(numbers), len(pairs)))
        for column, pair in enumerate(pairs):
            coefficients[pair.members, column] = pair.machine.coefficients
        self._note([pair.machine for pair in pairs])
        coefficients = coefficients if len(pairs) > 1 else coefficients[:, 0]
        self._keep(X, A, coefficients if spectrum is None else spectrum.back(coefficients))
        self.n_support_ = np.bincount(numbers[self.support_], minlength=len(self.classes_))
        self.scale_ = self._scale(k, A, numbers, pairs, weights)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class, the largest of which wins.

        With several classes it is the number of votes, and less than half a vote for how clear they were.
        """
        return self._joined(self._pair_scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each object."""
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; the largest is that of `predict`.

        One scale turns scores into probabilities, the one at which the scores that the training objects would have
        without themselves (Vapnik and Chapelle, 2000) are the most likely.
        """
        return probabilities(self.decision_function(X), self.scale_)

    def normalized_margin(self, X: Any) -> np.ndarray:
        r"""Return the signed margin of each object as a cosine, for two classes: see `similitude.error_at_margin`.

        It is :math:`\langle w, \phi(x)\rangle / (|w| |\phi(x)|)`, an intercept counted as the weight of one more
        feature that is 1 throughout; 0 where an object has no length.
        """
        if len(self.classes_) > 2 or self._precomputed:
            raise ValueError("normalized margins are those of two classes, and need K(x, x): use no precomputed rows")
        constant = float(self.fit_intercept)
        k, A = self._ask(X)
        squares = np.maximum(np.asarray(k.diagonal(A), dtype=np.float64), 0.0) + constant
        lengths = np.sqrt(squares * (self.margin_**-2 + constant * self.intercept_**2))
        return np.divide(self._pair_scores(X), lengths, out=np.zeros(len(lengths)), where=lengths > 0)

    def _pair_scores(self, X: Any) -> np.ndarray:
        return self._weighted(X) + self.intercept_

    def _joined(self, scores: np.ndarray) -> np.ndarray:
        """Return one score per class from one per pair of classes; a single pair's score as it is."""
        if scores.ndim == 1:
            return scores
        votes, sums = (np.zeros((len(scores), len(self.classes_))) for _ in range(2))
        for column, (first, second) in enumerate(combinations(range(len(self.classes_)), 2)):
            wins = scores[:, column] >= 0
            votes[:, second] += wins
            votes[:, first] += ~wins
            sums[:, second] += scores[:, column]
            sums[:, first] -= scores[:, column]
        return votes + sums / (3 * (np.abs(sums) + 1))

    def _class_weights(self, y: Any) -> np.ndarray:
        return compute_class_weight(self.class_weight, classes=self.classes_, y=column_or_1d(y))

    def _rows(
        self, k: Similarity, A: Encoding, spectrum: Spectrum | None, costs: np.ndarray
    ) -> Callable[[np.ndarray], KernelRows]:
        """Return how a machine gets its kernel rows: from a matrix that all share, or computed as it goes."""
        if spectrum is not None:
            self.precision_ = "float64"
            gram = spectrum.absolute()
        else:
            A = A if self.hard else self._encoded_for_rows(k, A, costs)
            self.precision_ = f"float{8 * itemsize(A)}"
            n = count(A)
            if len(self.classes_) == 2 or n * n * itemsize(A) > self._engine.budget // 2:
                return lambda among: KernelRows(k, rows(A, among), self._engine, np.dtype(self.precision_), among)
            gram = np.asarray(k.blocks(A, engine=self._engine).whole())
        return lambda among: KernelRows.of_matrix(gram[np.ix_(among, among)])

    def _solve_pairs(
        self, rows_of: Callable[[np.ndarray], KernelRows], numbers: np.ndarray, costs: np.ndarray
    ) -> list[Pair]:
        """Return a machine for every two classes."""
        pairs = []
        for first, second in combinations(range(len(self.classes_)), 2):
            members = np.flatnonzero((numbers == first) | (numbers == second))
            sign = np.where(numbers[members] == second, 1.0, -1.0)
            if self.hard:
                machine = self._hard(rows_of(members), sign, members, numbers)
            else:
                machine = separate(rows_of(members), sign, costs[members], self.fit_intercept, self.tol)
            pairs.append(Pair(machine, members))
        return pairs

    def _hard(self, K: KernelRows, sign: np.ndarray, members: np.ndarray, numbers: np.ndarray) -> Machine:
        """Return the machine without violations; name examples in conflict where there is none."""
        try:
            return separate_hard(K.whole(), sign, self.fit_intercept)
        except ConflictError as conflict:
            where = "" if self.fit_intercept else " through the origin"
            what = f"a hyperplane{where} of the kernel's feature space with a margin above rounding"
            raise inseparable(what, members[conflict.positions], self.classes_[numbers]) from None

    def _scale(self, k: Similarity, A: Encoding, numbers: np.ndarray, pairs: list[Pair], weights: np.ndarray) -> float:
        """Return the scale of probabilities, from scores of training objects as if each had been left out."""
        if len(pairs) == 1:
            return temperature(pairs[0].machine.leave_one_out, numbers, weights)
        weighing = np.flatnonzero(weights)
        some = weighing[np.unique(np.linspace(0, len(weighing) - 1, CALIBRATED).astype(int))]
        blocks = k.blocks(rows(A, some), self._support, self._engine)
        scores = blocks.times(self.dual_coef_) + self.intercept_
        for column, pair in enumerate(pairs):
            inside = np.isin(some, pair.members)
            scores[inside, column] = pair.machine.leave_one_out[np.searchsorted(pair.members, some[inside])]
        return temperature(self._joined(scores), numbers[some], weights[some])


@dataclass(frozen=True)
class Pair:
    """The machine of two classes, and the positions of the examples that it learned from."""

    machine: Machine
    members: np.ndarray


class KernelSVR(RegressorMixin, SupportVectorMachine):
    r"""Support vector regression, solved exactly by its dual.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b| - \epsilon)`, with
    the same solver as :class:`KernelSVC`.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD is refused with its witness.
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
        kernel: Any = "gaussian",
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVR:
        """Learn from objects with numbers.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        sample_weight : sequence of float, optional
            Multiplies C for each example.
        """
        self._check_costs()
        if not np.isreal(self.epsilon) or not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}")
        X = self._checked(X, reset=True)
        y = column_or_1d(check_targets(self, X, y), warn=True)
        weights = check_weights(sample_weight, len(y))
        k, X, A = self._begin(X, sample_weight)
        costs = self._costs(weights)
        K = KernelRows(k, self._encoded_for_rows(k, A, costs), self._engine, np.dtype(self.precision_))
        machine = fit_tube(K, y, costs, float(self.epsilon), self.fit_intercept, self.tol)
        self._note([machine])
        self._keep(X, A, machine.coefficients)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each object."""
        return self._weighted(X) + self.intercept_
