"""Landmarks: the objects that all others are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, rows, take
from similitude.similarity import Similarity
from similitude.support import brief

GIVEN, UNLABELED = "given", "unlabeled"
"""Rules of landmarks that the user named, and of landmarks drawn uniformly from a pool without labels."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks, in the order in which they were chosen.

    Attributes
    ----------
    objects : sequence
    positions : array of int, or None
        Their positions in X; None for objects that are not rows of X.
    encoding : encoding or None
        The objects as a similarity encodes them; None until one does.
    labels : array of int, or None
        Their class numbers, where known.
    rule : str
        How they were chosen: a rule, ``given``, or ``unlabeled``.
    """

    objects: Any
    positions: np.ndarray | None = None
    encoding: Encoding = None
    labels: np.ndarray | None = None
    rule: str = GIVEN

    def __len__(self) -> int:
        return int(self.objects.shape[0]) if hasattr(self.objects, "shape") else len(self.objects)

    def only(self, which: np.ndarray) -> Landmarks:
        """Return some of the landmarks."""
        return Landmarks(
            take(self.objects, which),
            None if self.positions is None else self.positions[which],
            None if self.encoding is None else rows(self.encoding, which),
            None if self.labels is None else self.labels[which],
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


def check_positions(indices: Any, n: int, name: str = "landmark_indices", otherwise: str = "") -> np.ndarray:
    """Validate positions in X, negative ones counted from the end; `otherwise` is what the caller accepts instead."""
    positions = np.asarray(indices)
    if positions.ndim != 1 or not len(positions) or positions.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {otherwise}a list of positions in X, got {brief(indices)}")
    outside = positions[(positions < -n) | (positions >= n)]
    if len(outside):
        raise IndexError(f"{name} holds {outside[0]}, X has {n:,} objects")
    return positions % n


def interleaved(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order in which every prefix holds the classes in proportion, and soon one of each.

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
