"""Plain forms of numbers, dates, NumPy and SciPy, graphs, and tables of pandas and polars.

A value of another type is stored as plain parts by name, from which an equal value is made again.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from similitude.persistence.limits import check_hashes
from similitude.support import SavedModelError

Parts = dict[str, Any]


Form = tuple[Callable[[Any], Parts], Callable[..., Any]]
"""Two functions, from a value to its parts and back.

A value that cannot be stored raises SavedModelError, whose message goes on after the name of the place.
"""


def attributes(*names: str) -> Callable[[Any], Parts]:
    """Return a function that takes the parts from the attributes of a value."""
    return lambda value: {name: getattr(value, name) for name in names}


def library(name: str) -> Any:
    """Import the library that some values of a model belong to."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SavedModelError(f"the model contains objects that need {name}: pip install {name}") from error


def _fraction(numerator: int, denominator: int) -> Fraction:
    if type(numerator) is not int or type(denominator) is not int:  # a text such as "1e9" would be written out
        raise SavedModelError("a fraction is not one of whole numbers")
    return Fraction(numerator, denominator)


def standard_zone(moment: Any) -> Any:
    """Return a time whose zone is of pytz in the zone of the standard library with the same name."""
    zone: Any = getattr(moment, "tzinfo", None)
    is_pytz = type(zone).__module__.split(".")[0] == "pytz" and zone.zone is not None
    if not is_pytz or not hasattr(moment, "astimezone"):
        return moment
    return moment.astimezone(ZoneInfo(zone.zone))


def _moment_parts(value: Any) -> Parts:
    value = standard_zone(value)
    return {"text": value.replace(tzinfo=None).isoformat(), "zone": value.tzinfo, "fold": value.fold}


def _moment(kind: Any, text: str, zone: Any, fold: int) -> Any:
    return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _timezone(offset: timedelta, name: str) -> timezone:
    unnamed = timezone(offset)
    return unnamed if unnamed.tzname(None) == name else timezone(offset, name)


def _sparse_parts(value: Any) -> Parts:
    if len(value.shape) != 2:
        raise SavedModelError(f"is a sparse array of {len(value.shape)} dimensions: only two can be stored")
    names = {"coo": ("row", "col")}.get(value.format, ("indices", "indptr"))
    return {"shape": value.shape, "data": value.data, **{name: getattr(value, name) for name in names}}


