"""The domains of loops over vectors, matrices, sets and tables, and of solvers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute.loops.argument_types import CSR, Array
from similitude.compute.loops.domains.requirements import (
    FLOAT32_OR_64,
    FLOAT64,
    INT32,
    INT64,
    UINT64,
    array,
    increasing,
    inside,
    is_square,
    number,
    out_matrix,
    out_row,
    require,
    view,
    whole,
)
from similitude.compute.loops.named_functions import BOUNDS, SHAPES, SUMS, VALUES

# Vectors.


def _form(shape: Any = "identity", p: Any = 0.0, q: Any = 0.0, degree: Any = 1) -> None:
    if shape not in SHAPES:
        raise ValueError(f"unknown shape {shape!r}")
    number("p", p)
    number("q", q)
    whole("degree", degree, 0, 2**31)
    if shape == "rational_quadratic":
        require(p >= 0, f"p of rational_quadratic must be at least 0, got {p}")


def _apply(values: Any, *form: Any, **named: Any) -> None:
    out_matrix("values", values, *FLOAT32_OR_64)
    _form(*form, **named)


def _of_products(products: Any, A: Any, B: Any, a: Any, b: Any, *form: Any) -> None:
    out_matrix("products", products, *FLOAT32_OR_64)
    _rows_of_vectors(products, A, B)
    for name, norms in (("a", a), ("b", b)):
        array(name, norms, 1, products.dtype)
    require(products.shape == (len(a), len(b)), "one entry of a for each row of products, one of b for each column")
    _form(*form)


def _of_sums(out: Any, A: Any, B: Any, terms: Any, *form: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _rows_of_vectors(out, A, B)
    require(terms in SUMS, f"unknown sum {terms!r}")
    _form(*form)


def _rows_of_vectors(out: Array, A: Any, B: Any) -> None:
    array("A", A, 2, out.dtype)
    array("B", B, 2, out.dtype)
    require(out.shape == (len(A), len(B)), "one row of A and of B for each row and column of out")
    require(A.shape[1] == B.shape[1], "A and B need the same number of columns")


def _sparse_products(out: Any, A: CSR, Bt: CSR) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    array("indptr", Bt[2], 1, INT32, INT64)
    require(len(Bt[2]), "indptr needs one entry more than there are rows")
    _sparse(A, out.shape[0], len(Bt[2]) - 1, out.dtype)
    _sparse(Bt, len(Bt[2]) - 1, out.shape[1], out.dtype)
    require(np.isfinite(A[0]).all() and np.isfinite(Bt[0]).all(), "entries must be finite")


def _sparse_dense_products(out: Any, A: CSR, Bt: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    array("Bt", Bt, 2, out.dtype)
    require(Bt.shape[1] == out.shape[1], "Bt needs one column for each column of out")
    _sparse(A, out.shape[0], len(Bt), out.dtype)


def _of_sparse_sums(out: Any, A: CSR, B: CSR, Bt: CSR, terms: Any, *form: Any) -> None:
    _sparse_products(out, A, Bt)
    _sparse(B, out.shape[1], len(Bt[2]) - 1, out.dtype)
    require(len(B[0]) == len(Bt[0]), "Bt must be B transposed")
    require(increasing(A[1], A[2]) and increasing(B[1], B[2]), "the indices of each row must increase")
    require(terms in SUMS, f"unknown sum {terms!r}")
    _form(*form)


def _sparse(M: CSR, rows: int, columns: int, dtype: Any) -> None:
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


# Matrices and solvers.


def _mirror(out: Any, values: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    view("values", values, out.dtype)
    require(out.shape == values.shape[::-1], "one row of out for each column of values")


def _hadamard(values: Any, signs: Any, size: Any) -> None:
    out_matrix("values", values, *FLOAT32_OR_64)
    array("signs", signs, 2, values.dtype)
    columns = values.shape[1]
    whole("size", size, 0)
    require(
        size > 0 and size & (size - 1) == 0 and columns % size == 0,
        "size must be a power of two that divides the columns",
    )
    require(signs.shape[1] == columns, "signs need one entry per column")


def _cos_sin(turns: Any, sines: Any, scale: float = 1.0) -> None:
    out_matrix("turns", turns, *FLOAT32_OR_64)
    out_matrix("sines", sines, turns.dtype)
    number("scale", scale)
    require(sines.shape == turns.shape, "one place for the sine of each angle")


def _worst_triple(K: Any) -> None:
    array("K", K, 2, FLOAT64)
    require(len(K) >= 3 and is_square(K), f"K must be square with at least 3 rows, got shape {K.shape}")
    require(np.isfinite(K).all(), "the entries of K must be finite")


def _smo(K: Any, u: Any, beta: Any, low: Any, high: Any, tolerance: float, most_steps: Any, keep_sum: bool) -> None:
    array("K", K, 2, *FLOAT32_OR_64)
    require(is_square(K), "K must be square")
    for name, values in (("u", u), ("beta", beta)):
        out_row(name, values, FLOAT64)
    for name, values in (("low", low), ("high", high)):
        array(name, values, 1, FLOAT64)
    require(len(K) == len(u) == len(beta) == len(low) == len(high), "u, beta, low and high need one entry per variable")
    number("tolerance", tolerance)
    whole("most_steps", most_steps, 0, 2**62)


def _perceptron_pass(K: Any, y: Any, scores: Any, threshold: float = 0.0, strict: bool = False) -> None:
    array("K", K, 2, *FLOAT32_OR_64)
    array("y", y, 1, FLOAT64)
    out_row("scores", scores, FLOAT64)
    require(is_square(K), "K must be square")
    require(len(K) == len(y) == len(scores), "y and scores need one entry per example")
    number("threshold", threshold)
    require((np.abs(y) == 1).all(), "y must be 1 or -1")


def _add_rows(rows: Any, which: Any, weights: Any, out: Any) -> None:
    array("rows", rows, 2, *FLOAT32_OR_64)
    array("which", which, 1, INT64)
    array("weights", weights, 1, FLOAT64)
    out_row("out", out, FLOAT64)
    require(len(weights) == len(which) and len(out) == rows.shape[1], "one weight per row, one entry per column")
    inside(which, len(rows), "no such row")


def _pick(rows: Any, which: Any, columns: Any, out: Any) -> None:
    array("rows", rows, 2, *FLOAT32_OR_64)
    array("which", which, 1, INT64)
    array("columns", columns, 1, INT64)
    out_matrix("out", out, rows.dtype)
    require(out.shape == (len(which), len(columns)), "one row and one column for each of out")
    inside(which, len(rows), "no such row")
    inside(columns, rows.shape[1], "no such column")


def _swap_medoids(far: Any, medoids: Any, start: Any, most: Any, failed: Any) -> None:
    array("far", far, 2, *FLOAT32_OR_64)
    out_row("medoids", medoids, INT64)
    require(is_square(far), "far must be square")
    require(len(medoids) >= 2, "at least two medoids are needed")
    inside(medoids, len(far), "no such object")
    require(len(np.unique(medoids)) == len(medoids), "the medoids must differ")
    require(len(medoids) < 2**31, "too many medoids")
    for name, value in (("start", start), ("most", most), ("failed", failed)):
        whole(name, value, 0, 2**62)
    require(np.isfinite(far[medoids]).all(), "distances must be finite")


# Sets and tables.


def _bit_rows(out: Array, A: Any, B: Any) -> None:
    array("A", A, 2, UINT64)
    array("B", B, 2, UINT64)
    require(out.shape == (len(A), len(B)), "one row of A and of B for each row and column of out")
    require(A.shape[1] == B.shape[1], "A and B need the same number of columns")


def _common_bits(out: Any, A: Any, B: Any) -> None:
    out_matrix("out", out, INT32, INT64, FLOAT64)
    _bit_rows(out, A, B)


def _count_bits(A: Any) -> None:
    array("A", A, 2, UINT64)


def _shared_bits(out: Any, A: Any, B: Any, a: Any, b: Any, value: Any) -> None:
    _of_shared(out, a, b, value)
    _bit_rows(out, A, B)


def _of_shared(out: Any, a: Any, b: Any, value: Any) -> None:
    out_matrix("out", out, FLOAT64)
    array("a", a, 1, FLOAT64)
    array("b", b, 1, FLOAT64)
    require(out.shape == (len(a), len(b)), "one size for each row and column of out")
    require(value in VALUES, f"unknown value {value!r}")


def _candidates(A: Any, a: Any, spare_a: Any, B: Any, b: Any, spare_b: Any, floors: Any, bound: Any) -> None:
    array("A", A, 2, UINT64)
    array("B", B, 2, UINT64)
    require(A.shape[1] == B.shape[1], "A and B need the same number of columns")
    for name, given, rows in (("a", a, A), ("spare_a", spare_a, A), ("floors", floors, A)):
        array(name, given, 1, FLOAT64)
        require(len(given) == len(rows), f"one of {name} for each row of A")
    for name, given in (("b", b), ("spare_b", spare_b)):
        array(name, given, 1, FLOAT64)
        require(len(given) == len(B), f"one of {name} for each row of B")
    require(bound in BOUNDS, f"unknown bound {bound!r}")


def _outside_ranges(out: Any, A: Any, low: Any, high: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    for name, given in (("A", A), ("low", low), ("high", high)):
        array(name, given, 2, out.dtype)
    require(low.shape == high.shape, "low and high need the same shape")
    require(A.shape[1] == low.shape[1], "A and the ranges need the same number of columns")
    require(out.shape == (len(A), len(low)), "one row of out for each row of A, one column for each range")


def _gower(out: Any, A: tuple[Any, Any], B: tuple[Any, Any]) -> None:
    out_matrix("out", out, FLOAT64)
    for name, (numbers, keys), rows in (("A", A, out.shape[0]), ("B", B, out.shape[1])):
        array(f"numbers of {name}", numbers, 2, FLOAT64)
        array(f"keys of {name}", keys, 2, INT64)
        of = "row" if name == "A" else "column"
        require(len(numbers) == len(keys) == rows, f"one row of numbers and keys of {name} for each {of} of out")
    alike = A[0].shape[1] == B[0].shape[1] and A[1].shape[1] == B[1].shape[1]
    require(alike, "A and B need the same number of columns")


OF_NUMBERS: dict[str, Callable[..., None]] = {
    "add_rows": _add_rows,
    "apply": _apply,
    "candidates": _candidates,
    "common_bits": _common_bits,
    "cos_sin": _cos_sin,
    "count_bits": _count_bits,
    "gower": _gower,
    "hadamard": _hadamard,
    "mirror": _mirror,
    "of_products": _of_products,
    "of_shared": _of_shared,
    "of_sparse_sums": _of_sparse_sums,
    "of_sums": _of_sums,
    "outside_ranges": _outside_ranges,
    "perceptron_pass": _perceptron_pass,
    "pick": _pick,
    "shared_bits": _shared_bits,
    "smo": _smo,
    "sparse_dense_products": _sparse_dense_products,
    "sparse_products": _sparse_products,
    "swap_medoids": _swap_medoids,
    "worst_triple": _worst_triple,
}
