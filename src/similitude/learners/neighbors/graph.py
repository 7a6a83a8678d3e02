"""A graph of near neighbors, and searches in it that go from neighbor to neighbor."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.learners.neighbors.bounded import Searched
from similitude.similarity import Similarity
from similitude.support import PairError

SEARCH_BEAM = 3
"""A search keeps this many times as many objects as are wanted, and at least `GRAPH_NEIGHBORS` of them."""


class NeighborGraph:
    """The most similar objects of each object, most similar first, as `NeighborDescent` finds them."""

    def __init__(self, values: np.ndarray, which: np.ndarray, n_evaluated: int) -> None:
        self.n, self.size = values.shape
        self.values, self.which, self.n_evaluated = values, which, n_evaluated

    def own(self, wanted: int) -> Searched:
        """Return the neighbors of all objects in the graph."""
        return Searched(self.values[:, :wanted], self.which[:, :wanted], 0)

    def nearest(self, k: Similarity, A: Encoding, B: Encoding, wanted: int, own: np.ndarray | None = None) -> Searched:
        """Return the objects of B that are most similar to encoded queries: from neighbor to neighbor, best first."""
        n, evaluated = count(A), 0
        values, which = np.full((n, wanted), -np.inf), np.full((n, wanted), self.n)
        starts = np.unique(np.linspace(0, self.n - 1, 3 * self.size + wanted).astype(np.int64))
        for query in range(n):
            x = rows(A, np.array([query]))
            found, scores = self._walk(k, x, B, starts, max(SEARCH_BEAM * wanted, self.size))
            evaluated += len(found)
            if own is not None:
                scores = np.where(found == own[query], -np.inf, scores)
            best = np.lexsort((found, -scores))[:wanted]
            values[query], which[query] = scores[best], found[best]
        return Searched(values, which, evaluated)

    def _walk(
        self, k: Similarity, x: Encoding, B: Encoding, starts: np.ndarray, beam: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return all objects that one query was compared with, and their similarities to it."""
        seen, expanded = np.zeros(self.n, bool), np.zeros(self.n, bool)
        found, scores, fresh = np.empty(0, np.int64), np.empty(0), starts
        while True:
            seen[fresh] = True
            found = np.concatenate([found, fresh])
            scores = np.concatenate([scores, finite_values(k, x, B, np.zeros(len(fresh), np.int64), fresh)])
            best = found[np.lexsort((found, -scores))[:beam]]
            best = best[~expanded[best]][:SEARCH_BEAM]
            if not len(best):
                return found, scores
            expanded[best] = True
            around = np.unique(self.which[best])
            fresh = around[~seen[around]]


def finite_values(k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return K(a_i, b_j) of some pairs, sorted by i; an error names the first that is not finite."""
    values = as_numpy(k.values_at(A, B, i, j)).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        first = int(bad[0])
        raise PairError(int(i[first]), int(j[first]), f"{k!r} is {values[first]}: similarities must be finite numbers")
    return values
