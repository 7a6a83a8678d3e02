"""Dot products and distances between the rows of two matrices, dense or sparse, in NumPy or another namespace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import loops
from similitude.compute.encodings import as_numpy, is_sparse, namespace
from similitude.kernels.matrix import same_dimension

DIRECT = 32
"""Dimension up to which vectors are compared entry by entry rather than through a matrix product."""

TILE = (1024, 4096)
"""Rows and columns that go through the matrix product and then through a loop while they are in the cache."""

MANY_COLUMNS = 2**16
"""Columns of sparse rows up to which it does not matter that most of them are empty."""


class Form(NamedTuple):
    """A function of distances or dot products: as the loops know it, and as a formula for any array namespace."""

    loop: tuple[Any, ...]
    formula: Callable[[Any], Any]

    def of(self, values: Any) -> Any:
        """Return the function of an array that nobody else holds."""
        if not isinstance(values, np.ndarray):
            return self.formula(values)
        loops.apply(values, *self.loop)
        return values


IDENTITY = Form(("identity",), lambda x: x)


def inner(A: Any, B: Any) -> Any:
    """Return the dot products <a_i, b_j>; sparse rows are never made dense."""
    same_dimension(A, B)
    if is_sparse(A) or is_sparse(B):
        return _sparse_inner(A, B)
    A, B = _alike(A, B)
    return A @ B.T


def _alike(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both in one precision, which NumPy sees to by itself and tensors do not."""
    if A.dtype == B.dtype or isinstance(A, np.ndarray):
        return A, B
    xp = namespace(A)
    dtype = xp.result_type(A, B)
    return xp.astype(A, dtype), xp.astype(B, dtype)


def squared_norms(A: Any) -> Any:
    """Return |a_i|^2."""
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel().astype(A.dtype, copy=False)
    return np.einsum("ij,ij->i", A, A) if isinstance(A, np.ndarray) else (A * A).sum(1)


def _finite_norms(A: Any) -> Any:
    """Return |a_i|^2, or refuse vectors whose squares overflow: their distances would be no numbers."""
    with np.errstate(over="ignore"):
        norms = squared_norms(A)
    if not math.isfinite(float(norms.sum())) and not np.isfinite(as_numpy(norms)).all():
        raise ValueError("the vectors are too long: their squares overflow, so scale them first")
    return norms


def of_dot_products(A: Any, B: Any, form: Form, out: Any = None) -> Any:
    """Return a function of the dot products <a_i, b_j>."""
    if is_sparse(A) or is_sparse(B):
        same_dimension(A, B)
        products = _sparse_inner(A, B, out)
        return products if form is IDENTITY else form.of(products)
    if not _is_compilable(A, B):
        return into(out, form.of(inner(A, B)))
    same_dimension(A, B)
    A, B, out = _ready(A, B, out)
    for down, right in _tiles(A, B):
        _multiply(A[down], B[right], out[down, right])
        if form is not IDENTITY:
            loops.apply(out[down, right], *form.loop)
    return out


def of_squared_distances(A: Any, B: Any, form: Form, out: Any = None) -> Any:
    """Return a function of the squared distances |a_i - b_j|^2, safe from cancellation.

    Short vectors are compared entry by entry. Longer ones go through a matrix product after they are centered, so
    that data far from the origin lose nothing, and pairs so close that digits would be lost are compared directly.
    """
    same_dimension(A, B)
    if is_sparse(A) or is_sparse(B):
        return _of_sparse_sums(A, B, "squared_difference", form, out)
    if not _is_compilable(A, B):
        return into(out, form.of(_squared_distances(A, B)))
    if A.shape[1] <= DIRECT:
        _finite_norms(A), _finite_norms(B)
        return of_sums(A, B, "squared_difference", form, out)
    A, B, out = _ready(*_centered(A, B), out)
    a, b = _finite_norms(A), _finite_norms(B)
    for down, right in _tiles(A, B):
        _multiply(A[down], B[right], out[down, right])
        loops.of_products(out[down, right], A[down], B[right], a[down], b[right], *form.loop)
    return out


def _multiply(A: Any, B: Any, out: Any) -> None:
    """Write A B' into `out`."""
    with np.errstate(invalid="ignore"):  # OpenBLAS sometimes reports one that is none, for a single float32 row
        np.matmul(A, B.T, out=out)


def of_sums(A: Any, B: Any, terms: str, form: Form, out: Any = None) -> Any:
    """Return a function of the sums over features of ``squared_difference``, ``absolute_difference`` or ``smaller``."""
    same_dimension(A, B)
    if is_sparse(A) or is_sparse(B):
        return _of_sparse_sums(A, B, terms, form, out)
    if not _is_compilable(A, B):
        return into(out, form.of(_sum_over_features(A, B, terms)))
    A, B, out = _ready(A, B, out)
    loops.of_sums(out, A, B, terms, *form.loop)
    return out


def _is_compilable(A: Any, B: Any) -> bool:
    return isinstance(A, np.ndarray) and isinstance(B, np.ndarray)


def into(out: Any, values: Any) -> Any:
    """Return values, copied into `out` where that is given."""
    if out is None:
        return values
    out[...] = values
    return out


