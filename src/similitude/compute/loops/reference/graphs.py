"""Loops over graphs, and over histograms with 64-bit keys."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from similitude.compute.loops.arguments import Array, Keyed, LabeledGraphs, Structure

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def weisfeiler_lehman(graphs: Structure, labels: Array, edge_labels: Array, iterations: int) -> Keyed:
    """Return the histogram of the labels of the nodes of each graph after 0, 1, …, `iterations` refinements.

    A new label is a hash of the old one, of the iteration, and of the sum of the hashes of the neighbors' labels (with
    those of the edges to them), so the order of neighbors does not matter. Labels are uint64, one for each node, and
    one for each entry of neighbors.
    """
    refined = refined_labels(graphs, labels, edge_labels, iterations)
    rows = (np.concatenate([level[a:b] for level in refined]) for a, b in pairwise(graphs[0]))
    return _joined([Counter(row.tolist()) for row in rows])


def refined_labels(graphs: Structure, labels: Array, edge_labels: Array, iterations: int) -> list[Array]:
    """Return the labels of all nodes after 0, 1, …, `iterations` refinements; this is not compiled."""
    node_starts, starts, neighbors = graphs
    owner = np.repeat(np.arange(len(node_starts) - 1), np.diff(node_starts))
    source = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    target = node_starts[owner[source]] + neighbors
    salts = _mix(edge_labels + _GOLDEN)
    refined = [_mix(labels + _GOLDEN)]
    for t in range(1, iterations + 1):
        sums = _mix(refined[-1] + _times_golden(t + 1))
        np.add.at(sums, source, _mix(refined[-1][target] + salts))
        refined.append(_mix(sums))
    return refined


def _times_golden(number: int) -> np.uint64:
    return np.uint64(int(_GOLDEN) * number % 2**64)


def _mix(x: Array) -> Array:
    """Mix the bits of 64-bit numbers by the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _joined(histograms: list[Counter[int]]) -> Keyed:
    starts = np.concatenate([[0], np.cumsum([len(one) for one in histograms], dtype=np.int64)]).astype(np.int64)
    keys = [key for one in histograms for key in sorted(one)]
    counts = [float(one[key]) for one in histograms for key in sorted(one)]
    return starts, np.array(keys, np.uint64), np.array(counts, np.float64)


def shortest_paths(graphs: Structure, labels: Array) -> Keyed:
    """Return the histogram of hashes of (label, label, distance) over the pairs of connected nodes of each graph."""
    node_starts = graphs[0]
    salted = _mix(labels + _GOLDEN)
    histograms = []
    for g, joined in enumerate(_neighbor_lists(graphs)):
        first = node_starts[g]
        found = Counter[int]()
        for u in range(len(joined)):
            for v, distance in _distances(joined, u).items():
                if u < v:
                    pair = salted[first + u : first + u + 1] + salted[first + v]  # scalars would warn of overflow
                    found[int(_mix(pair + _times_golden(distance))[0])] += 1
        histograms.append(found)
    return _joined(histograms)


def _neighbor_lists(graphs: Structure) -> list[list[list[int]]]:
    node_starts, starts, neighbors = graphs
    each = [neighbors[a:b].tolist() for a, b in pairwise(starts)]
    return [each[a:b] for a, b in pairwise(node_starts)]


def _distances(joined: list[list[int]], root: int) -> dict[int, int]:
    """Return the distance to every reachable node, by breadth-first search."""
    found = {root: 0}
    queue = [root]
    for u in queue:
        for v in joined[u]:
            if v not in found:
                found[v] = found[u] + 1
                queue.append(v)
    return found


def graphlets(graphs: Structure, p: int, of_code: Array, contains: Array) -> Array:
    """Return the number of induced subgraphs with p nodes, from 2 to 5, of each type in every graph, by enumeration.

    `of_code` is the type of each graph on the nodes 0, …, p - 1, by its code: bit j (j - 1) / 2 + i tells whether i < j
    are joined; types with more edges have larger numbers. `contains` is the number of spanning subgraphs of type b in
    type a, for the closed formulas of the compiled loop.
    """
    counts = np.zeros((len(graphs[0]) - 1, len(contains)))
    pairs = [(i, j) for j in range(p) for i in range(j)]
    for row, joined in zip(counts, _neighbor_lists(graphs), strict=True):
        adjacent = [set(one) for one in joined]
        for chosen in combinations(range(len(joined)), p):
            code = sum((chosen[j] in adjacent[chosen[i]]) << bit for bit, (i, j) in enumerate(pairs))
            row[of_code[code]] += 1
    return counts


def keyed_products(out: Array, A: Keyed, B: Keyed) -> None:
    """Write the dot products of histograms into `out`: the sums of the products of the counts of shared keys."""
    starts, keys, counts = B
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(keys, kind="stable")
    different, first = np.unique(keys[order], return_index=True)
    having = dict(zip(different.tolist(), np.split(order, first[1:]), strict=False))  # the positions of each key in B
    out[...] = 0
    for row, (a, b) in zip(out, pairwise(A[0]), strict=True):
        for key, count in zip(A[1][a:b].tolist(), A[2][a:b].tolist(), strict=True):
            if key in having:
                row[owner[having[key]]] += count * counts[having[key]]


def labeled_walks(out: Array, A: LabeledGraphs, B: LabeledGraphs, decay: float) -> None:
    """Write the sums of decay^l over the pairs of walks of any length l with the same labels of nodes and edges.

    These are the walks of the product of two graphs, whose nodes are pairs of nodes with equal labels: with its
    adjacency matrix W, the sum of all entries of (I - decay W)^-1.
    """
    for i in range(len(out)):
        for j in range(out.shape[1]):
            same, W = _product(_dense(A, i), _dense(B, j))
            out[i, j] = np.linalg.solve(np.eye(len(W)) - decay * W, np.ones(len(W))).sum() if same else 0.0


def _dense(graphs: LabeledGraphs, g: int) -> tuple[Array, dict[tuple[int, int], int]]:
    """Return the labels of the nodes of one graph, and the label of each of its edges, in both directions."""
    node_starts, starts, neighbors, labels, edge_labels, _ = graphs
    first = node_starts[g]
    last = node_starts[g + 1]
    edges = {
        (v - first, int(neighbors[p])): int(edge_labels[p])
        for v in range(first, last)
        for p in range(starts[v], starts[v + 1])
    }
    return labels[first:last], edges


def _product(a: tuple[Array, dict[tuple[int, int], int]], b: tuple[Array, dict[tuple[int, int], int]]) -> Any:
    """Return the nodes of the product of two graphs, and its adjacency matrix."""
    pairs = [(u, v) for u, one in enumerate(a[0]) for v, other in enumerate(b[0]) if one == other]
    number = {pair: p for p, pair in enumerate(pairs)}
    W = np.zeros((len(pairs), len(pairs)))
    for (u, x), label in a[1].items():
        for (v, y), other in b[1].items():
            if label == other and (u, v) in number and (x, y) in number:
                W[number[u, v], number[x, y]] = 1.0
    return pairs, W
