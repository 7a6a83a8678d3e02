"""Landmarks, the features that they give an object, and those of a sample of rows.

One class serves maps, estimators and selection. The similarities K(x, l) are either projected, F(x) = K(x, L) U^-1
with K(L, L) = U'U, so that F(x) . F(z) is the kernel as far as the landmarks tell, or used as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import (
    FLOATS,
    Blocks,
    BlockTask,
    Encoding,
    as_numpy,
    count,
    filled,
    finite_block,
    in_precision,
    itemsize,
    moved,
    namespace,
    rows,
    take,
    tensor_in,
)
from similitude.compute.engines import Engine
from similitude.evaluation import at_rows
from similitude.landmarks.projection import (
    EXAMINED,
    PROJECTION,
    choose_representation,
    factor_of_landmarks,
    not_projected,
    solve_rows,
    solver,
)
from similitude.similarity import Hints, Similarity
from similitude.support import PairError

GIVEN = "given"
UNLABELED = "unlabeled"
"""Rules of landmarks that the user named, and of landmarks drawn uniformly from a pool without labels."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks, in the order in which they were chosen."""

    objects: Any
    positions: np.ndarray | None = None  # in X; None for objects that are not rows of X
    encoding: Encoding = None  # the objects as a similarity encodes them; None until one does
    labels: np.ndarray | None = None  # class numbers, where known
    rule: str = GIVEN  # how they were chosen: a rule, ``given``, or ``unlabeled``

    def __len__(self) -> int:
        return int(self.objects.shape[0]) if hasattr(self.objects, "shape") else len(self.objects)

    def only(self, which: np.ndarray) -> Landmarks:
        """Return some of the landmarks."""
        if np.array_equal(which, np.arange(len(self))):
            return self
        return Landmarks(
            take(self.objects, which),
            at_rows(self.positions, which),
            None if self.encoding is None else rows(self.encoding, which),
            at_rows(self.labels, which),
            self.rule,
        )

    def encoded(self, k: Similarity, A: Encoding = None) -> Landmarks:
        """Return the landmarks encoded for a similarity; `A` is the encoding of X, if they are rows of X."""
        if A is None or self.positions is None:
            return replace(self, encoding=k.encode_checked(self.objects, "landmarks"))
        return replace(self, encoding=rows(A, self.positions))

    def relocated(self, places: np.ndarray | None) -> Landmarks:
        """Return the landmarks with their positions in a larger data set, of whose rows X is a sample."""
        if places is None or self.positions is None:
            return self
        return replace(self, positions=places[self.positions])


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """The features that landmarks give an object."""

    similarity: Any  # resolved; None while a precomputed model waits for the next matrix
    landmarks: Landmarks  # encoded by the similarity
    side: str = "left"  # K(x, l); or "right", K(l, x); or "both" side by side
    factor: np.ndarray | None = None  # U with K(L, L) = U'U, in float64, if the similarities are projected
    normalized: bool = False  # whether the similarities of each object are divided by their length
    scale: float = 1.0  # every feature is divided by this
    matrix: Any = None  # multiplies the similarities, or is solved with, in the precision at hand; see `ready`
    leading: int | None = None  # how many projected features are complete; the others are completed after summing

    @property
    def n_similarities(self) -> int:
        """The number of similarities of an object."""
        return len(self.landmarks) * (1 + (self.side == "both"))

    @property
    def on_tensors(self) -> bool:
        """Whether a device can compute the similarities."""
        return self.side == "left" and bool(self.similarity.hints.on_tensors)

    def only(self, which: np.ndarray) -> LandmarkFeatures:
        """Return the same features of some of the landmarks."""
        return replace(self, landmarks=self.landmarks.only(which))

    def with_similarity(self, k: Similarity | None) -> LandmarkFeatures:
        """Return the same features for another precomputed matrix; None waits for the next one."""
        return self if self.similarity is k else replace(self, similarity=k)

    def ready(self, dtype: Any) -> LandmarkFeatures:
        """Return the same with the projection prepared for similarities of a precision."""
        if self.factor is None:
            return self
        return replace(self, matrix=solver(self.factor, np.dtype(dtype)))

    def moved(self, move: Callable[[Any], Any]) -> LandmarkFeatures:
        """Return the same with its arrays on another device."""
        landmarks = replace(self.landmarks, encoding=moved(self.landmarks.encoding, move))
        return replace(self, landmarks=landmarks, matrix=None if self.matrix is None else move(self.matrix))

    def similarities(self, A: Encoding, out: Any = None) -> Any:
        """Return the similarities of encoded objects to the landmarks in floating point; tensors give tensors."""
        like, columns = sided(self.similarity, self.landmarks.encoding, self.side)
        if out is not None:
            return filled(BlockTask(like), A, columns, out)
        values = like.block(A, columns)
        if not like.hints.finite:
            finite_block(values, A, columns, like)
        if not isinstance(values, np.ndarray):
            return values
        return in_floats(values)

    def features(self, A: Encoding, out: Any = None) -> Any:
        """Return the features of encoded objects."""
        if self.matrix is not None and self.factor is None:
            K = self.similarities(A)
            if not isinstance(K, np.ndarray):
                return in_precision(K, self.matrix.dtype) @ self.matrix
            return np.matmul(K.astype(self.matrix.dtype, copy=False), self.matrix, out=out)
        return self.transform(self.similarities(A, out))

    def transform(self, K: Any) -> Any:
        """Turn similarities into features; K may be overwritten."""
        if self.factor is not None:
            K = solve_rows(in_precision(K, self.matrix.dtype), self.matrix, self.leading)
        if self.normalized:
            K = K / lengths(K)[:, None]
        return K if self.scale == 1.0 else K / float(self.scale)

    def similarity_weights(self, W: np.ndarray) -> np.ndarray:
        """Return the weight of every similarity, given weights of the features."""
        if self.factor is None:
            return W / self.scale
        solution: np.ndarray = solve_triangular(self.factor, W, check_finite=False)
        return solution / self.scale

    def rounded_weights(self, W: np.ndarray) -> np.ndarray:
        """Return the weight of every similarity in single precision.

        They are large and cancel where similarities are nearly dependent. So back substitution finds them one after the
        other, and each is rounded before the next, which makes up for it as far as it can.
        """
        if self.factor is None:
            return self.similarity_weights(W).astype(np.float32)
        right = W / self.scale
        found = np.zeros(W.shape, dtype=np.float32)
        for j in reversed(range(len(W))):
            found[j] = (right[j] - self.factor[j, j + 1 :] @ found[j + 1 :].astype(np.float64)) / self.factor[j, j]
        return found

    # As the second encoding of a task: landmarks stay whole on every tile.

    def __len__(self) -> int:
        """The number of features of an object."""
        projected = self.factor is None and self.matrix is not None
        return int(self.matrix.shape[1]) if projected else self.n_similarities

    def __getitem__(self, which: Any) -> LandmarkFeatures:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    def movable(self) -> bool:
        """Tell that a device can hold the landmarks."""
        return True


