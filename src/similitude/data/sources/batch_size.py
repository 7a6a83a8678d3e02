"""How many rows fit into memory at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import is_sparse, is_table
from similitude.data.sources.source import ROWS
from similitude.data.sources.stable_sample import Ends

SHARE = 16
"""A batch takes at most this part of the memory budget: one is computed with, one waits, one is read."""

GUESS = 1024
"""Bytes that an object takes which is no row of an array."""


def row_bytes(X: Any) -> float:
    """Return about how many bytes one of these objects takes, as floating point numbers where it is a row of numbers.

    >>> row_bytes(np.zeros((3, 10), np.float32)), row_bytes(["a", "b"])
    (40.0, 1024)
    """
    if is_sparse(X):
        return 12.0 * X.nnz / X.shape[0] + 8.0
    if is_table(X):
        return 64.0 * len(X.columns)
    if not hasattr(X, "dtype") or X.dtype == object:
        return GUESS
    return float(np.prod(X.shape[1:])) * (4.0 if X.dtype == np.float32 else max(8.0, X.dtype.itemsize))


def batch_rows(X: Any, budget: int) -> int:
    """Return how many rows like these a batch may have under a memory budget: a power of two.

    >>> batch_rows(np.zeros((1, 1000)), 2**30)
    8192
    """
    affordable = int(budget / SHARE / row_bytes(X))
    return min(ROWS, 1 << max(0, affordable.bit_length() - 1))


def check_sample(ends: Ends, X: Any, budget: int) -> None:
    """Refuse a sample of rows like these that takes more than half of the memory budget."""
    needs = len(ends.positions) * row_bytes(X)
    if needs > budget / 2:
        raise MemoryError(
            f"a sample of {len(ends.positions):,} rows, on which choices are made, takes {needs / 2**30:.2g} GiB, more "
            f"than half of the memory budget of {budget / 2**30:.2g} GiB: give the engine more memory"
        )
