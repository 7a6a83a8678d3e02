"""Dot products and distances between the rows of two matrices, similarities that are functions of them, and medians."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from similitude.compute import Encoding, Profile, as_matrix, as_numpy, count, is_sparse, loops, namespace, rows
from similitude.similarity import Similarity
from similitude.support import check_positive, generator

Form = tuple[Any, ...] | Callable[[Any], Any]
"""A function of a dot product or a distance: its name and parameters, as the loops know it, or a Python function."""

IDENTITY = ("identity",)
ROOT = ("root",)


def apply_form(form: Form, values: Any) -> Any:
    """Return a function of an array, which may be overwritten."""
    if not isinstance(form, tuple):
        return form(values)
    if not isinstance(values, np.ndarray):
        return loops.formula(namespace(values), values, *form)
    loops.apply(values, *form)
    return values


class VectorSimilarity(Similarity):
    """A function of one number per pair: of the sum of products, differences or smaller values that `sums` names."""

    objects = "vectors"
    sums: str = "product"
    stated_for = (*Similarity.stated_for, "form", "sums")

    def form(self) -> Form:
        """Return the function of the sum, by default the identity."""
        return IDENTITY

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors as the rows of one float matrix; sparse vectors stay sparse."""
        return as_matrix(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the function of the sums."""
        return pairwise(A, B, self.sums, self.form(), out)

    def diagonal(self, A: Encoding) -> Any:
        """Return the function of the squared norms, which are the dot products of vectors with themselves."""
        return apply_form(self.form(), squared_norms(A)[:, None])[:, 0]


class ExplicitFeatures(Similarity):
    """The dot product of explicit features, a dense row for each object."""

    @abstractmethod
    def features(self, X: Any, like: Any = None) -> np.ndarray:
        """Return the features of every object, whatever is in `like`."""

    def encode(self, objects: Any) -> Encoding:
        """Return the features."""
        return self.features(objects)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the dot products of features."""
        return inner(A, B)

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared lengths of features."""
        return squared_norms(A)


def takes_vectors(k: Any) -> bool:
    """Whether k is a similarity of vectors, or of anything."""
    return isinstance(k, Similarity) and k.objects in ("vectors", "any")


def vector_profile(k: Any) -> Profile | None:
    """Return the profile of a `VectorSimilarity`, or None if the loops do not know its function."""
    form = k.form()
    return Profile.of(k.sums, form) if isinstance(form, tuple) else None


def pairwise(A: Any, B: Any, sums: str, form: Form, out: Any = None) -> Any:
    """Return a function of one number per pair of rows: of their dot product, or of another sum over features.

    Vectors are centered before a matrix product, so that data far from the origin lose no precision, and pairs so close
    that the product loses digits are computed again entry by entry.
    """
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"X has {A.shape[1]} columns and Z has {B.shape[1]}: both need the same dimension")
    if not isinstance(form, tuple):
        return into(out, form(pairwise(A, B, sums, IDENTITY)))
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        if not (is_sparse(A) or is_sparse(B)):
            return into(out, apply_form(form, _of_tensors(A, B, sums)))
        if sums == "product":
            products = sparse_inner(A, B, out)
            return products if form is IDENTITY else apply_form(form, products)
        A, B, out = _ready_sparse(A, B, out)  # not centered, because that would fill the rows
        if sums != "smaller":
            _refuse_overflow(A, sums)
            _refuse_overflow(B, sums)
        loops.of_sparse_sums(out, csr(A), csr(B), csr(B.T.tocsr()), sums, *form)
        return out
    # Dimension up to which vectors are compared entry by entry rather than through a matrix product
    if sums == "product" or (sums == "squared_difference" and A.shape[1] > 32):
        return _by_matrix_product(A, B, sums, form, out)
    if sums == "squared_difference":
        _finite_norms(A, B)
    A, B, out = _ready(A, B, out)
    loops.of_sums(out, A, B, sums, *form)
    return out


def inner(A: Any, B: Any) -> Any:
    """Return the dot products <a_i, b_j>; sparse rows stay sparse."""
    if is_sparse(A) or is_sparse(B):
        return sparse_inner(A, B)
    A, B = _in_common_precision(A, B)
    return A @ B.T


def euclidean(A: Any, B: Any) -> Any:
    """Return the distances |a_i - b_j|."""
    return pairwise(A, B, "squared_difference", ROOT)


def squared_norms(A: Any) -> Any:
    """Return |a_i|^2."""
    if isinstance(A, np.ndarray):
        return np.einsum("ij,ij->i", A, A)
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel().astype(A.dtype, copy=False)
    return (A * A).sum(1)


def unit_rows(A: Any) -> Any:
    """Return the rows scaled to length 1, zero rows unchanged; very long and very short rows do not overflow."""
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


def into(out: Any, values: Any) -> Any:
    """Return values, copied into `out` if that is given."""
    if out is None:
        return values
    out[...] = values
    return out


def _by_matrix_product(A: np.ndarray, B: np.ndarray, sums: str, form: tuple[Any, ...], out: Any) -> np.ndarray:
    """Return a function of dot products or of squared distances, from a matrix product."""
    distances = sums != "product"
    if distances:
        A, B = _centered(A, B)
    A, B, out = _ready(A, B, out)
    if distances:
        a, b = _finite_norms(A, B)
    # One tile of a Gram matrix, which is then symmetric. With fewer rows the product would rearrange columns more often
    # than a cache that holds the tile saves.
    height, width = (len(A) or 1, len(B) or 1) if A is B else (2048, 4096)
    for i, j in product(range(0, len(A), height), range(0, len(B), width)):
        down = slice(i, i + height)
        right = slice(j, j + width)
        tile = out[down, right]
        with np.errstate(invalid="ignore"):  # OpenBLAS sometimes reports an invalid value for a single float32 row
            np.matmul(A[down], B[right].T, out=tile)
        if distances:
            loops.of_products(tile, A[down], B[right], a[down], b[right], *form)
        elif form is not IDENTITY:
            loops.apply(tile, *form)
    return out


def _ready(A: np.ndarray, B: np.ndarray, out: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dtype = np.result_type(A, B)
    same = A is B
    A = np.require(A, dtype, ["C", "A"])
    B = A if same else np.require(B, dtype, ["C", "A"])
    return A, B, np.empty((len(A), len(B)), dtype) if out is None else out


def _centered(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both matrices relative to the mean of rows of B, if that is far enough from the origin to matter."""
    # about 256 rows: any point near the vectors will do as the origin of distances
    some = B[:: max(1, len(B) // 256)]
    center = some.mean(0)
    if float((center * center).sum()) <= 0.5 * float(squared_norms(some).mean()):
        return A, B
    left = A - center
    return left, (left if A is B else B - center)


def _finite_norms(A: Any, B: Any) -> tuple[Any, Any]:
    """Return |a_i|^2 and |b_j|^2; refuse vectors whose squares overflow, which leaves their distances undefined."""
    with np.errstate(over="ignore"):
        a = squared_norms(A)
        b = a if B is A else squared_norms(B)
    if any(len(norms) and not math.isfinite(norms.max()) for norms in (a, b)):
        raise ValueError("the vectors are too long: their squares overflow, so scale them first")
    return a, b


def _of_tensors(A: Any, B: Any, sums: str) -> Any:
    if sums == "product":
        return inner(A, B)
    xp = namespace(A)
    if sums != "squared_difference":
        term = xp.minimum if sums == "smaller" else (lambda a, b: abs(a - b))
        total = xp.zeros_like(A[:, 0][:, None] * B[:, 0][None, :])
        for k in range(A.shape[1]):
            total += term(A[:, k][:, None], B[:, k][None, :])
        return total
    A, B = _centered(*_in_common_precision(A, B))
    a, b = _finite_norms(A, B)
    both = a[:, None] + b[None, :]
    D = both - 2.0 * inner(A, B)
    i, j = xp.nonzero(64 * float(xp.finfo(D.dtype).eps) ** 0.5 * both > D)
    step = max(1, 2**20 // max(1, A.shape[1]))
    for start in range(0, i.shape[0], step):
        left = i[start : start + step]
        right = j[start : start + step]
        D[left, right] = squared_norms(A[left] - B[right])
    return D


def _in_common_precision(A: Any, B: Any) -> tuple[Any, Any]:
    """Return two tensors in the same precision; NumPy converts by itself."""
    if A.dtype == B.dtype or isinstance(A, np.ndarray):
        return A, B
    xp = namespace(A)
    dtype = xp.result_type(A, B)
    return xp.astype(A, dtype), xp.astype(B, dtype)


# The median heuristic: a scale at which typical pairs are neither very similar nor very dissimilar.


def check_scale(name: str, value: Any) -> None:
    """Validate a scale: a positive number, or "median"."""
    if isinstance(value, str) and value == "median":
        return
    if not 1e-150 <= check_positive(name, value, otherwise="'median'") <= 1e150:
        raise ValueError(f"{name} = {value!r} is too small or too large to compute with")


def median_distance(
    A: Any,
    distances: Callable[[Any, Any], Any] = euclidean,
    random_state: Any = None,
    sample_weight: Any = None,
    sample: int = 1000,
) -> float:
    """Return the median distance between two different rows of A, or of a sample; a weight counts as repetition."""
    weight = checked_weights(sample_weight, count(A))
    A, weight = drawn(A, weight, sample, random_state, "median distance from a sample of %d of %d rows")
    if len(weight) > sample:
        A = rows(A, np.flatnonzero(weight))
        weight = weight[weight > 0]
    upper = np.triu_indices(len(weight), k=1)
    values = as_numpy(distances(A, A)).astype(float)[upper]
    copies = np.maximum(weight * (weight - 1) / 2, 0.0)
    return weighted_median(np.append(values, 0.0), np.append(weight[upper[0]] * weight[upper[1]], copies.sum()))


def drawn(A: Any, weight: np.ndarray, most: int, random_state: Any, message: str) -> tuple[Any, np.ndarray]:
    """Return encoded objects and their weights; of more with positive weight than `most`, a sample drawn by weight."""
    if np.count_nonzero(weight) <= most:
        return A, weight
    logging.getLogger("similitude").info(message, most, len(weight))
    chosen = generator(random_state).choice(len(weight), most, replace=False, p=weight / weight.sum())
    return rows(A, np.sort(chosen)), np.ones(most)


def repeated(sample_weight: Any, lengths: np.ndarray) -> Any:
    """Return the weight of each entry of rows with these lengths, if there are weights."""
    return None if sample_weight is None else np.repeat(np.asarray(sample_weight), lengths)


def checked_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return the weights of n objects as an array, ones by default; refuse others than numbers >= 0, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError):
        weight = np.full(n, np.nan)
    if weight.shape != (n,) or not np.isfinite(weight).all() or weight.min() < 0 or weight.sum() == 0:
        raise ValueError(f"sample_weight must be {n} numbers >= 0, one per object and not all zero")
    return weight


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted median of numbers >= 0; the mean of the positive ones if it is 0, 1 if all are."""
    values = values[weight > 0]
    weight = weight[weight > 0]
    if not values.any():
        return 1.0
    if (weight == weight[0]).all():
        median = np.median(values)
    else:
        order = np.argsort(values, kind="stable")
        values = values[order]
        reached = np.cumsum(weight[order])
        half = reached[-1] / 2
        lower = np.searchsorted(reached, half, side="left")
        upper = np.searchsorted(reached, half, side="right")
        median = (values[lower] + values[upper]) / 2
    if not np.isfinite(median):
        raise ValueError("the vectors are too far apart: their distances overflow, so scale them first")
    return float(median if median > 0 else values[values > 0].mean())


MANY_COLUMNS = 2**16
"""Number of columns up to which empty columns cost nothing worth saving."""


def sparse_inner(A: Any, B: Any, out: Any = None) -> np.ndarray:
    """Return the dot products <a_i, b_j>, where A, B or both are sparse."""
    if not is_sparse(A):
        return into(out, np.ascontiguousarray(sparse_inner(B, A).T))
    if is_sparse(B):
        A, B, out = _ready_sparse(A, B, out)
        loops.sparse_products(out, csr(A), csr(B.T.tocsr()))
        return out
    dtype = np.result_type(A.dtype, B.dtype)
    if out is None:
        out = np.empty((A.shape[0], len(B)), dtype)
    loops.sparse_dense_products(out, csr(A.astype(dtype, copy=False)), np.ascontiguousarray(B.T, dtype))
    return out


def _refuse_overflow(A: Any, sums: str) -> None:
    """Refuse rows whose sums overflow, because their distances would not be numbers."""
    limit = float(np.finfo(A.dtype).max) / 4
    with np.errstate(over="ignore"):
        if np.einsum("i,i->", A.data, A.data) < limit:
            return
        sizes = np.abs(A.astype(np.float64))
        if sums == "squared_difference":
            sizes = sizes.multiply(sizes)
        totals = sizes.sum(axis=1)
    if not (totals < limit).all():
        raise ValueError("the vectors are too long: their sums overflow, so scale them first")


def _ready_sparse(A: Any, B: Any, out: Any) -> tuple[Any, Any, np.ndarray]:
    """Return both as CSR in one precision, without the columns that do not occur if there are many, and the output."""
    from scipy.sparse import csr_array

    dtype = np.result_type(A.dtype, B.dtype)
    same = A is B
    A, B = (M if is_sparse(M) and M.format == "csr" and M.dtype == dtype else csr_array(M, dtype=dtype) for M in (A, B))
    if A.shape[1] > MANY_COLUMNS + 4 * (A.nnz + B.nnz):
        columns = np.unique(np.concatenate([A.indices, B.indices]))
        A, B = (
            csr_array((M.data, np.searchsorted(columns, M.indices), M.indptr), shape=(M.shape[0], len(columns)))
            for M in (A, B)
        )
    if out is None:
        out = np.empty((A.shape[0], B.shape[0]), dtype)
    return A, (A if same else B), out


def csr(A: Any) -> loops.CSR:
    """Return the arrays of a CSR matrix, as the loops take them."""
    return A.data, A.indices, A.indptr
