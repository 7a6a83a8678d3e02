"""WeakSimilarityVote: a rule that answers by chance, right a little more often than not."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, as_objects, is_table, keys
from similitude.compute.engines import Engine
from similitude.learners.votes.base import Voting
from similitude.learners.votes.coins import coins
from similitude.learners.votes.guarantees import obstacle, of_weak_vote
from similitude.learners.votes.pair_means import PairMeans
from similitude.scikit import all_or_nothing
from similitude.similarity import Similarity
from similitude.similarity.adapters import Precomputed
from similitude.support.errors import brief
from similitude.support.randomness import generator

ROUNDING = 1e-6
"""How far rounding may carry a probability beyond 0 and 1."""


class WeakSimilarityVote(Voting):
    r"""Answers by chance, a little more often with the class to which an object is more similar.

    The answer is + with probability :math:`(1 + \tilde g(x))/2`, where :math:`\tilde g(x) = \frac12 [\frac{1}{|S_+|}
    \sum_{x' \in S_+} K(x, x') - \frac{1}{|S_-|} \sum_{x' \in S_-} K(x, x')]`. For this it is enough that similarities
    are larger within classes than between them on average over all pairs, by :math:`\gamma`; single objects may be more
    similar to the wrong class. (Balcan and Blum, "On a Theory of Learning with Similarity Functions", Definition 5 and
    Theorem 8.) With C classes, the class c is answered with probability :math:`\frac1C + \frac{1}{2(C-1)} [\bar K_c(x)
    - \frac1C \sum_k \bar K_k(x)]`, where :math:`\bar K_c(x)` is the mean similarity to its examples.

    As printed, the theorem is false. It speaks of the plain error and of pairs as they come, and where one class is
    common both are ruled by that class: the rule can err on more than half (``datasets.unbalanced``). True is that, if
    the gap is :math:`\gamma` with all classes counting alike, the mean of the classes' errors is at most
    :math:`1 - \frac1C - \frac{\gamma}{4C}` with probability :math:`1 - \delta`, from :math:`\frac{16}{\gamma^2}
    \ln\frac1\delta` examples of each. The advantage can still lie with a rare class alone, and the plain error above
    1/2. So by default, ``balanced``, each class has an offset, taken from the similarities among the examples (none is
    compared with itself), by which all classes are answered right equally often: then every mixture of the classes has
    that error. Offsets add up to 0 and do not change the mean of the classes' errors; but, so that no probability can
    become negative, all advantages, and with them :math:`\gamma` in the bound, are divided by ``shrink_``, 1 plus as
    much as offsets take away: 3 - 2/C at most, near 1 where classes are alike.

    There is no `sample_weight`: of an example that counts for a part there is no whole to leave out.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    balanced : bool
        Answer all classes right equally often, as far as the examples show. False: the rule as printed.
    random_state : int, optional
        Fixes the answers. The same object has the same answer in every call, whatever stands beside it; only copies of
        it in one call have chances of their own. (With ``"precomputed"`` an object is known by its row.)
    engine : Engine, optional

    Attributes
    ----------
    classes_, totals_, support_, support_objects_, dual_coef_, similarity_
        See :class:`SimilarityVote`.
    scale_ : float
        Similarities are divided by this: the largest magnitude among the examples if above 1, or else 1. New objects
        may exceed it; where no probability results, that is an error and nothing is cut off.
    class_similarities_ : array of shape (classes, classes)
        Mean similarities, after division, of examples of one class (row) to others of one class (column).
    gap_ : float
        By how much these are larger within classes than between them: an estimate of :math:`\gamma`.
    offsets_, shrink_
        See above; 0 and 1 unless balanced.
    guarantee_ : Guarantee
        What the theorem promises, for the smallest gap at which there are examples enough.

    Examples
    --------
    >>> from similitude import FromBlocks
    >>> from similitude.data.datasets import two_points
    >>> from similitude.learners.votes import WeakSimilarityVote
    >>> problem = two_points()
    >>> drawn = problem.draw(2000, random_state=0)
    >>> model = WeakSimilarityVote(FromBlocks(problem.kernel)).fit(drawn, problem.labels[drawn])
    >>> bool(abs(model.gap_ - 0.5) < 0.05), bool(abs(model.score(drawn, problem.labels[drawn]) - 0.625) < 0.05)
    (True, True)
    """

    def __init__(
        self,
        similarity: Any = "gaussian",
        *,
        balanced: bool = True,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.balanced = balanced
        self.random_state = random_state
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> WeakSimilarityVote:
        """Remember labeled objects, and compare all pairs of them once.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        """
        if not isinstance(self.balanced, (bool, np.bool_)):
            raise ValueError(f"balanced must be True or False, got {brief(self.balanced)}")
        X, numbers, counts = self._read(X, y)
        if self.balanced and (self.totals_ == 1).any():
            single = self.classes_[self.totals_ == 1].tolist()[0]
            raise ValueError(
                f"class {single!r} has one example, and how similar its objects are to each other cannot be told: "
                f"add an example, leave the class out, or use balanced=False"
            )
        k, X, A = self._start(X, self.random_state)
        self._seed = int(generator(self.random_state).integers(2**63))
        self._remember(X, A, numbers, counts)
        self._weigh(PairMeans.of(k, A, self.dual_coef_, self._engine))
        each, C = int(self.totals_.min()), len(self.classes_)
        why_not = obstacle(self.similarity, counts)
        self.guarantee_ = of_weak_vote(each, C, self.scale_, self.shrink_, why_not)
        return self

    def _weigh(self, pairs: PairMeans) -> None:
        """Set scale, offsets and shrink."""
        C = len(self.classes_)
        self.scale_ = max(1.0, pairs.largest)
        self.class_similarities_ = pairs.means / self.scale_
        advantages = self.class_similarities_.diagonal() - self.class_similarities_.mean(axis=1)
        self.gap_ = float(advantages.mean() * C / (C - 1))
        self.offsets_ = advantages.mean() - advantages if self.balanced else np.zeros(C)
        self.shrink_ = float(1 + max(0.0, -self.offsets_.min()) * C / (2 * (C - 1)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities with which an object is answered.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        return self._probabilities(*self._ask(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return an answer for every object, drawn with these probabilities by its own coin.

        Parameters
        ----------
        X : sequence of objects
        """
        k, A = self._ask(X)
        reached = self._probabilities(k, A).cumsum(axis=1)[:, :-1]
        coin = coins(self._seed, self._keys(X, k, A))
        return self.classes_[(coin[:, None] >= reached).sum(axis=1)]

    def _keys(self, X: Any, k: Similarity, A: Encoding) -> np.ndarray:
        """Return a number for each object, the same for equal ones, taken when the similarity has seen them.

        (Some objects remember what they are asked.)
        """
        if isinstance(k, Precomputed) and self._precomputed:
            return keys(k.M)
        return keys(as_objects(X) if is_table(X) and self._kind() != "vectors" else A)

    def _probabilities(self, k: Similarity, A: Encoding) -> np.ndarray:
        C = len(self.classes_)
        means = self._sums(k, A) / self.totals_ / self.scale_
        advantages = means - means.mean(axis=1, keepdims=True) + self.offsets_
        shares = 1 / C + advantages / (2 * (C - 1) * self.shrink_)
        beyond = np.flatnonzero((shares < -ROUNDING).any(axis=1) | (shares > 1 + ROUNDING).any(axis=1))
        if len(beyond):
            i = int(beyond[0])
            raise ValueError(
                f"object {i} has the mean similarities {brief((means[i] * self.scale_).tolist())} to the classes, but "
                f"no two examples have one beyond scale_ = {self.scale_:.4g}: there is no probability. Use a "
                f"similarity that is bounded, such as a normalized one, or one divided by its largest value"
            )
        shares = np.clip(shares, 0.0, 1.0)  # no more than rounding
        return shares / shares.sum(axis=1, keepdims=True)
