"""From columns to objects and labels: how to read them is inferred, or given by the schema of another file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.data.files.column_notes import column_notes, identifiers
from similitude.data.files.column_types import (
    COLUMN_TYPES,
    FILL_OR_DROP,
    NUMERIC,
    Column,
    as_doubles,
    as_floats,
    as_labels,
    as_numbers,
    as_type,
    empty_as_missing,
    is_rounded,
    may_be_number,
    parsed,
    typed,
)
from similitude.data.files.file_errors import import_optional, listed, unknown_column, unknown_columns, wrong_cell
from similitude.data.files.number_formats import Spelling, check_points, plain_numbers, spelling
from similitude.data.files.schema import Data, Request, Schema
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

PANDAS_INDEX = re.compile("__index_level_[0-9]+__")
"""The name of an unnamed pandas index in Parquet and Arrow files: it numbers the rows and describes none."""

GAP_WORDS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Texts that often stand for a missing value."""


# Inferred.


def infer(cells: Mapping[str, Any], request: Request, is_text: bool, separator: str = ",") -> Data:
    """Infer how to read a file from the columns of its first rows, or of all, and read these."""
    cells = _without_marks(cells, request.missing)
    names = _object_columns(list(cells), request)
    raw, how = cells, Spelling(None)
    spelled: list[str] = []
    if is_text and request.kind != "strings":
        chosen = {name: cells[name] for name in (*names, request.label) if name is not None}
        how = spelling(chosen, separator, request.decimal)
        cells, spelled = plain_numbers(cells, how.decimal, chosen)
    read = parsed if is_text else typed
    typed_columns = {name: read(cells[name]) for name in names}
    columns = {name: column for name, column in typed_columns.items() if column.type != "missing"} or typed_columns
    left_out = [] if request.object is not None else identifiers(columns, request.keep)
    columns = {name: column for name, column in columns.items() if name not in left_out}
    if is_text and len(columns) == 1:
        ((name, column),) = columns.items()
        columns = {name: _as_strings(column, cells[name], request.kind)}
    kind, alternative = (request.kind, "") if request.kind is not None else _infer_kind(columns, is_text)
    _check_columns(kind, columns)
    label = None
    if request.label is not None:  # numbers if all are numbers, else the text of the file
        one = cells[request.label]
        label = (as_numbers(one) or Column("text", empty_as_missing(one))) if is_text else typed(one)
    objects = _build_objects(kind, columns)
    schema = Schema(
        kind,
        request.label,
        None if label is None else label.type,
        request.object or (next(iter(columns)) if len(columns) == 1 else None),
        tuple(columns),
        tuple(column.type for column in columns.values()),
        int(objects.shape[1]) if kind == "vectors" else None,
    ).with_settings(
        decimal=how.decimal if spelled or request.decimal else None,
        missing=json.dumps(request.missing) if request.missing else None,
    )
    empty = [name for name in typed_columns if name not in columns and name not in left_out]
    ignored = [name for name in cells if name not in typed_columns and name != request.label]
    notes = [
        _description(kind, columns) + alternative,
        *_notes(columns, empty, ignored, list(cells) if is_text else []),
    ]
    notes += [*how.notes, *spelled, *column_notes(columns, left_out, raw if is_text else {})]
    notes += _rounding_notes(kind, columns, cells if is_text else {})
    data = Data(objects, None, schema, tuple(notes))
    return data if label is None else with_labels(data, str(request.label), label, 0, request.unlabeled)


def with_labels(data: Data, name: str, column: Column, first: int, unlabeled: str) -> Data:
    """Return data with labels; rows without one are refused, left out, or returned apart."""
    missing = column.missing
    if not missing.any() or unlabeled == "refuse":
        return replace(data, labels=as_labels(name, column, first))
    if unlabeled == "keep":
        return data
    if missing.all():
        raise FileError(f"the label {name!r} is missing in every row from {first} on: nothing to learn from")
    known, cells = np.flatnonzero(~missing), column.cells
    kept = [cells[row] for row in known] if isinstance(cells, list) else cells.take(known)
    labels = as_labels(name, Column(column.type, kept), first)
    rest = take(data.objects, np.flatnonzero(missing)) if unlabeled == "use" else None
    candidates = "candidates for landmarks"
    what = f"are {candidates}" if unlabeled == "use" else f"are left out; unlabeled='use' makes them {candidates}"
    note = (
        f"rows without the label {name!r} {what}: {missing.sum():,} of {len(missing):,}, the first is row "
        f"{first + int(np.argmax(missing))}. Rows are counted without them from here on"
    )
    return replace(data, objects=take(data.objects, known), labels=labels, unlabeled=rest, notes=(*data.notes, note))


