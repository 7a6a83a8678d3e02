"""How objects look to a model: similarities to landmarks, and the coordinates made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute.blocks import BlockTask
from similitude.compute.encodings import Encoding, as_numpy, count, in_precision, moved, namespace, tensor_in
from similitude.landmarks.chosen_landmarks import Chosen, faced
from similitude.landmarks.partial_projection import leading
from similitude.landmarks.triangular import solve_rows, solver
from similitude.linear import Moments


@dataclass(frozen=True, eq=False)
class View:
    """A similarity, the landmarks that objects are compared with, and the side on which these stand.

    Attributes
    ----------
    similarity : Similarity or None
        Resolved; None while it waits for the next precomputed matrix.
    landmarks : Chosen
    side : {"left", "right", "both"}
        K(x, l), K(l, x), or both one after the other.
    """

    similarity: Any
    landmarks: Chosen
    side: str = "left"

    @property
    def n_landmarks(self) -> int:
        """How many landmarks there are."""
        return count(self.landmarks.encoding)

    @property
    def width(self) -> int:
        """How many similarities an object has."""
        return self.n_landmarks * (2 if self.side == "both" else 1)

    def only(self, which: np.ndarray) -> View:
        """Return the view with some of the landmarks."""
        return replace(self, landmarks=self.landmarks.only(which))

    @property
    def on_tensors(self) -> bool:
        """Whether a device can compute it."""
        return self.side == "left" and bool(self.similarity.works_on_tensors())

    def moved(self, move: Callable[[Any], Any]) -> View:
        """Return the view with its landmarks' arrays passed through `move`."""
        return replace(self, landmarks=replace(self.landmarks, encoding=moved(self.landmarks.encoding, move)))

    def values(self, A: Encoding) -> Any:
        """Return the similarities of encoded objects to the landmarks, in floating point; tensors give tensors."""
        like, columns = faced(self.similarity, self.landmarks.encoding, self.side)
        task = BlockTask(like)
        if tensor_in(A) is not None:
            return task(A, columns)
        if not (task.fills and _of_one_precision(A, columns)):
            return in_floats(task(A, columns))
        out = np.empty((count(A), self.width), A.dtype)
        return np.asarray(task(A, columns, out))


def _of_one_precision(A: Encoding, B: Encoding) -> bool:
    """Tell whether both are plain arrays of the same floating point numbers, so that the block is one too."""
    arrays = isinstance(A, np.ndarray) and isinstance(B, np.ndarray)
    return arrays and A.dtype == B.dtype and A.dtype in (np.float32, np.float64)


def in_floats(values: Any) -> np.ndarray:
    """Return an array of float32 or float64, whatever a similarity gave."""
    array = as_numpy(values)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Coordinates:
    r"""What the similarities to landmarks are made into before a linear model sees them.

    On the projection representation :math:`F(x) = K(x, L)\,U^{-1}` with :math:`K(L, L) = U^\top U`, so that
    :math:`F(x) \cdot F(z)` is the kernel as far as the landmarks tell. On the landmark representation the similarities
    themselves, divided by their length where rows are normalized. Either is divided by `unit`.

    Attributes
    ----------
    view : View
    factor : array or None
        U, in float64; None on the landmark representation.
    normalized : bool
        Whether each object's similarities are divided by their length.
    unit : float
    """

    view: View
    factor: np.ndarray | None = None
    normalized: bool = False
    unit: float = 1.0

    def prepared(self, dtype: Any) -> Ready:
        """Return what turns similarities of a precision into features."""
        T = None if self.factor is None else solver(self.factor, np.dtype(dtype))
        return Ready(self, T)

    def placed(self, places: np.ndarray | None) -> Coordinates:
        """Return the same with the positions of landmarks in a larger whole, of which X was a part."""
        landmarks = self.view.landmarks
        if places is None or landmarks.positions is None:
            return self
        view = replace(self.view, landmarks=replace(landmarks, positions=places[landmarks.positions]))
        return replace(self, view=view)

    def weights(self, W: np.ndarray) -> np.ndarray:
        """Return the weight of every similarity, for weights of the features."""
        if self.factor is None:
            return W / self.unit
        solution: np.ndarray = solve_triangular(self.factor, W, check_finite=False)
        return solution / self.unit


@dataclass(frozen=True, eq=False)
class Ready:
    """Coordinates with what they need in the precision at hand.

    Attributes
    ----------
    coordinates : Coordinates
    solver : array or None
        The factor, ready to solve with.
    leading : int or None
        How many of the features are made, where the others wait until examples are added up; None: all are made.
    """

    coordinates: Coordinates
    solver: np.ndarray | None
    leading: int | None = None

    def moved(self, move: Callable[[Any], Any]) -> Ready:
        """Return the same with its arrays passed through `move`."""
        view = self.coordinates.view.moved(move)
        T = None if self.solver is None else move(self.solver)
        return replace(self, coordinates=replace(self.coordinates, view=view), solver=T)

    def for_sums(self, F: np.ndarray) -> Ready:
        """Return what makes only those features of each example that its share in the sums needs; F: those of some."""
        if self.coordinates.factor is None or self.coordinates.normalized:
            return self
        return replace(self, leading=leading(self.coordinates.factor, F))

    def features(self, K: Any) -> Any:
        """Turn similarities into features; K may be overwritten."""
        if self.solver is not None:
            K = solve_rows(in_precision(K, self.solver.dtype), self.solver, self.leading)
        if self.coordinates.normalized:
            K = K / lengths(K)[:, None]
        if self.coordinates.unit != 1.0:
            K = K / float(self.coordinates.unit)
        return K


