"""A graph of near neighbors by local joins, for similarities of which nothing else is known, and searches in it."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.learners.neighbors.bounded import Searched
from similitude.similarity import Similarity
from similitude.support import PairError

GRAPH_NEIGHBORS = 20
"""Fewest neighbors of each object in the graph."""

STARTING_TREES = 3
"""Number of random trees whose leaves are the first neighbors."""

LEAF_OBJECTS = 24
"""Most objects of a leaf."""

JOINED_NEIGHBORS = 5
"""Most neighbors of an object, in each direction, that are compared with each other in one round."""

GRAPH_SETTLED = 0.002
"""The graph is done when a round changes less than this share of its edges."""

MOST_SHARE = 0.02
"""Share of all pairs after which it is done in any case, if that is more than `MOST_EACH` for each object."""

MOST_EACH = 100

SEARCH_BEAM = 3
"""A search keeps this many times as many objects as are wanted, and at least `GRAPH_NEIGHBORS` of them."""


class NeighborGraph:
    """The most similar objects of each object, approximately (NN-descent; Dong, Charikar and Li, 2011).

    A neighbor of a neighbor is likely to be a neighbor: starting from the leaves of random trees, the neighbors of
    every object are compared with each other, each pair once, until little changes.
    """

    def __init__(self, k: Similarity, A: Encoding, rng: np.random.Generator) -> None:
        self.n = count(A)
        self.size = min(GRAPH_NEIGHBORS, self.n - 1)
        self.values = np.full((self.n, self.size), -np.inf)
        self.which = np.zeros((self.n, self.size), np.int64)
        self.n_evaluated = 0
        self._seen = np.empty(0, np.int64)
        self._new = np.zeros((self.n, self.size), bool)
        self._build(k, A, rng)
        del self._seen, self._new

    def _build(self, k: Similarity, A: Encoding, rng: np.random.Generator) -> None:
        for _ in range(STARTING_TREES):
            self._join(k, A, *self._tree_pairs(k, A, rng))
        most = max(MOST_SHARE * self.n * (self.n - 1) / 2, MOST_EACH * self.n)
        while True:
            i, j = self._to_compare(rng)
            room = int(most - self.n_evaluated)
            if room <= 0 or not len(i):
                return
            if self._join(k, A, i, j, room, rng) <= GRAPH_SETTLED * self.which.size:
                return

    def _tree_pairs(self, k: Similarity, A: Encoding, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs within small groups: objects are split by which of two random members is more similar."""
        groups, i, j = [rng.permutation(self.n)], [], []
        while groups:
            group = groups.pop()
            if len(group) <= LEAF_OBJECTS:
                first, second = np.triu_indices(len(group), 1)
                i.append(group[first])
                j.append(group[second])
                continue
            left, right = (
                finite_values(k, A, A, np.full(len(group), pivot), group)
                for pivot in rng.choice(group, 2, replace=False)
            )
            self.n_evaluated += 2 * len(group)
            nearer = left > right
            tied = left == right
            nearer[tied] = np.arange(int(tied.sum())) % 2 == 0
            if not 0 < nearer.sum() < len(group):
                nearer = np.arange(len(group)) % 2 == 0
            groups += [group[nearer], group[~nearer]]
        return np.concatenate(i), np.concatenate(j)

    def _to_compare(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of neighbors of one object, at least one of them new there since the last round."""
        owner, place = np.nonzero(np.isfinite(self.values))
        ends, is_new = self.which[owner, place], self._new[owner, place]
        self._new[:] = False
        center = np.concatenate([owner, ends])
        member = np.concatenate([ends, owner])
        fresh = np.concatenate([is_new, is_new])
        i, j = [], []
        new, old = (_sampled(center[mask], member[mask], self.n, rng) for mask in (fresh, ~fresh))
        for s in range(new.shape[1]):
            for others in (new[:, :s], old):
                for t in range(others.shape[1]):
                    both = (new[:, s] >= 0) & (others[:, t] >= 0)
                    i.append(new[both, s])
                    j.append(others[both, t])
        return (np.concatenate(i), np.concatenate(j)) if i else (np.empty(0, np.int64), np.empty(0, np.int64))

    def _join(
        self,
        k: Similarity,
        A: Encoding,
        i: np.ndarray,
        j: np.ndarray,
        room: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> int:
        """Evaluate pairs that were not evaluated before, at most `room` of them; return how many edges changed."""
        codes = np.unique(np.minimum(i, j) * self.n + np.maximum(i, j))
        codes = codes[~np.isin(codes, self._seen, assume_unique=True)]
        codes = codes[codes // self.n != codes % self.n]
        if room is not None and len(codes) > room and rng is not None:
            codes = np.sort(rng.choice(codes, room, replace=False))
        self._seen = np.concatenate([self._seen, codes])
        i, j = codes // self.n, codes % self.n
        values = finite_values(k, A, A, i, j)
        self.n_evaluated += len(codes)
        return self._insert(np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([values, values]))

    def _insert(self, owner: np.ndarray, other: np.ndarray, values: np.ndarray) -> int:
        """Keep the best neighbors of each object; ties by index."""
        better = values > self.values[owner, -1]
        owner, other, values = owner[better], other[better], values[better]
        group = np.concatenate([np.repeat(np.arange(self.n), self.size), owner])
        which = np.concatenate([self.which.ravel(), other])
        all_values = np.concatenate([self.values.ravel(), values])
        is_new = np.concatenate([self._new.ravel(), np.ones(len(owner), bool)])
        order = np.lexsort((which, -all_values, group))
        best = order[np.searchsorted(group[order], np.arange(self.n))[:, None] + np.arange(self.size)]
        self.values, self.which, self._new = all_values[best], which[best], is_new[best]
        return int((best >= self.n * self.size).sum())

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


def _sampled(center: np.ndarray, member: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return up to 2 JOINED_NEIGHBORS random members of each center as a table; -1 where there are no more."""
    order = rng.permutation(len(center))
    order = order[np.argsort(center[order], kind="stable")]
    center, member = center[order], member[order]
    place = np.arange(len(center)) - np.searchsorted(center, center)
    kept = place < 2 * JOINED_NEIGHBORS
    table = np.full((n, int(place[kept].max(initial=-1)) + 1), -1)
    table[center[kept], place[kept]] = member[kept]
    return table


def finite_values(k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return K(a_i, b_j) of some pairs, sorted by i; an error names the first that is not finite."""
    values = as_numpy(k.values_at(A, B, i, j)).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        first = int(bad[0])
        raise PairError(int(i[first]), int(j[first]), f"{k!r} is {values[first]}: similarities must be finite numbers")
    return values
