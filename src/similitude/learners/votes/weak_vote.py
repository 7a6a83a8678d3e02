"""WeakSimilarityVote: a randomized rule that is right a little more often than chance."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_objects, is_table, keys
from similitude.compute.engines import Engine
from similitude.learners.votes.guarantees import of_weak_vote, premises_of_votes
from similitude.learners.votes.similarity_vote import BaseVote
from similitude.scikit import all_or_nothing, tensors_for_tensors
from similitude.similarity import SYMMETRIC, Precomputed, Similarity
from similitude.support import brief, check_flag, generator, random_keys


class WeakSimilarityVote(BaseVote):
    r"""Predict at random, a little more often the class to which an object is more similar.

    The prediction is + with probability :math:`(1 + \tilde g(x))/2`, where :math:`\tilde g(x) = \frac12
    [\frac{1}{|S_+|} \sum_{x' \in S_+} K(x, x') - \frac{1}{|S_-|} \sum_{x' \in S_-} K(x, x')]`. It suffices that on
    average over all pairs, similarities within classes exceed those between classes by :math:`\gamma`; single objects
    may be more similar to the wrong class. (Balcan and Blum, "On a Theory of Learning with Similarity Functions",
    Definition 5 and Theorem 8.) With C classes, the class c is predicted with probability :math:`\frac1C +
    \frac{1}{2(C-1)} [\bar K_c(x) - \frac1C \sum_k \bar K_k(x)]`, where :math:`\bar K_c(x)` is the mean similarity to
    its examples.

    As printed, the theorem is false. It is about the plain error and about random pairs, and both are dominated by a
    frequent class: the rule can err on more than half (``datasets.unbalanced``). With all classes weighted equally it
    is true: if the gap is :math:`\gamma`, the mean of the classes' errors is at most :math:`1 - \frac1C -
    \frac{\gamma}{4C}` with probability :math:`1 - \delta`, from :math:`\frac{16}{\gamma^2} \ln\frac1\delta` examples of
    each. The advantage can still be that of a rare class alone, with a plain error above 1/2. So by default
    (``balanced``) each class has an offset, computed from the similarities between different examples, that makes all
    classes be predicted right equally often: then every mixture of the classes has that error. Offsets sum to 0 and do
    not change the mean of the classes' errors; but to keep probabilities nonnegative, all advantages, and with them
    :math:`\gamma` in the bound, are divided by ``shrink_``, which is 1 plus the largest reduction by an offset: at most
    3 - 2/C, and near 1 if the classes are similarly coherent.

    There is no `sample_weight`, since a fraction of an example cannot be left out.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any function. ``"precomputed"``: X is the matrix K(train, train), then K(new, train).
    balanced : bool
        Predict all classes right equally often, as far as the examples show. False: the rule as printed.
    random_state : int, optional
        Seed of the predictions. An object has the same prediction in every call, whatever the other objects are; only
        copies of it in one call are drawn independently. (With ``"precomputed"``, an object is identified by its row.)
    engine : Engine, optional

    Attributes
    ----------
    classes_, totals_, support_, support_objects_, dual_coef_, similarity_
        See :class:`SimilarityVote`.
    scale_ : float
        Similarities are divided by this: the largest magnitude among the examples, at least 1. If a new object exceeds
        it so that no probability results, an error is raised.
    class_similarities_ : array of shape (classes, classes)
        Mean similarities, after division, of examples of one class (row) to other examples of a class (column).
    gap_ : float
        The mean within classes minus the mean between them: an estimate of :math:`\gamma`.
    offsets_, shrink_
        See above; 0 and 1 unless balanced.
    guarantee_ : Guarantee
        The theorem's guarantee, for the smallest gap at which the number of examples suffices.

    Examples
    --------
    >>> from similitude import FromBlocks
    >>> from similitude.datasets import two_points
    >>> from similitude.learners import WeakSimilarityVote
    >>> problem = two_points()
    >>> drawn = problem.draw(2000, random_state=0)
    >>> model = WeakSimilarityVote(FromBlocks(problem.kernel)).fit(drawn, problem.labels[drawn])
    >>> bool(abs(model.gap_ - 0.5) < 0.05), bool(abs(model.score(drawn, problem.labels[drawn]) - 0.625) < 0.05)
    (True, True)
    """

    def __init__(
        self,
        similarity: Any = "auto",
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
        """Store labeled objects, and compare all pairs of them.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        """
        check_flag("balanced", self.balanced)
        X, codes, counts = self._read(X, y)
        if self.balanced and (self.totals_ == 1).any():
            single = self.classes_[self.totals_ == 1].tolist()[0]
            raise ValueError(
                f"class {single!r} has one example, so the similarity within it is unknown: add an example, leave the "
                f"class out, or use balanced=False"
            )
        k, X, A = self._start(X, self.random_state)
        self._seed = int(generator(self.random_state).integers(2**63))
        self._remember(X, A, codes, counts)
        means, largest = class_pair_means(k, A, self.dual_coef_, self._engine)
        self._set_offsets(means, largest)
        each = int(self.totals_.min())
        premises = premises_of_votes(self.similarity, counts, largest)
        self.guarantee_ = of_weak_vote(each, len(self.classes_), self.shrink_, self.gap_, premises)
        return self

    def _set_offsets(self, means: np.ndarray, largest: float) -> None:
        C = len(self.classes_)
        self.scale_ = max(1.0, largest)
        self.class_similarities_ = means / self.scale_
        advantages = self.class_similarities_.diagonal() - self.class_similarities_.mean(axis=1)
        self.gap_ = float(advantages.mean() * C / (C - 1))
        self.offsets_ = np.zeros(C)
        if self.balanced:
            self.offsets_ = advantages.mean() - advantages
        self.shrink_ = float(1 + max(0.0, -self.offsets_.min()) * C / (2 * (C - 1)))

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities with which each class is predicted, of shape (n, classes)."""
        return self._probabilities(*self._ask(X))

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return a class for every object, drawn with the probabilities of `predict_proba`."""
        k, A = self._ask(X)
        reached = self._probabilities(k, A).cumsum(axis=1)[:, :-1]
        drawn = keyed_uniforms(self._seed, self._keys(X, k, A))
        return self.classes_[(drawn[:, None] >= reached).sum(axis=1)]

    def _keys(self, X: Any, k: Similarity, A: Encoding) -> np.ndarray:
        """Return equal keys for equal objects; before it, the similarity may change what objects cache."""
        if isinstance(k, Precomputed) and self._precomputed:
            return keys(k.M)
        return keys(as_objects(X) if is_table(X) and self._kind() != "vectors" else A)

    def _probabilities(self, k: Similarity, A: Encoding) -> np.ndarray:
        C = len(self.classes_)
        means = self._sums(k, A) / self.totals_ / self.scale_
        advantages = means - means.mean(axis=1, keepdims=True) + self.offsets_
        shares = 1 / C + advantages / (2 * (C - 1) * self.shrink_)
        outside = (shares < -1e-6) | (shares > 1 + 1e-6)  # by more than rounding
        beyond = np.flatnonzero(outside.any(axis=1))
        if len(beyond):
            i = int(beyond[0])
            raise ValueError(
                f"object {i} has the mean similarities {brief((means[i] * self.scale_).tolist())} to the classes, but "
                f"those of the examples are at most scale_ = {self.scale_:.4g}, so they give no probability. Use a "
                f"bounded similarity, such as a normalized one, or one divided by its largest value"
            )
        shares = np.clip(shares, 0.0, 1.0)  # rounding only
        return shares / shares.sum(axis=1, keepdims=True)


def class_pair_means(k: Similarity, A: Encoding, members: np.ndarray, engine: Engine) -> tuple[np.ndarray, float]:
    r"""Return mean similarities of examples to other examples, and the largest magnitude of a similarity.

    `members` has a column per class, 1 for its examples. The mean is that of K(x, x') over x in the class of the row
    and another x' in that of the column, NaN within a class of one example; the largest \|K(x, x')\| includes x' = x.

    >>> from similitude.engines import LocalEngine
    >>> from similitude.kernels import Linear
    >>> A, members = np.array([[1.0], [3.0], [-2.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> class_pair_means(Linear(), A, members, LocalEngine())
    (array([[ 3., -4.],
           [-4., nan]]), 9.0)
    """
    members = members.astype(np.float64)
    to_class = np.zeros(members.shape)
    own = np.zeros(len(members))
    largest = 0.0
    with closing(k.blocks(A, engine=engine).tiles()) as tiles:
        for (down, right), tile in tiles:
            values = np.asarray(tile)
            to_class[down] += values @ members[right]
            if SYMMETRIC in k.claims and down != right:  # only half of a symmetric matrix is computed
                to_class[right] += values.T @ members[down]
            here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
            own[here] = values[here - down.start, here - right.start]
            largest = max(largest, float(np.abs(values).max()))
    between = members.T @ (to_class - members * own[:, None])
    sizes = members.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    with np.errstate(invalid="ignore"):
        return np.where(pairs > 0, between, np.nan) / np.where(pairs > 0, pairs, 1.0), largest


def keyed_uniforms(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each object, determined by the seed, up to 2^64 - 1, and the object's key.

    A key that is repeated gets different numbers, which are practically independent.

    >>> a, b, again = keyed_uniforms(1, np.array([7, 8, 7], dtype=np.uint64))
    >>> bool(a == keyed_uniforms(1, np.array([7], dtype=np.uint64))[0]), bool(a == again)
    (True, False)
    """
    seeds = random_keys(np.zeros(len(keys)), keys ^ np.uint64(seed))
    return (random_keys(occurrences(keys), seeds) >> np.uint64(11)) * 2.0**-53


def occurrences(keys: np.ndarray) -> np.ndarray:
    """Return how often each key has occurred before.

    >>> occurrences(np.array([7, 8, 7, 7], dtype=np.uint64))
    array([0, 0, 1, 2], dtype=uint64)
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    places = np.arange(len(keys))
    first = np.ones(len(keys), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    since = np.empty(len(keys), dtype=np.uint64)
    since[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return since
