"""Columns of a file: what their cells are, and the numbers, texts and lists that they hold.

A column is an Arrow array, or a list of Python objects where Arrow has no type for them. Those of CSV and TSV are text
until :func:`recognized` looks at all of their cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from similitude.data.files.problems import needed, wrong_cell
from similitude.support.errors import FileError

NUMERIC = ("integer", "number")

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What counts as a missing value in a column of numbers in a text file, as pandas has it."""

TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

CALLED = {
    "integer": "numbers", "number": "numbers", "boolean": "true and false", "text": "text", "numbers":
    "lists of numbers", "channels": "lists of lists of numbers", "items": "lists", "graph": "graphs", "time": "times",
    "missing": "no values", "mixed": "values of several types", "other": "values of another type",
}  # fmt: skip
"""How the type of a column is called."""


STORED = {"integer": "double", "number": "double", "boolean": "bool", "text": "string"}
"""How Arrow stores a column that held something before and holds nothing now."""


class Column(NamedTuple):
    """What a column holds (a key of CALLED), and its cells: an Arrow array or a list."""

    type: str
    cells: Any

    @property
    def missing(self) -> np.ndarray:
        """Which cells hold no value."""
        if isinstance(self.cells, list):
            return np.array([cell is None for cell in self.cells], dtype=bool)
        return np.asarray(self.cells.is_null(nan_is_null=self.type == "number"), dtype=bool)

    def cell(self, row: int) -> Any:
        """Return one cell as a Python object."""
        value = self.cells[row]
        return value.as_py() if hasattr(value, "as_py") else value


def recognized(cells: Any) -> Column:
    """Return a column of text as numbers, or as true and false, where every cell is one; an empty cell is missing."""
    compute, pa = needed("pyarrow.compute", "a table"), needed("pyarrow", "a table")
    numbers = as_numbers(cells)
    if numbers is not None:
        return numbers
    known = plain_text(cells)
    if known.null_count == len(known):
        return Column("missing", known)
    if all(value in TRUTH for value in compute.unique(known.slice(0, 100)).drop_null().to_pylist()):
        values = compute.unique(known).drop_null().to_pylist()
        if all(value in TRUTH for value in values):
            true = pa.array([value for value in values if TRUTH[value]], known.type)
            return Column("boolean", compute.if_else(known.is_null(), None, compute.is_in(known, true)))
    return Column("text", known)


def plain_text(cells: Any) -> Any:
    """Return a column of text in which an empty cell is missing."""
    compute, pa = needed("pyarrow.compute", "a table"), needed("pyarrow", "a table")
    empty = compute.equal(cells, "")
    return compute.if_else(empty, pa.scalar(None, cells.type), cells) if compute.any(empty).as_py() else cells


def as_numbers(cells: Any) -> Column | None:
    """Return a column of text as numbers; None where one cell is none, or where there is no number at all."""
    compute, pa = needed("pyarrow.compute", "a table"), needed("pyarrow", "a table")
    if any(_is_no_number(value) for value in cells.slice(0, 20).to_pylist()):
        return None
    plain = compute.utf8_trim_whitespace(cells)
    missing = compute.is_in(plain, pa.array(MISSING, plain.type))
    known = compute.if_else(missing, pa.scalar(None, plain.type), plain)
    if known.null_count == len(known):
        return None
    if compute.any(compute.starts_with(known, "+")).as_py():
        known = compute.replace_substring_regex(known, r"^\+([0-9.])", r"\1")
    if compute.any(compute.match_substring(known, "x", ignore_case=True)).as_py():  # Arrow reads 0x10 as 16
        return None
    for name, stored in (("integer", pa.int64()), ("number", pa.float64())):
        try:
            return Column(name, compute.cast(known, stored))
        except pa.ArrowInvalid:
            continue
    return None


def _is_no_number(value: str) -> bool:
    if value.strip() in MISSING:
        return False
    try:
        float(value)
    except ValueError:
        return True
    return "_" in value


def typed(cells: Any) -> Column:
    """Return a column of JSON, Parquet or Arrow with what it holds."""
    if isinstance(cells, list):
        return Column(_type_of_objects(cells), cells)
    pa = needed("pyarrow", "a table")
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if cells.null_count == len(cells):
        return Column("missing", cells)
    if pa.types.is_decimal(cells.type):
        cells = cells.cast(pa.float64())
    return Column(_type_of_arrow(cells.type, pa.types), cells)


