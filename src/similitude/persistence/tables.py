"""Tables, columns, indices and dates of pandas, and tables and columns of polars."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from similitude.persistence.forms import STANDARD_FORMS, Parts, PlainForm, attributes, library, standard_zone
from similitude.persistence.limits import check_hashes
from similitude.support import SavedModelError

NULLABLE = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|boolean|str|string\[\w+\]|[\w\[\]():, =/+-]{1,80}\[pyarrow\]")
"""The dtypes of pandas whose columns are stored as their values and the places of the missing ones."""

POLARS_NUMBERS = tuple(f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64))
POLARS_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Binary", "Boolean", "Categorical", "Date", "Int128", "Null", "String", "Time", "UInt128"), ()),
    **dict.fromkeys(POLARS_NUMBERS, ()),
    "Array": ("inner", "size"),
    "Datetime": ("time_unit", "time_zone"),
    "Decimal": ("precision", "scale"),
    "Duration": ("time_unit",),
    "Enum": ("categories",),
    "List": ("inner",),
    "Struct": ("fields",),
}
"""The types of polars, and their parameters."""


# pandas


def _array(values: Any, what: str) -> Any:
    """Return the values of a Series or an Index: a NumPy array, or an array of pandas that has a plain form."""
    array = values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array
    if not isinstance(array, np.ndarray) and f"pandas.{type(array).__name__}" not in TABLE_FORMS:
        raise SavedModelError(f"{what} of {values.dtype}, which cannot be stored: convert to numbers, dates or strings")
    return array


def _frame_parts(frame: Any) -> Parts:
    columns = [(name, frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
    return {
        "columns": [_array(column, f"has a column {name!r}") for name, column in columns],
        "names": frame.columns,
        "index": frame.index,
        "attrs": frame.attrs,
    }


def _frame(columns: Any, names: Any, index: Any, attrs: Any) -> Any:
    pandas = library("pandas")
    if any(len(column) != len(index) for column in columns):
        raise SavedModelError("the columns of a table have different lengths")
    series = {i: pandas.Series(column, dtype=column.dtype) for i, column in enumerate(columns)}
    made = pandas.DataFrame(series, index=pandas.RangeIndex(len(index)))
    made.columns = names
    made.index = index
    made.attrs = attrs
    return made


def _series(values: Any, index: Any, name: Any) -> Any:
    return library("pandas").Series(values, index=index, name=name, dtype=values.dtype)


def _index(values: Any, name: Any, frequency: Any) -> Any:
    made = library("pandas").Index(values, name=name, dtype=values.dtype)
    if frequency is not None:
        made.freq = frequency
    return made


def _multi_index(levels: Any, names: Any) -> Any:
    for level in levels:
        if level.dtype == object:  # pandas looks its values up by their hashes
            check_hashes(level)
    return library("pandas").MultiIndex.from_arrays(levels, names=names)


def _zoned_parts(array: Any) -> Parts:
    zone = getattr(array.tz, "key", None) or getattr(array.tz, "zone", None) or array.tz
    moments = library("pandas").DatetimeIndex(array).tz_convert("UTC").tz_localize(None)
    return {"moments": moments.to_numpy(), "zone": zone}


def _zoned(moments: Any, zone: Any) -> Any:
    return library("pandas").DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).array


def _nullable_parts(array: Any) -> Parts:
    dtype = array.dtype
    name = str(dtype)
    if type(dtype).__name__ == "StringDtype" and dtype.na_value is library("pandas").NA:
        name = f"string[{dtype.storage}]"
    values = [None if is_missing else one for one, is_missing in zip(array.tolist(), array.isna(), strict=True)]
    made = _nullable(name, values)
    if made.dtype != dtype or not made.equals(array):
        raise SavedModelError(f"is an array of {dtype}, which cannot be stored: convert to numbers, dates or strings")
    return {"dtype": name, "values": values}


def _nullable(dtype: str, values: Any) -> Any:
    if not NULLABLE.fullmatch(dtype):
        raise SavedModelError(f"there is no column of {dtype[:40]!r}")
    return library("pandas").array(values, dtype=dtype)


def _timestamp_parts(value: Any) -> Parts:
    value = standard_zone(value)
    return {"moment": value.asm8, "zone": value.tzinfo}


def _timestamp(moment: Any, zone: Any) -> Any:
    made = library("pandas").Timestamp(moment)
    return made if zone is None else made.tz_localize("UTC").tz_convert(zone)


# polars


def _polars_type(name: str, **parameters: Any) -> Any:
    return getattr(library("polars"), name)(*(parameters[one] for one in POLARS_TYPES[name]))


def _polars_parts(series: Any) -> Parts:
    kind = type(series.dtype).__name__
    unstorable = SavedModelError(f"has values of the type {series.dtype}, which cannot be stored: cast them to another")
    if kind not in POLARS_TYPES:
        raise unstorable
    counted = series.to_physical() if _is_counted(series.dtype) else series
    values = counted.to_list()
    if kind in POLARS_NUMBERS and not series.null_count():
        values = counted.to_numpy()
    parts = {"name": series.name, "dtype": series.dtype, "values": values}
    if not _polars_series(**parts).equals(series, check_dtypes=True, check_names=True):
        raise unstorable
    return parts


def _polars_series(name: str, dtype: Any, values: Any) -> Any:
    polars = library("polars")
    storage = dtype
    if _is_counted(dtype):
        storage = polars.Series([], dtype=dtype).to_physical().dtype
    return polars.Series(name, values, dtype=storage).cast(dtype)


def _width(dtype: Any) -> int:
    """Return the number of values in a row of a type: an array of arrays has many."""
    inner = [field.dtype for field in getattr(dtype, "fields", ())] or [getattr(dtype, "inner", None)]
    within = sum([_width(one) for one in inner if one is not None])
    return max(1, within) * max(1, int(getattr(dtype, "size", 1)))


def _is_counted(dtype: Any) -> bool:
    """Whether a type is stored as integers: dates and times, for Python's own have no nanoseconds."""
    return bool(re.search("Date|Time|Duration", str(dtype))) and not re.search("Categorical|Decimal|Enum", str(dtype))


