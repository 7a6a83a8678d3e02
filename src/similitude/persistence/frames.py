"""Data frames, series and indices of pandas and polars, their columns as Arrow tables.

Columns of pandas that hold any Python objects, and those that do not come back from Arrow as they were, are stored
beside the table: objects one by one, numbers as arrays, categories as codes.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from similitude.persistence.arrow import check_stream
from similitude.persistence.problems import library
from similitude.support.errors import SavedModelError


def _write_columns(w: Any, columns: list[Any], path: str) -> dict[str, Any]:
    """Store several pandas series: in one Arrow table those that Arrow keeps, the others beside it."""
    pandas = library("pandas")
    plain = [column.reset_index(drop=True) for column in columns]
    arrow = _kept_by_arrow({str(i): column for i, column in enumerate(plain)}, pandas)
    if arrow:
        w.tables.append(_arrow_bytes(pandas.DataFrame(arrow)))
    beside = {
        str(i): _beside(w, column, f"{path}[{column.name!r}]") for i, column in enumerate(plain) if str(i) not in arrow
    }
    return {"count": len(columns), "arrow": bool(arrow), "beside": beside}


def _kept_by_arrow(columns: dict[str, Any], pandas: Any) -> dict[str, Any]:
    """Return the columns that come back from Arrow as they were."""
    kept = {}
    for name, column in columns.items():
        if column.dtype == object:
            continue
        pyarrow = library("pyarrow")
        try:
            written = _arrow_bytes(pandas.DataFrame({name: column}))
            check_stream(memoryview(written))
            back = _frame(written)[name]
        except (pyarrow.ArrowException, SavedModelError, TypeError, ValueError, NotImplementedError):
            continue
        if back.dtype == column.dtype and back.equals(column):
            kept[name] = column
    return kept


def _arrow_bytes(frame: Any) -> bytes:
    pyarrow = library("pyarrow")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _beside(w: Any, column: Any, path: str) -> Any:
    """Store one column without Arrow."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return w.value(column.to_numpy(), path)
    if type(dtype).__name__ == "CategoricalDtype":
        parts = {"codes": column.cat.codes.to_numpy(), "categories": dtype.categories, "ordered": dtype.ordered}
        return w.value(parts, path)
    raise SavedModelError(
        f"{path} is a column of {dtype}, which cannot be stored: convert it to numbers, dates or strings"
    )


def _read_columns(r: Any, node: Any) -> list[Any]:
    pandas = library("pandas")
    count, beside = node["count"], {name: r.value(written) for name, written in node["beside"].items()}
    table = _read_arrow(r) if node["arrow"] else {}
    columns = []
    for i in range(count):
        name = str(i)
        if name not in beside:
            columns.append(table[name])
        elif isinstance(beside[name], dict):
            r.spend(8 * len(beside[name]["codes"]))
            columns.append(pandas.Series(pandas.Categorical.from_codes(**beside[name])))
        else:
            r.spend(beside[name].nbytes)
            columns.append(pandas.Series(beside[name], dtype=beside[name].dtype))
    return columns


def _read_arrow(r: Any) -> Any:
    written = r.table()
    check_stream(written)
    return _frame(written, r.spend)


def _frame(written: Any, spend: Any = lambda size: None) -> Any:
    """Return an Arrow stream as a pandas frame; refuse types that could unfold to any size."""
    pyarrow = library("pyarrow")
    types = pyarrow.types
    with pyarrow.ipc.open_stream(written) as stream:
        table = stream.read_all()
    for field in table.schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_nested(kind) or types.is_run_end_encoded(kind) or str(kind).endswith("_view"):
            raise SavedModelError(f"a table has a column of {field.type}, which is never written here")
    table.validate(full=True)
    spend(16 * table.num_rows * max(1, table.num_columns) + 2 * table.nbytes)
    return table.to_pandas()


def _write_frame(w: Any, value: Any, path: str) -> dict[str, Any]:
    columns = [value.iloc[:, i] for i in range(value.shape[1])]
    return {
        "is": "pandas frame",
        "names": w.value(value.columns, f"{path}.columns"),
        "index": w.value(value.index, f"{path}.index"),
        "attrs": w.value(value.attrs, f"{path}.attrs"),
        **_write_columns(w, columns, path),
    }


