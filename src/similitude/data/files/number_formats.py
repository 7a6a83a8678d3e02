"""Numbers as people write them: decimal commas, thousands separators and units, in the columns of a text file.

A column is rewritten with decimal points only if every cell is a number, and only if the file leaves no doubt what a
comma means: ``1,5`` is a decimal, ``1,234,567`` has thousands separators, and ``1,234`` alone may be either. In a file
whose cells are separated by commas a decimal comma is not looked for: ``"1,5"`` may be two items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from similitude.data.files.column_types import UNKNOWN_NUMBERS, is_text
from similitude.data.files.file_errors import import_optional, listed
from similitude.support import FileError

GROUPS = " '’\u00a0\u2009\u202f"  # noqa: RUF001
"""Characters besides the point and the comma that separate thousands."""

MINUS = "\u2212"
"""The minus sign of typesetters, which is not the one of keyboards."""

BLANKS = f"[\\s{GROUPS[2:]}]*"
"""Blanks between a number and its unit."""

NUMBER_WITH_UNIT = re.compile(
    rf"(?P<before>[$€£¥]|[A-Z]{{3}}(?=\s))?{BLANKS}(?P<number>[-+{MINUS}]?[0-9.,].*?){BLANKS}"
    rf"(?P<after>[%‰°$€£¥µμa-zA-Z]\S{{0,7}})?"
)
"""A number with a currency before it, or with a percent sign, a currency or another unit after it."""


def _pattern(decimal: str) -> str:
    """Return the pattern of a number with this decimal mark, perhaps with thousands separators of one kind."""
    mark, group = (re.escape(one) for one in (decimal, "." if decimal == "," else ","))
    grouped = "|".join(f"(?:{one}[0-9]{{3}})+" for one in (group, *GROUPS))
    indian = "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}" if decimal == "." else ""
    whole = f"[0-9]+|[1-9][0-9]{{0,2}}(?:{grouped}){indian}"
    return f"(?:[-+{MINUS}]?(?:(?:{whole})(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?)"


NUMBER_PATTERNS = {mark: _pattern(mark) for mark in (".", ",")}
"""Patterns of numbers by their decimal mark."""

ANY_NUMBER = re.compile("|".join(NUMBER_PATTERNS.values()))
"""A number with either decimal mark."""

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


def spelling(
    columns: Mapping[str, Any],
    plain: Mapping[str, Any],
    separator: str,
    given: str | None,
    before: str | None = None,
) -> Spelling:
    """Return how numbers are written: as `given`, or by what the columns show, or as in a file `before`.

    `plain` are the columns whose cells are numbers as Python writes them.
    """
    if given is not None:
        return Spelling(given)
    cells = _spelled(columns)
    if not cells:
        return Spelling(None, _points_notes(plain) if separator == ";" and before is None else ())
    commas, points = (_shown(cells, *marks) for marks in ((",", "."), (".", ",")))
    if not points:
        points = _shown(_spelled(plain), ".", ",")
    if commas and points:
        return Spelling(
            None,
            (
                f"column {commas[0]!r} has numbers such as {commas[1]!r}, column {points[0]!r} such as {points[1]!r}: "
                f"those with a comma are taken as text; decimal= says what it means",
            ),
        )
    if commas and separator == "," and "," in commas[1]:
        return Spelling(None, (f"column {commas[0]!r} is text such as {commas[1]!r}; decimal=',' makes it numbers",))
    if commas or points:
        return Spelling("," if commas else ".")
    doubtful = _first_doubtful(cells)
    if doubtful is None or before is not None:
        return Spelling(None if doubtful is None else before)
    name, one = doubtful
    comma = f", decimal=',' {_plain(one, ',')}" if "," in one else ""
    return Spelling(None, (f"column {name!r} is text such as {one!r}: decimal='.' makes it {_plain(one, '.')}{comma}",))


def _points_notes(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Note points that may separate thousands, in a file whose semicolons let one expect decimal commas."""
    compute = import_optional("pyarrow.compute", "a table")
    for name, values in _spelled(columns).items():
        pointed = values.filter(compute.match_substring(values, "."))
        if len(pointed) and _all_match(pointed, NUMBER_PATTERNS[","]):
            one = compute.min(pointed).as_py()
            return (f"column {name!r} has {one!r}, taken as {float(one):g}: decimal=',' makes it {_plain(one, ',')}",)
    return ()


