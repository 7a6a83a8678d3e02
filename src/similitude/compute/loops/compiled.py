"""The compiled loops, with the signatures of the reference loops."""

from typing import Any

import numpy as np

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops import reference
from similitude.compute.loops.arguments import (
    BOUNDS,
    CSR,
    SHAPES,
    SUMS,
    VALUES,
    Array,
    BagArrays,
    Keyed,
    LabeledGraphs,
    Loop,
    Patterns,
    Structure,
    TermArrays,
    checked,
)
from similitude.compute.loops.elastic_channels import ERP, MSM, SOFT_DTW, TWE, erp_channels, msm_channels, twe_channels
from similitude.compute.loops.reference import __all__ as __all__


def twin(loop: Loop) -> Loop:
    """Put the domain of its reference in front of a compiled loop."""
    return checked(getattr(reference, loop.__name__).domain)(loop)


# Vectors.


@twin
def apply(values: Any, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """See `reference.vectors.apply`."""
    _compiled.apply(values, *_form(shape, p, q, degree))


@twin
def of_products(products: Any, A: Any, B: Any, a: Any, b: Any, *form: Any) -> None:
    """See `reference.vectors.of_products`."""
    _compiled.of_products(products, A, B, a, b, *_form(*form))


@twin
def of_sums(out: Any, A: Any, B: Any, terms: str, *form: Any) -> None:
    """See `reference.vectors.of_sums`."""
    _compiled.of_sums(out, A, B, SUMS.index(terms), *_form(*form))


def _form(shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1) -> tuple[int, float, float, int]:
    return SHAPES.index(shape), p, q, degree


@twin
def sparse_products(out: Any, A: CSR, Bt: CSR) -> None:
    """See `reference.vectors.sparse_products`."""
    _compiled.sparse_products(out, *_csr(A), *_csr(Bt))


@twin
def sparse_dense_products(out: Any, A: CSR, Bt: Any) -> None:
    """See `reference.vectors.sparse_dense_products`."""
    _compiled.sparse_dense_products(out, *_csr(A), Bt)


@twin
def of_sparse_sums(out: Any, A: CSR, B: CSR, Bt: CSR, terms: str, *form: Any) -> None:
    """See `reference.vectors.of_sparse_sums`."""
    _compiled.of_sparse_sums(out, *_csr(A), *_csr(B), *_csr(Bt), SUMS.index(terms), *_form(*form))


def _csr(M: CSR) -> CSR:
    """Return the arrays of a sparse matrix with the index types that the loops take."""
    data, indices, starts = M
    return data, np.ascontiguousarray(indices, np.int32), np.ascontiguousarray(starts, np.int64)


# Matrices and solvers.

mirror = twin(_compiled.mirror)
worst_triple = twin(_compiled.worst_triple)
hadamard = twin(_compiled.hadamard)
smo = twin(_compiled.smo)
add_rows = twin(_compiled.add_rows)
pick = twin(_compiled.pick)
swap_medoids = twin(_compiled.swap_medoids)


@twin
def cos_sin(turns: Any, sines: Any, scale: float = 1.0) -> None:
    """See `reference.matrices.cos_sin`."""
    _compiled.cos_sin(turns, sines, scale)


@twin
def perceptron_pass(K: Any, y: Any, scores: Any, threshold: float = 0.0, strict: bool = False) -> Array:
    """See `reference.solvers.perceptron_pass`."""
    updated = np.empty(len(K), np.uint8)
    _compiled.perceptron_pass(K, y, scores, threshold, strict, updated)
    return updated.view(bool)


# Strings.

set_bits = twin(_compiled.set_bits)


@twin
def window_bags(text: Any, starts: Any, patterns: Patterns) -> BagArrays:
    """See `reference.bags.window_bags`."""
    codes, counts, places, ends = _compiled.windows(text, starts, *patterns)
    return BagArrays(codes, counts, places, ends, text, starts)


@twin
def neighbor_bags(text: Any, starts: Any, letters: int, length: int, most: int) -> BagArrays:
    """See `reference.bags.neighbor_bags`."""
    codes, counts, places, ends = _compiled.neighbors(text, starts, letters, length, most)
    return BagArrays(codes, counts, places, ends, text, starts)


@twin
def term_bags(text: Any, starts: Any, words: int, shortest: int = 1, longest: int = 0) -> TermArrays:
    """See `reference.bags.term_bags`."""
    return TermArrays(*_compiled.terms(text, starts, words, shortest, longest))


@twin
def term_keys(text: Any, starts: Any) -> Array:
    """See `reference.bags.term_keys`."""
    keys = np.empty(len(starts) - 1, np.uint64)
    _compiled.term_keys(text, starts, keys)
    return keys


@twin
def shared_features(A: BagArrays, B: BagArrays, patterns: Patterns) -> tuple[Array, Array, int]:
    """See `reference.bags.shared_features`."""
    a, b = np.empty(len(A.codes), np.int32), np.empty(len(B.codes), np.int32)
    bags = ((one.codes, one.places, one.starts, one.text, one.text_starts) for one in (A, B))
    return a, b, int(_compiled.shared(*next(bags), *next(bags), *patterns, a, b))


@twin
def levenshtein(
    out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, same: bool = False
) -> None:
    """See `reference.strings.levenshtein`."""
    alphabet = max(int(queries.max(initial=-1)), int(targets.max(initial=-1))) + 1
    order = _by_length(target_starts)
    _compiled.levenshtein(out, queries, query_starts, targets, target_starts, order, alphabet, same)


@twin
def levenshtein_pairs(
    out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, i: Any, j: Any
) -> None:
    """See `reference.strings.levenshtein_pairs`."""
    alphabet = max(int(queries.max(initial=-1)), int(targets.max(initial=-1))) + 1
    _compiled.levenshtein_pairs(out, queries, query_starts, targets, target_starts, i, j, alphabet)


@twin
def subsequences(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    p: int,
    decay: float,
    same: bool = False,
) -> None:
    """See `reference.strings.subsequences`."""
    order = _by_length(target_starts)
    _compiled.subsequences(out, queries, query_starts, targets, target_starts, order, p, decay, same)


@twin
def self_subsequences(text: Any, starts: Any, p: int, decay: float) -> Array:
    """See `reference.strings.self_subsequences`."""
    out = np.empty(len(starts) - 1)
    _compiled.self_subsequences(out, text, starts, _by_length(starts), p, decay)
    return out


@twin
def best_alignment(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    scores: Any,
    gap_open: float,
    gap_extend: float,
    local: bool = False,
    same: bool = False,
) -> None:
    """See `reference.strings.best_alignment`."""
    gaps = gap_open, gap_extend
    order = _by_length(target_starts)
    _compiled.best_alignment(out, queries, query_starts, targets, target_starts, order, scores, *gaps, local, same)


@twin
def sum_alignments(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    factors: Any,
    gap_open: float,
    gap_extend: float,
    same: bool = False,
) -> None:
    """See `reference.strings.sum_alignments`."""
    gaps = gap_open, gap_extend
    order = _by_length(target_starts)
    _compiled.sum_alignments(out, queries, query_starts, targets, target_starts, order, factors, *gaps, same)


@twin
def self_sum_alignments(text: Any, starts: Any, factors: Any, gap_open: float, gap_extend: float) -> Array:
    """See `reference.strings.self_sum_alignments`."""
    out = np.empty(len(starts) - 1)
    _compiled.self_sum_alignments(out, text, starts, _by_length(starts), factors, gap_open, gap_extend)
    return out


def _by_length(starts: Any) -> Array:
    """Return the order of rows by length."""
    return np.argsort(np.diff(starts), kind="stable").astype(np.int64, copy=False)


# Graphs and histograms.


@twin
def weisfeiler_lehman(graphs: Structure, labels: Any, edge_labels: Any, iterations: int) -> Keyed:
    """See `reference.graphs.weisfeiler_lehman`."""
    return _compiled.weisfeiler_lehman(*graphs, labels, edge_labels, iterations)


@twin
def shortest_paths(graphs: Structure, labels: Any) -> Keyed:
    """See `reference.graphs.shortest_paths`."""
    return _compiled.shortest_paths(*graphs, labels)


@twin
def graphlets(graphs: Structure, p: int, of_code: Any, contains: Any) -> Array:
    """See `reference.graphs.graphlets`."""
    out = np.empty((len(graphs[0]) - 1, len(contains)))
    _compiled.graphlets(*graphs, of_code, contains, p, out)
    return out


@twin
def keyed_products(out: Any, A: Keyed, B: Keyed) -> None:
    """See `reference.graphs.keyed_products`."""
    _compiled.keyed_products(out, *A, *B)


@twin
def labeled_walks(out: Any, A: LabeledGraphs, B: LabeledGraphs, decay: float) -> None:
    """See `reference.graphs.labeled_walks`."""
    _compiled.labeled_walks(out, *A, *B, decay)


# Series.


@twin
def dtw(out: Any, A: Any, a: Any, B: Any, b: Any, window: float | None = None, half: bool = False) -> None:
    """See `reference.series.dtw`."""
    _compiled.dtw(out, A, a, B, b, _by_length(b), *_band(A, B, window), half)


@twin
def dtw_pairs(
    out: Any, A: Any, a: Any, B: Any, b: Any, i: Any, j: Any, limits: Any, window: float | None = None
) -> None:
    """See `reference.series.dtw_pairs`."""
    order = np.lexsort((np.diff(b)[j], i))  # neighbors share a query, and waste no lanes
    found = np.empty_like(out)
    _compiled.dtw_pairs(found, A, a, B, b, i[order], j[order], limits[order], *_band(A, B, window))
    out[order] = found


outside_ranges = twin(_compiled.outside_ranges)


def _band(A: Array, B: Array, window: float | None) -> tuple[int, float]:
    """Return the radius and the fraction of a window; negative numbers stand for no limit."""
    if isinstance(window, (int, np.integer)):
        return min(int(window), len(A) + len(B)), -1.0  # no path is longer
    return -1, -1.0 if window is None else float(window)


@twin
def msm(out: Any, A: Any, a: Any, B: Any, b: Any, cost: float, window: float | None = None, half: bool = False) -> None:
    """See `reference.elastic.msm`."""
    order, band = _by_length(b), _band(A, B, window)
    total = np.zeros(out.shape, out.dtype)
    for c in range(A.shape[1]):
        one, other = (msm_channels(x[:, c], starts) for x, starts in ((A, a), (B, b)))
        _compiled.elastic(out, one, a, other, b, order, MSM, cost, 0.0, *band, half)
        total += out
    out[...] = total


@twin
def erp(out: Any, A: Any, a: Any, B: Any, b: Any, gap: float, window: float | None = None, half: bool = False) -> None:
    """See `reference.elastic.erp`."""
    one, other, band = erp_channels(A, a, gap), erp_channels(B, b, gap), _band(A, B, window)
    _compiled.elastic(out, one, a, other, b, _by_length(b), ERP, A.shape[1], 0.0, *band, half)


@twin
def twe(
    out: Any,
    A: Any,
    a: Any,
    B: Any,
    b: Any,
    stiffness: float,
    penalty: float,
    window: float | None = None,
    half: bool = False,
) -> None:
    """See `reference.elastic.twe`."""
    one, other = (twe_channels(X, starts, stiffness, penalty) for X, starts in ((A, a), (B, b)))
    band = _band(A, B, window)
    _compiled.elastic(out, one, a, other, b, _by_length(b), TWE, A.shape[1], 2.0 * stiffness, *band, half)


@twin
def soft_dtw(
    out: Any, A: Any, a: Any, B: Any, b: Any, gamma: float, window: float | None = None, half: bool = False
) -> None:
    """See `reference.elastic.soft_dtw`."""
    _compiled.elastic(out, A, a, B, b, _by_length(b), SOFT_DTW, gamma, 0.0, *_band(A, B, window), half)
    out[out > np.finfo(out.dtype).max / 8] = np.inf  # of an empty series


@twin
def global_alignment(out: Any, A: Any, a: Any, B: Any, b: Any, scale: float, half: bool = False) -> None:
    """See `reference.series.global_alignment`."""
    _compiled.global_alignment(out, A, a, B, b, _by_length(b), scale, half)


@twin
def self_alignment(A: Any, a: Any, scale: float) -> Array:
    """See `reference.series.self_alignment`."""
    out = np.empty(len(a) - 1)
    _compiled.self_alignment(out, A, a, _by_length(a), scale)
    return out


convolutions = twin(_compiled.convolutions)


@twin
def signatures(out: Any, A: Any, a: Any, level: int) -> None:
    """See `reference.series.signatures`."""
    _compiled.signatures(out, A, a, _by_length(a), level)


# Sets and tables.

common_bits = twin(_compiled.common_bits)


@twin
def count_bits(A: Any) -> Array:
    """See `reference.sets.count_bits`."""
    counts = np.empty(len(A), np.int64)
    _compiled.count_bits(A, counts)
    return counts


@twin
def shared_bits(out: Any, A: Any, B: Any, a: Any, b: Any, value: str) -> None:
    """See `reference.sets.shared_bits`."""
    _compiled.shared_bits(out, A, B, a, b, VALUES.index(value))


@twin
def of_shared(out: Any, a: Any, b: Any, value: str) -> None:
    """See `reference.sets.of_shared`."""
    _compiled.of_shared(out, a, b, VALUES.index(value))


@twin
def candidates(
    A: Any, a: Any, spare_a: Any, B: Any, b: Any, spare_b: Any, floors: Any, bound: str
) -> tuple[Array, Array, Array]:
    """See `reference.sets.candidates`."""
    i, j, values = _compiled.candidates(A, a, spare_a, B, b, spare_b, floors, BOUNDS.index(bound))
    order = np.lexsort((j, i))
    return i[order], j[order], values[order]


@twin
def gower(out: Any, A: Any, B: Any) -> None:
    """See `reference.tables.gower`."""
    _compiled.gower(out, *A, *B)
