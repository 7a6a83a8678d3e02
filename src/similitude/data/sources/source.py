"""Source: rows that need not fit into memory, read in batches as often as needed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_table
from similitude.data.limits import MAX_BATCH_ROWS
from similitude.data.sources.arrow_files import ArrowReader, arrow_dataset, from_arrow
from similitude.data.sources.batch import (
    SIZED_ROWS,
    Batch,
    batch_rows,
    is_lazy_frame,
    rebatched,
    size,
    sliced,
    with_one_schema,
)
from similitude.support import PairError, SourceError, brief, error_prefix


class Source:
    """Rows that need not fit into memory, read in batches as often as needed.

    Parameters
    ----------
    data : path, memory map, dataset, sparse matrix, frame, sequence or function
        A Parquet file or a folder of them, an ``.npy`` file or a folder of ``X_*.npy`` shards; a NumPy memory map, a
        ``pyarrow.dataset``, a polars lazy frame, or anything in memory; or a function without arguments that returns a
        new iterator of batches ``X``, ``(X, y)`` or ``(X, y, weights)`` at every call, of any kind of objects.
    labels, weights : str, path or sequence, optional
        The name of a column, an array (or the path of an ``.npy`` file), or a folder of ``y_*.npy`` shards. Shards
        ``y_*.npy`` in the folder of ``X_*.npy`` are used by default.

    Attributes
    ----------
    n : int or None
        The number of rows, if it is known without reading them.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.sources import Source
    >>> source = Source(lambda: (np.full((2, 3), float(i)) for i in range(3)), labels=np.arange(6))
    >>> [(X.shape, y.tolist()) for X, y, _ in source]
    [((6, 3), [0, 1, 2, 3, 4, 5])]
    """

    def __init__(self, data: Any, labels: Any = None, weights: Any = None) -> None:
        if isinstance(data, Source):
            raise TypeError("this is a Source already: pass labels where it is made")
        given = {"labels": labels, "weights": weights}
        self._columns = {what: one for what, one in given.items() if isinstance(one, str)}
        folder = labels if isinstance(labels, os.PathLike) and Path(labels).is_dir() else None
        self._reader = _reader(data, self._columns, None if folder is None else Path(folder))
        self._arrays = {
            what: np.load(one, mmap_mode="r") if isinstance(one, os.PathLike) else np.asanyarray(one)
            for what, one in given.items()
            if one is not None and what not in self._columns and one is not folder
        }
        self.n: int | None = self._reader.n
        self.single_pass = isinstance(self._reader, FunctionReader) and self._reader.single_pass
        if self.n is not None:
            self._check_lengths(self.n)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        for batch in self.batches():
            yield batch.objects, batch.labels, batch.weights

    def __repr__(self) -> str:
        return f"Source of {'an unknown number of' if self.n is None else f'{self.n:,}'} rows"

    def batches(self, rows: int = MAX_BATCH_ROWS, start: int = 0) -> Iterator[Batch]:
        """Yield batches of exactly `rows` rows (the last with fewer) from a row on, however the data are stored."""
        return rebatched(with_one_schema(self._labeled(rows, start)), rows)

    def batch_rows(self, budget: int) -> int:
        """Return the number of rows of a batch under a memory budget, from its first rows and what a file tells."""
        held = 0
        row = 0.0
        if isinstance(self._reader, ArrowReader):
            held, row = self._reader.needs()
        if held > budget / 2:
            raise MemoryError(
                f"a page and the dictionary of each column of a row group, and the list of row groups, take about "
                f"{held / 2**30:.2g} GiB, more than half of the memory budget of {budget / 2**30:.2g} GiB: write the "
                f"Parquet file with fewer rows in a row group, or give the engine more memory"
            )
        return batch_rows(next(self.batches(SIZED_ROWS)).objects, budget - held, row)

    def _labeled(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield the pieces of the reader with the labels and weights from arrays or columns."""
        stop = start
        for piece in self._reader.pieces(rows, start):
            if self._columns and is_table(piece.objects):
                piece = _without_columns(piece, self._columns)
            stop = piece.stop
            yield replace(piece, **{what: sliced(values, piece.start, stop) for what, values in self._arrays.items()})
        self._check_lengths(stop)
        if stop == 0:
            raise SourceError("the source holds no rows")

    def _check_lengths(self, n: int) -> None:
        for what, values in self._arrays.items():
            if len(values) != n:
                raise SourceError(f"there are {n:,} objects and {len(values):,} {what}: each object needs one")

    def require_passes(self, passes: int, reason: str) -> None:
        """Raise if several passes are needed and the source is an iterator, which can be read only once."""
        if self.single_pass and passes > 1:
            raise TypeError(
                f"an iterator can be read only once, and {passes} passes are needed ({reason}): pass a function that "
                f"returns a new iterator at every call, or use partial_fit"
            )


