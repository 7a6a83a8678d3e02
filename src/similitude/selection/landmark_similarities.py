"""Similarities of examples to landmarks: each pair is computed once, and distances once for all functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Blocks, Encoding, as_matrix, check_objects, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.kernels.vectors import DistanceSimilarity
from similitude.landmarks import Landmarks, in_double, in_floats
from similitude.similarity import Hints, Pullback, Similarity
from similitude.support import pairs_at


@dataclass(frozen=True, eq=False)
class SampledData:
    """The sampled examples, by their positions `rows` in X, and the `places` of the landmarks among them."""

    X: Any
    rows: np.ndarray
    places: np.ndarray
    _encodings: dict[int, tuple[Similarity, Encoding]] = field(default_factory=dict, repr=False)

    @property
    def landmarks(self) -> np.ndarray:
        """Positions of the landmarks in X."""
        return self.rows[self.places]

    def objects(self, k: Similarity) -> Any:
        """Return the examples as a similarity takes them, the same object every time."""
        return self._matrix if k.objects == "vectors" else self._raw

    def without_others(self) -> SampledData:
        """Return the same without the objects that are not sampled."""
        return replace(self, X=self._raw, _encodings={})

    def encoded(self, k: Similarity, keep: bool = False) -> Encoding:
        """Return the encoded examples; those that were kept are handed out once more."""
        if id(k) in self._encodings:
            return self._encodings.pop(id(k))[1]
        encoding = k.encode_checked(self.objects(k), "X")
        if keep:
            self._encodings[id(k)] = k, encoding
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


def base_similarity(k: Similarity) -> Similarity:
    """Return the similarity below pullbacks."""
    return base_similarity(k.k) if isinstance(k, Pullback) else k


def distance_key(k: Similarity) -> tuple[Any, ...] | None:
    """Return a key of the distances that a similarity is a function of, equal if they can be shared; None if of none.

    >>> from similitude.kernels import Gaussian, Laplace, Linear
    >>> distance_key(Gaussian(sigma=1.0)) == distance_key(Laplace(sigma=2.0)), distance_key(Linear())
    (True, None)
    """
    if type(k) is Pullback:
        inner = distance_key(k.k)
        return None if inner is None else (id(k.f), k.batched, *inner)
    name = k.shared_distances() if isinstance(k, DistanceSimilarity) else None
    return None if name is None else (name,)


def families(similarities: Sequence[Similarity]) -> list[list[int]]:
    """Group similarities that share distances; return their positions.

    >>> from similitude.kernels import Gaussian, Laplace, Linear
    >>> families([Gaussian(sigma=1.0), Linear(), Laplace(sigma=1.0), Laplace(sigma=1.0, norm=1)])
    [[0, 2], [1], [3]]
    """
    together: dict[Any, list[int]] = {}
    for place, k in enumerate(similarities):
        key = distance_key(k)
        together.setdefault(place if key is None else key, []).append(place)
    return list(together.values())


class LandmarkSimilarities:
    """The similarities of examples to landmarks under a resolved similarity, or several that share their distances.

    If they are shared, distances are computed and kept for the others; ``n_calls`` counts the pairs that were computed.
    """

    def __init__(self, k: Similarity, data: SampledData, engine: Engine, shared: bool = False) -> None:
        self.data, self.engine, self.shared = data, engine, shared
        objects = data.objects(k)
        self.A = data.encoded(k)
        self.landmarks = Landmarks(take(objects, data.places), data.landmarks, rows(self.A, data.places))
        self.n_calls = 0
        self._distances: dict[str, np.ndarray] = {}

    def left(self, k: Similarity) -> np.ndarray:
        """Return K(x, l) for examples x and landmarks l, as a new array."""
        return self._values(k, "left", self.A, self.landmarks.encoding, self.data.rows, self.data.landmarks)

    def right(self, k: Similarity) -> np.ndarray:
        """Return K(l, x)."""
        return self._block(k, self.landmarks.encoding, self.A, self.data.landmarks, self.data.rows).T

    def landmark_gram(self, k: Similarity, K: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of the landmarks in double precision: rows of K(x, l), or computed again."""
        if K.dtype == np.float64:
            return K[self.data.places]
        A, at = in_double(k, self.landmarks), self.data.landmarks
        return self._values(k, "gram", A, A, at, at).astype(np.float64, copy=False)

    def diagonal(self, k: Similarity) -> np.ndarray:
        """Return K(x, x) of the examples in double precision."""
        with pairs_at(self.data.rows, self.data.rows):
            return np.asarray(k.diagonal(self.A), dtype=np.float64)

    def _values(
        self, k: Similarity, which: str, A: Encoding, B: Encoding, down: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Return a block of similarities, from distances that are kept if they are shared."""
        if not self.shared:
            return self._block(k, A, B, down, right)
        base: Any = base_similarity(k)
        if which not in self._distances:
            self._distances[which] = self._block(DistanceBlocks(base), A, B, down, right)
        return np.asarray(base.of_distances(self._distances[which].copy()))

    def _block(self, like: Any, A: Encoding, B: Encoding, down: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a whole block; an error names its pair by positions in X."""
        with pairs_at(down, right):
            values = in_floats(Blocks(like, A, B, engine=self.engine, itemsize=itemsize(A)).whole())
        self.n_calls += values.size
        return values
