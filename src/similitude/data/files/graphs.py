"""Graphs: as JSON has them, GraphML files, and data sets of TU Dortmund; undirected, with labels and attributes."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from similitude.data.files.file_errors import listed
from similitude.data.files.schema import Data, Schema
from similitude.support import FileError, brief

ATTRIBUTE_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text.strip().lower() in ("true", "1"), "int": int, "long": int, "float": float,
    "double": float, "string": str,
}  # fmt: skip

LINE = " line"
"""The attribute of an element with its line in the file; no XML attribute has this name."""


def graph_of(i: int, parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return graph number i as (edges, node labels or number of nodes, ...): what follows is left out if missing."""
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
    wrong = np.flatnonzero(((edges < 0) | (edges >= n_nodes)).any(axis=1))
    if len(wrong):
        u, v = edges[wrong[0]].tolist()
        raise FileError(
            f"graph {i} has an edge from {u} to {v}, but its {n_nodes} nodes are numbered 0 to {n_nodes - 1}"
        )
    edge_labels = parts.get("edge_labels")
    edge_attributes = _attributes(i, parts.get("edge_attributes"), "edge")
    for given, count, of, what in (
        (attributes, n_nodes, "nodes", "rows of node attributes"),
        (edge_labels, len(edges), "edges", "edge labels"),
        (edge_attributes, len(edges), "edges", "rows of edge attributes"),
    ):
        if given is not None and len(given) != count:
            raise FileError(f"graph {i} has {count} {of} and {len(given)} {what}")
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


Key = tuple[str, str, Any]
"""The name, the type and the default of an attribute that a file declares."""


def read_graphml(stream: BinaryIO, label: str | None, label_optional: bool, prefix: str = "") -> Data:
    """Read the graphs of a file; the label is an attribute of graphs, ``label`` if there is one."""
    notes = Counter[str]()
    try:
        root = _tree(stream)
        keys = {one.get("id", ""): _key(one) for one in root.iter("key")}
        found = list(root.iter("graph"))
        for one in root:
            if one.tag in ("node", "edge"):
                what = "an edge" if one.tag == "edge" else "a node"
                raise FileError(f"line {one.get(LINE)} has {what} outside a graph")
        for graph in found:
            for tag, what in ((".//graph", "a graph inside a graph"), (".//hyperedge", "a hyperedge")):
                if (inner := graph.find(tag)) is not None:
                    raise FileError(f"line {inner.get(LINE)} has {what}, which is not read")
        graphs = [_graph(i, one, keys, notes) for i, one in enumerate(found)]
        attributes = [_values([one], keys) for one in found]
    except FileError as error:
        raise FileError(f"{prefix}{error}") from None
    if not graphs:
        raise FileError("there are no graphs")
    is_directed = any(one.get("edgedefault") == "directed" for one in found)
    if is_directed or any(one.get("directed") == "true" for one in root.iter("edge")):
        notes["directed edges are taken as undirected"] += 1
    named = [{key[0]: values[0] for key, values in one.items()} for one in attributes]
    labels, column = _labels(named, label, label_optional)
    return Data(graphs, labels, Schema("graphs", column), ("undirected graphs", *notes))


