"""Loops over vectors, dense and sparse: functions of dot products and of sums over features; see `arguments`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute.loops.arguments import CSR, PAIR_FUNCTIONS, TERMS, Array


def apply(values: Array, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """Replace every entry of a matrix by a function of it, in place."""
    with np.errstate(all="ignore"):
        values[...] = PAIR_FUNCTIONS[shape](np, values, p, q, degree)


def of_products(products: Array, A: Array, B: Array, a: Array, b: Array, *form: Any) -> None:
    """Replace dot products <a_i, b_j> by a function of |a_i - b_j|^2 = |a_i|^2 + |b_j|^2 - 2 <a_i, b_j>, in place.

    `a` and `b` are the squared norms of the rows of `A` and `B`. Pairs so close that this formula loses half of the
    digits are computed from their difference.
    """
    both = a[:, np.newaxis] + b[np.newaxis, :]
    products[...] = both - 2 * products
    i, j = np.nonzero(products < 64 * np.sqrt(np.finfo(products.dtype).eps) * both)
    products[i, j] = ((A[i] - B[j]) ** 2).sum(axis=1)
    apply(products, *form)


def of_sums(out: Array, A: Array, B: Array, terms: str, *form: Any) -> None:
    """Write a function of sums over features of the rows of A and B into `out`; see `TERMS`."""
    step = max(1, 50_000 // max(1, len(B)))  # as many values as stay in the cache
    for start in range(0, len(A), step):
        some = A[start : start + step]
        part = out[start : start + step]
        part[...] = 0
        for k in range(A.shape[1]):
            part += TERMS[terms](some[:, k, np.newaxis], B[np.newaxis, :, k])
        apply(part, *form)


def sparse_products(out: Array, A: CSR, Bt: CSR) -> None:
    """Write the dot products <a_i, b_j> of sparse rows with finite entries into `out`; `Bt` is B transposed."""
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        for a, k in zip(values, columns, strict=True):
            of_k = slice(Bt[2][k], Bt[2][k + 1])
            np.add.at(row, Bt[1][of_k], a * Bt[0][of_k])


def sparse_dense_products(out: Array, A: CSR, Bt: Array) -> None:
    """Write the dot products <a_i, b_j> of sparse rows a_i and the columns b_j of a dense `Bt` into `out`."""
    out[...] = 0
    for row, values, columns in zip(out, *_rows(A), strict=True):
        row += values @ Bt[columns]


def of_sparse_sums(out: Array, A: CSR, B: CSR, Bt: CSR, terms: str, *form: Any) -> None:
    """Write a function of sums over features of sparse rows into `out`; `Bt` is B transposed, and see `of_sums`.

    The indices of each row increase. Equal rows have a distance of exactly zero, and close rows lose no digits.
    """
    term = TERMS[terms]
    zero = np.zeros(1, out.dtype)
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
    apply(out, *form)


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
