"""The kind of objects that a user brings: vectors, table, records, strings, sets, series or graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, is_sparse, is_table
from similitude.kernels.automatic.records import LOOKED_AT, has_composed_columns
from similitude.kernels.graphs import is_graph

WHAT_IS_HELD = {
    "table": "is a table with categories or missing values",
    "records": "is a table with texts, sets, vectors, series or graphs",
}
"""What X is, where it is not called by the kind of its objects."""


def kind_of_objects(X: Any) -> str:
    """Return the kind of objects, which decides what ``similarity="auto"`` compares them by.

    Arrays and sparse matrices of two dimensions, data frames of numbers and lists of lists of equal length are vectors;
    arrays of three dimensions and sequences of unequal length, or of arrays of two dimensions, are series. Other data
    frames and lists of dicts are tables, or records if a column holds texts, sets, vectors, series or graphs. Texts are
    strings of three words or more than 20 letters, most of which differ. Lists of arrays of one
    dimension and equal length are series if neighboring values are alike.

    >>> kind_of_objects(np.eye(2)), kind_of_objects([{"age": 3}]), kind_of_objects(["a", "b"])
    ('vectors', 'table', 'strings')
    >>> kind_of_objects([[1.0, 2.0, 3.0], [1.0]]), kind_of_objects([([(0, 1)],), ([(0, 1), (1, 2)],)])
    ('series', 'graphs')
    >>> kind_of_objects([{"age": 3, "tags": {"red", "round"}}])
    'records'
    """
    if is_table(X):
        plain = all(str(X[name].dtype).lower().startswith(("int", "float", "uint")) for name in X.columns)
        if plain:
            return "table" if _has_missing(X) else "vectors"
        return "records" if has_composed_columns(X) else "table"
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        kind = _kind_of_array(X)
        if kind is not None:
            return kind
    if is_graph(X):
        return "vectors"  # one graph alone: the error of vectors says what is expected
    some = [one for one in islice(as_objects(X), LOOKED_AT) if one is not None]
    return _kind_of_list(some) if some else "vectors"


def _kind_of_array(X: Any) -> str | None:
    """Return the kind of the objects in an array; None if it is an array of any objects."""
    shape = getattr(X, "shape", (0, 0))
    letter = getattr(getattr(X, "dtype", None), "kind", "f")
    if len(shape) == 1 and letter in "OUST":
        return None
    return "series" if len(shape) == 3 else "vectors"


def _kind_of_list(some: list[Any]) -> str:
    first = some[0]
    if isinstance(first, (str, bytes)):
        return "strings"
    if isinstance(first, (set, frozenset)):
        return "sets"
    if isinstance(first, Mapping):
        return "records" if has_composed_columns(some) else "table"
    if all(map(is_graph, some)):
        return "graphs"
    return "series" if _are_series(some) else "vectors"


def _are_series(some: Sequence[Any]) -> bool:
    """Tell whether these are arrays of two dimensions, or sequences of numbers of unequal length."""
    if all(np.ndim(one) == 2 and not is_sparse(one) for one in some if hasattr(one, "shape")) and all(
        hasattr(one, "shape") for one in some
    ):
        return True
    if not all(isinstance(one, (Sequence, np.ndarray)) or is_table(one) for one in some):
        return False
    if all(isinstance(one, np.ndarray) and one.ndim == 1 for one in some) and len(some[0]) >= 20:
        return len({len(one) for one in some}) > 1 or _autocorrelated(some)
    deep = [len(one) > 0 and not isinstance(one[0], (Real, np.generic, str)) for one in some]
    return any(deep) or len({len(one) for one in some}) > 1


def _autocorrelated(rows: Any) -> bool:
    """Tell whether neighboring values in rows of equal length are as alike as in most series.

    >>> _autocorrelated(np.sin(np.arange(60.0) / 5).reshape(2, 30)), _autocorrelated(np.eye(30))
    (True, False)
    """
    # arrays in a list are series from 20 values and an autocorrelation of 0.8 on
    return _autocorrelation(np.asarray(rows, dtype=np.float64)) >= 0.8


def _autocorrelation(values: np.ndarray) -> float:
    apart = values - values.mean(axis=1, keepdims=True)
    squares = float((apart**2).sum())
    return float((apart[:, 1:] * apart[:, :-1]).sum()) / squares if squares > 0 else 0.0


def neighbors_are_alike(X: np.ndarray) -> bool:
    """Tell whether the columns of an array are each like the next, as in series: standardized, and within rows.

    Columns of one scale after the other, or that all follow one factor, are not alike in this sense.

    >>> t = np.arange(30.0) / 5
    >>> waves = np.array([np.sin(t + shift) for shift in range(6)])
    >>> neighbors_are_alike(waves), neighbors_are_alike(np.eye(30)), neighbors_are_alike(1e6 * t + np.eye(30))
    (True, False, False)
    """
    if X.shape[1] < 20 or len(X) < 2:
        return False
    some = np.asarray(X[:LOOKED_AT], dtype=np.float64)
    deviations = some.std(axis=0)
    standardized = (some - some.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    # the autocorrelation of the standardized columns of MNIST, which are no series, is 0.67
    return _autocorrelation(standardized) >= 0.7


def _has_missing(X: Any) -> bool:
    missing = X.isna() if hasattr(X, "isna") else X.select([X[name].is_null() for name in X.columns])
    return bool(missing.to_numpy().any())