def _without_marks(cells: Mapping[str, Any], marks: Sequence[str]) -> Mapping[str, Any]:
    """Return columns in which certain texts are missing."""
    if not marks:
        return cells
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    found = {}
    for name, column in cells.items():
        if isinstance(column, list):
            column = [None if isinstance(one, str) and one.strip() in marks else one for one in column]
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            trimmed = compute.utf8_trim_whitespace(column)
            gaps = compute.is_in(trimmed, pa.array(marks, trimmed.type))
            column = compute.if_else(compute.fill_null(gaps, False), pa.scalar("", column.type), column)
        found[name] = column
    return found


def _object_columns(names: Sequence[str], request: Request) -> list[str]:
    for name in (request.label, request.object, *request.ignore, *request.keep):
        if name is not None and name not in names:
            raise unknown_column(name, names)
    if request.object is not None:
        return [request.object]
    others = (request.label, *request.ignore)
    found = [name for name in names if name not in others and not PANDAS_INDEX.fullmatch(name)]
    if not found:
        raise FileError(f"there is no column besides the label {request.label!r}: nothing to learn from")
    return found


def _as_strings(column: Column, cells: Any, kind: str | None) -> Column:
    """Return the only column of a text file, as it is in the file if its cells are strings and not numbers."""
    compute = import_optional("pyarrow.compute", "a table")
    is_coded = column.type in NUMERIC and compute.any(compute.match_substring_regex(cells, "^0[0-9]")).as_py()
    if kind == "strings" or (kind is None and (column.type in ("text", "boolean", "missing") or is_coded)):
        return Column("text", cells)
    return column


def _infer_kind(columns: Mapping[str, Column], is_text: bool) -> tuple[str, str]:
    """Return the kind of objects in these columns, and a note if another kind is possible."""
    if all(column.type in NUMERIC and not column.missing.any() for column in columns.values()):
        return "vectors", "; kind='strings' takes them as text" if is_text and len(columns) == 1 else ""
    if len(columns) > 1:
        return "table", ""
    column = next(iter(columns.values()))
    if column.type == "numbers":
        lengths = np.asarray(column.cells.drop_null().value_lengths())
        if len(set(lengths.tolist())) == 1:
            return "vectors", f" of {lengths[0]} numbers; kind='series' takes them as series"
        return "series", " of unequal lengths"
    if column.type == "channels":
        return "series", " (a list per time, a number per channel)"
    return {"text": "strings", "items": "sets", "graph": "graphs"}.get(column.type, "table"), ""


def _description(kind: str, columns: Mapping[str, Column]) -> str:
    if kind != "table":
        return f"{'column' if len(columns) == 1 else 'columns'} {listed(columns)} as {kind}"
    counts = Counter(COLUMN_TYPES[column.type] for column in columns.values())
    parts = ", ".join(f"{count} of {what}" for what, count in counts.items())
    return f"columns {listed(columns)} as rows of a table: {parts}"


def _notes(
    columns: Mapping[str, Column], empty: Sequence[str], ignored: Sequence[str], header: Sequence[str]
) -> list[str]:
    """Return notes on columns that are ignored, unnamed or empty, and on the `header` of a text file."""
    notes = []
    if ignored:
        notes.append(f"ignored: columns {listed(ignored)}")
    if empty:
        notes.append(f"ignored: no value at all in {listed(empty)}")
    unnamed = [name for name in columns if name.startswith("Unnamed: ")]
    if unnamed:
        notes.append(f"columns without a name are used too, as {listed(unnamed)}")
    if any("." in name for name in header) and all(map(may_be_number, header)):
        notes.append("the names of the columns are numbers: is the header missing?")
    if header and len(columns) > 1:
        notes += _gap_word_notes(columns)
    return notes


def _rounding_notes(kind: str, columns: Mapping[str, Column], text: Mapping[str, Any]) -> list[str]:
    """Note integers that are rounded; a table keeps those that are columns of integers."""
    kept = {name for name, column in columns.items() if kind == "table" and column.type == "integer"}
    return [
        f"column {name!r} holds integers beyond 2^53: they are rounded to floating point numbers, so that close ones "
        f"become equal; leave it out if it only names or numbers the rows"
        for name, column in columns.items()
        if kind != "strings" and name not in kept and is_rounded(column, text.get(name))
    ]


