"""Where landmarks come from, and in which order they are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, count, rows, take
from similitude.similarity import Hints, Similarity
from similitude.support.errors import PairError


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks in the order in which they are taken.

    Attributes
    ----------
    objects : sequence
    positions : array of int, or None
        Where they stand in X; None for objects that are not of X.
    labels : array of int, or None
        Their class numbers, where known.
    drawn : str
        How they were come by: a rule, or ``own``, or ``unlabeled``.
    """

    objects: Any
    positions: np.ndarray | None
    labels: np.ndarray | None
    drawn: str

    def __len__(self) -> int:
        return int(self.objects.shape[0]) if hasattr(self.objects, "shape") else len(self.objects)

    def seen_by(self, k: Similarity, A: Encoding | None) -> Chosen:
        """Return them as a similarity sees them; A is the encoding of X, or None if they are not of X."""
        if A is None or self.positions is None:
            return Chosen(self.objects, k.encode_checked(self.objects, "landmarks"), self.positions)
        return Chosen(self.objects, rows(A, self.positions), self.positions)

    def only(self, n: int) -> Landmarks:
        """Return the first n."""
        first = np.arange(n)
        positions = None if self.positions is None else self.positions[first]
        labels = None if self.labels is None else self.labels[first]
        return Landmarks(take(self.objects, first), positions, labels, self.drawn)


def interleaved(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an order of which every beginning holds the classes in proportion, and soon one of each.

    >>> labels = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    >>> labels[interleaved(labels, np.random.default_rng(0))]
    array([0, 1, 0, 0, 0, 1, 0, 0])
    """
    shuffled = rng.permutation(len(labels))
    codes = labels[shuffled]
    counts = np.bincount(codes)
    by_class = np.argsort(codes, kind="stable")
    ranks = np.empty(len(codes), dtype=np.intp)
    ranks[by_class] = np.arange(len(codes)) - (np.cumsum(counts) - counts)[codes[by_class]]
    when = np.where(ranks == 0, 0.0, (ranks + 0.5) / counts[codes])
    return shuffled[np.argsort(when, kind="stable")]


@dataclass(frozen=True)
class Chosen:
    """Landmarks: the objects, their encoding, and their positions in X (None for objects of your own)."""

    objects: Any
    encoding: Encoding
    positions: np.ndarray | None

    def only(self, which: np.ndarray) -> Chosen:
        """Return some of them."""
        positions = None if self.positions is None else self.positions[which]
        return Chosen(take(self.objects, which), rows(self.encoding, which), positions)


def faced(k: Similarity, landmarks: Encoding, side: str) -> tuple[Any, Encoding]:
    """Return what compares objects with landmarks that stand on a side, and the landmarks as its columns."""
    if side == "left":
        return k, landmarks
    n = count(landmarks)
    sides = np.array(["right"] * n if side == "right" else ["left"] * n + ["right"] * n)
    return Facing(k), (rows(landmarks, np.arange(len(sides)) % n), sides)


@dataclass(frozen=True)
class Facing:
    """A similarity seen from either side: each landmark comes with the side on which it stands."""

    similarity: Similarity

    @property
    def hints(self) -> Hints:
        """Those of the similarity; not on tensors, because landmarks come with names of sides."""
        return Hints(finite=self.similarity.hints.finite, threadsafe=self.similarity.hints.threadsafe)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return K(a, l) where the landmark stands on the left side of the map, K(l, a) where on the right."""
        landmarks, sides = B
        left, right = np.flatnonzero(sides == "left"), np.flatnonzero(sides == "right")
        parts = [np.asarray(self.similarity.block(A, rows(landmarks, left)))] if len(left) else []
        if len(right):
            try:
                parts.append(np.asarray(self.similarity.block(rows(landmarks, right), A)).T)
            except PairError as error:  # named by row and column of the whole block
                raise PairError(error.j, int(right[error.i]), error.problem) from error.__cause__
        return np.concatenate(parts, axis=1)
