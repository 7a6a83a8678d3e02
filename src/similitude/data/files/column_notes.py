"""Columns that rarely help a similarity: identifiers are left out, others are noted.

There are notes on constants, row numbers, dates, codes, and numbers among which are other texts; and on labels that may
be words for none, or one class in two spellings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from similitude.data.files.columns import (
    CODE,
    GAP_MARKS,
    Column,
    all_match,
    are_words,
    blank_around,
    is_rounded,
    is_text,
)
from similitude.data.files.file_errors import listed, listed_columns
from similitude.data.files.schema import NUMERIC
from similitude.data.limits import FEWEST_TO_NOTE, MOST_CLASSES

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

LABEL_GAP_WORDS = frozenset(("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "??", "unknown", "Unknown"))
"""Labels that often stand for a missing one."""


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
    low, high = column.ends
    month_and_day = "^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
    if (
        column.type == "integer"
        and low is not None
        and 19_000_101 <= low < high <= 21_001_231
        and all_match(column.cells.cast("string"), month_and_day)
    ):
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
    distinct = classes.to_pylist() if len(classes) <= MOST_CLASSES else []
    if words := sorted(LABEL_GAP_WORDS.intersection(distinct)):
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


def _is_constant(column: Column) -> bool:
    if isinstance(column.cells, list) or column.cells.null_count or column.cells[0] != column.cells[-1]:
        return False
    low, high = column.ends
    return low is not None and bool(low == high)


def _marks(cells: Any) -> list[str]:
    trimmed = pc.utf8_trim_whitespace(cells)
    return sorted(pc.unique(trimmed.filter(are_words(trimmed, GAP_MARKS))).to_pylist())
