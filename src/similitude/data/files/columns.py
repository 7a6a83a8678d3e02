"""Columns of a file: their types, and the numbers and labels that they hold, as people write them.

A column is an Arrow array, or a list of Python objects if Arrow has no type for them. Numbers in text are rewritten
with decimal points only if every cell of the column is a number, and the file leaves no doubt what a comma means:
``1,5`` is a decimal, ``1,234,567`` has thousands separators, and ``1,234`` alone may be either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from similitude.compute import LARGEST_EXACT
from similitude.data.files.file_errors import listed_columns, wrong_cell
from similitude.data.files.schema import COLUMN_TYPES, NUMERIC
from similitude.support import FileError

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Texts that are missing values in a column of numbers, as in pandas."""

GAP_MARKS = ("-", "--", "?", "\u2013", "\u2014", "\u2212")
"""A dash, and a question mark, where there is no number."""

UNKNOWN_NUMBERS = frozenset((*MISSING, *GAP_MARKS))
"""Texts that are missing values in a column of numbers: those of pandas, a dash, and a question mark."""

CODE = "^0[0-9]"
"""The beginning of a text that is a code of digits rather than a number."""

FILL_OR_DROP = ": fill it, or leave such rows out (unlabeled='drop')"
"""What to do about rows without a label, where labels are needed."""

TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

GROUP_MARK = {".": ",", ",": "."}
"""The mark that separates thousands, by the decimal mark."""

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


NUMBER_PATTERNS = {}
"""Patterns of numbers by their decimal mark, perhaps with thousands separators of one kind."""

for _mark, _indian in ((".", "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"), (",", "")):
    _grouped = "|".join(f"(?:{re.escape(_one)}[0-9]{{3}})+" for _one in (GROUP_MARK[_mark], *GROUPS))
    _whole = f"[0-9]+|[1-9][0-9]{{0,2}}(?:{_grouped}){_indian}"
    _number = f"(?:{_whole})(?:[{_mark}][0-9]*)?|[{_mark}][0-9]+"
    NUMBER_PATTERNS[_mark] = f"(?:[-+{MINUS}]?(?:{_number})(?:[eE][-+]?[0-9]+)?)"

ANY_NUMBER = re.compile("|".join(NUMBER_PATTERNS.values()))
"""A number with either decimal mark."""

DIGIT = re.compile("[0-9]")


class Column:
    """The type of a column (a key of `COLUMN_TYPES`), and its cells: an Arrow array or a list."""

    def __init__(self, type: str, cells: Any) -> None:
        self.type = type
        self.cells = cells

    @property
    def missing(self) -> np.ndarray:
        """Which cells have no value."""
        if isinstance(self.cells, list):
            return np.array([cell is None for cell in self.cells], dtype=bool)
        return np.asarray(self.cells.is_null(nan_is_null=self.type == "number"), dtype=bool)

    @property
    def has_gaps(self) -> bool:
        """Whether a cell has no value."""
        if isinstance(self.cells, list):
            return None in self.cells
        return bool(pc.any(self.cells.is_null(nan_is_null=self.type == "number")).as_py())

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """The smallest and the largest value; None if there are none, or if Arrow cannot compare them."""
        if self.type not in (*NUMERIC, "text", "boolean") or self.cells.type == pa.float16():
            return None, None
        if hasattr(self.cells, "dictionary"):
            return None, None
        found = pc.min_max(self.cells)
        return found["min"].as_py(), found["max"].as_py()

    def cell(self, row: int) -> Any:
        """Return one cell as a Python object; a time that Python cannot hold as the number that stands for it."""
        value = self.cells[row]
        if isinstance(self.cells, list):
            return value
        try:
            return value.as_py()
        except (OverflowError, ValueError):
            return value.value

    def to_list(self) -> list[Any]:
        """Return all cells as Python objects."""
        return self.cells if isinstance(self.cells, list) else self.cells.to_pylist()