def _read_frame(r: Any, node: Any) -> Any:
    pandas = library("pandas")
    columns, index = _read_columns(r, node), r.value(node["index"])
    if any(len(column) != len(index) for column in columns):
        raise SavedModelError("the columns of a table have different lengths")
    made = pandas.DataFrame(dict(enumerate(columns)), index=pandas.RangeIndex(len(index)))
    made.columns, made.index = r.value(node["names"]), index
    made.attrs = r.value(node["attrs"])
    return made


def _write_series(w: Any, value: Any, path: str) -> dict[str, Any]:
    return {
        "is": "pandas series",
        "name": w.value(value.name, path),
        "index": w.value(value.index, f"{path}.index"),
        **_write_columns(w, [value], path),
    }


def _read_series(r: Any, node: Any) -> Any:
    (made,), index = _read_columns(r, node), r.value(node["index"])
    if len(made) != len(index):
        raise SavedModelError("the index of a series has another length")
    made.name, made.index = r.value(node["name"]), index
    return made


def _write_index(w: Any, value: Any, path: str) -> dict[str, Any]:
    pandas = library("pandas")
    if isinstance(value, pandas.RangeIndex):
        return {"is": "pandas range", "name": w.value(value.name, path), "parts": [value.start, value.stop, value.step]}
    names = w.value(list(value.names), f"{path}.names")
    if isinstance(value, pandas.MultiIndex):
        levels = [value.get_level_values(i) for i in range(value.nlevels)]
        return {"is": "pandas multiindex", "names": names, "levels": w.values(levels, path)}
    series = value.to_series(index=pandas.RangeIndex(len(value)))
    frequency = getattr(value, "freqstr", None)
    return {"is": "pandas index", "names": names, "frequency": frequency, **_write_columns(w, [series], path)}


def _read_index(r: Any, node: Any) -> Any:
    pandas = library("pandas")
    if node["is"] == "pandas range":
        return pandas.RangeIndex(*node["parts"], name=r.value(node["name"]))
    names = r.value(node["names"])
    if node["is"] == "pandas multiindex":
        levels = r.values(node["levels"])
        r.spend(sum(16 * len(level) for level in levels))
        return pandas.MultiIndex.from_arrays(levels, names=names)
    (series,) = _read_columns(r, node)
    made = pandas.Index(series, dtype=series.dtype).rename(names[0])
    if node["frequency"] is not None:
        made.freq = node["frequency"]
    return made


def _write_polars(w: Any, value: Any, path: str) -> dict[str, Any]:
    polars = library("polars")
    series = isinstance(value, polars.Series)
    frame = value.to_frame() if series else value
    bad = next((name for name, kind in frame.schema.items() if kind == polars.Object), None)
    if bad is not None:
        raise SavedModelError(f"{path}[{bad!r}] is a column of Python objects: give them as a list instead")
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression="uncompressed")
    if polars.read_ipc_stream(sink.getvalue()).schema != frame.schema:
        raise SavedModelError(f"{path} has columns that Arrow does not keep: {frame.schema}")
    w.tables.append(sink.getvalue())
    return {"is": "polars", "series": series}


def _read_polars(r: Any, node: Any) -> Any:
    polars = library("polars")
    written = r.table()
    check_stream(written)
    try:
        frame = polars.read_ipc_stream(bytes(written))
    except BaseException as error:  # a panic of polars is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise SavedModelError(f"a table cannot be read: {error}") from error
    r.spend(16 * frame.height * max(1, frame.width) + 2 * len(written))
    return frame.to_series() if node["series"] is True else frame


INDICES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex")

WRITERS = {
    ("pandas", "DataFrame"): _write_frame,
    ("pandas", "Series"): _write_series,
    **{("pandas", name): _write_index for name in INDICES},
    ("polars", "DataFrame"): _write_polars,
    ("polars", "Series"): _write_polars,
}

READERS = {
    "pandas frame": _read_frame,
    "pandas series": _read_series,
    "pandas range": _read_index,
    "pandas index": _read_index,
    "pandas multiindex": _read_index,
    "polars": _read_polars,
}
