"""A metric of vectors, given by the linear map under which the coordinates are compared: weights, or a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import beside, in_precision, is_sparse
from similitude.support import brief, written

PULLBACK = "a kernel of T'x and T'z, for any linear map T, is one of x and z: its features are phi(T'x)"
"""The proof of a kernel with a metric, given that of the kernel without."""


def check_metric(metric: Any, vector_only: bool = False) -> None:
    """Validate a metric: weights of the columns, or a matrix with one row per column.

    >>> check_metric([1.0, float("nan")])
    Traceback (most recent call last):
        ...
    ValueError: metric must consist of finite numbers, but entry 1 is nan
    """
    T = as_array(metric)
    if T.ndim not in (1, 2) or T.size == 0:
        raise ValueError(
            f"metric must be a vector with one weight per column, or a matrix with one row per column, "
            f"got {brief(metric)} of shape {T.shape}"
        )
    if vector_only and T.ndim == 2:
        raise ValueError(
            "with norm=1 metric must be a vector, one weight per column: use norm=2, or a Gaussian, for a matrix"
        )
    if not np.isfinite(T).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(T))[0])
        raise ValueError(
            f"metric must consist of finite numbers, but entry {', '.join(map(str, at))} is {float(T[at])}"
        )
    if not T.any():
        raise ValueError("metric is zero in every column, so that all vectors would be equal")


def as_array(metric: Any, name: str = "metric") -> np.ndarray:
    """Return a metric, or another array of a kernel, as floats."""
    try:
        T = np.asarray(metric)
        if T.dtype.kind not in "fiub":
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {brief(metric)}") from None
    return np.asarray(T, dtype=np.float64)


def transformed(A: Any, metric: Any) -> Any:
    """Return the rows of A under the linear map: multiplied by weights, or by a matrix from the right.

    Sparse rows stay sparse under weights; a matrix makes them dense.
    """
    T = as_array(metric)
    if T.shape[0] != A.shape[1]:
        what = "weights" if T.ndim == 1 else "rows"
        raise ValueError(f"metric has {T.shape[0]} {what}, one per column, but the vectors have {A.shape[1]} columns")
    if is_sparse(A):
        if T.ndim == 1:
            return A.multiply(T[None, :]).tocsr().astype(A.dtype, copy=False)
        return A @ T.astype(A.dtype)
    T = in_precision(beside(T, A), A.dtype)
    return A * T if T.ndim == 1 else A @ T


def written_metric(metric: Any) -> str:
    """Return a metric as `repr` shows it.

    >>> written_metric(np.array([1.0, 0.25])), written_metric(np.eye(3))
    ('[1.0, 0.25]', '<3 x 3 matrix>')
    """
    T = as_array(metric)
    if T.ndim == 1 and len(T) <= 8:
        if isinstance(metric, (list, tuple)):
            return written(metric)
        return f"[{', '.join(repr(float(f'{value:.4g}')) for value in T)}]"
    return f"<{len(T)} weights>" if T.ndim == 1 else f"<{' x '.join(map(str, T.shape))} matrix>"