def parsed(cells: Any) -> Column:
    """Return a column of text as numbers, or booleans, if every cell is one; workbooks may have numbers already."""
    if not is_text(cells):
        return typed(cells)
    numbers = as_numbers(cells)
    if numbers is not None:
        return numbers
    known = {*cells.slice(0, 20).to_pylist()} - UNKNOWN_NUMBERS
    texts = empty_as_missing(cells)
    if not {*map(str.strip, known)} - UNKNOWN_NUMBERS:
        unknown = are_words(pc.utf8_trim_whitespace(texts), ("", *UNKNOWN_NUMBERS))
        if pc.all(unknown).as_py() is not False:
            return Column("missing", texts)
    if known <= TRUTH.keys():
        values = {*pc.unique(texts).drop_null().to_pylist()}
        if values and values <= TRUTH.keys():
            true = pa.array([value for value in values if TRUTH[value]], texts.type)
            return Column("boolean", pc.if_else(texts.is_null(), None, pc.is_in(texts, true)))
    return Column("text", texts)


def are_words(cells: Any, words: Iterable[str]) -> Any:
    """Return which texts are among some words, null where there is no text."""
    return pc.if_else(cells.is_null(), None, pc.is_in(cells, pa.array(list(words), cells.type)))


def is_text(cells: Any) -> bool:
    """Tell whether cells are an Arrow array of texts."""
    return not isinstance(cells, list) and cells.type in (pa.string(), pa.large_string())


def as_texts(cells: Any) -> Any:
    """Return a column as it is in a text file; a workbook may have numbers."""
    return cells if is_text(cells) else cells.cast("string")


def trimmed_texts(cells: Any) -> Any:
    """Return texts without blanks around them, and as missing where nothing is left."""
    return empty_as_missing(pc.utf8_trim_whitespace(cells))


def blank_around(cells: Any) -> str | None:
    """Return the first text with blanks around it, or None."""
    found = cells.filter(pc.not_equal(cells, pc.utf8_trim_whitespace(cells)))
    return str(found[0].as_py()) if len(found) else None


def empty_as_missing(cells: Any) -> Any:
    """Return a column of text in which empty cells are missing."""
    empty = pc.equal(cells, "")
    if not pc.any(empty).as_py():
        return cells
    return pc.if_else(empty, pa.scalar(None, cells.type), cells)


def as_numbers(cells: Any) -> Column | None:
    """Return a column of text as numbers, or None if a cell is not a number or all are missing."""
    first = cells.slice(0, 20).to_pylist()
    if not all(map(may_be_number, first)):
        return None
    if all(may_be_number(one, ()) for one in first):
        plain = _cast_to_numbers(cells, first)
        if plain is not None and not plain.has_gaps:  # "nan" is a missing value
            return plain
    trimmed = pc.utf8_trim_whitespace(cells)
    known = pc.if_else(are_words(trimmed, UNKNOWN_NUMBERS), pa.scalar(None, trimmed.type), trimmed)
    if known.null_count == len(known):
        return None
    if pc.any(pc.starts_with(known, "+")).as_py():
        known = pc.replace_substring_regex(known, r"^\+([0-9.])", r"\1")
    return _cast_to_numbers(known, known.slice(0, 20).to_pylist())


def _cast_to_numbers(cells: Any, first: Sequence[str | None]) -> Column | None:
    """Return texts as integers, or else as floating point numbers, or None if one is neither, or hexadecimal."""
    may_be_integers = all(one is None or one.strip().lstrip("-").isdigit() for one in first)
    for name, stored in (("integer", pa.int64()), ("number", pa.float64()))[not may_be_integers :]:
        try:
            found = pc.cast(cells, stored)
        except pa.ArrowInvalid:
            continue
        is_hexadecimal = name == "integer" and pc.any(pc.match_substring(cells, "x", ignore_case=True)).as_py()
        return None if is_hexadecimal else Column(name, found)
    return None


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
    if pa.types.is_dictionary(cells.type):
        cells = _valid_for_pandas(cells)
    if cells.null_count == len(cells):
        return Column("missing", cells)
    if pa.types.is_decimal(cells.type):
        cells = cells.cast(pa.float64())
    if pa.types.is_string_view(cells.type):  # which Arrow cannot compare
        cells = cells.cast(pa.large_string())
    return Column(_type_of_arrow(cells.type), cells)


def _valid_for_pandas(cells: Any) -> Any:
    """Return a dictionary array with distinct and known values, or what it stands for: Arrow allows others."""
    values = cells.dictionary
    if pa.types.is_nested(values.type) or pa.types.is_floating(values.type):
        return cells.dictionary_decode()
    if values.null_count or len(values.unique()) < len(values):
        return cells.dictionary_decode().dictionary_encode()
    return cells


