"""From columns to objects and labels: how to read them is inferred, or given by the schema of another file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from similitude.data.files.build_objects import build_objects, check_columns
from similitude.data.files.column_types import (
    COLUMN_TYPES,
    NUMERIC,
    Column,
    as_labels,
    as_type,
    empty_as_missing,
    parsed,
    typed,
)
from similitude.data.files.file_errors import import_optional, listed, unknown_column
from similitude.data.files.schema import Data, Request, Schema
from similitude.support import FileError

PANDAS_INDEX = re.compile("__index_level_[0-9]+__")
"""The name of an unnamed pandas index in Parquet and Arrow files: it numbers the rows and describes none."""

GAP_WORDS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Texts that often stand for a missing value."""


# Inferred.


def infer(cells: Mapping[str, Any], request: Request, is_text: bool) -> Data:
    """Infer how to read a file from the columns of its first rows, or of all, and read these."""
    names = _object_columns(list(cells), request)
    empty = [name for name in names if _is_empty(cells[name], is_text)]
    if len(empty) < len(names):
        names = [name for name in names if name not in empty]
    else:
        empty = []
    columns = _typed_columns({name: cells[name] for name in names}, request, is_text)
    kind, alternative = (request.kind, "") if request.kind is not None else _infer_kind(columns, is_text)
    check_columns(kind, columns)
    label = None if request.label is None else _label_column(cells[request.label], is_text)
    objects = build_objects(kind, columns)
    schema = Schema(
        kind,
        request.label,
        None if label is None else label.type,
        request.object or (names[0] if len(names) == 1 else None),
        tuple(names),
        tuple(column.type for column in columns.values()),
        int(objects.shape[1]) if kind == "vectors" else None,
    )
    labels = None if label is None else as_labels(str(request.label), label, 0)
    notes = _notes(columns, list(cells), empty, request, is_text)
    return Data(objects, labels, schema, (_description(kind, columns) + alternative, *notes))


def _object_columns(names: Sequence[str], request: Request) -> list[str]:
    for name in (request.label, request.object):
        if name is not None and name not in names:
            raise unknown_column(name, names)
    if request.object is not None:
        return [request.object]
    found = [name for name in names if name != request.label and not PANDAS_INDEX.fullmatch(name)]
    if not found:
        raise FileError(f"there is no column besides the label {request.label!r}: nothing to learn from")
    return found


def _is_empty(cells: Any, is_text: bool) -> bool:
    """Tell whether a column has no values, as the last one of a file whose lines all end in a comma."""
    if isinstance(cells, list):
        return all(cell is None for cell in cells)
    compute = import_optional("pyarrow.compute", "a table")
    return bool(compute.all(compute.equal(cells, "")).as_py()) if is_text else cells.null_count == len(cells)


def _typed_columns(cells: Mapping[str, Any], request: Request, is_text: bool) -> dict[str, Column]:
    """Return the columns with their types; a single column of text stays as it is in the file."""
    if not is_text:
        return {name: typed(column) for name, column in cells.items()}
    if request.kind == "strings" and len(cells) == 1:
        return {name: Column("text", column) for name, column in cells.items()}
    columns = {name: parsed(column) for name, column in cells.items()}
    if len(columns) == 1 and request.kind is None:
        (name, column), (raw,) = next(iter(columns.items())), cells.values()
        if column.type in ("text", "boolean", "missing") or _has_leading_zeros(raw):
            return {name: Column("text", raw)}
    return columns


def _has_leading_zeros(cells: Any) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    return bool(compute.any(compute.match_substring_regex(cells, "^0[0-9]")).as_py())


def _label_column(cells: Any, is_text: bool) -> Column:
    """Return labels: numbers if all are numbers, else the text of the file."""
    column = parsed(cells) if is_text else typed(cells)
    return column if not is_text or column.type in NUMERIC else Column("text", empty_as_missing(cells))


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
    columns: Mapping[str, Column], names: Sequence[str], empty: Sequence[str], request: Request, is_text: bool
) -> list[str]:
    """Return notes on columns that are ignored, unnamed or empty, and on a header that may be missing."""
    notes = []
    ignored = [name for name in names if name not in columns and name not in (request.label, *empty)]
    if ignored:
        notes.append(f"ignored: columns {listed(ignored)}")
    if empty:
        notes.append(f"ignored: no value at all in {listed(empty)}")
    unnamed = [name for name in columns if name.startswith("Unnamed: ")]
    if unnamed:
        notes.append(f"columns without a name are used too, as {listed(unnamed)}")
    if is_text and any("." in name for name in names) and all(_is_number(name) for name in names):
        notes.append("the names of the columns are numbers: is the header missing?")
    if is_text and len(columns) > 1:
        notes += _gap_word_notes(columns)
    return notes


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _gap_word_notes(columns: Mapping[str, Column]) -> list[str]:
    """Note texts that often stand for a missing value but are categories here."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    notes = []
    for name, column in columns.items():
        if column.type == "text":
            words = pa.array(GAP_WORDS, column.cells.type)
            found = compute.unique(compute.filter(column.cells, compute.is_in(column.cells, words))).to_pylist()
            if found:
                notes.append(f"{listed(found)} in column {name!r} is text like any other: only empty cells are missing")
    return notes


# By a schema.


def apply_schema(cells: Mapping[str, Any], schema: Schema, is_text: bool, first: int, label_optional: bool) -> Data:
    """Read columns by a schema; raise if columns are missing or have other types. `first` is the first row's number."""
    if schema.label not in cells and schema.label is not None and not label_optional:
        raise unknown_column(schema.label, cells)
    if not schema.names:  # the schema of a format without columns
        label, name = (one if one in cells else None for one in (schema.label, schema.object))
        found = infer(cells, Request(label, name, schema.kind), is_text)
        schema.check_width(found.objects)
        return Data(found.objects, found.labels, schema, found.notes)
    columns = {}
    for name, expected in zip(schema.names, schema.types, strict=True):
        if name not in cells:
            raise unknown_column(name, cells)
        as_is = schema.kind == "strings" and is_text
        columns[name] = Column("text", cells[name]) if as_is else as_type(name, cells[name], expected, is_text, first)
    objects = build_objects(schema.kind, columns, first)
    schema.check_width(objects)
    ignored = [name for name in cells if name not in schema.names and name != schema.label]
    notes = [f"ignored: columns {listed(ignored)}"] if ignored else []
    labels = None
    if schema.label is not None and schema.label in cells:
        try:
            column = as_type(schema.label, cells[schema.label], schema.label_type or "text", is_text, first)
            labels = as_labels(schema.label, column, first)
        except FileError as error:
            if not label_optional:
                raise
            notes.append(f"labels are not used: {error}")
    return Data(objects, labels, schema, tuple(notes))
