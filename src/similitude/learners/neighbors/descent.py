"""How a graph of near neighbors is found from few pairs: by bounds or landmarks first, then by local joins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from similitude.compute import Encoding, count
from similitude.learners.neighbors.bounded import BoundedSearch
from similitude.learners.neighbors.graph import NeighborGraph, finite_values
from similitude.similarity import SYMMETRIC, Similarity

GRAPH_NEIGHBORS = 20
"""Fewest neighbors of each object in the graph."""

MOST_SHARE = 0.02
"""Share of all pairs that are evaluated at most, if that is more than `MOST_EACH` for each object."""

MOST_EACH = 100

LANDMARK_SHARE = 0.5
"""Share of these evaluations that compare all objects with landmarks, if there are no bounds."""

GUESSED_SHARE = 0.15
"""Share of them for the first neighbors, those whose similarities to the landmarks are alike."""

BOUNDED_SHARE = 0.65
"""Share of them for the first neighbors if there are bounds: the objects with the largest."""

JUDGED_OBJECTS = 10
"""Number of objects whose neighbors are known and kept from the graph, to see how many of them it finds."""

RECALL_AT = 10
"""Number of nearest neighbors in that."""

JOINED_NEIGHBORS = 32
"""Number of neighbors of an object, in both directions, that are compared with each other in one round."""

ROUND_SHARE = 0.2
"""Share of all evaluations in one round at most: first the pairs that have most neighbors in common."""

GRAPH_SETTLED = 0.001
"""The graph is done when a round changes less than this share of its edges."""

CELLS_AT_ONCE = 4_000_000
"""Number of guesses that are held at once."""

LEAST_SPREAD = 1e-12
"""A spread below this is none."""


class NeighborDescent:
    """The most similar objects of each object, approximately (NN-descent; Dong, Charikar and Li, 2011).

    A neighbor of a neighbor is likely to be a neighbor: the neighbors of every object are compared with each other,
    each pair once, until little changes or 2 % of all pairs are evaluated. The first neighbors are those with the
    largest bounds; without bounds, those whose similarities to random landmarks are alike.

    Parameters
    ----------
    k : Similarity
        Unless it claims to be symmetric, both similarities of a pair are evaluated.
    A : encoding
    rng : Generator
    search : BoundedSearch, optional
        The objects with bounds, if there are any.
    spent : int
        Number of pairs that were evaluated before and count.

    Attributes
    ----------
    n_evaluated : int
        Number of evaluated similarities: of pairs, or twice as many.
    held : array of int
        Random objects whose similarities are all known, and were kept from the graph until it was done.
    recall : float or None
        The share of their nearest neighbors that the graph then had; None with bounds.
    """

    def __init__(
        self, k: Similarity, A: Encoding, rng: np.random.Generator, search: BoundedSearch | None = None, spent: int = 0
    ) -> None:
        self.n = count(A)
        self.size = min(GRAPH_NEIGHBORS, self.n - 1)
        self.values = np.full((self.n, self.size), -np.inf)
        self.which = np.zeros((self.n, self.size), np.int64)
        self.n_evaluated, self.both_ways = 0, SYMMETRIC not in k.claims
        self._k, self._A, self._search = k, A, search
        self._seen = np.empty(0, np.int64)
        self._new = np.zeros((self.n, self.size), bool)
        pairs = max(MOST_SHARE * self.n * (self.n - 1) / 2, MOST_EACH * self.n)
        self._most = int(pairs * (1 + self.both_ways)) - spent
        self._each = max(1, self._most // (self.n * (1 + self.both_ways)))
        self.held = np.empty(0, np.int64)
        self.recall = self._build(rng)

    def graph(self) -> NeighborGraph:
        """Return the graph."""
        return NeighborGraph(self.values, self.which, self.n_evaluated)

    def _build(self, rng: np.random.Generator) -> float | None:
        """Find the neighbors; return the share of the nearest of the held out objects that are among them."""
        if self._search is not None:
            each = max(self.size, int(BOUNDED_SHARE * self._each))
            self._join(self._codes(*_listed(self._search.most_promising(min(each, self.n - 1)))))
            self._descend()
            return None
        m = max(2, int(LANDMARK_SHARE * self._each)) - JUDGED_OBJECTS
        drawn, held = rng.permutation(self.n), max(1, min(JUDGED_OBJECTS, self.n // 4))
        self.held, landmarks = drawn[:held], drawn[held : held + m]
        known = self._evaluate(self._codes(*_listed(np.tile(self.held, (self.n, 1)))))
        codes = self._codes(*_listed(np.tile(landmarks, (self.n, 1))))
        seen = self._evaluate(codes)
        self._keep(seen)
        features = _landmark_features(self.n, landmarks, seen)
        each = max(self.size, int(GUESSED_SHARE * self._each))
        self._join(self._codes(*_listed(_most_alike(features, min(each, self.n - 1)))))
        self._descend()
        recall = self._recall(known)
        self._keep(known.without(self._seen))
        return recall

    def _descend(self) -> None:
        """Compare the neighbors of each object with each other until little changes or nothing is left to spend."""
        in_a_round = int(ROUND_SHARE * self._most)
        while True:
            codes, common = self._to_compare()
            room = min(self._most - self.n_evaluated, in_a_round) // (1 + self.both_ways)
            if room <= 0 or not len(codes):
                return
            if len(codes) > room:
                codes = np.sort(codes[np.argsort(-common, kind="stable")[:room]])
            if self._join(codes) <= GRAPH_SETTLED * self.which.size:
                return

    def _to_compare(self) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of neighbors of one object, at least one of them new there, and how many such objects.

        Of each object's neighbors in both directions the most similar ones are taken.
        """
        owner, place = np.nonzero(np.isfinite(self.values))
        ends, values, is_new = self.which[owner, place], self.values[owner, place], self._new[owner, place]
        self._new[:] = False
        member, fresh = _best_members(owner, ends, values, is_new, self.n)
        found = []
        for s in range(1, member.shape[1]):
            for t in range(s):
                both = (member[:, t] >= 0) & (member[:, s] >= 0) & (fresh[:, s] | fresh[:, t])
                one, other = member[both, s], member[both, t]
                found.append(np.minimum(one, other) * self.n + np.maximum(one, other))
        codes, common = np.unique(np.concatenate([*found, np.empty(0, np.int64)]), return_counts=True)
        left = ~_among(codes, self._seen) & (codes // self.n != codes % self.n)
        return codes[left], common[left]

    def _codes(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return a number for each unordered pair of different objects, in order and without repetition."""
        codes = np.unique(np.minimum(i, j) * self.n + np.maximum(i, j))
        return codes[codes // self.n != codes % self.n]

    def _join(self, codes: np.ndarray) -> int:
        """Evaluate pairs that were not evaluated before; return how many edges changed."""
        return self._keep(self._evaluate(codes[~_among(codes, self._seen)]))

    def _evaluate(self, codes: np.ndarray) -> _Evaluated:
        """Return the similarities of pairs; minus infinity where it is known that neither object needs them."""
        i, j = codes // self.n, codes % self.n
        self.n_evaluated += len(codes) * (1 + self.both_ways)
        there = self._values(i, j)
        if not self.both_ways:
            return _Evaluated(codes, i, j, there, there)
        order = np.argsort(j, kind="stable")
        back = np.empty(len(codes))
        back[order] = self._values(j[order], i[order])
        return _Evaluated(codes, i, j, there, back)

    def _values(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return K(a_i, a_j) of some pairs, sorted by i."""
        if self._search is None:
            return finite_values(self._k, self._A, self._A, i, j)
        floors = np.minimum(self.values[i, -1], self.values[j, -1])
        return self._search.bounds.values(self._k, self._A, self._A, i, j, floors)

    def _keep(self, one: _Evaluated) -> int:
        """Keep the best neighbors of each object, ties by index; return how many edges changed."""
        self._seen = np.sort(np.concatenate([self._seen, one.codes]))
        owner, other, values = one.edges()
        better = values > self.values[owner, -1]
        owner, other, values = owner[better], other[better], values[better]
        touched, row = np.unique(owner, return_inverse=True)
        group = np.concatenate([np.repeat(np.arange(len(touched)), self.size), row])
        which = np.concatenate([self.which[touched].ravel(), other])
        all_values = np.concatenate([self.values[touched].ravel(), values])
        is_new = np.concatenate([self._new[touched].ravel(), np.ones(len(owner), bool)])
        order = np.lexsort((which, -all_values, group))
        best = order[np.searchsorted(group[order], np.arange(len(touched)))[:, None] + np.arange(self.size)]
        self.values[touched], self.which[touched], self._new[touched] = all_values[best], which[best], is_new[best]
        return int((best >= len(touched) * self.size).sum())

    def _recall(self, known: _Evaluated) -> float:
        """Return how many of the nearest of the held out objects the graph has, as a share."""
        owner, _, values = known.edges()
        wanted, shares = min(RECALL_AT, self.size), []
        for one in self.held:
            least = np.partition(values[owner == one], -wanted)[-wanted]
            shares.append(np.mean(self.values[one, :wanted] >= least))
        return float(np.mean(shares))


class _Evaluated(NamedTuple):
    """Pairs i < j of objects, coded as i n + j in order, and their similarities in both directions."""

    codes: np.ndarray
    i: np.ndarray
    j: np.ndarray
    there: np.ndarray
    back: np.ndarray

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first object, the second, and their similarity, in both directions."""
        one, other = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        return one, other, np.concatenate([self.there, self.back])

    def without(self, codes: np.ndarray) -> _Evaluated:
        """Return all but some pairs."""
        left = ~_among(self.codes, codes)
        return _Evaluated(*(part[left] for part in self))


def _among(codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Tell which codes are among others, which are sorted."""
    if not len(others):
        return np.zeros(len(codes), bool)
    return others[np.minimum(np.searchsorted(others, codes), len(others) - 1)] == codes


def _listed(which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of each row's number with what is in the row."""
    return np.repeat(np.arange(len(which)), which.shape[1]), which.ravel()


def _landmark_features(n: int, landmarks: np.ndarray, seen: _Evaluated) -> np.ndarray:
    """Return similarities to landmarks, each scaled to the same spread, as centered rows of length 1."""
    column = np.full(n, -1)
    column[landmarks] = np.arange(len(landmarks))
    features = np.full((n, len(landmarks)), np.nan)
    one, other, values = seen.edges()
    to = column[other] >= 0
    features[one[to], column[other[to]]] = values[to]
    features[landmarks, np.arange(len(landmarks))] = np.nanmax(features, axis=0)
    features -= features.mean(axis=0)
    features /= np.maximum(features.std(axis=0), LEAST_SPREAD)
    features -= features.mean(axis=1, keepdims=True)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), LEAST_SPREAD)
    return features.astype(np.float32)


def _most_alike(features: np.ndarray, each: int) -> np.ndarray:
    """Return for every row the rows with the largest products."""
    n = len(features)
    which, height = np.empty((n, each), np.int64), max(1, CELLS_AT_ONCE // n)
    for first in range(0, n, height):
        some = features[first : first + height] @ features.T
        here = np.arange(len(some))
        some[here, first + here] = -np.inf
        which[first : first + height] = np.argpartition(-some, each - 1, axis=1)[:, :each]
    return which


def _best_members(
    owner: np.ndarray, ends: np.ndarray, values: np.ndarray, is_new: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each object's most similar neighbors in both directions, -1 where there are no more, and which are new."""
    center, member = np.concatenate([owner, ends]), np.concatenate([ends, owner])
    order = np.lexsort((member, -np.concatenate([values, values]), center))
    center, member, fresh = center[order], member[order], np.concatenate([is_new, is_new])[order]
    place = np.arange(len(center)) - np.searchsorted(center, center)
    kept = place < JOINED_NEIGHBORS
    members, news = np.full((n, JOINED_NEIGHBORS), -1), np.zeros((n, JOINED_NEIGHBORS), bool)
    members[center[kept], place[kept]], news[center[kept], place[kept]] = member[kept], fresh[kept]
    return members, news
