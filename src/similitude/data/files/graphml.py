"""GraphML files: undirected graphs with the labels and attributes of their nodes and edges, and data of each graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from xml.parsers import expat

import numpy as np

from similitude.data.files.columns_to_objects import graph_of
from similitude.data.files.file_errors import listed
from similitude.data.files.schema import Data, Schema
from similitude.support import FileError, brief

REAL_TYPES = ("double", "float")
"""Types of attributes that are numbers; others are labels."""

ATTRIBUTE_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text.strip().lower() in ("true", "1"), "int": int, "long": int, "float": float,
    "double": float, "string": str,
}  # fmt: skip

LABEL = "label"
"""The attribute that is the label of a node or an edge, or of a graph."""


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
            self.key, self.text = attributes.get("key") if name == "data" else self.key, []
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
            graph, what = self.graphs[-1], self.open[-1]
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


def read_graphml(streams: Sequence[tuple[str, BinaryIO]], label: str | None, label_optional: bool) -> Data:
    """Read the graphs of one or several files; the label is an attribute of graphs, ``label`` if there is one."""
    graphs: list[Any] = []
    found: list[dict[str, Any]] = []
    notes = Counter[str]()
    for name, stream in streams:
        reader = GraphReader()
        try:
            reader.read(stream)
            for one in reader.graphs:
                graphs.append(_graph(len(graphs), one, reader.keys, notes))
                found.append({attribute: value for what, _, attribute, value in one.data if what == "graph"})
        except FileError as error:
            raise FileError(f"{name}: {error}" if name else str(error)) from None
        notes["directed edges are taken as undirected"] += reader.is_directed
    if not graphs:
        raise FileError("there are no graphs")
    labels, column = _labels(found, label, label_optional)
    said = ["undirected graphs", *(note for note, times in notes.items() if times)]
    return Data(graphs, labels, Schema("graphs", column), tuple(said))


def _labels(found: list[dict[str, Any]], label: str | None, optional: bool) -> tuple[np.ndarray | None, str | None]:
    """Return the labels of graphs, and the name of the attribute."""
    names = sorted({name for one in found for name in one})
    column = label if label is not None else LABEL if LABEL in names else None
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
    """Return a graph as similarities take it."""
    edges = []
    for source, target, line in one.ends:
        if source not in one.nodes or target not in one.nodes:
            unknown = source if source not in one.nodes else target
            raise FileError(f"line {line} has an edge of {brief(unknown)}, which is not a node of its graph")
        edges.append([one.nodes[source], one.nodes[target]])
    parts: dict[str, Any] = {"edges": edges, "nodes": len(one.nodes)}
    for what, count in (("node", len(one.nodes)), ("edge", len(edges))):
        labels, attributes = _values(what, count, one, keys, notes)
        if labels is not None:
            parts[f"{what}_labels"] = labels
        if attributes is not None:
            parts[f"{what}_attributes"] = attributes
    return graph_of(i, parts)


def _values(
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
    chosen = LABEL if LABEL in texts else texts[0] if len(texts) == 1 else None
    left = sorted({*texts} - {chosen})
    if left:
        why = f"a {what} has one label, that named {LABEL!r}" if chosen is None else f"the label is {chosen!r}"
        notes[f"ignored: {listed(left)} of {what}s, which are no real numbers: {why}"] += 1
    if gaps:
        notes[f"ignored: {listed(sorted(gaps))} of {what}s, which some {what}s lack"] += 1
    attributes = [[float(whole[name][place]) for name in numbers] for place in range(count)] if numbers else None
    if attributes is not None and not np.isfinite(attributes).all():
        raise FileError(f"the graph of line {one.line} has a {what} whose attributes are not finite numbers")
    return (None if chosen is None else whole[chosen]), attributes
