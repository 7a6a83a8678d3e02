"""What programs write above a table: Excel's ``sep=;``, comments, and headers with one cell too few or too many.

The head of the file is rewritten in a copy. Lines that are left out are empty in it, so that lines keep their numbers.
"""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import ExitStack
from shutil import copyfileobj
from typing import Any, BinaryIO, NamedTuple

from similitude.data.files.separators import BYTES_LOOKED_AT, SEPARATOR_NAMES, sampled_rows, widths_of
from similitude.support import FileError

SEPARATOR_LINE = re.compile('"?sep=([^"\r\n])"?[ \t]*(\r\n|\n|\r)', re.IGNORECASE)
"""The line by which Excel is told the separator."""

FEWEST_LINES = 3
"""Rows, the header among them, that show that its cells are too few or too many."""

WEB_PAGE = re.compile(r"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)


class Head(NamedTuple):
    """The beginning of a text file: the bytes that it replaces, what replaces them, and the separator if it is told."""

    replaced: int = 0
    text: str = ""
    separator: str | None = None
    notes: tuple[str, ...] = ()


def lines_above(stream: BinaryIO) -> Head:
    """Return the head of a file without a separator line and without comments above the header."""
    text, marked = _start(stream)
    if WEB_PAGE.match(text):
        raise FileError("a web page and not a table: download the file itself")
    if told := SEPARATOR_LINE.match(text):
        note = f"cells separated by {told[1]!r}, as its first line says"
        return Head(marked + len(told[0].encode()), told[2], told[1], (note,))
    lines = text.splitlines(keepends=True)
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    if comments and _is_table("".join(lines[comments:])):
        comments -= _is_table("".join(lines[comments - 1 :]))
    else:
        comments = 0
    above = "".join(lines[:comments])
    notes = (f"ignored: {comments} {'line' if comments == 1 else 'lines'} above the header",) if comments else ()
    return Head(marked + len(above.encode()), "\n" * comments, None, notes) if comments else Head()


def header_of_rows(stream: BinaryIO, separator: str) -> Head:
    """Return the header with a cell for the names of rows, or as many cells as rows that all end in a separator."""
    text, marked = _start(stream)
    rows = sampled_rows(text, separator, len(text.encode()) + marked < BYTES_LOOKED_AT)
    if len(rows) < FEWEST_LINES or len({len(cells) for cells in rows[1:]}) > 1 or len(rows[0]) < 2:
        return Head()
    header, body = rows[0], rows[1:]
    line = re.match("[\r\n]*([^\r\n]*)", text)
    written = line[0] if line is not None else ""
    before = marked + len(written.encode())
    if len(body[0]) == len(header) + 1 and all(not cells[-1].strip() for cells in body):
        return Head(before, written + separator, None, ("rows end in a separator, and the header does not",))
    if len(body[0]) == len(header) + 1 and _name_rows(body, text, separator):
        blank, first = written[: len(written) - len(written.lstrip("\r\n"))], written.lstrip("\r\n")
        note = "the header has no cell for the first column, which is taken as names of the rows"
        return Head(before, blank + separator + first, None, (note,))
    if len(body[0]) == len(header) - 1 and not header[-1].strip() and written.endswith(separator):
        return Head(before, written[:-1], None, ("the header ends in a separator, and rows do not",))
    return Head()


def with_head(stream: BinaryIO, head: Head, stack: ExitStack) -> BinaryIO:
    """Return a copy of a file with another head; the file as it is if nothing is replaced."""
    if not head.replaced:
        return stream
    copy: Any = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (closed by the stack)
    copy.write(head.text.encode())
    stream.seek(head.replaced)
    copyfileobj(stream, copy, BYTES_LOOKED_AT)
    copy.seek(0)
    found: BinaryIO = copy
    return found


def _start(stream: BinaryIO) -> tuple[str, int]:
    """Return the beginning of a file, and the number of bytes of its byte order mark."""
    start = stream.read(BYTES_LOOKED_AT)
    stream.seek(0)
    marked = 3 * start.startswith(b"\xef\xbb\xbf")
    return start[marked:].decode("utf-8", "ignore"), marked


def _is_table(text: str) -> bool:
    """Tell whether by some separator all rows have as many cells as the first, and more than one."""
    for separator in SEPARATOR_NAMES:
        widths = widths_of(text, separator, False) or widths_of(text, separator, True)
        if widths and widths[0] > 1 and len(set(widths)) == 1:
            return True
    return False


def _name_rows(body: list[list[str]], text: str, separator: str) -> bool:
    """Tell whether first cells may be names of rows: they differ, and are no numbers that a decimal comma has cut."""
    names = [cells[0].strip() for cells in body]
    if len(set(names)) < len(names) or "" in names:
        return False
    rows = [line for line in io.StringIO(text, newline=None).read().split("\n")[1:] if line]
    return separator != "," or not all(map(str.isdigit, names)) or all(row.startswith('"') for row in rows[:20])
