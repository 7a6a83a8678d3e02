"""Where landmarks come from, and in which order they are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.encodings import Encoding, rows, take
from similitude.maps.landmarks import Chosen
from similitude.similarity import Similarity


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
            return Chosen(self.objects, k._encoded(self.objects, "landmarks"), self.positions)
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
