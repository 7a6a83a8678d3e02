"""Graphs: as JSON has them, GraphML files, and data sets of TU Dortmund; undirected, with labels and attributes."""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

import numpy as np

from similitude.data.files.file_errors import listed
from similitude.data.files.schema import Data, Schema
from similitude.support import FileError, brief

REAL_TYPES = ("double", "float")
"""Types of attributes that are numbers; others are labels."""

ATTRIBUTE_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text.strip().lower() in ("true", "1"), "int": int, "long": int, "float": float,
    "double": float, "string": str,
}  # fmt: skip


def graph_of(i: int, parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return graph number i as (edges, node labels or number of nodes, ...): what follows is left out if missing.

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
    attributes = _attributes(i, parts.get("node_attributes"), "node")
    nodes = parts.get("nodes", None if attributes is None else len(attributes))
    n_nodes = _node_count(i, edges, labels, nodes)
    if attributes is not None and len(attributes) != n_nodes:
        raise FileError(f"graph {i} has {n_nodes} nodes and {len(attributes)} rows of node attributes")
    wrong = np.flatnonzero(((edges < 0) | (edges >= n_nodes)).any(axis=1))
    if len(wrong):
        u, v = edges[wrong[0]].tolist()
        raise FileError(
            f"graph {i} has an edge from {u} to {v}, but its {n_nodes} nodes are numbered 0 to {n_nodes - 1}"
        )
    edge_labels = parts.get("edge_labels")
    if edge_labels is not None and len(edge_labels) != len(edges):
        raise FileError(f"graph {i} has {len(edges)} edges and {len(edge_labels)} edge labels")
    edge_attributes = _attributes(i, parts.get("edge_attributes"), "edge")
    if edge_attributes is not None and len(edge_attributes) != len(edges):
        raise FileError(f"graph {i} has {len(edges)} edges and {len(edge_attributes)} rows of edge attributes")
    return _shortened([edges, labels or n_nodes, edge_labels, attributes, edge_attributes])


def _shortened(graph: list[Any]) -> tuple[Any, ...]:
    """Return the parts of a graph without those at its end that are missing."""
    while graph[-1] is None:
        graph.pop()
    return tuple(graph)


def _attributes(i: int, given: Any, of: str) -> np.ndarray | None:
    """Return a matrix with a row for each node or edge of graph number i, or None."""
    if given is None or (of == "edge" and not given):
        return None
    try:
        values = np.array(given)
        if values.dtype.kind not in "iuf" or values.ndim not in (1, 2) or not values.size:
            raise ValueError
    except ValueError:
        wanted = f"must be a list with as many numbers for each {of}"
        raise FileError(f"graph {i}: {of}_attributes {wanted}, got {brief(given)}") from None
    return values.astype(float).reshape(len(values), -1)


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


# GraphML.


@dataclass
class Key:
    """An attribute that a file declares."""

    name: str
    type: str
    default: Any = None


@dataclass
class GraphRecord:
    """A graph as it is in a file."""

    line: int
    nodes: dict[str, int] = field(default_factory=dict)
    ends: list[tuple[str, str, int]] = field(default_factory=list)
    data: list[tuple[str, int, str, Any]] = field(default_factory=list)  # what, which one, attribute, value


class GraphReader:
    """Reads graphs while the parser passes over a file; nothing is expanded, and a document type is refused."""

    def __init__(self) -> None:
        self.keys: dict[str, Key] = {}
        self.graphs: list[GraphRecord] = []
        self.is_directed = False
        self.open: list[str] = []
        self.key: str | None = None  # of the data or default that is being read
        self.text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse

    def read(self, stream: BinaryIO) -> None:
        """Read a file."""
        try:
            self.parser.ParseFile(stream)
        except FileError:
            raise
        except expat.ExpatError as error:
            raise FileError(f"line {error.lineno} is not XML: {expat.errors.messages[error.code]}") from None
        except (UnicodeDecodeError, LookupError, ValueError) as error:
            raise FileError(f"not XML: {brief(str(error))}") from None

    def refuse(self, *declared: Any) -> None:
        """Refuse a document type: its entities can be made to grow without bounds."""
        raise FileError(f"line {self.parser.CurrentLineNumber} declares a document type (DTD): remove it")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Note the beginning of an element."""
        name = tag.rpartition(" ")[2]
        line = self.parser.CurrentLineNumber
        if name == "key":
            self.add_key(line, attributes)
        elif name == "graph":
            if "graph" in self.open:
                raise FileError(f"line {line} has a graph inside a graph, which is not read")
            self.is_directed |= attributes.get("edgedefault") == "directed"
            self.graphs.append(GraphRecord(line))
        elif name == "node":
            self.add_node(line, attributes)
        elif name == "edge":
            self.add_edge(line, attributes)
        elif name == "hyperedge":
            raise FileError(f"line {line} has a hyperedge, which is not read")
        elif name in ("data", "default"):
            self.text = []
            if name == "data":
                self.key = attributes.get("key")
        self.open.append(name)

    def add_key(self, line: int, attributes: dict[str, str]) -> None:
        """Note an attribute that is declared."""
        kind = attributes.get("attr.type", "string")
        if kind not in ATTRIBUTE_TYPES:
            raise FileError(
                f"line {line} declares an attribute of type {brief(kind)}: it is one of {listed(ATTRIBUTE_TYPES)}"
            )
        self.key = attributes.get("id", "")
        self.keys[self.key] = Key(attributes.get("attr.name", self.key), kind)

    def add_node(self, line: int, attributes: dict[str, str]) -> None:
        """Add a node to the last graph."""
        graph = self.last(line, "node")
        name = attributes.get("id", "")
        if name in graph.nodes:
            raise FileError(f"line {line} has node {brief(name)} again")
        graph.nodes[name] = len(graph.nodes)

    def add_edge(self, line: int, attributes: dict[str, str]) -> None:
        """Add an edge to the last graph."""
        self.is_directed |= attributes.get("directed") == "true"
        self.last(line, "edge").ends.append((attributes.get("source", ""), attributes.get("target", ""), line))

    def last(self, line: int, what: str) -> GraphRecord:
        """Return the graph that is being read."""
        if "graph" not in self.open:
            raise FileError(f"line {line} has {'an edge' if what == 'edge' else 'a node'} outside a graph")
        return self.graphs[-1]

    def characters(self, text: str) -> None:
        """Collect the text of data and defaults."""
        if self.open and self.open[-1] in ("data", "default"):
            self.text.append(text)

    def end(self, tag: str) -> None:
        """Take the value of data or of a default."""
        name = self.open.pop()
        if name == "default" and self.key in self.keys:
            self.keys[self.key].default = self.value(self.keys[self.key])
        elif name == "data" and self.open and self.open[-1] in ("graph", "node", "edge") and self.graphs:
            if self.key not in self.keys:
                raise FileError(f"line {self.parser.CurrentLineNumber} has data of {brief(self.key)}, an unknown key")
            graph = self.graphs[-1]
            what = self.open[-1]
            place = {"graph": 0, "node": len(graph.nodes) - 1, "edge": len(graph.ends) - 1}[what]
            graph.data.append((what, place, self.keys[self.key].name, self.value(self.keys[self.key])))

    def value(self, key: Key) -> Any:
        """Return what was read as the type of its key."""
        text = "".join(self.text)
        try:
            return ATTRIBUTE_TYPES[key.type](text)
        except ValueError:
            line = self.parser.CurrentLineNumber
            raise FileError(f"line {line} has {brief(text)} as {key.name!r}, which is not {key.type}") from None


def read_graphml(stream: BinaryIO, label: str | None, label_optional: bool, prefix: str = "") -> Data:
    """Read the graphs of a file; the label is an attribute of graphs, ``label`` if there is one."""
    notes = Counter[str]()
    reader = GraphReader()
    try:
        reader.read(stream)
        graphs = [_graph(i, one, reader.keys, notes) for i, one in enumerate(reader.graphs)]
    except FileError as error:
        raise FileError(f"{prefix}{error}") from None
    if not graphs:
        raise FileError("there are no graphs")
    notes["directed edges are taken as undirected"] += reader.is_directed
    found = [{name: value for what, _, name, value in one.data if what == "graph"} for one in reader.graphs]
    labels, column = _labels(found, label, label_optional)
    said = ["undirected graphs", *(note for note, times in notes.items() if times)]
    return Data(graphs, labels, Schema("graphs", column), tuple(said))


def _labels(found: list[dict[str, Any]], label: str | None, optional: bool) -> tuple[np.ndarray | None, str | None]:
    """Return the labels of graphs, and the name of the attribute."""
    names = sorted({name for one in found for name in one})
    column = label if label is not None else "label" if "label" in names else None
    if column is None or (optional and column not in names):
        return None, None
    if column not in names:
        what = f"graphs have {listed(names)}" if names else "graphs have no data"
        raise FileError(f"there is no attribute {column!r} of graphs: {what}")
    without = next((i for i, one in enumerate(found) if column not in one), None)
    if without is not None:
        raise FileError(f"graph {without} has no {column!r}")
    values = [one[column] for one in found]
    return np.array(values if len({type(one) for one in values}) == 1 else list(map(str, values))), column


def _graph(i: int, one: GraphRecord, keys: dict[str, Key], notes: Counter[str]) -> tuple[Any, ...]:
    edges = []
    for source, target, line in one.ends:
        if source not in one.nodes or target not in one.nodes:
            unknown = source if source not in one.nodes else target
            raise FileError(f"line {line} has an edge of {brief(unknown)}, which is not a node of its graph")
        edges.append([one.nodes[source], one.nodes[target]])
    parts: dict[str, Any] = {"edges": edges, "nodes": len(one.nodes)}
    for what, count in (("node", len(one.nodes)), ("edge", len(edges))):
        labels, attributes = _labels_and_attributes(what, count, one, keys, notes)
        if labels is not None:
            parts[f"{what}_labels"] = labels
        if attributes is not None:
            parts[f"{what}_attributes"] = attributes
    return graph_of(i, parts)


def _labels_and_attributes(
    what: str, count: int, one: GraphRecord, keys: dict[str, Key], notes: Counter[str]
) -> tuple[list[Any] | None, list[list[float]] | None]:
    """Return the labels of nodes or edges and their attributes, each None if there are none."""
    types = {key.name: key for key in keys.values()}
    columns: dict[str, list[Any]] = {}
    for kind, place, name, value in one.data:
        if kind == what:
            columns.setdefault(name, [types[name].default] * count)[place] = value
    whole = {name: values for name, values in columns.items() if None not in values}
    gaps = [name for name in columns if name not in whole]
    texts = [name for name in whole if types[name].type not in REAL_TYPES]
    numbers = sorted(name for name in whole if types[name].type in REAL_TYPES)
    chosen = "label" if "label" in texts else texts[0] if len(texts) == 1 else None
    left = sorted({*texts} - {chosen})
    if left:
        why = f"a {what} has one label, that named 'label'" if chosen is None else f"the label is {chosen!r}"
        notes[f"ignored: {listed(left)} of {what}s, which are no real numbers: {why}"] += 1
    if gaps:
        notes[f"ignored: {listed(sorted(gaps))} of {what}s, which some {what}s lack"] += 1
    attributes = [[float(whole[name][place]) for name in numbers] for place in range(count)] if numbers else None
    if attributes is not None and not np.isfinite(attributes).all():
        raise FileError(f"the graph of line {one.line} has a {what} whose attributes are not finite numbers")
    return (None if chosen is None else whole[chosen]), attributes


# TU Dortmund.


def read_tu(path: Path) -> Data:
    """Read graphs with the labels of graphs, nodes and edges and the attributes of nodes and edges, if there are any.

    Attributes of graphs are ignored.
    """
    parts, name = _parts(path)
    indicator = _values(parts, "graph_indicator", 1)[:, 0]
    if not len(indicator):
        raise FileError(f"{parts['graph_indicator'].name} is empty: it has a line for each node, with its graph")
    edges = _values(parts, "A", 2) - 1
    found: dict[str, Any] = {}
    for part, count in (("node_labels", len(indicator)), ("edge_labels", len(edges))):
        for one in (part, part.replace("labels", "attributes")):
            found[one] = _values(parts, one, None) if one in parts else None
            if found[one] is not None and len(found[one]) != count:
                raise FileError(f"there are {count} {part[:4]}s and {len(found[one])} lines of {one}")
    labels = _values(parts, "graph_labels", 1)[:, 0] if "graph_labels" in parts else None
    count = int(indicator.max()) if labels is None else len(labels)
    if labels is None and count > len(indicator):
        raise FileError(f"there are {len(indicator)} nodes, and one belongs to graph {count}: number graphs from 1 on")
    graphs = _graphs(indicator - 1, edges, found, count)
    labeled = [f"{what}s" for what in ("node", "edge") if found[f"{what}_labels"] is not None]
    said = f"{' and '.join(labeled)} labeled" if labeled else "without labels of nodes and edges"
    for what in ("node", "edge"):
        if (attributes := found[f"{what}_attributes"]) is not None:
            said += f", {attributes.shape[1]} attributes of each {what}"
    notes = [f"{name}: undirected graphs, {said}"]
    if "graph_attributes" in parts:
        notes.append("ignored: 'graph_attributes'")
    return Data(graphs, labels, Schema("graphs", None if labels is None else "label"), tuple(notes))


def _parts(path: Path) -> tuple[dict[str, Any], str]:
    """Return the files by what follows the name of the data set in their names, and that name."""
    if path.is_file() and not zipfile.is_zipfile(path):
        raise FileError("this is not a zip file")
    folder: Any = zipfile.Path(path) if path.is_file() else path
    inner = [one for one in folder.iterdir() if one.is_dir()]
    if path.is_file() and len(inner) == 1 and not any(one.name.endswith("_A.txt") for one in folder.iterdir()):
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


def _values(parts: dict[str, Any], part: str, width: int | None) -> np.ndarray:
    """Return the integers of a file, or the finite numbers of attributes, one row per line; or name a wrong line."""
    rows = parts[part].read_bytes().decode("ascii", "replace").rstrip().splitlines()
    width = width or (rows[0].count(",") + 1 if rows else 1)
    real = part.endswith("attributes")
    try:
        values = np.array(",".join(rows).split(",") if rows else [], dtype=float if real else np.int64)
        is_sound = all(row.count(",") == width - 1 for row in rows) and bool(np.isfinite(values).all())
    except (ValueError, OverflowError):
        is_sound = False
    if is_sound:
        return values.reshape(-1, width)
    for line, row in enumerate(rows, 1):
        if row.count(",") != width - 1 or not all(_is_value(cell, real) for cell in row.split(",")):
            what = "finite number" if real else "integer"
            wanted = f"{width} {what}s, separated by commas"
            if width == 1:
                wanted = f"a {what}" if real else f"an {what}"
            raise FileError(f"line {line} of {parts[part].name} is {brief(row)}, not {wanted}")
    raise FileError(f"{parts[part].name} does not hold {'numbers' if real else 'integers'} alone")


def _is_value(cell: str, real: bool) -> bool:
    if not real:
        return re.fullmatch(r"[+-]?[0-9]{1,18}", cell.strip()) is not None
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _graphs(owner: np.ndarray, edges: np.ndarray, found: dict[str, Any], count: int) -> list[tuple[Any, ...]]:
    """Return the graphs: edges between nodes that are numbered from 0 in each, labels, and attributes."""
    _check(owner, edges, count)
    marks = {part: None if found[part] is None else _hashable(found[part]) for part in ("node_labels", "edge_labels")}
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(len(owner), np.int64)
    place[order] = np.arange(len(owner)) - starts[owner[order]]
    kept = _each_edge_once(owner, edges, marks["edge_labels"], "labels")
    if found["edge_attributes"] is not None:
        _each_edge_once(owner, edges, found["edge_attributes"].tolist(), "vectors of attributes")
    kept = kept[np.argsort(owner[edges[kept, 0]], kind="stable")]
    ends = np.searchsorted(owner[edges[kept, 0]], np.arange(count + 1))
    graphs = []
    for i in range(count):
        chosen = kept[ends[i] : ends[i + 1]]
        nodes = order[starts[i] : starts[i + 1]]
        graph: list[Any] = [place[edges[chosen]], int(sizes[i]), None, None, None]
        if marks["node_labels"] is not None:
            graph[1] = [marks["node_labels"][node] for node in nodes]
        if marks["edge_labels"] is not None:
            graph[2] = [marks["edge_labels"][edge] for edge in chosen]
        if found["node_attributes"] is not None:
            graph[3] = found["node_attributes"][nodes]
        if found["edge_attributes"] is not None:
            graph[4] = found["edge_attributes"][chosen]
        graphs.append(_shortened(graph))
    return graphs


def _hashable(labels: np.ndarray) -> list[Any]:
    """Return one label per line: an integer, or a tuple if a line has several."""
    return labels[:, 0].tolist() if labels.shape[1] == 1 else list(map(tuple, labels.tolist()))


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
    low = edges.min(axis=1, initial=len(owner))
    high = edges.max(axis=1, initial=0)
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
