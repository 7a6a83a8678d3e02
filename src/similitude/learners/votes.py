"""AlignmentVote, SimilarityVote and WeakSimilarityVote, with their guarantees."""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from similitude.compute import Encoding, as_numpy, as_objects, check_objects, count, is_table, keys, rows
from similitude.compute.engines import Engine
from similitude.landmarks import fixed_beforehand, share_without_gap, within_range
from similitude.learners.kernel_learner import KernelLearner, leads
from similitude.scikit import (
    ScoreClassifier,
    all_or_nothing,
    check_class_weights,
    check_weights,
    tensors_for_tensors,
    whole_gram,
)
from similitude.similarity import SYMMETRIC, Precomputed, Similarity, as_similarity
from similitude.support import (
    INDEPENDENT_ROWS,
    NONE,
    Guarantee,
    Premise,
    brief,
    check_flag,
    generator,
    pairs_at,
    random_keys,
    rounded_up,
)
from similitude.theory import BALCAN_BLUM, DELTA, bounds

Seen = tuple[np.ndarray, np.ndarray]
"""Similarities of some examples, and their class numbers."""


class BaseVote(ClassifierMixin, KernelLearner):
    """A classifier that stores labeled examples and sums similarities to those of each class."""

    def _read(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the objects, their class numbers and their weights; set ``classes_`` and ``totals_``."""
        _ = self._engine  # validated before the first call of a similarity
        X, codes = self._labeled(X, y)
        counts = check_weights(sample_weight, len(codes))
        self.totals_ = np.bincount(codes, counts)
        check_class_weights(self.classes_, codes, counts)
        return X, codes, counts

    def _remember(self, X: Any, A: Encoding, codes: np.ndarray, votes: np.ndarray) -> None:
        self._keep(X, A, votes[:, None] * (codes[:, None] == np.arange(len(self.classes_))))

    def _premises(self, counts: np.ndarray, largest: float | None) -> list[Premise]:
        """Return the premises that all votes share, given the largest value seen."""
        k: Similarity = Precomputed(None)
        if not self._precomputed:
            k = as_similarity(self.similarity)
        once = Premise("every example counts once", "proven")
        if (counts != counts[0]).any():
            once = Premise(once.text, "contradicted", "the examples have different weights")
        return [once, fixed_beforehand([k]), within_range([k], largest)]

    def mean_similarities(self, X: Any) -> np.ndarray:
        """Return the mean similarity of every object to the examples of each class, weighted if there are weights."""
        return self._weighted(X) / self.totals_


class CountedVote(ScoreClassifier, BaseVote):
    """A vote of examples that may count several times; `_guarantee` is what a theorem promises, given `each`."""

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Store labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        sample_weight : sequence of float, optional
            The number of times that each example counts.
        """
        X, codes, counts = self._read(X, y, sample_weight)
        known = known_weights(getattr(self, "weights", None), X, self._precomputed)
        k, X, A = self._start(X, None, sample_weight)
        self._remember(X, A, codes, counts * known)
        each = np.bincount(codes[counts > 0])
        self.guarantee_ = self._guarantee(each, self._premises(counts, None))
        if self.guarantee_.grade != NONE:  # examples are compared only if nothing else speaks against it
            n = max(1, min(50, count(A), math.isqrt(self._engine.budget // 8)))
            some = np.sort(np.random.default_rng(0).choice(count(A), size=n, replace=False))
            with pairs_at(some, some):
                K = as_numpy(whole_gram(k, rows(A, some), self._engine)).astype(np.float64, copy=False)
            premises = self._premises(counts, float(np.abs(K).max()))
            self.guarantee_ = self._guarantee(each, premises, (K * known[some], codes[some]))
        return self

    def _guarantee(self, each: np.ndarray, premises: list[Premise], seen: Seen | None = None) -> Guarantee:
        raise NotImplementedError


class SimilarityVote(CountedVote):
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

    def __init__(self, similarity: Any = "auto", *, weights: Any = None, engine: Engine | None = None) -> None:
        self.similarity = similarity
        self.weights = weights
        self.engine = engine

    def _guarantee(self, each: np.ndarray, premises: list[Premise], seen: Seen | None = None) -> Guarantee:
        """Return the guarantee of Theorem 1."""
        theorem = f"Theorem 1 of {BALCAN_BLUM}, with the constant of bounds.votes"
        known = ""
        if self.weights is not None:
            theorem = f"Footnote 3 to {theorem}"
            known = ", with these weights, which were known beforehand,"
        fewest = int(each.min())
        delta = DELTA / math.sqrt(len(each) - 1)
        gamma = math.sqrt(8 * math.log(1 / delta) / fewest) + 1e-12
        numbers = {"examples_per_class": float(fewest), "delta": DELTA, "gamma": gamma}
        if gamma > 1:
            return Guarantee.none(f"{fewest:,} examples of a class are too few for any gap", theorem, numbers)
        numbers["examples_theorem"] = float(bounds.votes(gamma, delta))
        evidence = ""
        if seen is not None:
            share = share_without_gap(*seen, None, gamma)
            if share is not None:
                evidence = f"of {len(seen[1])} examples, {share:.1%} are not"
        others = "the other"
        if len(each) > 2:
            others = "any other"
        text = (
            f"all objects but a share epsilon are on average{known} more similar to their own class than to {others}, "
            f"by {rounded_up(gamma)}"
        )
        statement = f"with probability {1 - DELTA:g}, the error is at most epsilon + {DELTA:g}"
        gap = Premise(text, "assumed", evidence)
        return Guarantee.under([*premises, gap, INDEPENDENT_ROWS], statement, theorem, numbers)

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return how much more similar each object is to ``classes_[1]``; for several classes the mean of each."""
        return leads(self.mean_similarities(X))


class AlignmentVote(CountedVote):
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

    def _guarantee(self, each: np.ndarray, premises: list[Premise], seen: Seen | None = None) -> Guarantee:
        """Return the guarantee by alignment, the mean of l f up to Hoeffding's inequality."""
        theorem = f"{BALCAN_BLUM}, on alignment, and Hoeffding's inequality"
        n = int(each.sum())
        slack = math.sqrt(2 * math.log(1 / DELTA) / n)
        numbers = {"examples": float(n), "delta": DELTA, "slack": slack}
        if len(each) > 2:
            return Guarantee.none("alignment is about two classes", theorem, numbers)
        if slack >= 1:
            return Guarantee.none(f"{n:,} examples are too few for any alignment", theorem, numbers)
        evidence = ""
        if seen is not None and len(seen[1]) > 1:
            K, signs = seen[0], 2.0 * seen[1] - 1
            mean = float(signs @ K @ signs - np.trace(K)) / (len(K) * (len(K) - 1))
            evidence = f"between {len(K)} examples the mean is {mean:.4g}"
        aligned = Premise("E[l(x) l(x') K(x, x')] is at least A", "assumed", evidence)
        error = f"1 - A + {rounded_up(slack)}, where A is the alignment"
        statement = f"with probability {1 - DELTA:g}, the error is at most {error}"
        return Guarantee.under([*premises, aligned, INDEPENDENT_ROWS], statement, theorem, numbers)

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the mean of labels times similarities: one score for two classes, one per class for several."""
        sums = self._weighted(X)
        if len(self.classes_) == 2:
            return (sums[:, 1] - sums[:, 0]) / self.totals_.sum()
        return (2 * sums - sums.sum(axis=1, keepdims=True)) / self.totals_.sum()


def known_weights(weights: Any, X: Any, precomputed: bool) -> np.ndarray:
    """Validate the weights of objects, from 0 to 1, given as numbers or as a function of an object; default ones."""
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
        self, similarity: Any = "auto", *, balanced: bool = True, random_state: Any = None, engine: Engine | None = None
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
        self.scale_ = max(1.0, largest)
        self.class_similarities_ = means / self.scale_
        C = len(self.classes_)
        advantages = self.class_similarities_.diagonal() - self.class_similarities_.mean(axis=1)
        self.gap_ = float(advantages.mean() * C / (C - 1))
        self.offsets_ = np.zeros(C)
        if self.balanced:
            self.offsets_ = advantages.mean() - advantages
        self.shrink_ = float(1 + max(0.0, -self.offsets_.min()) * C / (2 * (C - 1)))
        self.guarantee_ = self._guarantee(self._premises(counts, largest))
        return self

    def _guarantee(self, premises: list[Premise]) -> Guarantee:
        """Return the guarantee of Theorem 8, with equally weighted classes."""
        theorem = f"Theorem 8 of {BALCAN_BLUM}, for equally weighted classes and with the constant of bounds.weak_votes"
        C = len(self.classes_)
        each = int(self.totals_.min())
        gamma = math.sqrt(16 * math.log(1 / DELTA) / each) + 1e-12
        numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma, "shrink": self.shrink_}
        if gamma > 1:
            return Guarantee.none(f"{each:,} examples of a class are too few for any gap", theorem, numbers)
        error = 1 - 1 / C - gamma / (4 * C * self.shrink_)
        numbers |= {"examples_theorem": float(bounds.weak_votes(gamma, DELTA)), "error": error}
        text = (
            f"similarities within classes are larger on average than between classes by {rounded_up(gamma)}, with all "
            f"classes weighted equally"
        )
        state = "contradicted"
        if self.gap_ > 0:
            state = "assumed"
        gap = Premise(text, state, f"between the examples it is {self.gap_:.4g}")
        means = f"the mean of the classes' errors is at most {rounded_up(error)}"
        statement = f"with probability {1 - DELTA:g}, {means}"
        return Guarantee.under([*premises, gap, INDEPENDENT_ROWS], statement, theorem, numbers)

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
    return np.divide(between, pairs, out=np.full_like(between, np.nan), where=pairs > 0), largest


def keyed_uniforms(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each object by the seed and the object's key; repeated keys get different ones."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repetition = np.empty(len(keys), dtype=np.uint64)  # how often the key has occurred before
    repetition[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    seeds = random_keys(np.zeros(len(keys)), keys ^ np.uint64(seed))
    return (random_keys(repetition, seeds) >> np.uint64(11)) * 2.0**-53
