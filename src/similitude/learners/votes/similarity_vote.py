"""SimilarityVote and AlignmentVote: classification by mean similarities to labeled examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from similitude.compute import Encoding, as_objects, check_objects
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, leads
from similitude.learners.votes.guarantees import compare_examples, of_alignment, of_vote, premises_of_votes
from similitude.scikit import (
    ScoreClassifier,
    all_or_nothing,
    check_class_weights,
    check_labels,
    check_weights,
    tensors_for_tensors,
)
from similitude.similarity import Similarity
from similitude.support import NONE, Guarantee, brief


class BaseVote(ClassifierMixin, KernelLearner):
    """A classifier that stores labeled examples and sums similarities to those of each class."""

    def _read(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the objects, their class numbers and their weights; set ``classes_`` and ``totals_``."""
        _ = self._engine  # validated before the first call of a similarity
        X = self._checked(X, reset=True)
        self.classes_, codes = check_labels(self, X, y)
        counts = check_weights(sample_weight, len(codes))
        self.totals_ = np.bincount(codes, counts)
        check_class_weights(self.classes_, codes, counts)
        return X, codes, counts

    def _remember(self, X: Any, A: Encoding, codes: np.ndarray, votes: np.ndarray) -> None:
        self._keep(X, A, votes[:, None] * (codes[:, None] == np.arange(len(self.classes_))))

    def _promised(
        self,
        k: Similarity,
        A: Encoding,
        codes: np.ndarray,
        counts: np.ndarray,
        votes: np.ndarray,
        promise: Callable[..., Guarantee],
    ) -> Guarantee:
        """Return what is promised; examples are compared only if nothing else speaks against it."""
        made = promise(premises_of_votes(self.similarity, counts, None))
        if made.grade == NONE:
            return made
        some, K = compare_examples(k, A, self._engine)
        premises = premises_of_votes(self.similarity, counts, float(np.abs(K).max()))
        return promise(premises, (K * votes[some], codes[some]))

    def mean_similarities(self, X: Any) -> np.ndarray:
        """Return the mean similarity of every object to the examples of each class, weighted if there are weights."""
        return self._weighted(X) / self.totals_


class SimilarityVote(ScoreClassifier, BaseVote):
    r"""Predict the class with the largest mean similarity to its examples.

    The score for two classes is :math:`\frac{1}{|S_+|}\sum_{x' \in S_+} w(x') K(x, x') - \frac{1}{|S_-|}\sum_{x' \in
    S_-} w(x') K(x, x')`, with :math:`w = 1` unless weights are given; several classes have a mean each, and the largest
    wins. If all objects but a share :math:`\epsilon` are on average more similar to their own class by
    :math:`\gamma`, then with :math:`\frac{8}{\gamma^2} \ln\frac{1}{\delta}` examples of each class the error is at most
    :math:`\epsilon + \delta`, with probability :math:`1 - \delta`. (Balcan and Blum, "On a Theory of Learning with
    Similarity Functions", Theorem 1, and footnote 3 for known weights; the constant is that of ``bounds.votes``. There
    a score of 0 is negative; here, as in all of this library, it is ``classes_[1]``.)

    All examples are kept, and a prediction compares with every one of them. The vote does not depend on the scale of
    the similarity; the theorem assumes values in [-1, 1], or :math:`\gamma` in units of the largest value.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any function. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    weights : sequence of float or callable, optional
        The reliability of each object as an example, from 0 to 1, known beforehand: a number for each example of
        ``fit``, or a function of an object. It multiplies similarities and, unlike `sample_weight`, does not enter the
        denominators.
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    totals_ : array
        The number of examples of each class, or the sum of their `sample_weight`.
    support_, support_objects_
        Positions in X of the examples with a vote, and the examples.
    dual_coef_ : array of shape (examples, classes)
        Their votes, in the column of their class.
    similarity_ : Similarity
        With data-dependent parameters resolved.
    guarantee_ : Guarantee
        The theorem's guarantee, for the smallest gap at which the number of examples suffices.

    Examples
    --------
    >>> from similitude.learners import SimilarityVote
    >>> words = SimilarityVote(lambda s, t: len(set(s) & set(t)))
    >>> words.fit(["aab", "ab", "xyz", "xz"], ["first", "first", "last", "last"]).predict(["abba", "zzx"])
    array(['first', 'last'], dtype='<U5')
    >>> from similitude import FromBlocks
    >>> from similitude.datasets import figure_3_1
    >>> problem = figure_3_1()
    >>> vote = SimilarityVote(FromBlocks(problem.kernel)).fit([0, 1, 2], problem.labels)
    >>> vote.predict([0, 1, 2])
    array([ 1, -1, -1])
    >>> vote.set_params(weights=[0, 1, 0.5]).fit([0, 1, 2], problem.labels).predict([0, 1, 2])
    array([ 1,  1, -1])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        weights: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.weights = weights
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SimilarityVote:
        """Store labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            The number of times that each example counts.
        """
        X, codes, counts = self._read(X, y, sample_weight)
        known = known_weights(self.weights, X, self._precomputed)
        k, X, A = self._start(X, None, sample_weight)
        self._remember(X, A, codes, counts * known)
        each = int(np.bincount(codes[counts > 0]).min())
        promise = partial(of_vote, each, len(self.classes_), self.weights is not None)
        self.guarantee_ = self._promised(k, A, codes, counts, known, promise)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return how much more similar each object is to ``classes_[1]``; for several classes the mean of each."""
        return leads(self.mean_similarities(X))


