"""Numbers as people write them: decimal commas and thousands separators, in the columns of a text file.

A column is rewritten with decimal points only if every cell is a number, and only if the file leaves no doubt what a
comma means: ``1,5`` is a decimal, ``1,234,567`` has thousands separators, and ``1,234`` alone may be either. In a file
whose cells are separated by commas a decimal comma is not looked for: ``"1,5"`` may be two items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from similitude.data.files.column_types import UNKNOWN_NUMBERS
from similitude.data.files.file_errors import import_optional, listed
from similitude.support import FileError

GROUPS = " '’\u00a0\u202f"  # noqa: RUF001
"""Characters besides the point and the comma that separate thousands."""

SEPARATORS = f",{GROUPS}"
"""Characters that a plain number does not have."""


def _pattern(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal mark, perhaps with thousands separators."""
    mark, group = (re.escape(one) for one in (decimal, "." if decimal == "," else ","))
    whole = rf"[0-9]+|[1-9][0-9]{{0,2}}(?:(?P<group>[{group}{GROUPS}])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)"
    return re.compile(rf"[-+]?(?:(?:{whole})(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?")


NUMBER_PATTERNS = {mark: _pattern(mark) for mark in (".", ",")}
"""Patterns of numbers by their decimal mark."""


THOUSANDS = "points or spaces between thousands, in a file with decimal commas,"
"""How a note on a column begins whose numbers have no decimal comma themselves."""


class Spelling(NamedTuple):
    """How numbers are written in a file: the decimal mark, None if nothing but plain numbers is known, and notes."""

    decimal: str | None
    notes: tuple[str, ...] = ()


def check_decimal(given: str | None) -> None:
    """Raise unless the decimal mark is a point or a comma."""
    if given not in (None, ".", ","):
        raise FileError(f"decimal={given!r} must be '.' or ','")


def spelling(columns: Mapping[str, Any], separator: str, given: str | None, before: str | None = None) -> Spelling:
    """Return how numbers are written: as `given`, or by what the columns show, or as in a file `before`."""
    cells = {} if given is not None else _spelled(columns, SEPARATORS)
    if not cells:
        return Spelling(given)
    commas, points = (_shown(cells, *marks) for marks in ((",", "."), (".", ",")))
    if commas and not points:
        points = _shown(_spelled(columns, "."), ".", ",")
    if commas and points:
        return Spelling(
            None,
            (
                f"column {commas[0]!r} has numbers such as {commas[1]!r}, column {points[0]!r} such as {points[1]!r}: "
                f"those with a comma are taken as text; decimal= says what it means",
            ),
        )
    if commas and separator == ",":
        return Spelling(None, (f"column {commas[0]!r} is text such as {commas[1]!r}; decimal=',' makes it numbers",))
    if commas or points:
        return Spelling("," if commas else ".")
    doubtful = next(((name, one) for name, values in cells.items() for one in sorted(values) if "," in one), None)
    if doubtful is None or before is not None:
        return Spelling(None if doubtful is None else before)
    name, one = doubtful
    numbers = f"decimal='.' makes it {_plain(one, '.')}, decimal=',' {_plain(one, ',')}"
    return Spelling(None, (f"column {name!r} is text such as {one!r}: {numbers}",))


def _spelled(columns: Mapping[str, Any], marks: str) -> dict[str, set[str]]:
    """Return the distinct cells of columns that hold numbers alone, in any spelling, some of them with such marks."""
    compute = import_optional("pyarrow.compute", "a table")
    found = {}
    for name, column in columns.items():
        if not all(map(_is_number, column.slice(0, 20).to_pylist())):
            continue
        trimmed = compute.utf8_trim_whitespace(column)
        if not compute.any(compute.match_substring_regex(trimmed, f"[{marks}]")).as_py():
            continue
        values = set(compute.unique(trimmed).to_pylist()) - UNKNOWN_NUMBERS
        if values and all(map(_is_number, values)):
            found[name] = values
    return found


def _shown(cells: Mapping[str, set[str]], mark: str, other: str) -> tuple[str, str] | None:
    """Return a column and a number in it that has this decimal mark, or separators that the other mark excludes."""
    for name, values in cells.items():
        for one in sorted(values):
            if (
                ("," in one or "." in one)
                and NUMBER_PATTERNS[mark].fullmatch(one)
                and not NUMBER_PATTERNS[other].fullmatch(one)
            ):
                return name, one
    return None


def _is_number(value: str | None) -> bool:
    """Tell whether a cell is a number in some spelling, or missing."""
    if value is None or value.strip() in UNKNOWN_NUMBERS:
        return True
    return any(pattern.fullmatch(value.strip()) for pattern in NUMBER_PATTERNS.values())


def plain_numbers(
    columns: Mapping[str, Any], decimal: str | None, names: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return columns of text in which numbers are rewritten with decimal points, and notes on what was rewritten."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    mark = decimal or "."
    doubtful = ", " if decimal is None else ""  # what has no meaning as long as the decimal mark is not known
    cells = _spelled({name: columns[name] for name in names}, SEPARATORS + ("." if mark == "," else ""))
    found, examples = dict(columns), {}
    for name, values in cells.items():
        if not all(NUMBER_PATTERNS[mark].fullmatch(one) and not set(doubtful) & set(one) for one in values):
            continue
        plain = {one: _plain(one, mark) for one in values}
        coded = compute.dictionary_encode(compute.utf8_trim_whitespace(columns[name]))
        words = pa.array([plain.get(one, one) for one in coded.dictionary.to_pylist()], coded.dictionary.type)
        found[name] = pa.DictionaryArray.from_arrays(coded.indices, words).dictionary_decode()
        changed = sorted((one for one in values if one != plain[one]), key=lambda one: ("," not in one, one))
        examples[name] = changed[0], plain[changed[0]]
    notes = []
    for what, has_comma in (("decimal commas" if mark == "," else "thousands separators", True), (THOUSANDS, False)):
        some = {name: one for name, one in examples.items() if (mark == "." or "," in one[0]) == has_comma}
        if some:
            written, meant = next(iter(some.values()))
            where = f"{'column' if len(some) == 1 else 'columns'} {listed(some)}"
            notes.append(f"{what} in {where}: {written!r} is {meant} (decimal= chooses otherwise)")
    return found, notes


def _plain(value: str, decimal: str) -> str:
    """Return a number with a decimal point and without thousands separators.

    >>> _plain("1.234,5", ","), _plain("1,234.5", ".")
    ('1234.5', '1234.5')
    """
    group = "." if decimal == "," else ","
    return value.translate({ord(one): None for one in group + GROUPS}).replace(decimal, ".")


def check_points(columns: Mapping[str, Any]) -> None:
    """Raise if points may separate thousands: of a file whose decimal mark is not known, after one with commas."""
    for name, values in _spelled(columns, ".").items():
        if all(NUMBER_PATTERNS[","].fullmatch(one) for one in values):
            one = min(one for one in values if "." in one)
            raise FileError(
                f"column {name!r} has {one!r}, and the file before had decimal commas: decimal=',' makes it "
                f"{_plain(one, ',')}, decimal='.' {one}"
            )
