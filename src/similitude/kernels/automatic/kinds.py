"""The kind of objects that a user brings: vectors, table, records, strings, sets, series or graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, check_columns, is_sparse, is_table
from similitude.kernels.graphs import is_graph
from similitude.kernels.tables.cells import Cells, column
from similitude.support import brief

LOOKED_AT = 1000
"""Most objects that are looked at to tell their kind."""

SIMPLE = {"number": "numbers", "time": "times", "text": "categories", "bytes": "categories"}
"""The kinds of columns of single values, by what is stored; columns of strings may be texts, too."""

COMPOSED = frozenset({"texts", "sets", "vectors", "series", "graphs"})
"""Kinds of columns that make a table one of records."""


def composed_columns(X: Any) -> dict[Any, tuple[str, list[Any], bool]]:
    """Return the kind of each column with values, the known ones, and whether others are missing."""
    found = {}
    for name in _names(X):
        cells = column(X, name, optional=True)
        if not cells.missing.all():
            found[name] = _one_kind(name, _kinds(cells)), cells.known(), bool(cells.missing.any())
    if not found:
        raise ValueError("no column has values: there is nothing to compare rows by")
    return found


def _names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame, or all keys of row dicts as they first occur."""
    return check_columns(X) if is_table(X) else list(dict.fromkeys(chain.from_iterable(X)))


def _kinds(cells: Cells) -> dict[str, tuple[int, Any]]:
    """Return the kinds of the known values of a column, each with the first such value and its position."""
    known = cells.known()
    places = np.flatnonzero(~cells.missing).tolist()
    if not known:
        return {}
    if not cells.is_categorical and cells.kind not in SIMPLE:
        first: dict[str, tuple[int, Any]] = {}
        for place, one in zip(places, known, strict=True):
            first.setdefault(_kind_of_cell(one), (place, one))
        if len(first) > 1:
            first.pop("empty", None)
        named = {"lists of numbers": "series", "empty": "sets"}
        if "lists of numbers" in first and len({len(one) for one in known}) == 1:
            named["lists of numbers"] = "vectors"
        return {named.get(kind, kind): where for kind, where in first.items()}
    kind = SIMPLE.get(cells.kind, "categories")
    if cells.is_categorical or all(isinstance(one, (bool, np.bool_)) for one in known[:LOOKED_AT]):
        kind = "categories"
    elif cells.kind in ("text", "bytes") and are_texts(known[:LOOKED_AT]):
        kind = "texts"
    return {kind: (places[0], known[0])}


def _one_kind(name: Any, kinds: dict[str, tuple[int, Any]]) -> str:
    """Return the kind of a column; refuse several kinds, and kinds without a similarity."""
    held = [f"{kind} in row {place}, {brief(value)}" for kind, (place, value) in kinds.items()]
    if len(held) > 1:
        several = f"{held[0]}, and {held[1]}"
        raise TypeError(f"column {name!r} holds {several}: all values of a column must be of one kind, or missing")
    (kind,) = kinds
    if kind not in (*COMPOSED, *SIMPLE.values()):
        raise TypeError(f"column {name!r} holds {held[0]}: leave it out, or say how it is compared with Columns")
    return kind


def _kind_of_cell(one: Any) -> str:
    """Return the kind of one value, or the name of its type."""
    if isinstance(one, Set):
        return "sets"
    if is_graph(one):
        return "graphs"
    if isinstance(one, (str, bytes, Real, np.bool_)):
        return "categories"
    if not isinstance(one, (list, tuple, np.ndarray)):
        return type(one).__name__
    if len(one) == 0:
        return "empty"
    first = one[0]
    if isinstance(first, (str, bytes)):
        return "sets"
    if isinstance(first, (Real, np.bool_)):
        return "lists of numbers"
    if isinstance(first, (list, tuple, np.ndarray)) and all(isinstance(value, Real) for value in first):
        return "series"
    return type(one).__name__


def as_text(one: Any) -> str:
    """Return a string as text, and bytes with a letter for each."""
    return one.decode("latin-1") if isinstance(one, bytes) else str(one)


