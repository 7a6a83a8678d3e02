"""Parts of an object, and the object without each of them: letters, cells, items, nodes and edges, segments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects, is_sparse, is_table
from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.support import brief


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an object."""

    kind: str  # strings, vectors, table, sets, graphs or series
    object: Any  # in canonical form: a string, an array, a dict, a set, a parsed graph, an array with a row per time
    places: list[Any]  # a position, a name, an item, a node or a pair of nodes, a start and an end
    names: list[str]  # each part in words


def parts_of(kind: str, x: Any, names: Sequence[str] | None = None) -> Parts:
    """Return the parts of an object of a kind; `names` are those of the columns of vectors."""
    if kind == "strings":
        return Parts(kind, x, list(range(len(x))), list(x) if isinstance(x, str) else [chr(letter) for letter in x])
    if kind == "vectors":
        if is_sparse(x):
            row = x.tocsr().copy()
            row.eliminate_zeros()
            columns = row.indices.tolist()
        else:
            row = np.asarray(x, dtype=float).ravel()
            columns = list(range(len(row)))
        known = [f"column {q}" for q in columns] if names is None else [str(names[q]) for q in columns]
        return Parts(kind, row, columns, known)
    if kind == "table":
        row = as_row(x)
        return Parts(kind, row, list(row), [f"{name} = {_shown(value)}" for name, value in row.items()])
    if kind == "sets":
        items = _items(x)
        return Parts(kind, items, items, [brief(item) for item in items])
    if kind == "graphs":
        graph = parse_graph(0, x)
        nodes = [f"node {graph.name(v)}{_label(graph.labels, v)}" for v in range(graph.nodes)]
        ends = [(int(u), int(v)) for u, v in graph.ends]
        edges = [f"edge {graph.name(u)}-{graph.name(v)}{_label(graph.edge_labels, i)}" for i, (u, v) in enumerate(ends)]
        return Parts(kind, graph, [*range(graph.nodes), *ends], nodes + edges)
    if kind == "series":
        values = np.asarray(x, dtype=float)
        values = values.reshape(len(values), -1)
        edges = np.unique(np.linspace(0, len(values), min(12, len(values)) + 1).astype(int)).tolist()
        cuts = list(itertools.pairwise(edges))
        return Parts(kind, values, cuts, [f"times {a} to {b - 1}" for a, b in cuts])
    raise TypeError(f"attribution takes strings, vectors, rows of a table, sets, graphs and series, got {brief(x)}")


def kind_of_object(x: Any) -> str:
    """Guess the kind of an object."""
    if isinstance(x, (str, bytes)):
        return "strings"
    if isinstance(x, Mapping) or is_table(x):
        return "table"
    if isinstance(x, Set):
        return "sets"
    if isinstance(x, tuple) or hasattr(x, "adj") or hasattr(x, "vs"):
        return "graphs"
    return "vectors"


def as_row(x: Any) -> dict[Any, Any]:
    """Return a row of a table as a dict."""
    if is_table(x):
        (x,) = as_objects(x)
    if isinstance(x, Mapping):
        return dict(x)
    return dict(x.items()) if hasattr(x, "items") else dict(vars(x))


def occluded(parts: Parts, usual: Any) -> list[Any]:
    """Return the object without each of its parts; `usual` is the usual value of each cell of a vector or row.

    A letter becomes one that occurs in no text, an item, node or edge is removed (a node with its edges), a segment of
    a series becomes the line between its ends, and a cell of a sparse vector zero.
    """
    x, places = parts.object, parts.places
    if parts.kind == "strings":
        blank: Any = "\x00" if isinstance(x, str) else b"\x00"
        return [x[:i] + blank + x[i + 1 :] for i in places]
    if parts.kind == "vectors" and is_sparse(x):
        return [x.multiply(np.arange(x.shape[1]) != q).tocsr() for q in places]
    if parts.kind == "vectors":
        return [np.where(np.arange(len(x)) == q, usual, x) for q in places]
    if parts.kind == "table":
        return [{**x, name: usual[name]} for name in places]
    if parts.kind == "sets":
        return [frozenset(x) - {item} for item in places]
    if parts.kind == "graphs":
        every = range(x.nodes)
        without_nodes = [
            _subgraph(x, [v for v in every if v != node], [i for i, ends in enumerate(x.ends) if node not in ends])
            for node in every
        ]
        edges = range(len(x.ends))
        return without_nodes + [_subgraph(x, list(every), [i for i in edges if i != edge]) for edge in edges]
    return [_straightened(x, a, b) for a, b in places]


def usual_values(kind: str, landmarks: Any) -> Any:
    """Return the usual value of each cell: the mean of vectors, the median or most frequent value of a table."""
    if kind == "vectors":
        vectors = landmarks if is_sparse(landmarks) else np.asarray(landmarks, float)
        return np.asarray(vectors.mean(axis=0)).ravel()
    if kind != "table":
        return None
    rows = [as_row(row) for row in as_objects(landmarks)]
    return {name: _usual([row[name] for row in rows]) for name in rows[0]}


def _usual(values: list[Any]) -> Any:
    known = [value for value in values if value is not None and value == value]
    if not known:
        return None
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in known):
        return sorted(known)[len(known) // 2]
    return max(known, key=lambda value: sum(value == other for other in known))


def _shown(value: Any) -> str:
    if isinstance(value, np.generic):
        return str(value.item())
    return value if isinstance(value, str) else brief(value)


def _items(x: Any) -> list[Any]:
    """Return the items of a set in a stable order."""
    if hasattr(x, "shape"):
        return [int(q) for q in np.flatnonzero(np.asarray(x.todense() if is_sparse(x) else x).ravel())]
    return sorted(set(x), key=lambda item: (type(item).__name__, str(item)))


def _label(labels: Any, i: int) -> str:
    return "" if labels is None else f" ({labels[i]})"


def _subgraph(graph: ParsedGraph, nodes: list[int], edges: list[int]) -> Any:
    """Return a graph of some of the nodes and edges as a tuple."""
    place = {node: i for i, node in enumerate(nodes)}
    ends = [(place[int(u)], place[int(v)]) for u, v in graph.ends[edges]]
    labels = len(nodes) if graph.labels is None else [graph.labels[v] for v in nodes]
    marks = None if graph.edge_labels is None else [graph.edge_labels[i] for i in edges]
    if graph.attributes is not None:
        return ends, labels, marks, [graph.attributes[v] for v in nodes]
    return (ends, labels) if marks is None else (ends, labels, marks)


def _straightened(x: np.ndarray, start: int, stop: int) -> np.ndarray:
    before, after = x[max(start - 1, 0)], x[min(stop, len(x) - 1)]
    found = x.copy()
    found[start:stop] = before + (after - before) * (np.arange(1, stop - start + 1) / (stop - start + 1))[:, None]
    return found[:, 0] if x.shape[1] == 1 else found