def looks_like_source(X: Any) -> bool:
    """Tell whether X is read in batches rather than being a sequence of objects in memory."""
    if isinstance(X, (Source, np.memmap, os.PathLike)):
        return not isinstance(X, np.memmap) or X.ndim == 2
    if _is_dataset(X) or is_lazy_frame(X):
        return True
    if isinstance(X, (str, bytes, type)) or hasattr(X, "__len__") or hasattr(X, "shape"):
        return False
    return callable(X) or hasattr(X, "__iter__")


class SliceReader:
    """Rows in memory or in a memory map, or the rows of a polars lazy frame, computed slice by slice."""

    def __init__(self, X: Any) -> None:
        if is_sparse(X):
            X = X.tocsr()
        self.X = X
        if is_lazy_frame(X):
            import polars

            self.n = int(X.select(polars.len()).collect().item())
        else:
            self.n = size(X)

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        for a in range(start, self.n, rows):
            b = min(a + rows, self.n)
            yield Batch(sliced(self.X, a, b), name=f"rows {a:,} to {b - 1:,}", start=a)


class ShardReader:
    """A folder of shards ``X_*.npy``, with labels in ``y_*.npy`` in the same folder or in another one."""

    def __init__(self, folder: Path, label_folder: Path | None = None) -> None:
        names = list(folder.glob("X_*.npy"))
        names.sort(key=lambda path: [int(one) if one.isdigit() else one for one in re.split(r"(\d+)", path.name)])
        if not names:
            raise SourceError(f"{folder}: there are no shards X_*.npy in it, and no Parquet files")
        self.shards = [(one, (label_folder or folder) / f"y{one.name[1:]}") for one in names]
        self.labeled = label_folder is not None or any(y.exists() for _, y in self.shards)
        for X, y in self.shards:
            if self.labeled and not y.exists():
                raise SourceError(f"shard {X} has no labels: there is no {y}")
        self.sizes = [len(memory_map(X, f"shard {X}")) for X, _ in self.shards]
        self.n = sum(self.sizes)

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        at = 0
        for (X_path, y_path), n in zip(self.shards, self.sizes, strict=True):
            X = memory_map(X_path, f"shard {X_path}")
            name = f"shard {X_path.name}"
            labels = {}
            if n == 0:
                raise SourceError(f"{name} is empty: leave it out")
            if self.labeled:
                labels = {"labels": memory_map(y_path, f"shard {y_path}")}
                if len(labels["labels"]) != n:
                    raise SourceError(f"{name} holds {n:,} objects, {y_path.name} {len(labels['labels']):,} labels")
            for piece in SliceReader(X).pieces(rows, max(0, start - at)):
                part = {what: sliced(y, piece.start, piece.stop) for what, y in labels.items()}
                yield replace(piece, name=name, start=at + piece.start, **part)
            at += n


