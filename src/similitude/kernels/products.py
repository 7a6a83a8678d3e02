"""Dot products and distances between the rows of two matrices, dense or sparse, in NumPy or another namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from similitude import loops
from similitude.encodings import is_sparse, namespace
from similitude.kernels.matrix import same_dimension

DIRECT = 32
"""Dimension up to which vectors are compared entry by entry rather than through a matrix product."""

TILE = (512, 1024)
"""Rows and columns that go through the matrix product and then through a loop while they are in the cache."""


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
    if is_sparse(A) and is_sparse(B):
        return (A @ B.T).toarray()
    if is_sparse(B):
        return np.ascontiguousarray((B @ A.T).T)
    return A @ B.T


def squared_norms(A: Any) -> Any:
    """Return |a_i|^2."""
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel().astype(A.dtype, copy=False)
    return (A * A).sum(1)


def of_dot_products(A: Any, B: Any, form: Form) -> Any:
    """Return a function of the dot products <a_i, b_j>."""
    if not _is_compilable(A, B):
        return form.of(inner(A, B))
    same_dimension(A, B)
    A, B, out = _ready(A, B)
    for down, right in _tiles(A, B):
        np.matmul(A[down], B[right].T, out=out[down, right])
        loops.apply(out[down, right], *form.loop)
    return out


def of_squared_distances(A: Any, B: Any, form: Form) -> Any:
    """Return a function of the squared distances |a_i - b_j|^2, safe from cancellation.

    Short vectors are compared entry by entry. Longer ones go through a matrix product after they are centred, so
    that data far from the origin lose nothing, and pairs so close that digits would be lost are compared directly.
    """
    same_dimension(A, B)
    if not _is_compilable(A, B):
        return form.of(_squared_distances(A, B))
    if A.shape[1] <= DIRECT:
        return of_sums(A, B, "squared_difference", form)
    A, B, out = _ready(*_centred(A, B))
    a, b = squared_norms(A), squared_norms(B)
    for down, right in _tiles(A, B):
        np.matmul(A[down], B[right].T, out=out[down, right])
        loops.of_products(out[down, right], A[down], B[right], a[down], b[right], *form.loop)
    return out


def of_sums(A: Any, B: Any, terms: str, form: Form) -> Any:
    """Return a function of the sums over features of ``squared_difference``, ``absolute_difference`` or ``smaller``."""
    same_dimension(A, B)
    if not _is_compilable(A, B):
        return form.of(_sum_over_features(A, B, terms))
    A, B, out = _ready(A, B)
    loops.of_sums(out, A, B, terms, *form.loop)
    return out


def _is_compilable(A: Any, B: Any) -> bool:
    return isinstance(A, np.ndarray) and isinstance(B, np.ndarray)


def _ready(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both matrices as the loops take them, and an empty one for the result."""
    dtype, same = np.result_type(A, B), A is B
    A = np.require(A, dtype, ["C", "A"])
    B = A if same else np.require(B, dtype, ["C", "A"])
    return A, B, np.empty((len(A), len(B)), dtype)


def _tiles(A: np.ndarray, B: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Yield tiles that stay in the cache between the product and the loop; one for a Gram, which is then symmetric."""
    down, right = (len(A), len(B)) if A is B else TILE
    for i in range(0, len(A), down):
        for j in range(0, len(B), right):
            yield slice(i, i + down), slice(j, j + right)


def _centred(A: Any, B: Any) -> tuple[Any, Any]:
    centre = B.mean(0)
    left = A - centre
    return left, (left if A is B else B - centre)


def _squared_distances(A: Any, B: Any) -> Any:
    """Return |a_i - b_j|^2 of tensors or sparse rows; the latter are not centred, which would fill them."""
    if not (is_sparse(A) or is_sparse(B)):
        A, B = _centred(A, B)
    a = squared_norms(A)
    b = a if A is B else squared_norms(B)
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
    if is_sparse(A) or is_sparse(B):
        return (
            _sparse_manhattan(A, B) if terms == "absolute_difference" else _sparse_sum_over_features(A, B, np.minimum)
        )
    xp = namespace(A)
    term = xp.minimum if terms == "smaller" else (lambda a, b: abs(a - b))
    total = xp.zeros_like(A[:, 0][:, None] * B[:, 0][None, :])
    for k in range(A.shape[1]):
        total += term(A[:, k][:, None], B[:, k][None, :])
    return total


def _sparse_sum_over_features(A: Any, B: Any, f: Callable[[Any, Any], Any]) -> np.ndarray:
    from scipy.sparse import csr_array

    A, B = csr_array(A), csr_array(B)
    dtype = np.result_type(A.dtype, B.dtype)
    total = row_sums(A, f(A.data, 0 * A.data))[:, None] + row_sums(B, f(B.data, 0 * B.data))[None, :]
    shared = np.intersect1d(A.indices, B.indices)
    A, B = A[:, shared].tocsc(), B[:, shared].tocsc()
    for k in range(len(shared)):
        in_a, in_b = (slice(M.indptr[k], M.indptr[k + 1]) for M in (A, B))
        a, b = A.data[in_a][:, None].astype(np.float64), B.data[in_b][None, :].astype(np.float64)
        total[np.ix_(A.indices[in_a], B.indices[in_b])] += f(a, b) - f(a, 0 * a) - f(0 * b, b)
    return total.astype(dtype)


def row_sums(M: Any, values: np.ndarray) -> np.ndarray:
    """Return the sums over each row of a CSR matrix with these values in place of its own, in float64."""
    row_of_each = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    return np.bincount(row_of_each, weights=values, minlength=M.shape[0])


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


def _sparse_manhattan(A: Any, B: Any) -> Any:
    """Return the distances sum_k |a_ik - b_jk|; of rows that are close, from their differences."""
    D = _sparse_sum_over_features(A, B, lambda a, b: abs(a - b))
    a, b = (abs(M).sum(axis=1) for M in (A, B))
    i, j = np.nonzero(64 * np.sqrt(np.finfo(D.dtype).eps) * (a[:, None] + b[None, :]) > D)
    for start in range(0, len(i), 1024):
        left, right = i[start : start + 1024], j[start : start + 1024]
        D[left, right] = abs(A[left] - B[right]).sum(axis=1)
    return D
