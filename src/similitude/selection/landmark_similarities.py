"""Similarities of sampled examples to landmarks, and their features: each pair of objects is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Blocks, Encoding, as_matrix, check_objects, rows, take
from similitude.compute.engines import Engine
from similitude.evaluation import TaskTargets, at_rows, interleaved
from similitude.goodness import stratified
from similitude.kernel_learning import learn_from_targets
from similitude.kernels.vectors import DistanceSimilarity
from similitude.landmarks import (
    EXAMINED,
    PROJECTION,
    SIMILARITIES,
    LandmarkFeatures,
    Landmarks,
    Representation,
    choose_representation,
    factor_of_landmarks,
    in_double,
    in_floats,
)
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
        order = rng.permutation(len(rows)) if codes is None else interleaved(codes, rng)
        return cls(X, rows, order[:n_landmarks])

    @property
    def landmarks(self) -> np.ndarray:
        """Positions of the landmarks in X."""
        return self.rows[self.places]

    def objects(self, k: Similarity) -> Any:
        """Return the examples as a similarity takes them, the same object every time."""
        return self._matrix if k.objects == "vectors" else self._raw

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
        self.data = data
        self.engine = engine
        self.shared = shared
        self.A = data.encoded(k)
        objects = take(data.objects(k), data.places)
        self.landmarks = Landmarks(objects, data.landmarks, rows(self.A, data.places))
        self.n_calls = 0
        self._distances: dict[str, np.ndarray] = {}

    def left(self, k: Similarity) -> np.ndarray:
        """Return K(x, l) for examples x and landmarks l, as a new array."""
        return self._values(k, "left", self.A, self.landmarks.encoding, self.data.rows)

    def right(self, k: Similarity) -> np.ndarray:
        """Return K(l, x)."""
        return self._block(k, self.landmarks.encoding, self.A, self.data.landmarks, self.data.rows).T

    def landmark_gram(self, k: Similarity, K: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of the landmarks in double precision: rows of K(x, l), or computed again."""
        if K.dtype == np.float64:
            return K[self.data.places]
        A = in_double(k, self.landmarks)
        return self._values(k, "gram", A, A, self.data.landmarks).astype(np.float64, copy=False)

    def diagonal(self, k: Similarity) -> np.ndarray:
        """Return K(x, x) of the examples in double precision."""
        with pairs_at(self.data.rows, self.data.rows):
            return np.asarray(k.diagonal(self.A), dtype=np.float64)

    def features(self, k: Similarity, side: str = "auto") -> tuple[Representation, np.ndarray]:
        """Return the representation of a similarity, and the features of the examples."""
        K = self.left(k)
        M = self.landmark_gram(k, K)
        representation = choose_representation(k, None if k.proven else M[:EXAMINED, :EXAMINED], side, False)
        if representation.name == PROJECTION:
            F = self.projection(k, K, M)
            if F is not None:
                return representation, F
            reason = f"the Gram matrix of {len(M)} landmarks is {'indefinite' if M.any() else 'zero'}"
            return Representation(SIMILARITIES, reason, "left"), K
        return representation, np.concatenate([K, self.right(k)], axis=1) if representation.side == "both" else K

    def projection(self, k: Similarity, K: np.ndarray, M: np.ndarray) -> np.ndarray | None:
        """Return F with F U = K and M = U'U, possibly overwriting K; None if M is indefinite or zero."""
        factor = factor_of_landmarks(M, K.dtype == np.float32)
        if factor is None:
            return None
        if len(factor.pivots) < len(M):
            K = np.ascontiguousarray(K[:, factor.pivots])
        ready = LandmarkFeatures(k, self.landmarks.only(factor.pivots), factor=factor.U).ready(K.dtype)
        return np.asarray(ready.transform(K))

    def _values(self, k: Similarity, which: str, A: Encoding, B: Encoding, down: np.ndarray) -> np.ndarray:
        """Return similarities to the landmarks, from distances that are kept if they are shared."""
        if not self.shared:
            return self._block(k, A, B, down, self.data.landmarks)
        base: Any = k
        while isinstance(base, Pullback):
            base = base.k
        if which not in self._distances:
            self._distances[which] = self._block(DistanceBlocks(base), A, B, down, self.data.landmarks)
        return np.asarray(base.of_distances(self._distances[which].copy()))

    def _block(self, like: Any, A: Encoding, B: Encoding, down: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a whole block; an error names its pair by positions in X."""
        with pairs_at(down, right):
            values = in_floats(Blocks(like, A, B, engine=self.engine).whole())
        self.n_calls += values.size
        return values


@dataclass(eq=False)
class FoldLearner:
    """Learns a similarity from some examples, and returns the features of all examples under it."""

    k: Similarity
    data: SampledData
    targets: TaskTargets
    engine: Engine
    groups: np.ndarray | None = None
    n_calls: int = 0

    def learn(self, train: np.ndarray) -> tuple[Similarity, Representation, np.ndarray]:
        """Return the similarity learned from the examples at some positions, and the features of all under it.

        The seed of the pilot rows is fixed: the same examples give the same kernel.
        """
        objects = take(self.data.objects(self.k), train)
        groups = at_rows(self.groups, train)
        k = learn_from_targets(self.k, objects, self.targets.Y[train], random_state=0, groups=groups).similarity
        similarities = LandmarkSimilarities(k, self.data, self.engine)
        representation, F = similarities.features(k)
        self.n_calls += similarities.n_calls
        return k, representation, F
