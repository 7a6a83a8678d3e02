"""Graphs encoded as concatenated arrays: undirected and simple, with or without labels and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects
from similitude.kernels.graphs.parsing import ParsedGraph, attribute_matrix, is_one_graph, named, parse_graphs
from similitude.kernels.ragged import item_keys, listed, ragged_rows, starts_of
from similitude.kernels.tables.cells import missing_cells
from similitude.support import brief

NO_LABEL = 0
"""The label of all nodes or edges of a graph without labels."""


@dataclass(eq=False)
class EncodedGraphs:
    """Undirected simple graphs, stored consecutively.

    Graph g owns the nodes ``node_starts[g]:node_starts[g + 1]``; node v has the neighbors
    ``neighbors[starts[v]:starts[v + 1]]``, numbered within the graph and increasing, each edge in both directions.
    ``labels`` and ``edge_labels`` are uint64 keys of the labels of each node and of each neighbor; 0 without labels.
    ``attributes`` has a row for each node, and ``edge_attributes`` one for each neighbor, empty if not asked for.
    """

    node_starts: np.ndarray
    labels: np.ndarray
    starts: np.ndarray
    neighbors: np.ndarray
    edge_labels: np.ndarray
    attributes: np.ndarray
    edge_attributes: np.ndarray

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def __getitem__(self, which: slice | np.ndarray) -> EncodedGraphs:
        node_starts, nodes = ragged_rows(self.node_starts, which)
        starts, ends = ragged_rows(self.starts, nodes)
        of_edges = self.neighbors[ends], self.edge_labels[ends], self.attributes[nodes], self.edge_attributes[ends]
        return EncodedGraphs(node_starts, self.labels[nodes], starts, *of_edges)

    @property
    def kinds(self) -> np.ndarray:
        """Bits per graph that tell whether its nodes (1: yes, 2: no) and its edges (4: yes, 8: no) have labels."""
        found = np.zeros(len(self), np.uint8)
        for starts, labels, bit in (
            (self.node_starts, self.labels, 1),
            (self.starts[self.node_starts], self.edge_labels, 4),
        ):
            some = np.diff(starts) > 0
            found[some] |= np.where(labels[starts[:-1][some]] == NO_LABEL, 2 * bit, bit).astype(np.uint8)
        return found

    @property
    def structure(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays without labels, as the loops take them."""
        return self.node_starts, self.starts, self.neighbors


def as_graphs(
    objects: Any, nodes: bool = True, edges: bool = True, attributes: bool = False, edge_attributes: bool = False
) -> EncodedGraphs:
    """Return graphs as concatenated arrays, with labels and attributes of nodes and edges if asked for.

    Takes networkx graphs and igraph graphs (labels in the attribute ``"label"`` of nodes and edges, vectors of numbers
    in the attribute ``"attributes"`` of both), scipy sparse adjacency matrices, and tuples ``(edges, node_labels,
    edge_labels, node_attributes, edge_attributes)``, of which all but the first may be missing at the end, or be None.
    There `edges` are pairs of nodes or a sparse adjacency matrix. Nodes
    are numbers from 0, one per label (an integer in place of the labels is the number of nodes), or the keys of a dict
    of labels. Edge labels are in the order of the edges. Node attributes are a matrix with a row for each node, or a
    dict of vectors; one number for each node is a vector of length 1. Edge attributes are a matrix with a row for each
    edge. Every node or edge needs attributes, as many as any other, all of them finite; an error names the graph and
    the node or edge.

    An edge that is given more than once, in either direction, counts once, and must have one label and one vector of
    attributes. Weights of an
    adjacency matrix are ignored, but zero means no edge. Directed graphs, asymmetric matrices and self-loops are
    refused, because their meaning would be a guess; the error names the graph by its index, and the node.
    """
    if is_one_graph(objects):
        raise TypeError(f"expected graphs, got a single one, {brief(objects)}: pass a list of graphs")
    parts = parse_graphs(as_objects(objects), edges, attributes, edge_attributes)
    sizes = np.array([one.nodes for one in parts], np.int64)
    node_starts = starts_of(sizes)
    counts = np.array([len(one.ends) for one in parts], np.int64)
    owner = np.repeat(np.arange(len(parts)), counts)
    ends = np.concatenate([one.ends for one in parts])
    _check_ends(parts, ends, owner, sizes)
    vectors = np.zeros((node_starts[-1], 0))
    of_edges = np.zeros((len(ends), 0))
    labels = np.full(node_starts[-1], NO_LABEL, np.uint64)
    edge_keys = np.full(len(ends), NO_LABEL, np.uint64)
    if attributes:
        vectors = attribute_matrix(parts)
    if edge_attributes:
        of_edges = attribute_matrix(parts, "edge")
    if nodes:
        labels = _label_keys(parts, "node", labels)
    if edges:
        edge_keys = _label_keys(parts, "edge", edge_keys)
    starts, neighbors, marks, of_edges = _adjacency(parts, ends, owner, node_starts, edge_keys, of_edges)
    return EncodedGraphs(node_starts, labels, starts, neighbors, marks, vectors, of_edges)


