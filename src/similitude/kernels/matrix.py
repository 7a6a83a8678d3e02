"""Vectors as people have them, turned into the rows of one matrix."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute.encodings import (
    as_numpy,
    check_columns,
    check_objects,
    is_column,
    is_sparse,
    is_table,
    namespace,
)
from similitude.support.errors import brief


def as_matrix(X: Any) -> Any:
    """Return vectors as a matrix of float32 or float64, one vector per row, without copying where possible.

    Takes arrays, scipy sparse matrices (kept sparse, as CSR), pandas and polars frames and columns, tensors, and
    lists of vectors. A one-dimensional array is a list of numbers: vectors of dimension 1.

    >>> as_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    check_objects(X)
    if is_sparse(X):
        return _sparse(X)
    if is_table(X):
        return _table(X)
    if is_column(X):
        return _table(X.to_frame())
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("a masked array with masked values: vector kernels need every value")
    if not hasattr(X, "shape"):
        X = stacked(list(X))
        if is_sparse(X):
            return _sparse(X)
    return _dense(X)


def _dense(X: Any) -> Any:
    xp = namespace(X)
    X = np.asarray(X) if xp is np else X
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise ValueError(
            f"vector kernels need a matrix with one vector per row, got an array of shape {tuple(X.shape)}"
        )
    if X.shape[1] == 0:
        raise ValueError("the vectors have no entries: vector kernels need at least one column")
    return _finite(_floating(X))


def _floating(X: Any) -> Any:
    kind = str(X.dtype).rsplit(".", 1)[-1]
    if kind in ("float32", "float64"):
        return X if not isinstance(X, np.ndarray) or X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
    if kind.startswith("complex"):
        raise TypeError("vector kernels need real numbers, not complex ones")
    xp = namespace(X)
    wanted = xp.float32 if kind in ("float16", "bfloat16") else xp.float64
    if xp is not np:
        return xp.astype(X, wanted)
    if X.dtype.kind in "fiub":
        return X.astype(wanted)
    return _numbers(X)


def _numbers(X: np.ndarray) -> np.ndarray:
    """Turn an array of Python objects into floats; name the first entry that is no number."""
    for (i, j), value in np.ndenumerate(X):
        if not isinstance(value, (Real, Decimal)):
            raise TypeError(
                f"vector kernels need numbers, row {i}, column {j} is {brief(value)}; for other objects bring your own "
                f"function with as_similarity(f), or turn them into vectors with k.pullback(phi)"
            )
    return X.astype(np.float64)


def _finite(X: Any) -> Any:
    with np.errstate(all="ignore"):  # the sum of finite values may overflow: look closer then
        total = float(X.sum())
    if not math.isfinite(total):
        bad = np.argwhere(~np.isfinite(as_numpy(X)))
        if len(bad):
            i, j = (int(position) for position in bad[0])
            raise ValueError(f"row {i}, column {j} is {float(X[i, j])}: vector kernels need finite numbers")
    return X


def _sparse(X: Any) -> Any:
    from scipy.sparse import csr_array

    X = csr_array(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"vector kernels need real numbers, not {X.dtype}")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"row {row}, column {X.indices[bad[0]]} is {X.data[bad[0]]}: vector kernels need finite numbers"
        )
    return X


def _table(X: Any) -> np.ndarray:
    return np.column_stack([_column(name, X[name].to_numpy()) for name in check_columns(X)])


def _column(name: Any, values: np.ndarray) -> np.ndarray:
    """Return one column as floats; name it if it holds anything else or a missing value."""
    if values.dtype == object:
        missing = [i for i, value in enumerate(values) if value is None or value != value or str(value) == "<NA>"]
        numbers = all(isinstance(value, Real) for i, value in enumerate(values) if i not in set(missing))
        values = np.array([np.nan if i in missing else value for i, value in enumerate(values)]) if numbers else values
    if values.dtype.kind not in "fiub":
        raise TypeError(f"column {name!r} holds {brief(values[0])}: vector kernels need numbers in every column")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"column {name!r} holds {values[bad[0]]} in row {bad[0]}: vector kernels need finite numbers, so fill or "
            f"drop missing values first"
        )
    return values.astype(np.float32 if values.dtype in (np.float32, np.float16) else np.float64)


def stacked(vectors: list[Any]) -> Any:
    """Join a list of vectors into one matrix; name the first one that does not fit."""
    vectors = [vector.to_numpy() if is_column(vector) else vector for vector in vectors]
    first = vectors[0]
    if is_sparse(first):
        from scipy import sparse

        return sparse.vstack(vectors, format="csr")
    for i, vector in enumerate(vectors):
        if isinstance(vector, (str, bytes, dict, set)) or vector is None:
            raise TypeError(
                f"vector kernels need vectors of numbers, object {i} is {brief(vector)}; for other objects bring your "
                f"own function with as_similarity(f), or turn them into vectors with k.pullback(phi)"
            )
        if np.shape(vector) != np.shape(first):
            raise ValueError(
                f"vectors must all have the same dimension: object {i} has shape {np.shape(vector)}, object 0 has "
                f"shape {np.shape(first)}"
            )
    xp = namespace(first) if hasattr(first, "shape") else np
    return np.asarray(vectors) if xp is np else xp.stack(vectors)


def same_dimension(A: Any, B: Any) -> None:
    """Refuse two matrices whose rows cannot be compared."""
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"X has {A.shape[1]} columns and Z has {B.shape[1]}: both need the same dimension")
