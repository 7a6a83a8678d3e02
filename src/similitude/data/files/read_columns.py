"""Formats with columns: CSV, TSV, JSON Lines, Parquet and Arrow, whole or some rows at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from similitude.data.files import delimited
from similitude.data.files.build_objects import GRAPH_PARTS
from similitude.data.files.file_errors import import_optional
from similitude.data.files.open_file import OpenFile
from similitude.data.files.utf8 import lines
from similitude.support import FileError, brief

Cells = dict[str, Any]
"""The cells of each column by its name: an Arrow array, or a list."""

ONE_PER_LINE = "JSON Lines has one object per line: jq -c '.[]' makes them of a list, jq -c . of objects"


def read_columns(file: OpenFile, rows: int | None) -> Iterator[Cells]:
    """Yield the columns of at most `rows` rows at a time, or of all; nothing if there are no rows."""
    if file.format == "jsonl":
        yield from _json_columns(file.stream, rows)
    elif file.format in ("csv", "tsv"):
        yield from _rebatched(delimited.record_batches(file.stream, "," if file.format == "csv" else "\t"), rows)
    else:
        read = _parquet if file.format == "parquet" else _arrow
        yield from _rebatched(_checked(read(file.stream)), rows)


# Arrow record batches.


def _parquet(stream: BinaryIO) -> Iterator[Any]:
    yield from import_optional("pyarrow.parquet", "a Parquet file").ParquetFile(stream).iter_batches()


def _arrow(stream: BinaryIO) -> Iterator[Any]:
    """Yield the record batches of an Arrow file in the file format or the stream format."""
    ipc = import_optional("pyarrow.ipc", "an Arrow file")
    magic = stream.read(6)
    stream.seek(0)
    if magic != b"ARROW1":
        yield from ipc.open_stream(stream)
        return
    reader = ipc.open_file(stream)
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


def _checked(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches; raise if two columns have one name, or if the file is damaged."""
    pa = import_optional("pyarrow", "a Parquet or Arrow file")
    try:
        for batch in batches:
            twice = next((name for name, times in Counter(batch.schema.names).items() if times > 1), None)
            if twice is not None:
                raise FileError(f"two columns are named {twice!r}: rename one")
            batch.validate(full=True)
            yield batch
    except FileError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise FileError(f"truncated, damaged or of another format: {reason}") from None


def _rebatched(batches: Iterable[Any], rows: int | None) -> Iterator[Cells]:
    """Yield the columns of `rows` rows at a time, whatever the sizes of the record batches."""
    pa = import_optional("pyarrow", "this format")
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
    pa = import_optional("pyarrow", "this format")
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
    pa = import_optional("pyarrow", "a JSON Lines file")
    columns: Cells = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        columns[name] = cells
        if not any(isinstance(cell, dict) for cell in cells):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                columns[name] = pa.array(cells)
    return columns
