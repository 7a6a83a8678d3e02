"""A graph of near neighbors: how it is found from few pairs, and searches in it that go from neighbor to neighbor."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.learners.limits import GRAPH_NEIGHBORS
from similitude.learners.neighbors.tiles import BoundedSearch, keep_nearest, parts
from similitude.similarity import SYMMETRIC, Similarity
from similitude.support import PairError


class NeighborGraph:
    """The most similar objects of each object, most similar first, as `NeighborDescent` finds them."""

    def __init__(self, values: np.ndarray, which: np.ndarray, n_evaluated: int) -> None:
        self.n, self.size = values.shape
        self.values = values
        self.which = which
        self.n_evaluated = n_evaluated

    def nearest(
        self, k: Similarity, A: Encoding, B: Encoding, wanted: int, own: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the objects of B that are most similar to encoded queries, and the number of pairs evaluated."""
        n = count(A)
        evaluated = 0
        values = np.full((n, wanted), -np.inf)
        which = np.full((n, wanted), self.n)
        starts = np.unique(np.linspace(0, self.n - 1, 3 * self.size + wanted).astype(np.int64))
        for query in range(n):
            found, scores = self._walk(k, rows(A, np.array([query])), B, starts, max(3 * wanted, self.size))
            evaluated += len(found)
            if own is not None:
                scores = np.where(found == own[query], -np.inf, scores)
            best = np.lexsort((found, -scores))[:wanted]
            values[query] = scores[best]
            which[query] = found[best]
        return which, values, evaluated

    def _walk(
        self, k: Similarity, x: Encoding, B: Encoding, starts: np.ndarray, beam: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return all objects that one query was compared with, and their similarities: best first, in a beam."""
        seen = np.zeros(self.n, bool)
        expanded = np.zeros(self.n, bool)
        found = np.empty(0, np.int64)
        scores = np.empty(0)
        fresh = starts
        while True:
            seen[fresh] = True
            found = np.concatenate([found, fresh])
            scores = np.concatenate([scores, finite_values(k, x, B, np.zeros(len(fresh), np.int64), fresh)])
            best = found[np.lexsort((found, -scores))[:beam]]
            best = best[~expanded[best]][:3]
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


class NeighborDescent:
    """The most similar objects of each object, approximately (NN-descent; Dong, Charikar and Li, 2011).

    The neighbors of every object are compared with each other until little changes or 2 % of all pairs are evaluated.
    The first neighbors have the largest bounds or, without bounds, similar similarities to random landmarks. ``recall``
    is the share of the neighbors of the ``held`` objects that the graph had before theirs entered it.
    """

    def __init__(
        self, k: Similarity, A: Encoding, rng: np.random.Generator, search: BoundedSearch | None = None, spent: int = 0
    ) -> None:
        self.n = count(A)
        self.size = min(GRAPH_NEIGHBORS, self.n - 1)
        self.n_evaluated = 0
        self.both_ways = SYMMETRIC not in k.claims
        self.held = np.empty(0, np.int64)
        self._k = k
        self._A = A
        self._search = search
        self._far = np.full((self.n, self.size), np.inf)
        self._which = np.zeros((self.n, self.size), np.int64)
        self._new = np.zeros((self.n, self.size), bool)
        self._seen = np.empty(0, np.int64)
        # at most 2 % of all pairs or, of few objects, a hundred evaluations of each
        pairs = max(0.02 * self.n * (self.n - 1) / 2, 100 * self.n)
        self._most = int(pairs * (1 + self.both_ways)) - spent
        self.recall = self._build(rng)

    def graph(self) -> NeighborGraph:
        """Return the graph."""
        return NeighborGraph(-self._far, self._which, self.n_evaluated)

    def _build(self, rng: np.random.Generator) -> float | None:
        """Find the neighbors; return the share of the nearest of the held objects that are among them."""
        each = max(1, self._most // (self.n * (1 + self.both_ways)))  # evaluations for an object
        if self._search is not None:
            guessed = min(max(self.size, int(0.65 * each)), self.n - 1)
            self._join(self._pairs(self._search.most_promising(guessed)))
            self._descend()
            return None
        drawn = rng.permutation(self.n)
        held = max(1, min(10, self.n // 4))  # their neighbors are known, to see how many of them the graph finds
        self.held = drawn[:held]
        landmarks = drawn[held : held + max(2, int(0.5 * each)) - 10]
        held_pairs = self._pairs(np.tile(self.held, (self.n, 1)))
        known = self._edges(held_pairs)
        seen_pairs = self._pairs(np.tile(landmarks, (self.n, 1)))
        seen = self._edges(seen_pairs)
        self._keep(seen_pairs, *seen)
        guessed = min(max(self.size, int(0.15 * each)), self.n - 1)
        self._join(self._pairs(_most_alike(_landmark_features(self.n, landmarks, *seen), guessed)))
        self._descend()
        recall = self._recall(*known)
        left = ~_among(held_pairs, self._seen)
        self._keep(held_pairs[left], *(part[np.tile(left, 2)] for part in known))
        return recall

    def _descend(self) -> None:
        """Compare the neighbors of each object with each other until little changes or nothing is left to spend."""
        while True:
            pairs, common = self._to_compare()
            room = min(self._most - self.n_evaluated, int(0.2 * self._most)) // (1 + self.both_ways)
            if room <= 0 or not len(pairs):
                return
            if len(pairs) > room:  # first those that have most neighbors in common
                pairs = np.sort(pairs[np.argsort(-common, kind="stable")[:room]])
            if self._join(pairs) <= 0.001 * self._which.size:
                return

    def _to_compare(self) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of neighbors of one object, at least one of them new there, and how many such objects."""
        member, fresh = self._members()
        found = [np.empty(0, np.int64)]
        for s in range(1, member.shape[1]):
            for t in range(s):
                both = (member[:, t] >= 0) & (member[:, s] >= 0) & (fresh[:, s] | fresh[:, t])
                found.append(self._codes(member[both, s], member[both, t]))
        pairs, common = np.unique(np.concatenate(found), return_counts=True)
        left = ~_among(pairs, self._seen) & (pairs // self.n != pairs % self.n)
        return pairs[left], common[left]

    def _members(self, most: int = 32) -> tuple[np.ndarray, np.ndarray]:
        """Return each object's most similar neighbors in both directions, -1 where there are no more; which are new."""
        owner, place = np.nonzero(np.isfinite(self._far))
        ends = self._which[owner, place]
        center = np.concatenate([owner, ends])
        member = np.concatenate([ends, owner])
        order = np.lexsort((member, np.tile(self._far[owner, place], 2), center))
        center = center[order]
        rank = np.arange(len(center)) - np.searchsorted(center, center)
        kept = rank < most
        members = np.full((self.n, most), -1)
        members[center[kept], rank[kept]] = member[order][kept]
        new = np.zeros((self.n, most), bool)
        new[center[kept], rank[kept]] = np.tile(self._new[owner, place], 2)[order][kept]
        self._new[:] = False
        return members, new

    def _codes(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.minimum(i, j) * self.n + np.maximum(i, j)

    def _pairs(self, which: np.ndarray) -> np.ndarray:
        """Return the pairs of each object with others in its row, as numbers in order and without repetition."""
        codes = np.unique(self._codes(np.repeat(np.arange(len(which)), which.shape[1]), which.ravel()))
        return codes[codes // self.n != codes % self.n]

    def _join(self, pairs: np.ndarray) -> int:
        """Evaluate pairs that were not evaluated before; return how many edges changed."""
        pairs = pairs[~_among(pairs, self._seen)]
        return self._keep(pairs, *self._edges(pairs))

    def _edges(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first objects, the second ones, and their similarities, in one direction and then the other."""
        i = pairs // self.n
        j = pairs % self.n
        self.n_evaluated += len(pairs) * (1 + self.both_ways)
        there = back = self._values(i, j)
        if self.both_ways:
            order = np.argsort(j, kind="stable")
            back = np.empty(len(pairs))
            back[order] = self._values(j[order], i[order])
        return np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([there, back])

    def _values(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return K(a_i, a_j) of pairs, sorted by i; minus infinity where bounds say that neither object needs it."""
        if self._search is None:
            return finite_values(self._k, self._A, self._A, i, j)
        floors = np.minimum(-self._far[i, -1], -self._far[j, -1])
        return self._search.bounds.values(self._k, self._A, self._A, i, j, floors)

    def _keep(self, pairs: np.ndarray, owner: np.ndarray, other: np.ndarray, values: np.ndarray) -> int:
        """Keep the best neighbors of each object, ties by index; return how many edges changed."""
        self._seen = np.sort(np.concatenate([self._seen, pairs]))
        better = -values < self._far[owner, -1]
        touched, best = keep_nearest(self._far, self._which, owner[better], -values[better], other[better])
        is_new = np.concatenate([self._new[touched].ravel(), np.ones(np.count_nonzero(better), bool)])
        self._new[touched] = is_new[best]
        return int((best >= len(touched) * self.size).sum())

    def _recall(self, owner: np.ndarray, other: np.ndarray, values: np.ndarray) -> float:
        """Return how many of the ten nearest of the held objects the graph has, as a share."""
        wanted = min(10, self.size)
        shares = []
        for one in self.held:
            least = np.partition(values[owner == one], -wanted)[-wanted]
            shares.append(np.mean(-self._far[one, :wanted] >= least))
        return float(np.mean(shares))


def _among(codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which codes are among others, which are sorted: faster than `np.isin`, which sorts again."""
    if not len(others):
        return np.zeros(len(codes), bool)
    return others[np.minimum(np.searchsorted(others, codes), len(others) - 1)] == codes


def _landmark_features(
    n: int, landmarks: np.ndarray, owner: np.ndarray, other: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return similarities to landmarks, each scaled to the same spread, as centered rows of length 1."""
    column = np.full(n, -1)
    column[landmarks] = np.arange(len(landmarks))
    to = column[other] >= 0
    features = np.full((n, len(landmarks)), np.nan)
    features[owner[to], column[other[to]]] = values[to]
    features[landmarks, np.arange(len(landmarks))] = np.nanmax(features, axis=0)
    features -= features.mean(axis=0)
    features /= np.maximum(features.std(axis=0), 1e-12)
    features -= features.mean(axis=1, keepdims=True)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    return features.astype(np.float32)


def _most_alike(features: np.ndarray, each: int) -> np.ndarray:
    """Return for every row the rows with the largest products, a few million of which are held at once."""
    n = len(features)
    which = np.empty((n, each), np.int64)
    for part in parts(n, max(1, 4_000_000 // n)):
        some = features[part] @ features.T
        some[np.arange(len(some)), np.arange(part.start, part.stop)] = -np.inf
        which[part] = np.argpartition(-some, each - 1, axis=1)[:, :each]
    return which
