"""The separator of a CSV or TSV file: the usual one, or another by which every row has as many cells as the header."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from similitude.support import FileError

USUAL = {"csv": ",", "tsv": "\t"}
"""The separator of each format."""

SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The separators that are looked for."""

SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
"""Other ways to write a separator."""

BYTES_LOOKED_AT = 1 << 18
"""Bytes of a file that are looked at."""

SAMPLED_ROWS = 500
"""Rows that are looked at."""


def checked_separator(given: str) -> str:
    r"""Return a separator of one character.

    >>> checked_separator("tab"), checked_separator(";")
    ('\t', ';')
    """
    found = SPELLED.get(given.lower(), given)
    if len(found) != 1 or not found.isascii() or found in '"\r\n\0':
        raise FileError(f"separator={given!r} must be one character such as ';', '|' or 'tab'")
    return found


def separator_of(stream: BinaryIO, format: str) -> tuple[str, str]:
    """Return the separator of a text file, and a note if it is not the usual one.

    Another one is taken only where the usual one finds a single column, or rows of unequal lengths.
    """
    usual = USUAL[format]
    start = stream.read(BYTES_LOOKED_AT)
    is_whole = len(start) < BYTES_LOOKED_AT
    stream.seek(0)
    text = start.decode("utf-8-sig", "replace")
    if _columns(text, usual, is_whole) > 1:
        return usual, ""
    for columns in (_columns, _columns_of_rows):
        widths = {one: columns(text, one, is_whole) for one in SEPARATOR_NAMES}
        possible = [one for one, width in widths.items() if width > 1]
        if len(possible) > 1:
            names = " or ".join(SEPARATOR_NAMES[one] for one in possible)
            raise FileError(f"its cells may be separated by {names}: say by which, separator='{possible[0]}'")
        if possible:
            note = f"cells separated by {SEPARATOR_NAMES[possible[0]]} (separator= chooses otherwise)"
            return possible[0], "" if possible[0] == usual else note
    return usual, ""


def sampled_rows(text: str, separator: str, is_whole: bool) -> list[list[str]]:
    """Return the cells of the first rows of a text that may be cut in its last row; nothing if they cannot be read."""
    rows = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if cells:
                rows.append(cells)
            if len(rows) > SAMPLED_ROWS:
                break
        else:
            if not is_whole:  # the last row is cut
                rows.pop()
    except (csv.Error, IndexError):
        return []
    return rows


def widths_of(text: str, separator: str, is_whole: bool) -> list[int]:
    """Return the number of cells of each of the first rows."""
    return [len(cells) for cells in sampled_rows(text, separator, is_whole)]


def _columns(text: str, separator: str, is_whole: bool) -> int:
    """Return the number of cells of every row if it is the same in all that are looked at, else 0."""
    widths = widths_of(text, separator, is_whole)
    return widths[0] if len(set(widths)) == 1 else 0


def _columns_of_rows(text: str, separator: str, is_whole: bool) -> int:
    """Return the number of cells of the header if all rows have one more or one less, else 0."""
    header, *others = widths_of(text, separator, is_whole) or [0]
    return header if len(set(others)) == 1 and abs(others[0] - header) == 1 else 0