def _sparse(kind: str, shape: Any, data: Any, **places: Any) -> Any:
    make = getattr(library("scipy.sparse"), kind)
    if kind.startswith("coo"):
        return make((data, (places["row"], places["col"])), shape=shape)
    matrix = make((data, places["indices"], places["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _generator_parts(value: np.random.Generator) -> Parts:
    source: Any = value.bit_generator
    name = type(source).__name__
    if name not in GENERATORS:
        raise SavedModelError(f"draws by {name}, which cannot be stored: use np.random.default_rng(seed)")
    seed = getattr(source, "seed_seq", None)
    of_seed = attributes("entropy", "spawn_key", "pool_size", "n_children_spawned")
    return {"name": name, "state": source.state, "seed": seed and of_seed(seed)}


def _generator(name: str, state: Any, seed: Any) -> np.random.Generator:
    if name not in GENERATORS:
        raise SavedModelError(f"there is no random generator called {str(name)[:40]!r}")
    source = getattr(np.random, name)(seed and np.random.SeedSequence(**seed))
    source.state = state
    return np.random.Generator(source)


def _work_of_generator(parts: Parts, size: int) -> int:
    """Return the work of mixing the words of a seed, at most one for each byte, into each word of its pool."""
    pool = max(0, int((parts["seed"] or {"pool_size": 0})["pool_size"]))
    return size + pool * (pool + size)


def _random_state_parts(value: np.random.RandomState) -> Parts:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise SavedModelError(f"draws by {state['bit_generator']}, which cannot be stored: use an integer seed")
    return {"state": state}


def _random_state(state: Any) -> np.random.RandomState:
    made = np.random.RandomState(0)
    made.set_state(state)
    return made


def _dtype_parts(value: np.dtype) -> Parts:
    if value.names or value.kind == "T":
        raise SavedModelError(f"is the dtype {value}, which cannot be stored")
    return {"text": value.str}


def _networkx_parts(graph: Any) -> Parts:
    place = {node: i for i, node in enumerate(graph.nodes)}
    is_multiple = graph.is_multigraph()
    edges = list(graph.edges(keys=True, data=True) if is_multiple else graph.edges(data=True))
    attributes = [edge[-1] or None for edge in edges]
    return {
        "graph": graph.graph,
        "nodes": {node: attributes or None for node, attributes in graph.nodes(data=True)},
        "ends": np.array([(place[edge[0]], place[edge[1]]) for edge in edges], np.int64).reshape(-1, 2),
        "keys": [edge[2] for edge in edges] if is_multiple else None,
        "edges": attributes if any(attributes) else None,
    }


def _networkx(kind: str, graph: Any, nodes: Any, ends: Any, keys: Any, edges: Any) -> Any:
    made = getattr(library("networkx"), kind)()
    made.graph.update(graph)
    _check_ends(ends, len(nodes))
    check_hashes(keys or ())
    for node, attributes in nodes.items():
        made.add_node(node)
        made.nodes[node].update(attributes or {})
    names = list(nodes)
    for number, (i, j) in enumerate(ends.tolist()):
        edge = (names[i], names[j], *(keys or ())[number : number + 1])
        made.add_edge(*edge)
        made.edges[edge].update((edges and edges[number]) or {})
    return made


def _check_ends(ends: Any, n_nodes: int) -> None:
    fits = ends.dtype == np.int64 and ends.ndim == 2 and ends.shape[1] == 2
    if not fits or (ends < 0).any() or (ends >= n_nodes).any():
        raise SavedModelError("a graph has an edge between nodes that it does not have")


def _igraph_parts(graph: Any) -> Parts:
    return {
        "directed": graph.is_directed(),
        "degrees": np.array(graph.degree(), np.int64),  # so that many nodes take space in the file
        "ends": np.array(graph.get_edgelist(), np.int64).reshape(-1, 2),
        "graph": {name: graph[name] for name in graph.attributes()},
        "nodes": {name: graph.vs[name] for name in graph.vs.attributes()},
        "edges": {name: graph.es[name] for name in graph.es.attributes()},
    }


def _igraph(directed: bool, degrees: Any, ends: Any, graph: Any, nodes: Any, edges: Any) -> Any:
    _check_ends(ends, len(degrees))
    made = library("igraph").Graph(n=len(degrees), edges=ends.tolist(), directed=directed)
    for items, attributes in ((made, graph), (made.vs, nodes), (made.es, edges)):
        for name, values in attributes.items():
            items[name] = values
    return made


def _letters(value: bytes | bytearray) -> Parts:
    return {"text": value.decode("latin-1")}


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

TABLE_FORMS: dict[str, Form] = {
    "pandas.DataFrame": (_frame_parts, _frame),
    "pandas.Series": (
        lambda value: {"values": _array(value, "is a column"), "index": value.index, "name": value.name},
        lambda values, index, name: library("pandas").Series(values, index=index, name=name, dtype=values.dtype),
    ),
    **{
        f"pandas.{kind}": (
            lambda value: {
                "values": _array(value, "is an index"),
                "name": value.name,
                "frequency": getattr(value, "freqstr", None),
            },
            _index,
        )
        for kind in ("Index", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex")
    },
    "pandas.RangeIndex": (
        attributes("start", "stop", "step", "name"),
        lambda start, stop, step, name: library("pandas").RangeIndex(start, stop, step, name=name),
    ),
    "pandas.MultiIndex": (
        lambda value: {
            "levels": [value.get_level_values(i) for i in range(value.nlevels)],
            "names": list(value.names),
        },
        _multi_index,
    ),
    "pandas.Categorical": (
        attributes("codes", "categories", "ordered"),
        lambda codes, categories, ordered: library("pandas").Categorical.from_codes(codes, categories, ordered=ordered),
    ),
    "pandas.DatetimeArray": (
        _zoned_parts,
        lambda moments, zone: library("pandas").DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).array,
    ),
    **{f"pandas.{kind}": (_nullable_parts, _nullable) for kind in _NULLABLE_ARRAYS},
    "pandas.Timestamp": (_timestamp_parts, _timestamp),
    "pandas.Timedelta": (lambda value: {"span": value.asm8}, lambda span: library("pandas").Timedelta(span)),
    "pandas.NaTType": (lambda value: {}, lambda: library("pandas").NaT),
    "pandas.NAType": (lambda value: {}, lambda: library("pandas").NA),
    "polars.DataFrame": (
        lambda value: {"columns": value.get_columns()},
        lambda columns: library("polars").DataFrame(columns),
    ),
    "polars.Series": (
        _polars_parts,
        _polars_series,
    ),
    "polars.Field": (attributes("name", "dtype"), lambda name, dtype: library("polars").Field(name, dtype)),
    "polars.DataTypeClass": (lambda value: {"type": value()}, lambda type: type),
    **{
        f"polars.{name}": (attributes(*parameters), functools.partial(_polars_type, name))
        for name, parameters in POLARS_TYPES.items()
    },
}

STANDARD_FORMS: dict[str, Form] = {
    "builtins.int": (lambda value: {"hex": f"{value:x}"}, lambda hex: int(hex, 16)),
    "builtins.float": (lambda value: {"text": repr(value)}, lambda text: float(text)),
    "builtins.complex": (attributes("real", "imag"), complex),
    "builtins.bytes": (_letters, lambda text: text.encode("latin-1")),
    "builtins.bytearray": (_letters, lambda text: bytearray(text.encode("latin-1"))),
    "builtins.range": (attributes("start", "stop", "step"), lambda start, stop, step: range(start, stop, step)),
    "builtins.slice": (attributes("start", "stop", "step"), lambda start, stop, step: slice(start, stop, step)),
    "decimal.Decimal": (lambda value: {"text": str(value)}, lambda text: Decimal(text)),
    "fractions.Fraction": (
        attributes("numerator", "denominator"),
        _fraction,
    ),
    "datetime.date": (attributes("year", "month", "day"), date),
    "datetime.timedelta": (attributes("days", "seconds", "microseconds"), timedelta),
    "datetime.datetime": (_moment_parts, functools.partial(_moment, datetime)),
    "datetime.time": (_moment_parts, functools.partial(_moment, time)),
    "datetime.timezone": (lambda value: {"offset": value.utcoffset(None), "name": value.tzname(None)}, _timezone),
    "zoneinfo.ZoneInfo": (attributes("key"), ZoneInfo),
    "numpy.Generator": (_generator_parts, _generator),
    "numpy.RandomState": (_random_state_parts, _random_state),
    **{
        f"numpy.{type(np.dtype(code)).__name__}": (_dtype_parts, lambda text: np.dtype(text))
        for code in "?bhilqBHILQefdgFDGSUVMmO"
    },
    **{
        f"scipy.{form}_{kind}": (_sparse_parts, functools.partial(_sparse, f"{form}_{kind}"))
        for form in ("csr", "csc", "bsr", "coo")
        for kind in ("array", "matrix")
    },
    **{
        f"networkx.{kind}": (_networkx_parts, functools.partial(_networkx, kind))
        for kind in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
    },
    "igraph.Graph": (_igraph_parts, _igraph),
}

FORMS: dict[str, Form] = {**STANDARD_FORMS, **TABLE_FORMS}
"""The types that are stored as plain parts, by package and name: a closed list."""

WORK: dict[str, Callable[[Parts, int], int]] = {
    "fractions.Fraction": lambda parts, size: size + size**2 // 1024,  # the greatest common divisor
    "numpy.Generator": _work_of_generator,
    "polars.Series": lambda parts, size: size + len(parts["values"]) * _width(parts["dtype"]),  # of missing rows, too
}
"""The bytes that making a value visits or takes beside its parts, which may be anything that a file can say."""
