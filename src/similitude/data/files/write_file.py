"""Writing columns to a file, all at once or some rows at a time; the file is complete or absent."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np

from similitude.data.files.file_errors import import_optional, listed
from similitude.data.files.open_file import ENDINGS, TABULAR
from similitude.support import FileError, check_path, check_place, complete_file, printable

Columns = Mapping[str, Sequence[Any] | np.ndarray]
T = TypeVar("T")


def write(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write columns of equal length as CSV, TSV, JSON Lines, Parquet or Arrow, by the ending of the name.

    Parameters
    ----------
    path : path
        Text formats may end in ``.gz``; ``-`` is standard output, as CSV. An existing file is replaced when the new
        one is complete.
    columns : mapping
        The values of each column by its name.

    Notes
    -----
    Values are written as they are, so that a file is read again as it was written. A spreadsheet takes texts that begin
    with ``=``, ``+``, ``-`` or ``@`` in a CSV or TSV file for formulas: import such columns as text, or write JSON
    Lines or Parquet. On a terminal alone, control characters and marks of the direction of text are shown escaped.

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
def writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    """Open a file for writing some rows at a time; if an error is raised in the context, no file is left.

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
    format, is_gzipped = _format(path)
    is_text = format in ("csv", "tsv", "jsonl")
    names: list[str] = []
    out: Any = None
    schema: Any = None
    with _errors_in_writing(path) as callers, ExitStack() as stack:
        stream: Any = stack.enter_context(_opened(path))
        if is_gzipped:
            stream = stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0))
        if not is_text:
            modules = ("pyarrow", "pyarrow.parquet", "pyarrow.ipc")
            pa, parquet, ipc = (import_optional(one, "writing Parquet or Arrow") for one in modules)

        def add(columns: Columns) -> None:
            nonlocal out, schema
            lengths = {name: len(column) for name, column in columns.items()}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"columns must have equal lengths, got {lengths}")
            if names and list(columns) != names:
                raise ValueError(f"columns must be those of the rows before, {names}, got {list(columns)}")
            values = {name: _values(column) for name, column in columns.items()}
            with _errors_in_writing(path):
                if is_text:
                    stream.write(_text(values, format, with_header=not names).encode())
                else:
                    table = pa.table(values, schema=schema)
                    if out is None:
                        schema = table.schema
                        new = {"parquet": parquet.ParquetWriter, "arrow": ipc.new_file}[format]
                        out = stack.enter_context(new(stream, schema))
                    out.write_table(table)
            names[:] = list(columns)

        try:
            yield add
        except OSError as error:
            callers.append(error)
            raise
        if not names:
            raise ValueError("nothing to write: add columns at least once")


@contextmanager
def _errors_in_writing(path: str | os.PathLike[str]) -> Iterator[list[OSError]]:
    """Say which file could not be written, and why; errors put into the list are the caller's and pass unchanged."""
    callers: list[OSError] = []
    try:
        yield callers
    except OSError as error:
        if error in callers or isinstance(error, BrokenPipeError):  # whoever reads a pipe has seen enough
            raise
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written or its format is unknown, before any work is done."""
    format, _ = _format(path)
    if format in ("parquet", "arrow"):
        import_optional("pyarrow", f"writing {path}")
    if os.fspath(path) != "-" and not _is_device(path):
        _checked(check_place, path)


def formula_columns(path: str | os.PathLike[str], columns: Columns) -> list[str]:
    """Return the names of columns with texts that a spreadsheet takes for formulas when it opens the written file."""
    if _format(path)[0] not in ("csv", "tsv"):
        return []
    texts = {name: one for name, one in columns.items() if getattr(one, "dtype", np.dtype("O")).kind not in "biufcMm"}
    return [name for name, column in texts.items() if any(map(_is_formula, {*map(str, _values(column))}))]


def _is_formula(text: str) -> bool:
    """Tell whether a text begins as formulas do, and is neither a number nor a sign alone."""
    if len(text) < 2 or not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _format(path: str | os.PathLike[str]) -> tuple[str, bool]:
    if os.fspath(path) == "-":
        return "csv", False
    _checked(check_path, path)
    place = Path(path)
    is_gzipped = place.suffix == ".gz"
    ending = Path(place.name.removesuffix(".gz")).suffix
    known = {one: format for one, format in ENDINGS.items() if format in TABULAR and format != "xlsx"}
    format = known.get(ending.lower())
    if format is None and _is_device(place):
        format = "csv"
    if format is None:
        raise FileError(f"{path}: unknown ending {ending!r}: write {listed(known, most=20)}, or '-'")
    if is_gzipped and format in ("parquet", "arrow"):
        raise FileError(f"{path}: only text files are gzipped: leave .gz out")
    return format, is_gzipped


def _is_device(path: str | os.PathLike[str]) -> bool:
    """Tell whether this is a pipe or a device, which is written to and not replaced."""
    place = Path(os.path.realpath(path))
    return place.exists() and not stat.S_ISREG(place.stat().st_mode) and not place.is_dir()


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    if os.fspath(path) == "-":
        yield cast(BinaryIO, _Screen(sys.stdout))
    elif _is_device(path):
        with open(path, "wb") as stream:
            if stream.isatty():
                stream = cast(Any, _Screen(stream))
            yield stream
    else:
        with complete_file(_checked(check_place, path)) as stream:
            yield stream


def _checked(check: Callable[[Any], T], path: str | os.PathLike[str]) -> T:
    try:
        return check(path)
    except ValueError as error:
        raise FileError(str(error)) from None


class _Screen(io.RawIOBase):
    """Standard output for bytes, even if a stream of text replaced it, or a device; a terminal gets printable text."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = bytes(data).decode()
        if self.stream.isatty():
            text = printable(text)
        self.stream.flush()
        out = getattr(self.stream, "buffer", self.stream)
        if isinstance(out, io.TextIOBase):
            out.write(text)
        else:
            out.write(text.encode())
            out.flush()
        return len(data)


def _values(column: Any) -> list[Any]:
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if hasattr(column, "isna"):  # pandas has several missing values
        values = [None if gap else value for value, gap in zip(values, column.isna().tolist(), strict=True)]
    return values


def _text(columns: dict[str, list[Any]], format: str, with_header: bool) -> str:
    if format == "jsonl":
        encode = json.JSONEncoder(ensure_ascii=False).encode
        rows = zip(*columns.values(), strict=True)
        return "".join(f"{encode(dict(zip(columns, row, strict=True)))}\n" for row in rows)
    delimiter = {"csv": ",", "tsv": "\t"}[format]
    written = ""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC):
        text = io.StringIO(newline="")
        out = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=quoting)
        out.writerows([list(columns)] * with_header)
        out.writerows(zip(*columns.values(), strict=True))
        written = text.getvalue()
        if "\r" not in written:  # an end of line to readers, but older versions of the csv module do not quote it
            break
    return written
