"""Columns that rarely help a similarity: identifiers are left out, and constants, row numbers and dates are noted."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from similitude.data.files.column_types import NUMERIC, UNKNOWN_NUMBERS, Column
from similitude.data.files.file_errors import import_optional, listed

FEWEST_TO_NOTE = 10
"""Rows below which values may all differ, or all be equal, by accident."""

IDENTIFIER_NAME = re.compile(
    r"(?i:id|uuid|guid|index|idx|row|row[ _.-]?(id|names?|nr|no|numbers?))|(?i:.*[ _.-](id|uuid|guid))|.*[a-z0-9]I[dD]"
)
"""Names of columns that identify rows."""

UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

DATE_TEXT = (
    r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2}))"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*(Z|[-+][0-9]{2}:?[0-9]{2})?)?\s*$"
)
"""A date, perhaps with a time."""

DNA = frozenset("ACGTUNRYKMSWBDHV-*.")
"""The letters of nucleic acids, those that stand for several among them."""

SHORTEST_DNA = 5
"""Letters of the longest string at least: shorter ones may be categories."""

MOST_TESTED = 1000
"""Strings of a file that are looked at for their case."""


def identifiers(columns: Mapping[str, Column], keep: Collection[str]) -> list[str]:
    """Return the columns that only name the rows: their values all differ, and their name or form says so."""
    found = [name for name, column in columns.items() if name not in keep and _is_identifier(name, column)]
    return found if len(found) < len(columns) else []


def _is_identifier(name: str, column: Column) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    if len(column.cells) < FEWEST_TO_NOTE or column.type not in ("integer", "text") or not _all_differ(column):
        return False
    if name == "Unnamed: 0":  # the row names of R, or the index of pandas
        return column.type == "text" or _is_counting(column)
    if column.type == "text" and compute.all(compute.match_substring_regex(column.cells, UUID)).as_py():
        return True
    return IDENTIFIER_NAME.fullmatch(name.strip()) is not None


def _is_hashable(column: Column) -> bool:
    """Tell whether Arrow can count the distinct values of a column."""
    is_plain = column.type in (*NUMERIC, "text", "boolean") and not isinstance(column.cells, list)
    return is_plain and not hasattr(column.cells, "dictionary") and str(column.cells.type) != "halffloat"


def _all_differ(column: Column) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    if not _is_hashable(column) or column.cells.null_count:
        return False
    return bool(compute.count_distinct(column.cells).as_py() == len(column.cells))


def _is_counting(column: Column) -> bool:
    """Tell whether a column of integers counts the rows up, from anywhere."""
    compute = import_optional("pyarrow.compute", "a table")
    ends = compute.min_max(column.cells).as_py()
    if ends["max"] - ends["min"] != len(column.cells) - 1:
        return False
    later, earlier = column.cells.slice(1), column.cells.slice(0, len(column.cells) - 1)
    return bool(compute.all(compute.greater(later, earlier)).as_py())


def column_notes(columns: Mapping[str, Column], left_out: Sequence[str], text: Mapping[str, Any]) -> list[str]:
    """Return notes on identifiers that were left out, and on constants, row numbers, dates and marks for no value.

    `text` holds the cells as they are in a text file, if it is one.
    """
    notes = [
        f"left out: column {name!r}, which only names the rows: all its values differ; keep={name!r} uses it"
        for name in left_out
    ]
    if len(columns) > 1:
        constant = [name for name, column in columns.items() if _is_constant(column)]
        if constant:
            where = f"{'column' if len(constant) == 1 else 'columns'} {listed(constant)}"
            notes.append(f"the same value in every row of {where}, used all the same; ignore= leaves a column out")
        notes += [
            f"column {name!r} counts the rows: if it says nothing else, leave it out with ignore={name!r}"
            for name, column in columns.items()
            if column.type == "integer" and _all_differ(column) and len(column.cells) >= FEWEST_TO_NOTE
            if _is_counting(column)
        ]
        notes += [
            f"column {name!r} holds dates, which are compared as texts; replace it by numbers (days since a date, "
            f"month, weekday), or leave it out with ignore={name!r}"
            for name, column in columns.items()
            if column.type == "text" and _all_match(column, DATE_TEXT)
        ]
    for name, column in columns.items():
        if name in text and column.type in NUMERIC and (words := _marks(text[name])):
            notes.append(f"{listed(words)} in column {name!r} of numbers counts as missing")
    return notes


def _is_constant(column: Column) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    if len(column.cells) < FEWEST_TO_NOTE or not _is_hashable(column) or column.cells.null_count:
        return False
    ends = compute.min_max(column.cells).as_py()
    return bool(ends["min"] == ends["max"])


def _all_match(column: Column, pattern: str) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    if not _is_hashable(column) or not _first_match(column, pattern):
        return False
    return bool(compute.all(compute.match_substring_regex(column.cells, pattern)).as_py())


def _first_match(column: Column, pattern: str) -> bool:
    return all(one is None or re.search(pattern, one) for one in column.cells.slice(0, 20).to_pylist())


def _marks(cells: Any) -> list[str]:
    """Return the dashes and question marks of a column of numbers."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    marks = sorted(one for one in UNKNOWN_NUMBERS if not any(map(str.isalnum, one)) and one)
    trimmed = compute.utf8_trim_whitespace(cells)
    found = compute.filter(trimmed, compute.is_in(trimmed, pa.array(marks, trimmed.type)))
    return sorted(compute.unique(found).to_pylist())


def case_of_dna(strings: Sequence[Any]) -> str:
    """Return whether DNA is in "upper", "lower" or "mixed" case; nothing for other strings.

    >>> case_of_dna(["acgtt", "ttga"]), case_of_dna(["ACGTT", "ttga"]), case_of_dna(["a word"])
    ('lower', 'mixed', '')
    """
    first = [one for one in strings[:MOST_TESTED] if isinstance(one, str)]
    letters = set().union(*map(set, first))
    if max(map(len, first), default=0) < SHORTEST_DNA or not {one.upper() for one in letters} <= DNA:
        return ""
    if len(strings) > MOST_TESTED:
        letters |= set().union(*(set(one) for one in strings if isinstance(one, str)))
    cases = {one.isupper() for one in letters if one.isalpha()}
    return "mixed" if len(cases) > 1 else "upper" if True in cases else "lower"