@dataclass(frozen=True)
class FeatureBlocks:
    """Landmark features as blocks of whole rows."""

    similarity: Similarity

    @property
    def hints(self) -> Hints:
        """Those of the similarity, whose values are checked."""
        hints = self.similarity.hints
        return Hints(finite=True, on_tensors=hints.on_tensors, threadsafe=hints.threadsafe)

    def block(self, A: Encoding, B: LandmarkFeatures, out: Any = None) -> Any:
        """Return the features of encoded objects."""
        if tensor_in(A) is not None or B.matrix is None:
            return B.features(A, out)
        empty = np.empty((count(A), B.n_similarities), B.matrix.dtype) if out is None and B.factor is not None else out
        return B.features(A, empty)


def sided(k: Similarity, landmarks: Encoding, side: str) -> tuple[Any, Encoding]:
    """Return what compares objects with landmarks on a side, and the landmarks as its columns."""
    if side == "left":
        return k, landmarks
    n = count(landmarks)
    names = {"right": ["right"], "both": ["left", "right"]}[side]
    return TwoSided(k), (rows(landmarks, np.tile(np.arange(n), len(names))), np.repeat(names, n))


@dataclass(frozen=True)
class TwoSided:
    """A similarity whose columns are landmarks with a side each: K(x, l) for ``left``, K(l, x) for ``right``."""

    similarity: Similarity

    @property
    def hints(self) -> Hints:
        """Those of the similarity; not on tensors, because the columns hold the names of sides."""
        return Hints(finite=self.similarity.hints.finite, threadsafe=self.similarity.hints.threadsafe)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return K(x, l) or K(l, x) for each landmark, as its side says."""
        landmarks, sides = B
        left = np.flatnonzero(sides == "left")
        right = np.flatnonzero(sides == "right")
        parts = [np.asarray(self.similarity.block(A, rows(landmarks, left)))] if len(left) else []
        if len(right):
            try:
                parts.append(np.asarray(self.similarity.block(rows(landmarks, right), A)).T)
            except PairError as error:  # named by its row and column in the whole block
                raise PairError(error.j, int(right[error.i]), error.problem) from error.__cause__
        return np.concatenate(parts, axis=1)


def in_floats(values: Any) -> np.ndarray:
    """Return an array of float32 or float64."""
    array = as_numpy(values)
    return array if array.dtype in FLOATS else array.astype(np.float64)


def in_double(k: Similarity, landmarks: Landmarks) -> Encoding:
    """Return the landmarks' encoding, in float64 if they are vectors in another precision."""
    if k.objects != "vectors" or itemsize(landmarks.encoding) == 8:
        return landmarks.encoding
    return k.encode(in_precision(landmarks.objects, namespace(landmarks.objects).float64))


