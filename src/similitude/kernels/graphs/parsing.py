"""Reading graphs of networkx, igraph, sparse adjacency matrices or tuples into nodes, edges, labels and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import first_nonfinite, is_sparse
from similitude.kernels.ragged import starts_of
from similitude.support import brief

ATTRIBUTES = "attributes"
"""The name under which nodes and edges of networkx and igraph carry a vector of attributes."""


class ParsedGraph(NamedTuple):
    """One graph; labels and attributes of edges are in the order of their ends, names are those that a user gave."""

    nodes: int
    ends: np.ndarray
    labels: Any = None
    edge_labels: Any = None
    names: Any = None
    attributes: Any = None
    edge_attributes: Any = None

    def elements(self, of: str) -> tuple[int, Any, Any]:
        """Return the number of nodes or edges, their labels, and their attributes."""
        if of == "node":
            return self.nodes, self.labels, self.attributes
        return len(self.ends), self.edge_labels, self.edge_attributes

    def name(self, node: int) -> str:
        """Return the user's name of a node."""
        return str(node) if self.names is None else repr(self.names[node])

    def called(self, of: str, place: int) -> str:
        """Return how to call a node or an edge."""
        if of == "node":
            return f"node {self.name(place)}"
        return f"the edge between nodes {' and '.join(map(self.name, self.ends[place].tolist()))}"


def is_one_graph(objects: Any) -> bool:
    """Whether this is a single graph rather than a sequence of graphs."""
    return is_sparse(objects) or _is_networkx(objects) or _is_igraph(objects)


def is_graph(one: Any) -> bool:
    """Whether an object is a graph: of networkx or igraph, an adjacency matrix, or a tuple of edges and more."""
    if not isinstance(one, tuple) or not 1 <= len(one) <= 5:
        return is_one_graph(one)
    edges = one[0]  # then node labels, edge labels, node attributes and edge attributes
    if isinstance(edges, np.ndarray):
        return edges.ndim == 2 and edges.shape[1] == 2
    pairs = isinstance(edges, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in edges
    )
    return pairs or is_sparse(edges)


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "adj") and hasattr(graph, "nodes") and callable(getattr(graph, "is_directed", None))


def _is_igraph(graph: Any) -> bool:
    return hasattr(graph, "get_edgelist") and hasattr(graph, "vs")


def parse_graphs(
    graphs: Sequence[Any], edge_labels: bool = True, attributes: bool = True, edge_attributes: bool = True
) -> list[ParsedGraph]:
    """Return every graph in parts. Those of networkx are read together, with what is asked for."""
    of_networkx = {i: one for i, one in enumerate(graphs) if _is_networkx(one)}
    asked = edge_labels, attributes, edge_attributes
    together = dict(zip(of_networkx, _from_networkx(of_networkx, *asked), strict=True))
    return [together[i] if i in together else parse_graph(i, one) for i, one in enumerate(graphs)]


def parse_graph(i: int, graph: Any) -> ParsedGraph:
    """Return graph number i in parts; an error names it by its number."""
    if isinstance(graph, tuple) and 1 <= len(graph) <= 5:
        return _from_tuple(i, *graph)
    if is_sparse(graph):
        return _from_tuple(i, graph)
    if _is_networkx(graph):
        return _from_networkx({i: graph})[0]
    if not _is_igraph(graph):
        raise TypeError(
            f"object {i} is not a graph but {brief(graph)}: graph kernels take networkx or igraph graphs, scipy sparse "
            f"adjacency matrices, or tuples (edges, node_labels, edge_labels, node_attributes, edge_attributes), of "
            f"which all but the first may be missing"
        )
    _refuse_directed(i, graph, "graph.as_undirected()")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    both = "label", ATTRIBUTES
    known = [{name: part[name] for name in both if name in part.attributes()} for part in (graph.vs, graph.es)]
    labels, edge_labels = (_if_any(one.get("label", ())) for one in known)
    vectors, edge_vectors = (_if_any(one.get(ATTRIBUTES, ())) for one in known)
    return ParsedGraph(graph.vcount(), ends, labels, edge_labels, None, vectors, edge_vectors)


