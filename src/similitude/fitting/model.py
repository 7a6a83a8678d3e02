"""The fitted model: a weighted sum of similarities to landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import BlockTask, Encoding, as_numpy, concatenated, count, in_precision, rows, run_on_strips
from similitude.compute.engines import Engine
from similitude.landmarks import LandmarkFeatures, in_floats, lengths


@dataclass(frozen=True, eq=False)
class WeightedLandmarks:
    """The landmarks of one similarity that have a weight, and the weights.

    Attributes
    ----------
    features : LandmarkFeatures
        The similarities themselves: the projection and the scale are part of the weights.
    weights : array of shape (similarities, outputs)
    """

    features: LandmarkFeatures
    weights: np.ndarray

    @classmethod
    def of(
        cls, features: LandmarkFeatures, W: np.ndarray, V: np.ndarray, heads: np.ndarray, precision: Any = np.float64
    ) -> KeptLandmarks:
        """Keep the landmarks that have a weight; all of them if similarities are divided by their length.

        V holds the weights of features in the influence of groups of rows around the landmarks `heads`; what these
        need is kept too, in a precision.
        """
        weights = features.similarity_weights(W)
        others = features.similarity_weights(V) if precision == np.float64 else features.rounded_weights(V)
        plain, n = replace(features, factor=None, scale=1.0), len(features.landmarks)
        if features.normalized:
            return KeptLandmarks(cls(plain, weights), others, np.arange(n))
        per_side = ((weights != 0).any(axis=1) | (others != 0).any(axis=1)).reshape(-1, n)
        per_side[:, heads] = True
        used = np.flatnonzero(per_side.any(axis=0))
        columns = (np.arange(len(per_side))[:, None] * n + used).ravel()
        return KeptLandmarks(cls(plain.only(used), weights[columns]), others[columns], used)

    @property
    def n_used(self) -> int:
        """The number of landmarks with a weight; of many cells, at most as many as the largest has."""
        n = max(1, len(self.features.landmarks))
        used = int((self.weights != 0).any(axis=1).reshape(-1, n).any(axis=0).sum())
        return min(used, self.n_compared)

    @cached_property
    def n_compared(self) -> int:
        """The most similarities of one object that are computed: to all landmarks, or to those of the largest cell."""
        cells = None if self.features.similarity is None else self.features.similarity.hints.cells
        if cells is None or not len(self.weights):
            return len(self.weights)
        return int(np.bincount(cells(self.features.landmarks.encoding)).max())

    def moved(self, move: Callable[[Any], Any]) -> WeightedLandmarks:
        """Return the same with its arrays on another device."""
        return replace(self, features=self.features.moved(move), weights=move(self.weights))

    def blocks(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarity of objects to each landmark, and all similarities as they are weighted, in float64."""
        n = len(self.features.landmarks)
        if not n:
            return np.empty((count(A), 0)), np.empty((count(A), 0))
        K = as_numpy(self.features.similarities(A)).astype(np.float64)
        return K[:, :n], K / lengths(K)[:, None] if self.features.normalized else K

    def contributions(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return what landmarks add to the outputs, (objects, landmarks, outputs), and the similarities to them."""
        n, outputs = len(self.features.landmarks), self.weights.shape[1]
        similarities, K = self.blocks(A)
        added = K[:, :, None] * self.weights
        return added.reshape(len(K), -1, n, outputs).sum(axis=1) if n else added, similarities


@dataclass(frozen=True, eq=False)
class KeptLandmarks:
    """Weighted landmarks, and what the influence of groups of rows needs of them.

    Attributes
    ----------
    part : WeightedLandmarks
    others : array of shape (similarities, columns)
        The weights of the similarities in the influence.
    used : array of int
        Which landmarks were kept.
    """

    part: WeightedLandmarks
    others: np.ndarray
    used: np.ndarray


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """Weighted landmarks of one or several similarities, as the second encoding of a task that is never cut."""

    parts: tuple[WeightedLandmarks, ...]

    def __len__(self) -> int:
        return max(1, sum([part.n_compared for part in self.parts]))

    def __getitem__(self, which: Any) -> LandmarkModel:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    def movable(self) -> bool:
        """Tell whether a device can hold it: an empty part has nothing to hold."""
        return all(len(part.weights) for part in self.parts)

    def moved(self, move: Callable[[Any], Any]) -> LandmarkModel:
        """Return the same with its arrays on another device."""
        return LandmarkModel(tuple(part.moved(move) for part in self.parts))

    def with_similarity(self, k: Any) -> LandmarkModel:
        """Return the same for another precomputed matrix; None waits for the next one."""
        return LandmarkModel(tuple(replace(part, features=part.features.with_similarity(k)) for part in self.parts))

    def split(self, outputs: int) -> tuple[LandmarkModel, tuple[np.ndarray, ...]]:
        """Return the model of the first outputs, and the weights of the others in each part."""
        first = LandmarkModel(tuple(replace(part, weights=part.weights[:, :outputs]) for part in self.parts))
        return first, tuple(part.weights[:, outputs:] for part in self.parts)

    def scores(self, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
        """Return the scores of encoded objects without the intercept: tensors for tensors."""
        on_tensors = all([part.features.on_tensors for part in self.parts])
        known = self._by_products(encodings, engine) if on_tensors else None
        if known is not None:
            return known
        threadsafe = all([part.features.similarity.hints.threadsafe for part in self.parts])
        return run_on_strips(ScoresTask(threadsafe, on_tensors), encodings, self, engine, itemsize)

    def _by_products(self, encodings: Sequence[Encoding], engine: Engine) -> Any:
        """Return the scores by products that do not store the similarities; None if the engine has none."""
        sums: list[Any] = []
        for part, A in zip(self.parts, encodings, strict=True):
            features = part.features
            if features.normalized or not len(part.weights):
                return None
            operator = engine.operator(features.similarity, A, features.landmarks.encoding)
            if operator is None:
                return None
            sums.append(operator.product(part.weights))
        return sum(sums[1:], start=sums[0])


@dataclass(frozen=True)
class ScoresTask:
    """Compute the scores of a strip of rows."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Any]) -> Any:
        """Return the scores of all parts."""
        return concatenated(parts)

    def __call__(self, a: Sequence[Encoding], b: LandmarkModel, out: Any = None) -> Any:
        """Return the sum of the weighted similarities without the intercept, in float64."""
        total: Any = None
        for part, A in zip(b.parts, a, strict=True):
            if part.n_compared < len(part.weights):
                scores = _sums_within_cells(part, A)
            elif len(part.weights):
                scores = _weighted_sums(part.features.similarities(A), part.weights, part.features.normalized)
            else:
                scores = np.zeros((count(A), part.weights.shape[1]))
            total = scores if total is None else total + scores
        return total


def _sums_within_cells(part: WeightedLandmarks, A: Encoding) -> np.ndarray:
    """Return the weighted sums over the landmarks of each object's own cell: all other similarities are zero."""
    features, sums = part.features, np.zeros((count(A), part.weights.shape[1]))
    cells, block = features.similarity.hints.cells, BlockTask(features.similarity)
    ours, theirs = cells(A), cells(features.landmarks.encoding)
    for cell in np.intersect1d(ours, theirs):
        i, j = np.flatnonzero(ours == cell), np.flatnonzero(theirs == cell)
        K = block(rows(A, i), rows(features.landmarks.encoding, j))
        sums[i] = _weighted_sums(in_floats(K), part.weights[j], normalized=False)
    return sums


def _weighted_sums(K: Any, weights: Any, normalized: bool) -> Any:
    """Return the weighted sum over the similarities of each object, divided by their length if `normalized`."""
    if not isinstance(K, np.ndarray):
        wide = in_precision(K, weights.dtype) @ weights
        return wide / lengths(K)[:, None] if normalized else wide
    if K.dtype == np.float64:
        sums: np.ndarray = np.matmul(K, weights, dtype=np.float64)
    else:
        sums = np.empty((len(K), weights.shape[1]))
        for start in range(0, len(K), 256):  # a few rows at a time in float64
            sums[start : start + 256] = K[start : start + 256].astype(np.float64) @ weights
    return sums / lengths(K).astype(np.float64)[:, None] if normalized else sums
