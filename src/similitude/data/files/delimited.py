"""CSV and TSV: every cell as text, a few thousand rows at a time."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from similitude.data.files.file_errors import import_optional, listed, separator_hint
from similitude.data.files.utf8 import check_utf8
from similitude.support import FileError

BLOCKS = (1 << 22, 1 << 26, 1 << 30)
"""Bytes that are parsed at a time: more if a row is longer."""

LONG_ROW = "straddling"
"""A word in the message of Arrow for a row that is longer than a block."""


def record_batches(stream: BinaryIO, separator: str) -> Iterator[Any]:
    """Yield Arrow record batches of text; raise if a row has more or fewer cells than the header, and name its line."""
    pa = import_optional("pyarrow", "a CSV file")
    header, names = _header(stream, separator)
    done = 0
    for block in BLOCKS:
        seen = 0
        try:
            for batch in _parsed(stream, separator, header, block):
                new = batch.slice(min(done - seen, batch.num_rows)) if seen < done else batch
                seen += batch.num_rows
                done = max(done, seen)
                yield pa.RecordBatch.from_arrays(new.columns, names=names)
            return
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            if LONG_ROW not in str(error) or block == BLOCKS[-1]:
                raise _explained(stream, separator, names, error) from None


def _parsed(stream: BinaryIO, separator: str, header: list[str], block: int) -> Iterator[Any]:
    """Yield what Arrow parses from the start of the file, one block of bytes at a time."""
    pa, arrow_csv = import_optional("pyarrow", "a CSV file"), import_optional("pyarrow.csv", "a CSV file")
    stream.seek(0)
    counted = _Counting(stream)
    last = ""
    for batch in arrow_csv.open_csv(
        counted,
        read_options=arrow_csv.ReadOptions(block_size=block),
        parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
    ):
        last = batch.columns[-1][-1].as_py() if batch.num_rows else last
        yield batch
    is_quoted = any(mark in last for mark in (separator, "\n", "\r"))
    if counted.quotes % 2 or (is_quoted and not counted.tail.rstrip(b"\r\n").endswith(b'"')):
        _check_quotes(stream, separator)


class _Counting(io.RawIOBase):
    """A stream that counts quotation marks and keeps its end, to detect a quote that is not closed."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.quotes, self.tail = stream, 0, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self.stream.read(size)
        self.quotes += piece.count(b'"')
        self.tail = (self.tail + piece[-64:])[-64:]
        return piece


def _records(stream: BinaryIO, separator: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row starts, and its cells; slow, for the header and for messages."""
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        reader = csv.reader(text, delimiter=separator, strict=strict)
        line = 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    finally:
        text.detach()


def _header(stream: BinaryIO, separator: str) -> tuple[list[str], list[str]]:
    """Return the names of the columns as in the file, and with a name for those that have none."""
    try:
        header = next((cells for _, cells in _records(stream, separator)), None)
    except UnicodeDecodeError:
        check_utf8(stream)
        raise
    except csv.Error as error:
        raise FileError(f"the header cannot be read: {error}") from None
    if header is None:
        raise FileError("the file is empty")
    names = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        places = [place + 1 for place, name in enumerate(names) if name == twice]
        raise FileError(f"two columns are named {twice!r}: columns {places[0]} and {places[1]}. Rename one")
    return header, names


def _explained(stream: BinaryIO, separator: str, names: list[str], error: Exception) -> FileError:
    """Return the error that names the line that Arrow could not read."""
    if "Empty CSV" in str(error):
        return FileError("there is a header but no rows")
    if LONG_ROW in str(error):
        return FileError(f"a row is longer than {BLOCKS[-1] >> 20} MiB, or a quotation mark is not closed")
    check_utf8(stream)
    try:
        for line, cells in _records(stream, separator):
            if len(cells) != len(names):
                problem = f"line {line} has {len(cells)} cells, the header has {len(names)}"
                return FileError(f"{problem}, {listed(names)}{separator_hint(names)}")
    except csv.Error:
        pass
    return FileError(str(error))


def _check_quotes(stream: BinaryIO, separator: str) -> None:
    """Raise if a quotation mark is never closed: everything after it would be one cell."""
    line = 0
    try:
        for start, cells in _records(stream, separator, strict=True):
            line = start + sum(cell.count("\n") for cell in cells)
    except csv.Error:
        raise FileError(f"a quotation mark after line {line} is never closed, or stands alone in a cell") from None