def _gap_word_notes(columns: Mapping[str, Column]) -> list[str]:
    """Note texts that often stand for a missing value but are categories here."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    notes = []
    for name, column in columns.items():
        if column.type == "text":
            words = pa.array(GAP_WORDS, column.cells.type)
            found = compute.unique(compute.filter(column.cells, compute.is_in(column.cells, words))).to_pylist()
            if found:
                notes.append(
                    f"{listed(found)} in column {name!r} is text like any other: only empty cells are missing; "
                    f"missing={found[0]!r} changes that"
                )
    return notes


# By a schema.


def apply_schema(
    cells: Mapping[str, Any],
    schema: Schema,
    is_text: bool,
    first: int,
    label_optional: bool,
    request: Request = Request(),  # noqa: B008 (a tuple)
    separator: str = ",",
) -> Data:
    """Read columns by a schema; raise if columns are missing or have other types. `first` is the first row's number."""
    if schema.label not in cells and schema.label is not None and not label_optional:
        raise unknown_column(schema.label, cells)
    marks = (*request.missing, *json.loads(schema.setting("missing") or "[]"))
    if not schema.names:  # the schema of a format without columns
        label, name = (one if one in cells else None for one in (schema.label, schema.object))
        asked = request._replace(label=label, object=name, kind=schema.kind, missing=marks)
        found = infer(cells, asked, is_text, separator)
        schema.check_width(found.objects)
        return replace(found, schema=schema)
    absent = [name for name in schema.names if name not in cells]
    if absent:
        raise unknown_column(absent[0], cells) if len(absent) == 1 else unknown_columns(absent, cells)
    cells, spelled = _plain_by_schema(_without_marks(cells, marks), schema, is_text, request, separator)
    columns = {}
    for name, expected in zip(schema.names, schema.types, strict=True):
        as_is = schema.kind == "strings" and is_text
        columns[name] = Column("text", cells[name]) if as_is else as_type(name, cells[name], expected, is_text, first)
    objects = _build_objects(schema.kind, columns, first)
    schema.check_width(objects)
    ignored = [name for name in cells if name not in schema.names and name != schema.label]
    notes = [f"ignored: columns {listed(ignored)}"] if ignored else []
    notes += [*spelled, *_rounding_notes(schema.kind, columns, cells if is_text else {})]
    data = Data(objects, None, schema, tuple(notes))
    if schema.label is None or schema.label not in cells:
        return data
    try:
        column = as_type(schema.label, cells[schema.label], schema.label_type or "text", is_text, first)
        return with_labels(data, schema.label, column, first, request.unlabeled)
    except FileError as error:
        if not label_optional:
            raise
        return replace(data, notes=(*notes, f"labels are not used: {str(error).removesuffix(FILL_OR_DROP)}"))


def _plain_by_schema(
    cells: Mapping[str, Any], schema: Schema, is_text: bool, request: Request, separator: str
) -> tuple[Mapping[str, Any], list[str]]:
    """Return columns of a text file whose numbers, by the schema, are written with decimal points; and notes."""
    expected = [*zip(schema.names, schema.types, strict=True), (schema.label, schema.label_type)]
    numbers = [str(name) for name, one in expected if one in NUMERIC and name in cells]
    if not is_text or schema.kind == "strings" or not numbers:
        return cells, []
    before = schema.setting("decimal")
    how = spelling({name: cells[name] for name in numbers}, separator, request.decimal, before)
    if how.decimal is None and before == ",":
        check_points({name: cells[name] for name in numbers})
    plain, notes = plain_numbers(cells, how.decimal, numbers)
    return plain, [*how.notes, *notes]


# Objects of every kind.


def _check_columns(kind: str, columns: Mapping[str, Column]) -> None:
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


def _build_objects(kind: str, columns: Mapping[str, Column], first: int = 0) -> Any:
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
        return np.split(np.asarray(as_doubles(flat), dtype=float), ends[:-1])
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
    found = [edges, labels or n_nodes, edge_labels, attributes, edge_attributes]
    while found[-1] is None:
        found.pop()
    return tuple(found)


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
