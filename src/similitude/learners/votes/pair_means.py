"""Mean similarities between the examples of classes, all pairs compared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, count
from similitude.compute.engines import Engine, Tile
from similitude.similarity import SYMMETRIC, Similarity


@dataclass(frozen=True)
class PairMeans:
    """What all pairs of examples say.

    Attributes
    ----------
    means : array of shape (classes, classes)
        The mean of K(x, x') over x in the class of the row and another x' in that of the column; NaN for pairs within a
        class of one example.
    largest : float
        The largest magnitude of K, pairs of an example with itself included.
    """

    means: np.ndarray
    largest: float

    @classmethod
    def of(cls, k: Similarity, A: Encoding, members: np.ndarray, engine: Engine) -> PairMeans:
        """Compare all examples, tile by tile; members of shape (n, classes) holds a 1 in the class of each.

        >>> from similitude.compute.engines import LocalEngine
        >>> from similitude.kernels import Linear
        >>> A, members = np.array([[1.0], [3.0], [-2.0]]), np.array([[1, 0], [1, 0], [0, 1]])
        >>> PairMeans.of(Linear(), A, members, LocalEngine())
        PairMeans(means=array([[ 3., -4.],
           [-4., nan]]), largest=9.0)
        """
        members = members.astype(np.float64)
        so_far = _Sums(members, SYMMETRIC in k.claims)
        k.blocks(A, engine=engine).reduce(lambda _, tile, values: so_far.add(tile, np.asarray(values)), None)
        sizes = members.sum(axis=0)
        pairs = np.outer(sizes, sizes) - np.diag(sizes)
        with np.errstate(invalid="ignore"):
            means = np.where(pairs > 0, so_far.between(), np.nan) / np.where(pairs > 0, pairs, 1.0)
        return cls(means, so_far.largest)


class _Sums:
    """Sums over the tiles of a Gram matrix, of which half is enough where it is symmetric."""

    def __init__(self, members: np.ndarray, symmetric: bool) -> None:
        self.members, self.symmetric = members, symmetric
        self.to_class = np.zeros(members.shape)
        self.own = np.zeros(count(members))
        self.largest = 0.0

    def add(self, tile: Tile, values: np.ndarray) -> None:
        down, right = tile
        self.to_class[down] += values @ self.members[right]
        if self.symmetric and down != right:
            self.to_class[right] += values.T @ self.members[down]
        here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
        self.own[here] = values[here - down.start, here - right.start]
        self.largest = max(self.largest, float(np.abs(values).max()))

    def between(self) -> Any:
        """Return the sum of K over pairs of each two classes, no example with itself."""
        return self.members.T @ (self.to_class - self.members * self.own[:, None])
