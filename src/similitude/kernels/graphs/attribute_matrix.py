"""The attributes of all nodes or edges of some graphs as one matrix; an error names the graph and the node or edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import first_nonfinite
from similitude.kernels.graphs.parsing import ATTRIBUTES, ParsedGraph
from similitude.support import brief

NUMBERS = "iufbO"
"""The kinds of arrays that may hold real numbers."""


def attribute_matrix(parts: list[ParsedGraph], of: str = "node") -> np.ndarray:
    """Return a row of float64 for each node, or for each edge as it is given, of all graphs.

    >>> attribute_matrix([ParsedGraph(2, np.zeros((0, 2)), attributes=[[1, 2], [3, 4]])])
    array([[1., 2.],
           [3., 4.]])
    """
    found = {g: _matrix(g, one, of) for g, one in enumerate(parts) if (one.nodes if of == "node" else len(one.ends))}
    first = next(iter(found), 0)
    for g, values in found.items():
        if values.shape[1] != found[first].shape[1]:
            a = values.shape[1]
            b = found[first].shape[1]
            raise ValueError(f"each {of} of graph {g} has {a} attributes, of graph {first} {b}: all need as many")
        wrong = first_nonfinite(values)
        if wrong is not None:
            place, column = wrong
            which = f"attribute {column} of {_named(parts[g], of, place)} of graph {g}"
            raise ValueError(f"{which} is {values[place, column]}: attributes must be finite numbers")
    return np.concatenate(list(found.values())) if found else np.zeros((0, 1))


def _matrix(g: int, one: ParsedGraph, of: str) -> np.ndarray:
    """Return a row of numbers for each node or edge of one graph."""
    given = one.attributes if of == "node" else one.edge_attributes
    if given is None:
        entry = "fourth entry of a tuple (edges, node_labels, edge_labels, node_attributes)"
        if of == "edge":
            entry = "fifth entry of a tuple (edges, node_labels, edge_labels, node_attributes, edge_attributes)"
        raise ValueError(
            f"graph {g} has no {of} attributes: give each {of} a vector, named {ATTRIBUTES!r} in networkx and igraph, "
            f"or a matrix as the {entry}"
        )
    values = _numbers(given)
    if values is None or values.ndim not in (1, 2) or values.size == 0:
        raise _wrong_vector(g, one, of, given)
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


def _wrong_vector(g: int, one: ParsedGraph, of: str, given: Any) -> Exception:
    """Return the error of the first node or edge whose attributes are missing, no vector, or more or fewer."""
    width = None
    for place, vector in enumerate(given):
        who = f"{_named(one, of, place)} of graph {g}"
        if vector is None:
            return ValueError(f"{who} has no attributes, other {of}s have some")
        values = _numbers(vector)
        if values is None or values.ndim > 1 or values.size == 0:
            return TypeError(f"the attributes of {who} are {brief(vector)}: give a vector of numbers")
        width = values.size if width is None else width
        if values.size != width:
            first = _named(one, of, 0)
            return ValueError(f"{who} has {values.size} attributes, {first} has {width}: all need as many")
    return TypeError(f"the {of} attributes of graph {g} are {brief(given)}: give a vector for each {of}")


def _named(one: ParsedGraph, of: str, place: int) -> str:
    """Return how to call a node or an edge of a graph."""
    if of == "node":
        return f"node {one.name(place)}"
    return f"the edge between nodes {' and '.join(one.name(node) for node in one.ends[place].tolist())}"
