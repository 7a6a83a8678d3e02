"""MarginPerceptron: the perceptron that updates wherever the margin is below 1, in the feature space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.compute import Encoding, itemsize
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, class_signs, without_single_column
from similitude.learners.limits import MAX_EPOCHS, MOST_EPOCHS
from similitude.learners.perceptron.mistake_bounds import update_bound
from similitude.learners.perceptron.training import BinaryRule, EncodedExamples, PerceptronTraining, check_finite
from similitude.scikit import ScoreClassifier, all_or_nothing, check_labels, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import check_integer


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
        X = self._checked(X, reset=True)
        self.classes_, codes = check_labels(self, X, y)
        k, X, A = self._start(X, kernel=True)
        lengths = _lengths(k, A)
        examples = EncodedExamples(k, A, self._engine, np.arange(len(codes)), lengths)
        rounding = 1e-5 if itemsize(A) == 4 else 1e-10
        rule = BinaryRule(threshold=1.0 - rounding, strict=True)
        runs = []
        for signs in class_signs(codes, len(self.classes_)).reshape(len(codes), -1).T:
            training = PerceptronTraining(examples, np.ascontiguousarray(signs), rule)
            runs.append(training.run(int(self.epochs or MAX_EPOCHS), until_clean=self.epochs is None))
        self._set_figures(examples, runs)
        weights = without_single_column(np.stack([run.weights for run in runs], axis=1))
        self._keep(X, A, (weights.T / lengths).T)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class for several classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(self._weighted(X))

    def _set_figures(self, examples: EncodedExamples, runs: list[PerceptronTraining]) -> None:
        margins = [run.margin for run in runs]
        known = [margin for margin in margins if margin is not None]
        self.margin_ = None
        if len(known) == len(margins):
            self.margin_ = min(known)
        self.updates_ = sum(sum(run.mistakes) for run in runs)
        self.n_iter_ = max(len(run.mistakes) for run in runs)
        self.converged_ = all(run.clean for run in runs)
        self.longest_ = float(np.sqrt(max(run.longest for run in runs)))
        self.update_bound_ = update_bound(examples, [run.y for run in runs], margins)
        if self.epochs is None and not self.converged_:
            warnings.warn(
                f"MarginPerceptron did not converge in {MAX_EPOCHS} epochs: the classes may not be separable",
                ConvergenceWarning,
                stacklevel=3,
            )


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
