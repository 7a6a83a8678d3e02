"""Dot products and distances between the rows of two matrices, dense or sparse, in NumPy or another namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.encodings import is_sparse, namespace
from similitude.kernels.matrix import same_dimension


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


def squared_distances(A: Any, B: Any) -> Any:
    """Return |a_i - b_j|^2 = |a_i|^2 + |b_j|^2 - 2 <a_i, b_j>, safe from cancellation.

    Dense rows are centred first, so that data far from the origin lose nothing. Pairs that are so close that the
    formula would still lose half of the digits are computed from their difference.
    """
    same_dimension(A, B)
    if not (is_sparse(A) or is_sparse(B)):
        same, centre = A is B, B.mean(0)
        A = A - centre
        B = A if same else B - centre
    a = squared_norms(A)
    b = a if A is B else squared_norms(B)
    D = inner(A, B)
    D *= -2.0
    if A is B:
        D += a[:, None] + a[None, :]  # one sum, so that D is exactly symmetric
        diagonal = np.arange(D.shape[0])
        D[diagonal, diagonal] = 0.0
    else:
        D += a[:, None]
        D += b[None, :]
    return _exact_where_close(D, A, B, a, b)


def _exact_where_close(D: Any, A: Any, B: Any, a: Any, b: Any) -> Any:
    xp = namespace(D)
    close = 64 * float(xp.finfo(D.dtype).eps) ** 0.5
    if D.shape[0] == 0 or D.shape[1] == 0 or float(D.min()) >= close * float(a.max() + b.max()):
        return D
    near = close * (a[:, None] + b[None, :]) > D
    if A is B:
        diagonal = np.arange(D.shape[0])
        near[diagonal, diagonal] = False
    i, j = xp.nonzero(near)
    step = max(1, 2**20 // max(1, A.shape[1]))
    for start in range(0, i.shape[0], step):
        left, right = i[start : start + step], j[start : start + step]
        D[left, right] = squared_norms(A[left] - B[right])
    return D


def sum_over_features(A: Any, B: Any, f: Callable[[Any, Any], Any]) -> Any:
    """Return the sums over features k of f(a_ik, b_jk), for an f with f(0, 0) = 0."""
    same_dimension(A, B)
    if is_sparse(A) or is_sparse(B):
        return _sparse_sum_over_features(A, B, f)
    xp = namespace(A)
    total = xp.zeros_like(A[:, 0][:, None] * B[:, 0][None, :]) if A.shape[1] else A @ B.T
    for k in range(A.shape[1]):
        total += f(A[:, k][:, None], B[:, k][None, :])
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


def exponential(D: Any) -> Any:
    """Return exp of an array that nobody else holds."""
    return np.exp(D, out=D) if isinstance(D, np.ndarray) else namespace(D).exp(D)


def euclidean(A: Any, B: Any) -> Any:
    """Return the distances |a_i - b_j|."""
    return namespace(A).sqrt(squared_distances(A, B))


def manhattan(A: Any, B: Any) -> Any:
    """Return the distances sum_k |a_ik - b_jk|; of sparse rows that are close, from their differences."""
    D = sum_over_features(A, B, lambda a, b: abs(a - b))
    if not (is_sparse(A) or is_sparse(B)):
        return D
    a, b = (abs(M).sum(axis=1) for M in (A, B))
    i, j = np.nonzero(64 * np.sqrt(np.finfo(D.dtype).eps) * (a[:, None] + b[None, :]) > D)
    for start in range(0, len(i), 1024):
        left, right = i[start : start + 1024], j[start : start + 1024]
        D[left, right] = abs(A[left] - B[right]).sum(axis=1)
    return D
