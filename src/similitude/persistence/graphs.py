"""Graphs of networkx and igraph: nodes, edges, and the attributes of both and of the graph."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from similitude.persistence.equal_hashes import check_hashes
from similitude.persistence.plain_forms import Parts, PlainForm, library
from similitude.support import SavedModelError


def _networkx_parts(graph: Any) -> Parts:
    place = {node: i for i, node in enumerate(graph.nodes)}
    edges = list(graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True))
    attributes = [edge[-1] or None for edge in edges]
    return {
        "graph": graph.graph,
        "nodes": {node: attributes or None for node, attributes in graph.nodes(data=True)},
        "ends": np.array([(place[edge[0]], place[edge[1]]) for edge in edges], np.int64).reshape(-1, 2),
        "keys": [edge[2] for edge in edges] if graph.is_multigraph() else None,
        "edges": attributes if any(attributes) else None,
    }


def _networkx(kind: str, graph: Any, nodes: Any, ends: Any, keys: Any, edges: Any) -> Any:
    made = getattr(library("networkx"), kind)()
    made.graph.update(graph)
    _check_ends(ends, len(nodes))
    check_hashes(keys or ())
    for node, attributes in nodes.items():
        made.add_node(node)
        made.nodes[node].update(attributes or {})
    names = list(nodes)
    for number, (i, j) in enumerate(ends.tolist()):
        edge = (names[i], names[j]) if keys is None else (names[i], names[j], keys[number])
        made.add_edge(*edge)
        made.edges[edge].update((edges and edges[number]) or {})
    return made


def _check_ends(ends: Any, n_nodes: int) -> None:
    fits = ends.dtype == np.int64 and ends.ndim == 2 and ends.shape[1] == 2
    if not fits or (ends < 0).any() or (ends >= n_nodes).any():
        raise SavedModelError("a graph has an edge between nodes that it does not have")


def _igraph_parts(graph: Any) -> Parts:
    return {
        "directed": graph.is_directed(),
        "degrees": np.array(graph.degree(), np.int64),  # so that many nodes take space in the file
        "ends": np.array(graph.get_edgelist(), np.int64).reshape(-1, 2),
        "graph": {name: graph[name] for name in graph.attributes()},
        "nodes": {name: graph.vs[name] for name in graph.vs.attributes()},
        "edges": {name: graph.es[name] for name in graph.es.attributes()},
    }


def _igraph(directed: bool, degrees: Any, ends: Any, graph: Any, nodes: Any, edges: Any) -> Any:
    _check_ends(ends, len(degrees))
    made = library("igraph").Graph(n=len(degrees), edges=ends.tolist(), directed=directed)
    for name, value in graph.items():
        made[name] = value
    for items, attributes in ((made.vs, nodes), (made.es, edges)):
        for name, values in attributes.items():
            items[name] = values
    return made


GRAPH_FORMS = {
    **{
        f"networkx.{kind}": PlainForm(_networkx_parts, functools.partial(_networkx, kind))
        for kind in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
    },
    "igraph.Graph": PlainForm(_igraph_parts, _igraph),
}
