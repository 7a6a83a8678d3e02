"""Graph data sets of TU Dortmund: a folder or zip of text files whose names begin with the name of the data set."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from similitude.data.files.file_errors import listed
from similitude.data.files.schema import Data, Schema
from similitude.support import FileError, brief

IGNORED = ("graph_attributes",)


def read_tu(path: Path) -> Data:
    """Read graphs with the labels of graphs, nodes and edges and the attributes of nodes and edges, if there are any.

    Attributes of graphs are ignored.
    """
    parts, name = _parts(path)
    indicator = _integers(parts, "graph_indicator", 1)[:, 0]
    if not len(indicator):
        raise FileError(f"{parts['graph_indicator'].name} is empty: it has a line for each node, with its graph")
    edges = _integers(parts, "A", 2) - 1
    node_labels = _integers(parts, "node_labels", None) if "node_labels" in parts else None
    edge_labels = _integers(parts, "edge_labels", None) if "edge_labels" in parts else None
    _check_count("node_labels", node_labels, len(indicator), "nodes")
    attributes = _numbers(parts, "node_attributes") if "node_attributes" in parts else None
    edge_attributes = _numbers(parts, "edge_attributes") if "edge_attributes" in parts else None
    _check_count("edge_labels", edge_labels, len(edges), "edges")
    _check_count("node_attributes", attributes, len(indicator), "nodes")
    _check_count("edge_attributes", edge_attributes, len(edges), "edges")
    labels = _integers(parts, "graph_labels", 1)[:, 0] if "graph_labels" in parts else None
    count = int(indicator.max()) if labels is None else len(labels)
    if labels is None and count > len(indicator):
        raise FileError(f"there are {len(indicator)} nodes, and one belongs to graph {count}: number graphs from 1 on")
    found = _hashable(node_labels), _hashable(edge_labels), attributes, edge_attributes
    graphs = _graphs(indicator - 1, edges, *found, count)
    vectors = "" if attributes is None else f", {attributes.shape[1]} attributes of each node"
    vectors += "" if edge_attributes is None else f", {edge_attributes.shape[1]} attributes of each edge"
    notes = [f"{name}: undirected graphs, {_labeled(node_labels, edge_labels)}{vectors}"]
    left_out = [part for part in IGNORED if part in parts]
    if left_out:
        notes.append(f"ignored: {listed(left_out)}")
    return Data(graphs, labels, Schema("graphs", None if labels is None else "label"), tuple(notes))


def _labeled(node_labels: Any, edge_labels: Any) -> str:
    there = [what for what, labels in (("nodes", node_labels), ("edges", edge_labels)) if labels is not None]
    return f"{' and '.join(there)} labeled" if there else "without labels of nodes and edges"


def _parts(path: Path) -> tuple[dict[str, Any], str]:
    """Return the files by what follows the name of the data set in their names, and that name."""
    if path.is_file() and not zipfile.is_zipfile(path):
        raise FileError("this is not a zip file")
    folder: Any = zipfile.Path(path) if path.is_file() else path
    found = [one for one in folder.iterdir() if one.name.endswith("_A.txt")]
    inner = [one for one in folder.iterdir() if one.is_dir()]
    if not found and path.is_file() and len(inner) == 1:
        folder = inner[0]
        found = [one for one in folder.iterdir() if one.name.endswith("_A.txt")]
    if len(found) != 1:
        raise FileError(
            "not a folder of TU graphs, which holds DS_A.txt and DS_graph_indicator.txt; name a file, or such a folder"
        )
    name = found[0].name.removesuffix("_A.txt")
    parts = {
        one.name.removeprefix(f"{name}_").removesuffix(".txt"): one
        for one in folder.iterdir()
        if one.name.startswith(f"{name}_") and one.name.endswith(".txt")
    }
    if strange := [one.name for one in parts.values() if not one.is_file()]:
        raise FileError(f"{strange[0]} is no file, but a folder, a pipe, a device or a link to nothing")
    if "graph_indicator" not in parts:
        raise FileError(f"there is no {name}_graph_indicator.txt, which says the graph of each node")
    return parts, name


def _integers(parts: dict[str, Any], part: str, width: int | None) -> np.ndarray:
    """Return the integers of a file, one row per line; raise and name the first wrong line."""
    rows = parts[part].read_bytes().decode("ascii", "replace").splitlines()
    while rows and not rows[-1].strip():
        rows.pop()
    width = width or (rows[0].count(",") + 1 if rows else 1)
    try:
        values = np.array(",".join(rows).split(",") if rows else [], dtype=np.int64)
        if len(values) != width * len(rows) or any(row.count(",") != width - 1 for row in rows):
            raise ValueError
    except (ValueError, OverflowError):
        for line, row in enumerate(rows, 1):
            if row.count(",") != width - 1 or not all(_is_integer(cell) for cell in row.split(",")):
                wanted = "an integer" if width == 1 else f"{width} integers, separated by commas"
                raise FileError(f"line {line} of {parts[part].name} is {brief(row)}, not {wanted}") from None
        raise FileError(f"{parts[part].name} does not hold integers alone") from None
    return values.reshape(-1, width)


def _numbers(parts: dict[str, Any], part: str) -> np.ndarray:
    """Return the numbers of a file, one row per line; raise and name the first wrong line."""
    rows = parts[part].read_bytes().decode("ascii", "replace").splitlines()
    while rows and not rows[-1].strip():
        rows.pop()
    width = rows[0].count(",") + 1 if rows else 1
    try:
        values = np.array([row.split(",") for row in rows], dtype=np.float64).reshape(-1, width)
    except ValueError:
        values = np.array([_row_of_numbers(row, width) for row in rows])
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(wrong):
        wanted = "a finite number" if width == 1 else f"{width} finite numbers, separated by commas"
        raise FileError(f"line {wrong[0] + 1} of {parts[part].name} is {brief(rows[wrong[0]])}, not {wanted}")
    return values


def _row_of_numbers(row: str, width: int) -> list[float]:
    """Return the numbers of a line; NaN if they are not as many, or are no numbers."""
    try:
        values = [float(cell) for cell in row.split(",")]
    except ValueError:
        values = []
    return values if len(values) == width else [np.nan] * width


def _is_integer(cell: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{1,18}", cell.strip()) is not None


def _check_count(part: str, values: np.ndarray | None, count: int, what: str) -> None:
    if values is not None and len(values) != count:
        raise FileError(f"there are {count} {what} and {len(values)} lines of {part}")


def _hashable(labels: np.ndarray | None) -> list[Any] | None:
    """Return one label per line: an integer, or a tuple if a line has several."""
    if labels is None:
        return None
    return labels[:, 0].tolist() if labels.shape[1] == 1 else list(map(tuple, labels.tolist()))


def _graphs(
    owner: np.ndarray,
    edges: np.ndarray,
    node_labels: list[Any] | None,
    edge_labels: list[Any] | None,
    attributes: np.ndarray | None,
    edge_attributes: np.ndarray | None,
    count: int,
) -> list[tuple[Any, ...]]:
    """Return the graphs: edges between nodes that are numbered from 0 in each, labels, and attributes."""
    _check(owner, edges, count)
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(len(owner), np.int64)
    place[order] = np.arange(len(owner)) - starts[owner[order]]
    kept = _each_edge_once(owner, edges, edge_labels, "labels")
    if edge_attributes is not None:
        _each_edge_once(owner, edges, edge_attributes.tolist(), "vectors of attributes")
    kept = kept[np.argsort(owner[edges[kept, 0]], kind="stable")]
    ends = np.searchsorted(owner[edges[kept, 0]], np.arange(count + 1))
    graphs = []
    for i in range(count):
        chosen = kept[ends[i] : ends[i + 1]]
        nodes = order[starts[i] : starts[i + 1]]
        labels = int(sizes[i]) if node_labels is None else [node_labels[node] for node in nodes]
        marks = None if edge_labels is None else [edge_labels[edge] for edge in chosen]
        graph: list[Any] = [place[edges[chosen]], labels, marks]
        graph.append(None if attributes is None else attributes[nodes])
        graph.append(None if edge_attributes is None else edge_attributes[chosen])
        while graph[-1] is None:
            graph.pop()
        graphs.append(tuple(graph))
    return graphs


def _check(owner: np.ndarray, edges: np.ndarray, count: int) -> None:
    """Raise if a node belongs to a graph that does not exist, or if an edge leaves its graph."""
    if len(owner) == 0 or count == 0:
        raise FileError("there are no graphs")
    wrong = np.flatnonzero((owner < 0) | (owner >= count))
    if len(wrong):
        raise FileError(
            f"node {wrong[0] + 1} belongs to graph {owner[wrong[0]] + 1}, but there are graphs 1 to {count}"
        )
    is_there = (edges >= 0) & (edges < len(owner))
    wrong = np.flatnonzero(~is_there.all(axis=1))
    if len(wrong):
        u, v = (edges[wrong[0]] + 1).tolist()
        of = [f" of graph {owner[end] + 1}" for end in edges[wrong[0]][is_there[wrong[0]]]]
        raise FileError(
            f"line {wrong[0] + 1} of the edges joins nodes {u} and {v}{of[0] if of else ''}, but there are only "
            f"nodes 1 to {len(owner)}"
        )
    wrong = np.flatnonzero(owner[edges[:, 0]] != owner[edges[:, 1]])
    if len(wrong):
        u, v = edges[wrong[0]]
        raise FileError(
            f"line {wrong[0] + 1} of the edges joins node {u + 1} of graph {owner[u] + 1} and node {v + 1} of graph "
            f"{owner[v] + 1}: an edge stays in its graph"
        )


def _each_edge_once(owner: np.ndarray, edges: np.ndarray, given: list[Any] | None, what: str) -> np.ndarray:
    """Return the position of each undirected edge: most files list both directions, with the same values."""
    low, high = edges.min(axis=1, initial=len(owner)), edges.max(axis=1, initial=0)
    _, first, which = np.unique(low * len(owner) + high, return_index=True, return_inverse=True)
    if given is not None:
        for place, one in enumerate(first[which].tolist()):
            if given[place] != given[one]:
                u, v = (edges[place] + 1).tolist()
                raise FileError(
                    f"graph {owner[u - 1] + 1} has two {what} for the edge of nodes {u} and {v}: "
                    f"{given[one]} and {given[place]}"
                )
    return np.sort(first)
