"""Examples against landmarks: each pair is computed once, and distances once for all that are functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from similitude.compute import as_matrix
from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, check_objects, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.kernels.vectors import DistanceSimilarity
from similitude.landmarks.features import in_double, in_floats
from similitude.landmarks.landmarks import Landmarks
from similitude.similarity import Hints, Pullback, Similarity
from similitude.support.errors import pairs_at


@dataclass(frozen=True, eq=False)
class Looked:
    """Who is looked at.

    Attributes
    ----------
    X : sequence
        All objects.
    rows : array of int
        Positions of the examples.
    places : array of int
        Places of the landmarks among the examples.
    """

    X: Any
    rows: np.ndarray
    places: np.ndarray

    @property
    def landmarks(self) -> np.ndarray:
        """Positions of the landmarks in X."""
        return self.rows[self.places]

    def objects(self, k: Similarity) -> Any:
        """Return the examples as a similarity takes them, the same object every time."""
        return self._matrix if k.objects == "vectors" else self._raw

    def alone(self) -> Looked:
        """Return the same without the objects that are not looked at."""
        return replace(self, X=self._raw)

    @cached_property
    def _raw(self) -> Any:
        return self._some(self.X)

    @cached_property
    def _matrix(self) -> Any:
        return self._some(as_matrix(self.X))  # all of it: an error then names its row in X

    def _some(self, X: Any) -> Any:
        return X if len(self.rows) == check_objects(X) else take(X, self.rows)


@dataclass(frozen=True)
class Distances:
    """Distances in the place of a similarity."""

    of: DistanceSimilarity
    hints: ClassVar[Hints] = Hints(finite=True)  # vectors whose distances overflow are refused

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return self.of.distances(A, B, out)


def core(k: Similarity) -> Similarity:
    """Return what is compared once a function has been applied to the objects."""
    return core(k.k) if isinstance(k, Pullback) else k


def family(k: Similarity) -> tuple[Any, ...] | None:
    """Return which distances a similarity is a function of, equal for all that can share them; None: of none.

    >>> from similitude.kernels import Gaussian, Laplace, Linear
    >>> family(Gaussian(sigma=1.0)) == family(Laplace(sigma=2.0)), family(Linear())
    (True, None)
    """
    if type(k) is Pullback:
        inner = family(k.k)
        return None if inner is None else (id(k.f), k.batched, *inner)
    name = k.shared_distances() if isinstance(k, DistanceSimilarity) else None
    return None if name is None else (name,)


def families(similarities: Sequence[Similarity]) -> list[list[int]]:
    """Return the places of similarities, together where they share distances.

    >>> from similitude.kernels import Gaussian, Laplace, Linear
    >>> families([Gaussian(sigma=1.0), Linear(), Laplace(sigma=1.0), Laplace(sigma=1.0, norm=1)])
    [[0, 2], [1], [3]]
    """
    together: dict[Any, list[int]] = {}
    for place, k in enumerate(similarities):
        key = family(k)
        together.setdefault(place if key is None else key, []).append(place)
    return list(together.values())


class Pairs:
    """The similarities of examples to landmarks.

    Parameters
    ----------
    k : Similarity
        Resolved; or one of several that share their distances.
    looked : Looked
    engine : Engine
    shared : bool
        Whether distances are computed, and kept for the others.

    Attributes
    ----------
    n_calls : int
        Pairs that were computed.
    """

    def __init__(self, k: Similarity, looked: Looked, engine: Engine, shared: bool = False) -> None:
        self.looked, self.engine, self.shared = looked, engine, shared
        objects = looked.objects(k)
        self.A = k.encode_checked(objects, "X")
        self.landmarks = Landmarks(take(objects, looked.places), looked.landmarks, rows(self.A, looked.places))
        self.n_calls = 0
        self._distances: np.ndarray | None = None
        self._between: np.ndarray | None = None

    def left(self, k: Similarity) -> np.ndarray:
        """Return K(x, l) for examples x and landmarks l, an array that nobody else holds."""
        if not self.shared:
            return self._block(k, self.A, self.landmarks.encoding, self.looked.rows, self.looked.landmarks)
        if self._distances is None:
            like = Distances(core(k))  # type: ignore[arg-type]
            self._distances = self._block(
                like, self.A, self.landmarks.encoding, self.looked.rows, self.looked.landmarks
            )
        return _of_distances(k, self._distances)

    def right(self, k: Similarity) -> np.ndarray:
        """Return K(l, x)."""
        return self._block(k, self.landmarks.encoding, self.A, self.looked.landmarks, self.looked.rows).T

    def between(self, k: Similarity, K: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of the landmarks in double precision: rows of K(x, l), or computed anew."""
        if K.dtype == np.float64:
            return K[self.looked.places]
        A, at = in_double(k, self.landmarks), self.looked.landmarks
        if not self.shared:
            return self._block(k, A, A, at, at).astype(np.float64, copy=False)
        if self._between is None:
            between = self._block(Distances(core(k)), A, A, at, at)  # type: ignore[arg-type]
            self._between = between.astype(np.float64, copy=False)
        return _of_distances(k, self._between)

    def diagonal(self, k: Similarity) -> np.ndarray:
        """Return K(x, x) of the examples in double precision."""
        with pairs_at(self.looked.rows, self.looked.rows):
            return np.asarray(k.diagonal(self.A), dtype=np.float64)

    def _block(self, like: Any, A: Encoding, B: Encoding, down: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a whole block; an error names its pair by positions in X."""
        with pairs_at(down, right):
            values = in_floats(Blocks(like, A, B, engine=self.engine, itemsize=itemsize(A)).whole())
        self.n_calls += values.size
        return values


def _of_distances(k: Similarity, D: np.ndarray) -> np.ndarray:
    return np.asarray(core(k).of_distances(D.copy()))  # type: ignore[attr-defined]
