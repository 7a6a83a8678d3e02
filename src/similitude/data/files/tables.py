"""Formats with columns: CSV, TSV, Excel, JSON Lines, Parquet and Arrow, whole or some rows at a time.

Cells of CSV, TSV and Excel files are text, but for columns of a CSV or TSV file that Arrow parses as plain numbers.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from similitude.data.files.columns import MISSING, is_text, sampled_types, spelling_notes
from similitude.data.files.excel import read_sheet
from similitude.data.files.file_errors import column_names, listed, separator_hint
from similitude.data.files.open_file import OpenFile
from similitude.data.files.text_files import check_utf8, lines, sampled_rows
from similitude.data.limits import (
    BLOCKS,
    FEWEST_SAMPLED,
    LONGEST_SAMPLE,
    ROWS_OF_ANY,
    ROWS_PER_BYTE,
    SAMPLED_BYTES,
    WIDE_TABLE,
)
from similitude.data.sources import arrow_batches, parquet_batches, text_problem
from similitude.support import FileError, brief

Cells = dict[str, Any]
"""The cells of each column by its name: an Arrow array, or a list."""

GRAPH_PARTS = ("edges", "labels", "node_labels", "edge_labels", "node_attributes", "edge_attributes", "nodes")
"""The keys of a graph in JSON."""

ONE_PER_LINE = "JSON Lines has one object per line: jq -c '.[]' makes them of a list, jq -c . of objects"

HEADER_BELOW = ": if the header is further down, remove the lines above it; separator=';' if these are decimal commas"
"""What to do about a header of one cell, above rows of several."""


def read_columns(file: OpenFile, rows: int | None, sheet: str | None, notes: list[str]) -> Iterator[Cells]:
    """Yield the columns of at most `rows` rows at a time, or of all; nothing if there are no rows.

    What is to be said on a sheet is added to `notes`.
    """
    if file.format == "jsonl":
        yield from _json_columns(file.stream, rows)
    elif file.format in ("csv", "tsv"):
        yield from _rebatched(record_batches(file.stream, file.separator), rows)
    elif file.format == "xlsx":
        table, found = read_sheet(file.stream, sheet)
        notes += found
        yield from _rebatched([table], rows)
    else:
        yield from _rebatched(_binary_batches(file, rows), rows)


def without_empty_rows(cells: Cells) -> tuple[Cells, list[str]]:
    """Return the columns of a text file without rows in which all of several cells are empty, and a note."""
    empty: Any = None
    for column in cells.values() if len(cells) > 1 else ():
        here = pc.equal(column, "") if is_text(column) else column.is_null()
        empty = here if empty is None else pc.and_(empty, here)
        if not pc.any(empty).as_py():
            return cells, []
    if empty is None or pc.all(empty).as_py():
        return cells, []
    filled = pc.invert(empty)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    kept = {name: column.filter(filled) for name, column in cells.items()}
    return kept, ["rows without any value are left out, and not counted"]


# Arrow record batches.


def _binary_batches(file: OpenFile, rows: int | None) -> Iterator[Any]:
    """Yield the record batches of a Parquet or Arrow file; raise if two columns have one name or it is damaged."""
    before = 0

    def check(n_rows: int) -> None:
        if n_rows > ROWS_PER_BYTE * file.size + ROWS_OF_ANY:
            raise FileError(f"it has at least {n_rows:,} rows in {file.size:,} bytes: leave out empty columns")

    try:
        parquet = file.format == "parquet"
        for batch in parquet_batches(file.stream, rows) if parquet else arrow_batches(file.stream, rows, check):
            twice = next((name for name, times in Counter(batch.schema.names).items() if times > 1), None)
            if twice is not None:
                raise FileError(f"two columns are named {twice!r}: rename one")
            check(before + batch.num_rows)
            if problem := text_problem(batch, before):
                raise FileError(problem)
            batch.validate(full=True)
            yield batch
            before += batch.num_rows
    except FileError:
        raise
    except KeyError as error:  # Arrow has types, such as intervals of months, that pyarrow has no class for
        raise FileError(
            f"a column has a type (Arrow's number {error}) that pyarrow cannot read: leave it out"
        ) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise FileError(f"truncated, damaged or of another format: {reason}") from None


def _rebatched(batches: Iterable[Any], rows: int | None) -> Iterator[Cells]:
    """Yield the columns of `rows` rows at a time, whatever the sizes of the record batches."""
    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        while rows is not None and sum(one.num_rows for one in pending) >= rows:
            table = pa.Table.from_batches(pending)
            yield _columns(table.slice(0, rows))
            pending = [one for one in table.slice(rows).to_batches() if one.num_rows]
    if sum(one.num_rows for one in pending):
        yield _columns(pa.Table.from_batches(pending))


def _columns(table: Any) -> Cells:
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.type == pa.string() and column.nbytes >= 2**31:  # too much for the offsets of one array
            column = column.cast(pa.large_string())
        found[name] = column.combine_chunks()
    return found


# JSON Lines.


def _json_columns(stream: BinaryIO, rows: int | None) -> Iterator[Cells]:
    """Yield the columns of at most `rows` lines at a time; a key that a line lacks is missing there."""
    found: list[dict[str, Any]] = []
    for number, line in lines(stream):
        if not line.strip():
            continue
        found.append(_json_row(number, line))
        if len(found) == rows:
            yield _by_column(found)
            found = []
    if found:
        yield _by_column(found)


def _json_row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        hint = f". {ONE_PER_LINE}" if line.strip() in ("[", "{") or line.lstrip().startswith("[") else ""
        where = f"{error.msg} at character {error.colno} of {brief(line)}"
        raise FileError(f"line {number} is not JSON: {where}{hint}") from None
    except RecursionError:
        raise FileError(f"line {number} is nested too deeply") from None
    if not isinstance(row, dict):
        raise FileError(f'line {number} is {brief(row)}, not an object such as {{"text": "acgt", "label": 1}}')
    if isinstance(row.get("edges"), list):  # the line itself is a graph
        parts = [part for part in GRAPH_PARTS if part in row and (part != "labels" or isinstance(row[part], list))]
        graph = {part: row.pop(part) for part in parts}  # a label of the whole graph may be called "labels", too
        row = {"graph": graph, **row}
    return row


def _by_column(rows: list[dict[str, Any]]) -> Cells:
    columns: Cells = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        columns[name] = cells
        if not any(isinstance(cell, dict) for cell in cells):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                columns[name] = pa.array(cells)
    return columns


# CSV and TSV.


def record_batches(stream: BinaryIO, separator: str) -> Iterator[Any]:
    """Yield Arrow record batches of text; raise if a row has more or fewer cells than the header, and name its line."""
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
            # of a row longer than a block, Arrow says that it straddles; of the first row, sometimes that there is none
            too_long = "straddling" in str(error) or ("Empty CSV" in str(error) and _has_rows(stream, separator))
            if not too_long or block == BLOCKS[-1]:
                raise _explained(stream, separator, names, error) from None


def read_csv(
    file: OpenFile, may_be_numbers: Callable[[str], bool], decimal: str | None
) -> tuple[Cells, str | None, list[str]] | None:
    """Return the columns of a whole CSV or TSV file, the decimal mark, and notes.

    Arrow parses as numbers what looks like plain numbers in a sample, and the rest is text. None if a cell is not what
    the sample promises, or if a row is wrong: reading it in batches says which.
    """
    rows = _sample(file.stream, file.separator)
    if not rows:
        return None
    header = rows[0]
    names = column_names(header)
    types: dict[str, str] = {}
    mark = decimal
    commas: dict[str, str] = {}
    if len(header) > 2:  # a single column, besides the label, may be strings
        whole = [cells for cells in rows[1:] if len(cells) == len(header)]
        columns = dict(zip(header, zip(*whole, strict=True), strict=False))
        types, mark, commas = sampled_types(columns, file.separator, decimal)
        types = {name: one for name, one in types.items() if may_be_numbers(name.strip())}
        if not types:
            mark = decimal
    block = BLOCKS[len(header) > WIDE_TABLE]
    try:
        batches = list(_parsed(file.stream, file.separator, header, block, types, mark))
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    table = pa.Table.from_batches(batches) if batches else None
    if table is None or not len(table):
        return None
    found = dict(zip(names, table.columns, strict=True))
    texts = [place for place, name in enumerate(header) if name not in types]
    found |= _columns(table.select(texts).rename_columns([names[place] for place in texts]))
    notes = spelling_notes({name.strip(): commas[name] for name in commas if name in types}, ",") if commas else []
    return found, mark, notes


def _sample(stream: BinaryIO, separator: str) -> list[list[str]]:
    """Return the header and rows from the beginning and, if it can be reached, the end of a file."""
    stream.seek(0)
    size = SAMPLED_BYTES
    start = stream.read(size)
    rows = sampled_rows(start.decode("utf-8-sig", "replace"), separator, len(start) < size)
    while len(start) == size < LONGEST_SAMPLE and len(rows) < FEWEST_SAMPLED:
        start += stream.read(3 * size)
        size *= 4
        rows = sampled_rows(start.decode("utf-8-sig", "replace"), separator, len(start) < size)
    if len(start) == size and not isinstance(stream, gzip.GzipFile):
        stream.seek(-size // 4, io.SEEK_END)
        end = stream.read().decode("utf-8", "replace").partition("\n")[2]
        rows += sampled_rows(end, separator, True)
    stream.seek(0)
    return rows


def _parsed(
    stream: BinaryIO,
    separator: str,
    header: list[str],
    block: int,
    numbers: Mapping[str, str] | None = None,
    decimal: str | None = None,
) -> Iterator[Any]:
    """Yield what Arrow parses from the start of the file, one block of bytes at a time: text, or certain numbers."""
    stream.seek(0)
    counted = _Counting(stream, "int64" in (numbers or {}).values())
    last = ""
    types = {**dict.fromkeys(header, pa.string()), **(numbers or {})}
    try:
        for batch in pyarrow.csv.open_csv(
            counted,
            read_options=pyarrow.csv.ReadOptions(block_size=block),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, null_values=list(MISSING), decimal_point=decimal or "."
            ),
        ):
            last = str(batch.column(batch.num_columns - 1)[-1].as_py()) if batch.num_rows else last
            yield batch
    finally:
        counted.stop()
    if counted.is_hexadecimal:
        raise pa.ArrowInvalid("Arrow reads 0x10 as 16")
    is_quoted = separator in last or "\n" in last or "\r" in last
    if counted.quotes % 2 or (is_quoted and not counted.tail.rstrip(b"\r\n").endswith(b'"')):
        _check_quotes(stream, separator)


class _Counting(io.RawIOBase):
    """A stream that counts quotation marks and keeps its end, to detect a quote that is not closed, and sees 0x.

    Arrow reads ahead in a thread of its own; after `stop`, it leaves the file to others.
    """

    def __init__(self, stream: BinaryIO, with_integers: bool) -> None:
        self.stream = stream
        self.with_integers = with_integers  # of which Arrow reads hexadecimal ones
        self.quotes = 0
        self.tail = b""
        self.is_hexadecimal = False
        self.lock = threading.Lock()
        self.is_stopped = False

    def readable(self) -> bool:
        return True

    def stop(self) -> None:
        """End the stream, once what is being read has been read."""
        with self.lock:
            self.is_stopped = True

    def read(self, size: int = -1) -> bytes:
        with self.lock:
            piece = b"" if self.is_stopped else self.stream.read(size)
        if b'"' in piece:  # to find a letter is much quicker than to count it
            self.quotes += piece.count(b'"')
        border = self.tail[-1:] + piece[:1]
        if self.with_integers and (b"x" in piece or b"X" in piece):
            self.is_hexadecimal |= any(mark in piece or mark == border for mark in (b"0x", b"0X"))
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
    return header, column_names(header)


def _has_rows(stream: BinaryIO, separator: str) -> bool:
    try:
        return len(list(islice(_records(stream, separator), 2))) > 1
    except (csv.Error, UnicodeDecodeError):
        return True


def _explained(stream: BinaryIO, separator: str, names: list[str], error: Exception) -> FileError:
    """Return the error that names the line that Arrow could not read."""
    if "Empty CSV" in str(error) and not _has_rows(stream, separator):
        return FileError("there is a header but no rows")
    if "straddling" in str(error) or "Empty CSV" in str(error):
        return FileError(f"a row is longer than {BLOCKS[-1] >> 20} MiB, or a quotation mark is not closed")
    check_utf8(stream)
    try:
        for line, cells in _records(stream, separator):
            if len(cells) != len(names):
                cells_here = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
                problem = f"line {line} has {cells_here}, the header has {len(names)}, {listed(names)}"
                return FileError(f"{problem}{separator_hint(names) or (HEADER_BELOW if len(names) == 1 else '')}")
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
