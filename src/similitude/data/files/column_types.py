"""Columns of a file: their types, and the numbers and labels that they hold.

A column is an Arrow array, or a list of Python objects if Arrow has no type for them. Columns of CSV and TSV files are
text until :func:`parsed` looks at all of their cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import LARGEST_EXACT
from similitude.data.files.file_errors import import_optional, wrong_cell
from similitude.support import FileError

COLUMN_TYPES = {
    "integer": "numbers", "number": "numbers", "boolean": "true and false", "text": "text", "numbers":
    "lists of numbers", "channels": "lists of lists of numbers", "items": "lists", "graph": "graphs", "time": "times",
    "missing": "no values", "mixed": "values of several types", "other": "values of another type",
}  # fmt: skip
"""The types of columns, each with a description for messages."""

NUMERIC = ("integer", "number")

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Texts that are missing values in a column of numbers, as in pandas."""

UNKNOWN_NUMBERS = frozenset((*MISSING, "-", "--", "?", "\u2013", "\u2014", "\u2212"))
"""Texts that are missing values in a column of numbers: those of pandas, a dash, and a question mark."""

LONG_INTEGER = r"^\s*[-+]?[0-9]{16,}\s*$"
"""A text that is an integer which a floating point number may not hold."""

PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]*)?([eE][-+]?[0-9]+)?")
"""A number that is neither a code nor longer than floating point numbers hold."""

CODE = "^0[0-9]"
"""The beginning of a text that is a code of digits rather than a number."""

FILL_OR_DROP = ": fill it, or leave such rows out (unlabeled='drop')"
"""What to do about rows without a label, where labels are needed."""

TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

LIST_TYPES = {"integer": "numbers", "number": "numbers", "numbers": "channels", "missing": "items", "text": "items"}
"""The type of a column of lists by the type of their items."""

ARROW_TYPES = {"integer": "double", "number": "double", "boolean": "bool", "text": "string"}
"""The Arrow type of a column without values, by its type in an earlier batch or file."""


class Column(NamedTuple):
    """The type of a column (a key of `COLUMN_TYPES`), and its cells: an Arrow array or a list."""

    type: str
    cells: Any

    @property
    def missing(self) -> np.ndarray:
        """Which cells have no value."""
        if isinstance(self.cells, list):
            return np.array([cell is None for cell in self.cells], dtype=bool)
        return np.asarray(self.cells.is_null(nan_is_null=self.type == "number"), dtype=bool)

    def cell(self, row: int) -> Any:
        """Return one cell as a Python object; a time that Python cannot hold as the number that stands for it."""
        value = self.cells[row]
        try:
            return value.as_py() if hasattr(value, "as_py") else value
        except (OverflowError, ValueError):
            return value.value

    def to_list(self) -> list[Any]:
        """Return all cells as Python objects."""
        return self.cells if isinstance(self.cells, list) else self.cells.to_pylist()


def parsed(cells: Any) -> Column:
    """Return a column of text as numbers, or as booleans, if every cell is one; empty cells are missing.

    Cells of a workbook may be numbers already.
    """
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    if not is_text(cells):
        return typed(cells)
    numbers = as_numbers(cells)
    if numbers is not None:
        return numbers
    known = empty_as_missing(cells)
    if _is_all_missing(known):
        return Column("missing", known)
    if all(value in TRUTH for value in compute.unique(known.slice(0, 100)).drop_null().to_pylist()):
        values = compute.unique(known).drop_null().to_pylist()
        if all(value in TRUTH for value in values):
            true = pa.array([value for value in values if TRUTH[value]], known.type)
            return Column("boolean", compute.if_else(known.is_null(), None, compute.is_in(known, true)))
    return Column("text", known)


def _is_all_missing(cells: Any) -> bool:
    """Tell whether all texts of a column are empty, blank, or words for a missing number."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    if not all(one is None or one.strip() in UNKNOWN_NUMBERS for one in cells.slice(0, 20).to_pylist()):
        return False
    trimmed = compute.utf8_trim_whitespace(compute.fill_null(cells, ""))
    return compute.all(compute.is_in(trimmed, pa.array(sorted(UNKNOWN_NUMBERS), trimmed.type))).as_py() is not False


def as_label(cells: Any) -> Column:
    """Return a column of a text file as labels: numbers if all are numbers, else the texts without blanks around."""
    if not is_text(cells):
        return typed(cells)
    return as_numbers(cells) or Column("text", trimmed_texts(cells))


def is_text(cells: Any) -> bool:
    """Tell whether cells are an Arrow array of texts."""
    types = import_optional("pyarrow", "a table").types
    return not isinstance(cells, list) and (types.is_string(cells.type) or types.is_large_string(cells.type))


def trimmed_texts(cells: Any) -> Any:
    """Return texts without blanks around them, and as missing where nothing is left."""
    return empty_as_missing(import_optional("pyarrow.compute", "a table").utf8_trim_whitespace(cells))


def blank_around(cells: Any) -> str | None:
    """Return the first text with blanks around it, or None."""
    compute = import_optional("pyarrow.compute", "a table")
    found = cells.filter(compute.fill_null(compute.not_equal(cells, compute.utf8_trim_whitespace(cells)), False))
    return str(found[0].as_py()) if len(found) else None


def empty_as_missing(cells: Any) -> Any:
    """Return a column of text in which empty cells are missing."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    empty = compute.equal(cells, "")
    return compute.if_else(empty, pa.scalar(None, cells.type), cells) if compute.any(empty).as_py() else cells


