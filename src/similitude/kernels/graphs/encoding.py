"""Graphs encoded as concatenated arrays: undirected and simple, with or without labels and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import as_objects
from similitude.kernels.graphs.parsing import ParsedGraph, attribute_matrix, is_one_graph, parse_graphs
from similitude.kernels.ragged import Ragged, item_keys, listed, starts_of
from similitude.kernels.tables.cells import missing_cells
from similitude.support import brief

NO_LABEL = 0
"""The label of all nodes or edges of a graph without labels."""


class NodeNeighbors(Ragged):
    """The neighbors of each node, numbered within the graph, with labels and attributes of the edges to them."""

    of_entries = ("nodes", "labels", "attributes")
    nodes: np.ndarray
    labels: np.ndarray
    attributes: np.ndarray


class EncodedGraphs(Ragged):
    """Undirected simple graphs: of each node a uint64 key of its label, or `NO_LABEL`, and a row of attributes."""

    of_entries = ("labels", "attributes", "neighbors")
    labels: np.ndarray
    attributes: np.ndarray
    neighbors: NodeNeighbors

    @property
    def kinds(self) -> np.ndarray:
        """Bits per graph that tell whether its nodes (1: yes, 2: no) and its edges (4: yes, 8: no) have labels."""
        found = np.zeros(len(self), np.uint8)
        of_edges = self.neighbors.starts[self.starts], self.neighbors.labels, 4
        for starts, labels, bit in ((self.starts, self.labels, 1), of_edges):
            some = np.diff(starts) > 0
            found[some] |= np.where(labels[starts[:-1][some]] == NO_LABEL, 2 * bit, bit).astype(np.uint8)
        return found

    @property
    def structure(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays without labels, as the loops take them."""
        return self.starts, self.neighbors.starts, self.neighbors.nodes

    @property
    def labeled_structure(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """The arrays with labels, as the loops take them."""
        return self.structure, self.labels, self.neighbors.labels

    @property
    def first_nodes(self) -> np.ndarray:
        """The position of the first node of the graph of each node."""
        return np.repeat(self.starts[:-1], self.lengths)


def as_graphs(
    objects: Any, nodes: bool = True, edges: bool = True, attributes: bool = False, edge_attributes: bool = False
) -> EncodedGraphs:
    """Return graphs as concatenated arrays, with labels and attributes of nodes and edges if asked for.

    An edge that is given more than once, in either direction, counts once, and must have one label and one vector of
    attributes. Weights of an adjacency matrix are ignored, but zero means no edge. Directed graphs, asymmetric matrices
    and self-loops are refused, because their meaning would be a guess.
    """
    if is_one_graph(objects):
        raise TypeError(f"expected graphs, got a single one, {brief(objects)}: pass a list of graphs")
    parts = parse_graphs(as_objects(objects), edges, attributes, edge_attributes)
    sizes = np.array([one.nodes for one in parts], np.int64)
    owner = np.repeat(np.arange(len(parts)), [len(one.ends) for one in parts])
    ends = np.concatenate([one.ends for one in parts])
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
    starts = starts_of(sizes)
    own = [np.full(starts[-1], NO_LABEL, np.uint64), np.zeros((starts[-1], 0))]
    of_edges = [np.full(len(ends), NO_LABEL, np.uint64), np.zeros((len(ends), 0))]
    if attributes:
        own[1] = attribute_matrix(parts, "node")
    if edge_attributes:
        of_edges[1] = attribute_matrix(parts, "edge")
    if nodes:
        own[0] = _label_keys(parts, "node", own[0])
    if edges:
        of_edges[0] = _label_keys(parts, "edge", of_edges[0])
    return EncodedGraphs(starts, *own, _neighbors(parts, ends, owner, starts, *of_edges))


def _label_keys(parts: list[ParsedGraph], of: str, none: np.ndarray) -> np.ndarray:
    """Return the keys of the labels of all nodes or all given edges; `none` if no graph has any."""
    own = [one.elements(of) for one in parts]
    graphs = [g for g, (size, *_) in enumerate(own) if size]
    labels = [own[g][1] for g in graphs]
    labeled = [some is not None for some in labels]
    if not any(labeled):
        return none
    if not all(labeled):
        without = graphs[labeled.index(False)]
        having = graphs[labeled.index(True)]
        raise ValueError(f"graph {without} has no {of} labels, graph {having} has: label all graphs or none")
    values = [label for some in labels for label in listed(some)]
    missing = np.zeros(1, bool)
    if not set(map(type, values)) <= {str, int}:
        missing = missing_cells(values)
    if missing.any():
        starts = starts_of([len(some) for some in labels])
        which = int(np.searchsorted(starts, missing.argmax(), side="right")) - 1
        g = graphs[which]
        named = parts[g].called(of, int(missing.argmax() - starts[which]))
        raise ValueError(f"{named} of graph {g} has no label, other {of}s have one")
    return item_keys(values)


def _neighbors(parts: Any, ends: Any, owner: Any, starts: Any, labels: Any, attributes: Any) -> NodeNeighbors:
    """Return the neighbors of each node, given the ends of each edge, its graph, label and attributes."""
    n = int(starts[-1])
    u, v = (ends[:, side] + starts[owner] for side in (0, 1))
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
    source, target = np.divmod(keys[~again], max(n, 1))
    first = np.repeat(starts[:-1], np.diff(starts))
    numbers = (target - first[source]).astype(np.int32)
    return NodeNeighbors(starts_of(np.bincount(source, minlength=n)), numbers, both[~again], vectors[~again])
