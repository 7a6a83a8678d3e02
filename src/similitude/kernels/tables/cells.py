"""Columns of tables: by name, with missing cells, kinds of values, numbers, times and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, check_columns, check_objects, is_column, is_table, take, warn_if_rounded
from similitude.kernels.ragged import item_keys, listed
from similitude.support import brief, check_nonnegative

ANY_KIND = ("mixed", "missing")
"""Kinds of columns that do not restrict later ones."""


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame, or the keys of the first row dict of a list."""
    check_objects(X)
    if is_table(X):
        return check_columns(X)
    first = as_objects(X)[0]
    if not isinstance(first, Mapping):
        raise TypeError(f"a table is a pandas or polars data frame, or a list of row dicts; row 0 is {brief(first)}")
    return list(first)


def column(X: Any, name: Any, optional: bool = False) -> Any:
    """Return one column, as it is in a data frame, else as a list, with None for an `optional` key that is absent."""
    if is_table(X):
        there = check_columns(X)
        if name not in there:
            raise ValueError(f"there is no column {name!r}: the table has {brief(there)}")
        nested = str(X[name].dtype).startswith(("List(", "Array(", "Struct(", "Object"))
        return X[name].to_list() if nested else X[name]
    return [
        None if optional and isinstance(row, Mapping) and name not in row else _cell(row, name, i)
        for i, row in enumerate(as_objects(X))
    ]


def _cell(row: Any, name: Any, i: int) -> Any:
    if isinstance(row, Mapping) or (is_column(row) and hasattr(row, "keys")):
        if name not in row:
            raise ValueError(f"row {i} has no column {name!r}: it has {brief(list(row.keys()))}")
        return row[name]
    if isinstance(name, str) and hasattr(row, name) and not hasattr(row, "shape"):
        return getattr(row, name)
    raise TypeError(
        f"row {i} is {brief(row)}, without a column {name!r}: a table is a pandas or polars data frame, or a list of "
        f"row dicts or of objects with these attributes"
    )


