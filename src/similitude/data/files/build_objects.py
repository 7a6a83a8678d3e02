"""Objects from columns: vectors, strings, graphs, series, sets, and rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from similitude.data.files.column_types import COLUMN_TYPES, Column, as_floats
from similitude.data.files.file_errors import import_optional, listed, wrong_cell
from similitude.support import FileError, brief

FITTING_TYPES = {
    "vectors": ("integer", "number", "boolean", "numbers"),
    "series": ("numbers", "channels", "integer", "number"),
    "strings": ("text",),
    "sets": ("items", "numbers"),
    "graphs": ("graph",),
}
"""The types of columns from which objects of each kind can be built; a table takes all."""

SCALAR_TYPES = ("integer", "number", "boolean")
"""Types of columns of which several make up one object."""

GRAPH_PARTS = ("edges", "labels", "node_labels", "edge_labels", "nodes")
"""The keys of a graph in JSON."""


def check_columns(kind: str, columns: Mapping[str, Column]) -> None:
    """Raise if objects of this kind cannot be built from the columns."""
    if kind == "table":
        return
    if len(columns) > 1 and not any(one in FITTING_TYPES[kind] for one in SCALAR_TYPES):
        raise FileError(f"{kind} come from one column: choose it with object=, one of {listed(columns)}")
    for name, column in columns.items():
        if column.type not in FITTING_TYPES[kind]:
            row = int(np.argmax(~column.missing)) if column.type != "missing" else 0
            found = f"{COLUMN_TYPES[column.type]}, for instance {brief(column.cell(row))}"
            raise FileError(f"column {name!r} holds {found}: kind={kind!r} does not fit")
    if len(columns) > 1 and not all(column.type in SCALAR_TYPES for column in columns.values()):
        raise FileError(f"{kind} come from one column or from columns of numbers: choose it with object=")


def build_objects(kind: str, columns: Mapping[str, Column], first: int = 0) -> Any:
    """Return the objects that the columns hold; `first` is the number of the first row."""
    if kind == "table":
        return import_optional("pandas", "a table").DataFrame({name: _series(one) for name, one in columns.items()})
    name, column = next(iter(columns.items()))
    if column.type in SCALAR_TYPES:
        matrix = np.column_stack([as_floats(name, one, first) for name, one in columns.items()])
        return matrix if kind == "vectors" else list(matrix)
    if column.missing.any():
        raise FileError(f"column {name!r} has no value in row {first + int(np.argmax(column.missing))}")
    if kind == "strings":
        return column.cells.to_pylist()
    if kind == "sets":
        return [_set(name, row, cell) for row, cell in enumerate(column.to_list(), first)]
    if kind == "graphs":
        return [graph_of(i, graph) for i, graph in enumerate(column.to_list(), first)]
    arrays = _arrays(name, column, first)
    return _stacked(name, arrays, first) if kind == "vectors" else arrays


def _set(name: str, row: int, items: Any) -> frozenset[Any]:
    try:
        return frozenset(items)
    except TypeError:
        raise wrong_cell(name, row, items, "the items of a set are texts or numbers, not lists or objects") from None


def _series(column: Column) -> Any:
    """Return a column for pandas."""
    if isinstance(column.cells, list) or column.type in ("numbers", "channels", "items", "graph"):
        return import_optional("pandas", "a table").Series(column.to_list(), dtype=object)
    return column.cells.to_pandas()


def _arrays(name: str, column: Column, first: int) -> list[np.ndarray]:
    """Return lists of numbers, or of lists of numbers, as float arrays."""
    gap = "a value is missing: fill the gap"
    if column.type == "numbers":
        flat = column.cells.flatten()
        if flat.null_count:
            row, cell = next((i, cell) for i, cell in enumerate(column.cells.to_pylist()) if None in cell)
            raise wrong_cell(name, first + row, cell, gap)
        ends = np.cumsum(np.asarray(column.cells.value_lengths()))
        return np.split(np.asarray(flat.cast("double"), dtype=float), ends[:-1])
    found = []
    for row, cell in enumerate(column.cells.to_pylist(), first):
        try:
            found.append(np.array(cell, dtype=float))
        except (TypeError, ValueError):
            raise wrong_cell(name, row, cell, "every time needs the same channels, and a number in each") from None
        if np.isnan(found[-1]).any():
            raise wrong_cell(name, row, cell, gap)
    return found


def _stacked(name: str, arrays: list[np.ndarray], first: int) -> np.ndarray:
    """Return lists of equal length as the rows of a matrix."""
    width = len(arrays[0])
    odd = next((row for row, one in enumerate(arrays) if one.shape != (width,)), None)
    if odd is not None:
        raise FileError(
            f"column {name!r} has {len(arrays[odd])} numbers in row {first + odd} and {width} in row {first}: vectors "
            f"have equal lengths; read them as series (kind='series')"
        )
    return np.array(arrays)


def graph_of(i: int, parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return graph number i as (edges, node labels or number of nodes[, edge labels]).

    >>> graph_of(0, {"edges": [[0, 1], [1, 2]], "node_labels": ["C", "C", "O"]})
    (array([[0, 1],
           [1, 2]]), ['C', 'C', 'O'])
    """
    try:
        edges = np.array(parts["edges"] or np.zeros((0, 2)), dtype=np.int64).reshape(-1, 2)
        exact = all(float(end).is_integer() for edge in parts["edges"] or () for end in edge)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise FileError(f"graph {i}: edges must be pairs of nodes numbered from 0, got {brief(parts['edges'])}")
    labels = parts.get("node_labels") or parts.get("labels")
    n_nodes = _node_count(i, edges, labels, parts.get("nodes"))
    wrong = np.flatnonzero(((edges < 0) | (edges >= n_nodes)).any(axis=1))
    if len(wrong):
        u, v = edges[wrong[0]].tolist()
        raise FileError(
            f"graph {i} has an edge from {u} to {v}, but its {n_nodes} nodes are numbered 0 to {n_nodes - 1}"
        )
    edge_labels = parts.get("edge_labels")
    if edge_labels is not None and len(edge_labels) != len(edges):
        raise FileError(f"graph {i} has {len(edges)} edges and {len(edge_labels)} edge labels")
    graph = (edges, labels or n_nodes)
    return graph if edge_labels is None else (*graph, edge_labels)


def _node_count(i: int, edges: np.ndarray, labels: Any, nodes: Any) -> int:
    """Return the number of nodes: that of the labels, the one given, or the largest in an edge."""
    if labels:
        if not isinstance(labels, list):
            raise FileError(f"graph {i}: the labels of its nodes must be a list, got {brief(labels)}")
        return len(labels)
    if nodes is None:
        return int(edges.max(initial=-1)) + 1
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
        raise FileError(f"graph {i}: 'nodes' must be the number of its nodes, got {brief(nodes)}")
    return nodes
