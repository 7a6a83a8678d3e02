"""Source: batches of objects, labels and weights that can be read again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from similitude.compute.encodings import is_sparse, is_table
from similitude.data.sources.arrays import LazyFrame, Rows, Shards
from similitude.data.sources.arrow import Arrow, arrow_dataset, from_arrow
from similitude.data.sources.batch import Batch, alike, cut
from similitude.support.errors import SourceError, brief

ROWS = 65_536
"""Rows of a batch where nothing else is asked for."""


class Reader(Protocol):
    """What reads one kind of data."""

    n: int | None

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield what there is from a row on, in pieces of so many rows where that is up to the reader."""


class Source:
    """Rows that need not fit into memory, read in batches, as often as needed.

    Parameters
    ----------
    data : path, memory map, dataset, sparse matrix, frame, sequence or function
        A Parquet file, a folder of them, an ``.npy`` file or a folder of ``X_*.npy`` shards; a NumPy memory map, a
        ``pyarrow.dataset``, a polars lazy frame, or anything in memory; or a function without arguments that returns a
        new iterator of batches ``X``, ``(X, y)`` or ``(X, y, weights)`` at every call, of any kind of objects.
    labels, weights : str, path or sequence, optional
        The name of a column, an array (or the path of an ``.npy`` file), or a folder of ``y_*.npy`` shards. Shards
        ``y_*.npy`` beside ``X_*.npy`` are found without being told.

    Attributes
    ----------
    n : int or None
        How many rows there are, where that is known without reading them.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.data.sources import Source
    >>> source = Source(lambda: (np.full((2, 3), float(i)) for i in range(3)), labels=np.arange(6))
    >>> [(X.shape, y.tolist()) for X, y, _ in source]
    [((6, 3), [0, 1, 2, 3, 4, 5])]
    """

    def __init__(self, data: Any, labels: Any = None, weights: Any = None) -> None:
        if isinstance(data, Source):
            raise TypeError("this is a Source already: give labels where it is made")
        self._columns = {what: one for what, one in (("labels", labels), ("weights", weights)) if isinstance(one, str)}
        folder = labels if isinstance(labels, os.PathLike) and Path(labels).is_dir() else None
        self._reader = _reader(data, self._columns, None if folder is None else Path(folder))
        self._arrays = {
            what: np.load(one, mmap_mode="r") if isinstance(one, os.PathLike) else _sequence(one)
            for what, one in (("labels", labels), ("weights", weights))
            if one is not None and what not in self._columns and one is not folder
        }
        self.n = self._reader.n
        self.once = isinstance(self._reader, Factory) and self._reader.once
        for what, values in self._arrays.items():
            if self.n is not None:
                self._demand(what, values, self.n)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        for batch in self.batches():
            yield batch.objects, batch.labels, batch.weights

    def __repr__(self) -> str:
        return f"Source of {'an unknown number of' if self.n is None else f'{self.n:,}'} rows"

    def batches(self, rows: int = ROWS, start: int = 0) -> Iterator[Batch]:
        """Yield batches of exactly so many rows (the last of fewer) from a row on, however the data are stored."""
        return cut(alike(self._labeled(rows, start)), rows)

    def _labeled(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield what the reader gives, with the labels and weights that came in arrays or columns of their own."""
        stop = start
        for piece in self._reader.pieces(rows, start):
            if self._columns and is_table(piece.objects):
                piece = _split(piece, self._columns)
            given = {what: values[piece.start : piece.stop] for what, values in self._arrays.items()}
            stop = piece.stop
            yield replace(piece, **given)
        for what, values in self._arrays.items():
            self._demand(what, values, stop)
        if stop == 0:
            raise SourceError("the source holds no rows")

    def _demand(self, what: str, values: Any, n: int) -> None:
        if len(values) != n:
            raise SourceError(f"there are {n:,} objects and {len(values):,} {what}: each object needs one")

    def demand_passes(self, passes: int, why: str) -> None:
        """Refuse an iterator that can be read only once where more passes are needed."""
        if self.once and passes > 1:
            raise TypeError(
                f"an iterator can be read only once, and {passes} passes are needed ({why}): give a function that "
                f"returns a new iterator at every call, or use partial_fit"
            )


def looks_like_source(X: Any) -> bool:
    """Tell whether X is read in batches rather than being a sequence of objects in memory."""
    if isinstance(X, (Source, np.memmap, os.PathLike)):
        return not isinstance(X, np.memmap) or X.ndim == 2
    if _is_dataset(X) or _is_lazy(X):
        return True
    if isinstance(X, (str, bytes, type)) or hasattr(X, "__len__") or hasattr(X, "shape"):
        return False
    return callable(X) or hasattr(X, "__iter__")


class Factory:
    """A function that returns a new iterator of batches at every call; or an iterator, which is read once."""

    def __init__(self, make: Any, columns: dict[str, str]) -> None:
        self.n: int | None = None
        self.make: Callable[[], Any] = make if callable(make) else make.__iter__
        self.once = hasattr(make, "__next__")
        self.columns = columns
        self._last: Any = None
        self._total: int | None = None

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield the batches as they are made, from a row on."""
        made = iter(self.make())
        if made is self._last:
            raise SourceError(
                "the function gave the same iterator a second time, which is used up: return a new one at every call"
            )
        self._last, at = made, 0
        for number, item in enumerate(made):
            batch = self._batch(item, f"batch {number}", at)
            at = batch.stop
            if batch.stop > start:
                skipped = max(0, start - batch.start)
                yield batch.part(skipped, len(batch)) if skipped else batch
            elif len(batch) == 0:
                yield batch
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


def _reader(data: Any, columns: dict[str, str], labels: Path | None) -> Reader:
    """Return what reads data of this kind."""
    asked = columns.get("labels"), columns.get("weights")
    if isinstance(data, (str, os.PathLike)):
        return _from_path(Path(data), columns, labels)
    if _is_dataset(data):
        return Arrow(data, *asked)
    if _is_lazy(data):
        return LazyFrame(data)
    if is_table(data) or is_sparse(data) or hasattr(data, "shape") or (hasattr(data, "__len__") and len(data)):
        return Rows(data)
    if callable(data) or hasattr(data, "__iter__"):
        return Factory(data, columns)
    raise TypeError(f"a source is a path, an array, a dataset or a function of batches, got {type(data).__name__}")


def _from_path(path: Path, columns: dict[str, str], labels: Path | None) -> Reader:
    if not path.exists():
        raise SourceError(f"{path}: there is no such file or folder")
    if path.is_dir() and (any(path.glob("X_*.npy")) or not any(path.rglob("*.parquet"))):
        return Shards(path, labels)
    if path.suffix == ".npy":
        try:
            return Rows(np.load(path, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise SourceError(f"{path} cannot be read, cut off or no .npy file: {error}") from None
    return Arrow(arrow_dataset(path), columns.get("labels"), columns.get("weights"))


def _split(piece: Batch, columns: dict[str, str]) -> Batch:
    """Take the columns of labels and weights out of a table."""
    X, found = piece.objects, {}
    for what, name in columns.items():
        if getattr(piece, what) is not None:
            continue
        if name not in X.columns:
            raise SourceError(f"{piece.name}: there is no column {name!r}: there are {brief(list(X.columns))}")
        found[what] = X[name].to_numpy()
    names = [name for name in X.columns if name not in columns.values()]
    return replace(piece, objects=X[names], **found)


def _sequence(values: Any) -> Any:
    """Return labels that can be sliced by position."""
    return values if isinstance(values, np.ndarray) else np.asarray(values)


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")


def _is_lazy(X: Any) -> bool:
    return type(X).__module__.startswith("polars") and hasattr(X, "collect")