def is_missing(value: Any) -> bool:
    """Whether a cell is missing: None, NaN, or a missing value of pandas."""
    if isinstance(value, (Real, Decimal, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def missing_cells(values: Any) -> np.ndarray:
    """Return a boolean array that marks the missing cells of a column."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if hasattr(values, "isna"):
        return np.asarray(values.isna(), dtype=bool)
    if is_column(values):
        missing = values.is_null()
        return (missing | values.is_nan().fill_null(True) if values.dtype.is_float() else missing).to_numpy()
    return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def plain_numbers(values: Any) -> np.ndarray | None:
    """Return a column that is stored as numbers as an array, NaN where missing; None for any other column."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biuf" else None
    if hasattr(values, "isna"):  # pandas, where extension types have a kind as well
        if getattr(values.dtype, "kind", "O") not in "biuf":
            return None
        if values.isna().any():
            return values.to_numpy(dtype=float, na_value=np.nan)
        return values.to_numpy()
    if is_column(values) and (values.dtype.is_numeric() or str(values.dtype) == "Boolean"):
        return np.asarray(values.to_numpy(), dtype=float if values.null_count() else None)
    return None


def numbers_or_seconds(name: Any, values: Any, missing: np.ndarray, kind: str) -> np.ndarray:
    """Return a column of numbers or times as floats, NaN where missing; errors name the column."""
    if kind == "time":
        return seconds(values, missing)
    stored = plain_numbers(values)
    if stored is None:
        stored = np.array([np.nan if gone else one for one, gone in zip(values, missing, strict=True)], dtype=float)
    warn_if_rounded(stored, f"column {name!r}")
    numbers = np.where(missing, np.nan, stored.astype(float))
    if np.isinf(numbers).any():
        i = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(f"column {name!r} is {numbers[i]} in row {i}: numbers must be finite")
    return numbers


def seconds(values: Any, missing: np.ndarray) -> np.ndarray:
    """Return a column of dates or times as seconds since 1970 (UTC if they have a time zone), NaN where missing."""
    if hasattr(values, "isna") and getattr(values.dtype, "kind", "O") == "M":
        times = values.to_numpy(dtype="datetime64[us]")
    elif is_column(values) and str(values.dtype).startswith(("Date", "Datetime")):
        times = values.to_numpy().astype("datetime64[us]")
    else:
        stored = np.datetime64("NaT", "us") if missing.any() else None
        times = np.array([stored if gone else _time(one) for one, gone in zip(values, missing, strict=True)])
    return np.where(missing, np.nan, times.astype("datetime64[us]").astype(np.int64) / 1e6)


def _time(value: Any) -> np.datetime64:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(value, "us")


def kind_of_values(values: Any, missing: np.ndarray) -> str:
    """Return number, text, bytes, items, time, duration, the name of another type, mixed or missing."""
    if missing.all():
        return "missing"
    if plain_numbers(values) is not None:
        return "number"
    dtype = getattr(values, "dtype", None)
    if str(dtype).lower() in ("str", "string"):
        return "text"
    if getattr(dtype, "kind", "O") == "M" or str(dtype).startswith(("Date", "Datetime")):
        return "time"
    is_pandas = is_categorical(values) and hasattr(values.cat, "categories")
    kinds = {_kind(one) for one in set(map(type, values.cat.categories if is_pandas else known_of(values, missing)))}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def check_kind(name: Any, values: Any, missing: np.ndarray, expected: str, why: str) -> str:
    """Return the kind of a column; refuse another one than expected, unless any is."""
    kind = kind_of_values(values, missing)
    if expected not in ("", *ANY_KIND) and kind not in (expected, "missing"):
        raise TypeError(f"column {name!r} holds {kind}, for instance {brief(known_of(values, missing)[0])}: {why}")
    return kind


def ranks_of(values: Any, missing: np.ndarray, order: Sequence[Any], name: str) -> np.ndarray:
    """Return the ranks of ordered categories from 0 to 1, NaN if missing; `name` is ``"object {}"`` in errors."""
    ranks = {category: float(rank) for rank, category in enumerate(order)}
    found = np.full(len(missing), np.nan)
    for i, value in enumerate(values):
        if not missing[i]:
            if value not in ranks:
                raise ValueError(
                    f"{name.replace('{}', str(i), 1)} is {brief(value)}, which is not in the order {brief(order)}"
                )
            found[i] = ranks[value]
    return found / max(1, len(ranks) - 1)


def is_categorical(values: Any) -> bool:
    """Whether a column is stored as categories by pandas or polars."""
    return type(getattr(values, "dtype", None)).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def known_of(values: Any, missing: np.ndarray) -> list[Any]:
    """Return the values of a column that are not missing."""
    there = listed(values)
    return list(compress(there, ~missing)) if missing.any() else there


def _kind(cls: type) -> str:
    if issubclass(cls, (Real, Decimal, np.bool_)):
        return "number"
    if issubclass(cls, (str, bytes)):
        return "text" if issubclass(cls, str) else "bytes"
    if issubclass(cls, (date, np.datetime64)):
        return "time"
    if issubclass(cls, (timedelta, np.timedelta64)):
        return "duration"
    return "items" if issubclass(cls, (Set, list, tuple, np.ndarray)) else cls.__name__


def keys_of(values: Any, missing: np.ndarray) -> np.ndarray:
    """Return one 64-bit key per cell, equal for equal values, 0 where missing."""
    found = np.zeros(len(missing), np.uint64)
    known = take(values, np.flatnonzero(~missing)) if missing.any() else values
    numbers = plain_numbers(known)  # without missing ones, which would turn integers into floats
    if numbers is not None:
        different, which = np.unique(numbers, return_inverse=True)
        found[~missing] = item_keys(different.tolist())[which]
        return found
    if is_categorical(values) and hasattr(values.cat, "codes"):  # of pandas
        found[~missing] = item_keys(values.cat.categories.tolist())[values.cat.codes.to_numpy()[~missing]]
        return found
    found[~missing] = item_keys(known_of(values, missing))
    return found


def order_of(values: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical column of pandas or an Enum of polars, lowest first."""
    dtype = getattr(values, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None or not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return None
    return listed(categories)


def check_weights(weights: Any, names: Iterable[Any] | None) -> None:
    """Validate weights of columns: a dict of numbers >= 0 whose names, where they are known, are among the columns."""
    if weights is None:
        return
    if not isinstance(weights, Mapping) or not weights:
        raise TypeError(f"weights must be a dict from columns to numbers >= 0, got {brief(weights)}")
    for name, weight in weights.items():
        check_nonnegative(f"the weight of column {brief(name)}", weight)
        if names is not None and name not in (known := list(names)):
            raise ValueError(f"weights name a column {brief(name)} that does not exist; the columns are {brief(known)}")
    if names is not None and not any(weights.get(name, 1.0) for name in names):
        raise ValueError("every column has weight 0: one at least must count")
