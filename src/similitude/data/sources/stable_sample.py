"""A uniform sample of a stream that is the same however it is cut, and whether or not its length is known.

Every row has a key, a random number made of the seed and of how many rows came before it. The rows in the order of
their keys are a random order of all; its beginning and its end can be kept while rows go by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import join, take

_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def keys(ranks: np.ndarray, seed: int) -> np.ndarray:
    """Return a random 64-bit number for each rank (Steele, Lea and Flood 2014, SplitMix64).

    >>> bool((keys(np.arange(5), 1)[2:4] == keys(np.arange(2, 4), 1)).all())
    True
    """
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.asarray(ranks).astype(np.uint64) + np.uint64(1)) * _STEP
        z = (z ^ (z >> np.uint64(30))) * _MIX[0]
        z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    mixed: np.ndarray = z ^ (z >> np.uint64(31))
    return mixed


def in_order(numbers: np.ndarray) -> np.ndarray:
    """Return the order of 64-bit numbers, by their upper halves, and by all where these are equal.

    >>> in_order(np.array([2**40 + 1, 3, 2**40], dtype=np.uint64))
    array([1, 2, 0])
    """
    low, high = (numbers >> np.uint64(32)).astype(np.uint16), (numbers >> np.uint64(48)).astype(np.uint16)
    order = np.argsort(low, kind="stable")  # linear for numbers of 16 bits
    order = order[np.argsort(high[order], kind="stable")]
    upper = (numbers >> np.uint64(32))[order]
    same = upper[1:] == upper[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    order[tied] = order[tied][np.argsort(numbers[order[tied]], kind="stable")]
    return order


class Ends:
    """The first and the last rows of a stream in the order of their keys, kept by position.

    Parameters
    ----------
    first, last : int
        How many of each; as long as there are not more rows than both, all are kept.
    seed : int

    Attributes
    ----------
    seen : int
        How many rows were added.
    objects, labels, weights
        Of those kept, in the order of the stream.
    positions : array of int
        Where they stand in it.
    ranks : array of int
        How many were added before each.

    Examples
    --------
    >>> ends = Ends(2, 1, seed=0)
    >>> for start in (0, 4):
    ...     where = np.arange(start, start + 4)
    ...     ends.add(list("abcdefgh"[start:start + 4]), where, np.ones(4), where)
    >>> ends.seen, len(ends.objects), ends.everything
    (8, 3, False)
    """

    def __init__(self, first: int, last: int, seed: int) -> None:
        self.first, self.last, self.seed, self.seen = first, last, seed, 0
        self.objects: Any = None
        self.labels: Any = None
        self.weights = np.empty(0)
        self.positions = self.ranks = np.empty(0, dtype=np.int64)
        self._low, self._high = np.uint64(2**64 - 1), np.uint64(0)

    @property
    def everything(self) -> bool:
        """Whether no row had to go."""
        return self.seen == len(self.positions)

    def add(self, objects: Any, labels: np.ndarray, weights: np.ndarray, positions: np.ndarray) -> None:
        """Look at more rows."""
        ranks = np.arange(self.seen, self.seen + len(positions))
        self.seen += len(positions)
        mine = keys(ranks, self.seed)
        new = np.flatnonzero((mine <= self._low) | (mine >= self._high))
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
        known = keys(self.ranks, self.seed)
        order = in_order(known)
        kept = np.sort(np.concatenate([order[: self.first], order[len(order) - self.last :]]))
        self._low = known[order[self.first - 1]]
        self._high = known[order[len(order) - self.last]] if self.last else np.uint64(2**64 - 1)
        self.objects, self.labels = take(self.objects, kept), self.labels[kept]
        self.weights, self.positions, self.ranks = self.weights[kept], self.positions[kept], self.ranks[kept]
