"""SimilarityVote and AlignmentVote: labeled examples vote by how similar they are on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.engines import Engine
from similitude.learners.votes.base import Scoring, known_weights
from similitude.learners.votes.guarantees import obstacle, of_alignment, of_vote
from similitude.scikit import all_or_nothing


class SimilarityVote(Scoring):
    r"""The class to whose examples an object is on average most similar.

    The score for two classes is :math:`\frac{1}{|S_+|}\sum_{x' \in S_+} w(x') K(x, x') - \frac{1}{|S_-|}\sum_{x' \in
    S_-} w(x') K(x, x')`, with :math:`w = 1` unless weights are known; several classes have a mean each, and the largest
    wins. If all objects but a share :math:`\epsilon` are on average more similar to their own class by
    :math:`\gamma`, then :math:`\frac{8}{\gamma^2} \ln\frac{1}{\delta}` examples of each class leave an error of at most
    :math:`\epsilon + \delta`, with probability :math:`1 - \delta`. (Balcan and Blum, "On a Theory of Learning with
    Similarity Functions", Theorem 1, and footnote 3 for known weights; the constant is that of ``bounds.votes``. There
    a score of 0 is negative; here, as in all of this library, it is ``classes_[1]``.)

    All examples are kept, and a prediction compares with every one. The size of the values does not matter to the vote;
    the theorem speaks of values in [-1, 1], and of others if :math:`\gamma` is counted in units of the largest.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    weights : sequence of float or callable, optional
        How much each object is to be trusted as an example, from 0 to 1, known beforehand: a number for each example of
        ``fit``, or a function that turns one object into such a number. It multiplies similarities, and unlike
        `sample_weight` it does not count in the denominators.
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    totals_ : array
        How many examples each class has, or what their `sample_weight` adds up to.
    support_, support_objects_
        Positions in X of the examples with a vote, and they themselves.
    dual_coef_ : array of shape (examples, classes)
        The votes of these, in the column of their class.
    similarity_ : Similarity
        With what data had to fix.
    guarantee_ : Guarantee
        What the theorem promises, for the smallest gap at which there are examples enough.

    Examples
    --------
    >>> from similitude.learners.votes import SimilarityVote
    >>> words = SimilarityVote(lambda s, t: len(set(s) & set(t)))
    >>> words.fit(["aab", "ab", "xyz", "xz"], ["first", "first", "last", "last"]).predict(["abba", "zzx"])
    array(['first', 'last'], dtype='<U5')
    >>> from similitude import FromBlocks
    >>> from similitude.data.datasets import figure_3_1
    >>> problem = figure_3_1()
    >>> vote = SimilarityVote(FromBlocks(problem.kernel)).fit([0, 1, 2], problem.labels)
    >>> vote.predict([0, 1, 2])
    array([ 1, -1, -1])
    >>> vote.set_params(weights=[0, 1, 0.5]).fit([0, 1, 2], problem.labels).predict([0, 1, 2])
    array([ 1,  1, -1])
    """

    def __init__(
        self,
        similarity: Any = "gaussian",
        *,
        weights: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.weights = weights
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SimilarityVote:
        """Remember labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            How often each example counts: a whole number equals repetition.
        """
        X, numbers, counts = self._read(X, y, sample_weight)
        known = known_weights(self.weights, X, self._precomputed)
        _, X, A = self._start(X, None, sample_weight)
        self._remember(X, A, numbers, counts * known)
        each = int(np.bincount(numbers[counts > 0]).min())
        why_not = obstacle(self.similarity, counts)
        self.guarantee_ = of_vote(each, len(self.classes_), self.weights is not None, why_not)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return by how much an object is more similar to ``classes_[1]``; of several classes the mean of each.

        Parameters
        ----------
        X : sequence of objects
        """
        means = self.mean_similarities(X)
        return means[:, 1] - means[:, 0] if len(self.classes_) == 2 else means


class AlignmentVote(Scoring):
    r"""The sign of :math:`E[l(x') K(x, x')]`: every example votes with its label, and counts once.

    The score for two classes, :math:`l` being -1 and +1, is :math:`f(x) = \frac1n \sum_j l_j K(x, x_j)`; of several
    each has its own, its label against all others. Unlike :class:`SimilarityVote` the commoner class weighs more. If
    the alignment :math:`A = E[l(x) l(x') K(x, x')]` is large, f is right nearly always: K has values in [-1, 1], so
    :math:`l f \le 1`, its mean is A, and :math:`l f > 0` on a share A at least. (Balcan and Blum, "On a Theory of
    Learning with Similarity Functions", on alignment; Cristianini et al., "On Kernel-Target Alignment", 2001.) From n
    examples the error is at most :math:`1 - A + \sqrt{2 \ln(1/\delta) / n}`, with probability :math:`1 - \delta`.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    engine : Engine, optional

    Attributes
    ----------
    classes_, totals_, support_, support_objects_, dual_coef_, similarity_
        See :class:`SimilarityVote`.
    guarantee_ : Guarantee
        What a given alignment promises.

    Examples
    --------
    >>> from similitude.learners.votes import AlignmentVote, SimilarityVote
    >>> X, y = [[1.0], [2.0], [3.0], [-4.0]], ["plus", "plus", "plus", "minus"]
    >>> AlignmentVote("linear").fit(X, y).decision_function([[1.0]])
    array([2.5])
    >>> SimilarityVote("linear").fit(X, y).decision_function([[1.0]])
    array([6.])
    """

    def __init__(self, similarity: Any = "gaussian", *, engine: Engine | None = None) -> None:
        self.similarity = similarity
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AlignmentVote:
        """Remember labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            How often each example counts: a whole number equals repetition.
        """
        X, numbers, counts = self._read(X, y, sample_weight)
        _, X, A = self._start(X, None, sample_weight)
        self._remember(X, A, numbers, counts)
        n = int(np.count_nonzero(counts))
        self.guarantee_ = of_alignment(n, len(self.classes_), obstacle(self.similarity, counts))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the mean of labels times similarities: one for two classes, one per class for several.

        Parameters
        ----------
        X : sequence of objects
        """
        sums = self._sums(*self._ask(X))
        if len(self.classes_) == 2:
            return (sums[:, 1] - sums[:, 0]) / self.totals_.sum()
        return (2 * sums - sums.sum(axis=1, keepdims=True)) / self.totals_.sum()