def _type_of_arrow(stored: Any, types: Any) -> str:
    if types.is_dictionary(stored):
        stored = stored.value_type
        return "text" if _type_of_arrow(stored, types) == "text" else "other"
    if types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored):
        inside = _type_of_arrow(stored.value_type, types)
        return {"integer": "numbers", "number": "numbers", "numbers": "channels", "missing": "items"}.get(
            inside, "items" if inside == "text" else "other"
        )
    tests = {
        "integer": types.is_integer(stored),
        "number": types.is_floating(stored),
        "boolean": types.is_boolean(stored),
        "text": types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored),
        "time": types.is_temporal(stored),
        "missing": types.is_null(stored),
        "graph": types.is_struct(stored) and stored.get_field_index("edges") >= 0,
    }
    return next((name for name, is_so in tests.items() if is_so), "other")


def _type_of_objects(cells: list[Any]) -> str:
    known = [cell for cell in cells if cell is not None]
    if not known:
        return "missing"
    if all(isinstance(cell, dict) and "edges" in cell for cell in known):
        return "graph"
    return "items" if all(isinstance(cell, list) for cell in known) else "mixed"


def demanded(name: str, cells: Any, wanted: str, is_text: bool, first: int) -> Column:
    """Return a column as what it held before, or name the first cell that is not."""
    column = _recognized_as(name, cells, wanted, first) if is_text else typed(cells)
    if not _is_same(column, wanted):
        row = _first_other(column, wanted)
        raise wrong_cell(
            name, first + row, column.cell(row), f"it holds {CALLED[column.type]}, and held {CALLED[wanted]} before"
        )
    if column.type == "missing" and wanted in STORED:
        return Column("missing", needed("pyarrow", "a table").nulls(len(column.cells), STORED[wanted]))
    if wanted == "number" and column.type == "integer":
        return Column("number", column.cells.cast("double"))
    return column


def _is_same(column: Column, wanted: str) -> bool:
    if column.type == wanted or "missing" in (column.type, wanted) or wanted in ("mixed", "other"):
        return True
    if column.type == "items" and wanted in ("numbers", "channels"):  # lists that are all empty have no type
        return not isinstance(column.cells, list) and str(column.cells.type.value_type) == "null"
    return column.type in NUMERIC and wanted in NUMERIC


def _first_other(column: Column, wanted: str) -> int:
    """Return the row of the first value that is not what is wanted, in a column of several types."""
    types: dict[str, tuple[type, ...]] = {"text": (str,), "boolean": (bool,)}
    python = types.get(wanted, (int, float) if wanted in NUMERIC else None)
    rows = np.flatnonzero(~column.missing)
    if isinstance(column.cells, list) and python is not None:
        rows = np.array([row for row in rows if not isinstance(column.cells[row], python)] or rows)
    return int(rows[0])


def _recognized_as(name: str, cells: Any, wanted: str, first: int) -> Column:
    if wanted not in ("text", *NUMERIC):
        return recognized(cells)
    if wanted == "text":
        return Column("text", plain_text(cells))
    numbers = as_numbers(cells)
    if numbers is not None:
        return numbers
    for row, value in enumerate(cells.to_pylist()):
        if _is_no_number(value):
            raise wrong_cell(name, first + row, value, "it is no number, and the column held numbers before")
    return Column("missing", cells)


def floats(name: str, column: Column, first: int) -> np.ndarray:
    """Return a column of numbers as floats; refuse a missing one."""
    missing = column.missing
    if missing.any():
        raise FileError(
            f"column {name!r} has no value in row {first + int(np.argmax(missing))}: vectors have none missing; fill "
            f"the gap, or have rows read as a table from the start (kind='table')"
        )
    values = np.asarray(column.cells.cast("double"), dtype=float)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise wrong_cell(name, first + row, float(values[row]), "vectors hold finite numbers")
    return values


def labels_of(name: str, column: Column, first: int) -> np.ndarray:
    """Return labels as they stand there; refuse a missing one, by row, and say how many are missing."""
    missing = column.missing
    if missing.any():
        raise FileError(
            f"the label {name!r} is missing in row {first + int(np.argmax(missing))}"
            f"{f' and {missing.sum() - 1} more' if missing.sum() > 1 else ''}: remove these rows or fill them"
        )
    if column.type not in (*NUMERIC, "boolean", "text"):
        raise FileError(f"the label {name!r} holds {CALLED[column.type]}: a label is a text or a number")
    if column.type == "text":
        coded = needed("pyarrow.compute", "a table").dictionary_encode(column.cells)
        return np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
    return np.array(column.cells)
