"""A cascade: objects are compared with the landmarks that explain most first, and with more only while that may pay."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.compute.engines import Engine
from similitude.fitting.model import WeightedLandmarks
from similitude.fitting.profile_ridge import ProfileRidge
from similitude.landmarks import LandmarkFeatures
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity
from similitude.support import ESTIMATE, PROVEN

ROUND_OFF = 1e-9
"""Widens bounds of similarities and of scores a little, so that rounding does not matter."""


@dataclass(frozen=True, eq=False)
class ValueRange:
    """Bounds of similarities."""

    low: float
    high: float
    # of the landmarks, for a kernel with K(x, x) = 1: then what is known about an object bounds its other similarities
    gram: np.ndarray | None
    grade: str  # PROVEN if the bounds follow from claims of the similarity, ESTIMATE if they are those of values seen
    reason: str

    @classmethod
    def of(cls, k: Similarity, values: np.ndarray, gram: np.ndarray) -> ValueRange:
        """Return the bounds that claims imply, or those of the values seen; `gram` has NaN where it is not known."""
        if {SYMMETRIC, PSD, UNIT_DIAGONAL} <= k.claims and not np.isnan(gram).any():
            return cls(-1.0, 1.0, gram, PROVEN, "the similarity is claimed to be a kernel with K(x, x) = 1")
        if BOUNDED in k.claims:
            return cls(-1.0, 1.0, None, PROVEN, "the similarity is claimed to be between -1 and 1")
        low = float(np.nanmin(values))
        high = float(np.nanmax(values))
        return cls(low, high, None, ESTIMATE, f"all values seen are between {low:.4g} and {high:.4g}")

    def of_rest(self, F: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the similarities of objects to the other landmarks, up to the n-th one.

        `F` holds the similarities to the first landmarks. For a kernel with feature vectors of length 1, what is left
        of x and l outside of the span of the first landmarks has the lengths r and s, so that K(x, l) differs by at
        most r s from what the span explains.
        """
        m = F.shape[1]
        shape = (len(F), n - F.shape[1])
        low = np.full(shape, self.low)
        high = np.full(shape, self.high)
        if self.gram is None or not m:
            return low, high
        factor = cho_factor(self.gram[:m, :m] + ROUND_OFF * np.eye(m))
        solved = cho_solve(factor, self.gram[:m, m:n])
        explained = F @ solved
        left_of_landmarks = 1.0 - np.einsum("ij,ij->j", self.gram[:m, m:n], solved)
        left_of_objects = 1.0 - np.einsum("ij,ji->i", F, cho_solve(factor, F.T))
        reach = np.sqrt(np.outer(np.maximum(left_of_objects, 0.0), np.maximum(left_of_landmarks, 0.0)))
        return np.maximum(low, explained - reach - ROUND_OFF), np.minimum(high, explained + reach + ROUND_OFF)


def margins(scores: np.ndarray) -> np.ndarray:
    """Return how far the best class is ahead: the size of a single score, or the first less the second of several.

    >>> margins(np.array([[-0.5], [2.0]])), margins(np.array([[1.0, -1.0, 0.5]]))
    (array([0.5, 2. ]), array([0.5]))
    """
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ranked = np.sort(scores, axis=1)
    return np.asarray(ranked[:, -1] - ranked[:, -2])


def decided(scores: np.ndarray) -> np.ndarray:
    """Return the class number with the largest score; of a single score, whether it is positive."""
    return np.asarray(scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp))


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a cascade."""

    n: int  # landmarks of this stage and the earlier ones
    ridge: ProfileRidge  # scores by the similarities to these landmarks
    rows: np.ndarray  # its training rows, by their positions among all training rows
    adds: bool  # whether its scores are added to those of the stage before, whose training rows were more
    threshold: float  # objects with a margin of at least this are not compared with further landmarks

    def scores(self, F: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the scores of profiles, given those of the stage before."""
        return self.ridge.scores(F) + before * self.adds