def _spelled(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of columns that hold numbers alone, in any spelling, without missing ones."""
    found = {}
    for name, column in columns.items():
        if is_text(column) and all(map(_is_number, column.slice(0, 20).to_pylist())):
            values = _known(column)
            if len(values) and _all_match(values, ANY_NUMBER.pattern):
                found[name] = values
    return found


def _known(column: Any) -> Any:
    """Return the cells that are not missing, without blanks around them."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    trimmed = compute.utf8_trim_whitespace(column)
    return trimmed.filter(compute.invert(compute.is_in(trimmed, pa.array(sorted(UNKNOWN_NUMBERS), trimmed.type))))


def _all_match(values: Any, pattern: str) -> bool:
    compute = import_optional("pyarrow.compute", "a table")
    return compute.all(compute.match_substring_regex(values, f"^(?:{pattern})$")).as_py() is not False


def _shown(cells: Mapping[str, Any], mark: str, other: str) -> tuple[str, str] | None:
    """Return a column and a number in it that has this decimal mark, or separators that the other mark excludes."""
    compute = import_optional("pyarrow.compute", "a table")
    for name, values in cells.items():
        marked = values.filter(compute.match_substring_regex(values, "[.,]"))
        excluded = compute.invert(compute.match_substring_regex(marked, f"^{NUMBER_PATTERNS[other]}$"))
        if len(found := marked.filter(excluded)):
            return name, compute.min(found).as_py()
    return None


def _first_doubtful(cells: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a column and a number in it whose comma or blank may mean one thing or another."""
    compute = import_optional("pyarrow.compute", "a table")
    for name, values in cells.items():
        if len(found := values.filter(compute.match_substring_regex(values, "[, ]"))):
            return name, compute.min(found).as_py()
    return None


def _is_number(value: str | None) -> bool:
    """Tell whether a cell is a number in some spelling, or missing."""
    return value is None or value.strip() in UNKNOWN_NUMBERS or ANY_NUMBER.fullmatch(value.strip()) is not None


def looks_like_numbers(cells: Iterable[str]) -> bool:
    """Tell whether some cells are numbers in some spelling, perhaps with a unit.

    >>> looks_like_numbers(["1,5", "2", ""]), looks_like_numbers(["5 kg"]), looks_like_numbers(["red"])
    (True, True, False)
    """
    known = [one for one in cells if one.strip() not in UNKNOWN_NUMBERS]
    return bool(known) and (all(map(_is_number, known)) or _common_unit(known) is not None)


def plain_numbers(
    columns: Mapping[str, Any], decimal: str | None, names: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return columns of text in which numbers are rewritten with decimal points, and notes on what was rewritten."""
    pa, compute = import_optional("pyarrow", "a table"), import_optional("pyarrow.compute", "a table")
    mark = decimal or "."
    found, examples = dict(columns), {}
    for name, values in _spelled({name: columns[name] for name in names}).items():
        unusual = "[^0-9eE+-]" if mark == "," else "[^0-9eE.+-]"
        changed = values.filter(compute.match_substring_regex(values, unusual))
        doubtful = decimal is None and compute.any(compute.match_substring_regex(changed, "[, ]")).as_py()
        if not len(changed) or doubtful or not _all_match(values, NUMBER_PATTERNS[mark]):
            continue
        trimmed = compute.utf8_trim_whitespace(columns[name])
        missing = compute.is_in(trimmed, pa.array(sorted(UNKNOWN_NUMBERS), trimmed.type))
        found[name] = compute.if_else(missing, trimmed, _plain_cells(trimmed, mark))
        commas = changed.filter(compute.match_substring(changed, ","))
        written = compute.min(commas if len(commas) else changed).as_py()
        examples[name] = written, _plain(written, mark)
    notes = []
    kinds = {name: _what_is_unusual(written, mark) for name, (written, _) in examples.items()}
    for what in dict.fromkeys(kinds.values()):
        some = {name: one for name, one in examples.items() if kinds[name] == what}
        written, meant = next(iter(some.values()))
        where = f"{'column' if len(some) == 1 else 'columns'} {listed(some)}"
        notes.append(f"{what} in {where}: {written!r} is {meant} (decimal= chooses otherwise)")
    return found, notes


def _what_is_unusual(written: str, mark: str) -> str:
    """Return what a number has that Python's numbers do not."""
    if mark == "," and "," in written:
        return "decimal commas"
    if not any(one in written for one in f".,{GROUPS}".replace(mark, "")):
        return "minus signs of typesetters"
    return THOUSANDS if mark == "," else "thousands separators"


def _plain_cells(cells: Any, decimal: str) -> Any:
    """Return numbers with decimal points and without thousands separators, as `_plain` does with one."""
    compute = import_optional("pyarrow.compute", "a table")
    group = "." if decimal == "," else ","
    without = compute.replace_substring_regex(cells, f"[{group}{GROUPS}]", "")
    return compute.replace_substring(compute.replace_substring(without, decimal, "."), MINUS, "-")


def _plain(value: str, decimal: str) -> str:
    """Return a number with a decimal point and without thousands separators.

    >>> _plain("1.234,5", ","), _plain("1,234.5", ".")
    ('1234.5', '1234.5')
    """
    group = "." if decimal == "," else ","
    return value.translate({ord(one): None for one in group + GROUPS}).replace(decimal, ".").replace(MINUS, "-")


def without_units(columns: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return columns of text in which all numbers have the same unit, a percent sign or a currency, without it."""
    compute = import_optional("pyarrow.compute", "a table")
    found, notes = dict(columns), []
    for name, column in columns.items():
        if not is_text(column) or (unit := _common_unit(column.slice(0, 20).to_pylist())) is None:
            continue
        before, after = map(re.escape, unit)
        pattern = f"^\\s*(?:{before}){BLANKS}(.*?){BLANKS}(?:{after})\\s*$"
        values = _known(column)
        numbers = compute.replace_substring_regex(values, pattern, r"\1")
        if compute.all(compute.match_substring_regex(values, pattern)).as_py() and _all_match(
            numbers, ANY_NUMBER.pattern
        ):
            found[name] = compute.replace_substring_regex(column, pattern, r"\1")
            written = values[0].as_py()
            notes.append(f"the unit {''.join(unit)!r} of column {name!r} is left out: {written!r} is a number")
    return found, notes


def _common_unit(cells: Iterable[str | None]) -> tuple[str, str] | None:
    """Return what stands before and after all numbers; None if nothing does, or not the same.

    >>> _common_unit(["5 kg", "7.5 kg", "NA"]), _common_unit(["5 kg", "5 g"]), _common_unit(["5", "6"])
    (('', 'kg'), None, None)
    """
    known = [one.strip() for one in cells if one is not None and one.strip() not in UNKNOWN_NUMBERS]
    matches = [NUMBER_WITH_UNIT.fullmatch(one) for one in known]
    units = {None if one is None else (one["before"] or "", one["after"] or "") for one in matches}
    unit = units.pop() if len(units) == 1 else None
    return None if unit in (None, ("", "")) else unit


def check_points(columns: Mapping[str, Any]) -> None:
    """Raise if points may separate thousands: of a file whose decimal mark is not known, after one with commas."""
    compute = import_optional("pyarrow.compute", "a table")
    for name, values in _spelled(columns).items():
        pointed = values.filter(compute.match_substring(values, "."))
        if len(pointed) and _all_match(values, NUMBER_PATTERNS[","]):
            one = compute.min(pointed).as_py()
            raise FileError(
                f"column {name!r} has {one!r}, and the file before had decimal commas: decimal=',' makes it "
                f"{_plain(one, ',')}, decimal='.' {one}"
            )
