r"""Similarities that are sums over the parts of an object, so that a score is a sum over parts as well.

If :math:`K(x, z) = \sum_p k_p(x, z)` over the parts p of x, then
:math:`\sum_l a_l K(x, l) = \sum_p \sum_l a_l k_p(x, l)`. This holds for explicit features that parts share: the
substrings of a string (each gives its letters equal shares), the items of a set, the coordinates of vectors under the
dot product, the columns of a table, and the refined labels of the nodes of a graph. Sums, multiples, constants and
normalization keep it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from similitude.kernels import Columns, Gapped, Gower, Intersection, Linear, Spectrum, WeisfeilerLehman
from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.relevance.parts import Parts, as_row
from similitude.similarity import Normalized, Scaled, Shifted, Sum

Additive = tuple[list[np.ndarray], np.ndarray]
"""What each part of each object adds, and a constant for each object."""


def additive(
    k: Any, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> Additive | None:
    r"""Return what the parts of objects x add to :math:`\sum_l a_l K(x, l)`; None if K is no sum over parts.

    Parameters
    ----------
    k : Similarity
    xs : sequence of objects
    parts : sequence of Parts
        Those of each object, which vectors, and rows of a table, have in common; of a graph, edges get nothing.
    landmarks : sequence of objects
        The landmarks l.
    a : array
        Their weights.
    """
    if isinstance(k, Scaled):
        return additive(k.k, xs, parts, landmarks, a * float(k.factor))
    if isinstance(k, Shifted):
        found = additive(k.k, xs, parts, landmarks, a)
        return None if found is None else (found[0], found[1] + float(k.constant) * float(a.sum()))
    if isinstance(k, Sum):
        several = [additive(part, xs, parts, landmarks, a) for part in k.parts()]
        known = [one for one in several if one is not None]
        if len(known) < len(several):
            return None
        sums = [np.sum(each, axis=0) for each in zip(*[one[0] for one in known], strict=True)]
        return sums, np.sum([one[1] for one in known], axis=0)
    if isinstance(k, Normalized):
        _, mine = k.encode(_together(k, xs))
        _, theirs = k.encode(_together(k, landmarks))
        found = additive(k.k, xs, parts, landmarks, a * np.asarray(theirs))
        if found is None:
            return None
        scale = np.asarray(mine)
        return [own * factor for own, factor in zip(found[0], scale, strict=True)], found[1] * scale
    terms = _TERMS.get(type(k))
    values = None if terms is None else terms(k, xs, parts, landmarks, a)
    return None if values is None else (list(values), np.zeros(len(xs)))


def _together(k: Any, objects: Sequence[Any]) -> Any:
    """Return objects as a similarity takes them."""
    return np.array(objects, dtype=float) if k.objects == "vectors" else list(objects)


def _spectrum(
    k: Spectrum, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> list[np.ndarray]:
    """Give each substring's term to its occurrences, and that of an occurrence to its letters, in equal shares."""
    values = [np.zeros(len(one.places)) for one in parts]
    for length in range(1, int(k.p) + 1) if k.blended else (int(k.p),):
        weights: Counter[Any] = Counter()
        for one, weight in zip(landmarks, a.tolist(), strict=True):
            for word, count in _words(one, length).items():
                weights[word] += weight * (count if k.counts else 1)
        for x, own in zip(xs, values, strict=True):
            mine = _words(x, length)
            for start in range(len(x) - length + 1):
                word = x[start : start + length]
                own[start : start + length] += weights[word] / length / (1 if k.counts else mine[word])
    return values


def _gapped(
    k: Gapped, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> list[np.ndarray]:
    """Give the term of each window with gaps to the letters that it keeps, in equal shares."""
    values = [np.zeros(len(one.places)) for one in parts]
    for kept in combinations(range(int(k.g)), int(k.g) - int(k.m)):
        weights: Counter[Any] = Counter()
        for one, weight in zip(landmarks, a.tolist(), strict=True):
            for start in range(len(one) - int(k.g) + 1):
                weights[tuple([one[start + i] for i in kept])] += weight
        for x, own in zip(xs, values, strict=True):
            for start in range(len(x) - int(k.g) + 1):
                term = weights[tuple([x[start + i] for i in kept])] / len(kept)
                own[[start + i for i in kept]] += term
    return values


def _words(text: Any, length: int) -> Counter[Any]:
    return Counter([text[i : i + length] for i in range(len(text) - length + 1)])


def _intersection(
    k: Intersection, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> list[np.ndarray] | None:
    if any([hasattr(one, "shape") for one in (*xs, *landmarks)]):
        return None
    weights: Counter[Any] = Counter()
    for one, weight in zip(landmarks, a.tolist(), strict=True):
        for item in set(one):
            weights[item] += weight
    return [np.array([float(weights[item]) for item in one.places]) for one in parts]


def _linear(
    k: Linear, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> np.ndarray | None:
    if any([not isinstance(one, np.ndarray) for one in landmarks]):
        return None
    return np.array([np.asarray(x, dtype=float).ravel() for x in xs]) * (a @ np.array(landmarks, dtype=float))


def _columns(
    k: Columns, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> np.ndarray | None:
    if k.how not in ("mean", "sum"):
        return None
    mine = list(map(as_row, xs))
    theirs = list(map(as_row, landmarks))
    places = parts[0].places
    values = np.zeros((len(xs), len(places)))
    for name in k.columns:
        only: Any = Columns({name: k.columns[name]}, how="sum")
        values[:, places.index(name)] = only.cross(mine, theirs) @ a
    weights = np.array([float((k.weights or {}).get(name, 1.0)) if name in k.columns else 0.0 for name in places])
    return values * (weights / weights.sum() if k.how == "mean" else weights)


def _gower(k: Gower, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray) -> np.ndarray:
    mine = list(map(as_row, xs))
    theirs = list(map(as_row, landmarks))
    places = parts[0].places
    ranges = dict(k.ranges or {})
    n = len(xs)
    terms = np.zeros((len(places), n, len(theirs)))
    total = np.zeros((n, len(theirs)))
    for q, name in enumerate(places):
        weight = float((k.weights or {}).get(name, 1.0))
        if name in ranges and weight > 0:
            only = Gower({name: ranges[name]})
            numbers, keys = only.encode(mine + theirs)
            there = ~np.isnan(numbers).any(axis=1) & (keys != 0).all(axis=1)
            known = weight * (there[:n, None] & there[n:])
            terms[q] = known * only.block((numbers[:n], keys[:n]), (numbers[n:], keys[n:]))
            total += known
    values: np.ndarray = ((terms / np.where(total > 0, total, 1.0)) @ a).T
    return values


def _weisfeiler_lehman(
    k: WeisfeilerLehman, xs: Sequence[Any], parts: Sequence[Parts], landmarks: Sequence[Any], a: np.ndarray
) -> list[np.ndarray] | None:
    """Give the term of each refined label to the nodes that have it; attributes of nodes depend on others' too."""
    if k.attributes is not None:
        return None
    weights: Counter[Any] = Counter()
    for i, (one, weight) in enumerate(zip(landmarks, a.tolist(), strict=True)):
        for labels in _refined(parse_graph(i, one), int(k.iterations)):
            for label, count in Counter(labels).items():
                weights[label] += weight * count
    values = [np.zeros(len(one.places)) for one in parts]
    for own, one in zip(values, parts, strict=True):
        for labels in _refined(one.object, int(k.iterations)):
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
