"""The choice of the examples to assess, their labels and similarities."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import check_fits, check_objects, keys, take
from similitude.compute.engines import Engine
from similitude.landmarks import check_positions
from similitude.scikit import SimilarityEstimator, encode_labels, read_labels
from similitude.similarity import Precomputed, Similarity, as_similarity
from similitude.support import brief, is_integer, pairs_at

PAIRS_LIMIT = 2000
"""Largest number of examples for which all pairs are computed."""

PROGRAM_LIMIT = 500
"""Largest number of examples on which weights are fitted."""


@dataclass(frozen=True)
class Labels:
    """The classes with at least two examples, and the class of each example, -1 if it is alone in its class."""

    classes_: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, y: Any, n: int) -> Labels:
        """Read the labels of n examples; at least two classes with two examples each are required."""
        classes, codes = encode_labels(read_labels(y, n))
        if len(classes) == 1:
            raise ValueError(f"two classes are needed, y holds one class: {brief(classes[0].item())}")
        kept = np.bincount(codes) >= 2
        if kept.sum() < 2:
            lone = brief(classes[~kept].tolist())
            raise ValueError(f"two classes with two examples each are needed, there is only one example of {lone}")
        numbers = np.where(kept, np.cumsum(kept) - 1, -1)
        return cls(classes[kept], numbers[codes])

    @property
    def alone(self) -> np.ndarray:
        """Positions of the examples that are alone in their class."""
        return np.flatnonzero(self.codes < 0)


def stratified(codes: np.ndarray, size: int, rng: np.random.Generator, least: int = 2) -> np.ndarray:
    """Draw a stratified sample with at least `least` examples of each class if possible; return sorted positions."""
    order = rng.permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    place = np.arange(len(codes)) - (np.cumsum(sizes) - sizes)[codes[by_class]]
    turn = (place + rng.random(len(sizes))[codes[by_class]]) / sizes[codes[by_class]]
    turn[place < least] = -1.0
    return np.sort(by_class[np.argsort(turn, kind="stable")[:size]])


@dataclass(frozen=True)
class SamplingPlan:
    """The roles of the examples, chosen before the first similarity is computed."""

    labels: Labels
    used: np.ndarray  # positions in X of the examples for which all pairs are computed
    codes: np.ndarray  # their classes
    extra: np.ndarray  # positions of landmarks that are not among them
    landmarks: np.ndarray  # the columns that get weights: positions in `used` followed by `extra`
    fit: np.ndarray  # positions in `used` to which weights are fitted; empty if there are too few
    choice: np.ndarray  # by which one of several fits is chosen
    test: np.ndarray  # on which it is tested

    @property
    def landmark_positions(self) -> np.ndarray:
        """Positions of the landmarks in X."""
        return np.concatenate([self.used, self.extra])[self.landmarks]

    @property
    def landmark_codes(self) -> np.ndarray:
        """Classes of the landmarks."""
        return self.labels.codes[self.landmark_positions]

    @property
    def itself(self) -> np.ndarray | None:
        """For each row of `fit` the column of the same example; None if landmarks and rows are disjoint."""
        return np.arange(len(self.fit)) if np.array_equal(self.fit, self.landmarks) else None


def plan(labels: Labels, landmarks: Any, rng: np.random.Generator, most: int = PAIRS_LIMIT) -> SamplingPlan:
    """Choose at most `most` examples, and their roles."""
    wanted = read_landmarks(landmarks, labels)
    many = np.flatnonzero(labels.codes >= 0)
    if len(many) > most < 2 * len(labels.classes_):
        raise ValueError(
            f"y holds {len(labels.classes_):,} classes: two examples of each are more than the limit of "
            f"{most:,}. Are these numbers to be predicted rather than classes?"
        )
    used = many if len(many) <= most else many[stratified(labels.codes[many], most, rng)]
    codes = labels.codes[used]
    limit = program_limit(len(labels.classes_))
    extra = used[:0]
    if wanted is None:
        size = min(max(len(used) // 2, 2 * len(labels.classes_)), limit)
        fit = columns = stratified(codes, size, rng)
        rest = np.setdiff1d(np.arange(len(used)), columns)
    else:
        if isinstance(wanted, int):
            wanted = used[stratified(codes, min(wanted, len(used)), rng, least=1)]
        extra = np.setdiff1d(wanted, used)
        columns = np.searchsorted(np.sort(used), wanted)  # `used` is sorted
        columns = np.where(np.isin(wanted, used), columns, len(used) + np.searchsorted(extra, wanted))
        rows = rng.permutation(np.setdiff1d(np.arange(len(used)), columns))
        fit, rest = np.split(rows, [min(len(rows) // 2, limit)])
    rest = rng.permutation(rest)
    choice, test = np.split(rest, [len(rest) // 4])
    enough = len(test) >= 2 and len(choice) and len(fit) >= 2
    parts = (np.sort(fit), np.sort(choice), np.sort(test)) if enough else (used[:0],) * 3
    return SamplingPlan(labels, used, codes, extra, columns, *parts)


def program_limit(n_classes: int) -> int:
    """Return the largest number of examples on which weights are fitted."""
    return max(min(PROGRAM_LIMIT, max(200, 6000 // (n_classes - 1))), 2 * n_classes)  # 6,000 rows: one for each class


def read_landmarks(landmarks: Any, labels: Labels) -> int | np.ndarray | None:
    """Validate the number of landmarks or their positions; None by default."""
    if landmarks is None:
        return None
    n = len(labels.codes)
    k = len(labels.classes_)
    if is_integer(landmarks):
        if not k <= landmarks < n:
            raise ValueError(f"landmarks must be a number from {k}, one of each class, to {n - 1}, got {landmarks}")
        return int(landmarks)
    positions = check_positions(landmarks, n, "landmarks", "a number or ")
    found, times = np.unique(positions, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"landmarks names example {found[times > 1][0]} twice")
    alone = found[labels.codes[found] < 0]
    if len(alone):
        raise ValueError(f"landmarks names example {alone[0]}, which is alone in its class and left out")
    missing = np.setdiff1d(np.arange(k), labels.codes[found])
    if len(missing):
        raise ValueError(f"landmarks holds no example of class {labels.classes_[missing[0]].item()!r}")
    return positions


@dataclass(frozen=True)
class Similarities:
    """The similarities of the n objects of a sample, under a resolved similarity."""

    similarity: Similarity
    objects: Any
    raw: np.ndarray  # K(x_i, x_j)
    wide: np.ndarray  # in double precision, divided by the scale, and followed by the columns of other landmarks
    scale: float  # the largest magnitude, or 1
    copies: int  # objects that are exact copies of earlier ones

    @property
    def K(self) -> np.ndarray:  # noqa: N802
        """The square part."""
        return self.wide[:, : len(self.wide)]


class AssessedSimilarity(SimilarityEstimator):
    """Validation of a similarity and of objects as in estimators."""

    def __init__(self, similarity: Any, *, engine: Engine | None = None) -> None:
        self.similarity = similarity
        self.engine = engine

    def read(self, X: Any) -> Any:
        """Validate objects, or a precomputed matrix, which may hold NaN outside of the sample."""
        _ = self._engine  # validated first
        if not self._precomputed:
            return self._checked(X, reset=True)
        if not hasattr(X, "tocsr"):
            X = np.asarray(X)
        if X.ndim != 2 or X.shape[0] != X.shape[1]:
            raise ValueError(f"similarity='precomputed' needs the square matrix of all pairs, got shape {X.shape}")
        return X

    def similarities(self, X: Any, plan: SamplingPlan, random_state: Any) -> Similarities:
        """Compute the similarities of a plan; errors name a pair by positions in X."""
        engine = self._engine
        n = len(plan.used)
        check_fits(n, n + len(plan.extra), 8, engine)
        if self._precomputed:
            k: Similarity = Precomputed(X)
            X = np.arange(check_objects(X))
        else:
            k = as_similarity(self.similarity)
            k.check_params()
            k = k.resolve(X, random_state)
        used = X if n == check_objects(X) else take(X, plan.used)
        k, A = k.prepare(used, random_state)
        with pairs_at(plan.used, plan.used):
            raw = np.asarray(k.blocks(A, engine=engine).whole())
        wide = raw.astype(np.float64)
        if len(plan.extra):
            B = k.prepare(take(X, plan.extra))[1]
            with pairs_at(plan.used, plan.extra):
                wide = np.concatenate([wide, np.asarray(k.blocks(A, B, engine).whole())], axis=1)
        scale = max(float(np.abs(wide).max()), 1.0)
        try:
            copies = n - len(np.unique(keys(A)))
        except (AttributeError, TypeError, pickle.PicklingError):  # objects without a key
            copies = 0
        return Similarities(k, used, raw, wide / scale, scale, copies)
