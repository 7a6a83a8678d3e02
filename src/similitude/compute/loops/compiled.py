"""The compiled loops behind the signatures of their twins in ``reference``."""

from typing import Any

import numpy as np

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops.reference import CSR, SHAPES, SUMS, Array

worst_triple = _compiled.worst_triple


def apply(values: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """See `reference.apply`."""
    _compiled.apply(values, SHAPES.index(shape), p, q, degree)


def of_products(
    products: Any, A: Any, B: Any, a: Any, b: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1
) -> None:
    """See `reference.of_products`."""
    _compiled.of_products(products, A, B, a, b, SHAPES.index(shape), p, q, degree)


def of_sums(
    out: Any, A: Any, B: Any, terms: str, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1
) -> None:
    """See `reference.of_sums`."""
    _compiled.of_sums(out, A, B, SUMS.index(terms), SHAPES.index(shape), p, q, degree)


def mirror(out: Any, values: Any) -> None:
    """See `reference.mirror`."""
    _compiled.mirror(out, values)


def sparse_products(out: Any, A: CSR, Bt: CSR) -> None:
    """See `reference.sparse_products`."""
    _compiled.sparse_products(out, *_csr(A), *_csr(Bt))


def sparse_dense_products(out: Any, A: CSR, Bt: Any) -> None:
    """See `reference.sparse_dense_products`."""
    _compiled.sparse_dense_products(out, *_csr(A), Bt)


def of_sparse_sums(
    out: Any,
    A: CSR,
    B: CSR,
    Bt: CSR,
    terms: str,
    shape: str = "identity",
    p: float = 0.0,
    q: float = 0.0,
    degree: int = 1,
) -> None:
    """See `reference.of_sparse_sums`."""
    _compiled.of_sparse_sums(out, *_csr(A), *_csr(B), *_csr(Bt), SUMS.index(terms), SHAPES.index(shape), p, q, degree)


def _csr(M: CSR) -> CSR:
    """Return the arrays of a sparse matrix with the kinds of index that the loops take."""
    data, indices, starts = M
    if indices.dtype != np.int32 and (indices.max(initial=0) >= 2**31 or indices.min(initial=0) < 0):
        raise ValueError("column numbers of sparse rows must be from 0 to 2**31 - 1")
    return data, np.ascontiguousarray(indices, np.int32), np.ascontiguousarray(starts, np.int64)


def common_bits(out: Any, A: Any, B: Any) -> None:
    """See `reference.common_bits`."""
    _compiled.common_bits(out, A, B)


def count_bits(A: Any) -> Array:
    """See `reference.count_bits`."""
    counts = np.empty(len(A), np.int64)
    _compiled.count_bits(A, counts)
    return counts


def hadamard(values: Any, signs: Any, size: int) -> None:
    """See `reference.hadamard`."""
    _compiled.hadamard(values, signs, size)


def cos_sin(turns: Any, sines: Any, scale: float = 1.0) -> None:
    """See `reference.cos_sin`."""
    _compiled.cos_sin(turns, sines, scale)


def perceptron_pass(K: Any, y: Any, scores: Any, threshold: float = 0.0, strict: bool = False) -> Array:
    """See `reference.perceptron_pass`."""
    updated = np.empty(len(K), np.uint8)
    _compiled.perceptron_pass(K, y, scores, threshold, strict, updated)
    return updated.view(bool)


def smo(K: Any, u: Any, beta: Any, low: Any, high: Any, tolerance: float, most_steps: int, keep_sum: bool) -> int:
    """See `reference_solvers.smo`."""
    return int(_compiled.smo(K, u, beta, low, high, tolerance, most_steps, keep_sum))


def add_rows(rows: Any, which: Any, weights: Any, out: Any) -> None:
    """See `reference_solvers.add_rows`."""
    _compiled.add_rows(rows, which, weights, out)
