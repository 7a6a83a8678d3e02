"""Nearest objects and close pairs by bounds on similarities: only pairs that may matter are evaluated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from similitude.compute import Encoding, count, rows
from similitude.compute.engines import Engine
from similitude.learners.neighbors.tiles import keep_nearest
from similitude.similarity import Bounds, Similarity


def parts(n: int, size: int, first: int = 0) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` of n objects."""
    for start in range(first, n, size):
        yield slice(start, min(n, start + size))


class BoundedSearch:
    """Objects with the bounds of their similarity `k`, which `k.bounds` returns for them."""

    def __init__(self, k: Similarity, B: Encoding, bounds: Bounds, engine: Engine) -> None:
        self.k = k
        self.B = B
        self.bounds = bounds
        self.sketch = bounds.sketch(B)
        self.n = count(B)
        cells = max(
            1, engine.budget // 256
        )  # a quarter of the memory: a bound, and what follows from it, take 64 bytes
        self.width = min(self.n, 65_536, cells)
        self.height = max(1, min(256, cells // self.width))

    def nearest(
        self, A: Encoding, wanted: int, own: np.ndarray | None = None, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the numbers of the nearest objects of encoded queries, their similarities, and the pairs evaluated.

        Pairs are evaluated in the order of their bounds, until no bound is above the similarities that were found. If
        at most `most` pairs may be evaluated for one query, the result may be inexact. `own` has for each query an
        object that does not count: the query itself.
        """
        n = count(A)
        far = np.full((n, wanted), np.inf)
        which = np.full((n, wanted), self.n)
        evaluated = 0
        for part in parts(n, self.height):
            few = rows(A, part)
            sketch = self.bounds.sketch(few)
            for right in parts(self.n, self.width):
                upper = np.array(self.bounds.upper(sketch, rows(self.sketch, right)), np.float64)
                if own is not None:
                    here = np.flatnonzero((own[part] >= right.start) & (own[part] < right.stop))
                    upper[here, own[part][here] - right.start] = -np.inf
                tile = _Tile(self, few, right, far[part], which[part])
                evaluated += tile.run(upper, most)
        return which, -far, evaluated

    def most_promising(self, each: int) -> np.ndarray:
        """Return for every object the others with the largest bounds, in any order."""
        which = np.empty((self.n, each), np.int64)
        for down in parts(self.n, self.height):
            best = np.empty((down.stop - down.start, 0), np.int64)
            limits = np.empty(best.shape)
            for right in parts(self.n, self.width):
                upper = np.array(self.bounds.upper(rows(self.sketch, down), rows(self.sketch, right)), np.float64)
                here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
                upper[here - down.start, here - right.start] = -np.inf
                limits = np.concatenate([limits, upper], axis=1)
                best = np.concatenate([best, np.broadcast_to(np.arange(right.start, right.stop), upper.shape)], axis=1)
                if limits.shape[1] > each:
                    top = np.argpartition(-limits, each - 1, axis=1)[:, :each]
                    best = np.take_along_axis(best, top, 1)
                    limits = np.take_along_axis(limits, top, 1)
            which[down] = best[:, :each]
        return which

    def pairs(self, threshold: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
        """Yield the pairs i < j of objects with a similarity of at least the threshold, and the number evaluated."""
        for down in parts(self.n, 4096):
            A = rows(self.B, down)
            sketch = rows(self.sketch, down)
            floors = np.full(down.stop - down.start, threshold)
            for right in parts(self.n, self.width, down.start):
                i, j, _ = self.bounds.candidates(sketch, rows(self.sketch, right), floors)
                order = np.lexsort((j, i))
                order = order[j[order] + right.start > i[order] + down.start]
                i = i[order]
                j = j[order]
                found = self.bounds.values(self.k, A, rows(self.B, right), i, j, np.full(len(i), threshold))
                close = found >= threshold
                yield i[close] + down.start, j[close] + right.start, found[close], len(i)


class _Tile:
    """The search of some queries among consecutive objects; `far` and `which` are the nearest so far."""

    def __init__(self, search: BoundedSearch, A: Encoding, right: slice, far: np.ndarray, which: np.ndarray) -> None:
        self.search = search
        self.A = A
        self.B = rows(search.B, right)
        self.start = right.start
        self.far = far
        self.which = which

    def run(self, upper: np.ndarray, most: int | None) -> int:
        """Evaluate pairs in the order of their bounds, three times as many of each query every time; count them."""
        wanted = self.far.shape[1]
        width = upper.shape[1]
        step = max(wanted, 8)
        most = width if most is None else max(step, most * width // self.search.n)
        top = np.argpartition(-upper, min(step, width) - 1, axis=1)[:, :step]
        i = np.repeat(np.arange(len(upper)), top.shape[1])
        j = np.sort(top, axis=1).ravel()
        needed = (upper[i, j] >= -self.far[i, -1]) & (upper[i, j] > -np.inf)
        evaluated = self._evaluate(i[needed], j[needed])
        upper[i, j] = -np.inf
        i, j = np.nonzero((upper >= -self.far[:, -1:]) & (upper > -np.inf))
        order = np.lexsort((j, -upper[i, j], i))
        i = i[order]
        j = j[order]
        limits = upper[i, j]
        place = step + np.arange(len(i)) - np.searchsorted(i, i)
        end = step
        while len(i) and end < most:
            end = min(3 * end, most)
            needed = limits >= -self.far[i, -1]
            evaluated += self._evaluate(i[needed & (place < end)], j[needed & (place < end)])
            left = (place >= end) & (limits >= -self.far[i, -1])
            i, j, limits, place = (part[left] for part in (i, j, limits, place))
        return evaluated

    def _evaluate(self, i: np.ndarray, j: np.ndarray) -> int:
        """Compute the similarities of pairs, sorted by i, and keep the best of each query; return their number."""
        if len(i):
            found = self.search.bounds.values(self.search.k, self.A, self.B, i, j, -self.far[i, -1])
            keep_nearest(self.far, self.which, i, -found, j + self.start)
        return len(i)