class AlignmentVote(ScoreClassifier, BaseVote):
    r"""Predict by the sign of :math:`E[l(x') K(x, x')]`: every example votes with its label, and counts once.

    The score for two classes, :math:`l` being -1 and +1, is :math:`f(x) = \frac1n \sum_j l_j K(x, x_j)`; several
    classes are treated one-vs-rest. Unlike in :class:`SimilarityVote`, a larger class has more weight. If the alignment
    :math:`A = E[l(x) l(x') K(x, x')]` is large, f is nearly always right: K has values in [-1, 1], so :math:`l f \le
    1`, its mean is A, and :math:`l f > 0` with probability at least A. (Balcan and Blum, "On a Theory of Learning with
    Similarity Functions", on alignment; Cristianini et al., "On Kernel-Target Alignment", 2001.) From n examples the
    error is at most :math:`1 - A + \sqrt{2 \ln(1/\delta) / n}`, with probability :math:`1 - \delta`.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any function. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    engine : Engine, optional

    Attributes
    ----------
    classes_, totals_, support_, support_objects_, dual_coef_, similarity_
        See :class:`SimilarityVote`.
    guarantee_ : Guarantee
        The guarantee for a given alignment.

    Examples
    --------
    >>> from similitude.learners import AlignmentVote, SimilarityVote
    >>> X, y = [[1.0], [2.0], [3.0], [-4.0]], ["plus", "plus", "plus", "minus"]
    >>> AlignmentVote("linear").fit(X, y).decision_function([[1.0]])
    array([2.5])
    >>> SimilarityVote("linear").fit(X, y).decision_function([[1.0]])
    array([6.])
    """

    def __init__(self, similarity: Any = "auto", *, engine: Engine | None = None) -> None:
        self.similarity = similarity
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AlignmentVote:
        """Store labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            The number of times that each example counts.
        """
        X, codes, counts = self._read(X, y, sample_weight)
        k, X, A = self._start(X, None, sample_weight)
        self._remember(X, A, codes, counts)
        promise = partial(of_alignment, int(np.count_nonzero(counts)), len(self.classes_))
        self.guarantee_ = self._promised(k, A, codes, counts, np.ones(len(codes)), promise)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the mean of labels times similarities: one score for two classes, one per class for several."""
        sums = self._weighted(X)
        if len(self.classes_) == 2:
            return (sums[:, 1] - sums[:, 0]) / self.totals_.sum()
        return (2 * sums - sums.sum(axis=1, keepdims=True)) / self.totals_.sum()


def known_weights(weights: Any, X: Any, precomputed: bool = False) -> np.ndarray:
    """Validate the weights of objects, from 0 to 1, given as numbers or as a function of an object; default ones.

    >>> known_weights(lambda word: len(word) / 10, ["kernel", "map"])
    array([0.6, 0.3])
    """
    n = check_objects(X)
    if weights is None:
        return np.ones(n)
    if callable(weights) and precomputed:
        raise ValueError("a precomputed matrix holds no objects for a function of weights: give a number per example")
    if callable(weights):
        values = np.empty(n)
        for i, x in enumerate(as_objects(X)):
            try:
                values[i] = weights(x)
            except Exception as error:
                raise ValueError(f"weights({brief(x)}) of example {i} is not a number: {error}") from error
    else:
        values = np.asarray(weights)
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise ValueError(f"weights must be {n} numbers, one for each example, got {brief(weights)}")
    values = values.astype(np.float64)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(bad):
        raise ValueError(f"weights must be from 0 to 1, that of example {bad[0]} is {values[bad[0]]:g}")
    if not values.any():
        raise ValueError("every weight is zero: no example has a vote")
    return values
