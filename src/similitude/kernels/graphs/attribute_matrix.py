"""The attributes of all nodes of some graphs as one matrix; an error names the graph and the node."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import first_nonfinite
from similitude.kernels.graphs.parsing import ATTRIBUTES, ParsedGraph
from similitude.support import brief

NUMBERS = "iufbO"
"""The kinds of arrays that may hold real numbers."""


def attribute_matrix(parts: list[ParsedGraph]) -> np.ndarray:
    """Return a row of float64 for each node of all graphs.

    >>> attribute_matrix([ParsedGraph(2, np.zeros((0, 2)), attributes=[[1, 2], [3, 4]])])
    array([[1., 2.],
           [3., 4.]])
    """
    found = {g: _matrix(g, one) for g, one in enumerate(parts) if one.nodes}
    first = next(iter(found), 0)
    for g, values in found.items():
        if values.shape[1] != found[first].shape[1]:
            a, b = values.shape[1], found[first].shape[1]
            raise ValueError(f"each node of graph {g} has {a} attributes, of graph {first} {b}: all need as many")
        wrong = first_nonfinite(values)
        if wrong is not None:
            node, column = wrong
            which = f"attribute {column} of node {parts[g].name(node)} of graph {g}"
            raise ValueError(f"{which} is {values[node, column]}: attributes must be finite numbers")
    return np.concatenate(list(found.values())) if found else np.zeros((0, 1))


def _matrix(g: int, one: ParsedGraph) -> np.ndarray:
    """Return a row of numbers for each node of one graph."""
    if one.attributes is None:
        raise ValueError(
            f"graph {g} has no node attributes: give each node a vector, named {ATTRIBUTES!r} in networkx and igraph, "
            f"or a matrix as the fourth entry of a tuple (edges, node_labels, edge_labels, node_attributes)"
        )
    values = _numbers(one.attributes)
    if values is None or values.ndim not in (1, 2) or values.size == 0:
        raise _wrong_node(g, one)
    return values[:, None] if values.ndim == 1 else values


def _numbers(given: Any) -> np.ndarray | None:
    """Return an array of float64, or None if there are other values than numbers."""
    try:
        values = np.asarray(given)
        if values.dtype.kind not in NUMBERS or (values.dtype == object and any(one is None for one in values.flat)):
            return None
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _wrong_node(g: int, one: ParsedGraph) -> Exception:
    """Return the error of the first node whose attributes are missing, are no vector, or are more or fewer."""
    width = None
    for node, given in enumerate(one.attributes):
        who = f"node {one.name(node)} of graph {g}"
        if given is None:
            return ValueError(f"{who} has no attributes, other nodes have some")
        values = _numbers(given)
        if values is None or values.ndim > 1 or values.size == 0:
            return TypeError(f"the attributes of {who} are {brief(given)}: give a vector of numbers")
        width = values.size if width is None else width
        if values.size != width:
            return ValueError(f"{who} has {values.size} attributes, node {one.name(0)} has {width}: all need as many")
    return TypeError(f"the node attributes of graph {g} are {brief(one.attributes)}: give a vector for each node")
