"""Names of the refined labels of Weisfeiler and Lehman: the subtrees that they represent, as text."""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import as_objects, loops
from similitude.kernels.graphs.encoding import NO_LABEL, EncodedGraphs, as_graphs
from similitude.kernels.graphs.parsing import parse_graph
from similitude.kernels.ragged import item_keys, listed


def subtree_names(objects: Any, iterations: int, wanted: Set[int] | None = None) -> dict[int, str]:
    """Return the refined labels of graphs by their 64-bit keys; only wanted ones, if given.

    Graphs are visited until all wanted labels are named.
    """
    names: dict[int, str] = {}
    for graph in as_objects(objects):
        if wanted is not None and wanted <= names.keys():
            break
        for key, name in _names_in(graph, iterations):
            if wanted is None or key in wanted:
                names.setdefault(key, name)
    return {key: _short(name) for key, name in names.items()}


def _names_in(graph: Any, iterations: int) -> list[tuple[int, str]]:
    """Return the refined labels of one graph, each with the subtree that it represents."""
    encoded = as_graphs([graph])
    texts = _label_texts(graph)
    written = [texts.get(label, "*") for label in encoded.labels.tolist()]
    starts = encoded.starts.tolist()
    neighbors = encoded.neighbors.tolist()
    edges = [_edge(texts[label]) if label != NO_LABEL else "" for label in encoded.edge_labels.tolist()]
    found = []
    level = written
    for t, keys in enumerate(_refined(encoded, iterations)):
        if t:
            around = [sorted(edges[e] + level[neighbors[e]] for e in range(a, b)) for a, b in pairwise(starts)]
            level = [f"{own}({','.join(one)})" for own, one in zip(written, around, strict=True)]
        found += list(zip(keys.tolist(), level, strict=True))
    return found


def _edge(text: str) -> str:
    """Return the label of an edge before the node that it leads to: ``=O``, ``2:O``."""
    return f"{text}:" if text[-1:].isalnum() else text


def _refined(graph: EncodedGraphs, iterations: int) -> list[np.ndarray]:
    return loops.refined_labels(graph.structure, graph.labels, graph.edge_labels, iterations)


def _label_texts(graph: Any) -> dict[int, str]:
    parsed = parse_graph(0, graph)
    labels = [one for some in (parsed.labels, parsed.edge_labels) if some is not None for one in listed(some)]
    return dict(zip(item_keys(labels).tolist(), map(str, labels), strict=True))


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:40]}…{name[-17:]}"
