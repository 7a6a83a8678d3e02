"""Loops over vectors, dense and sparse: functions of dot products and of sums over features; see `arguments`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute.loops.arguments import (
    CSR,
    FLOAT32_OR_64,
    INT32,
    INT64,
    PAIR_FUNCTIONS,
    SHAPES,
    SUMS,
    TERMS,
    Array,
    array,
    checked,
    increasing,
    inside,
    number,
    out_matrix,
    require,
    whole,
)

CACHED_VALUES = 50_000
"""Number of values that are summed at once, so that they stay in the cache."""


def _require_form(shape: Any = "identity", p: Any = 0.0, q: Any = 0.0, degree: Any = 1) -> None:
    if shape not in SHAPES:
        raise ValueError(f"unknown shape {shape!r}")
    number("p", p)
    number("q", q)
    whole("degree", degree, 0, 2**31)
    if shape == "rational_quadratic":
        require(p >= 0, f"p of rational_quadratic must be at least 0, got {p}")


def _apply_domain(values: Any, *form: Any, **named: Any) -> None:
    out_matrix("values", values, *FLOAT32_OR_64)
    _require_form(*form, **named)


@checked(_apply_domain)
def apply(values: Array, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """Replace every entry of a matrix by a function of it, in place."""
    _transform(values, shape, p, q, degree)


def _transform(values: Array, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    with np.errstate(all="ignore"):
        values[...] = PAIR_FUNCTIONS[shape](np, values, p, q, degree)


def _require_rows(out: Array, A: Any, B: Any) -> None:
    array("A", A, 2, out.dtype)
    array("B", B, 2, out.dtype)
    require(out.shape == (len(A), len(B)), "one row of A and of B for each row and column of out")
    require(A.shape[1] == B.shape[1], "A and B need the same number of columns")


def _of_products_domain(products: Any, A: Any, B: Any, a: Any, b: Any, *form: Any) -> None:
    out_matrix("products", products, *FLOAT32_OR_64)
    _require_rows(products, A, B)
    for name, norms in (("a", a), ("b", b)):
        array(name, norms, 1, products.dtype)
    require(products.shape == (len(a), len(b)), "one entry of a for each row of products, one of b for each column")
    _require_form(*form)


@checked(_of_products_domain)
def of_products(products: Array, A: Array, B: Array, a: Array, b: Array, *form: Any) -> None:
    """Replace dot products <a_i, b_j> by a function of |a_i - b_j|^2 = |a_i|^2 + |b_j|^2 - 2 <a_i, b_j>, in place.

    `a` and `b` are the squared norms of the rows of `A` and `B`. Pairs so close that this formula loses half of the
    digits are computed from their difference.
    """
    both = a[:, np.newaxis] + b[np.newaxis, :]
    products[...] = both - 2 * products
    i, j = np.nonzero(products < 64 * np.sqrt(np.finfo(products.dtype).eps) * both)
    products[i, j] = ((A[i] - B[j]) ** 2).sum(axis=1)
    _transform(products, *form)


def _of_sums_domain(out: Any, A: Any, B: Any, terms: Any, *form: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _require_rows(out, A, B)
    require(terms in SUMS, f"unknown sum {terms!r}")
    _require_form(*form)


@checked(_of_sums_domain)
def of_sums(out: Array, A: Array, B: Array, terms: str, *form: Any) -> None:
    """Write a function of sums over features of the rows of A and B into `out`.

    Summed are squared differences, absolute differences, or the smaller of two entries; see `TERMS`.
    """
    step = max(1, CACHED_VALUES // max(1, len(B)))
    for start in range(0, len(A), step):
        some, part = A[start : start + step], out[start : start + step]
        part[...] = 0
        for k in range(A.shape[1]):
            part += TERMS[terms](some[:, k, np.newaxis], B[np.newaxis, :, k])
        _transform(part, *form)


def _require_sparse(M: CSR, rows: int, columns: int, dtype: Any) -> None:
    """Require a sparse matrix of this size."""
    data, indices, starts = M
    array("data", data, 1, dtype)
    array("indices", indices, 1, INT32, INT64)
    array("indptr", starts, 1, INT32, INT64)
    require(len(starts) == rows + 1, "indptr needs one entry more than there are rows")
    require(len(indices) == len(data), "data and indices need the same length")
    require(starts[0] == 0 and starts[-1] == len(data), "indptr must go from 0 to the end")
    require((starts[1:] >= starts[:-1]).all(), "indptr must not decrease")
    inside(indices, min(columns, 2**31), "an index is outside of the matrix")


def _sparse_products_domain(out: Any, A: CSR, Bt: CSR) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    array("indptr", Bt[2], 1, INT32, INT64)
    require(len(Bt[2]), "indptr needs one entry more than there are rows")
    _require_sparse(A, out.shape[0], len(Bt[2]) - 1, out.dtype)
    _require_sparse(Bt, len(Bt[2]) - 1, out.shape[1], out.dtype)
    require(np.isfinite(A[0]).all() and np.isfinite(Bt[0]).all(), "entries must be finite")


@checked(_sparse_products_domain)
def sparse_products(out: Array, A: CSR, Bt: CSR) -> None:
    """Write the dot products <a_i, b_j> of sparse rows with finite entries into `out`; `Bt` is B transposed."""
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        for a, k in zip(values, columns, strict=True):
            of_k = slice(Bt[2][k], Bt[2][k + 1])
            np.add.at(row, Bt[1][of_k], a * Bt[0][of_k])


def _sparse_dense_products_domain(out: Any, A: CSR, Bt: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    array("Bt", Bt, 2, out.dtype)
    require(Bt.shape[1] == out.shape[1], "Bt needs one column for each column of out")
    _require_sparse(A, out.shape[0], len(Bt), out.dtype)


@checked(_sparse_dense_products_domain)
def sparse_dense_products(out: Array, A: CSR, Bt: Array) -> None:
    """Write the dot products <a_i, b_j> of sparse rows a_i and the columns b_j of a dense `Bt` into `out`."""
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        row += values @ Bt[columns]


def _of_sparse_sums_domain(out: Any, A: CSR, B: CSR, Bt: CSR, terms: Any, *form: Any) -> None:
    _sparse_products_domain(out, A, Bt)
    _require_sparse(B, out.shape[1], len(Bt[2]) - 1, out.dtype)
    require(len(B[0]) == len(Bt[0]), "Bt must be B transposed")
    require(increasing(A[1], A[2]) and increasing(B[1], B[2]), "the indices of each row must increase")
    require(terms in SUMS, f"unknown sum {terms!r}")
    _require_form(*form)


@checked(_of_sparse_sums_domain)
def of_sparse_sums(out: Array, A: CSR, B: CSR, Bt: CSR, terms: str, *form: Any) -> None:
    """Write a function of sums over features of sparse rows into `out`; `Bt` is B transposed, and see `of_sums`.

    The indices of each row increase. Equal rows have a distance of exactly zero, and close rows lose no digits.
    """
    term, zero = TERMS[terms], np.zeros(1, out.dtype)
    A_rows, B_rows = (list(zip(*_rows(M), strict=True)) for M in (A, B))
    a, b = (np.array([term(values, zero).sum() for values, _ in M], out.dtype) for M in (A_rows, B_rows))
    for i, (values, columns) in enumerate(A_rows):
        out[i] = a[i] + b
        for x, k in zip(values, columns, strict=True):
            of_k = slice(Bt[2][k], Bt[2][k + 1])
            z = Bt[0][of_k]
            out[i, Bt[1][of_k]] += term(x, z) - (term(x, zero) + term(zero, z))
        if terms != "smaller":
            for j in np.flatnonzero(out[i] < 64 * np.sqrt(np.finfo(out.dtype).eps) * (a[i] + b)):
                out[i, j] = _sum_of_pair(values, columns, B_rows[j][0], B_rows[j][1], term)
    _transform(out, *form)


def _sum_of_pair(a: Array, a_columns: Array, b: Array, b_columns: Array, term: Callable[[Array, Array], Array]) -> Any:
    columns = np.union1d(a_columns, b_columns)
    both = np.zeros((2, len(columns)), a.dtype)
    both[0, np.searchsorted(columns, a_columns)] = a
    both[1, np.searchsorted(columns, b_columns)] = b
    return term(both[0], both[1]).sum()


def _rows(A: CSR) -> tuple[list[Array], list[Array]]:
    """Return the values of each row, and their columns."""
    ends = A[2][1:-1]
    if len(A[2]) == 1:
        return [], []
    return np.split(A[0], ends), np.split(A[1], ends)
