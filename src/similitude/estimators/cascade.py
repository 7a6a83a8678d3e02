"""A cascade: objects are compared with the most telling landmarks first, and with more only while that may pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.compute.engines import Engine
from similitude.estimators.model import WeightedLandmarks
from similitude.estimators.profile_ridge import ProfileRidge
from similitude.landmarks import LandmarkFeatures


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
class Cascade:
    """The fitted model of a frugal fit, in the place of a `LandmarkModel`.

    Attributes
    ----------
    features : LandmarkFeatures
        The similarities to all landmarks, in the order in which they are asked for.
    stages : tuple of Stage
    """

    features: LandmarkFeatures
    stages: tuple[Stage, ...]

    @property
    def parts(self) -> tuple[WeightedLandmarks, ...]:
        """The landmarks, without weights: scores are no weighted sums of similarities."""
        return (WeightedLandmarks(self.features, np.empty((0, len(self.stages[0].ridge.base)))),)

    @property
    def sides(self) -> int:
        """Similarity calls for each landmark."""
        return 2 if self.features.side == "both" else 1

    def scores(self, encodings: Sequence[Encoding], engine: Engine, itemsize: int) -> np.ndarray:
        """Return the scores of encoded objects."""
        scores = np.zeros((count(encodings[0]), len(self.stages[0].ridge.base)))

        def take(stage: Stage, at: np.ndarray, F: np.ndarray) -> None:
            scores[at] = stage.scores(F, scores[at])

        self.walk(encodings[0], take, lambda at: scores[at])
        return scores

    def walk(
        self,
        A: Encoding,
        take: Callable[[Stage, np.ndarray, np.ndarray], None],
        scores: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Compare objects with landmarks, stage by stage; return the number of comparisons of each.

        ``take(stage, at, F)`` gets the profiles of those that reach a stage, by position; ``scores(at)`` returns what
        it made of them.
        """
        at, done, calls = np.arange(count(A)), 0, np.zeros(count(A), dtype=np.intp)
        F = np.empty((len(at), self.sides, 0))
        for stage in self.stages:
            new = self.features.only(np.arange(done, stage.n))
            K = as_numpy(new.similarities(rows(A, at))).astype(np.float64)
            F = np.concatenate([F, K.reshape(len(at), self.sides, stage.n - done)], axis=2)
            calls[at], done = self.sides * stage.n, stage.n
            take(stage, at, F.reshape(len(at), self.sides * done))
            stay = margins(scores(at)) < stage.threshold
            at, F = at[stay], F[stay]
            if not len(at):
                break
        return calls

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
