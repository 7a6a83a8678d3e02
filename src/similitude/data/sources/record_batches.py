"""Record batches of Parquet and Arrow files, few rows in memory at a time, however large their row groups are."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from io import UnsupportedOperation
from typing import Any

from similitude.data.sources.parquet_pages import check_pages
from similitude.support import missing_extra

COLUMN_BUFFER = 1 << 16
"""Bytes of a column of a Parquet file that are read at a time."""

DEFAULT_ROWS = 65_536
"""Most rows of a record batch of a Parquet file if no number is given."""

ARROW_MAGIC = b"ARROW1"


def pyarrow(module: str) -> Any:
    """Import a module of pyarrow, or say how to install it."""
    try:
        return import_module(f"pyarrow.{module}")
    except ImportError:
        raise missing_extra("cli", "a Parquet file or Arrow dataset") from None


def parquet_batches(
    file: Any,
    rows: int | None = None,
    row_groups: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    known: Any = None,
) -> Iterator[Any]:
    """Yield record batches of at most `rows` rows of an open Parquet file.

    A scan of a dataset would hold whole row groups, and read further ones ahead. `known` is the metadata of a file
    whose pages have been checked; without it, both happens here.
    """
    reader = pyarrow("parquet").ParquetFile(file, buffer_size=COLUMN_BUFFER, pre_buffer=False, metadata=known)
    if known is None:
        check_pages(file, row_groups, columns)
    rows = DEFAULT_ROWS if rows is None else min(rows, DEFAULT_ROWS)
    yield from reader.iter_batches(rows, row_groups=row_groups, columns=columns)


def arrow_batches(
    file: Any, rows: int | None = None, check: Callable[[int], None] = lambda n_rows: None
) -> Iterator[Any]:
    """Yield record batches of at most `rows` rows of an open Arrow file, in the file format or the stream format.

    A file on disk that is read in parts is memory-mapped, and pages that were used are given back. Record batches that
    are compressed are held as a whole, for they can be decompressed only as a whole. `check` is called with the number
    of rows of each record batch, and raises if there are too many.
    """
    ipc, magic = pyarrow("ipc"), file.read(len(ARROW_MAGIC))
    file.seek(0)
    pages = None if rows is None else _mapped(file)
    content = file if pages is None else import_module("pyarrow").py_buffer(pages)
    if magic == ARROW_MAGIC:
        reader = ipc.open_file(content)
        found = map(reader.get_batch, range(reader.num_record_batches))
    else:
        found = ipc.open_stream(content)
    yield from _in_pieces(found, rows, pages, check)


def _in_pieces(batches: Any, rows: int | None, pages: mmap.mmap | None, check: Callable[[int], None]) -> Iterator[Any]:
    """Yield the record batches, cut into pieces; after each, the pages that were used are given back."""
    for batch in batches:
        check(batch.num_rows)
        step = max(1, batch.num_rows if rows is None else rows)
        for start in range(0, max(1, batch.num_rows), step):
            yield batch.slice(start, step)
            if pages is not None:
                give_back(pages)


def _mapped(file: Any) -> mmap.mmap | None:
    """Return a file as a memory map, or None if it is compressed or not on disk."""
    try:
        return None if hasattr(file, "fileobj") else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (AttributeError, OSError, UnsupportedOperation, ValueError):
        return None


def give_back(pages: mmap.mmap) -> None:
    """Let the system take the pages of a shared memory map out of memory; they are read again if they are needed."""
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)
