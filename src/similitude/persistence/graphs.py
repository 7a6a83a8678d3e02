"""Graphs of networkx and igraph: nodes, edges, and the attributes of both and of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.persistence.plain import read_items, write_items
from similitude.persistence.problems import library
from similitude.support.errors import SavedModelError

NETWORKX = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")


def _write_networkx(w: Any, value: Any, path: str) -> dict[str, Any]:
    nodes = list(value.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    several = value.is_multigraph()
    edges = list(value.edges(keys=True, data=True) if several else value.edges(data=True))
    ends = np.array([(place[edge[0]], place[edge[1]]) for edge in edges], np.int64).reshape(-1, 2)
    return {
        "is": "networkx",
        "type": type(value).__name__,
        "graph": w.value(value.graph, f"{path}.graph"),
        "nodes": write_items(w, nodes, f"{path}.nodes"),
        "node_attributes": _attributes(w, [value.nodes[node] for node in nodes], f"{path}.nodes"),
        "ends": w.pools.add(ends, path),
        "keys": w.values([edge[2] for edge in edges], f"{path}.edges") if several else None,
        "edge_attributes": _attributes(w, [edge[-1] for edge in edges], f"{path}.edges"),
    }


def _attributes(w: Any, dicts: list[Any], path: str) -> Any:
    """Return the attributes of all nodes or edges; None where there are none."""
    return w.values(dicts, path) if any(dicts) else None


def _read_networkx(r: Any, node: Any) -> Any:
    networkx = library("networkx")
    if node["type"] not in NETWORKX:
        raise SavedModelError(f"there is no graph called {str(node['type'])[:40]!r}")
    graph = getattr(networkx, node["type"])()
    graph.graph.update(r.value(node["graph"]))
    nodes = read_items(r, node["nodes"])
    r.check_light()
    ends = r.array(node["ends"])
    if ends.dtype != np.int64 or ends.ndim != 2 or ends.shape[1] != 2 or (ends < 0).any() or (ends >= len(nodes)).any():
        raise SavedModelError("a graph has an edge between nodes that it does not have")
    graph.add_nodes_from(nodes)
    for name, attributes in zip(nodes, _read_attributes(r, node["node_attributes"], len(nodes)), strict=True):
        graph.nodes[name].update(attributes)
    keys = r.values(node["keys"]) if node["keys"] is not None else [None] * len(ends)
    details = _read_attributes(r, node["edge_attributes"], len(ends))
    for (i, j), key, attributes in zip(ends.tolist(), keys, details, strict=True):
        edge = (nodes[i], nodes[j]) if node["keys"] is None else (nodes[i], nodes[j], key)
        graph.add_edge(*edge)
        graph.edges[edge].update(attributes)
    return graph


def _read_attributes(r: Any, written: Any, count: int) -> list[Any]:
    return [{}] * count if written is None else r.values(written)


def _write_igraph(w: Any, value: Any, path: str) -> dict[str, Any]:
    return {
        "is": "igraph",
        "directed": value.is_directed(),
        "count": value.vcount(),
        "ends": w.pools.add(np.array(value.get_edgelist(), np.int64).reshape(-1, 2), path),
        "graph": w.value({name: value[name] for name in value.attributes()}, path),
        "nodes": w.value({name: value.vs[name] for name in value.vs.attributes()}, f"{path}.vs"),
        "edges": w.value({name: value.es[name] for name in value.es.attributes()}, f"{path}.es"),
    }


def _read_igraph(r: Any, node: Any) -> Any:
    igraph = library("igraph")
    ends = r.array(node["ends"])
    r.spend(8 * int(node["count"]))
    graph = igraph.Graph(n=node["count"], edges=ends.tolist(), directed=node["directed"])
    for name, value in r.value(node["graph"]).items():
        graph[name] = value
    for items, attributes in ((graph.vs, node["nodes"]), (graph.es, node["edges"])):
        for name, values in r.value(attributes).items():
            items[name] = values
    return graph


WRITERS = {
    **{("networkx", name): _write_networkx for name in NETWORKX},
    ("igraph", "Graph"): _write_igraph,
}

READERS = {"networkx": _read_networkx, "igraph": _read_igraph}
