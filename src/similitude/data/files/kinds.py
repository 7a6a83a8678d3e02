"""Which columns are the objects, what kind of objects they are, and how both are said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from similitude.data.files.columns import CALLED, NUMERIC, Column, labels_of, plain_text, recognized, typed
from similitude.data.files.objects import check_fits, objects_of
from similitude.data.files.problems import listed, near, needed, unknown_column
from similitude.data.files.schema import KINDS, Schema
from similitude.support.errors import FileError

PANDAS_INDEX = re.compile("__index_level_[0-9]+__")
"""How pandas calls an index without a name in Parquet and Arrow files: it numbers the rows and describes none."""


class Wishes(NamedTuple):
    """What the user asks for: the columns of labels and objects, and the kind of objects."""

    label: str | None = None
    object: str | None = None
    kind: str | None = None

    def check(self) -> None:
        """Refuse an unknown kind, and a column that is both label and object."""
        if self.kind is not None and self.kind not in KINDS:
            raise FileError(f"there is no kind {self.kind!r}{near(self.kind, KINDS)}: it is one of {listed(KINDS)}")
        if self.label is not None and self.label == self.object:
            raise FileError(f"column {self.label!r} cannot be both the label and the object")


class Understood(NamedTuple):
    """How a file is read, the objects and labels of its first rows, and what is to be said."""

    schema: Schema
    objects: Any
    labels: np.ndarray | None
    said: tuple[str, ...]


def understood(cells: Mapping[str, Any], wishes: Wishes, is_text: bool) -> Understood:
    """Infer how to read a file from the columns of its first rows, or of all."""
    names = _feature_names(list(cells), wishes)
    empty = [name for name in names if _is_empty(cells[name], is_text)]
    if len(empty) == len(names):  # these are all there is
        empty = []
    names = [name for name in names if name not in empty]
    columns = _feature_columns({name: cells[name] for name in names}, wishes, is_text)
    kind, why = (wishes.kind, "") if wishes.kind is not None else _inferred(columns, is_text)
    check_fits(kind, columns)
    label = None
    if wishes.label is not None:
        label = _label_column(cells[wishes.label], is_text)
    objects = objects_of(kind, columns)
    schema = Schema(
        kind,
        wishes.label,
        None if label is None else label.type,
        wishes.object or (names[0] if len(names) == 1 else None),
        tuple(names),
        tuple(column.type for column in columns.values()),
        int(objects.shape[1]) if kind == "vectors" else None,
    )
    labels = None if label is None else labels_of(str(wishes.label), label, 0)
    said = (_said(kind, columns) + why, *_remarks(columns, list(cells), empty, wishes, is_text))
    return Understood(schema, objects, labels, said)


def _feature_names(names: Sequence[str], wishes: Wishes) -> list[str]:
    for name in (wishes.label, wishes.object):
        if name is not None and name not in names:
            raise unknown_column(name, names)
    if wishes.object is not None:
        return [wishes.object]
    features = [name for name in names if name != wishes.label and not PANDAS_INDEX.fullmatch(name)]
    if not features:
        raise FileError(f"there is no column beside the label {wishes.label!r}: nothing to learn from")
    return features


def _is_empty(cells: Any, is_text: bool) -> bool:
    """Tell whether a column has no value in any row, as the last one has where all lines end in a comma."""
    if isinstance(cells, list):
        return all(cell is None for cell in cells)
    compute = needed("pyarrow.compute", "a table")
    return bool(compute.all(compute.equal(cells, "")).as_py()) if is_text else cells.null_count == len(cells)


def _feature_columns(cells: Mapping[str, Any], wishes: Wishes, is_text: bool) -> dict[str, Column]:
    """Return the columns with what they hold; text that is asked for stays as it is."""
    if not is_text:
        return {name: typed(column) for name, column in cells.items()}
    if wishes.kind == "strings" and len(cells) == 1:
        return {name: Column("text", column) for name, column in cells.items()}
    columns = {name: recognized(column) for name, column in cells.items()}
    if len(columns) == 1 and wishes.kind is None:
        (name, column), (raw,) = next(iter(columns.items())), cells.values()
        if column.type in ("text", "boolean", "missing") or _has_leading_zeros(raw):
            return {name: Column("text", raw)}
    return columns


def _has_leading_zeros(cells: Any) -> bool:
    compute = needed("pyarrow.compute", "a table")
    return bool(compute.any(compute.match_substring_regex(cells, "^0[0-9]")).as_py())


def _label_column(cells: Any, is_text: bool) -> Column:
    """Return labels: numbers where all are, and else the text that stands there."""
    column = recognized(cells) if is_text else typed(cells)
    if not is_text or column.type in NUMERIC:
        return column
    return Column("text", plain_text(cells))


def _inferred(columns: Mapping[str, Column], is_text: bool) -> tuple[str, str]:
    """Return the kind of objects in these columns, and what to say where another one is possible."""
    if all(column.type in NUMERIC and not column.missing.any() for column in columns.values()):
        other = "; kind='strings' takes them as text" if is_text and len(columns) == 1 else ""
        return "vectors", other
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


def _said(kind: str, columns: Mapping[str, Column]) -> str:
    if kind != "table":
        return f"{'column' if len(columns) == 1 else 'columns'} {listed(columns)} as {kind}"
    held = Counter(CALLED[column.type] for column in columns.values())
    parts = ", ".join(f"{count} of {what}" for what, count in held.items())
    return f"columns {listed(columns)} as rows of a table: {parts}"


def _remarks(
    columns: Mapping[str, Column], names: Sequence[str], empty: Sequence[str], wishes: Wishes, is_text: bool
) -> list[str]:
    """Say what else a person may want to know: columns that are not used, not named, or without any value."""
    remarks = []
    ignored = [name for name in names if name not in columns and name not in (wishes.label, *empty)]
    if ignored:
        remarks.append(f"ignored: columns {listed(ignored)}")
    if empty:
        remarks.append(f"ignored: no value at all in {listed(empty)}")
    nameless = [name for name in columns if name.startswith("Unnamed: ")]
    if nameless:
        remarks.append(f"columns without a name are taken too, as {listed(nameless)}")
    if is_text and any("." in name for name in names) and all(_is_number(name) for name in names):
        remarks.append("the names of the columns are numbers: is the header missing?")
    if is_text and len(columns) > 1:
        remarks += _words_for_a_gap(columns)
    return remarks


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _words_for_a_gap(columns: Mapping[str, Column]) -> list[str]:
    """Say where a text that often stands for a missing value is a category."""
    compute, pa = needed("pyarrow.compute", "a table"), needed("pyarrow", "a table")
    remarks = []
    for name, column in columns.items():
        if column.type == "text":
            words = pa.array(["NA", "N/A", "NaN", "nan", "null", "NULL", "?"], column.cells.type)
            found = compute.unique(compute.filter(column.cells, compute.is_in(column.cells, words))).to_pylist()
            if found:
                remarks.append(f"{listed(found)} in column {name!r} is text as any other: only empty cells are missing")
    return remarks
