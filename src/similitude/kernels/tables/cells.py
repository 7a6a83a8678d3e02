"""Columns of tables: by name, with missing cells, kinds of values, numbers, times and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, check_columns, check_objects, is_column, is_table, take, warn_if_rounded
from similitude.kernels.ragged import item_keys, listed
from similitude.support import brief, check_nonnegative

KINDS_OF_CELLS: dict[str, Any] = {
    "number": (Real, Decimal, np.bool_),
    "text": str,
    "bytes": bytes,
    "time": (date, np.datetime64),
    "duration": (timedelta, np.timedelta64),
    "items": (Set, list, tuple, np.ndarray),
}
"""Types of the values of each kind; others are of a kind of their own."""


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame, or the keys of the first row dict of a list."""
    check_objects(X)
    if is_table(X):
        return check_columns(X)
    first = as_objects(X)[0]
    if not isinstance(first, Mapping):
        raise TypeError(f"a table is a pandas or polars data frame, or a list of row dicts; row 0 is {brief(first)}")
    return list(first)


def column(X: Any, name: Any, optional: bool = False) -> Cells:
    """Return one column, as it is in a data frame, else as a list, with None for an `optional` key that is absent."""
    if is_table(X):
        there = check_columns(X)
        if name not in there:
            raise ValueError(f"there is no column {name!r}: the table has {brief(there)}")
        nested = str(X[name].dtype).startswith(("List(", "Array(", "Struct(", "Object"))
        return Cells(X[name].to_list() if nested else X[name], name)
    cells = []
    for i, row in enumerate(as_objects(X)):
        absent = optional and isinstance(row, Mapping) and name not in row
        cells.append(None if absent else _cell(row, name, i))
    return Cells(cells, name)


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
        return np.asarray(values != values)
    if hasattr(values, "isna"):
        return np.asarray(values.isna(), dtype=bool)
    if not is_column(values):
        return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    missing = values.is_null()
    if values.dtype.is_float():
        missing |= values.is_nan().fill_null(True)
    return np.asarray(missing.to_numpy())


class Cells:
    """The values of a column as they are stored, which of them are missing, and the name of the column."""

    def __init__(self, values: Any, name: Any = None) -> None:
        self.values = values
        self.name = name
        self.missing = missing_cells(values)

    @classmethod
    def of(cls, objects: Any) -> Cells:
        """Return single values: a column unchanged, anything else as a list."""
        return cls(objects if is_column(objects) else as_objects(objects))

    def known(self) -> list[Any]:
        """Return the values that are not missing."""
        return list(compress(listed(self.values), (~self.missing).tolist()))

    @property
    def is_categorical(self) -> bool:
        """Whether pandas or polars store it as categories."""
        return type(getattr(self.values, "dtype", None)).__name__ in ("CategoricalDtype", "Categorical", "Enum")

    @cached_property
    def kind(self) -> str:
        """Number, text, bytes, items, time, duration, the name of another type, mixed or missing."""
        if self.missing.all():
            return "missing"
        if plain_numbers(self.values) is not None:
            return "number"
        dtype = getattr(self.values, "dtype", None)
        if str(dtype).lower() in ("str", "string"):
            return "text"
        if self._holds_times():
            return "time"
        of_pandas = self.is_categorical and hasattr(self.values.cat, "categories")
        cells = self.values.cat.categories if of_pandas else self.known()
        kinds = {_kind(one) for one in set(map(type, cells))}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def check_kind(self, expected: str, why: str) -> None:
        """Refuse another kind than expected, unless that does not restrict it."""
        if expected not in ("", "mixed", "missing") and self.kind not in (expected, "missing"):
            raise TypeError(f"column {self.name!r} holds {self.kind}, for instance {brief(self.known()[0])}: {why}")

    def numbers(self) -> np.ndarray:
        """Return numbers, or times in seconds, as floats, NaN where missing."""
        if self.kind == "time":
            return self.seconds()
        stored = plain_numbers(self.values)
        if stored is None:
            stored = np.full(len(self.missing), np.nan)
            stored[~self.missing] = self.known()
        warn_if_rounded(stored, f"column {self.name!r}")
        numbers = np.where(self.missing, np.nan, stored.astype(float))
        if np.isinf(numbers).any():
            i = int(np.isinf(numbers).argmax())
            raise ValueError(f"column {self.name!r} is {numbers[i]} in row {i}: numbers must be finite")
        return numbers

    def seconds(self) -> np.ndarray:
        """Return dates or times as seconds since 1970 (UTC if they have a time zone), NaN where missing."""
        if self._holds_times():
            times = np.asarray(self.values, dtype="datetime64[us]")
        else:
            times = np.full(len(self.missing), np.datetime64("NaT", "us"))
            times[~self.missing] = list(map(_time, self.known()))
        return np.where(self.missing, np.nan, times.astype(np.int64) / 1e6)

    def _holds_times(self) -> bool:
        dtype = getattr(self.values, "dtype", None)
        return getattr(dtype, "kind", "O") == "M" or str(dtype).startswith(("Date", "Datetime"))

    def ranks(self, order: Sequence[Any], what: str) -> np.ndarray:
        """Return the ranks of ordered categories from 0 to 1, NaN if missing; `what` is ``"object {}"`` in errors."""
        ranks = {category: float(rank) for rank, category in enumerate(order)}
        found = np.full(len(self.missing), np.nan)
        for i, value in enumerate(self.values):
            if not self.missing[i]:
                if value not in ranks:
                    place = what.replace("{}", str(i), 1)
                    raise ValueError(f"{place} is {brief(value)}, which is not in the order {brief(order)}")
                found[i] = ranks[value]
        return found / max(1, len(ranks) - 1)

    def order(self) -> list[Any] | None:
        """Return the categories of an ordered categorical of pandas or an Enum of polars, lowest first."""
        dtype = getattr(self.values, "dtype", None)
        categories = getattr(dtype, "categories", None)
        if categories is None or not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
            return None
        return listed(categories)

    def keys(self) -> np.ndarray:
        """Return one 64-bit key per cell, equal for equal values, 0 where missing."""
        found = np.zeros(len(self.missing), np.uint64)
        known = take(self.values, np.flatnonzero(~self.missing))
        numbers = plain_numbers(known)  # without missing ones, which would turn integers into floats
        if numbers is not None:
            different, which = np.unique(numbers, return_inverse=True)
            found[~self.missing] = item_keys(different.tolist())[which]
        elif self.is_categorical and hasattr(known.cat, "codes"):  # of pandas
            found[~self.missing] = item_keys(known.cat.categories.tolist())[known.cat.codes.to_numpy()]
        else:
            found[~self.missing] = item_keys(listed(known))
        return found


def plain_numbers(values: Any) -> np.ndarray | None:
    """Return a column that is stored as numbers as an array, NaN where missing; None for any other column."""
    if hasattr(values, "isna"):  # pandas, where extension types have a kind as well
        if getattr(values.dtype, "kind", "O") not in "biuf":
            return None
        if values.isna().any():
            return values.to_numpy(dtype=float, na_value=np.nan)
        return values.to_numpy()
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biuf" else None
    if is_column(values) and (values.dtype.is_numeric() or str(values.dtype) == "Boolean"):
        return np.asarray(values.to_numpy(), dtype=float if values.null_count() else None)
    return None


def _time(value: Any) -> np.datetime64:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _kind(cls: type) -> str:
    return next((kind for kind, types in KINDS_OF_CELLS.items() if issubclass(cls, types)), cls.__name__)


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
