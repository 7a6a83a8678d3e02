"""The number of rows that a batch or a sample may have under a memory budget."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_table

MAX_BATCH_ROWS = 65_536
"""The default number of rows of a batch, and the largest under a memory budget."""

BUDGET_PARTS = 16
"""A batch takes at most the memory budget over this: one is in use, one is ready, one is being read."""

OBJECT_BYTES = 1024
"""The least that an object that is not a row of an array is assumed to take in a batch."""

OBJECT_COPIES = 4
"""How often an object of a batch is in memory: as the file has it, decoded, as an object, and in its digest."""

SIZED_ROWS, SIZED_PARTS = 256, 64
"""Number of rows, and of parts of an object, from which the size of a row is estimated."""


def row_bytes(X: Any, copies: int = 1, least: float = 0.0) -> float:
    """Return the approximate size of one of the objects in bytes; rows of numbers count as floating point numbers.

    Objects that are not rows of an array, a sparse matrix or a table take `least` bytes, and count `copies` times.

    >>> row_bytes(np.zeros((3, 10), np.float32)), row_bytes(["a", "b"]), row_bytes(["a" * 5000] * 3)
    (40.0, 1024, 5049.0)
    """
    if is_sparse(X):
        return 12.0 * X.nnz / X.shape[0] + 8.0
    if is_table(X):
        return sum(max(64.0, _mean_size(list(X[name][:: _step(X)]))) for name in X.columns)
    if not hasattr(X, "dtype") or X.dtype == object:
        return max(OBJECT_BYTES, copies * max(least, _mean_size(X[:: _step(X)])))
    return float(np.prod(X.shape[1:])) * (4.0 if X.dtype == np.float32 else max(8.0, X.dtype.itemsize))


def _step(X: Any) -> int:
    """Return the distance of the rows from which the size of all is estimated: the first may be unlike the others."""
    return max(1, (X.shape[0] if hasattr(X, "shape") else len(X)) // SIZED_ROWS)


def _mean_size(some: Any) -> float:
    return sum(map(_deep_size, some)) / max(1, len(some))


def _deep_size(value: Any) -> float:
    """Return the approximate size of an object with its parts in bytes."""
    if hasattr(value, "nbytes"):
        return float(value.nbytes)
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (list, tuple, Set)) and len(value):
        some = list(itertools.islice(value, SIZED_PARTS))
        return sys.getsizeof(value) + sum(map(_deep_size, some)) * len(value) / len(some)
    return float(sys.getsizeof(value))


def batch_rows(X: Any, budget: int, least: float = 0.0) -> int:
    """Return the number of rows like those of X that a batch may have under a memory budget: a power of two.

    If X holds objects, others are as long as `least` says.

    >>> batch_rows(np.zeros((1, 1000)), 2**30)
    8192
    """
    affordable = int(budget / BUDGET_PARTS / row_bytes(X, OBJECT_COPIES, least))
    return min(MAX_BATCH_ROWS, 1 << max(0, affordable.bit_length() - 1))


def check_sample_fits(n: int, X: Any, budget: int) -> None:
    """Raise if a sample of n rows like those of X takes more than half of the memory budget."""
    needed = n * row_bytes(X)
    if needed > budget / 2:
        raise MemoryError(
            f"the sample of {n:,} rows on which choices are made takes {needed / 2**30:.2g} GiB, more than half of the "
            f"memory budget of {budget / 2**30:.2g} GiB: give the engine more memory"
        )


def check_reading_fits(held: int, budget: int) -> None:
    """Raise if a Parquet file takes more than half of the memory budget however few rows are read at a time."""
    if held > budget / 2:
        raise MemoryError(
            f"a page and the dictionary of each column of a row group, and the list of row groups, take about "
            f"{held / 2**30:.2g} GiB, more than half of the memory budget of {budget / 2**30:.2g} GiB: write the "
            f"Parquet file with smaller pages or, if it has many columns, with fewer rows in a row group, or give the "
            f"engine more memory"
        )
