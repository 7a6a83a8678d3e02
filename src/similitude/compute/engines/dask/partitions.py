"""The partitions of Dask collections: those of X, and the labels and weights that belong to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import is_distributed
from similitude.compute.engines.distributed import Handle
from similitude.support import brief


def partitions_of(X: Any) -> list[Handle]:
    """Return the partitions of a collection, each with whole rows.

    Partitions of arrays and bags keep their keys, so that what X and its labels have in common is computed once. Data
    frames are optimized by Dask, so that only the needed columns are read.
    """
    if not is_distributed(X) or not hasattr(X, "to_delayed"):
        raise TypeError(f"a dask array, dataframe or bag is needed, got {type(X).__name__}")
    if hasattr(X, "chunks") and X.ndim > 1:
        X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
    return list(np.ravel(X.to_delayed() if hasattr(X, "divisions") else X.to_delayed(optimize_graph=False)))


def column_partitions(X: Any, column: Any, n: int, what: str) -> list[Any]:
    """Return the labels or weights for each of the n partitions of X."""
    if column is None:
        return [None] * n
    if isinstance(column, str):
        names = list(getattr(X, "columns", []))
        if column not in names:
            available = f"there are {brief(names)}" if names else f"X is a {type(X).__name__} without columns"
            raise ValueError(f"{what}: there is no column {column!r}, {available}")
        return [column] * n
    if not is_distributed(column):
        raise TypeError(
            f"{what} of a dask collection are a collection with the same partitions or the name of a column, got "
            f"{type(column).__name__}: use dask.array.from_array({what}, chunks=...)"
        )
    found = partitions_of(_rechunked(X, column, what))
    if len(found) != n:
        raise ValueError(f"X has {n} partitions and {what} {len(found)}: give both the same partitions")
    return found


def _rechunked(X: Any, column: Any, what: str) -> Any:
    """Return an array with the chunks of X, if the chunks of both are known."""
    mine, theirs = (getattr(one, "chunks", ((np.nan,),))[0] for one in (X, column))
    if np.isnan(sum(mine)) or np.isnan(sum(theirs)):
        return column
    if sum(mine) != sum(theirs):
        pairs = enumerate(zip(mine, theirs, strict=False))
        first = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
        raise ValueError(
            f"X holds {sum(mine):,} objects and there are {sum(theirs):,} {what}: they differ from partition {first} on"
        )
    return column if mine == theirs else column.rechunk({0: mine})


def partition_lengths(X: Any, n: int) -> list[Any]:
    """Return the number of rows of each partition; NaN if it is unknown until the partition is read."""
    return list(X.chunks[0]) if hasattr(X, "chunks") else [np.nan] * n