def as_numbers(cells: Any) -> Column | None:
    """Return a column of text as numbers, or None if a cell is not a number or all are missing."""
    first = cells.slice(0, 20).to_pylist()
    if not all(map(may_be_number, first)):
        return None
    plain = _cast_to_numbers(cells, first) if all(may_be_number(one, ()) for one in first) else None
    if plain is not None and (plain.type == "integer" or not _has_nan(plain.cells)):  # "nan" is a missing value
        return plain
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    trimmed = compute.utf8_trim_whitespace(cells)
    missing = compute.is_in(trimmed, pa.array(sorted(UNKNOWN_NUMBERS), trimmed.type))
    known = compute.if_else(missing, pa.scalar(None, trimmed.type), trimmed)
    if known.null_count == len(known):
        return None
    if compute.any(compute.starts_with(known, "+")).as_py():
        known = compute.replace_substring_regex(known, r"^\+([0-9.])", r"\1")
    return _cast_to_numbers(known, known.slice(0, 20).to_pylist())


def number_type(cells: Sequence[str]) -> str | None:
    """Return the Arrow type of some cells if all are plain numbers that Arrow reads as Python does, or None.

    >>> number_type(["1", "2", ""]), number_type(["1.5", "NA"]), number_type(["007", "1"]), number_type(["-", "1"])
    ('int64', 'double', None, None)
    """
    known = [one.strip() for one in cells if one.strip() not in MISSING]
    if not known or not all(PLAIN_NUMBER.fullmatch(one) for one in known):
        return None
    return "int64" if all(one.removeprefix("-").isdigit() for one in known) else "double"