def _tree(stream: BinaryIO) -> Element:
    """Parse XML into elements without name spaces and with their lines; refuse what could grow without bounds."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    builder = TreeBuilder()

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag.rpartition(" ")[2], {**attributes, LINE: str(parser.CurrentLineNumber)})

    def refuse(*declared: Any) -> None:
        raise FileError(f"line {parser.CurrentLineNumber} declares a document type (DTD): remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.end(tag.rpartition(" ")[2])
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise FileError(f"line {error.lineno} is not XML: {expat.errors.messages[error.code]}") from None
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise FileError(f"not XML: {brief(str(error))}") from None
    return builder.close()


def _key(element: Element) -> Key:
    kind = element.get("attr.type", "string")
    if kind not in ATTRIBUTE_TYPES:
        line = element.get(LINE)
        raise FileError(
            f"line {line} declares an attribute of type {brief(kind)}: it is one of {listed(ATTRIBUTE_TYPES)}"
        )
    name = element.get("attr.name", element.get("id", ""))
    default = element.find("default")
    return name, kind, None if default is None else _value(default, name, kind)


def _value(element: Element, name: str, kind: str) -> Any:
    text = element.text or ""
    try:
        return ATTRIBUTE_TYPES[kind](text)
    except ValueError:
        raise FileError(f"line {element.get(LINE)} has {brief(text)} as {name!r}, which is not {kind}") from None


def _values(elements: Sequence[Element], keys: Mapping[str, Key]) -> dict[Key, list[Any]]:
    """Return the values of graphs, nodes or edges by attribute, where one has any; the default where it is missing."""
    columns: dict[Key, list[Any]] = {}
    for place, element in enumerate(elements):
        for data in element.findall("data"):
            name = data.get("key", "")
            if name not in keys:
                raise FileError(f"line {data.get(LINE)} has data of {brief(name)}, an unknown key")
            key = keys[name]
            columns.setdefault(key, [key[2]] * len(elements))[place] = _value(data, *key[:2])
    return columns


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


def _graph(i: int, graph: Element, keys: Mapping[str, Key], notes: Counter[str]) -> tuple[Any, ...]:
    nodes = list(graph.iter("node"))
    edges = list(graph.iter("edge"))
    numbers: dict[str | None, int] = {}
    for number, node in enumerate(nodes):
        if numbers.setdefault(node.get("id", ""), number) != number:
            raise FileError(f"line {node.get(LINE)} has node {brief(node.get('id', ''))} again")
    ends = [[one.get("source", ""), one.get("target", "")] for one in edges]
    for edge, (source, target) in zip(edges, ends, strict=True):
        if unknown := [one for one in (source, target) if one not in numbers]:
            problem = f"an edge of {brief(unknown[0])}, which is not a node of its graph"
            raise FileError(f"line {edge.get(LINE)} has {problem}")
    parts: dict[str, Any] = {"edges": [[numbers[end] for end in pair] for pair in ends], "nodes": len(nodes)}
    for what, elements in (("node", nodes), ("edge", edges)):
        _add_values(parts, what, _values(elements, keys), notes)
        attributes = parts.get(f"{what}_attributes")
        if attributes is not None and not np.isfinite(attributes).all():
            where = f"the graph of line {graph.get(LINE)}"
            raise FileError(f"{where} has a {what} whose attributes are not finite numbers")
    return graph_of(i, parts)


def _add_values(parts: dict[str, Any], what: str, columns: dict[Key, list[Any]], notes: Counter[str]) -> None:
    """Add the labels and the attributes of nodes or edges to the parts of a graph, and note those that are ignored."""
    gaps = sorted(name for (name, *_), values in columns.items() if None in values)
    whole = {key: values for key, values in columns.items() if None not in values}
    texts = {name: values for (name, kind, _), values in whole.items() if kind not in ("double", "float")}
    numbers = [values for key, values in sorted(whole.items(), key=str) if key[1] in ("double", "float")]
    chosen = "label" if "label" in texts else next(iter(texts)) if len(texts) == 1 else None
    left = sorted({*texts} - {chosen})
    if left:
        why = f"a {what} has one label, that named 'label'" if chosen is None else f"the label is {chosen!r}"
        notes[f"ignored: {listed(left)} of {what}s, which are no real numbers: {why}"] += 1
    if gaps:
        notes[f"ignored: {listed(gaps)} of {what}s, which some {what}s lack"] += 1
    if chosen is not None:
        parts[f"{what}_labels"] = texts[chosen]
    if numbers:
        parts[f"{what}_attributes"] = list(map(list, zip(*numbers, strict=True)))


def read_tu(path: Path) -> Data:
    """Read graphs with the labels of graphs, nodes and edges and the attributes of nodes and edges that there are."""
    parts, name = _parts(path)
    indicator = _numbers(parts, "graph_indicator", 1)[:, 0]
    if not len(indicator):
        raise FileError(f"{parts['graph_indicator'].name} is empty: it has a line for each node, with its graph")
    edges = _numbers(parts, "A", 2) - 1
    found: dict[str, Any] = {}
    for what, count in (("node", len(indicator)), ("edge", len(edges))):
        for part in (f"{what}_labels", f"{what}_attributes"):
            found[part] = _numbers(parts, part) if part in parts else None
            if found[part] is not None and len(found[part]) != count:
                raise FileError(f"there are {count} {what}s and {len(found[part])} lines of {part}")
    labels = _numbers(parts, "graph_labels", 1)[:, 0] if "graph_labels" in parts else None
    count = int(indicator.max()) if labels is None else len(labels)
    if labels is None and count > len(indicator):
        raise FileError(f"there are {len(indicator)} nodes, and one belongs to graph {count}: number graphs from 1 on")
    _check(indicator - 1, edges, count)
    graphs = _graphs(indicator - 1, edges, found, count)
    labeled = [f"{what}s" for what in ("node", "edge") if found[f"{what}_labels"] is not None]
    said = f"{' and '.join(labeled)} labeled" if labeled else "without labels of nodes and edges"
    for what in ("node", "edge"):
        if (attributes := found[f"{what}_attributes"]) is not None:
            said += f", {attributes.shape[1]} attributes of each {what}"
    notes = [f"{name}: undirected graphs, {said}", *["ignored: 'graph_attributes'"] * ("graph_attributes" in parts)]
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


def _numbers(parts: dict[str, Any], part: str, width: int | None = None) -> np.ndarray:
    """Return the integers of a file, or the finite numbers of attributes, one row per line; or name a wrong line."""
    rows = parts[part].read_bytes().decode("ascii", "replace").rstrip().splitlines()
    what = "finite number" if part.endswith("attributes") else "integer"
    dtype = np.float64 if what == "finite number" else np.int64
    width = width or (rows[0].count(",") + 1 if rows else 1)

    def parsed(some: list[str]) -> np.ndarray | None:
        try:
            values = np.loadtxt(some, dtype, comments=None, delimiter=",", ndmin=2)
        except (ValueError, OverflowError):
            return None
        return values if values.shape == (len(some), width) and np.isfinite(values).all() else None

    if not rows:
        return np.empty((0, width), dtype)
    if (values := parsed(rows)) is not None:
        return values
    line = next(i for i, row in enumerate(rows) if not row.strip() or parsed([row]) is None)
    wanted = f"{width} {what}s, separated by commas"
    if width == 1:
        wanted = f"{'an' if what == 'integer' else 'a'} {what}"
    raise FileError(f"line {line + 1} of {parts[part].name} is {brief(rows[line])}, not {wanted}")


def _check(owner: np.ndarray, edges: np.ndarray, count: int) -> None:
    """Raise if a node belongs to a graph that does not exist, or if an edge leaves its graph."""
    if count == 0:
        raise FileError("there are no graphs")
    wrong = np.flatnonzero((owner < 0) | (owner >= count))
    if len(wrong):
        raise FileError(
            f"node {wrong[0] + 1} belongs to graph {owner[wrong[0]] + 1}, but there are graphs 1 to {count}"
        )
    wrong = np.flatnonzero(((edges < 0) | (edges >= len(owner))).any(axis=1))
    if len(wrong):
        u, v = (edges[wrong[0]] + 1).tolist()
        joins = f"line {wrong[0] + 1} of the edges joins nodes {u} and {v}"
        raise FileError(f"{joins}, but there are only nodes 1 to {len(owner)}")
    wrong = np.flatnonzero(owner[edges[:, 0]] != owner[edges[:, 1]])
    if len(wrong):
        u, v = edges[wrong[0]]
        raise FileError(
            f"line {wrong[0] + 1} of the edges joins node {u + 1} of graph {owner[u] + 1} and node {v + 1} of graph "
            f"{owner[v] + 1}: an edge stays in its graph"
        )


def _graphs(owner: np.ndarray, edges: np.ndarray, found: dict[str, Any], count: int) -> list[tuple[Any, ...]]:
    """Return the graphs: edges between nodes that are numbered from 0 in each, labels, and attributes."""
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(count + 1))
    place = np.empty(len(owner), np.int64)
    place[order] = np.arange(len(owner)) - starts[owner[order]]
    for part, what in (("edge_labels", "labels"), ("edge_attributes", "vectors of attributes")):
        kept = _each_edge_once(owner, edges, found[part], what)
    kept = kept[np.argsort(owner[edges[kept, 0]], kind="stable")]
    ends = np.searchsorted(owner[edges[kept, 0]], np.arange(count + 1))
    graphs = []
    for i in range(count):
        nodes = order[starts[i] : starts[i + 1]]
        chosen = kept[ends[i] : ends[i + 1]]
        graph: list[Any] = [place[edges[chosen]], _marks(found["node_labels"], nodes) or len(nodes)]
        graph.append(_marks(found["edge_labels"], chosen))
        for part, rows in (("node_attributes", nodes), ("edge_attributes", chosen)):
            graph.append(None if found[part] is None else found[part][rows])
        graphs.append(_shortened(graph))
    return graphs


def _marks(labels: np.ndarray | None, rows: Any) -> list[Any] | None:
    """Return one label for each row: an integer, or a tuple if a line of the file has several."""
    if labels is None:
        return None
    return labels[rows, 0].tolist() if labels.shape[1] == 1 else list(map(tuple, labels[rows].tolist()))


def _each_edge_once(owner: np.ndarray, edges: np.ndarray, given: np.ndarray | None, what: str) -> np.ndarray:
    """Return the position of each undirected edge: most files list both directions, with the same values."""
    both = np.sort(edges, axis=1)
    _, first, which = np.unique(both[:, 0] * len(owner) + both[:, 1], return_index=True, return_inverse=True)
    if given is not None:
        differs = np.flatnonzero((given != given[first[which]]).any(axis=1))
        if len(differs):
            one = differs[0]
            u, v = edges[one] + 1
            before, now = (_marks(given, [row])[0] for row in (first[which][one], one))  # type: ignore[index]
            raise FileError(
                f"graph {owner[u - 1] + 1} has two {what} for the edge of nodes {u} and {v}: {before} and {now}"
            )
    return np.sort(first)