def _type_of_arrow(stored: Any) -> str:
    types = pa.types
    if types.is_dictionary(stored):
        return "text" if _type_of_arrow(stored.value_type) == "text" else "other"
    if types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored):
        kinds = {"integer": "numbers", "number": "numbers", "numbers": "channels", "missing": "items", "text": "items"}
        return kinds.get(_type_of_arrow(stored.value_type), "other")
    if types.is_struct(stored) and stored.get_field_index("edges") >= 0:
        return "graph"
    tests = {
        "integer": types.is_integer, "number": types.is_floating, "boolean": types.is_boolean, "text": types.is_string,
        "time": types.is_temporal, "missing": types.is_null,
    }  # fmt: skip
    if types.is_large_string(stored):
        return "text"
    return next((name for name, holds in tests.items() if holds(stored)), "other")


def _type_of_objects(cells: list[Any]) -> str:
    known = [cell for cell in cells if cell is not None]
    if not known:
        return "missing"
    if all(isinstance(cell, dict) and "edges" in cell for cell in known):
        return "graph"
    if all(isinstance(cell, list) for cell in known):
        return "items"
    return "mixed"


def as_type(name: str, cells: Any, expected: str, in_text_file: bool, first: int) -> Column:
    """Return a column of an expected type, or raise and name the first cell of another type."""
    if not in_text_file:
        column = typed(cells)
    elif expected == "text":
        column = Column("text", empty_as_missing(as_texts(cells)))
    else:
        column = parsed(cells)
        if expected in NUMERIC and column.type not in NUMERIC and is_text(cells):
            wrong = next((row for row, value in enumerate(cells.to_pylist()) if not may_be_number(value)), None)
            if wrong is not None:
                problem = "it is not a number, and the column held numbers before"
                raise wrong_cell(name, first + wrong, cells[wrong].as_py(), problem)
            column = Column("missing", cells)
    if not _is_compatible(column, expected):
        rows = np.flatnonzero(~column.missing).tolist()
        if isinstance(column.cells, list):  # of several types
            numbers = dict.fromkeys(NUMERIC, (int, float))
            fitting: Any = {"text": str, "boolean": bool, **numbers}.get(expected, ())
            rows = [row for row in rows if not isinstance(column.cells[row], fitting)] or rows
        problem = f"it holds {COLUMN_TYPES[column.type]}, and held {COLUMN_TYPES[expected]} before"
        raise wrong_cell(name, first + rows[0], column.cell(rows[0]), problem)
    stored = {"integer": "double", "number": "double", "boolean": "bool", "text": "string"}
    if column.type == "missing" and expected in stored:
        return Column("missing", pa.nulls(len(column.cells), stored[expected]))
    if expected == "number" and column.type == "integer":
        return Column("number", as_doubles(column.cells))
    return column


def _is_compatible(column: Column, expected: str) -> bool:
    if column.type == expected or "missing" in (column.type, expected) or expected in ("mixed", "other"):
        return True
    if column.type == "items" and expected in ("numbers", "channels"):  # lists that are all empty have no type
        return not isinstance(column.cells, list) and str(column.cells.type.value_type) == "null"
    return column.type in NUMERIC and expected in NUMERIC


def as_matrix(columns: Mapping[str, Column], first: int) -> np.ndarray:
    """Return columns of numbers as the columns of a matrix; raise if a number is missing or not finite."""
    table = pa.Table.from_arrays([as_doubles(one.cells) for one in columns.values()], names=list(columns))
    matrix = np.concatenate([np.asarray(batch.to_tensor(null_to_nan=True)) for batch in table.to_batches()])
    if not np.isfinite(matrix).all():
        j = int(np.argmin(np.isfinite(matrix).all(axis=0)))
        name, wrong = list(columns.items())[j]
        if wrong.has_gaps:
            raise FileError(
                f"column {name!r} has no value in row {first + int(np.argmax(wrong.missing))}: vectors have no "
                f"missing values; fill the gap, or read rows as a table from the start (kind='table')"
            )
        row = int(np.argmin(np.isfinite(matrix[:, j])))
        raise wrong_cell(name, first + row, float(matrix[row, j]), "vectors hold finite numbers")
    return matrix


