"""From columns to objects and labels: how to read them is inferred, or given by the schema of another file.

Columns that rarely help a similarity are noted, and identifiers left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from similitude.compute import take
from similitude.data.files.columns import (
    CODE,
    FILL_OR_DROP,
    GAP_MARKS,
    Column,
    all_match,
    are_words,
    as_doubles,
    as_labels,
    as_matrix,
    as_texts,
    as_type,
    blank_around,
    is_rounded,
    is_text,
    may_be_number,
    parsed,
    trimmed_texts,
    typed,
    with_plain_numbers,
)
from similitude.data.files.file_errors import (
    are_values,
    header_hint,
    import_optional,
    listed,
    listed_columns,
    unknown_column,
    wrong_cell,
)
from similitude.data.files.graphs import graph_of
from similitude.data.files.schema import COLUMN_TYPES, NUMERIC, Data, Request, Schema, width_of
from similitude.data.limits import FEWEST_TO_NOTE
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

IDENTIFIER_NAME = re.compile(
    r"(?i:id|uuid|guid|index|idx|row|row[ _.-]?(id|names?|nr|no|numbers?))|(?i:.*[ _.-](id|uuid|guid))|.*[a-z0-9]I[dD]"
)
"""Names of columns that identify rows."""

DAY = (
    r"[0-9]{4}[-/.][0-9]{1,2}([-/.][0-9]{1,2})?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})|"
    r"[0-9]{1,2}[-/. ]+\pL{3,9}\.?[-/., ]+([0-9]{4}|[0-9]{2})|\pL{3,9}\.? [0-9]{1,2}[,;]? [0-9]{4}"
)
TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*([AaPp][Mm])?\s*(Z|[-+][0-9]{2}:?[0-9]{2})?"

DATE_TEXT = rf"^\s*(({DAY})([ T,]\s*{TIME})?|{TIME})\s*$"
"""A date, perhaps with a time, or a time."""


def infer(cells: Mapping[str, Any], request: Request, in_text_file: bool, separator: str = ",") -> Data:
    """Infer how to read a file from the columns of its first rows, or of all, and read these."""
    if request.missing:
        cells = _without_marks(cells, request.missing)
    names = _object_columns(list(cells), request)
    label_name = request.label
    labels = [name for name in (label_name,) if name is not None]
    text: dict[str, Any] = {}  # cells as they are in a text file
    notes: list[str] = []
    decimal = None
    if in_text_file:
        text = {name: one for name, one in cells.items() if is_text(one)}
        found = {name: parsed(cells[name]) for name in (*names, *labels)}
        spelled = {name: found[name] for name in (labels if request.kind == "strings" else found)}
        cells, changed, decimal, notes = with_plain_numbers(cells, spelled, separator, request.decimal)
        found |= changed
        for name in labels:
            if found[name].type not in NUMERIC and is_text(cells[name]):
                found[name] = Column("text", trimmed_texts(cells[name]))
    else:
        found = {name: typed(cells[name]) for name in (*names, *labels)}
    for name in labels:
        notes += label_notes(name, found[name], text.get(name))
    possible = {name: found[name] for name in names}
    filled = {name: column for name, column in possible.items() if column.type != "missing"} or possible
    left_out = [] if request.object is not None else identifiers(filled, request.keep)
    columns = {name: column for name, column in filled.items() if name not in left_out}
    if in_text_file and len(columns) == 1:
        ((name, column),) = columns.items()
        text_like = column.type in ("text", "boolean", "missing") or (
            column.type in NUMERIC and _has_codes(cells[name])
        )
        if request.kind == "strings" or (request.kind is None and text_like):  # as it is in the file
            columns = {name: Column("text", as_texts(cells[name]))}
    kind, alternative = _kind(columns, in_text_file, request.kind)
    if in_text_file and kind == "table":
        columns, trimming = _trimmed(columns)
        notes += trimming
    _check_columns(kind, columns)
    objects = _build_objects(kind, columns)
    description = f"{listed_columns(columns)} as {kind}{alternative}"
    if kind == "table":
        counts = Counter(COLUMN_TYPES[column.type] for column in columns.values())
        parts = ", ".join(f"{count} of {what}" for what, count in counts.items())
        description = f"columns {listed(columns)} as rows of a table: {parts}"
    said = [description]
    used = {*names, label_name, request.groups}
    if ignored := [name for name in cells if name not in used]:
        said.append(f"ignored: columns {listed(ignored)}")
    if empty := [name for name in names if name not in filled]:
        said.append(f"ignored: no value at all in {listed(empty)}")
    if in_text_file:
        said += _header_notes(list(cells), columns)
    said += [*notes, *column_notes(columns, left_out, text), *_rounding_notes(kind, columns, text)]
    schema = Schema(
        kind, label_name, object=request.object, names=tuple(columns), types=tuple(one.type for one in columns.values())
    ).with_settings(decimal=decimal)
    schema = replace(schema, width=width_of(kind, objects))
    if len(columns) == 1:
        schema = replace(schema, object=next(iter(columns)))
    if request.missing:
        schema = schema.with_settings(missing=json.dumps(request.missing))
    data = Data(objects, None, schema, tuple(said))
    if request.groups is not None:
        data = replace(data, groups=_as_groups(cells[request.groups]))
    if label_name is None:
        return data
    data = replace(data, schema=replace(schema, label_type=found[label_name].type))
    return with_labels(data, label_name, found[label_name], 0, request.unlabeled)


def _trimmed(columns: Mapping[str, Column]) -> tuple[dict[str, Column], list[str]]:
    """Return texts of a table without the blanks around them, which would make other categories of them, and notes."""
    found = dict(columns)
    notes = []
    for name, column in columns.items():
        if column.type == "text" and (example := blank_around(column.cells)) is not None:
            found[name] = Column("text", trimmed_texts(column.cells))
            notes.append(f"blanks around the texts of column {name!r} are left out: {example!r} is {example.strip()!r}")
    return found, notes


def with_labels(data: Data, name: str, column: Column, first: int, unlabeled: str) -> Data:
    """Return data with labels; rows without one are refused, left out, or returned apart."""
    missing = column.missing
    if not missing.any() or unlabeled == "refuse":
        return replace(data, labels=as_labels(name, column, first))
    if unlabeled == "keep":
        return data
    if missing.all():
        raise FileError(f"the label {name!r} is missing in every row from {first} on: nothing to learn from")
    known = np.flatnonzero(~missing)
    kept: Any = take(column.cells, known) if isinstance(column.cells, list) else column.cells.take(known)
    what = "are left out; unlabeled='use' makes them"
    if unlabeled == "use":
        what = "are"
        data = replace(data, unlabeled=take(data.objects, np.flatnonzero(missing)))
    if data.groups is not None:
        data = replace(data, groups=data.groups[known])
    note = (
        f"rows without the label {name!r} {what} candidates for landmarks: {missing.sum():,} of {len(missing):,}, the "
        f"first is row {first + int(np.argmax(missing))}. Rows are counted without them from here on"
    )
    labels = as_labels(name, Column(column.type, kept), first)
    return replace(data, objects=take(data.objects, known), labels=labels, notes=(*data.notes, note))


def _as_groups(cells: Any) -> np.ndarray:
    """Return a column as groups: texts without blanks around them, or values as they are, None where missing."""
    if is_text(cells):
        cells = trimmed_texts(cells)
    found = np.empty(len(cells), dtype=object)
    found[:] = Column("other", cells).to_list()
    return found


def _without_marks(cells: Mapping[str, Any], marks: Sequence[str]) -> Mapping[str, Any]:
    found = {}
    for name, column in cells.items():
        if isinstance(column, list):
            column = [None if isinstance(one, str) and one.strip() in marks else one for one in column]
        elif is_text(column):
            trimmed = pc.utf8_trim_whitespace(column)
            gaps = pc.is_in(trimmed, pa.array(marks, trimmed.type))
            column = pc.if_else(pc.fill_null(gaps, False), pa.scalar("", column.type), column)
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            numbers = pa.array([float(one) for one in marks if may_be_number(one, ())], pa.float64())
            gaps = pc.is_in(as_doubles(column), numbers)
            column = pc.if_else(pc.fill_null(gaps, False), pa.scalar(None, column.type), column)
        found[name] = column
    return found


def _object_columns(names: Sequence[str], request: Request) -> list[str]:
    others = {request.label, request.groups, *request.ignore}
    for name in (request.label, request.object, request.groups, *request.ignore, *request.keep):
        if name is not None and name not in names:
            raise unknown_column(name, names)
    if request.object is not None:
        return [request.object]
    # an unnamed pandas index in Parquet and Arrow files numbers the rows and describes none
    found = [name for name in names if name not in others and not re.fullmatch("__index_level_[0-9]+__", name)]
    if not found:
        raise FileError(f"there is no column besides the label {request.label!r}: nothing to learn from")
    return found


def _has_codes(cells: Any) -> bool:
    return is_text(cells) and bool(pc.any(pc.match_substring_regex(cells, CODE)).as_py())


def _kind(columns: Mapping[str, Column], is_text: bool, given: str | None) -> tuple[str, str]:
    """Return the kind of objects in these columns, and a note if another kind is possible."""
    if given is not None:
        return given, ""
    types = {column.type for column in columns.values()}
    if types <= {*NUMERIC} and not any(column.has_gaps for column in columns.values()):
        return "vectors", "; kind='strings' takes them as text" * (is_text and len(columns) == 1)
    if len(columns) > 1:
        return "table", ""
    column = next(iter(columns.values()))
    if column.type == "numbers":
        lengths = {*column.cells.drop_null().value_lengths().to_pylist()}
        if len(lengths) == 1:
            return "vectors", f" of {lengths.pop()} numbers; kind='series' takes them as series"
        return "series", " of unequal lengths"
    if column.type == "channels":
        return "series", " (a list per time, a number per channel)"
    return {"text": "strings", "items": "sets", "graph": "graphs"}.get(column.type, "table"), ""


def _header_notes(header: Sequence[str], columns: Mapping[str, Column]) -> list[str]:
    """Return notes on the header of a text file, and on words for missing values in the columns."""
    notes = []
    if "Unnamed: " in "".join(columns):
        unnamed = [name for name in columns if name.startswith("Unnamed: ")]
        notes.append(f"columns without a name are used too, as {listed(unnamed)}")
    if are_values(header):
        notes.append(f"names of columns such as {header[0]!r} look like values: is the header missing?")
    for name, column in columns.items():
        if column.type == "text" and len(columns) > 1:
            words = ("NA", "N/A", "NaN", "nan", "null", "NULL", "?")
            if found := pc.unique(column.cells.filter(are_words(column.cells, words))).to_pylist():
                notes.append(
                    f"{listed(found)} in column {name!r} is text like any other: only empty cells are missing; "
                    f"missing={found[0]!r} changes that"
                )
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


def apply_schema(
    cells: Mapping[str, Any],
    schema: Schema,
    in_text_file: bool,
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
        names = {what: name for what in ("label", "object") if (name := getattr(schema, what)) in cells}
        asked = replace(request, **{"label": None, "object": None, **names}, kind=schema.kind, missing=marks)
        data = infer(cells, asked, in_text_file, separator)
        schema.check_width(data.objects)
        return replace(data, schema=schema)
    absent = [name for name in schema.names if name not in cells]
    if len(absent) == 1:
        raise unknown_column(absent[0], cells)
    if absent:
        has = f"it has {listed(cells, most=20)}{header_hint(list(cells))}"
        raise FileError(f"there are no columns {listed(absent, most=100)}: {has}")
    if marks:
        cells = _without_marks(cells, marks)
    notes: list[str] = []
    expected_types = [*zip(schema.names, schema.types, strict=True), (schema.label, schema.label_type)]
    numbers = [str(name) for name, one in expected_types if one in NUMERIC and name in cells]
    if in_text_file and numbers:
        found_types = {name: parsed(cells[name]) for name in numbers}
        before = schema.setting("decimal")
        cells, _, _, notes = with_plain_numbers(cells, found_types, separator, request.decimal, before)
    columns = {}
    for name, expected in zip(schema.names, schema.types, strict=True):
        if schema.kind == "strings" and in_text_file:
            columns[name] = Column("text", as_texts(cells[name]))
        else:
            columns[name] = as_type(name, cells[name], expected, in_text_file, first)
    if in_text_file and schema.kind == "table":
        columns, trimming = _trimmed(columns)
        notes += trimming
    objects = _build_objects(schema.kind, columns, first)
    schema.check_width(objects)
    text = {name: one for name, one in cells.items() if in_text_file and is_text(one)}
    notes += _rounding_notes(schema.kind, columns, text)
    used = {*schema.names, schema.label}
    if ignored := [name for name in cells if name not in used]:
        notes.insert(0, f"ignored: columns {listed(ignored)}")
    data = Data(objects, None, schema, tuple(notes))
    if schema.label is None or schema.label not in cells:
        return data
    try:
        label = cells[schema.label]
        if in_text_file and schema.label_type == "text" and is_text(label):
            label = trimmed_texts(label)
        column = as_type(schema.label, label, schema.label_type or "text", in_text_file, first)
        return with_labels(data, schema.label, column, first, request.unlabeled)
    except FileError as error:
        if not label_optional:
            raise
        return replace(data, notes=(*notes, f"labels are not used: {str(error).removesuffix(FILL_OR_DROP)}"))


def _check_columns(kind: str, columns: Mapping[str, Column]) -> None:
    if kind == "table":
        return
    if len(columns) > 1 and not any(one in FITTING_TYPES[kind] for one in SCALAR_TYPES):
        raise FileError(f"{kind} come from one column: choose it with object=, one of {listed(columns)}")
    for name, column in columns.items():
        if column.type not in FITTING_TYPES[kind]:
            row = int(np.argmax(~column.missing))
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
        matrix = as_matrix(columns, first)
        return matrix if kind == "vectors" else list(matrix)
    if column.has_gaps:
        raise FileError(f"column {name!r} has no value in row {first + int(np.argmax(column.missing))}")
    if kind == "strings":
        return column.cells.to_pylist()
    if kind == "sets":
        return [_set(name, row, cell) for row, cell in enumerate(column.to_list(), first)]
    if kind == "graphs":
        return [graph_of(i, graph) for i, graph in enumerate(column.to_list(), first)]
    arrays = _arrays(name, column, first)
    if kind == "series":
        return arrays
    width = len(arrays[0])
    odd = next((row for row, one in enumerate(arrays) if one.shape != (width,)), None)
    if odd is not None:
        raise FileError(
            f"column {name!r} has {len(arrays[odd])} numbers in row {first + odd} and {width} in row {first}: vectors "
            f"have equal lengths; read them as series (kind='series')"
        )
    return np.array(arrays)


def _set(name: str, row: int, items: Any) -> frozenset[Any]:
    try:
        return frozenset(items)
    except TypeError:
        raise wrong_cell(name, row, items, "the items of a set are texts or numbers, not lists or objects") from None


def _series(column: Column) -> Any:
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


def identifiers(columns: Mapping[str, Column], keep: Collection[str]) -> list[str]:
    """Return the columns that only name the rows: their values all differ, and their name or form says so."""
    found = [name for name, column in columns.items() if name not in keep and _is_identifier(name, column)]
    return found if len(found) < len(columns) else []


def _is_identifier(name: str, column: Column) -> bool:
    if len(column.cells) < FEWEST_TO_NOTE or column.type not in ("integer", "text"):
        return False
    # the row names of R, or the index of pandas, also of shuffled rows, and after it was written and read again
    is_named = re.fullmatch(r"Unnamed: 0(\.[0-9]+)*", name) or IDENTIFIER_NAME.fullmatch(name.strip())
    uuid = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    if column.ends[0] is None or column.cells.null_count or not (is_named or _all_match(column, uuid)):
        return False
    return bool(pc.count_distinct(column.cells).as_py() == len(column.cells))


def _all_match(column: Column, pattern: str) -> bool:
    return column.type == "text" and is_text(column.cells) and all_match(column.cells, pattern)


def _is_counting(column: Column) -> bool:
    """Tell whether a column of integers counts the rows up, from anywhere."""
    if column.type != "integer" or column.cells.null_count or column.cells[0] == column.cells[-1]:
        return False
    low, high = column.ends
    return bool(high - low == len(column.cells) - 1 and (np.diff(np.asarray(column.cells)) == 1).all())


def column_notes(columns: Mapping[str, Column], left_out: Sequence[str], text: Mapping[str, Any]) -> list[str]:
    """Return notes on identifiers left out, constants, row numbers, dates and marks; `text` has the cells of a file."""
    notes = [
        f"left out: column {name!r}, which only names the rows: all its values differ; keep={name!r} uses it"
        for name in left_out
    ]
    if len(columns) > 1 and len(next(iter(columns.values())).cells) >= FEWEST_TO_NOTE:
        constant = [name for name, column in columns.items() if _is_constant(column)]
        if constant:
            where = listed_columns(constant)
            notes.append(f"the same value in every row of {where}, used all the same; ignore= leaves a column out")
        notes += [
            f"column {name!r} counts the rows: if it says nothing else, leave it out with ignore={name!r}"
            for name, column in columns.items()
            if _is_counting(column)
        ]
    for name, column in columns.items():
        notes += _notes_on_cells(name, column, text.get(name))
    return notes


def _notes_on_cells(name: str, column: Column, text: Any) -> list[str]:
    """Return notes on a column of dates, of codes, and of numbers among which are other texts."""
    notes = []
    if _all_match(column, DATE_TEXT):
        notes.append(
            f"column {name!r} holds dates, which are compared as texts; replace it by numbers (days since a date, "
            f"month, weekday), or leave it out with ignore={name!r}"
        )
    elif column.type == "text" and (others := _other_texts(column.cells)):
        notes.append(f"column {name!r} is text, though most cells are numbers: {others}")
    if column.type == "integer" and _are_compact_dates(column):
        notes.append(
            f"column {name!r} holds dates such as {column.cells.drop_null()[0]}, which are compared as numbers: the "
            f"last day of a month is far from the next day; ignore={name!r} leaves it out"
        )
    if text is None or column.type not in NUMERIC:
        return notes
    if words := _marks(text):
        notes.append(f"{listed(words)} in column {name!r} of numbers counts as missing")
    place = pc.index(pc.match_substring_regex(text, CODE), True).as_py()
    if place >= 0:
        code = text[place].as_py()
        notes.append(
            f"column {name!r} has leading zeros, such as {code!r}, and is taken as numbers: if these are codes, "
            f"leave it out with ignore={name!r}, or put a letter before them"
        )
    return notes


def label_notes(name: str, column: Column, text: Any) -> list[str]:
    """Return notes on labels: on texts among numbers, words for no label, and spellings that make two classes of one.

    `text` are the labels as they are in a text file, if it is one.
    """
    if column.type in NUMERIC:
        words = [] if text is None else _marks(text)
        notes = [f"{listed(words)} is no label in column {name!r} of numbers"] if words else []
        if column.type == "number" and is_rounded(column, text):
            notes.append(
                f"label {name!r} holds integers that are rounded to floating point numbers, so that close ones become "
                f"equal: put a letter before them if they name classes"
            )
        return notes
    if column.type != "text" or hasattr(column.cells, "dictionary"):
        return []
    notes = []
    if text is not None and (example := blank_around(text)) is not None and example.strip():
        notes.append(f"blanks around labels are left out: {example!r} is {example.strip()!r}")
    if others := _other_texts(column.cells):
        notes.append(f"label {name!r} is text, though most cells are numbers: {others}")
    classes = pc.unique(column.cells.drop_null())
    distinct = classes.to_pylist() if len(classes) <= 1000 else []
    gaps = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "??", "unknown", "Unknown")
    if words := sorted({*gaps}.intersection(distinct)):
        notes.append(f"{listed(words)} is a class of label {name!r} like any other; missing={words[0]!r} changes that")
    folded: dict[str, str] = {}
    for one in distinct:
        twin = folded.setdefault(one.casefold(), one)
        if twin != one:
            notes.append(f"labels {twin!r} and {one!r} of {name!r} differ in case alone, and are two classes")
            break
    return notes


def _other_texts(cells: Any) -> str:
    """Return which texts are not numbers in a column where most are, and what to do; nothing for other columns."""
    if not is_text(cells):
        return ""
    known = cells.drop_null()
    some = known.take(pa.array(range(0, len(known), max(1, len(known) // 100)), pa.int64()))
    if 3 * pc.match_substring_regex(some, r"^\s*[-+\x{2212}]?[0-9]").true_count < len(some):
        return ""
    is_number = pc.match_substring_regex(known, r"^\s*[-+\x{2212}]?[0-9][0-9.,' ]*([eE][-+]?[0-9]+)?\s*$")
    others = known.filter(pc.invert(is_number))
    if not len(others) or 2 * len(others) > len(known):
        return ""
    first = others[0].as_py()
    row = pc.index(cells, others[0]).as_py()
    return (
        f"{len(others):,} of {len(known):,} are not, the first is {first!r} in row {row}; missing={first!r} counts "
        f"it as missing"
    )


def _are_compact_dates(column: Column) -> bool:
    """Tell whether all integers are dates such as 20240131, and more than one."""
    low, high = column.ends
    if low is None or not 19_000_101 <= low < high <= 21_001_231:
        return False
    return all_match(column.cells.cast("string"), "^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$")


def _is_constant(column: Column) -> bool:
    if isinstance(column.cells, list) or column.cells.null_count or column.cells[0] != column.cells[-1]:
        return False
    low, high = column.ends
    return low is not None and bool(low == high)


def _marks(cells: Any) -> list[str]:
    trimmed = pc.utf8_trim_whitespace(cells)
    return sorted(pc.unique(trimmed.filter(are_words(trimmed, GAP_MARKS))).to_pylist())