def _cast_to_numbers(cells: Any, first: Sequence[str | None]) -> Column | None:
    """Return texts as integers, or else as floating point numbers, or None if one is neither, or hexadecimal."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    may_be_integers = all(one is None or one.strip().lstrip("-").isdigit() for one in first)
    for name, stored in (("integer", pa.int64()), ("number", pa.float64()))[not may_be_integers :]:
        try:
            found = compute.cast(cells, stored)
        except pa.ArrowInvalid:
            continue
        is_hexadecimal = (
            name == "integer" and compute.any(compute.match_substring(cells, "x", ignore_case=True)).as_py()
        )
        return None if is_hexadecimal else Column(name, found)
    return None


def _has_nan(cells: Any) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    return bool(compute.any(compute.is_nan(cells)).as_py())


def may_be_number(value: str, missing_words: Collection[str] = UNKNOWN_NUMBERS) -> bool:
    """Tell whether a cell of a text file is a number, or a missing one."""
    if value.strip() in missing_words:
        return True
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value


def typed(cells: Any) -> Column:
    """Return a column of a JSON, Parquet or Arrow file with its type."""
    if isinstance(cells, list):
        return Column(_type_of_objects(cells), cells)
    pa = import_optional("pyarrow", "a table")
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = _valid_for_pandas(cells, pa.types)
    if cells.null_count == len(cells):
        return Column("missing", cells)
    if pa.types.is_decimal(cells.type):
        cells = cells.cast(pa.float64())
    return Column(_type_of_arrow(cells.type, pa.types), cells)


def _valid_for_pandas(cells: Any, types: Any) -> Any:
    """Return a dictionary array with distinct and known values, or what it stands for: Arrow allows others."""
    values = cells.dictionary
    if types.is_nested(values.type) or types.is_floating(values.type):
        return cells.dictionary_decode()
    if values.null_count or len(values.unique()) < len(values):
        return cells.dictionary_decode().dictionary_encode()
    return cells


def _type_of_arrow(stored: Any, types: Any) -> str:
    if types.is_dictionary(stored):
        return "text" if _type_of_arrow(stored.value_type, types) == "text" else "other"
    if types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored):
        return LIST_TYPES.get(_type_of_arrow(stored.value_type, types), "other")
    tests = {
        "integer": types.is_integer(stored),
        "number": types.is_floating(stored),
        "boolean": types.is_boolean(stored),
        "text": types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored),
        "time": types.is_temporal(stored),
        "missing": types.is_null(stored),
        "graph": types.is_struct(stored) and stored.get_field_index("edges") >= 0,
    }
    return next((name for name, holds in tests.items() if holds), "other")


def _type_of_objects(cells: list[Any]) -> str:
    known = [cell for cell in cells if cell is not None]
    if not known:
        return "missing"
    if all(isinstance(cell, dict) and "edges" in cell for cell in known):
        return "graph"
    return "items" if all(isinstance(cell, list) for cell in known) else "mixed"


def as_type(name: str, cells: Any, expected: str, in_text_file: bool, first: int) -> Column:
    """Return a column of an expected type, or raise and name the first cell of another type."""
    if not in_text_file:
        column = typed(cells)
    elif expected == "text" and not is_text(cells):  # numbers of a workbook
        column = Column("text", cells.cast("string"))
    elif expected == "text":
        column = Column("text", empty_as_missing(cells))
    else:
        column = parsed(cells)
        if expected in NUMERIC and column.type not in NUMERIC and is_text(cells):
            wrong = next((row for row, value in enumerate(cells.to_pylist()) if not may_be_number(value)), None)
            if wrong is not None:
                problem = "it is not a number, and the column held numbers before"
                raise wrong_cell(name, first + wrong, cells[wrong].as_py(), problem)
            column = Column("missing", cells)
    if not _is_compatible(column, expected):
        row = _first_other(column, expected)
        problem = f"it holds {COLUMN_TYPES[column.type]}, and held {COLUMN_TYPES[expected]} before"
        raise wrong_cell(name, first + row, column.cell(row), problem)
    if column.type == "missing" and expected in ARROW_TYPES:
        return Column("missing", import_optional("pyarrow", "a table").nulls(len(column.cells), ARROW_TYPES[expected]))
    if expected == "number" and column.type == "integer":
        return Column("number", as_doubles(column.cells))
    return column


def _is_compatible(column: Column, expected: str) -> bool:
    if column.type == expected or "missing" in (column.type, expected) or expected in ("mixed", "other"):
        return True
    if column.type == "items" and expected in ("numbers", "channels"):  # lists that are all empty have no type
        return not isinstance(column.cells, list) and str(column.cells.type.value_type) == "null"
    return column.type in NUMERIC and expected in NUMERIC


def _first_other(column: Column, expected: str) -> int:
    """Return the first row whose value has another type, in a column of several types."""
    types: dict[str, tuple[type, ...]] = {"text": (str,), "boolean": (bool,)}
    python = types.get(expected, (int, float) if expected in NUMERIC else None)
    rows = np.flatnonzero(~column.missing)
    if isinstance(column.cells, list) and python is not None:
        rows = np.array([row for row in rows if not isinstance(column.cells[row], python)] or rows)
    return int(rows[0])


def as_floats(name: str, column: Column, first: int) -> np.ndarray:
    """Return a column of numbers as floats; raise if one is missing or not finite."""
    missing = column.missing
    if missing.any():
        raise FileError(
            f"column {name!r} has no value in row {first + int(np.argmax(missing))}: vectors have no missing values; "
            f"fill the gap, or read rows as a table from the start (kind='table')"
        )
    values = np.asarray(as_doubles(column.cells), dtype=float)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise wrong_cell(name, first + row, float(values[row]), "vectors hold finite numbers")
    return values


def as_doubles(cells: Any) -> Any:
    """Return numbers as floating point numbers; integers beyond 2^53 are rounded (see `is_rounded`)."""
    return cells.cast("double", safe=False)


def is_rounded(column: Column, text: Any) -> bool:
    """Tell whether integers of a column are too large to be floating point numbers without rounding.

    `text` is the column as it is in a text file, if it is in one: integers beyond 2^63 are numbers by now.
    """
    compute = import_optional("pyarrow.compute", "a table")
    cells = column.cells.flatten() if column.type == "numbers" else column.cells
    if column.type not in (*NUMERIC, "numbers") or str(cells.type) == "halffloat":  # of which Arrow has no largest
        return False
    ends = compute.min_max(cells).as_py()
    if ends["min"] is None or max(-ends["min"], ends["max"]) <= LARGEST_EXACT:
        return False
    if isinstance(ends["max"], int):
        return True
    return text is not None and bool(compute.any(compute.match_substring_regex(text, LONG_INTEGER)).as_py())


def as_labels(name: str, column: Column, first: int) -> np.ndarray:
    """Return a column as labels; raise if labels are missing, and name the first row."""
    missing = column.missing
    if missing.any():
        raise FileError(
            f"the label {name!r} is missing in row {first + int(np.argmax(missing))}"
            f"{f' and {missing.sum() - 1} more' if missing.sum() > 1 else ''}{FILL_OR_DROP}"
        )
    if column.type not in (*NUMERIC, "boolean", "text"):
        raise FileError(f"the label {name!r} holds {COLUMN_TYPES[column.type]}: a label is a text or a number")
    if column.type == "text":
        coded = import_optional("pyarrow.compute", "a table").dictionary_encode(column.cells)
        return np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
    return np.array(column.cells)
