"""Predictions written to a file: all at once or some rows at a time, complete or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from similitude.data.files.problems import listed, needed
from similitude.support.atomic_write import check_place, complete_file
from similitude.support.errors import FileError

STANDARD_OUTPUT = "-"

ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip

Columns = Mapping[str, Sequence[Any] | np.ndarray]
Add = Callable[[Columns], None]


def write(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write columns of equal length: CSV, TSV, JSON Lines, Parquet or Arrow, by the ending of the name.

    Parameters
    ----------
    path : path
        Text formats may end in ``.gz``; ``-`` is standard output, as CSV. A file that is there is replaced, once the
        new one is complete.
    columns : mapping
        From the name of a column to its values.

    Examples
    --------
    >>> from similitude import files
    >>> files.write("-", {"row": [0, 1], "label": ["yes", "no, never"]})
    row,label
    0,yes
    1,"no, never"
    """
    with writer(path) as add:
        add(columns)


@contextmanager
def writer(path: str | os.PathLike[str]) -> Iterator[Add]:
    """Open a file for writing some rows at a time; where an error ends the work, no file is left.

    Examples
    --------
    >>> from similitude import files
    >>> with files.writer("-") as add:
    ...     add({"row": [0, 1]})
    ...     add({"row": [2]})
    row
    0
    1
    2
    """
    format, packed = _format(path)
    with _target(path) as target, _packing(target, packed) as stream, _WRITERS[format](stream) as add:
        names: list[str] = []
        yield _checked(add, names)
        if not names:
            raise ValueError("nothing to write: add columns at least once")


def _packing(target: BinaryIO, packed: bool) -> AbstractContextManager[Any]:
    return (
        gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6, mtime=0)
        if packed
        else nullcontext(target)
    )


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written, or a format that is not known, before any work is done.

    Examples
    --------
    >>> check_writable("predictions.doc")
    Traceback (most recent call last):
    ...
    similitude.support.errors.FileError: predictions.doc: unknown ending '.doc': write '.csv', '.tsv', '.jsonl', ...
    """
    format, _ = _format(path)
    if format in ("parquet", "arrow"):
        needed("pyarrow", f"writing {path}")
    if os.fspath(path) == STANDARD_OUTPUT:
        return
    place = Path(os.path.realpath(path))
    if _is_special(place):
        return
    _checked_place(path)


def _format(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Return the format, and whether it is gzipped."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return "csv", False
    place = Path(path)
    packed = place.suffix == ".gz"
    ending = Path(place.stem).suffix if packed else place.suffix
    format = ENDINGS.get(ending.lower(), "csv" if _is_special(place) else "")
    if not format:
        raise FileError(f"{path}: unknown ending {ending!r}: write {listed(ENDINGS, most=20)}, or '-'")
    if packed and format in ("parquet", "arrow"):
        raise FileError(f"{path}: only text files are gzipped: leave .gz out")
    return format, packed


def _is_special(place: Path) -> bool:
    """Tell whether this is a pipe or a device, which cannot be replaced."""
    return place.exists() and not stat.S_ISREG(place.stat().st_mode) and not place.is_dir()


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    if os.fspath(path) == STANDARD_OUTPUT:
        yield cast(BinaryIO, _StandardOutput())
        return
    place = Path(os.path.realpath(path))
    if _is_special(place):
        with open(place, "wb") as stream:
            yield stream
        return
    with complete_file(_checked_place(path)) as stream:
        yield stream


def _checked_place(path: str | os.PathLike[str]) -> Path:
    try:
        return check_place(path)
    except ValueError as error:
        raise FileError(str(error)) from None


class _StandardOutput(io.RawIOBase):
    """Standard output for bytes, also where it has been replaced by a stream of text."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            sys.stdout.write(bytes(data).decode())
        return len(data)


def _checked(add: Callable[[dict[str, list[Any]]], None], names: list[str]) -> Add:
    """Refuse columns of unequal length, and other columns than before, whose names are kept in `names`."""

    def add_checked(columns: Columns) -> None:
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have equal lengths, got {lengths}")
        if names and list(columns) != names:
            raise ValueError(f"columns must be those of the rows before, {names}, got {list(columns)}")
        names[:] = list(columns)
        add({name: _values(column) for name, column in columns.items()})

    return add_checked


def _values(column: Any) -> list[Any]:
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if hasattr(column, "isna"):  # pandas has several values for a gap
        values = [None if gap else value for value, gap in zip(values, column.isna().tolist(), strict=True)]
    return values


@contextmanager
def _delimited(stream: BinaryIO, separator: str) -> Iterator[Callable[[dict[str, list[Any]]], None]]:
    started = False

    def add(columns: dict[str, list[Any]]) -> None:
        nonlocal started
        text = _rows(columns, separator, not started, csv.QUOTE_MINIMAL)
        if "\r" in text:  # an end of line to readers, but not to older versions of the csv module
            text = _rows(columns, separator, not started, csv.QUOTE_NONNUMERIC)
        started = True
        stream.write(text.encode())

    yield add


def _rows(columns: dict[str, list[Any]], separator: str, with_header: bool, quoting: Any) -> str:
    text = io.StringIO(newline="")
    rows = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=quoting)
    if with_header:
        rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


@contextmanager
def _json_lines(stream: BinaryIO) -> Iterator[Callable[[dict[str, list[Any]]], None]]:
    encode = json.JSONEncoder(ensure_ascii=False).encode

    def add(columns: dict[str, list[Any]]) -> None:
        rows = (encode(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
        stream.write("".join(f"{row}\n" for row in rows).encode())

    yield add


@contextmanager
def _arrow(stream: BinaryIO, format: str) -> Iterator[Callable[[dict[str, list[Any]]], None]]:
    pa = needed("pyarrow", "writing Parquet or Arrow")
    parquet, ipc = needed("pyarrow.parquet", "writing Parquet"), needed("pyarrow.ipc", "writing Arrow")
    out: Any = None
    schema: Any = None

    def add(columns: dict[str, list[Any]]) -> None:
        nonlocal out, schema
        table = pa.table(columns, schema=schema)
        if out is None:
            schema = table.schema
            out = parquet.ParquetWriter(stream, schema) if format == "parquet" else ipc.new_file(stream, schema)
        out.write_table(table)

    try:
        yield add
    finally:
        if out is not None:
            out.close()


_WRITERS: dict[str, Any] = {
    "csv": lambda stream: _delimited(stream, ","),
    "tsv": lambda stream: _delimited(stream, "\t"),
    "jsonl": _json_lines,
    "parquet": lambda stream: _arrow(stream, "parquet"),
    "arrow": lambda stream: _arrow(stream, "arrow"),
}
