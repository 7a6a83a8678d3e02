"""Graph kernels of attributes: sums over pairs of nodes, or of edges, of a base kernel of the vectors of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, rows
from similitude.compute.engines import current_engine, format_bytes
from similitude.kernels.graphs.encoding import NO_LABEL, EncodedGraphs
from similitude.kernels.ragged import Ragged, ragged_rows, starts_of
from similitude.kernels.vectors.pairwise import takes_vectors
from similitude.similarity import PSD, SYMMETRIC, Similarity, stated
from similitude.support import brief, error_prefix

STEPS_AT_ONCE = 2**20
"""Steps from a node to a neighbor, over all first nodes of paths that are followed at once."""


def path_positions(graphs: EncodedGraphs) -> Any:
    r"""Return a sparse matrix with a row for each node: how often it is the i-th node of a shortest path with l edges.

    A path is read in both directions, so a node is as often at position i as at l - i: there is one column for both,
    :math:`\lfloor (l + 1)^2 / 4 \rfloor + i` for :math:`i \le l - i`; `column_weights` says for how many it stands.
    """
    from scipy.sparse import coo_array

    n = len(graphs.labels)
    entries = 0
    found = []
    for sources in _source_groups(graphs):
        starts, nodes, distance, *paths = _followed(graphs, sources)
        longest = np.maximum.reduceat(distance, starts[:-1])
        entries += int(((longest + 1) * (longest + 2) // 2).sum())
        _check_entries(graphs, sources, longest, entries)
        found.append(_positions(nodes, distance, *paths))
    if not found:
        return coo_array((n, 1)).tocsr()
    nodes, columns, values = (np.concatenate(some) for some in zip(*found, strict=True))
    return coo_array((values, (nodes, columns)), shape=(n, int(columns.max()) + 1)).tocsr()


def column_weights(columns: int) -> np.ndarray:
    """Return for how many positions each column of `path_positions` stands: 1 in the middle of a path, 2 elsewhere."""
    weights = np.full(columns, 2.0)
    half = np.arange(int(np.sqrt(columns)) + 1)
    middle = half * (half + 2)  # i = l / 2
    weights[middle[middle < columns]] = 1.0
    return weights


def _source_groups(graphs: EncodedGraphs) -> Iterator[np.ndarray]:
    """Yield consecutive nodes whose graphs have few enough edges together."""
    sizes = np.diff(graphs.node_starts)
    work = np.repeat(sizes + np.diff(graphs.starts[graphs.node_starts]), sizes)
    group = np.cumsum(work) // STEPS_AT_ONCE
    if len(group):
        yield from np.split(np.arange(len(group)), np.flatnonzero(np.diff(group)) + 1)


def _followed(graphs: EncodedGraphs, sources: np.ndarray) -> tuple[np.ndarray, ...]:
    """Follow all shortest paths from some nodes, step by step. A place is a source with a node of its graph.

    Return where the places of each source begin; of each place the node, its distance (-1 if it is not reached) and
    the number of paths to it; and the steps, from which place to which.
    """
    sizes = np.diff(graphs.node_starts)
    first = np.repeat(graphs.node_starts[:-1], sizes)[sources]
    lengths = np.repeat(sizes, sizes)[sources]
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
        ends, neighbors = ragged_rows(graphs.starts, nodes[reached])
        before = np.repeat(reached, np.diff(ends))
        after = base[before] + graphs.neighbors[neighbors]
        new = distance[after] < 0
        before = before[new]
        after = after[new]
        steps.append((before, after))
        distance[after] = len(steps)
        paths += np.bincount(after, paths[before], minlength=len(nodes))
        reached = np.flatnonzero(distance == len(steps))
    before, after = (np.concatenate(some) for some in zip(*steps, strict=True))
    return starts, nodes, distance, paths, before, after


def _check_entries(graphs: EncodedGraphs, sources: np.ndarray, longest: np.ndarray, entries: int) -> None:
    """Refuse more positions on paths, of these lengths at most, than the memory budget holds."""
    size = entries * 24  # bytes of a node, a column and a count
    budget = current_engine().budget
    if size > budget:
        at = int(longest.argmax())
        g = int(np.searchsorted(graphs.node_starts, sources[at], side="right")) - 1
        raise MemoryError(
            f"the positions of nodes on shortest paths may take more than {format_bytes(size)}, the memory budget is "
            f"{format_bytes(budget)}: graph {g} has shortest paths of {longest[at]} edges; use "
            f"WeisfeilerLehman(attributes=...), smaller graphs, or an engine with more memory"
        )


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
    """Graphs as bags of nodes, stored consecutively.

    Graph g owns the nodes ``starts[g]:starts[g + 1]``. Each node has a label, an encoded vector, and perhaps
    a sparse row of counts; the graph has its `kinds` (see `EncodedGraphs`) and the number of attributes of its nodes.
    For kernels of edges, they take the place of nodes; each may have several labels, one per column.
    """

    of_entries = ("labels", "vectors", "counts")
    of_rows = ("kinds", "widths")
    labels: np.ndarray
    vectors: Encoding
    counts: Any
    kinds: np.ndarray
    widths: np.ndarray

    @classmethod
    def of(cls, k: Similarity, graphs: EncodedGraphs, vectors: np.ndarray, counts: Any = None) -> NodeVectors:
        """Return graphs with a vector for each node, encoded for the base kernel k."""
        with error_prefix("attributes"):
            encoded = k.encode(vectors) if len(vectors) else vectors
        widths = np.where(np.diff(graphs.node_starts) > 0, graphs.attributes.shape[1], 0)
        return cls(graphs.node_starts, graphs.labels, encoded, counts, graphs.kinds, widths)

    @property
    def columns(self) -> np.ndarray:
        """The number of columns of counts up to the last one that a graph has; 0 without counts."""
        if self.counts is None:
            return np.zeros(len(self), np.int64)
        last = np.zeros(len(self.labels) + 1, np.int64)
        some = np.flatnonzero(np.diff(self.counts.indptr))
        last[some] = np.maximum.reduceat(self.counts.indices, self.counts.indptr[some]) + 1 if len(some) else 0
        return np.where(self.lengths > 0, np.maximum.reduceat(last, self.starts[:-1]), 0)

    def groups(self) -> Iterator[tuple[np.ndarray, NodeVectors]]:
        """Yield all nodes in groups with the numbers of their graphs, those with few columns of counts first.

        Graphs are whole in a group or cut from their own beginning, so that sums do not depend on the other graphs.
        """
        columns = self.columns
        order = np.argsort(columns, kind="stable")
        order = order[self.lengths[order] > 0]
        starts, nodes = ragged_rows(self.starts, order)
        for first, last in pairwise(_cuts(starts)):
            own = slice(np.searchsorted(starts, first, "right") - 1, np.searchsorted(starts, last))
            chosen = nodes[first:last]
            counts = None if self.counts is None else self.counts[chosen][:, : columns[order[own]].max()]
            inside = np.append(np.maximum(starts[:-1][own] - first, 0), last - first)
            yield order[own], NodeVectors(inside, self.labels[chosen], rows(self.vectors, chosen), counts)


def _cuts(starts: np.ndarray) -> list[int]:
    """Return where groups of nodes begin: between graphs, or within a graph at multiples of the largest number."""
    cuts = [0]
    for first, last in pairwise(starts.tolist()):
        if last - cuts[-1] > MOST_NODES:
            cuts += [first] if first > cuts[-1] else []
            cuts += range(first + MOST_NODES, last, MOST_NODES)
        if last - first > MOST_NODES:
            cuts.append(last)
    return cuts if cuts[-1] == starts[-1] else [*cuts, int(starts[-1])]


def sums_over_nodes(k: Similarity, A: NodeVectors, B: NodeVectors, of: str = "nodes") -> np.ndarray:
    """Return the sums of k over pairs of nodes, times the number of equal labels and the dot product of counts."""
    widths = np.union1d(A.widths[A.widths > 0], B.widths[B.widths > 0])
    if len(widths) > 1:
        raise ValueError(f"the {of} of some graphs have {widths[0]} attributes, those of others {widths[1]}")
    values = np.zeros((len(A), len(B)))
    others = list(B.groups())
    for down, a in A.groups():
        for right, b in others:
            values[np.ix_(down, right)] += _sums_of_groups(k, a, b)
    return values


def _sums_of_groups(k: Similarity, a: NodeVectors, b: NodeVectors) -> np.ndarray:
    pairs = np.asarray(k.block(a.vectors, b.vectors), np.float64)
    if a.counts is not None and b.counts is not None:
        pairs = pairs * _products(a.counts, b.counts)
    if a.labels.ndim == 2:
        pairs = pairs * sum(
            np.equal.outer(a.labels[:, t], b.labels[:, t]).astype(float) for t in range(a.labels.shape[1])
        )
    elif a.labels[0] != NO_LABEL:
        pairs = pairs * np.equal.outer(a.labels, b.labels)
    return np.add.reduceat(np.add.reduceat(pairs, b.starts[:-1], axis=1), a.starts[:-1], axis=0)


def _products(a: Any, b: Any) -> np.ndarray:
    """Return the dot products of sparse rows of counts, which are exact: sums of whole numbers in any order."""
    shared = min(a.shape[1], b.shape[1])
    weights = column_weights(shared)
    cuts = [slice(first, min(first + COLUMNS_AT_ONCE, shared)) for first in range(0, shared, COLUMNS_AT_ONCE)]
    return sum((a[:, cut].toarray() * weights[cut]) @ b[:, cut].toarray().T for cut in cuts)


def neighborhood_vectors(graphs: EncodedGraphs, rounds: int) -> np.ndarray:
    """Return the attributes of each node, followed by their means with those around it after each round."""
    from scipy.sparse import csr_array

    degrees = np.diff(graphs.starts)
    first = np.repeat(graphs.node_starts[:-1], np.diff(graphs.node_starts))
    neighbors = graphs.neighbors + np.repeat(first, degrees)
    shares = np.repeat(0.5 / np.maximum(degrees, 1), degrees)
    n = len(degrees)
    around = csr_array((shares, neighbors, graphs.starts), shape=(n, n))
    own = np.where(degrees > 0, 0.5, 1.0)[:, None]  # a node without neighbors stays as it is
    found = [graphs.attributes]
    for _ in range(rounds):
        found.append(own * found[-1] + around @ found[-1])
    return np.hstack(found)


# What a kernel with an optional base kernel of attributes states of itself.


def check_base(k: Any) -> None:
    """Validate that k is a similarity of vectors, with valid parameters."""
    if not takes_vectors(k):
        raise TypeError(f"attributes must be a kernel of vectors, such as Gaussian(), or None, got {brief(k)}")
    with error_prefix("attributes"):
        k.check_params()


def claims_with_attributes(claims: frozenset[str]) -> Any:
    """Return the property `claims` of a kernel: these, or with attributes what follows from the base kernel."""
    return stated("attributes", claims, lambda k, _: k.attributes.claims & {SYMMETRIC, PSD})


def hints_with_attributes(hints: Hints) -> Any:
    """Return the property `hints` of a kernel: these, or with attributes what the base kernel restricts."""
    return stated("attributes", hints, lambda k, _: Hints(heavy=True, threadsafe=k.attributes.hints.threadsafe))
