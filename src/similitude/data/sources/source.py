"""Source: rows that need not fit into memory, read in batches as often as needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from similitude.compute import is_table
from similitude.data.sources.array_readers import ShardReader, SliceReader, memory_map, sliced
from similitude.data.sources.arrow_reader import ArrowReader, arrow_dataset, from_arrow
from similitude.data.sources.batch import Batch, rebatched, with_one_schema
from similitude.data.sources.batch_size import MAX_BATCH_ROWS, SIZED_ROWS, batch_rows, check_reading_fits
from similitude.support import SourceError, brief


class BatchReader(Protocol):
    """Reads one kind of data in batches."""

    n: Any

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield the data from a row on, in pieces of at most `rows` rows if the reader can choose."""


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
        held, row = self._reader.needs() if isinstance(self._reader, ArrowReader) else (0, 0.0)
        check_reading_fits(held, budget)
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
    if _is_dataset(X) or _is_lazy_frame(X):
        return True
    if isinstance(X, (str, bytes, type)) or hasattr(X, "__len__") or hasattr(X, "shape"):
        return False
    return callable(X) or hasattr(X, "__iter__")


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
        self._last, at = items, 0
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


def _reader(data: Any, columns: dict[str, str], label_folder: Path | None) -> BatchReader:
    """Return the reader for data of this kind."""
    if isinstance(data, (str, os.PathLike)):
        data = Path(data)
        if not data.exists():
            raise SourceError(f"{data}: there is no such file or folder")
        if data.is_dir() and (any(data.glob("X_*.npy")) or not any(data.rglob("*.parquet"))):
            return ShardReader(data, label_folder)
        data = memory_map(data, str(data)) if data.suffix == ".npy" else arrow_dataset(data)
    if _is_dataset(data):
        return ArrowReader(data, columns.get("labels"), columns.get("weights"))
    if _is_lazy_frame(data) or hasattr(data, "shape") or (hasattr(data, "__len__") and len(data)):
        return SliceReader(data)
    if callable(data) or hasattr(data, "__iter__"):
        return FunctionReader(data, columns)
    raise TypeError(f"a source is a path, an array, a dataset or a function of batches, got {type(data).__name__}")


def _without_columns(piece: Batch, columns: dict[str, str]) -> Batch:
    """Separate the columns of labels and weights from a table."""
    X, found = piece.objects, {}
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


def _is_lazy_frame(X: Any) -> bool:
    return type(X).__module__.startswith("polars") and hasattr(X, "collect")