def memory_map(path: Path, name: str) -> Any:
    """Open an ``.npy`` file as a memory map."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if found.ndim == 0:
            raise ValueError("it holds a single value")
        return found
    except (OSError, ValueError, EOFError) as error:
        raise SourceError(f"{name} cannot be read: it is truncated, or not an .npy file ({error})") from None


class FunctionReader:
    """Batches from a function that returns a new iterator at every call, or from an iterator, which is read once."""

    n = None

    def __init__(self, function: Any, columns: dict[str, str]) -> None:
        self.new_iterator: Callable[[], Any] = function if callable(function) else function.__iter__
        self.single_pass = hasattr(function, "__next__")
        self.columns = columns
        self._last: Any = None
        self._total: int | None = None

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield the batches as they come, from a row on."""
        items = iter(self.new_iterator())
        if items is self._last:
            raise SourceError("the function returned the same iterator twice: return a new one at every call")
        self._last = items
        at = 0
        for number, item in enumerate(items):
            batch = self._batch(item, f"batch {number}", at)
            at = batch.stop
            if at > start or len(batch) == 0:
                yield batch.part(max(0, start - batch.start), len(batch))
        if self._total is not None and at != self._total:
            raise SourceError(f"one pass gave {self._total:,} rows and the next {at:,}: each must give the same rows")
        self._total = at

    def _batch(self, item: Any, name: str, start: int) -> Batch:
        if hasattr(item, "schema") and hasattr(item, "num_rows") and hasattr(item, "columns"):
            found = from_arrow(item, self.columns.get("labels"), self.columns.get("weights"), name)
            return Batch(*found, name, start)
        parts = item if isinstance(item, tuple) else (item,)
        if not 1 <= len(parts) <= 3:
            raise SourceError(f"{name}: a batch is X, (X, y) or (X, y, weights), got {len(parts)} parts")
        if not hasattr(parts[0], "shape") and not hasattr(parts[0], "__len__"):
            raise SourceError(f"{name}: a batch is X, (X, y) or (X, y, weights), got {brief(parts[0])}")
        X, y, weights = (*parts, None, None)[:3]
        return Batch(X, y, weights, name, start)


def _reader(data: Any, columns: dict[str, str], label_folder: Path | None) -> Any:
    if isinstance(data, (str, os.PathLike)):
        data = Path(data)
        if not data.exists():
            raise SourceError(f"{data}: there is no such file or folder")
        if data.is_dir() and (any(data.glob("X_*.npy")) or not any(data.rglob("*.parquet"))):
            return ShardReader(data, label_folder)
        data = memory_map(data, str(data)) if data.suffix == ".npy" else arrow_dataset(data)
    if _is_dataset(data):
        return ArrowReader(data, columns.get("labels"), columns.get("weights"))
    if is_lazy_frame(data) or hasattr(data, "shape") or (hasattr(data, "__len__") and len(data)):
        return SliceReader(data)
    if callable(data) or hasattr(data, "__iter__"):
        return FunctionReader(data, columns)
    raise TypeError(f"a source is a path, an array, a dataset or a function of batches, got {type(data).__name__}")


def _without_columns(piece: Batch, columns: dict[str, str]) -> Batch:
    """Separate the columns of labels and weights from a table."""
    X = piece.objects
    found = {}
    for what, name in columns.items():
        if getattr(piece, what) is not None:
            continue
        if name not in X.columns:
            raise SourceError(f"{piece.name}: there is no column {name!r}: there are {brief(list(X.columns))}")
        found[what] = X[name].to_numpy()
    names = [name for name in X.columns if name not in columns.values()]
    return replace(piece, objects=X[names], **found)


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")


@contextmanager
def errors_in_partition(number: int, start: int | None = None) -> Iterator[None]:
    """Prefix errors with the partition; number a pair by its row in the collection, or in the partition if unknown."""
    try:
        with error_prefix(f"partition {number}", SourceError):
            yield
    except PairError as error:
        if start is not None:
            raise error.moved(start, 0) from error.__cause__
        raise PairError(error.i, error.j, f"{error.problem} (row {error.i} of partition {number})") from error.__cause__


def partition_source(objects: Any, labels: Any = None, weights: Any = None) -> Source | None:
    """Return a partition as a source, or None if it has no rows."""
    objects = partition_objects(objects)
    if size(objects) == 0:
        if labels is not None and not isinstance(labels, str) and len(list(labels)):
            raise SourceError("it holds labels but no objects")
        return None
    given = (
        one if one is None or isinstance(one, str) or hasattr(one, "shape") else np.array(list(one))
        for one in (labels, weights)
    )
    return Source(objects, *given)


def partition_objects(partition: Any) -> Any:
    """Return the objects of a partition: arrays and frames unchanged, those of a bag as a list."""
    return partition if hasattr(partition, "shape") else list(partition)
