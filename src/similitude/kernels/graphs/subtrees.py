"""Names of the refined labels of Weisfeiler and Lehman: the subtrees that they represent, as text."""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise
from typing import Any

from similitude.compute import as_objects, loops
from similitude.kernels.graphs.encoding import NO_LABEL, as_graphs
from similitude.kernels.graphs.parsing import parse_graph
from similitude.kernels.ragged import item_keys, listed


def subtree_names(objects: Any, iterations: int, wanted: Set[int] | None = None) -> dict[int, str]:
    """Return the refined labels of graphs by their 64-bit keys; of wanted ones, until all of these are named."""
    names: dict[int, str] = {}
    for graph in as_objects(objects):
        if wanted is not None and wanted <= names.keys():
            break
        for key, name in _names_in(graph, iterations):
            if wanted is None or key in wanted:
                names.setdefault(key, name)
    return {key: name if len(name) <= 60 else f"{name[:40]}…{name[-17:]}" for key, name in names.items()}


def _names_in(graph: Any, iterations: int) -> list[tuple[int, str]]:
    """Return the refined labels of one graph, each with the subtree that it represents."""
    encoded = as_graphs([graph])
    parsed = parse_graph(0, graph)
    labels = [one for some in (parsed.labels, parsed.edge_labels) if some is not None for one in listed(some)]
    texts = dict(zip(item_keys(labels).tolist(), map(str, labels), strict=True))
    written = [texts.get(label, "*") for label in encoded.labels.tolist()]
    starts = encoded.neighbors.starts.tolist()
    neighbors = encoded.neighbors.nodes.tolist()
    of_edges = {NO_LABEL: "", **{label: f"{text}:" if text[-1:].isalnum() else text for label, text in texts.items()}}
    edges = [of_edges[label] for label in encoded.neighbors.labels.tolist()]  # before a node: =O, 2:O
    found = []
    level = written
    for t, keys in enumerate(loops.refined_labels(*encoded.labeled_structure, iterations)):
        if t:
            around = [sorted(edges[e] + level[neighbors[e]] for e in range(a, b)) for a, b in pairwise(starts)]
            level = [f"{own}({','.join(one)})" for own, one in zip(written, around, strict=True)]
        found += list(zip(keys.tolist(), level, strict=True))
    return found
