"""A uniform random sample of a stream that depends neither on its batches nor on knowing its length.

Every row has a random key, computed from the seed and from the number of rows before it. Sorting the rows by their keys
gives a random order; the first and the last rows in this order can be kept while the stream passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import join, take
from similitude.support import key_order, random_keys


class StableSample:
    """The first and the last rows of a stream in the random order of their keys.

    As long as there are fewer rows than at both ends together, all are kept. The rows kept are in the order of the
    stream: `objects`, `labels`, `weights`, `positions` in the stream, and `ranks`, the number of rows seen before each.

    >>> sample = StableSample(2, 1, seed=0)
    >>> for start in (0, 4):
    ...     positions = np.arange(start, start + 4)
    ...     sample.add(list("abcdefgh"[start:start + 4]), positions, np.ones(4), positions)
    >>> sample.n_seen, len(sample.objects), sample.is_complete
    (8, 3, False)
    """

    def __init__(self, first: int, last: int, seed: int) -> None:
        self.first, self.last, self.seed, self.n_seen = first, last, seed, 0
        self.objects: Any = None
        self.labels: Any = None
        self.weights = np.empty(0)
        self.positions = self.ranks = np.empty(0, dtype=np.int64)
        self._low, self._high = np.uint64(2**64 - 1), np.uint64(0)

    @property
    def is_complete(self) -> bool:
        """Whether all rows were kept."""
        return self.n_seen == len(self.positions)

    def add(self, objects: Any, labels: np.ndarray, weights: np.ndarray, positions: np.ndarray) -> None:
        """Add rows of the stream."""
        ranks = np.arange(self.n_seen, self.n_seen + len(positions))
        self.n_seen += len(positions)
        keys = random_keys(ranks, self.seed)
        new = np.flatnonzero((keys <= self._low) | (keys >= self._high))
        if not len(new):
            return
        if self.objects is None:
            self.objects, self.labels = take(objects, new), labels[new]
        else:
            self.objects = join(self.objects, take(objects, new))
            self.labels = np.concatenate([self.labels, labels[new]])
        self.weights = np.concatenate([self.weights, weights[new]])
        self.positions = np.concatenate([self.positions, positions[new]])
        self.ranks = np.concatenate([self.ranks, ranks[new]])
        if len(self.positions) > self.first + self.last:
            self._shrink()

    def _shrink(self) -> None:
        keys = random_keys(self.ranks, self.seed)
        order = key_order(keys)
        kept = np.sort(np.concatenate([order[: self.first], order[len(order) - self.last :]]))
        self._low = keys[order[self.first - 1]]
        self._high = keys[order[len(order) - self.last]] if self.last else np.uint64(2**64 - 1)
        self.objects, self.labels = take(self.objects, kept), self.labels[kept]
        self.weights, self.positions, self.ranks = self.weights[kept], self.positions[kept], self.ranks[kept]