def _ready(A: np.ndarray, B: np.ndarray, out: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both matrices as the loops take them, and `out` or an empty matrix for the result."""
    dtype, same = np.result_type(A, B), A is B
    A = np.require(A, dtype, ["C", "A"])
    B = A if same else np.require(B, dtype, ["C", "A"])
    return A, B, np.empty((len(A), len(B)), dtype) if out is None else out


def _tiles(A: np.ndarray, B: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Yield tiles that stay in the cache between the product and the loop; one for a Gram, which is then symmetric."""
    down, right = (len(A), len(B)) if A is B else TILE
    for i in range(0, len(A), down):
        for j in range(0, len(B), right):
            yield slice(i, i + down), slice(j, j + right)


def _centered(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both matrices about the mean of B, where that is far enough from the origin to matter."""
    center = B.mean(0)
    if float((center * center).sum()) <= 0.5 * float(squared_norms(B).mean()):
        return A, B
    left = A - center
    return left, (left if A is B else B - center)


def _squared_distances(A: Any, B: Any) -> Any:
    """Return |a_i - b_j|^2 of tensors."""
    A, B = _centered(*_alike(A, B))
    a = _finite_norms(A)
    b = a if A is B else _finite_norms(B)
    both = a[:, None] + b[None, :]
    D = both - 2.0 * inner(A, B)
    xp = namespace(D)
    i, j = xp.nonzero(64 * float(xp.finfo(D.dtype).eps) ** 0.5 * both > D)
    step = max(1, 2**20 // max(1, A.shape[1]))
    for start in range(0, i.shape[0], step):
        left, right = i[start : start + step], j[start : start + step]
        D[left, right] = squared_norms(A[left] - B[right])
    return D


def _sum_over_features(A: Any, B: Any, terms: str) -> Any:
    xp = namespace(A)
    term = xp.minimum if terms == "smaller" else (lambda a, b: abs(a - b))
    total = xp.zeros_like(A[:, 0][:, None] * B[:, 0][None, :])
    for k in range(A.shape[1]):
        total += term(A[:, k][:, None], B[:, k][None, :])
    return total


def _sparse_inner(A: Any, B: Any, out: Any = None) -> np.ndarray:
    if not is_sparse(A):
        products = _sparse_inner(B, A).T
        return np.ascontiguousarray(products) if out is None else into(out, products)
    if is_sparse(B):
        A, B, out = _sparse_ready(A, B, out)
        loops.sparse_products(out, _csr(A), _csr(B.T.tocsr()))
        return out
    dtype = np.result_type(A.dtype, B.dtype)
    out = np.empty((A.shape[0], len(B)), dtype) if out is None else out
    loops.sparse_dense_products(out, _csr(A.astype(dtype, copy=False)), np.ascontiguousarray(B.T, dtype))
    return out


def _of_sparse_sums(A: Any, B: Any, terms: str, form: Form, out: Any = None) -> np.ndarray:
    """Return a function of sums over features; sparse rows are not centered, which would fill them."""
    A, B, out = _sparse_ready(A, B, out)
    if terms != "smaller":
        _refuse_long_rows(A, terms)
        _refuse_long_rows(B, terms)
    loops.of_sparse_sums(out, _csr(A), _csr(B), _csr(B.T.tocsr()), terms, *form.loop)
    return out


def _refuse_long_rows(A: Any, terms: str) -> None:
    """Refuse rows whose sums overflow: their distances would be no numbers."""
    limit = float(np.finfo(A.dtype).max) / 4
    with np.errstate(over="ignore"):
        if np.einsum("i,i->", A.data, A.data) < limit:
            return
        sizes = np.abs(A.data, dtype=np.float64)
        sums = row_sums(A, sizes * sizes if terms == "squared_difference" else sizes)
    if not (sums < limit).all():
        raise ValueError("the vectors are too long: their sums overflow, so scale them first")


def row_sums(M: Any, values: np.ndarray) -> np.ndarray:
    """Return the sums over each row of a CSR matrix with these values in place of its own, in float64."""
    row_of_each = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    return np.bincount(row_of_each, weights=values, minlength=M.shape[0])


def _sparse_ready(A: Any, B: Any, out: Any) -> tuple[Any, Any, np.ndarray]:
    """Return both matrices as sparse rows of one precision, and `out` or an empty matrix for the result.

    Where far more columns than entries exist, only columns that occur are kept, under new numbers.
    """
    from scipy.sparse import csr_array

    dtype, same = np.result_type(A.dtype, B.dtype), A is B
    A, B = (M if is_sparse(M) and M.format == "csr" and M.dtype == dtype else csr_array(M, dtype=dtype) for M in (A, B))
    if A.shape[1] > MANY_COLUMNS + 4 * (A.nnz + B.nnz):
        columns = np.unique(A.indices if same else np.concatenate([A.indices, B.indices]))
        A = _with_columns(A, columns)
        B = A if same else _with_columns(B, columns)
    return A, B, np.empty((A.shape[0], B.shape[0]), dtype) if out is None else out


def _with_columns(A: Any, columns: np.ndarray) -> Any:
    return type(A)((A.data, np.searchsorted(columns, A.indices), A.indptr), shape=(A.shape[0], len(columns)))


def _csr(A: Any) -> loops.CSR:
    return A.data, A.indices, A.indptr


def unit_rows(A: Any) -> Any:
    """Return the rows scaled to length 1, zero rows as they are; neither long nor short ones overflow."""
    if is_sparse(A):
        largest = np.asarray(abs(A).max(axis=1).toarray()).ravel()
        A = _rows_divided(A, largest)
        return _rows_divided(A, np.sqrt(squared_norms(A)))
    xp = namespace(A)
    largest = abs(A).max(1) if xp is np else xp.max(abs(A), axis=1)
    A = A / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]
    norms = xp.sqrt(squared_norms(A))
    return A / xp.where(norms > 0, norms, xp.ones_like(norms))[:, None]


def _rows_divided(A: Any, by: np.ndarray) -> Any:
    scaled = A.copy()
    scaled.data /= np.repeat(np.where(by > 0, by, 1), np.diff(A.indptr)).astype(A.dtype)
    return scaled
