"""Nearest objects and close pairs by bounds on similarities: only pairs that may matter are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from similitude.compute import Encoding, count, rows
from similitude.compute.engines import Engine
from similitude.similarity import Bounds, Similarity

QUERIES_AT_ONCE = 256
"""Most queries whose bounds are held at once."""

OBJECTS_AT_ONCE = 65_536
"""Most objects that they are compared with at once."""

FIRST_EVALUATED = 8
"""Fewest candidates of a query that are evaluated at first."""

ROWS_OF_PAIRS = 4096
"""Most objects whose close pairs are searched for at once."""

BYTES_PER_PAIR = 64
"""Memory that a bound takes, with what is computed from it."""


class Searched(NamedTuple):
    """The nearest objects of each query, most similar first, and how many pairs were evaluated."""

    values: np.ndarray
    which: np.ndarray
    n_evaluated: int


class BoundedSearch:
    """Objects with the bounds of their similarity.

    Parameters
    ----------
    k : Similarity
    B : encoding
        The objects.
    bounds : Bounds
        Those of `k` for them.
    """

    def __init__(self, k: Similarity, B: Encoding, bounds: Bounds, engine: Engine) -> None:
        self.k, self.B, self.bounds = k, B, bounds
        self.sketch, self.n = bounds.sketch(B), count(B)
        cells = max(1, engine.budget // (4 * BYTES_PER_PAIR))
        self.width = int(min(self.n, OBJECTS_AT_ONCE, max(1, cells)))
        self.height = int(min(QUERIES_AT_ONCE, max(1, cells // self.width)))

    def nearest(self, A: Encoding, wanted: int, own: np.ndarray | None = None, most: int | None = None) -> Searched:
        """Return the nearest objects of encoded queries.

        Pairs are evaluated in the order of their bounds, until no bound is above the similarities that were found.

        Parameters
        ----------
        A : encoding
        wanted : int
        own : array of int, optional
            For each query an object that does not count: the query itself.
        most : int, optional
            The largest number of pairs that may be evaluated for one query. Then the result may be inexact.
        """
        n = count(A)
        values, which, evaluated = np.full((n, wanted), -np.inf), np.full((n, wanted), self.n), 0
        for first in range(0, n, self.height):
            part = slice(first, min(n, first + self.height))
            one = _Round(self, rows(A, part), wanted, None if own is None else own[part], most)
            values[part], which[part] = one.run()
            evaluated += one.n_evaluated
        return Searched(values, which, evaluated)

    def most_promising(self, each: int) -> np.ndarray:
        """Return for every object the others with the largest bounds, in any order."""
        which = np.empty((self.n, each), np.int64)
        for first in range(0, self.n, self.height):
            down = slice(first, min(self.n, first + self.height))
            best, limits = np.empty((down.stop - first, 0), np.int64), np.empty((down.stop - first, 0))
            for left in range(0, self.n, self.width):
                right = slice(left, min(self.n, left + self.width))
                upper = np.array(self.bounds.upper(rows(self.sketch, down), rows(self.sketch, right)), np.float64)
                here = np.arange(max(first, left), min(down.stop, right.stop))
                upper[here - first, here - left] = -np.inf
                limits = np.concatenate([limits, upper], axis=1)
                best = np.concatenate([best, np.broadcast_to(np.arange(left, right.stop), upper.shape)], axis=1)
                if limits.shape[1] > each:
                    top = np.argpartition(-limits, each - 1, axis=1)[:, :each]
                    best, limits = np.take_along_axis(best, top, 1), np.take_along_axis(limits, top, 1)
            which[down] = best[:, :each]
        return which

    def pairs(self, threshold: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
        """Yield the pairs i < j of objects with a similarity of at least the threshold, and the number evaluated."""
        for first in range(0, self.n, ROWS_OF_PAIRS):
            down = slice(first, min(self.n, first + ROWS_OF_PAIRS))
            A, sketch = rows(self.B, down), rows(self.sketch, down)
            for left in range(first, self.n, self.width):
                right = slice(left, min(self.n, left + self.width))
                floors = np.full(down.stop - first, threshold)
                i, j, _ = self.bounds.candidates(sketch, rows(self.sketch, right), floors)
                later = j + left > i + first
                i, j = i[later], j[later]
                order = np.lexsort((j, i))
                i, j = i[order], j[order]
                found = self.bounds.values(self.k, A, rows(self.B, right), i, j, np.full(len(i), threshold))
                close = found >= threshold
                yield i[close] + first, j[close] + left, found[close], len(i)


class _Round:
    """The search for some queries: candidates by their bounds, and the best similarities so far."""

    def __init__(
        self, search: BoundedSearch, A: Encoding, wanted: int, own: np.ndarray | None, most: int | None
    ) -> None:
        self.search, self.A, self.wanted, self.own, self.most = search, A, wanted, own, most
        self.values = np.full((count(A), wanted), -np.inf)
        self.which = np.full((count(A), wanted), search.n)
        self.n_evaluated = 0

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the best similarities and the objects that have them."""
        search, sketch = self.search, self.search.bounds.sketch(self.A)
        for left in range(0, search.n, search.width):
            right = slice(left, min(search.n, left + search.width))
            upper = np.array(search.bounds.upper(sketch, rows(search.sketch, right)), np.float64)
            if self.own is not None:
                here = np.flatnonzero((self.own >= left) & (self.own < right.stop))
                upper[here, self.own[here] - left] = -np.inf
            self._search(upper, rows(search.B, right), left)
        return self.values, self.which

    def _search(self, upper: np.ndarray, B: Encoding, start: int) -> None:
        """Evaluate the pairs of a tile in the order of their bounds, twice as many of each query every time."""
        step, width = max(self.wanted, FIRST_EVALUATED), upper.shape[1]
        most = width if self.most is None else max(step, self.most * width // self.search.n)
        top = np.argpartition(-upper, min(step, width) - 1, axis=1)[:, :step]
        i, j = np.repeat(np.arange(len(upper)), top.shape[1]), np.sort(top, axis=1).ravel()
        needed = (upper[i, j] >= self.values[i, -1]) & (upper[i, j] > -np.inf)
        self._take(i[needed], j[needed], B, start)
        upper[i, j] = -np.inf
        i, j = np.nonzero((upper >= self.values[:, -1:]) & (upper > -np.inf))
        limits = upper[i, j]
        order = np.lexsort((j, -limits, i))
        i, j, limits = i[order], j[order], limits[order]
        place = step + np.arange(len(i)) - np.searchsorted(i, i)
        end = step
        while len(i) and end < most:
            end = min(3 * end, most)
            chosen = (place < end) & (limits >= self.values[i, -1])
            self._take(i[chosen], j[chosen], B, start)
            left = (place >= end) & (limits >= self.values[i, -1])
            i, j, limits, place = i[left], j[left], limits[left], place[left]

    def _take(self, i: np.ndarray, j: np.ndarray, B: Encoding, start: int) -> None:
        """Compute the similarities of pairs, sorted by i, and keep the best of each query; ties by index."""
        if not len(i):
            return
        found = self.search.bounds.values(self.search.k, self.A, B, i, j, self.values[i, -1])
        self.n_evaluated += len(i)
        touched, row = np.unique(i, return_inverse=True)
        group = np.concatenate([np.repeat(np.arange(len(touched)), self.wanted), row])
        values = np.concatenate([self.values[touched].ravel(), found])
        which = np.concatenate([self.which[touched].ravel(), j + start])
        order = np.lexsort((which, -values, group))
        best = order[np.searchsorted(group[order], np.arange(len(touched)))[:, None] + np.arange(self.wanted)]
        self.values[touched], self.which[touched] = values[best], which[best]