def lengths(K: Any) -> Any:
    """Return the Euclidean length of every row; 1 for a row of zeros."""
    found = np.sqrt(np.einsum("ij,ij->i", K, K)) if isinstance(K, np.ndarray) else (K * K).sum(1).sqrt()
    found[found == 0] = 1.0
    return found


def side_by_side(parts: Sequence[Any]) -> Any:
    """Return the columns of several arrays, or tensors, side by side."""
    xp = namespace(parts[0])
    return np.concatenate(parts, axis=1) if xp is np else xp.concat(list(parts), axis=1)


class SampleFeatures:
    """Similarities of a sample of rows to landmarks, and the features they give.

    The sample is `which` of the rows `among`, at `places` in X. The landmarks are encoded, in the order in which they
    are used; `known` are similarities to all of them, by side.
    """

    def __init__(
        self,
        k: Similarity,
        among: Encoding,
        places: np.ndarray,
        landmarks: Landmarks,
        engine: Engine,
        side: str = "auto",
        sparse: bool = False,
        which: np.ndarray | None = None,
        known: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.k = k
        self.places = places
        self.landmarks = landmarks
        self.engine = engine
        self.sparse = sparse
        self.proven = k.proven
        self.single = itemsize(among) == 4
        self._among = among
        self._which = which
        self._known = dict(known or {})  # similarities by side: the columns are the first landmarks
        self._gram = np.empty((0, 0))
        needs_own = known or not isinstance(among, np.ndarray)
        self._own = rows_of(landmarks.positions, places) if needs_own else None
        self.n_known = len(landmarks)  # to which all similarities are known; all landmarks before any is
        self.n_representations = 1  # that the values of a similarity decide between
        M = None
        if not (self.proven or sparse or side in ("right", "both")):
            self.n_representations = {"auto": 3}.get(side, 2)
            M = self.gram(min(EXAMINED, len(landmarks)))
        self.representation = choose_representation(k, M, side, sparse, self.single)

    @cached_property
    def encoding(self) -> Encoding:
        """The sample."""
        return self._among if self._which is None else rows(self._among, self._which)

    def features(self, n: int, normalized: bool) -> tuple[LandmarkFeatures, np.ndarray]:
        """Return the features that the first n landmarks give, and their values for the sample."""
        if self.representation.name == PROJECTION:
            made = self.projection(n)
            if made is not None:
                features, pivots = made
                assert features.factor is not None
                K = np.take(self.similarities(n, "left"), pivots, axis=1)
                return features, solve_rows(K, solver(features.factor, K.dtype))
            self.representation = not_projected(self.gram(n))
        side = self.representation.side
        K = np.concatenate([self.similarities(n, one) for one in ("left", "right") if side in (one, "both")], axis=1)
        features = LandmarkFeatures(self.k, self.landmarks.only(np.arange(n)), side, normalized=normalized)
        return features, features.transform(K)

    def projection(self, n: int) -> tuple[LandmarkFeatures, np.ndarray] | None:
        """Return the projection onto the first n landmarks and its pivots; None if their Gram matrix is not PSD."""
        factor = factor_of_landmarks(self.gram(n), self.single, self.proven)
        if factor is None:
            return None
        return LandmarkFeatures(self.k, self.landmarks.only(factor.pivots), factor=factor.U), factor.pivots

    def similarities(self, n: int, side: str) -> np.ndarray:
        """Return the similarities to the first n landmarks; known ones are not computed again."""
        K = self._known.get(side)
        known = 0 if K is None else K.shape[1]
        if K is None or known < n:
            symmetric = side == "left" and self._own is not None and self.proven and self.k.hints.heavy
            if symmetric:
                values = in_floats(self._by_symmetry(known, n))
            else:
                new = np.arange(known, n)
                at = self.places, at_rows(self.landmarks.positions, new)
                like, columns = sided(self.k, rows(self.landmarks.encoding, new), side)
                values = in_floats(Blocks(like, self.encoding, columns, engine=self.engine, positions=at).whole())
            K = values if K is None else np.concatenate([K, values], axis=1)
            self._known[side] = K
            self.n_known = min(n, *(one.shape[1] for one in self._known.values()))
        return K[:, :n]

    def _by_symmetry(self, known: int, n: int) -> np.ndarray:
        """Return the similarities of all rows to the landmarks from `known` to n - 1, each pair of landmarks once."""
        old = self._own[:known]  # type: ignore[index]
        new = self._own[known:n]  # type: ignore[index]
        others = np.setdiff1d(np.arange(len(self.places)), [*old, *new])
        B = rows(self.encoding, new)
        at = self.places[new]
        gram = Blocks(self.k, B, symmetric=True, engine=self.engine, positions=(at, at)).whole()
        values = np.empty((len(self.places), n - known), gram.dtype)
        values[new] = gram
        if known:
            values[old] = self.similarities(known, "left")[new].T
        if len(others):
            named = self.places[others], at
            A = rows(self.encoding, others)
            values[others] = Blocks(self.k, A, B, engine=self.engine, positions=named).whole()
        return values

    def restricted(self, order: np.ndarray, which: np.ndarray) -> SampleFeatures:
        """Return the same for rows in another order, and for some of the landmarks that they were compared with."""
        which = which[which < self.n_known]
        made = copy.copy(self)
        vars(made).pop("encoding", None)
        made._which = order if self._which is None else self._which[order]
        made.places = self.places[order]
        made.landmarks = self.landmarks.only(which)
        made.n_known = len(which)
        made._known = {side: K[np.ix_(order, which)] for side, K in self._known.items()}
        examined = which[which < len(self._gram)]
        made._gram = self._gram[np.ix_(examined, examined)]
        made._own = None if self._own is None else rows_of(made.landmarks.positions, made.places)
        return made

    @property
    def largest(self) -> float:
        """The largest magnitude of a similarity that was computed."""
        return max([float(np.abs(K).max(initial=0.0)) for K in (*self._known.values(), self._gram)])

    def gram(self, n: int) -> np.ndarray:
        """Return the Gram matrix of the first n landmarks in float64, with every pair computed if there is no proof."""
        known = len(self._gram)
        if not self.proven and known >= n:
            return self._gram[:n, :n]
        compared = "left" in self._known and self._known["left"].shape[1] >= n
        if self._own is not None and (self.proven or compared) and self.similarities(n, "left").dtype == np.float64:
            return self.similarities(n, "left")[self._own[:n]]
        A = in_double(self.k, self.landmarks.only(np.arange(n)))
        if self.proven:
            return as_numpy(Blocks(self.k, A, A, True, self.engine).whole()).astype(np.float64, copy=False)
        whole = np.empty((n, n))
        whole[:known, :known] = self._gram
        at = np.arange(n) if self.landmarks.positions is None else self.landmarks.positions
        for down, right in ((slice(known, n), slice(0, n)), (slice(0, known), slice(known, n))):
            if down.stop > down.start:
                named = at[down], at[right]
                values = Blocks(self.k, rows(A, down), rows(A, right), engine=self.engine, positions=named).whole()
                self.single = self.single or str(values.dtype).endswith("float32")
                whole[down, right] = as_numpy(values)
        self._gram = whole
        return whole


def rows_of(positions: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
    """Return which rows of the sample the landmarks are; None if one of them is not in the sample."""
    if positions is None:
        return None
    row = dict(zip(places.tolist(), range(len(places)), strict=True))
    own = np.array(list(map(row.get, positions.tolist())), dtype=float)
    return None if np.isnan(own).any() else own.astype(np.intp)
