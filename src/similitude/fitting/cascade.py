"""A cascade: objects are compared with the most telling landmarks first, and with more only while that may pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.compute.engines import Engine
from similitude.fitting.model import WeightedLandmarks
from similitude.fitting.profile_ridge import ProfileRidge
from similitude.fitting.value_range import ValueRange
from similitude.landmarks import LandmarkFeatures

ROUND_OFF = 1e-9
"""By how much bounds of scores have to be apart, so that rounding does not matter."""


def margins(scores: np.ndarray) -> np.ndarray:
    """Return how far the best class is ahead: the size of a single score, or the first less the second of several.

    >>> margins(np.array([[-0.5], [2.0]])), margins(np.array([[1.0, -1.0, 0.5]]))
    (array([0.5, 2. ]), array([0.5]))
    """
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ranked = np.sort(scores, axis=1)
    ahead: np.ndarray = ranked[:, -1] - ranked[:, -2]
    return ahead


def decided(scores: np.ndarray) -> np.ndarray:
    """Return the class number with the largest score; of a single score, whether it is positive."""
    found: np.ndarray = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
    return found


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a cascade.

    Attributes
    ----------
    n : int
        Landmarks of this stage and the earlier ones.
    ridge : ProfileRidge
        Scores by the similarities to these landmarks.
    rows : array of int
        Its training rows, by their positions among all training rows.
    adds : bool
        Whether its scores are added to those of the stage before, whose training rows were more.
    threshold : float
        Objects with a margin of at least this are not compared with further landmarks.
    """

    n: int
    ridge: ProfileRidge
    rows: np.ndarray
    adds: bool
    threshold: float

    def scores(self, F: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the scores of profiles, given those of the stage before."""
        found = self.ridge.scores(F)
        return found + before if self.adds else found


@dataclass(frozen=True, eq=False)
class Walk:
    """How objects went through a cascade.

    Attributes
    ----------
    calls : array of int
        The comparisons of each.
    settled : array of bool
        Whether the other similarities cannot change its class, if they are within their bounds.
    """

    calls: np.ndarray
    settled: np.ndarray

    @classmethod
    def of(cls, n: int) -> Walk:
        """Return that of n objects before the first stage."""
        return cls(np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool))


@dataclass(frozen=True, eq=False)
class Cascade:
    """The fitted model of a frugal fit, in the place of a `LandmarkModel`.

    Attributes
    ----------
    features : LandmarkFeatures
        The similarities to all landmarks, in the order in which they are asked for.
    stages : tuple of Stage
    turned : array of bool
        Whether K(l, x) is asked for instead of K(x, l), for each landmark; one may occur twice.
    values : ValueRange
        What similarities that were not asked for can be.
    classes : bool
        Whether scores are those of classes. Numbers are predicted with all landmarks.
    """

    features: LandmarkFeatures
    stages: tuple[Stage, ...]
    turned: np.ndarray
    values: ValueRange
    classes: bool

    @property
    def parts(self) -> tuple[WeightedLandmarks, ...]:
        """The landmarks, without weights: scores are no weighted sums of similarities."""
        return (WeightedLandmarks(self.features, np.empty((0, len(self.stages[0].ridge.base)))),)

    def scores(self, encodings: Sequence[Encoding], engine: Engine, itemsize: int) -> np.ndarray:
        """Return the scores of encoded objects."""
        return self.scored(encodings[0])[0]

    def scored(self, A: Encoding) -> tuple[np.ndarray, Walk]:
        """Return the scores of encoded objects, and how they went through the stages."""
        scores = np.zeros((count(A), len(self.stages[0].ridge.base)))

        def take(stage: Stage, at: np.ndarray, F: np.ndarray) -> None:
            scores[at] = stage.scores(F, scores[at])

        walk = self.walk(A, take, lambda at: scores[at])
        return scores, walk

    def walk(
        self,
        A: Encoding,
        take: Callable[[Stage, np.ndarray, np.ndarray], None],
        scores: Callable[[np.ndarray], np.ndarray],
    ) -> Walk:
        """Compare objects with landmarks, stage by stage, until they are decided.

        ``take(stage, at, F)`` gets the profiles of those that reach a stage, by position; ``scores(at)`` returns what
        it made of them.
        """
        at, done, walk = np.arange(count(A)), 0, Walk.of(count(A))
        F = np.empty((len(at), 0))
        for k, stage in enumerate(self.stages):
            F = np.concatenate([F, self.similarities(rows(A, at), done, stage.n)], axis=1)
            walk.calls[at], done = stage.n, stage.n
            take(stage, at, F)
            if k + 1 == len(self.stages):
                break
            settled = self.settled(k, F, scores(at)) if self.classes else np.zeros(len(at), dtype=bool)
            walk.settled[at] = settled
            stay = ~settled & (margins(scores(at)) < stage.threshold)
            at, F = at[stay], F[stay]
            if not len(at):
                break
        return walk

    def settled(self, k: int, F: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Tell for which objects, after the k-th stage, no values of the other similarities change the class.

        Bounds of the scores that all landmarks would give follow from bounds of the similarities.
        """
        start = max(i for i, stage in enumerate(self.stages) if not stage.adds)  # the last one that begins anew
        low = high = scores if k >= start else np.zeros_like(scores)
        for stage in self.stages[max(start, k + 1) :]:
            least, most = stage.ridge.score_range(F, *self.values.of_rest(F, stage.n))
            low, high = low + least, high + most
        if scores.shape[1] == 1:
            found: np.ndarray = np.where(scores[:, 0] > 0, low[:, 0] > ROUND_OFF, high[:, 0] < -ROUND_OFF)
            return found
        ahead, own = decided(scores), np.arange(len(scores))
        rivals = np.array(high)
        rivals[own, ahead] = -np.inf
        found = low[own, ahead] > rivals.max(axis=1) + ROUND_OFF
        return found

    def similarities(self, A: Encoding, start: int, stop: int) -> np.ndarray:
        """Return the similarities of encoded objects to some of the landmarks, each in its direction."""
        found = np.empty((count(A), stop - start))
        for side, turned in (("left", False), ("right", True)):
            at = np.flatnonzero(self.turned[start:stop] == turned)
            if len(at):
                asked = replace(self.features, side=side).only(start + at)
                found[:, at] = as_numpy(asked.similarities(A))
        return found

    def with_similarity(self, k: Any) -> Cascade:
        """Return the same for another precomputed matrix."""
        return replace(self, features=self.features.with_similarity(k))


@dataclass(frozen=True, eq=False)
class CascadeInfluence:
    """What groups of training rows add to the scores of a cascade.

    The rows of a class that are most similar to the same landmark of the first stage are a group.

    Attributes
    ----------
    heads : array of int
        The landmark of each group.
    counts : array of int
        The number of rows of each group.
    labels : array
        The class number of each group, or the means of its targets.
    base : array
        The mean targets.
    groups : array of int
        The group of each training row.
    """

    heads: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    base: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, first: Stage, Y: np.ndarray, numbers: np.ndarray | None) -> CascadeInfluence:
        """Group the training rows of the first stage, which are all of them."""
        nearest = first.ridge.profiles[:, : first.n].argmax(axis=1)
        classes = np.zeros(len(Y), dtype=np.intp) if numbers is None else numbers
        keys, groups = np.unique(np.stack([nearest, classes], axis=1), axis=0, return_inverse=True)
        groups, counts = groups.ravel(), np.bincount(groups.ravel())
        means = np.stack([np.bincount(groups, y) / counts for y in Y.T], axis=1)
        return cls(keys[:, 0], counts, means if numbers is None else keys[:, 1], first.ridge.base, groups)

    def terms(self, model: Cascade, encodings: Sequence[Encoding]) -> tuple[np.ndarray, np.ndarray]:
        """Return what each group adds to each output of encoded objects, and the similarity to its landmark."""
        n, outputs, own = count(encodings[0]), len(self.base), np.eye(len(self.counts))[self.groups]
        terms, near = np.zeros((n, len(self.counts), outputs)), np.zeros((n, len(self.counts)))

        def take(stage: Stage, at: np.ndarray, F: np.ndarray) -> None:
            shares, targets = stage.ridge.influences(F)
            added = np.stack([(shares * target) @ own[stage.rows] for target in targets.T], axis=2)
            constant = stage.ridge.base - (0.0 if stage.adds else self.base)
            added += constant * (self.counts / self.counts.sum())[:, None]
            terms[at] = terms[at] + added if stage.adds else added
            near[at] = F[:, self.heads]

        model.walk(encodings[0], take, lambda at: terms[at].sum(axis=1) + self.base)
        return terms, near