def _from_networkx(
    graphs: Mapping[int, Any],
    with_edge_labels: bool = True,
    with_attributes: bool = True,
    with_edge_attributes: bool = True,
) -> list[ParsedGraph]:
    for i, graph in graphs.items():
        _refuse_directed(i, graph, "graph.to_undirected()")
    names = [list(graph) for graph in graphs.values()]
    neighbors: list[Any] = []  # of each node
    edges: list[Any] = []  # what is known of the edges to them
    for graph in graphs.values():
        near = [of_one for _, of_one in graph.adjacency()]
        if graph.is_multigraph():
            neighbors += [[v for v, several in of_one.items() for _ in several] for of_one in near]
            edges += [[edge for several in of_one.values() for edge in several.values()] for of_one in near]
        else:
            neighbors += near
            edges += [of_one.values() for of_one in near]
    of_nodes = [of_one for graph in graphs.values() for _, of_one in graph.nodes(data=True)]
    labels = [of_one.get("label") for of_one in of_nodes]
    vectors = [of_one.get(ATTRIBUTES) for of_one in of_nodes if with_attributes]
    degrees = np.fromiter(map(len, neighbors), np.int64, len(neighbors))
    sizes = np.array([len(own) for own in names], np.int64)
    nodes = starts_of(sizes)
    u = np.repeat(np.arange(nodes[-1]) - np.repeat(nodes[:-1], sizes), degrees)
    v = _neighbor_numbers(names, neighbors, nodes, degrees)
    once = u <= v  # each edge stands with both of its nodes
    ends = np.stack([u[once], v[once]], axis=1)
    entries = starts_of(degrees)[nodes]
    cuts = starts_of(once)[entries].tolist()
    parts = []
    for k, (first, last) in enumerate(zip(nodes[:-1].tolist(), nodes[1:].tolist(), strict=True)):
        of_edges: dict[str, Any] = {"label": None, ATTRIBUTES: None}
        for name, asked in (("label", with_edge_labels), (ATTRIBUTES, with_edge_attributes)):
            if asked and any(chain.from_iterable(edges[first:last])):
                kept = compress(chain.from_iterable(edges[first:last]), once[entries[k] : entries[k + 1]])
                of_edges[name] = _if_any([edge.get(name) for edge in kept])
        own = _if_any(labels[first:last]), of_edges["label"], names[k], _if_any(vectors[first:last])
        parts.append(ParsedGraph(last - first, ends[cuts[k] : cuts[k + 1]], *own, of_edges[ATTRIBUTES]))
    return parts


def _neighbor_numbers(
    names: list[list[Any]], neighbors: list[Any], nodes: np.ndarray, degrees: np.ndarray
) -> np.ndarray:
    """Return the numbers of the neighbors of each node in turn, within their graph, given where its nodes start."""
    every = list(chain.from_iterable(names))
    sizes = np.diff(nodes)
    if set(map(type, every)) == {int} and 0 <= min(every) <= max(every) < len(every):
        given = np.array(every)
        first = np.repeat(nodes[:-1], sizes)
        if (given < np.repeat(sizes, sizes)).all():
            number = np.empty(len(every), np.int64)
            number[first + given] = np.arange(len(every)) - first
            named = np.fromiter(chain.from_iterable(neighbors), np.int64, degrees.sum())
            return number[np.repeat(first, degrees) + named]
    numbers = [{node: position for position, node in enumerate(own)} for own in names]
    owner = np.repeat(np.arange(len(names)), sizes).tolist()
    found = (map(numbers[g].__getitem__, of_one) for g, of_one in zip(owner, neighbors, strict=True))
    return np.fromiter(chain.from_iterable(found), np.int64, degrees.sum())


def _refuse_directed(i: int, graph: Any, remedy: str) -> None:
    if graph.is_directed():
        raise ValueError(f"graph {i} is directed, graph kernels take undirected graphs: use {remedy} if you mean that")


def _if_any(labels: Any) -> Any:
    return None if all(label is None for label in labels) else labels


def _from_tuple(
    i: int, edges: Any, labels: Any = None, edge_labels: Any = None, attributes: Any = None, edge_attributes: Any = None
) -> ParsedGraph:
    is_matrix = is_sparse(edges)
    if is_matrix and (edge_labels is not None or isinstance(labels, Mapping)):
        raise ValueError(f"graph {i} is an adjacency matrix: it takes a sequence of node labels and no edge labels")
    if is_matrix and edge_attributes is not None:
        raise ValueError(f"graph {i} is an adjacency matrix: it takes no edge attributes, which edge lists take")
    for of, given, refused, other in (
        ("node", attributes, (str, bytes), ", or a dict of vectors"),
        ("edge", edge_attributes, (str, bytes, Mapping), ""),
    ):
        if given is not None and (isinstance(given, refused) or not hasattr(given, "__getitem__")):
            what = f"the {of} attributes of graph {i} are {brief(given)}"
            raise TypeError(f"{what}: give a matrix with a row for each {of}{other}")
    if attributes is not None and labels is None and not is_matrix:  # then attributes tell which nodes there are
        labels = dict.fromkeys(attributes) if isinstance(attributes, Mapping) else len(attributes)
    names: Any = None
    if isinstance(labels, Mapping):
        names = list(labels)
        labels = list(labels.values())
        number = {node: position for position, node in enumerate(names)}
        try:
            edges = [(number[u], number[v]) for u, v in edges]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"graph {i}: each edge is a pair of nodes that have a label, got {error}") from None
    if is_matrix:
        ends = _ends_of_matrix(i, edges)
        size = edges.shape[0]
    else:
        ends = _as_ends(i, edges)
        size = 0  # that of the labels, if there are any
        if labels is None:
            size = int(ends.max(initial=-1)) + 1
    if labels is not None:
        if isinstance(labels, (int, np.integer)):
            given = int(labels)
            labels = None
        elif isinstance(labels, (str, bytes)) or not hasattr(labels, "__getitem__"):
            raise TypeError(f"the node labels of graph {i} are {brief(labels)}: give a sequence or a dict of labels")
        else:
            given = len(labels)
        if given < 0:
            raise ValueError(f"graph {i} cannot have {given} nodes")
        if isinstance(labels, (list, tuple)):
            labels = _if_any(labels)
        if is_matrix and given != size:
            raise ValueError(f"graph {i} has {size} nodes by its adjacency matrix and {given} by its node labels")
        size = given
    if isinstance(attributes, Mapping):
        nodes = names or range(size)
        unknown = attributes.keys() - set(nodes)
        if unknown:
            raise ValueError(f"graph {i} has no node {min(unknown, key=repr)!r}, but attributes of it")
        attributes = [attributes.get(node) for node in nodes]
    for of, n, what, given in (
        ("edges", len(ends), "edge labels", edge_labels),
        ("nodes", size, "rows of node attributes", attributes),
        ("edges", len(ends), "rows of edge attributes", edge_attributes),
    ):
        if given is not None and len(given) != n:
            raise ValueError(f"graph {i} has {n} {of} and {len(given)} {what}")
    return ParsedGraph(size, ends, labels, edge_labels, names, attributes, edge_attributes)