@dataclass(frozen=True, eq=False)
class Cascade:
    """The fitted model of a frugal fit, in the place of a `LandmarkModel`."""

    features: LandmarkFeatures  # the similarities to all landmarks, in the order in which they are asked for
    stages: tuple[Stage, ...]
    turned: np.ndarray  # whether K(l, x) is asked for instead of K(x, l), for each landmark; one may occur twice
    values: ValueRange  # of similarities that were not asked for
    classes: bool  # whether scores are those of classes; numbers are predicted with all landmarks

    @property
    def parts(self) -> tuple[WeightedLandmarks, ...]:
        """The landmarks, without weights: scores are no weighted sums of similarities."""
        return (WeightedLandmarks(self.features, np.empty((0, len(self.stages[0].ridge.base)))),)

    def scores(self, encodings: Sequence[Encoding], engine: Engine, itemsize: int) -> np.ndarray:
        """Return the scores of encoded objects."""
        return self.scored(encodings[0])[0]

    def scored(self, A: Encoding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores of encoded objects, the comparisons of each, and whether bounds of the rest settle it."""
        scores = np.zeros((count(A), len(self.stages[0].ridge.base)))

        def score(stage: Stage, at: np.ndarray, F: np.ndarray) -> np.ndarray:
            scores[at] = stage.scores(F, scores[at])
            return scores[at]

        return scores, *self.walk(A, score)

    def walk(
        self, A: Encoding, score: Callable[[Stage, np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compare objects with landmarks until they are decided; return the calls of each, and who is settled."""
        at = np.arange(count(A))
        done = 0
        calls = np.zeros(len(at), dtype=np.intp)
        settled = np.zeros(len(at), dtype=bool)
        F = np.empty((len(at), 0))
        for k, stage in enumerate(self.stages):
            F = np.concatenate([F, self.similarities(rows(A, at), done, stage.n)], axis=1)
            calls[at] = stage.n
            done = stage.n
            scores = score(stage, at, F)
            if k + 1 == len(self.stages):
                break
            if self.classes:
                settled[at] = self.settled(k, F, scores)
            stay = ~settled[at] & (margins(scores) < stage.threshold)
            at = at[stay]
            F = F[stay]
            if not len(at):
                break
        return calls, settled

    def settled(self, k: int, F: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return for which objects, after the k-th stage, no values of the other similarities change the class."""
        start = max(i for i, stage in enumerate(self.stages) if not stage.adds)  # the last one that begins anew
        low = high = scores if k >= start else np.zeros_like(scores)
        for stage in self.stages[max(start, k + 1) :]:
            least, most = stage.ridge.score_range(F, *self.values.of_rest(F, stage.n))
            low = low + least
            high = high + most
        if scores.shape[1] == 1:
            return np.asarray(np.where(scores[:, 0] > 0, low[:, 0] > ROUND_OFF, high[:, 0] < -ROUND_OFF))
        ahead = decided(scores)
        own = np.arange(len(scores))
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
    """What rows of a class that are most similar to the same landmark add to the scores of a cascade."""

    heads: np.ndarray  # the landmark of each group
    counts: np.ndarray  # of the rows of each group
    labels: np.ndarray  # the class number of each group, or the means of its targets
    base: np.ndarray  # the mean targets
    groups: np.ndarray  # of each training row

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
        n = count(encodings[0])
        outputs = len(self.base)
        own = np.eye(len(self.counts))[self.groups]
        terms = np.zeros((n, len(self.counts), outputs))
        near = np.zeros((n, len(self.counts)))

        def score(stage: Stage, at: np.ndarray, F: np.ndarray) -> np.ndarray:
            shares, targets = stage.ridge.influences(F)
            added = np.stack([(shares * target) @ own[stage.rows] for target in targets.T], axis=2)
            constant = stage.ridge.base - self.base * (not stage.adds)
            added += constant * (self.counts / self.counts.sum())[:, None]
            terms[at] = terms[at] * stage.adds + added
            near[at] = F[:, self.heads]
            return np.asarray(terms[at].sum(axis=1) + self.base)

        model.walk(encodings[0], score)
        return terms, near


LOST = 0.003
"""What stops may lose, relative to the gain over the most frequent class."""


def stopping_margins(scores: Sequence[np.ndarray], latest: Sequence[float], gain: float) -> list[float]:
    """Return the margin from which each stage stops, at most the `latest`, by scores of rows left out."""
    ahead = [margins(one) for one in scores]
    losses = [expected_losses(one, scores[-1]) for one in scores]
    # expected losses of a single stop: the largest one is taken with which all stops lose little enough
    for amount in np.geomspace(1.0, 1e-7, 113):
        found = [
            min(float(one[lost <= amount].min(initial=np.inf)), most)
            for one, lost, most in zip(ahead, losses, latest, strict=True)
        ]
        if _lost(ahead, losses, found) <= LOST * gain:
            break
    return found


def expected_losses(scores: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return what stopping at a stage is expected to lose for each row; for a larger margin it is never more."""
    ahead = margins(scores)
    n = len(scores)
    order = np.argsort(ahead, kind="stable")
    margin = ahead[order]
    change = (_lead(decided(scores), last) - ahead)[order]
    # the share of rows whose changes stand for those of a row with a similar margin
    similar = math.ceil((1 / 3) * n)
    first = np.clip(np.arange(n) - similar // 2, 0, n - similar)
    lost = [np.maximum(0.0, -margin[i] - change[first[i] : first[i] + similar]).mean() for i in range(n)]
    found = np.empty(n)
    found[order] = np.maximum.accumulate(lost[::-1])[::-1]
    return found


def _lead(classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return how far given classes are ahead of all others; negative if one of the others is."""
    if scores.shape[1] == 1:
        return np.where(classes == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, classes] = -np.inf
    return np.asarray(scores[rows, classes] - others.max(axis=1))


def _lost(ahead: Sequence[np.ndarray], losses: Sequence[np.ndarray], stops: Sequence[float]) -> float:
    """Return what all stops lose on average."""
    total = 0.0
    going = np.ones(len(ahead[0]), dtype=bool)
    for margin, lost, stop in zip(ahead, losses, stops, strict=True):
        here = going & (margin >= stop)
        total += float(lost[here].sum())
        going &= ~here
    return total / len(ahead[0])
