"""Equal rows: coincidences of independent draws, which are split at random, or copies, which stay together."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from similitude.compute import (
    as_numpy,
    as_objects,
    count,
    fingerprints,
    is_sparse,
    is_table,
    is_tensor,
    moved,
)
from similitude.evaluation.limits import (
    FEWEST_OF_ONE_SIZE,
    MOST_ATOMS,
    MOST_COPIES,
    MOST_SEARCHED,
    SINGLE_OBJECTS,
)


def copies(X: Any, equal: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for copies.

    `equal` numbers the rows, with the same number for equal ones.

    Equal rows are copies if they agree in a column whose values hardly ever occur in rows that differ, such as a
    measurement, unless they may be independent draws from few possible rows, which repeat most of these, and not
    equally often. Objects without columns, and those of a single column, are copies if few of them repeat.

    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> again = X[[*range(20), 3]]
    >>> copies(again, equal_rows(again))[[3, 20]].tolist()
    [3, 3]
    >>> digits = np.random.default_rng(0).integers(10, size=(40, 1))
    >>> len(set(copies(digits, equal_rows(digits))))
    40
    """
    different = np.arange(len(equal))
    sizes = np.bincount(equal)
    repeated = sizes[equal] > 1
    if not repeated.any():
        return different
    columns = list(_columns(X))
    if len(columns) > 1:
        if (sizes == 1).mean() < SINGLE_OBJECTS and _may_be_draws(sizes):
            return different
        repeated = repeated & np.any([_telling(column, equal) for column in columns], axis=0)
    elif repeated.mean() > MOST_COPIES:
        return different
    return in_order(np.where(repeated, equal, len(sizes) + different))


def _may_be_draws(sizes: np.ndarray) -> bool:
    """Whether different rows may occur as often as in independent draws.

    The numbers of those that occur k times are then, but for chance, at least those of a log-convex sequence when
    multiplied by k!, because they follow a mixture of Poisson laws. Copies make too many that occur twice, say.

    >>> _may_be_draws(np.random.default_rng(0).poisson(4, 100)), _may_be_draws(np.repeat([1, 2], [30, 40]))
    (True, False)
    """
    found = np.bincount(sizes, minlength=4).astype(float)
    k = 2 + int(found[2:].argmax())
    before = found[k - 1]
    after = np.append(found, 0.0)[k + 1]
    return bool(found[k] < FEWEST_OF_ONE_SIZE or found[k] <= 2.0 * np.sqrt((k + 1) / k * before * after))


def in_order(groups: np.ndarray) -> np.ndarray:
    """Number groups in the order in which they first occur.

    >>> in_order(np.array([7, 4, 7]))
    array([0, 1, 0])
    """
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[member])


def equal_rows(X: Any) -> np.ndarray:
    """Return a number for each row, the same for equal ones, in the order in which they first occur.

    Objects that have no fingerprint count as different, and so do too many rows.
    """
    n = count(X)
    if n > MOST_SEARCHED:
        return np.arange(n)
    if isinstance(X, list) and set(map(type, X)) == {str}:
        return _numbered(X)
    try:
        named = _of_table(X) if is_table(X) else fingerprints(moved(X, as_numpy))
    except (AttributeError, TypeError, pickle.PicklingError):
        return np.arange(n)
    if len(np.unique(named)) == len(named):
        return np.arange(len(named))
    return in_order(named)


def _of_table(X: Any) -> np.ndarray:
    """Return a 64-bit number per row of a data frame, equal for equal rows."""
    if hasattr(X, "hash_rows"):  # polars
        return np.asarray(X.hash_rows().to_numpy())
    import pandas  # type: ignore[import-untyped]

    try:
        return np.asarray(pandas.util.hash_pandas_object(X, index=False).to_numpy())
    except TypeError:  # cells that hold lists or sets
        return fingerprints(as_objects(X))


def _numbered(values: list[Any]) -> np.ndarray:
    numbers = dict(zip(dict.fromkeys(values), itertools.count(), strict=False))
    return np.array(list(map(numbers.__getitem__, values)), dtype=np.intp)


def _columns(X: Any) -> Iterator[np.ndarray]:
    """Yield the columns of vectors or of a table, as numbers for equal values, negative where one is missing."""
    if is_sparse(X):
        return
    if is_tensor(X):
        X = as_numpy(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        for values in X.T:
            yield np.where(np.isnan(values), -1, in_order(values))
        return
    if not is_table(X) and not isinstance(X, (list, tuple)):
        return
    rows = as_objects(X)
    if all(isinstance(row, Mapping) for row in rows):
        for name in dict.fromkeys([name for row in rows for name in row]):
            cells = [row.get(name) for row in rows]
            known = [cell is not None and cell == cell for cell in cells]
            yield np.where(known, _numbered(list(map(repr, cells))), -1)


def _telling(column: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return which rows have a value that no different row has, in a column where this is the rule."""
    known = column >= 0
    pairs = np.unique(np.stack([column[known], groups[known]]), axis=1)[0]
    rows_with = np.bincount(pairs, minlength=int(column.max(initial=0)) + 1)  # different rows that have a value
    if not known.any() or (rows_with > 1).sum() > MOST_ATOMS * (rows_with > 0).sum():
        return np.zeros(len(column), dtype=bool)
    return known & (rows_with[column] == 1)