def are_texts(some: Iterable[Any]) -> bool:
    """Whether strings are texts rather than categories: mostly different, and of several words or long."""
    texts = list(map(as_text, some))
    half = 0.5 * len(texts)
    if len(set(texts)) <= half:
        return False
    if sum(len(one.split()) >= 3 for one in texts) > half:
        return True
    is_long = sum(map(len, texts)) > 20 * len(texts)
    # not the names of rows, such as digests
    return is_long and sum(re.fullmatch("[0-9a-fA-F-]+", one) is None for one in texts) > half


WHAT_IS_HELD = {
    "table": "is a table with categories or missing values",
    "records": "is a table with texts, sets, vectors, series or graphs",
}
"""What X is, where it is not called by the kind of its objects."""


def kind_of_objects(X: Any) -> str:
    """Return the kind of objects, which decides what ``similarity="auto"`` compares them by.

    Data frames are records if a column holds texts, sets, vectors, series or graphs, else tables if any holds
    categories or misses values. Lists of arrays of equal length are series if neighboring values are alike.
    """
    if is_table(X):
        if not all(str(X[name].dtype).lower().startswith(("int", "float", "uint")) for name in X.columns):
            return _kind_of_rows(X)
        missing = X.isna() if hasattr(X, "isna") else X.select([X[name].is_null() for name in X.columns])
        return ("vectors", "table")[int(missing.to_numpy().any())]
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        dimensions = len(getattr(X, "shape", (0, 0)))
        if dimensions == 3:
            return "series"
        letter = getattr(getattr(X, "dtype", None), "kind", "f")
        if dimensions != 1 or letter not in "OUST":  # the letters of any objects
            return "vectors"
    some = [one for one in islice(as_objects(X), LOOKED_AT) if one is not None]
    if is_graph(X) or not some:
        return "vectors"  # of one graph alone the error of vectors says what is expected
    if isinstance(some[0], (str, bytes)):
        return "strings"
    if isinstance(some[0], (set, frozenset)):
        return "sets"
    if isinstance(some[0], Mapping):
        return _kind_of_rows(some)
    if all(map(is_graph, some)):
        return "graphs"
    return "series" if _are_series(some) else "vectors"


def _kind_of_rows(X: Any) -> str:
    """Return "records" if the first rows have texts, sets, vectors, series or graphs in some column."""
    some = X[:LOOKED_AT]
    if not is_table(X):
        some = [row for row in some if isinstance(row, Mapping)]
    composed = any(not COMPOSED.isdisjoint(_kinds(column(some, name, optional=True))) for name in _names(some))
    return "records" if composed else "table"


def _are_series(some: Sequence[Any]) -> bool:
    """Whether these are arrays of two dimensions, or sequences of numbers of unequal length."""
    if all(hasattr(one, "shape") and np.ndim(one) == 2 and not is_sparse(one) for one in some):
        return True
    if not all(isinstance(one, (Sequence, np.ndarray)) or is_table(one) for one in some):
        return False
    if all(isinstance(one, np.ndarray) and one.ndim == 1 for one in some) and len(some[0]) >= 20:
        # arrays in a list are series from 20 values and an autocorrelation of 0.8 on
        return len({len(one) for one in some}) > 1 or _autocorrelation(np.asarray(some, dtype=np.float64)) >= 0.8
    deep = [len(one) > 0 and not isinstance(one[0], (Real, np.generic, str)) for one in some]
    return any(deep) or len({len(one) for one in some}) > 1


def _autocorrelation(values: np.ndarray) -> float:
    apart = values - values.mean(axis=1, keepdims=True)
    squares = float((apart**2).sum()) or 1.0
    return float((apart[:, 1:] * apart[:, :-1]).sum()) / squares


def neighbors_are_alike(X: np.ndarray) -> bool:
    """Whether the columns of an array are each like the next, as in series: standardized, and within rows."""
    if X.shape[1] < 20 or len(X) < 2:
        return False
    some = np.asarray(X[:LOOKED_AT], dtype=np.float64)
    deviations = some.std(axis=0)
    standardized = (some - some.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    # the autocorrelation of the standardized columns of MNIST, which are no series, is 0.67
    return _autocorrelation(standardized) >= 0.7
