r"""Similarities that are sums over the parts of an object, so that a score is a sum over parts as well.

If :math:`K(x, z) = \sum_p k_p(x, z)` over the parts p of x, then
:math:`\sum_l a_l K(x, l) = \sum_p \sum_l a_l k_p(x, l)`. This holds for explicit features that parts share: the
substrings of a string (each gives its letters equal shares), the items of a set, the coordinates of vectors under the
dot product, the columns of a table, and the refined labels of the nodes of a graph. Sums, multiples, constants and
normalization keep it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from similitude.kernels import Columns, Gapped, Gower, Intersection, Linear, Spectrum, WeisfeilerLehman
from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.relevance.parts import Parts, as_row
from similitude.similarity import Normalized, Scaled, Shifted, Sum

Additive = tuple[list[np.ndarray], np.ndarray]
"""What each part of each object adds, and a constant for each object."""


class WeightedSum(NamedTuple):
    """A weighted sum of similarities to landmarks, and the objects and their parts for which it is explained.

    Vectors, and rows of a table, have their parts in common; edges of a graph get nothing.
    """

    xs: Sequence[Any]
    parts: Sequence[Parts]
    landmarks: Sequence[Any]
    a: np.ndarray

    def zeros(self) -> list[np.ndarray]:
        """Return a zero for each part of each object."""
        return [np.zeros(len(one.places)) for one in self.parts]

    def of_features(self, features: Callable[[Any], Iterable[Hashable]]) -> Counter[Any]:
        """Return the weight of each feature, given those of a landmark."""
        weights: Counter[Any] = Counter()
        for one, weight in zip(self.landmarks, self.a.tolist(), strict=True):
            for feature in features(one):
                weights[feature] += weight
        return weights


def additive(k: Any, total: WeightedSum) -> Additive | None:
    r"""Return what the parts of objects x add to :math:`\sum_l a_l K(x, l)`; None if K is no sum over parts."""
    if isinstance(k, Scaled):
        return additive(k.k, total._replace(a=total.a * float(k.factor)))
    if isinstance(k, Shifted):
        found = additive(k.k, total)
        return found and (found[0], found[1] + float(k.constant) * float(total.a.sum()))
    if isinstance(k, Sum):
        known = [one for one in (additive(part, total) for part in k.parts()) if one is not None]
        if len(known) < len(k.parts()):
            return None
        sums = [np.sum(each, axis=0) for each in zip(*[one[0] for one in known], strict=True)]
        return sums, np.sum([one[1] for one in known], axis=0)
    if isinstance(k, Normalized):
        mine, theirs = (np.asarray(k.encode(_together(k, those))[1]) for those in (total.xs, total.landmarks))
        found = additive(k.k, total._replace(a=total.a * theirs))
        return found and ([own * factor for own, factor in zip(found[0], mine, strict=True)], found[1] * mine)
    terms = _TERMS.get(type(k))
    values = terms and terms(k, total)
    return None if values is None else (list(values), np.zeros(len(total.xs)))


def _together(k: Any, objects: Sequence[Any]) -> Any:
    """Return objects as a similarity takes them."""
    return np.array(objects, dtype=float) if k.objects == "vectors" else list(objects)


def _spectrum(k: Spectrum, total: WeightedSum) -> list[np.ndarray]:
    """Give each substring's term to its occurrences, and that of an occurrence to its letters, in equal shares."""
    values = total.zeros()
    once = list if k.counts else set
    for length in range(1, int(k.p) + 1) if k.blended else (int(k.p),):
        weights = total.of_features(lambda one, n=length: once(_words(one, n)))  # type: ignore[misc]
        for x, own in zip(total.xs, values, strict=True):
            words = _words(x, length)
            times = Counter(words)
            for start, word in enumerate(words):
                own[start : start + length] += weights[word] / length / (1 if k.counts else times[word])
    return values


def _words(text: Any, length: int) -> list[Any]:
    return [text[i : i + length] for i in range(len(text) - length + 1)]


def _gapped(k: Gapped, total: WeightedSum) -> list[np.ndarray]:
    """Give the term of each window with gaps to the letters that it keeps, in equal shares."""
    values = total.zeros()
    for kept in combinations(range(int(k.g)), int(k.g) - int(k.m)):

        def windows(text: Any, kept: tuple[int, ...] = kept) -> list[tuple[Any, ...]]:
            return [tuple([text[start + i] for i in kept]) for start in range(len(text) - int(k.g) + 1)]

        weights = total.of_features(windows)
        for x, own in zip(total.xs, values, strict=True):
            for start, window in enumerate(windows(x)):
                own[[start + i for i in kept]] += weights[window] / len(kept)
    return values


