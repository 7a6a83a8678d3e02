"""Dot products and sums over features of sparse rows, which are never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import is_sparse, loops

MANY_COLUMNS = 2**16
"""Number of columns up to which empty columns cost nothing worth saving."""


def sparse_inner(A: Any, B: Any, out: Any = None) -> np.ndarray:
    """Return the dot products <a_i, b_j>, where A, B or both are sparse."""
    if not is_sparse(A):
        products = sparse_inner(B, A).T
        if out is None:
            return np.ascontiguousarray(products)
        out[...] = products
        return out
    if is_sparse(B):
        A, B, out = _ready(A, B, out)
        loops.sparse_products(out, csr(A), csr(B.T.tocsr()))
        return out
    dtype = np.result_type(A.dtype, B.dtype)
    if out is None:
        out = np.empty((A.shape[0], len(B)), dtype)
    loops.sparse_dense_products(out, csr(A.astype(dtype, copy=False)), np.ascontiguousarray(B.T, dtype))
    return out


def sparse_sums(A: Any, B: Any, sums: str, form: tuple[Any, ...], out: Any = None) -> np.ndarray:
    """Return a function of sums over features; rows are not centered, because that would fill them."""
    A, B, out = _ready(A, B, out)
    if sums != "smaller":
        _refuse_overflow(A, sums)
        _refuse_overflow(B, sums)
    loops.of_sparse_sums(out, csr(A), csr(B), csr(B.T.tocsr()), sums, *form)
    return out


def _refuse_overflow(A: Any, sums: str) -> None:
    """Refuse rows whose sums overflow, because their distances would not be numbers."""
    limit = float(np.finfo(A.dtype).max) / 4
    with np.errstate(over="ignore"):
        if np.einsum("i,i->", A.data, A.data) < limit:
            return
        sizes = np.abs(A.data, dtype=np.float64)
        if sums == "squared_difference":
            sizes = sizes * sizes
        owner = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        totals = np.bincount(owner, weights=sizes, minlength=A.shape[0])
    if not (totals < limit).all():
        raise ValueError("the vectors are too long: their sums overflow, so scale them first")


def _ready(A: Any, B: Any, out: Any) -> tuple[Any, Any, np.ndarray]:
    """Return both matrices as CSR in the same precision, and `out` or a new matrix for the result.

    If there are far more columns than entries, only the columns that occur are kept, renumbered.
    """
    from scipy.sparse import csr_array

    dtype = np.result_type(A.dtype, B.dtype)
    same = A is B
    A, B = (M if is_sparse(M) and M.format == "csr" and M.dtype == dtype else csr_array(M, dtype=dtype) for M in (A, B))
    if A.shape[1] > MANY_COLUMNS + 4 * (A.nnz + B.nnz):
        columns = np.unique(A.indices if same else np.concatenate([A.indices, B.indices]))
        A = _with_columns(A, columns)
        B = A if same else _with_columns(B, columns)
    return A, B, np.empty((A.shape[0], B.shape[0]), dtype) if out is None else out


def _with_columns(A: Any, columns: np.ndarray) -> Any:
    return type(A)((A.data, np.searchsorted(columns, A.indices), A.indptr), shape=(A.shape[0], len(columns)))


def csr(A: Any) -> loops.CSR:
    """Return the arrays of a CSR matrix, as the loops take them."""
    return A.data, A.indices, A.indptr