def _check_ends(parts: list[ParsedGraph], ends: np.ndarray, owner: np.ndarray, sizes: np.ndarray) -> None:
    outside = np.flatnonzero(((ends < 0) | (ends >= sizes[owner][:, None])).any(axis=1))
    if len(outside):
        g = int(owner[outside[0]])
        pair = tuple(ends[outside[0]].tolist())
        raise ValueError(f"graph {g} has {sizes[g]} nodes, numbered from 0, and an edge {pair}")
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(loops):
        g = int(owner[loops[0]])
        node = parts[g].name(int(ends[loops[0], 0]))
        raise ValueError(f"graph {g} has a self-loop at node {node}: graph kernels take simple graphs, so remove it")


def _label_keys(parts: list[ParsedGraph], of: str, none: np.ndarray) -> np.ndarray:
    """Return the keys of the labels of all nodes or all given edges; `none` if no graph has any."""
    own = [(one.labels, one.nodes) if of == "node" else (one.edge_labels, len(one.ends)) for one in parts]
    graphs = [g for g, (_, size) in enumerate(own) if size]
    labels = [own[g][0] for g in graphs]
    labeled = [some is not None for some in labels]
    if not any(labeled):
        return none
    if not all(labeled):
        without = graphs[labeled.index(False)]
        having = graphs[labeled.index(True)]
        raise ValueError(f"graph {without} has no {of} labels, graph {having} has: label all graphs or none")
    values = [label for some in labels for label in listed(some)]
    if set(map(type, values)) <= {str, int}:
        return item_keys(values)
    missing = np.flatnonzero(missing_cells(values))
    if len(missing):
        starts = starts_of([len(some) for some in labels])
        which = int(np.searchsorted(starts, missing[0], side="right")) - 1
        g = graphs[which]
        at = int(missing[0] - starts[which])
        raise ValueError(f"{named(parts[g], of, at)} of graph {g} has no label, other {of}s have one")
    return item_keys(values)


def _adjacency(
    parts: list[ParsedGraph],
    ends: np.ndarray,
    owner: np.ndarray,
    node_starts: np.ndarray,
    labels: np.ndarray,
    attributes: np.ndarray,
) -> Iterator[Any]:
    """Yield the start of the neighbors of each node, the neighbors, and labels and attributes of the edges to them."""
    n = int(node_starts[-1])
    u, v = (ends[:, side] + node_starts[owner] for side in (0, 1))
    keys = np.concatenate([u * n + v, v * n + u])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    again = np.zeros(len(keys), bool)
    again[1:] = keys[1:] == keys[:-1]
    both = np.concatenate([labels, labels])[order]
    vectors = np.concatenate([attributes, attributes])[order]
    for what, values in (("labels", both[:, None]), ("attributes", vectors)):
        different = np.flatnonzero(again[1:] & (values[1:] != values[:-1]).any(axis=1))
        if len(different):
            edge = int(order[different[0]]) % len(ends)
            g = int(owner[edge])
            pair = " and ".join(parts[g].name(node) for node in ends[edge].tolist())
            raise ValueError(f"graph {g} has several edges between nodes {pair}, with different {what}")
    keys = keys[~again]
    source, target = np.divmod(keys, max(n, 1))
    yield starts_of(np.bincount(source, minlength=n))
    first = np.repeat(node_starts[:-1], np.diff(node_starts))
    yield (target - first[source]).astype(np.int32)
    yield both[~again]
    yield vectors[~again]
