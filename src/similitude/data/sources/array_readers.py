"""Readers of data that can be sliced by row: arrays, memory maps, sparse matrices, frames, lists, ``.npy`` shards."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from similitude.data.sources.batch import Batch
from similitude.data.sources.record_batches import give_back
from similitude.support import SourceError


class SliceReader:
    """Rows in memory or in a memory map, or the rows of a polars lazy frame, computed slice by slice."""

    def __init__(self, X: Any) -> None:
        self.n: int
        self._rows: Callable[[int, int], Any]
        if hasattr(X, "collect"):
            import polars

            self.n = int(X.select(polars.len()).collect().item())
            self._rows = lambda a, b: X.slice(a, b - a).collect()
        else:
            X = X.tocsr() if hasattr(X, "tocsr") else X
            self.n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
            self._rows = lambda a, b: sliced(X, a, b)

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        for a in range(start, self.n, rows):
            b = min(a + rows, self.n)
            yield Batch(self._rows(a, b), name=f"rows {a:,} to {b - 1:,}", start=a)


def sliced(X: Any, a: int, b: int) -> Any:
    """Return the rows a to b; of a memory map as a copy, so that its pages need not stay in memory."""
    if not isinstance(X, np.memmap):
        return X.iloc[a:b] if hasattr(X, "iloc") else X[a:b]
    rows = np.array(X[a:b])
    pages: Any = X
    while isinstance(pages, np.ndarray):
        pages = pages.base
    if isinstance(pages, mmap.mmap) and X.mode != "c":  # what was written into a private copy would be lost
        give_back(pages)
    return rows


class ShardReader:
    """A folder of shards ``X_*.npy``, with labels in ``y_*.npy`` in the same folder or in another one."""

    def __init__(self, folder: Path, label_folder: Path | None = None) -> None:
        names = sorted(folder.glob("X_*.npy"), key=_by_number)
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
        for (X_path, y_path), size in zip(self.shards, self.sizes, strict=True):
            X = memory_map(X_path, f"shard {X_path}")
            y = memory_map(y_path, f"shard {y_path}") if self.labeled else None
            name = f"shard {X_path.name}"
            if size == 0:
                raise SourceError(f"{name} is empty: leave it out")
            if y is not None and len(y) != size:
                raise SourceError(f"{name} holds {size:,} objects, {y_path.name} {len(y):,} labels")
            for a in range(max(0, start - at), size, rows):
                b = min(a + rows, size)
                yield Batch(sliced(X, a, b), None if y is None else sliced(y, a, b), None, name, at + a)
            at += size


def _by_number(path: Path) -> list[Any]:
    """Order X_2 before X_10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def memory_map(path: Path, name: str) -> Any:
    """Open an ``.npy`` file as a memory map."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if found.ndim == 0:
            raise ValueError("it holds a single value")
        return found
    except (OSError, ValueError, EOFError) as error:
        raise SourceError(f"{name} cannot be read: it is truncated, or not an .npy file ({error})") from None
