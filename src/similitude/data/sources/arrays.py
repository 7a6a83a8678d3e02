"""Reading what has rows that can be asked for: memory maps, arrays, sparse matrices, frames, lists, ``.npy`` shards."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from similitude.data.sources.batch import Batch
from similitude.support.errors import SourceError


class Rows:
    """Objects of which some rows can be taken at a time."""

    def __init__(self, X: Any, name: str = "") -> None:
        self.X = X.tocsr() if hasattr(X, "tocsr") else X
        self.n: int | None = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        self.name = name

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        assert self.n is not None
        for a in range(start, self.n, rows):
            b = min(a + rows, self.n)
            yield Batch(some(self.X, a, b), name=self.name or f"rows {a:,} to {b - 1:,}", start=a)


def some(X: Any, a: int, b: int) -> Any:
    """Return rows a to b; of a memory map as a copy, so that no more of the file stays in memory."""
    if not isinstance(X, np.memmap):
        return X.iloc[a:b] if hasattr(X, "iloc") else X[a:b]
    if isinstance(X.base, mmap.mmap) and X.filename is not None and X.flags.c_contiguous:
        row = int(np.prod(X.shape[1:], dtype=np.int64)) * X.itemsize
        shape = (b - a, *X.shape[1:])
        X = np.memmap(X.filename, X.dtype, mode="r", offset=X.offset + a * row, shape=shape)
        a, b = 0, len(X)
    return np.array(X[a:b])


class LazyFrame:
    """A lazy frame of polars, of which some rows are computed at a time."""

    def __init__(self, frame: Any) -> None:
        import polars

        self.frame = frame
        self.n: int | None = int(frame.select(polars.len()).collect().item())

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        assert self.n is not None
        for a in range(start, self.n, rows):
            yield Batch(self.frame.slice(a, rows).collect(), name=f"rows {a:,} to {a + rows - 1:,}", start=a)


class Shards:
    """A folder of ``X_*.npy``, with labels in ``y_*.npy`` beside them or in a folder of their own."""

    def __init__(self, folder: Path, labels: Path | None = None) -> None:
        names = sorted(folder.glob("X_*.npy"), key=_by_number)
        if not names:
            raise SourceError(f"{folder}: there are no shards X_*.npy in it, and no Parquet files")
        place = labels or folder
        self.shards = [(one, place / f"y{one.name[1:]}") for one in names]
        self.labeled = labels is not None or any(y.exists() for _, y in self.shards)
        for X, y in self.shards:
            if self.labeled and not y.exists():
                raise SourceError(f"shard {X} has no labels: there is no {y}")
        self.sizes = [len(_opened(X)) for X, _ in self.shards]
        self.n: int | None = sum(self.sizes)

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        at = 0
        for (path, beside), size in zip(self.shards, self.sizes, strict=True):
            X, y = _opened(path), _opened(beside) if self.labeled else None
            name = f"shard {path.name}"
            if size == 0:
                raise SourceError(f"{name} is empty: leave it out")
            if y is not None and len(y) != size:
                raise SourceError(f"{name} holds {size:,} objects, {beside.name} {len(y):,} labels")
            for a in range(max(0, start - at), size, rows):
                b = min(a + rows, size)
                yield Batch(some(X, a, b), None if y is None else np.array(y[a:b]), None, name, at + a)
            at += size


def _by_number(path: Path) -> list[Any]:
    """Order X_2 before X_10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _opened(path: Path) -> Any:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if found.ndim == 0:
            raise ValueError("it holds a single value")
        return found
    except (OSError, ValueError, EOFError) as error:
        raise SourceError(f"shard {path} cannot be read, cut off or no .npy file: {error}") from None
