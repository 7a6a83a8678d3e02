"""Formats with columns: CSV, TSV, JSON Lines, Parquet and Arrow, whole or some rows at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from similitude.data.files import delimited
from similitude.data.files.json_lines import json_chunks
from similitude.data.files.opening import Opened
from similitude.data.files.problems import needed
from similitude.support.errors import FileError

TABULAR = ("csv", "tsv", "jsonl", "parquet", "arrow")

Cells = dict[str, Any]
"""From the name of a column to its cells: an Arrow array, or a list."""


def chunks(file: Opened, rows: int | None) -> Iterator[Cells]:
    """Yield columns of at most so many rows, or all of them; nothing where there is no row."""
    if file.format == "jsonl":
        yield from json_chunks(file.stream, rows)
    elif file.format in ("csv", "tsv"):
        yield from _cut(delimited.record_batches(file.stream, "," if file.format == "csv" else "\t"), rows)
    else:
        yield from _cut(_checked(parquet(file.stream) if file.format == "parquet" else arrow(file.stream)), rows)


def _checked(batches: Iterable[Any]) -> Iterator[Any]:
    """Refuse two columns of one name, and say in one line what is wrong with a damaged file."""
    pa = needed("pyarrow", "a Parquet or Arrow file")
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
        said = str(error).strip().splitlines()[0].rstrip(".")
        raise FileError(f"cut off, damaged or of another format: {said}") from None


def parquet(stream: BinaryIO) -> Iterator[Any]:
    """Yield the record batches of a Parquet file."""
    file = needed("pyarrow.parquet", "a Parquet file").ParquetFile(stream)
    yield from file.iter_batches()


def arrow(stream: BinaryIO) -> Iterator[Any]:
    """Yield the record batches of an Arrow file, of the file or of the stream format."""
    ipc = needed("pyarrow.ipc", "an Arrow file")
    magic = stream.read(6)
    stream.seek(0)
    if magic != b"ARROW1":
        yield from ipc.open_stream(stream)
        return
    reader = ipc.open_file(stream)
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


def _cut(batches: Iterable[Any], rows: int | None) -> Iterator[Cells]:
    """Join and cut record batches into pieces of so many rows."""
    pa = needed("pyarrow", "this format")
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        while rows is not None and sum(one.num_rows for one in waiting) >= rows:
            table = pa.Table.from_batches(waiting)
            yield _columns(table.slice(0, rows))
            waiting = [one for one in table.slice(rows).to_batches() if one.num_rows]
    if sum(one.num_rows for one in waiting):
        yield _columns(pa.Table.from_batches(waiting))


def _columns(table: Any) -> Cells:
    pa = needed("pyarrow", "this format")
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.type == pa.string() and column.nbytes >= 2**31:  # more than one array of short offsets can hold
            column = column.cast(pa.large_string())
        found[name] = column.combine_chunks()
    return found
