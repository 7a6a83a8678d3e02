"""The perceptron that asks for a margin, in the feature space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.compute.encodings import itemsize
from similitude.compute.engines import Engine
from similitude.learners.mistake_bounds import update_bound
from similitude.learners.perceptron_rules import Threshold
from similitude.learners.perceptron_streams import ScoreClassifier, whole_number
from similitude.learners.perceptron_walk import Examples, Walk
from similitude.scikit import all_or_nothing, check_labels
from similitude.similarity import Similarity

ROUNDING = {8: 1e-10, 4: 1e-5}
"""How far below 1 a computed product may be and count as 1, by the bytes of a kernel value."""

MOST_EPOCHS = 1000
"""Epochs after which a margin perceptron that walks until it is clean gives up."""


class MarginPerceptron(ScoreClassifier):
    r"""The perceptron that asks for a margin: learn wherever :math:`y \langle w, x\rangle < 1`.

    Examples have length 1: K(x, z) is divided by :math:`\sqrt{K(x, x) K(z, z)}`. It begins with :math:`w = y_1 x_1` and
    adds y x wherever :math:`y \langle w, x\rangle < 1`. If some separator has margin :math:`\gamma`, it updates
    :math:`3/\gamma^2` times at most, the first included, no w is longer than :math:`3/\gamma`, and cycled until nothing
    changes it has margin :math:`\gamma/3` or more. (Balcan and Blum, On a Theory of Learning with Similarity Functions,
    2006, Lemma 5.) A product that is below 1 by rounding alone counts as 1. Several classes are told from the rest one
    by one.

    Parameters
    ----------
    kernel : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    epochs : int or None
        How often it walks through the examples, in the order given. None: until an epoch is clean, with a warning
        after 1,000.
    engine : Engine, optional

    Attributes
    ----------
    updates_ : int
        How often it learned, over all classes where there are several.
    update_bound_ : MistakeBound
        The lemma's bound for the training examples, added up over classes; its ``value`` is None, with the ``reason``,
        where no margin is known.
    converged_ : bool
        Whether the last epoch changed nothing.
    n_iter_ : int
        Epochs, those included that could change nothing.
    margin_ : float or None
        The margin of w on the training examples, if it came to rest; of several classes the smallest.
    longest_ : float
        The length of the longest w on the way.
    classes_ : array
    support_ : array of int
        Positions in X of the examples that it learned from.
    support_objects_ : sequence
        These examples.
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        Their weights, divided by their lengths: the score of x is the weighted sum of K(x, x_j), which is the product
        of w with x at its own length.
    kernel_ : Similarity
        With what data had to fix.
    validity_ : Validity
        What is known of the kernel.

    Examples
    --------
    >>> from similitude.learners import MarginPerceptron
    >>> X = [[1., 0.], [0., 1.], [-1., 0.], [.6, .8], [.8, -.6]]
    >>> model = MarginPerceptron("linear", epochs=None).fit(X, [1, 1, -1, 1, 1])
    >>> model.updates_, model.margin_
    (6, 0.31622777)
    """

    def __init__(self, kernel: Any = "gaussian", *, epochs: int | None = 1, engine: Engine | None = None) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> MarginPerceptron:
        """Walk through the examples in their order.

        Parameters
        ----------
        X : sequence of objects
            For ``"precomputed"`` the square matrix of their similarities.
        y : sequence of labels
        """
        if self.epochs is not None:
            whole_number("epochs", self.epochs)
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        k, X, A = self._begin(X)
        lengths = _lengths(k, A)
        examples = Examples(k, A, self._engine, lengths)
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        rule = Threshold(1.0 - ROUNDING[itemsize(A)], strict=True)
        walks = [self._run(Walk(examples, np.where(numbers == c, 1.0, -1.0), rule)) for c in positive]
        self._report(examples, walks)
        weights = walks[0].weights if len(walks) == 1 else np.stack([walk.weights for walk in walks], axis=1)
        self._keep(X, A, (weights.T / lengths).T)
        return self

    def _run(self, walk: Walk) -> Walk:
        return walk.run_until_clean(MOST_EPOCHS) if self.epochs is None else walk.run(int(self.epochs))

    def _report(self, examples: Examples, walks: list[Walk]) -> None:
        margins = [walk.margin for walk in walks]
        known = [margin for margin in margins if margin is not None]
        self.updates_ = sum(sum(walk.mistakes) for walk in walks)
        self.n_iter_ = max(len(walk.mistakes) for walk in walks)
        self.converged_ = all(walk.clean for walk in walks)
        self.margin_ = min(known) if len(known) == len(margins) else None
        self.longest_ = float(np.sqrt(max(walk.longest for walk in walks)))
        self.update_bound_ = update_bound(examples, [walk.y for walk in walks], margins)
        if self.epochs is None and not self.converged_:
            warnings.warn(
                f"MarginPerceptron still learned after {MOST_EPOCHS} epochs: the classes may not be separable",
                ConvergenceWarning,
                stacklevel=3,
            )


def _lengths(k: Similarity, A: Any) -> np.ndarray:
    """Return sqrt(K(x, x)) of every example; refuse those of length zero."""
    squares = np.asarray(k.diagonal(A), np.float64)
    bad = np.flatnonzero(~(squares > 0) | ~np.isfinite(squares))
    if len(bad):
        raise ValueError(
            f"object {bad[0]}: K(x, x) = {squares[bad[0]]:.6g}, so it cannot be scaled to length 1, which the margin "
            f"perceptron needs: leave it out, or add a constant to the kernel, k + 1"
        )
    return np.sqrt(squares)