def as_doubles(cells: Any) -> Any:
    """Return numbers as floating point numbers; integers beyond 2^53 are rounded (see `is_rounded`)."""
    return cells.cast("double", safe=False)


def is_rounded(column: Column, text: Any) -> bool:
    """Tell whether integers are too large to be floats without rounding; `text` is the column in a text file."""
    if column.type == "numbers":
        column = typed(column.cells.flatten())
    if column.type not in NUMERIC or (column.type == "number" and text is None):
        return False
    low, high = column.ends
    if low is None or max(-low, high) <= LARGEST_EXACT:
        return False
    return isinstance(high, int) or bool(pc.any(pc.match_substring_regex(text, r"^\s*[-+]?[0-9]{16,}\s*$")).as_py())


def as_labels(name: str, column: Column, first: int) -> np.ndarray:
    """Return a column as labels; raise if labels are missing, and name the first row."""
    missing = column.missing
    if missing.any():
        more = ""
        if missing.sum() > 1:
            more = f" and {missing.sum() - 1} more"
        raise FileError(f"the label {name!r} is missing in row {first + int(np.argmax(missing))}{more}{FILL_OR_DROP}")
    if column.type not in (*NUMERIC, "boolean", "text"):
        raise FileError(f"the label {name!r} holds {COLUMN_TYPES[column.type]}: a label is a text or a number")
    if column.type == "text":
        coded = pc.dictionary_encode(column.cells)
        return np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
    return np.array(column.cells)


def with_plain_numbers(
    cells: Mapping[str, Any],
    columns: Mapping[str, Column],
    separator: str,
    given: str | None,
    before: str | None = None,
) -> tuple[dict[str, Any], dict[str, Column], str | None, list[str]]:
    """Return cells whose numbers are written as Python writes them, the columns that changed, the mark, and notes.

    `given` is the decimal mark that the user gave, `before` that of an earlier file.
    """
    texts = {name: cells[name] for name in columns if is_text(cells[name])}
    plain = {name: one for name, one in texts.items() if columns[name].type in NUMERIC}
    first = {name: {*one.slice(0, 20).to_pylist()} - UNKNOWN_NUMBERS - {None} for name, one in texts.items()}
    others = {name: one for name, one in texts.items() if name not in plain and all(map(DIGIT.search, first[name]))}
    if not others and given != "," and separator != ";" and before != ",":
        return dict(cells), {}, given, []
    others, notes = _without_units(others)
    mark = given
    if given is None and (others or (plain and (separator == ";" or before == ","))):
        mark, doubt = _decimal_mark(others, plain, separator, before)
        notes += doubt
        if mark is None and before == "," and (doubtful := _thousands({**plain, **others})):
            name, one = doubtful
            raise FileError(
                f"column {name!r} has {one!r}, and the file before had decimal commas: decimal=',' makes it "
                f"{_plain(one, ',')}, decimal='.' {one}"
            )
    written = {**cells, **others}
    if mark == ",":
        others = {**plain, **others}
    rewritten, spelled = _rewritten(others, mark)
    written |= rewritten
    changed = {name: parsed(written[name]) for name in columns if written[name] is not cells[name]}
    if not spelled:
        mark = given
    return written, changed, mark, notes + spelled


def _decimal_mark(
    columns: Mapping[str, Any], plain: Mapping[str, Any], separator: str, before: str | None
) -> tuple[str | None, list[str]]:
    """Return the decimal mark that columns show, and what is in doubt; `plain` has numbers as Python writes them."""
    cells = _spelled(columns)
    if not cells:
        if separator != ";" or before is not None or (doubtful := _thousands(plain)) is None:
            return None, []
        name, one = doubtful
        return None, [f"column {name!r} has {one!r}, taken as {float(one):g}: decimal=',' makes it {_plain(one, ',')}"]
    commas = _shown(cells, ".")
    points = _shown(cells, ",") or _shown(_spelled(plain), ",")
    if commas and points:
        return None, [
            f"column {commas[0]!r} has numbers such as {commas[1]!r}, column {points[0]!r} such as {points[1]!r}: "
            f"those with a comma are taken as text; decimal= says what it means"
        ]
    if commas and separator == "," and "," in commas[1]:
        return None, [f"column {commas[0]!r} is text such as {commas[1]!r}; decimal=',' makes it numbers"]
    if commas:
        return ",", []
    if points:
        return ".", []
    doubtful = _first_with(cells, "[, ]")
    if doubtful is None or before is not None:
        return doubtful and before, []
    name, one = doubtful
    comma = f", decimal=',' {_plain(one, ',')}" * ("," in one)
    return None, [f"column {name!r} is text such as {one!r}: decimal='.' makes it {_plain(one, '.')}{comma}"]


