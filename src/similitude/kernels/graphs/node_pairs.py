"""Graph kernels of attributes: sums over pairs of nodes, or of edges, of a base kernel of the vectors of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, Hints, rows
from similitude.kernels.graphs.encoding import NO_LABEL, EncodedGraphs
from similitude.kernels.graphs.path_positions import column_weights
from similitude.kernels.ragged import ragged_rows
from similitude.similarity import PSD, SYMMETRIC, Similarity
from similitude.support import brief, error_prefix

MOST_NODES = 1024
"""Nodes of each side that are compared at once: the matrix of their pairs fits into the cache."""

COLUMNS_AT_ONCE = 2048
"""Columns of counts that are multiplied at once."""


@dataclass(eq=False)
class NodeVectors:
    """Graphs as bags of nodes, stored consecutively.

    Graph g owns the nodes ``node_starts[g]:node_starts[g + 1]``. Each node has a label, an encoded vector, and perhaps
    a sparse row of counts; the graph has its `kinds` (see `EncodedGraphs`) and the number of attributes of its nodes.
    For kernels of edges, they take the place of nodes; each may have several labels, one per column.
    """

    node_starts: np.ndarray
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
        widths = np.where(np.diff(graphs.node_starts) > 0, graphs.attributes.shape[1], 0)  # type: ignore[union-attr]
        return cls(graphs.node_starts, graphs.labels, encoded, counts, graphs.kinds, widths)

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def __getitem__(self, which: slice | np.ndarray) -> NodeVectors:
        node_starts, nodes = ragged_rows(self.node_starts, which)
        counts = None if self.counts is None else self.counts[nodes]
        vectors = rows(self.vectors, nodes)
        return NodeVectors(node_starts, self.labels[nodes], vectors, counts, self.kinds[which], self.widths[which])

    @property
    def columns(self) -> np.ndarray:
        """The number of columns of counts up to the last one that a graph has; 0 without counts."""
        if self.counts is None:
            return np.zeros(len(self), np.int64)
        last = np.zeros(len(self.labels) + 1, np.int64)
        some = np.flatnonzero(np.diff(self.counts.indptr))
        last[some] = np.maximum.reduceat(self.counts.indices, self.counts.indptr[some]) + 1 if len(some) else 0
        return np.where(np.diff(self.node_starts) > 0, np.maximum.reduceat(last, self.node_starts[:-1]), 0)

    def groups(self) -> Iterator[NodeGroup]:
        """Yield all nodes in groups, those of graphs with few columns of counts first.

        Graphs are whole in a group or cut from their own beginning, so that sums do not depend on the other graphs.
        """
        columns = self.columns
        order = np.argsort(columns, kind="stable")
        order = order[np.diff(self.node_starts)[order] > 0]
        starts, nodes = ragged_rows(self.node_starts, order)
        for first, last in pairwise(_cuts(starts)):
            own = slice(np.searchsorted(starts, first, "right") - 1, np.searchsorted(starts, last))
            chosen = nodes[first:last]
            counts = None if self.counts is None else self.counts[chosen][:, : columns[order[own]].max()]
            inside = np.maximum(starts[:-1][own] - first, 0)
            yield NodeGroup(order[own], inside, self.labels[chosen], rows(self.vectors, chosen), counts)


def _cuts(starts: np.ndarray) -> list[int]:
    """Return where groups of nodes begin: between graphs, or within a graph at multiples of the largest number.

    >>> _cuts(np.array([0, 400, 1000, 1400, 3600, 3700]))
    [0, 1000, 1400, 2424, 3448, 3600, 3700]
    """
    cuts = [0]
    for first, last in pairwise(starts.tolist()):
        if last - cuts[-1] > MOST_NODES:
            cuts += [first] if first > cuts[-1] else []
            cuts += range(first + MOST_NODES, last, MOST_NODES)
        if last - first > MOST_NODES:
            cuts.append(last)
    return cuts if cuts[-1] == starts[-1] else [*cuts, int(starts[-1])]


class NodeGroup(NamedTuple):
    """Nodes of some graphs: the numbers of the graphs, where the nodes of each begin, and what each node has."""

    graphs: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    vectors: Encoding
    counts: Any


def sums_over_nodes(k: Similarity, A: NodeVectors, B: NodeVectors, of: str = "nodes") -> np.ndarray:
    """Return the sums of k over all pairs of nodes with equal labels, times the dot products of counts, if any.

    With several labels, k is multiplied by the number of those that are equal.
    """
    widths = np.union1d(A.widths[A.widths > 0], B.widths[B.widths > 0])
    if len(widths) > 1:
        raise ValueError(f"the {of} of some graphs have {widths[0]} attributes, those of others {widths[1]}")
    values = np.zeros((len(A), len(B)))
    others = list(B.groups())
    for a in A.groups():
        for b in others:
            values[np.ix_(a.graphs, b.graphs)] += _sums_of_groups(k, a, b)
    return values


def _sums_of_groups(k: Similarity, a: NodeGroup, b: NodeGroup) -> np.ndarray:
    pairs = np.asarray(k.block(a.vectors, b.vectors), np.float64)
    if a.counts is not None and b.counts is not None:
        pairs = pairs * _products(a.counts, b.counts)
    if a.labels.ndim == 2:
        pairs = pairs * sum(
            np.equal.outer(a.labels[:, t], b.labels[:, t]).astype(float) for t in range(a.labels.shape[1])
        )
    elif a.labels[0] != NO_LABEL:
        pairs = pairs * np.equal.outer(a.labels, b.labels)
    return np.add.reduceat(np.add.reduceat(pairs, b.starts, axis=1), a.starts, axis=0)


def _products(a: Any, b: Any) -> np.ndarray:
    """Return the dot products of sparse rows of counts, which are exact: sums of whole numbers in any order."""
    shared = min(a.shape[1], b.shape[1])
    weights = column_weights(shared)
    cuts = [slice(first, min(first + COLUMNS_AT_ONCE, shared)) for first in range(0, shared, COLUMNS_AT_ONCE)]
    return sum((a[:, cut].toarray() * weights[cut]) @ b[:, cut].toarray().T for cut in cuts)


def neighborhood_vectors(graphs: EncodedGraphs, rounds: int) -> np.ndarray:
    """Return the attributes of each node, followed by their means with those around it after each round.

    >>> from similitude.kernels.graphs.encoding import as_graphs
    >>> neighborhood_vectors(as_graphs([([(0, 1), (1, 2)], None, None, [0.0, 4.0, 8.0])], attributes=True), 2)
    array([[0., 2., 3.],
           [4., 4., 4.],
           [8., 6., 5.]])
    """
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
    return np.hstack(found)  # type: ignore[arg-type]


# What a kernel with an optional base kernel of attributes states of itself.


def check_base(k: Any) -> None:
    """Validate that k is a similarity of vectors, with valid parameters."""
    if not isinstance(k, Similarity) or k.objects not in ("vectors", "any"):
        raise TypeError(f"attributes must be a kernel of vectors, such as Gaussian(), or None, got {brief(k)}")
    with error_prefix("attributes"):
        k.check_params()


def claims_with_attributes(claims: frozenset[str]) -> Any:
    """Return the property `claims` of a kernel that has these, and with attributes what follows from the base."""

    def found(k: Any) -> frozenset[str]:
        return claims if k.attributes is None else k.attributes.claims & {SYMMETRIC, PSD}

    return property(found, doc="What holds without attributes; with them, symmetry and PSD of the base kernel.")


def hints_with_attributes(hints: Hints) -> Any:
    """Return the property `hints` of a kernel that has these, and with attributes what the base kernel restricts."""

    def found(k: Any) -> Hints:
        if k.attributes is None:
            return hints
        return Hints(heavy=True, threadsafe=k.attributes.hints.threadsafe)

    return property(
        found, doc="Finite without attributes; with them, heavy and as safe for threads as the base kernel."
    )


def proof_with_attributes(reason: Any, of_pairs: str) -> Any:
    """Return the property `reason` of a kernel that is proven by a text or property, and with attributes by another."""

    def text(k: Any) -> str:
        if k.attributes is not None:
            return of_pairs
        return str(reason.__get__(k) if isinstance(reason, property) else reason)

    return property(text, doc="Why it is a kernel, without and with a base kernel of attributes.")
