"""Sampled examples and their similarities to landmarks, computed once for similarities that share distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Blocks, Encoding, as_matrix, check_objects, rows, take
from similitude.compute.engines import Engine
from similitude.evaluation import TaskTargets, interleaved
from similitude.goodness import stratified
from similitude.kernels.vectors import DistanceSimilarity
from similitude.landmarks import Landmarks, Representation, SampleFeatures, in_floats
from similitude.similarity import Hints, Pullback, Similarity
from similitude.support import pairs_at


def sample_rows(n: int, targets: TaskTargets | None, size: int, least: int, rng: np.random.Generator) -> np.ndarray:
    """Return sorted positions; stratified if there are classes, with at least `least` examples of each if possible."""
    if size >= n:
        return np.arange(n)
    if targets is None or targets.codes is None:
        return np.sort(rng.permutation(n)[:size])
    return stratified(targets.codes, size, rng, least)


@dataclass(frozen=True, eq=False)
class SampledData:
    """The sampled examples, by their positions `rows` in X, and the `places` of the landmarks among them."""

    X: Any
    rows: np.ndarray
    places: np.ndarray
    _encodings: dict[int, tuple[Similarity, Encoding]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, X: Any, rows: np.ndarray, codes: np.ndarray | None, n_landmarks: int, rng: np.random.Generator
    ) -> SampledData:
        """Draw the landmarks: at random, or stratified by class if codes are given."""
        if codes is None:
            return cls(X, rows, rng.permutation(len(rows))[:n_landmarks])
        return cls(X, rows, interleaved(codes, rng)[:n_landmarks])

    @property
    def landmarks(self) -> np.ndarray:
        """Positions of the landmarks in X."""
        return self.rows[self.places]

    def objects(self, k: Similarity) -> Any:
        """Return the examples as a similarity takes them, the same object every time."""
        if k.objects == "vectors":
            return self._matrix
        return self._raw

    def __reduce__(self) -> tuple[Any, ...]:
        return SampledData, (self._raw, self.rows, self.places)  # a worker needs no other objects

    def encoded(self, k: Similarity, keep: bool = False) -> Encoding:
        """Return the encoded examples; those that were kept are handed out once more."""
        if id(k) in self._encodings:
            return self._encodings.pop(id(k))[1]
        encoding = k.encode_checked(self.objects(k), "X")
        if keep:
            self._encodings[id(k)] = (k, encoding)
        return encoding

    @cached_property
    def _raw(self) -> Any:
        return self._sampled(self.X)

    @cached_property
    def _matrix(self) -> Any:
        return self._sampled(as_matrix(self.X))  # the whole matrix first: an error then names a row of X

    def _sampled(self, X: Any) -> Any:
        return X if len(self.rows) == check_objects(X) else take(X, self.rows)


@dataclass(frozen=True)
class DistanceBlocks:
    """The distances that a similarity is a function of, computed like similarities."""

    of: DistanceSimilarity
    hints: ClassVar[Hints] = Hints(finite=True)  # vectors whose distances overflow are refused

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return self.of.distances(A, B, out)


def distance_key(k: Similarity) -> tuple[Any, ...] | None:
    """Return a key of the distances that a similarity is a function of, equal if they can be shared; or None."""
    if type(k) is Pullback:
        inner = distance_key(k.k)
        return inner and (id(k.f), k.batched, *inner)
    if isinstance(k, DistanceSimilarity) and k.shared_distances() is not None:
        return (k.shared_distances(),)
    return None


def families(similarities: Sequence[Similarity]) -> list[list[int]]:
    """Group similarities that share distances; return their positions."""
    together: dict[Any, list[int]] = {}
    for place, k in enumerate(similarities):
        together.setdefault(distance_key(k) or place, []).append(place)
    return list(together.values())


class ComparedExamples:
    """Examples compared with landmarks under a resolved similarity, or the distances that several of them share."""

    def __init__(self, family: Sequence[Similarity], data: SampledData, engine: Engine) -> None:
        self.data = data
        self.engine = engine
        self.like = family[0]
        self.shared = len(family) > 1
        self.A = data.encoded(self.like)
        objects = take(data.objects(self.like), data.places)
        self.landmarks = Landmarks(objects, data.landmarks, rows(self.A, data.places))

    @cached_property
    def values(self) -> np.ndarray:
        """The similarities K(x, l), or the distances; an error names its pair by positions in X."""
        like: Any = self.like
        if self.shared:
            like = DistanceBlocks(_of_distances(like))
        with pairs_at(self.data.rows, self.data.landmarks):
            return in_floats(Blocks(like, self.A, self.landmarks.encoding, engine=self.engine).whole())

    def left(self, k: Similarity) -> np.ndarray:
        """Return K(x, l) for examples x and landmarks l."""
        if not self.shared:
            return self.values
        found: np.ndarray = _of_distances(k).of_distances(self.values.copy())
        return found

    def sample(self, k: Similarity, side: str = "auto") -> SampleFeatures:
        """Return the features of the examples under one of the similarities."""
        known = {"left": self.left(k)}
        return SampleFeatures(k, self.A, self.data.rows, self.landmarks, self.engine, side, known=known)

    def features(self, k: Similarity, side: str = "auto") -> tuple[Representation, np.ndarray, int]:
        """Return the representation, the features of the examples, and how many pairs of objects were compared."""
        sample = self.sample(k, side)
        _, F = sample.features(len(self.landmarks), False)
        return sample.representation, F, self.values.size * (1 + (sample.representation.side == "both"))


def _of_distances(k: Similarity) -> Any:
    """Return the function of distances inside of functions of objects."""
    while isinstance(k, Pullback):
        k = k.k
    return k