def _thousands(columns: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a column and a number in it where all points may separate thousands."""
    for name, values in _spelled(columns).items():
        pointed = values.filter(pc.match_substring(values, "."))
        if len(pointed) and all_match(pointed, f"^{NUMBER_PATTERNS[',']}$"):
            return name, pc.min(pointed).as_py()
    return None


def _spelled(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of columns that hold numbers alone, in any spelling, without missing ones."""
    found = {}
    for name, column in columns.items():
        if is_text(column) and all(map(_is_number, column.slice(0, 20).to_pylist())):
            values = _known(column)
            if len(values) and all_match(values, f"^(?:{ANY_NUMBER.pattern})$"):
                found[name] = values
    return found


def _known(column: Any) -> Any:
    """Return the cells that are not missing, without blanks around them."""
    trimmed = pc.utf8_trim_whitespace(column)
    return trimmed.filter(pc.invert(are_words(trimmed, UNKNOWN_NUMBERS)))


def all_match(values: Any, pattern: str) -> bool:
    """Whether a pattern occurs in all texts that are not missing, the first of which are looked at before."""
    return all(
        pc.all(pc.match_substring_regex(some, pattern)).as_py() is not False for some in (values.slice(0, 20), values)
    )


def _shown(cells: Mapping[str, Any], other: str) -> tuple[str, str] | None:
    """Return a column and a number in it with a mark or separators that the other decimal mark excludes."""
    pattern = f"^{NUMBER_PATTERNS[other]}$"
    return _first_with(
        {name: values.filter(pc.invert(pc.match_substring_regex(values, pattern))) for name, values in cells.items()},
        "[.,]",
    )


def _first_with(cells: Mapping[str, Any], pattern: str) -> tuple[str, str] | None:
    """Return the first column in which a text matches, and the smallest that does."""
    for name, values in cells.items():
        if len(found := values.filter(pc.match_substring_regex(values, pattern))):
            return name, pc.min(found).as_py()
    return None


def _is_number(value: str | None) -> bool:
    return value is None or value.strip() in UNKNOWN_NUMBERS or ANY_NUMBER.fullmatch(value.strip()) is not None


def sampled_types(
    columns: Mapping[str, Sequence[str]], separator: str, given: str | None
) -> tuple[dict[str, str], str | None, dict[str, str]]:
    """Return the types by which Arrow may parse columns, the decimal mark, and a number with a comma by its column.

    No types if some cells leave a doubt, or are numbers that Arrow reads otherwise than people do.
    """
    types: dict[str, str] = {}
    commas: dict[str, str] = {}
    is_shown = given == ","
    has_points = False
    # neither a code nor longer than floating point numbers hold, with either decimal mark
    plain_number = re.compile(r"-?(0|[1-9][0-9]{0,14})([.,][0-9]*)?([eE][-+]?[0-9]+)?")
    for name, cells in columns.items():
        known = [one for cell in cells if (one := cell.strip()) not in MISSING]
        if not known:
            continue
        if all(map(plain_number.fullmatch, known)):
            types[name] = "double"
            if all(one.removeprefix("-").isdigit() for one in known):
                types[name] = "int64"
            pointed = [one for one in known if "." in one]
            has_points = has_points or bool(pointed)
            with_commas = [one for one in known if "," in one]
            if with_commas:
                commas[name] = with_commas[0]
                is_shown = is_shown or not all(re.fullmatch(NUMBER_PATTERNS["."], one) for one in with_commas)
            if separator == ";" and pointed and all(re.fullmatch(NUMBER_PATTERNS[","], one) for one in pointed):
                return {}, None, {}
        elif (spelled := [one for one in known if one not in UNKNOWN_NUMBERS]) and (
            all(map(_is_number, spelled)) or _common_unit(spelled) is not None
        ):
            return {}, None, {}
    is_clear = not commas or (is_shown and not has_points and given != "." and (separator != "," or given == ","))
    if not is_clear or (given == "," and has_points):
        return {}, None, {}
    if commas:
        given = ","
    return types, given, commas


def _rewritten(columns: Mapping[str, Any], decimal: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return those columns whose numbers are rewritten with decimal points, and notes on what was rewritten."""
    mark = decimal or "."
    usual = {".": "[^0-9eE+.-]", ",": "[^0-9eE+-]"}[mark]
    found = {}
    examples = {}
    for name, values in _spelled(columns).items():
        changed = values.filter(pc.match_substring_regex(values, usual))
        doubtful = decimal is None and pc.any(pc.match_substring_regex(changed, "[, ]")).as_py()
        if not len(changed) or doubtful or not all_match(values, f"^{NUMBER_PATTERNS[mark]}$"):
            continue
        trimmed = pc.utf8_trim_whitespace(columns[name])
        plain = pc.replace_substring_regex(trimmed, f"[{GROUP_MARK[mark]}{GROUPS}]", "")
        plain = pc.replace_substring(pc.replace_substring(plain, mark, "."), MINUS, "-")
        found[name] = pc.if_else(are_words(trimmed, UNKNOWN_NUMBERS), trimmed, plain)
        commas = changed.filter(pc.match_substring(changed, ","))
        examples[name] = next(one[0].as_py() for one in (commas, changed) if len(one))
    return found, spelling_notes(examples, mark)


def spelling_notes(examples: Mapping[str, str], mark: str) -> list[str]:
    """Return notes on how numbers of columns are written, from an example of each."""
    alike: dict[str, dict[str, str]] = {}
    for name, written in examples.items():
        alike.setdefault(_what_is_unusual(written, mark), {})[name] = written
    notes = []
    for what, some in alike.items():
        written = next(iter(some.values()))
        plain = _plain(written, mark)
        notes.append(f"{what} in {listed_columns(some)}: {written!r} is {plain} (decimal= chooses otherwise)")
    return notes


def _what_is_unusual(written: str, mark: str) -> str:
    """Return what a number has that Python's numbers do not."""
    if mark == "," and "," in written:
        return "decimal commas"
    if not any(one in written for one in f".,{GROUPS}".replace(mark, "")):
        return "minus signs of typesetters"
    if mark == ",":
        return "points or spaces between thousands, in a file with decimal commas,"
    return "thousands separators"


def _plain(value: str, decimal: str) -> str:
    """Return a number with a decimal point and without thousands separators."""
    group = GROUP_MARK[decimal]
    return value.translate({ord(one): None for one in group + GROUPS}).replace(decimal, ".").replace(MINUS, "-")


def _without_units(columns: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return columns of text in which all numbers have the same unit, a percent sign or a currency, without it."""
    found = dict(columns)
    notes: list[str] = []
    for name, column in columns.items():
        if not is_text(column) or (unit := _common_unit(column.slice(0, 20).to_pylist())) is None:
            continue
        before, after = map(re.escape, unit)
        pattern = f"^\\s*(?:{before}){BLANKS}(.*?){BLANKS}(?:{after})\\s*$"
        values = _known(column)
        numbers = pc.replace_substring_regex(values, pattern, r"\1")
        if all_match(values, pattern) and all_match(numbers, f"^(?:{ANY_NUMBER.pattern})$"):
            found[name] = pc.replace_substring_regex(column, pattern, r"\1")
            written = values[0].as_py()
            notes.append(f"the unit {''.join(unit)!r} of column {name!r} is left out: {written!r} is a number")
    return found, notes


def _common_unit(cells: Iterable[str | None]) -> tuple[str, str] | None:
    """Return what stands before and after all numbers; None if nothing does, or not the same."""
    known = [one.strip() for one in cells if one is not None and one.strip() not in UNKNOWN_NUMBERS]
    matches = [NUMBER_WITH_UNIT.fullmatch(one) for one in known]
    units = {one and (one["before"] or "", one["after"] or "") for one in matches}
    if len(units) != 1 or units <= {None, ("", "")}:
        return None
    return units.pop()
