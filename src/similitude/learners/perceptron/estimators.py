"""KernelPerceptron, for batches and streams, and MarginPerceptron, in the feature space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.compute import Encoding, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, StreamClassifier, without_single_column
from similitude.learners.limits import MAX_EPOCHS, MOST_EPOCHS
from similitude.learners.perceptron.training import (
    BinaryRule,
    EncodedExamples,
    MistakeBound,
    MulticlassRule,
    PerceptronTraining,
    check_finite,
    lengthening,
    mistake_bound,
    no_bound,
)
from similitude.scikit import ScoreClassifier, all_or_nothing, demand_kernel_on, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import check_choice, check_integer
from similitude.theory import margin_perceptron_updates


class KernelPerceptron(StreamClassifier):
    r"""The perceptron in the feature space of a kernel: on a mistake, remember the example.

    The score of x is :math:`\sum_i a_i K(x_i, x)` over the remembered examples. An example with label :math:`y = \pm 1`
    that is misclassified is remembered with :math:`a = y`, which adds :math:`y\,\phi(x)` to an implicit weight vector;
    the mistakes are exactly those of the perceptron on :math:`\phi`. If all examples lie in a ball of radius R and some
    separator through the origin has margin :math:`\gamma` on them, the perceptron makes at most :math:`(R/\gamma)^2`
    mistakes, in whatever order the examples come. (Balcan, lecture notes 10-315, Theorem 1 and section 1.2; Lecture 6:
    Kernels.) Scores are sums of floating-point numbers, so rounding may decide what would be a tie in exact arithmetic.

    Several classes have one weight vector each. On a mistake the example is added to its own class and subtracted from
    the strongest other one, the first on a tie; the bound is then :math:`2R^2/\gamma^2` for a margin of the lead over
    the strongest other class. (Crammer and Singer, Ultraconservative Online Algorithms for Multiclass Problems, 2003.)

    Parameters
    ----------
    kernel : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    epochs : int
        Number of passes of ``fit`` over the examples, in the order given.
    tie : {"le0", "ge0"}
        How a score of zero counts: ``"le0"`` updates where y times the score is <= 0, so always on the first example;
        ``"ge0"`` predicts the positive class there, and updates where that is wrong. For several classes: update
        unless the true class is ahead of all others, or only where the prediction, the first on a tie, is wrong.
    average : bool
        Predict by the average of all hypotheses, each counted once for the example that made it and for every example
        that it survived, rather than by the last one. (Freund and Schapire, Large Margin Classification Using the
        Perceptron Algorithm, 1999.)
    budget : int, optional
        Largest number of remembered objects, for infinite streams. When it is exceeded, the one whose last mistake is
        oldest is forgotten, also by the average; there is no mistake bound then. (Dekel, Shalev-Shwartz and Singer,
        The Forgetron, 2008, prove one for the same rule with weights that shrink before they are dropped.)
        `OnlineKernelClassifier` forgets nothing: it projects.
    engine : Engine, optional

    Attributes
    ----------
    mistakes_ : int
        Number of updates; on a tie an update may happen although the prediction would be right.
    mistakes_per_epoch_ : list of int
        A stream is one epoch: ``partial_fit`` and ``learn_one`` add to the last entry.
    mistake_bound_ : MistakeBound
        The theorem's bound for the training examples. Its ``margin`` is attained by a separator of them: by this
        perceptron, if its last epoch was clean, or by one that is sought among up to 1,000 examples (500 for a Python
        function). Its ``value`` is None, with the ``reason``, if no margin is known, for a stream, and if examples were
        forgotten.
    classes_ : array
    support_ : array of int
        Positions of the remembered examples in X, or in the stream.
    support_objects_ : sequence
        The remembered examples.
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        Their weights; averaged if `average`.
    n_seen_ : int
        Number of examples in the stream so far.
    kernel_ : Similarity
        With data-dependent parameters resolved.
    validity_ : Validity
        The verdict on the kernel.

    Examples
    --------
    >>> from similitude.kernels import Polynomial
    >>> from similitude.learners import KernelPerceptron
    >>> X = [[1., 1.], [1., -1.], [-1., -1.], [-1., 1.]]
    >>> model = KernelPerceptron(Polynomial(degree=2, coef0=0.0), epochs=2).fit(X, ["same", "other", "same", "other"])
    >>> model.mistakes_per_epoch_, model.mistake_bound_.value
    ([2, 0], 2)
    >>> model.predict([[3., 2.], [-3., 2.]]).tolist()
    ['same', 'other']

    One example at a time:

    >>> stream = KernelPerceptron("linear")
    >>> for x, y in [([1., 0.], True), ([-1., 0.], False), ([0., -1.], False)]:
    ...     stream = stream.learn_one(x, y)
    >>> stream.predict_one([1., 2.]), stream.mistakes_
    (True, 2)
    """

    n_seen_: int
    mistakes_per_epoch_: list[int]
    mistake_bound_: MistakeBound
    _weights: np.ndarray
    _moments: np.ndarray
    _time: int
    _squared_length: float

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        epochs: int = 1,
        tie: str = "le0",
        average: bool = False,
        budget: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.tie = tie
        self.average = average
        self.budget = budget
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> KernelPerceptron:
        """Train on the examples in their order, `epochs` times, forgetting earlier training.

        Parameters
        ----------
        X : sequence of objects
            For ``"precomputed"`` the square matrix of their similarities.
        y : sequence of labels
        """
        self._check_params()
        X, codes = self._labeled(X, y)
        training = self._train(*self._begin_stream(X), codes, int(self.epochs))
        self.mistakes_per_epoch_ = training.mistakes
        if np.isnan(training.squared_length):
            self.mistake_bound_ = no_bound("examples were forgotten to keep the budget, which the theorem rules out")
        else:
            self.mistake_bound_ = mistake_bound(training.examples, [training.y], training.rule, [training.margin])
        return self

    def _learn_batch(self, k: Similarity, X: Any, A: Encoding, targets: np.ndarray) -> None:
        self._count(self._train(k, X, A, targets, 1).mistakes[0])

    def _learn_encoded(self, k: Similarity, X: Any, A: Encoding, target: int) -> None:
        """Learn from one encoded example, without the machinery of a batch."""
        rule = self._rule()
        code = rule.targets(np.array([target]))
        scores = self._sums_of_one(A, self._weights)
        wrong = bool(rule.wrong(scores, code)[0])
        if wrong:
            steps = rule.steps(scores, code)
            diagonal = np.asarray(k.diagonal(A), np.float64)
            self._keep_more(k, X, A, np.array([self.n_seen_]))
            self._weights = np.concatenate([self._weights, steps])
            self._moments = np.concatenate([self._moments, steps * self._time])
            self._squared_length += float(lengthening(steps, scores, diagonal)[0])
            if min(self._squared_length, diagonal[0]) < 0:
                self._demand_possible(k)
            if self.budget is not None and len(self.support_) > self.budget:
                self._keep_only(np.arange(len(self.support_) - int(self.budget), len(self.support_)))
                self._squared_length = np.nan
        self.n_seen_ += 1
        self._time += 1
        self._count(int(wrong))

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class for several classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(self._weighted(X))

    @property
    def dual_coef_(self) -> np.ndarray:  # type: ignore[override]
        """The weights of the remembered examples."""
        if not self.average:
            return self._weights
        return self._weights - self._moments / max(1, self._time)

    @property
    def mistakes_(self) -> int:
        """Number of updates."""
        return sum(self.mistakes_per_epoch_)

    def _check_params(self) -> None:
        check_integer("epochs", self.epochs, 1, MOST_EPOCHS)
        if self.budget is not None:
            check_integer("budget", self.budget)
        check_choice("tie", self.tie, ("le0", "ge0"))

    def _rule(self) -> MulticlassRule:
        if len(self.classes_) > 2:
            return MulticlassRule(len(self.classes_), self.tie)
        return BinaryRule(self.tie)

    def _begin_stream(self, X: Any) -> tuple[Similarity, Any, Encoding]:
        k, X, A = super()._begin_stream(X)
        self._weights = np.empty((0, *self._rule().outputs))
        self._moments = self._weights.copy()
        self._time = 0
        self._squared_length = 0.0
        return k, X, A

    def _train(self, k: Similarity, X: Any, A: Encoding, codes: np.ndarray, epochs: int) -> PerceptronTraining:
        rule = self._rule()
        batch = np.arange(len(codes))
        names = np.concatenate([self.support_, batch])
        if len(self.support_):
            self._keep_more(k, X, A, self.n_seen_ + batch)
        else:
            self.support_objects_ = X
            self._support = A
            self.support_ = self.n_seen_ + batch
        examples = EncodedExamples(k, self._support, self._engine, names)
        targets = rule.targets(codes)
        training = PerceptronTraining(examples, targets, rule, self.budget)
        training.weights[: training.first] = self._weights
        training.moments[: training.first] = self._moments
        training.time = self._time
        training.squared_length = self._squared_length
        kept = training.run(epochs).remembered()
        self._weights = training.weights
        self._moments = training.moments
        self._keep_only(kept)
        self.n_seen_ += len(codes)
        self._time = training.time
        self._squared_length = training.squared_length
        if training.impossible:
            self._demand_possible(k)
        return training

    def _keep_only(self, which: np.ndarray) -> None:
        self.support_objects_ = take(self.support_objects_, which)
        self._support = rows(self._support, which)
        self.support_ = self.support_[which]
        self._weights = self._weights[which]
        self._moments = self._moments[which]

    def _demand_possible(self, k: Similarity) -> None:
        """Raise NotAKernelError if the remembered examples contain a witness; rounding alone does not."""
        if self.validity_.verdict != "VALID":
            some = np.arange(min(len(self.support_), 1000))
            objects = take(self.support_objects_, some)
            demand_kernel_on(k, rows(self._support, some), objects, self.support_[some], self.n_seen_, self._engine)

    def _count(self, mistakes: int) -> None:
        so_far = getattr(self, "mistakes_per_epoch_", [0])
        self.mistakes_per_epoch_ = [*so_far[:-1], so_far[-1] + mistakes]
        self.mistake_bound_ = no_bound("the examples of a stream are not kept, so their margin is not known")

    def _scores_of_one(self, A: Encoding) -> Any:
        return self._sums_of_one(A, self.dual_coef_)[0]

    def _sums_of_one(self, A: Encoding, weights: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(self._near(A)[None] @ weights)


class MarginPerceptron(ScoreClassifier, KernelLearner):
    r"""The perceptron with a margin: update wherever :math:`y \langle w, x\rangle < 1`.

    Examples are scaled to length 1: K(x, z) is divided by :math:`\sqrt{K(x, x) K(z, z)}`. It starts with
    :math:`w = y_1 x_1` and adds y x wherever :math:`y \langle w, x\rangle < 1`. If some separator has margin
    :math:`\gamma`, it makes at most :math:`3/\gamma^2` updates, including the first, no w is longer than
    :math:`3/\gamma`, and after a clean epoch its margin is at least :math:`\gamma/3`. (Balcan and Blum, On a Theory of
    Learning with Similarity Functions, 2006, Lemma 5.) A product that is below 1 by rounding alone counts as 1. Several
    classes are classified one-vs-rest.

    Parameters
    ----------
    kernel : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    epochs : int or None
        Number of passes over the examples, in the order given. None: until an epoch is clean, with a warning after
        1,000.
    engine : Engine, optional

    Attributes
    ----------
    updates_ : int
        Number of updates, summed over classes if there are several.
    update_bound_ : MistakeBound
        The lemma's bound for the training examples, summed over classes; its ``value`` is None, with the ``reason``,
        if no margin is known.
    converged_ : bool
        Whether the last epoch changed nothing.
    n_iter_ : int
        Number of epochs, including those after a clean one.
    margin_ : float or None
        The margin of w on the training examples, if it converged; the smallest one for several classes.
    longest_ : float
        The length of the longest w during training.
    classes_ : array
    support_ : array of int
        Positions in X of the examples that caused updates.
    support_objects_ : sequence
        These examples.
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        Their weights, divided by their lengths: the score of x is the weighted sum of K(x, x_j), which is the product
        of w with x at its own length.
    kernel_ : Similarity
        With data-dependent parameters resolved.
    validity_ : Validity
        The verdict on the kernel.

    Examples
    --------
    >>> from similitude.learners import MarginPerceptron
    >>> X = [[1., 0.], [0., 1.], [-1., 0.], [.6, .8], [.8, -.6]]
    >>> model = MarginPerceptron("linear", epochs=None).fit(X, [1, 1, -1, 1, 1])
    >>> model.updates_, model.margin_
    (6, 0.31622777)
    """

    def __init__(self, kernel: Any = "auto", *, epochs: int | None = 1, engine: Engine | None = None) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> MarginPerceptron:
        """Train on the examples in their order.

        Parameters
        ----------
        X : sequence of objects
            For ``"precomputed"`` the square matrix of their similarities.
        y : sequence of labels
        """
        if self.epochs is not None:
            check_integer("epochs", self.epochs, 1, MOST_EPOCHS)
        X, codes = self._labeled(X, y)
        k, X, A = self._start(X, kernel=True)
        lengths = _lengths(k, A)
        examples = EncodedExamples(k.normalized(), (A, 1 / lengths), self._engine, np.arange(len(codes)))
        rounding = 1e-5 if itemsize(A) == 4 else 1e-10
        rule = BinaryRule(threshold=1.0 - rounding, strict=True)
        runs = []
        for signs in self._signs(codes).T:
            training = PerceptronTraining(examples, np.ascontiguousarray(signs), rule)
            runs.append(training.run(int(self.epochs or MAX_EPOCHS), until_clean=self.epochs is None))
        margins = [run.margin for run in runs]
        known = [margin for margin in margins if margin is not None]
        self.margin_ = min(known) if len(known) == len(margins) else None
        self.updates_ = sum(sum(run.mistakes) for run in runs)
        self.n_iter_ = max(len(run.mistakes) for run in runs)
        self.converged_ = all(run.clean for run in runs)
        self.longest_ = float(np.sqrt(max(run.longest for run in runs)))
        self.update_bound_ = mistake_bound(
            examples,
            [run.y for run in runs],
            BinaryRule(),
            margins,
            lambda _, margin: margin_perceptron_updates(margin),
        )
        if self.epochs is None and not self.converged_:
            warnings.warn(
                f"MarginPerceptron did not converge in {MAX_EPOCHS} epochs: the classes may not be separable",
                ConvergenceWarning,
                stacklevel=3,
            )
        weights = without_single_column(np.stack([run.weights for run in runs], axis=1))
        self._keep(X, A, (weights.T / lengths).T)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class for several classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(self._weighted(X))


def _lengths(k: Similarity, A: Encoding) -> np.ndarray:
    """Return sqrt(K(x, x)) of every example; examples of length zero are refused."""
    squares = np.asarray(k.diagonal(A), np.float64)
    bad = np.flatnonzero(~(squares > 0) | ~np.isfinite(squares))
    if len(bad):
        raise ValueError(
            f"object {bad[0]}: K(x, x) = {squares[bad[0]]:.6g}, so it cannot be scaled to length 1, which the margin "
            f"perceptron needs: leave it out, or add a constant to the kernel, k + 1"
        )
    return np.sqrt(squares)
