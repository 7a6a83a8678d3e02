"""Parquet and Arrow: record batches of files, few rows in memory at a time, and datasets as rows of a source."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import UnsupportedOperation
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import warn_if_rounded
from similitude.data.limits import MAX_BATCH_ROWS
from similitude.data.sources.batch import Batch, give_back
from similitude.support import SourceError, missing_extra

ARROW_MAGIC = b"ARROW1"

NOT_AHEAD = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
"""Options of a scan that reads one record batch ahead; with none, pyarrow waits forever."""


def pyarrow(module: str) -> Any:
    """Import a module of pyarrow, or say how to install it."""
    try:
        return import_module(f"pyarrow.{module}")
    except ImportError:
        raise missing_extra("cli", "a Parquet file or Arrow dataset") from None


def parquet_batches(
    file: Any, rows: int | None = None, row_groups: Sequence[int] | None = None, columns: Sequence[str] | None = None
) -> Iterator[Any]:
    """Yield record batches of at most `rows` rows of an open Parquet file; a scan would hold whole row groups.

    Pages of a memory map that announce too many bytes are an error before they are allocated.
    """
    pages = mapped(file)
    content = file if pages is None else import_module("pyarrow").BufferReader(pages)
    buffered = 1 << 16 if pages is None and rows is not None else 0  # bytes of a column that are read at a time
    reader = pyarrow("parquet").ParquetFile(content, buffer_size=buffered, pre_buffer=False)
    step = min(rows or MAX_BATCH_ROWS, MAX_BATCH_ROWS)
    for batch in reader.iter_batches(step, row_groups=row_groups, columns=columns):
        yield batch
        give_back(pages)


def arrow_batches(
    file: Any, rows: int | None = None, check: Callable[[int], None] = lambda n_rows: None
) -> Iterator[Any]:
    """Yield record batches of at most `rows` rows of an open Arrow file or stream; `check` gets the size of each."""
    ipc = pyarrow("ipc")
    magic = file.read(len(ARROW_MAGIC))
    file.seek(0)
    pages = None if rows is None else mapped(file)
    content = file if pages is None else import_module("pyarrow").py_buffer(pages)
    if magic == ARROW_MAGIC:
        reader = ipc.open_file(content)
        found = map(reader.get_batch, range(reader.num_record_batches))
    else:
        found = ipc.open_stream(content)
    for batch in found:
        check(batch.num_rows)
        step = max(1, rows or batch.num_rows)
        for start in range(0, max(1, batch.num_rows), step):
            yield batch.slice(start, step)
            give_back(pages)


def mapped(file: Any) -> mmap.mmap | None:
    """Return a file as a memory map, or None if it is compressed or not on disk."""
    try:
        return None if hasattr(file, "fileobj") else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (AttributeError, OSError, UnsupportedOperation, ValueError):
        return None


def text_problem(batch: Any, before: int = 0) -> str:
    """Return which column holds text that is not UTF-8, if any; `before` is the number of rows before the batch."""
    invalid = import_module("pyarrow").ArrowInvalid
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except invalid as error:
            found = re.search(r"Invalid UTF8 sequence at string index (\d+)$", str(error).strip())
            if found is None:
                raise
            row = f" in row {before + int(found[1])}" if str(error).startswith("Invalid UTF8") else ""
            return f"column {name!r} holds text that is not UTF-8{row}: write it again as UTF-8, or as bytes"
    return ""


def arrow_dataset(path: Path) -> Any:
    """Open a Parquet file, or a folder of them, as a dataset."""
    with _errors_in(str(path)):
        return pyarrow("dataset").dataset(path, format="parquet")


class ArrowReader:
    """The rows of an Arrow dataset, whose shards are its fragments."""

    def __init__(self, dataset: Any, label: str | None, weight: str | None) -> None:
        self.schema = dataset.schema
        self.label = label
        self.weight = weight
        for name in (label, weight):
            if name is not None and name not in self.schema.names:
                raise SourceError(f"there is no column {name!r}: there are {', '.join(map(repr, self.schema.names))}")
        self.shards: list[tuple[Any, str, int]] = []
        for fragment in dataset.get_fragments():
            path = getattr(fragment, "path", "")
            name = f"shard {Path(path).name}" if path else "the dataset"
            with _errors_in(name):
                found = fragment.physical_schema
                for field in self.schema:
                    if field.name not in found.names:
                        problem = "has no labels" if field.name == label else "does not fit"
                        raise SourceError(f"{name} {problem}: there is no column {field.name!r}")
                    if (other := found.field(field.name).type) != field.type:
                        first = f"in the first shard it is {field.type}"
                        raise SourceError(f"{name}: column {field.name!r} is {other}, {first}")
                if _format(fragment) == "arrow":  # which does not store the number of rows
                    size = sum(batch.num_rows for batch in self._record_batches(fragment, MAX_BATCH_ROWS))
                else:
                    size = int(fragment.count_rows(**NOT_AHEAD))
            if size == 0:
                raise SourceError(f"{name} is empty: leave it out")
            self.shards.append((fragment, name, size))
        self.n = sum(size for *_, size in self.shards)

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        at = 0
        for fragment, name, size in self.shards:
            if at + size <= start:
                at += size
                continue
            with _errors_in(name):
                for batch in self._record_batches(fragment, rows):
                    if batch.num_rows and at + batch.num_rows > start:
                        piece = Batch(*from_arrow(batch, self.label, self.weight, name), name, at)
                        yield piece.part(max(0, start - at), len(piece))
                    at += batch.num_rows

    def needs(self) -> tuple[int, float]:
        """Return the memory that reading Parquet files takes: held in any case, and of a row; 0 for other formats."""
        held = 0
        row = 0.0
        for fragment, name, _ in self.shards:
            if _format(fragment) == "parquet":
                with _errors_in(name):
                    told = fragment.metadata
                    groups = [told.row_group(one.id) for one in fragment.row_groups]
                    largest = max((one.total_byte_size for one in groups), default=0)
                    # pyarrow, Spark and polars write pages of 1 MiB; there is a dictionary, stored and decoded
                    pages = min(largest, 3 * 2**20 * told.num_columns)
                    held = max(held, pages + 10 * told.serialized_size)  # so much larger in memory
                    row = max(row, *(one.total_byte_size / max(1, one.num_rows) for one in groups))
        return held, row

    def _record_batches(self, fragment: Any, rows: int) -> Iterator[Any]:
        names = self.schema.names
        kind = _format(fragment)
        if not kind:
            yield from fragment.to_batches(schema=self.schema, batch_size=rows, **NOT_AHEAD)
            return
        with open(fragment.path, "rb") if Path(fragment.path).is_file() else fragment.open() as file:
            if kind == "parquet":
                found = parquet_batches(file, rows, [one.id for one in fragment.row_groups], names)
            else:
                found = arrow_batches(file, rows)
            for batch in found:
                yield batch.select(names)


def _format(fragment: Any) -> str:
    """Return the format of a fragment if its file is read without a scan: "parquet", or "arrow" on this disk."""
    kind = getattr(getattr(fragment, "format", None), "default_extname", "")
    return kind if kind == "parquet" or (kind == "arrow" and Path(fragment.path).is_file()) else ""


def from_arrow(batch: Any, label: str | None, weight: str | None, name: str) -> tuple[Any, Any, Any]:
    """Return the objects, labels and weights of a record batch."""
    if problem := text_problem(batch):
        raise SourceError(f"{name}: {problem}")
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    found = {}
    for what, column in (("label", label), ("weight", weight)):
        if column is not None:
            values = columns.pop(column)
            if values.null_count:
                raise SourceError(f"{name}: {values.null_count:,} rows have no {what}: fill them in, or leave them out")
            found[what] = values.to_numpy(zero_copy_only=False)
    return _objects(columns, name, batch), found.get("label"), found.get("weight")


def _objects(columns: dict[str, Any], name: str, batch: Any) -> Any:
    """Return vectors if all columns are numeric, a list of objects if there is one column, else a table."""
    types = pyarrow("types")
    if not columns:
        raise SourceError(f"{name}: there is no column besides the label")
    kinds = [one.type for one in columns.values()]
    if all(types.is_floating(one) or types.is_integer(one) or types.is_boolean(one) for one in kinds):
        single = all(types.is_float32(one) or types.is_float16(one) for one in kinds)
        X = np.empty((batch.num_rows, len(columns)), np.float32 if single else np.float64)
        for j, (column, values) in enumerate(columns.items()):
            if values.null_count:
                raise SourceError(f"{name}: column {column!r} has {values.null_count:,} missing values")
            numbers = values.to_numpy(zero_copy_only=False)
            warn_if_rounded(numbers, f"{name}: column {column!r}")
            X[:, j] = numbers
        return X
    if len(columns) == 1:
        (values,) = columns.values()
        if types.is_fixed_size_list(values.type) and types.is_floating(values.type.value_type):
            return values.flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, values.type.list_size)
        return values.to_pylist()
    kept = [_distinct_categories(one) for one in columns.values()]
    return type(batch).from_arrays(kept, names=list(columns)).to_pandas()


def _distinct_categories(values: Any) -> Any:
    """Return a column; if it has categories that are listed twice, which pandas refuses, with each listed once."""
    if not pyarrow("types").is_dictionary(values.type) or len(values.dictionary.unique()) == len(values.dictionary):
        return values
    return values.dictionary_decode().dictionary_encode()


@contextmanager
def _errors_in(name: str) -> Iterator[None]:
    """Name the shard that cannot be read."""
    try:
        yield
    except SourceError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise SourceError(f"{name} cannot be read: it is truncated, damaged or of another format ({reason})") from None