def _intersection(k: Intersection, total: WeightedSum) -> list[np.ndarray] | None:
    if any([hasattr(one, "shape") for one in (*total.xs, *total.landmarks)]):
        return None
    weights = total.of_features(set)
    return [np.array([float(weights[item]) for item in one.places]) for one in total.parts]


def _linear(k: Linear, total: WeightedSum) -> np.ndarray | None:
    if any([not isinstance(one, np.ndarray) for one in total.landmarks]):
        return None
    rows = np.array([np.asarray(x, dtype=float).ravel() for x in total.xs])
    return rows * (total.a @ np.array(total.landmarks, dtype=float))


def _columns(k: Columns, total: WeightedSum) -> np.ndarray | None:
    if k.how not in ("mean", "sum"):
        return None
    mine = list(map(as_row, total.xs))
    theirs = list(map(as_row, total.landmarks))
    places = total.parts[0].places
    values = np.zeros((len(mine), len(places)))
    for name in k.columns:
        only: Any = Columns({name: k.columns[name]}, how="sum")
        values[:, places.index(name)] = only.cross(mine, theirs) @ total.a
    weights = np.array([float((k.weights or {}).get(name, 1.0)) if name in k.columns else 0.0 for name in places])
    return values * (weights / weights.sum() if k.how == "mean" else weights)


def _gower(k: Gower, total: WeightedSum) -> np.ndarray:
    mine = list(map(as_row, total.xs))
    theirs = list(map(as_row, total.landmarks))
    places = total.parts[0].places
    ranges = dict(k.ranges or {})
    n = len(mine)
    terms = np.zeros((len(places), n, len(theirs)))
    weighted = np.zeros((n, len(theirs)))
    for q, name in enumerate(places):
        weight = float((k.weights or {}).get(name, 1.0))
        if name in ranges and weight > 0:
            only = Gower({name: ranges[name]})
            numbers, keys = only.encode(mine + theirs)
            there = ~np.isnan(numbers).any(axis=1) & (keys != 0).all(axis=1)
            known = weight * (there[:n, None] & there[n:])
            terms[q] = known * only.block((numbers[:n], keys[:n]), (numbers[n:], keys[n:]))
            weighted += known
    values: np.ndarray = ((terms / np.where(weighted > 0, weighted, 1.0)) @ total.a).T
    return values


def _weisfeiler_lehman(k: WeisfeilerLehman, total: WeightedSum) -> list[np.ndarray] | None:
    """Give the term of each refined label to the nodes that have it; attributes of nodes depend on others' too."""
    if k.attributes is not None:
        return None
    rounds = int(k.iterations)
    weights = total.of_features(lambda one: chain.from_iterable(_refined(parse_graph(0, one), rounds)))
    values = total.zeros()
    for own, one in zip(values, total.parts, strict=True):
        for labels in _refined(one.object, rounds):
            own[: len(labels)] += [weights[label] for label in labels]
    return values


def _refined(graph: ParsedGraph, iterations: int) -> list[list[Hashable]]:
    """Return the label of each node after each refinement."""
    neighbors: list[list[tuple[Any, int]]] = [[] for _ in range(graph.nodes)]
    for i, (u, v) in enumerate(graph.ends.tolist()):
        mark = None if graph.edge_labels is None else graph.edge_labels[i]
        neighbors[u].append((mark, v))
        if u != v:
            neighbors[v].append((mark, u))
    labels: list[Hashable] = [(0, None if graph.labels is None else graph.labels[v]) for v in range(graph.nodes)]
    found = [labels]
    for t in range(1, iterations + 1):
        around = [sorted([(repr(mark), hash(labels[u])) for mark, u in near]) for near in neighbors]
        labels = [(t, hash(label), tuple(near)) for label, near in zip(labels, around, strict=True)]
        found.append(labels)
    return found


_TERMS: dict[type, Any] = {
    Columns: _columns,
    Gapped: _gapped,
    Gower: _gower,
    Intersection: _intersection,
    Linear: _linear,
    Spectrum: _spectrum,
    WeisfeilerLehman: _weisfeiler_lehman,
}
