"""Formats with columns: CSV, TSV, Excel, JSON Lines, Parquet and Arrow, whole or some rows at a time."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from similitude.data.files.columns import MISSING, is_text, sampled_types, spelling_notes
from similitude.data.files.excel import read_sheet
from similitude.data.files.file_errors import listed, separator_hint
from similitude.data.files.schema import OpenFile
from similitude.data.files.text_files import check_utf8, in_parts, lines, sampled_rows
from similitude.data.limits import (
    BLOCK,
    LONGEST_ROW,
    ROWS_OF_ANY,
    ROWS_PER_BYTE,
    SAMPLED_BYTES,
)
from similitude.data.sources import arrow_batches, mapped, parquet_batches, text_problem
from similitude.support import FileError, brief

Cells = dict[str, Any]
"""The cells of each column by its name: an Arrow array, or a list."""


def read_columns(file: OpenFile, rows: int | None, sheet: str | None, notes: list[str]) -> Iterator[Cells]:
    """Yield the columns of at most `rows` rows at a time, or of all; what is to be said of a sheet goes to `notes`."""
    if file.format == "jsonl":
        found = (_json_row(number, line) for number, line in lines(file.stream) if line.strip())
        yield from map(_by_column, in_parts(found, rows))
    elif file.names:
        yield from _rebatched(csv_batches(file), rows)
    elif file.format == "xlsx":
        table, said = read_sheet(file.stream, sheet)
        notes += said
        yield from _rebatched([table], rows)
    else:
        yield from _rebatched(_binary_batches(file, rows), rows)


def without_empty_rows(cells: Cells) -> tuple[Cells, list[str]]:
    """Return the columns of a text file without rows in which all of several cells are empty, and a note."""
    empty: Any = True
    for column in cells.values():
        here = column.is_null()
        if is_text(column):
            here = pc.equal(column, "")
        empty = pc.and_(empty, here)
        if len(cells) == 1 or not pc.any(empty).as_py():
            return cells, []
    if pc.all(empty).as_py():
        return cells, []
    filled = pc.invert(empty)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    kept = {name: column.filter(filled) for name, column in cells.items()}
    return kept, ["rows without any value are left out, and not counted"]


def _binary_batches(file: OpenFile, rows: int | None) -> Iterator[Any]:
    """Yield the record batches of a Parquet or Arrow file; raise if two columns have one name or it is damaged."""
    before = 0

    def check(n_rows: int) -> None:
        if n_rows > ROWS_PER_BYTE * file.size + ROWS_OF_ANY:
            raise FileError(f"it has at least {n_rows:,} rows in {file.size:,} bytes: leave out empty columns")

    try:
        batches = arrow_batches(file.stream, rows, check)
        if file.format == "parquet":
            batches = parquet_batches(file.stream, rows)
        for batch in batches:
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


def _json_row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        hint = ""
        if line.strip() == "{" or line.lstrip().startswith("["):
            hint = ". JSON Lines has one object per line: jq -c '.[]' makes them of a list, jq -c . of objects"
        where = f"{error.msg} at character {error.colno} of {brief(line)}"
        raise FileError(f"line {number} is not JSON: {where}{hint}") from None
    except RecursionError:
        raise FileError(f"line {number} is nested too deeply") from None
    if not isinstance(row, dict):
        raise FileError(f'line {number} is {brief(row)}, not an object such as {{"text": "acgt", "label": 1}}')
    if isinstance(row.get("edges"), list):  # the line itself is a graph
        parts = ["edges", "node_labels", "edge_labels", "node_attributes", "edge_attributes", "nodes"]
        parts = [part for part in parts if part in row] + ["labels"] * isinstance(row.get("labels"), list)
        graph = {part: row.pop(part) for part in parts}  # a label of the whole graph may be called "labels", too
        row = {"graph": graph, **row}
    return row


def _by_column(rows: list[dict[str, Any]]) -> Cells:
    """Return the columns of some lines; a key that a line lacks is missing there."""
    columns: Cells = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        columns[name] = cells
        if not any(isinstance(cell, dict) for cell in cells):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                columns[name] = pa.array(cells)
    return columns


def csv_batches(file: OpenFile) -> Iterator[Any]:
    """Yield the rows of a text file as Arrow tables of texts; raise if one has more or fewer cells than the header."""
    file.stream.seek(file.start)
    rest = b""
    n_rows = 0
    piece = b"\n"
    while piece:
        piece = file.stream.read(max(BLOCK, len(rest)))
        block = rest + piece
        end = len(block)
        if piece:
            end = _end_of_rows(block, file.separator)
        rest = block[end:]
        table = _parsed(file, block[:end])
        n_rows += len(table)
        yield from table.to_batches()
    _check_quotes(file, block, table)
    if not n_rows:
        raise FileError("there is a header but no rows")


def _end_of_rows(block: bytes, separator: str) -> int:
    """Return where the last whole row of a block ends, or 0; a line may end in a cell between quotation marks."""
    at = end = 0
    if b'"' in block:
        quoted = rb'(?<![^\r\n%b])"[^"]*(?:""[^"]*)*(?:"|\Z)' % re.escape(separator).encode()
        for cell in re.finditer(quoted, block):
            end = max(end, block.rfind(b"\n", at, cell.start()) + 1)
            at = cell.end()
    return max(end, block.rfind(b"\n", at) + 1)


def read_csv(
    file: OpenFile, may_be_numbers: Container[str], decimal: str | None
) -> tuple[Cells, str | None, list[str]]:
    """Return the columns of a whole CSV or TSV file, the decimal mark, and notes.

    Arrow parses as numbers what looks so in a sample; all is text if a cell is not what the sample promises.
    """
    content = mapped(file.stream) or file.stream.read()
    types: dict[str, str] = {}
    mark = decimal
    commas: dict[str, str] = {}
    if len(file.names) > 2:  # a single column, besides the label, may be strings
        rows = [cells for cells in _sample(content, file) if len(cells) == len(file.names)]
        sampled = dict(zip(file.names, zip(*rows, strict=True), strict=False))
        types, mark, commas = sampled_types(sampled, file.separator, decimal)
        types = {name: one for name, one in types.items() if name in may_be_numbers}
    if "int64" in types.values() and (content.find(b"0x") >= 0 or content.find(b"0X") >= 0):
        types = {}  # of 0x10, Arrow makes 16
    try:
        table = _parsed(file, content, file.start, types, mark)
    except FileError:
        if not types:
            raise
        types = {}
        table = _parsed(file, content, file.start)
    _check_quotes(file, content, table)
    if not len(table):
        raise FileError("there is a header but no rows")
    found = dict(zip(file.names, table.columns, strict=True))
    found |= _columns(table.select([name for name in file.names if name not in types]))
    if not types:
        return found, decimal, []
    return found, mark, spelling_notes({name: commas[name] for name in commas if name in types}, ",")


def _sample(content: Any, file: OpenFile) -> list[list[str]]:
    """Return rows from the beginning and the end of a file."""
    rows: list[list[str]] = []
    for shift in (0, 2, 4, 6, 8):  # rows may be long
        size = SAMPLED_BYTES << shift
        start = content[file.start : file.start + size]
        rows = sampled_rows(start.decode("utf-8", "replace"), file.separator, len(start) < size)
        if len(rows) >= 10:
            break
    if file.start + 4 * size < len(content):
        end = content[len(content) - SAMPLED_BYTES // 4 :].decode("utf-8", "replace").partition("\n")[2]
        rows += sampled_rows(end, file.separator, True)
    return rows


def _parsed(
    file: OpenFile, content: Any, start: int = 0, types: Mapping[str, str] | None = None, decimal: str | None = None
) -> Any:
    """Return rows as an Arrow table of texts, or of certain numbers; raise and name a line that is wrong."""
    buffer = pa.py_buffer(content)[start:]
    kinds = dict.fromkeys(file.names, pa.string()) | dict(types or {})
    if not len(buffer):
        return pa.table({name: pa.array([], pa.string()) for name in file.names})
    for block in (BLOCK, LONGEST_ROW):
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(buffer),
                pyarrow.csv.ReadOptions(column_names=file.names, block_size=block),
                pyarrow.csv.ParseOptions(delimiter=file.separator, newlines_in_values=content.find(b'"') >= 0),
                pyarrow.csv.ConvertOptions(column_types=kinds, null_values=list(MISSING), decimal_point=decimal or "."),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            problem = str(error)
            if "straddling" not in problem:
                raise _explained(file, problem) from None
    raise FileError(f"a row is longer than {LONGEST_ROW >> 20} MiB, or a quotation mark is not closed")


def _explained(file: OpenFile, problem: str) -> FileError:
    """Return the error that names the line that Arrow could not read."""
    check_utf8(file.stream)
    names = file.names
    with suppress(csv.Error):
        for line, cells in _records(file):
            if len(cells) != len(names):
                problem = f"line {line} has {len(cells)} cell{'s' * (len(cells) > 1)}, the header has {len(names)}, "
                problem += listed(names) + separator_hint(names)
                if len(names) == 1 and not separator_hint(names):
                    problem += ": if the header is further down, remove the lines above it; separator=';' if these are"
                    problem += " decimal commas"
                break
    return FileError(problem)


def _check_quotes(file: OpenFile, content: Any, table: Any) -> None:
    """Raise if a quotation mark is never closed: everything after it would be one cell."""
    if content.find(b'"') < 0 or not len(table):
        return
    last = str(table.column(-1)[-1])
    is_quoted = file.separator in last or "\n" in last or "\r" in last
    is_closed = content[-64:].rstrip(b"\r\n").endswith(b'"')
    if content[:].count(b'"') % 2 == 0 and (is_closed or not is_quoted):
        return
    line = file.lines
    try:
        for start, cells in _records(file, strict=True):
            line = start + sum(cell.count("\n") for cell in cells)
    except csv.Error:
        raise FileError(f"a quotation mark after line {line} is never closed, or stands alone in a cell") from None


def _records(file: OpenFile, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row starts, and its cells; slow, for messages."""
    file.stream.seek(file.start)
    text = io.TextIOWrapper(file.stream, encoding="utf-8", newline="")
    try:
        reader = csv.reader(text, delimiter=file.separator, strict=strict)
        line = 1
        for cells in reader:
            if cells:
                yield file.lines + line, cells
            line = reader.line_num + 1
    finally:
        text.detach()