_NULLABLE_ARRAYS = (
    *("IntegerArray", "FloatingArray", "BooleanArray", "StringArray", "StringArrayNumpySemantics"),
    *("ArrowStringArray", "ArrowStringArrayNumpySemantics", "ArrowExtensionArray"),
)

TABLE_FORMS = {
    "pandas.DataFrame": PlainForm(_frame_parts, _frame),
    "pandas.Series": PlainForm(
        lambda value: {"values": _array(value, "is a column"), "index": value.index, "name": value.name}, _series
    ),
    **{
        f"pandas.{kind}": PlainForm(
            lambda value: {
                "values": _array(value, "is an index"),
                "name": value.name,
                "frequency": getattr(value, "freqstr", None),
            },
            _index,
        )
        for kind in ("Index", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex")
    },
    "pandas.RangeIndex": PlainForm(
        attributes("start", "stop", "step", "name"),
        lambda start, stop, step, name: library("pandas").RangeIndex(start, stop, step, name=name),
    ),
    "pandas.MultiIndex": PlainForm(
        lambda value: {
            "levels": [value.get_level_values(i) for i in range(value.nlevels)],
            "names": list(value.names),
        },
        _multi_index,
    ),
    "pandas.Categorical": PlainForm(
        attributes("codes", "categories", "ordered"),
        lambda codes, categories, ordered: library("pandas").Categorical.from_codes(codes, categories, ordered=ordered),
    ),
    "pandas.DatetimeArray": PlainForm(_zoned_parts, _zoned),
    **{f"pandas.{kind}": PlainForm(_nullable_parts, _nullable) for kind in _NULLABLE_ARRAYS},
    "pandas.Timestamp": PlainForm(_timestamp_parts, _timestamp),
    "pandas.Timedelta": PlainForm(lambda value: {"span": value.asm8}, lambda span: library("pandas").Timedelta(span)),
    "pandas.NaTType": PlainForm(lambda value: {}, lambda: library("pandas").NaT),
    "pandas.NAType": PlainForm(lambda value: {}, lambda: library("pandas").NA),
    "polars.DataFrame": PlainForm(
        lambda value: {"columns": value.get_columns()}, lambda columns: library("polars").DataFrame(columns)
    ),
    "polars.Series": PlainForm(
        _polars_parts,
        _polars_series,
        lambda parts, size: size + len(parts["values"]) * _width(parts["dtype"]),  # a missing row is as wide as others
    ),
    "polars.Field": PlainForm(attributes("name", "dtype"), lambda name, dtype: library("polars").Field(name, dtype)),
    "polars.DataTypeClass": PlainForm(lambda value: {"type": value()}, lambda type: type),
    **{
        f"polars.{name}": PlainForm(attributes(*parameters), functools.partial(_polars_type, name))
        for name, parameters in POLARS_TYPES.items()
    },
}

FORMS = {**STANDARD_FORMS, **TABLE_FORMS}
"""The types that are stored as plain parts, by package and name: a closed list."""