def lengths(K: Any) -> Any:
    """Return the length of every row; 1 for a row of zeros."""
    found = np.sqrt(np.einsum("ij,ij->i", K, K)) if isinstance(K, np.ndarray) else (K * K).sum(1).sqrt()
    found[found == 0] = 1.0
    return found


@dataclass(frozen=True, eq=False)
class Together:
    """Several coordinates side by side, as an encoding that is never cut: what every object is mapped with."""

    parts: tuple[Ready, ...]

    @classmethod
    def of(cls, coordinates: Sequence[Coordinates], dtype: Any) -> Together:
        """Make coordinates ready for objects of a precision."""
        return cls(tuple(one.prepared(dtype) for one in coordinates))

    def __len__(self) -> int:
        return sum(part.coordinates.view.width for part in self.parts)

    def __getitem__(self, which: Any) -> Together:
        return self

    @property
    def positions(self) -> np.ndarray | None:
        """Where the landmark of each column stands in X; None where some are not of X, or parts differ."""
        views = [part.coordinates.view for part in self.parts]
        known = views[0].landmarks.positions
        return np.tile(known, 2) if len(views) == 1 and known is not None else None

    def movable(self) -> bool:
        """Tell that a device can hold it."""
        return True

    def moved(self, move: Callable[[Any], Any]) -> Together:
        """Return the same with its arrays passed through `move`."""
        return Together(tuple(part.moved(move) for part in self.parts))

    def for_sums(self, F: np.ndarray) -> Together:
        """Return what makes only as much of the features of each example as sums need; F: the features of some."""
        pairs = zip(self.parts, self._columns(), strict=True)
        return Together(tuple(part.for_sums(F[:, columns]) for part, columns in pairs))

    def summed(self, moments: Moments) -> Moments:
        """Return the moments of complete features, from those of what `for_sums` left of them."""
        for part, columns in zip(self.parts, self._columns(), strict=True):
            if part.leading is not None and part.coordinates.factor is not None:
                r = part.leading
                moments = moments.divided(part.coordinates.factor[r:, r:], slice(columns.start + r, columns.stop))
        return moments

    def _columns(self) -> list[slice]:
        """Return where the features of each part stand."""
        stops = np.cumsum([part.coordinates.view.width for part in self.parts]).tolist()
        return [slice(a, b) for a, b in zip([0, *stops], stops, strict=False)]

    def features(self, encodings: tuple[Encoding, ...]) -> Any:
        """Return the features of encoded objects: one encoding for each part."""
        pairs = zip(self.parts, encodings, strict=True)
        made = [part.features(part.coordinates.view.values(A)) for part, A in pairs]
        return made[0] if len(made) == 1 else side_by_side(made)


def side_by_side(made: list[Any]) -> Any:
    """Return the columns of several arrays, or tensors, one after the other."""
    xp = namespace(made[0])
    return np.concatenate(made, axis=1) if xp is np else xp.concat(made, axis=1)


@dataclass(frozen=True, eq=False)
class Weighted:
    """What prediction needs of one part: the view of the landmarks that have a weight, and the weights.

    Attributes
    ----------
    view : View
    weights : array of shape (width, outputs)
        Of every similarity.
    normalized : bool
        Whether the sum is divided by the length of the object's similarities.
    """

    view: View
    weights: np.ndarray
    normalized: bool

    @classmethod
    def of(cls, coordinates: Coordinates, W: np.ndarray) -> Weighted:
        """Keep the landmarks that have a weight; where rows are normalized their lengths need all of them."""
        view, weights = coordinates.view, coordinates.weights(W)
        if coordinates.normalized:
            return cls(view, weights, True)
        per_side = (weights != 0).any(axis=1).reshape(-1, view.n_landmarks)
        used = np.flatnonzero(per_side.any(axis=0))
        columns = (np.arange(len(per_side))[:, None] * view.n_landmarks + used).ravel()
        return cls(view.only(used), weights[columns], False)

    @property
    def n_used(self) -> int:
        """How many landmarks have a weight."""
        return int((self.weights != 0).any(axis=1).reshape(-1, max(1, self.view.n_landmarks)).any(axis=0).sum())

    def contributions(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return how alike one object is to each landmark, and what each landmark adds to each output."""
        if not len(self.weights):
            return np.empty(0), np.empty((0, self.weights.shape[1]))
        K = self.view.values(A).astype(np.float64)
        alike = K[0, : self.view.n_landmarks].copy()
        if self.normalized:
            K /= lengths(K)[:, None]
        added = K[0][:, None] * self.weights
        return alike, added.reshape(-1, self.view.n_landmarks, self.weights.shape[1]).sum(axis=0)

    def moved(self, move: Callable[[Any], Any]) -> Weighted:
        """Return the same with its arrays passed through `move`."""
        return replace(self, view=self.view.moved(move), weights=move(self.weights))

    def scores(self, A: Encoding) -> Any:
        """Return the sum over all similarities, in float64."""
        if not len(self.weights):
            return np.zeros((count(A), self.weights.shape[1]))
        K = self.view.values(A)
        if not isinstance(K, np.ndarray):
            wide = in_precision(K, self.weights.dtype) @ self.weights
            return wide / lengths(K)[:, None] if self.normalized else wide
        sums: np.ndarray = np.matmul(K, self.weights, dtype=np.float64) if K.dtype == np.float64 else _wide(K, self)
        return sums / lengths(K).astype(np.float64)[:, None] if self.normalized else sums


def _wide(K: np.ndarray, weighted: Weighted) -> np.ndarray:
    """Return the product in float64, a few rows of K at a time."""
    answer = np.empty((len(K), weighted.weights.shape[1]))
    for start in range(0, len(K), 256):
        answer[start : start + 256] = K[start : start + 256].astype(np.float64) @ weighted.weights
    return answer
