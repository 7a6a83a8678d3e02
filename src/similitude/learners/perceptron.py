"""The perceptron that sees its examples through a kernel only."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.engines import Engine
from similitude.learners.mistake_bounds import mistake_bound, no_bound
from similitude.learners.perceptron_rules import TIES
from similitude.learners.perceptron_streams import StreamLearner, whole_number
from similitude.scikit import all_or_nothing, check_labels
from similitude.support.errors import brief


class KernelPerceptron(StreamLearner):
    r"""The perceptron in the feature space of a kernel: on a mistake, remember the example.

    The score of x is :math:`\sum_i a_i K(x_i, x)` over the remembered examples. An example with label :math:`y = \pm 1`
    on which the perceptron is wrong is remembered with :math:`a = y`, which adds :math:`y\,\phi(x)` to a weight vector
    that is never written down; the mistakes are exactly those of the perceptron on :math:`\phi`. If all examples lie in
    a ball of radius R and some separator through the origin has them on their right sides at the distance
    :math:`\gamma` or more, it makes at most :math:`(R/\gamma)^2` mistakes, in whatever order they come. (Balcan,
    lecture notes 10-315, Theorem 1 and section 1.2; Lecture 6: Kernels.) Scores are sums of floating-point numbers, so
    where exact arithmetic would find a tie, rounding may decide.

    Several classes have one weight vector each. On a mistake the example is added to its own class and taken from the
    strongest other one, the first on a tie; the bound is then :math:`2R^2/\gamma^2` for a margin of the lead over the
    strongest other class. (Crammer and Singer, Ultraconservative Online Algorithms for Multiclass Problems, 2003.)

    Parameters
    ----------
    kernel : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    epochs : int
        How often ``fit`` walks through the examples, in the order given.
    tie : {"le0", "ge0"}
        What a score of zero is: ``"le0"`` learns where y times the score is <= 0, so always from the first example;
        ``"ge0"`` predicts the positive class there, and learns where that is wrong. Of several classes: learn where the
        true one is not ahead of all others, or only where the prediction, the first on a tie, is wrong.
    average : bool
        Predict by the average of all hypotheses, each counted once for every example that it survived and the one that
        made it, rather than by the last one. (Freund and Schapire, Large Margin Classification Using the Perceptron
        Algorithm, 1999.)
    budget : int, optional
        Objects at most that are remembered, for streams without end. When one more comes, the one whose last mistake is
        oldest is forgotten, also by the average. No bound is claimed then. (Dekel, Shalev-Shwartz and Singer, The
        Forgetron, 2008, prove one for the same rule with weights that shrink before they go.)
    engine : Engine, optional

    Attributes
    ----------
    mistakes_ : int
        How often it learned; on a tie it may have learned from what it would have predicted.
    mistakes_per_epoch_ : list of int
        A stream is one epoch: ``partial_fit`` and ``learn_one`` add to the last entry.
    mistake_bound_ : MistakeBound
        The theorem's bound for the training examples. Its ``margin`` is one that a separator was seen to have on them:
        this perceptron, if its last epoch was clean, or one that is sought among up to 1,000 examples (500 for a Python
        function). Its ``value`` is None, with the ``reason``, where no margin is known, for a stream, and where
        something was forgotten.
    classes_ : array
    support_ : array of int
        Positions of the remembered examples in X, or in the stream.
    support_objects_ : sequence
        The remembered examples.
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        Their weights; averaged if `average`.
    n_seen_ : int
        Examples in the stream so far.
    kernel_ : Similarity
        With what data had to fix.
    validity_ : Validity
        What is known of the kernel.

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

    def __init__(
        self,
        kernel: Any = "gaussian",
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
        """Walk through the examples in their order, `epochs` times, from nothing.

        Parameters
        ----------
        X : sequence of objects
            For ``"precomputed"`` the square matrix of their similarities.
        y : sequence of labels
        """
        self._check_params()
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        k, X, A = self._begin(X)
        walk = self._walk(k, A, numbers, None).run(int(self.epochs))
        self._remember(walk, self._empty_memory(X, A), X)
        self.mistakes_per_epoch_ = walk.mistakes
        if np.isnan(walk.squared_length):
            self.mistake_bound_ = no_bound(
                "examples were forgotten to keep the budget, and the theorem forgets nothing"
            )
        else:
            self.mistake_bound_ = mistake_bound(walk.examples, walk.y, walk.rule, walk.margin)
        return self

    def _check_params(self) -> None:
        whole_number("epochs", self.epochs)
        if self.budget is not None:
            whole_number("budget", self.budget)
        if self.tie not in TIES:
            raise ValueError(f"tie must be 'le0' or 'ge0', got {brief(self.tie)}")
