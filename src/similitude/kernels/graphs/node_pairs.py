"""Graph kernels of attributes: sums over pairs of nodes, or of edges, of a base kernel of the vectors of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import Encoding, rows
from similitude.compute.engines import current_engine, format_bytes
from similitude.kernels.graphs.encoding import NO_LABEL, EncodedGraphs
from similitude.kernels.ragged import Ragged, ragged_rows, starts_of
from similitude.similarity import Similarity

STEPS_AT_ONCE = 2**20
"""Steps from a node to a neighbor, over all first nodes of paths that are followed at once."""


def path_positions(graphs: EncodedGraphs) -> Any:
    r"""Return a sparse matrix with a row for each node: how often it is the i-th node of a shortest path with l edges.

    A path is read in both directions, so a node is as often at position i as at l - i: there is one column for both,
    :math:`\lfloor (l + 1)^2 / 4 \rfloor + i` for :math:`i \le l - i`.
    """
    from scipy.sparse import coo_array

    n = len(graphs.labels)
    if not n:
        return coo_array((0, 1)).tocsr()
    work = graphs.lengths + np.diff(graphs.neighbors.starts[graphs.starts])
    group = np.cumsum(np.repeat(work, graphs.lengths)) // STEPS_AT_ONCE
    budget = current_engine().budget
    size = 0
    found = []
    for sources in np.split(np.arange(n), np.flatnonzero(np.diff(group)) + 1):
        starts, nodes, distance, *paths = _followed(graphs, sources)
        longest = np.maximum.reduceat(distance, starts[:-1])
        size += 24 * int(((longest + 1) * (longest + 2) // 2).sum())  # bytes of a node, a column and a count
        if size > budget:
            g = graphs.owners[sources[longest.argmax()]]
            raise MemoryError(
                f"the positions of nodes on shortest paths may take more than {format_bytes(size)}, the memory budget "
                f"is {format_bytes(budget)}: graph {g} has shortest paths of {longest.max()} edges; use "
                f"WeisfeilerLehman(attributes=...), smaller graphs, or an engine with more memory"
            )
        found.append(_positions(nodes, distance, *paths))
    nodes, columns, values = (np.concatenate(some) for some in zip(*found, strict=True))
    return coo_array((values, (nodes, columns)), shape=(n, int(columns.max()) + 1)).tocsr()


def _followed(graphs: EncodedGraphs, sources: np.ndarray) -> tuple[np.ndarray, ...]:
    """Follow all shortest paths from some nodes, step by step. A place is a source with a node of its graph.

    Return where the places of each source begin; the node of each place, its distance (-1 if it is not reached) and the
    number of paths to it; and the steps, from which place to which.
    """
    first = graphs.first_nodes[sources]
    lengths = np.repeat(graphs.lengths, graphs.lengths)[sources]
    starts = starts_of(lengths)
    base = np.repeat(starts[:-1], lengths)
    nodes = np.arange(starts[-1]) - base + np.repeat(first, lengths)
    distance = np.full(len(nodes), -1)
    paths = np.zeros(len(nodes))
    reached = starts[:-1] + sources - first
    distance[reached] = 0
    paths[reached] = 1.0
    steps = []
    while len(reached):
        near = graphs.neighbors[nodes[reached]]
        before = np.repeat(reached, near.lengths)
        after = base[before] + near.nodes
        new = distance[after] < 0
        before = before[new]
        after = after[new]
        steps.append((before, after))
        distance[after] = len(steps)
        paths += np.bincount(after, paths[before], minlength=len(nodes))
        reached = np.flatnonzero(distance == len(steps))
    before, after = (np.concatenate(some) for some in zip(*steps, strict=True))
    return starts, nodes, distance, paths, before, after


def _positions(nodes: Any, distance: Any, paths: Any, before: Any, after: Any) -> tuple[np.ndarray, ...]:
    """Return nodes, columns and counts: of each place, by the number of edges that paths to it can be continued by."""
    # how often a shortest path to each place continues by `length` edges
    onward: Any = (distance >= 0).astype(np.float64)
    first = int(nodes[0])
    found = []
    for length in range(int(distance.max()) + 1):
        at = np.flatnonzero((onward > 0) & (distance <= length))
        keys = (nodes[at] - first) * (length + 1) + distance[at]
        counts = np.bincount(keys, paths[at] * onward[at])
        some = np.flatnonzero(counts)
        node, position = np.divmod(some, length + 1)
        found.append((node + first, (position + length + 1) ** 2 // 4 + position, counts[some]))
        going = onward[after] > 0
        before = before[going]
        after = after[going]
        onward = np.bincount(before, onward[after], minlength=len(nodes))
    return tuple(np.concatenate(some) for some in zip(*found, strict=True))


MOST_NODES = 1024
"""Nodes of each side that are compared at once: the matrix of their pairs fits into the cache."""

COLUMNS_AT_ONCE = 2048
"""Columns of counts that are multiplied at once."""


class NodeVectors(Ragged):
    """Nodes with labels, encoded vectors and perhaps sparse counts; graphs with `kinds` and the number of attributes.

    For kernels of edges, they take the place of nodes; each may have several labels, one per column.
    """

    of_entries = ("labels", "vectors", "counts")
    of_rows = ("kinds", "widths")
    labels: np.ndarray
    vectors: Encoding
    counts: Any
    kinds: np.ndarray
    widths: np.ndarray

    def groups(self) -> Iterator[tuple[np.ndarray, NodeVectors]]:
        """Yield nodes in groups with the numbers of their graphs, those with few columns of counts first.

        Graphs are whole in a group or cut from their own beginning, so that sums do not depend on the other graphs.
        """
        columns = np.zeros(len(self), np.int64)  # of counts, up to the last one that a graph has
        if self.counts is not None:
            np.maximum.at(columns, self.owners[self.counts.tocoo().row], self.counts.indices + 1)
        order = np.argsort(columns, kind="stable")
        order = order[self.lengths[order] > 0]
        starts, nodes = ragged_rows(self.starts, order)
        for first, last in pairwise(_cuts(starts)):
            own = slice(np.searchsorted(starts, first, "right") - 1, np.searchsorted(starts, last))
            chosen = nodes[first:last]
            counts = self.counts
            if counts is not None:
                counts = counts[chosen][:, : columns[order[own]].max()]
            inside = np.append(np.maximum(starts[:-1][own] - first, 0), last - first)
            yield order[own], NodeVectors(inside, self.labels[chosen], rows(self.vectors, chosen), counts)


def _cuts(starts: np.ndarray) -> list[int]:
    """Return where groups of nodes begin: between graphs, or within a graph at multiples of the largest number."""
    cuts = [0]
    for first, last in pairwise(starts.tolist()):
        if last - cuts[-1] > MOST_NODES:
            cuts += [first, *range(first + MOST_NODES, last, MOST_NODES)]
        if last - first > MOST_NODES:
            cuts.append(last)
    return sorted({*cuts, int(starts[-1])})


def sums_over_nodes(k: Similarity, A: NodeVectors, B: NodeVectors, of: str = "nodes") -> np.ndarray:
    """Return the sums of k over pairs of nodes, times the number of equal labels and the dot product of counts."""
    widths = np.union1d(A.widths[A.widths > 0], B.widths[B.widths > 0])
    if len(widths) > 1:
        raise ValueError(f"the {of} of some graphs have {widths[0]} attributes, those of others {widths[1]}")
    values = np.zeros((len(A), len(B)))
    others = list(B.groups())
    for down, a in A.groups():
        for right, b in others:
            pairs = np.asarray(k.block(a.vectors, b.vectors), np.float64)
            if a.counts is not None:
                pairs = pairs * _products(a.counts, b.counts)
            if a.labels.ndim == 2:
                equal = map(np.equal.outer, a.labels.T, b.labels.T)
                pairs = pairs * sum(one.astype(float) for one in equal)
            elif a.labels[0] != NO_LABEL:
                pairs = pairs * np.equal.outer(a.labels, b.labels)
            sums = np.add.reduceat(np.add.reduceat(pairs, b.starts[:-1], axis=1), a.starts[:-1], axis=0)
            values[np.ix_(down, right)] += sums
    return values


def _products(a: Any, b: Any) -> np.ndarray:
    """Return the dot products of sparse rows of counts, which are exact: sums of whole numbers in any order."""
    shared = min(a.shape[1], b.shape[1])
    weights = np.full(shared, 2.0)  # the number of positions that a column stands for
    half = np.arange(int(np.sqrt(shared)) + 1)
    middle = half * (half + 2)  # i = l / 2
    weights[middle[middle < shared]] = 1.0
    cuts = [slice(first, min(first + COLUMNS_AT_ONCE, shared)) for first in range(0, shared, COLUMNS_AT_ONCE)]
    return sum((a[:, cut].toarray() * weights[cut]) @ b[:, cut].toarray().T for cut in cuts)


def neighborhood_vectors(graphs: EncodedGraphs, rounds: int) -> np.ndarray:
    """Return the attributes of each node, followed by their means with those around it after each round."""
    from scipy.sparse import csr_array

    near = graphs.neighbors
    degrees = near.lengths
    columns = near.nodes + np.repeat(graphs.first_nodes, degrees)
    shares = np.repeat(0.5 / np.maximum(degrees, 1), degrees)
    around = csr_array((shares, columns, near.starts), shape=(len(near), len(near)))
    own = np.where(degrees > 0, 0.5, 1.0)[:, None]  # a node without neighbors stays as it is
    found = [graphs.attributes]
    for _ in range(rounds):
        found.append(own * found[-1] + around @ found[-1])
    return np.hstack(found)