def _ends_of_matrix(i: int, matrix: Any) -> np.ndarray:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"graph {i} is a matrix of shape {matrix.shape}: an adjacency matrix is square")
    entries = matrix.tocoo()
    u, v = (ends[entries.data != 0].astype(np.int64) for ends in (entries.row, entries.col))
    n = matrix.shape[0]
    one_way = np.setdiff1d(u * n + v, v * n + u)
    if len(one_way):
        a, b = divmod(int(one_way[0]), n)
        raise ValueError(
            f"graph {i} has an edge from node {a} to node {b} but none back: graph kernels take undirected graphs, "
            f"so give A + A.T if you mean that"
        )
    return np.column_stack([u, v])[u <= v]


def _as_ends(i: int, edges: Any) -> np.ndarray:
    try:
        ends = edges if isinstance(edges, np.ndarray) else np.array(list(edges))
    except (TypeError, ValueError):
        ends = np.zeros(1)
    if ends.size == 0:
        return np.zeros((0, 2), np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise TypeError(
            f"the edges of graph {i} are {brief(edges)}: give pairs of nodes that are numbered from 0, or a dict of "
            f"node labels whose keys are the nodes"
        )
    if ends.dtype.kind == "u" and ends.max() >= 2**63:
        raise ValueError(f"graph {i} has an edge to node {ends.max()}: a graph cannot have that size")
    return ends.astype(np.int64, copy=False)


def attribute_matrix(parts: list[ParsedGraph], of: str) -> np.ndarray:
    """Return a row of float64 for each node, or for each edge as it is given, of all graphs."""
    found = {g: _matrix(g, one, of) for g, one in enumerate(parts) if one.elements(of)[0]}
    first = next(iter(found), 0)
    for g, values in found.items():
        if values.shape[1] != found[first].shape[1]:
            many = f"{values.shape[1]} attributes, of graph {first} {found[first].shape[1]}"
            raise ValueError(f"each {of} of graph {g} has {many}: all need as many")
        wrong = first_nonfinite(values)
        if wrong is not None:
            place, column = wrong
            which = f"attribute {column} of {parts[g].called(of, place)} of graph {g}"
            raise ValueError(f"{which} is {values[place, column]}: attributes must be finite numbers")
    return np.concatenate([*found.values()] or [np.zeros((0, 1))])


def _matrix(g: int, one: ParsedGraph, of: str) -> np.ndarray:
    *_, given = one.elements(of)
    if given is None:
        which = {"node": "fourth", "edge": "fifth"}[of]
        raise ValueError(
            f"graph {g} has no {of} attributes: give each {of} a vector, named {ATTRIBUTES!r} in networkx and igraph, "
            f"or a matrix as the {which} entry of a tuple (edges, node_labels, edge_labels, node_attributes, "
            f"edge_attributes)"
        )
    values = _numbers(given)
    if 1 <= values.ndim <= 2 and values.size:
        return values.reshape(len(values), -1)
    width = 0
    for place, vector in enumerate(given):  # the first that is missing, no vector, or has more or fewer attributes
        who = f"{one.called(of, place)} of graph {g}"
        if vector is None:
            raise ValueError(f"{who} has no attributes, other {of}s have some")
        values = _numbers(vector)
        if values.ndim > 1 or values.size == 0:
            raise TypeError(f"the attributes of {who} are {brief(vector)}: give a vector of numbers")
        width = width or values.size
        if values.size != width:
            raise ValueError(f"{who} has {values.size} attributes, {one.called(of, 0)} has {width}: all need as many")
    raise TypeError(f"the {of} attributes of graph {g} are {brief(given)}: give a vector for each {of}")


def _numbers(given: Any) -> np.ndarray:
    """Return an array of float64, empty if there are no numbers throughout."""
    try:
        values = np.asarray(given)
        if values.dtype.kind in "iufbO" and not (values.dtype == object and any(one is None for one in values.flat)):
            return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    return np.zeros(0)
