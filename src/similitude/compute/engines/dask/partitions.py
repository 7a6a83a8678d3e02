"""Dask collections as partitions: those of X, and of labels and weights beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.engines.distributed import Handle, is_spread
from similitude.support.errors import brief


def partitions(X: Any) -> list[Handle]:
    """Return the partitions of a collection, each with whole rows.

    Those of arrays and bags keep their names, so that what X and its labels have in common is computed once. Frames are
    optimized by dask: they read the columns that are asked for.
    """
    if not is_spread(X) or not hasattr(X, "to_delayed"):
        raise TypeError(f"a dask array, dataframe or bag is needed, got {type(X).__name__}")
    if hasattr(X, "chunks") and X.ndim > 1:
        X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
    return list(np.ravel(X.to_delayed() if hasattr(X, "divisions") else X.to_delayed(optimize_graph=False)))


def beside(X: Any, other: Any, n: int, what: str) -> list[Any]:
    """Return what stands beside the n partitions of X: labels or weights."""
    if other is None:
        return [None] * n
    if isinstance(other, str):
        names = list(getattr(X, "columns", []))
        if other not in names:
            there = f"there are {brief(names)}" if names else f"X is a {type(X).__name__} without columns"
            raise ValueError(f"{what}: there is no column {other!r}, {there}")
        return [other] * n
    if not is_spread(other):
        raise TypeError(
            f"{what} of a dask collection are a collection with the same partitions or the name of a column, got "
            f"{type(other).__name__}: use dask.array.from_array({what}, chunks=...)"
        )
    found = partitions(_alike(X, other, what))
    if len(found) != n:
        raise ValueError(f"X has {n} partitions and {what} {len(found)}: give both the same partitions")
    return found


def _alike(X: Any, other: Any, what: str) -> Any:
    """Return an array cut as X is, where both say how."""
    mine, theirs = (getattr(one, "chunks", ((np.nan,),))[0] for one in (X, other))
    if np.isnan(sum(mine)) or np.isnan(sum(theirs)):
        return other
    if sum(mine) != sum(theirs):
        pairs = enumerate(zip(mine, theirs, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
        raise ValueError(
            f"X holds {sum(mine):,} objects and there are {sum(theirs):,} {what}: they differ from partition {at} on"
        )
    return other if mine == theirs else other.rechunk({0: mine})


def lengths(X: Any, n: int) -> list[Any]:
    """Return how many rows each partition has; NaN where only reading it would tell."""
    return list(X.chunks[0]) if hasattr(X, "chunks") else [np.nan] * n
