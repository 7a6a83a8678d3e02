"""Time series encoded as one array of values and the start of each series."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import (
    FLOATS,
    as_objects,
    check_objects,
    first_nonfinite,
    is_column,
    is_sparse,
    is_table,
    warn_if_rounded,
)
from similitude.kernels.ragged import Ragged, starts_of
from similitude.support import brief


class Series(Ragged):
    """The values of all series, of shape (times, channels), and of each a norm that a kernel needs again."""

    of_entries = ("values",)
    of_rows = ("norms",)
    values: np.ndarray
    norms: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the values, and of similarities."""
        return self.values.dtype

    @property
    def channels(self) -> int:
        """The number of values at each time."""
        return int(self.values.shape[1])


def as_series(X: Any) -> Series:
    """Return encoded series, in float32 if every series is; a table has one series per row."""
    check_objects(X)
    if is_sparse(X):
        raise TypeError("series kernels need dense arrays, not sparse ones: convert with X.toarray()")
    if is_table(X) and len(X.columns) > 1:
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim in (2, 3) and X.dtype != object and not np.ma.is_masked(X):
        n, time = X.shape[:2]
        X = _floating(X, "an array")
        if X.size == 0:
            shape = f"the array has shape {X.shape}"
            raise ValueError(f"series 0 is empty ({shape}): every series needs at least one value")
        starts = np.arange(n + 1, dtype=np.int64) * time
        values = np.require(X, requirements=["C", "A"]).reshape(n * time, -1)  # without a copy if possible
    else:
        pieces = _pieces(as_objects(X))
        starts = starts_of([len(piece) for piece in pieces])
        values = np.ascontiguousarray(np.concatenate(pieces))
    bad = first_nonfinite(values)
    if bad is not None:
        row, channel = bad
        i = int(np.searchsorted(starts, row, side="right")) - 1
        raise ValueError(_missing(f"series {i}", row - int(starts[i]), channel, values.shape[1], values[row, channel]))
    return Series(starts, values)


def _pieces(objects: list[Any]) -> list[np.ndarray]:
    if all(isinstance(one, (Real, np.generic)) for one in objects):
        raise TypeError(f"X is one series of {len(objects)} numbers: pass a list of series, for instance [x]")
    pieces = [_one(i, one) for i, one in enumerate(objects)]
    channels = pieces[0].shape[1]
    for i, piece in enumerate(pieces):
        if len(piece) == 0 or channels == 0:
            raise ValueError(f"series {i} is empty: every series needs at least one value")
        if piece.shape[1] != channels:
            raise ValueError(
                f"series must all have the same channels: series {i} has {piece.shape[1]}, series 0 has {channels} "
                f"(the shape of a series is (time, channel))"
            )
    return pieces


def _one(i: int, one: Any) -> np.ndarray:
    if isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one):
        at = int(np.argwhere(np.ma.getmaskarray(one))[0][0])
        raise ValueError(f"series {i} has no value at position {at} (masked): fill or cut missing values first")
    if isinstance(one, (str, bytes, dict, set, Real)) or one is None:
        raise TypeError(f"series kernels need series of numbers, series {i} is {brief(one)}")
    try:
        array = one.to_numpy() if is_table(one) or is_column(one) else np.asarray(one)
    except (TypeError, ValueError):
        raise TypeError(f"series {i} has times with different numbers of channels: {brief(one)}") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"a series has the shape (time,) or (time, channel), series {i} has {array.shape}")
    return _floating(array, f"series {i}")


def _floating(X: np.ndarray, name: str) -> np.ndarray:
    if X.dtype in FLOATS:
        return X
    warn_if_rounded(X, name)
    if X.dtype.kind in "fiub":
        return X.astype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64)
    if X.dtype != object:
        raise TypeError(f"series kernels need real numbers, {name} holds {X.dtype}")
    for (time, channel), value in np.ndenumerate(X):
        if value is None or str(value) == "<NA>":
            raise ValueError(_missing(name, time, channel, X.shape[1], value))
        if not isinstance(value, Real):
            raise TypeError(f"series kernels need numbers, {name} holds {brief(value)} at position {time}")
    return X.astype(np.float64)


def _missing(name: str, time: int, channel: int, channels: int, value: Any) -> str:
    where = f"position {time}" + f", channel {channel}" * (channels > 1)
    return f"{name} is {value} at {where}: series kernels need finite numbers, so fill or cut missing values first"


def in_common_precision(A: Series, B: Series) -> tuple[Series, Series]:
    """Return both in the same precision, unchanged if they have it already; refuse different channels."""
    if A.channels != B.channels:
        raise ValueError(f"the series of X have {A.channels} channels, those of Z {B.channels}: both need the same")
    if A is B or A.dtype == B.dtype:
        return A, B
    A, B = (Series(one.starts, one.values.astype(np.float64), one.norms) for one in (A, B))
    return A, B
