"""The domains of loops over strings, graphs, histograms and series."""

from collections.abc import Callable
from math import comb
from numbers import Integral, Real
from typing import Any

import numpy as np

from similitude.compute.loops.argument_types import Array, BagArrays, Keyed, LabeledGraphs, Patterns, Structure
from similitude.compute.loops.domains.requirements import (
    FLOAT32_OR_64,
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    UINT64,
    array,
    increasing,
    inside,
    is_square,
    number,
    out_matrix,
    out_row,
    require,
    same_values,
    starts_to,
    whole,
)

MOST_REFINEMENTS = 10_000
"""The largest number of refinements of labels: all of them are held at once."""

MOST_NEIGHBORS = 100_000
"""The largest number of words near a window; each is a feature."""

LONGEST_SUBSEQUENCE = 1_000
"""The largest number of letters of subsequences: the sums for all shorter ones are held at once."""

SIZES_OF_FACTORS = 1e-100, 1e100
"""The range of the factors of alignments that are summed."""

DIGEST_BIT = np.uint64(63)


# Strings.


def _strings(text: Any, starts: Any) -> None:
    array("text", text, 1, UINT32)
    starts_to(starts, len(text))


def _patterns(patterns: Patterns) -> None:
    positions, starts, spans = patterns
    array("positions", positions, 1, INT64)
    array("spans", spans, 1, INT64)
    starts_to(starts, len(positions))
    require(len(starts) == len(spans) + 1, "one span for each pattern")
    inside(spans, 2**32, "spans must be from 0 to 2^32 - 1")
    fits = (positions >= 0) & (positions < np.repeat(spans, np.diff(starts)))
    require(fits.all(), "positions must lie in the span")


def _window_bags(text: Any, starts: Any, patterns: Patterns) -> None:
    _strings(text, starts)
    _patterns(patterns)


def _neighbor_bags(text: Any, starts: Any, letters: Any, length: Any, most: Any) -> None:
    _strings(text, starts)
    whole("letters", letters, 0, 2**32)
    whole("length", length, 1, 62)  # with two letters or more, the codes of longer words have more than 63 bits
    whole("most", most, 0, 62)
    require(int(letters) ** int(length) < 2**63, "there must be fewer than 2^63 words")
    near = words_near(int(letters), int(length), int(most))
    require(near <= MOST_NEIGHBORS, f"{near:,} words are near each window, the limit is {MOST_NEIGHBORS:,}")


def _term_keys(text: Any, starts: Any) -> None:
    _strings(text, starts)
    inside(text, 0x110000, "letters must be code points")


def _term_bags(text: Any, starts: Any, words: Any, shortest: Any = 1, longest: Any = 0) -> None:
    _term_keys(text, starts)
    require(len(text) < 2**31, "too many letters in one block")
    for name, size, least in (("words", words, 0), ("shortest", shortest, 1), ("longest", longest, 0)):
        whole(name, size, least, 2**31 - 1)


def words_near(letters: int, length: int, most: int) -> int:
    """Return the number of words that differ from one of this length at no more than `most` positions.

    >>> words_near(letters=4, length=5, most=1)
    16
    """
    places = range(min(most, length) + 1)
    return sum(comb(length, j) * (letters - 1) ** j for j in places) if letters > 1 else 1


def _shared_features(A: BagArrays, B: BagArrays, patterns: Patterns) -> None:
    _patterns(patterns)
    for bags in (A, B):
        array("codes", bags.codes, 1, UINT64)
        array("places", bags.places, 1, INT64)
        starts_to(bags.starts, len(bags.codes))
        digests = np.flatnonzero(bags.codes >> DIGEST_BIT)
        if len(digests):
            _windows(bags, digests, patterns)
    require(len(B.codes) < 2**31, "too many features in one block")


def _windows(bags: BagArrays, digests: Array, patterns: Patterns) -> None:
    """Require that the window of each digest lies in its string."""
    _strings(bags.text, bags.text_starts)
    number = len(patterns.spans)
    complete = number and len(bags.text_starts) == len(bags.starts) and len(bags.places) == len(bags.codes)
    require(complete, "digests need their windows")
    at, which = np.divmod(bags.places[digests], number)
    lengths = np.diff(bags.text_starts)[np.searchsorted(bags.starts, digests, side="right") - 1]
    require(((at >= 0) & (at <= lengths - patterns.spans[which])).all(), "a place lies outside its string")


def _set_bits(out: Any, numbers: Any, starts: Any) -> None:
    out_matrix("out", out, UINT64)
    array("numbers", numbers, 1, INT32)
    starts_to(starts, len(numbers))
    require(len(starts) == len(out) + 1, "one row of out for each bag")
    require(numbers.max(initial=-1) < 64 * out.shape[1], "a number has no bit in out")


def _levenshtein(
    out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, same: bool = False
) -> None:
    out_matrix("out", out, FLOAT64)
    _numbered_letters(queries, query_starts, targets, target_starts)
    require(out.shape == (len(query_starts) - 1, len(target_starts) - 1), "one row and column of out for each string")
    alike = not same or (same_values(query_starts, target_starts) and same_values(queries, targets))
    require(alike, "same needs queries and targets to be the same")


def _levenshtein_pairs(
    out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, i: Any, j: Any
) -> None:
    out_row("out", out, FLOAT64)
    _numbered_letters(queries, query_starts, targets, target_starts)
    for name, given, starts in (("i", i, query_starts), ("j", j, target_starts)):
        array(name, given, 1, INT64)
        inside(given, len(starts) - 1, f"{name} must number strings")
    require(len(out) == len(i) == len(j), "one entry of out, i and j for each pair")


def _numbered_letters(queries: Any, query_starts: Any, targets: Any, target_starts: Any) -> None:
    for text, starts in ((queries, query_starts), (targets, target_starts)):
        array("letters", text, 1, INT32)
        starts_to(starts, len(text))
    for text in (queries, targets):
        inside(text, len(queries) + len(targets) + 1, "letters must be numbered from 0 on, without large gaps")


def _pairs_of_strings(out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, same: bool) -> None:
    out_matrix("out", out, FLOAT64)
    _numbered(queries, query_starts)
    _numbered(targets, target_starts)
    require(out.shape == (len(query_starts) - 1, len(target_starts) - 1), "one row and column of out for each string")
    alike = not same or (same_values(query_starts, target_starts) and same_values(queries, targets))
    require(alike, "same needs queries and targets to be the same")


def _numbered(text: Any, starts: Any) -> None:
    array("letters", text, 1, INT32)
    starts_to(starts, len(text))
    require(text.min(initial=0) >= 0, "letters must be numbered from 0 on")


def _decay(p: Any, decay: Any) -> None:
    whole("p", p, 1, LONGEST_SUBSEQUENCE)
    number("decay", decay)
    require(0 < decay <= 1, f"decay must be above 0 and at most 1, got {decay}")


def _subsequences(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    p: Any,
    decay: Any,
    same: bool = False,
) -> None:
    _pairs_of_strings(out, queries, query_starts, targets, target_starts, same)
    _decay(p, decay)


def _self_subsequences(text: Any, starts: Any, p: Any, decay: Any) -> None:
    _numbered(text, starts)
    _decay(p, decay)


def _table_of_pairs(table: Any, *texts: Any) -> None:
    array("scores", table, 2, FLOAT64)
    require(is_square(table), "scores need a row and a column for each letter")
    for text in texts:
        inside(text, len(table), "a letter has no row in the table of scores")


def _best_alignment(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    scores: Any,
    gap_open: Any,
    gap_extend: Any,
    local: bool = False,
    same: bool = False,
) -> None:
    _pairs_of_strings(out, queries, query_starts, targets, target_starts, same)
    _table_of_pairs(scores, queries, targets)
    number("gap_open", gap_open)
    number("gap_extend", gap_extend)


def _sum_alignments(
    out: Any,
    queries: Any,
    query_starts: Any,
    targets: Any,
    target_starts: Any,
    factors: Any,
    gap_open: Any,
    gap_extend: Any,
    same: bool = False,
) -> None:
    _pairs_of_strings(out, queries, query_starts, targets, target_starts, same)
    _factors(factors, gap_open, gap_extend, queries, targets)


def _self_sum_alignments(text: Any, starts: Any, factors: Any, gap_open: Any, gap_extend: Any) -> None:
    _numbered(text, starts)
    _factors(factors, gap_open, gap_extend, text)


def _factors(factors: Any, gap_open: Any, gap_extend: Any, *texts: Any) -> None:
    _table_of_pairs(factors, *texts)
    number("gap_open", gap_open)
    number("gap_extend", gap_extend)
    low, high = SIZES_OF_FACTORS
    held = (factors >= low) & (factors <= high)
    require(held.all(), f"factors must be from {low:.0e} to {high:.0e}")
    require(all(low <= gap <= 1 for gap in (gap_open, gap_extend)), f"gaps must be from {low:.0e} to 1")


# Graphs and histograms.


def _graphs(graphs: Structure, labels: Any) -> None:
    node_starts, starts, neighbors = graphs
    array("neighbors", neighbors, 1, INT32)
    starts_to(starts, len(neighbors))
    starts_to(node_starts, len(starts) - 1)
    if labels is not None:
        array("labels", labels, 1, UINT64)
        require(len(labels) == len(starts) - 1, "one label per node")
    sizes = np.repeat(np.diff(node_starts), np.diff(starts[node_starts]))
    require(((neighbors >= 0) & (neighbors < sizes)).all(), "a neighbor is outside of its graph")
    require(increasing(neighbors, starts), "the neighbors of each node must increase")


def _weisfeiler_lehman(graphs: Structure, labels: Any, edge_labels: Any, iterations: Any) -> None:
    _graphs(graphs, labels)
    array("edge_labels", edge_labels, 1, UINT64)
    require(len(edge_labels) == len(graphs[2]), "one edge label per neighbor")
    whole("iterations", iterations, 0, MOST_REFINEMENTS)


def _shortest_paths(graphs: Structure, labels: Any) -> None:
    _graphs(graphs, labels)


def _graphlets(graphs: Structure, p: Any, of_code: Any, contains: Any) -> None:
    _graphs(graphs, None)
    whole("p", p, 2, 5)
    array("of_code", of_code, 1, INT32)
    array("contains", contains, 2, INT64)
    require(len(of_code) == 1 << (p * (p - 1) // 2), "one type per code")
    require(is_square(contains), "contains needs one row and one column per type")
    inside(of_code, len(contains), "there is no such type")


def _keyed_products(out: Any, A: Keyed, B: Keyed) -> None:
    out_matrix("out", out, FLOAT64)
    for (starts, keys, counts), rows in zip((A, B), out.shape, strict=True):
        array("keys", keys, 1, UINT64)
        array("counts", counts, 1, FLOAT64)
        starts_to(starts, len(keys))
        require(len(starts) == rows + 1, "starts needs one entry more than there are rows")
        require(len(counts) == len(keys), "one count per key")
    require(len(B[1]) < 2**31, "too many keys in one block")


def _labeled_walks(out: Any, A: LabeledGraphs, B: LabeledGraphs, decay: Any) -> None:
    out_matrix("out", out, FLOAT64)
    number("decay", decay)
    for graphs, rows in zip((A, B), out.shape, strict=True):
        node_starts, starts, neighbors, labels, edge_labels, radii = graphs
        _graphs((node_starts, starts, neighbors), labels)
        array("edge_labels", edge_labels, 1, UINT64)
        require(len(edge_labels) == len(neighbors), "one edge label per neighbor")
        array("radii", radii, 1, FLOAT64)
        require(len(radii) == len(node_starts) - 1 == rows, "one row or column of out and one radius for each graph")
        require((radii >= 0).all(), "radii must be at least 0")
    largest = [int(np.diff(graphs[0]).max(initial=0)) for graphs in (A, B)]
    require(largest[0] * largest[1] < 2**31, "two graphs have too many pairs of nodes")
    radius = float(A[5].max(initial=0.0)) * float(B[5].max(initial=0.0))
    require(decay >= 0 and decay * radius < 1, "decay times two radii must be below 1")


# Series.


def _series(values: Any, starts: Any, *types: Any) -> None:
    array("values", values, 2, *types)
    require(values.shape[1] >= 1, "series need at least one channel")
    starts_to(starts, len(values))


def _pairs_of_series(out: Array, A: Any, a: Any, B: Any, b: Any, half: bool) -> None:
    _series(A, a, *FLOAT32_OR_64)
    _series(B, b, A.dtype)
    require(A.shape[1] == B.shape[1], "A and B need the same number of channels")
    require(out.shape == (len(a) - 1, len(b) - 1), "one row of out for each series of A, one column for B")
    require(not half or (same_values(a, b) and same_values(A, B)), "half needs A and B to be the same")


def _elastic(*parameters: str, positive: bool = False) -> Callable[..., None]:
    """Return the domain of an elastic distance with these parameters, which are numbers >= 0, or > 0 if `positive`."""

    def domain(out: Any, A: Any, a: Any, B: Any, b: Any, *given: Any, window: Any = None, half: bool = False) -> None:
        require(len(given) >= len(parameters), f"expected {' and '.join(parameters)}")
        limits = {"window": window, "half": half} | dict(
            zip(("window", "half"), given[len(parameters) :], strict=False)
        )
        for name, value in zip(parameters, given, strict=False):
            number(name, value)
            require(np.isfinite(value), f"{name} must be finite, got {value}")
            require(name == "gap" or (value > 0 if positive else value >= 0), f"{name} is too small: {value}")
        _dtw(out, A, a, B, b, **limits)

    return domain


def _dtw(out: Any, A: Any, a: Any, B: Any, b: Any, window: Any = None, half: bool = False) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _pairs_of_series(out, A, a, B, b, half)
    require(out.dtype == A.dtype, "out must have the precision of the series")
    _window(window)


def _window(window: Any) -> None:
    if isinstance(window, Real) and not isinstance(window, Integral):
        require(0 <= float(window) <= 1, f"a window that is a fraction must be from 0.0 to 1.0, got {window}")
    elif window is not None:
        whole("window", window, 0)


def _dtw_pairs(out: Any, A: Any, a: Any, B: Any, b: Any, i: Any, j: Any, limits: Any, window: Any = None) -> None:
    _series(A, a, *FLOAT32_OR_64)
    _series(B, b, A.dtype)
    out_row("out", out, A.dtype)
    array("limits", limits, 1, A.dtype)
    for name, given, starts in (("i", i, a), ("j", j, b)):
        array(name, given, 1, INT64)
        inside(given, len(starts) - 1, f"{name} must number series")
    require(A.shape[1] == B.shape[1], "A and B need the same number of channels")
    require(len(out) == len(i) == len(j) == len(limits), "one entry of out, i, j and limits for each pair")
    _window(window)


def _global_alignment(out: Any, A: Any, a: Any, B: Any, b: Any, scale: Any, half: bool = False) -> None:
    out_matrix("out", out, FLOAT64)
    _pairs_of_series(out, A, a, B, b, half)
    number("scale", scale)
    require(scale >= 0, f"scale must be at least 0, got {scale}")


def _self_alignment(A: Any, a: Any, scale: Any) -> None:
    _series(A, a, *FLOAT32_OR_64)
    number("scale", scale)
    require(scale >= 0, f"scale must be at least 0, got {scale}")


def _convolutions(out: Any, A: Any, a: Any, shapes: Any, mix: Any, biases: Any, starts: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _series(A, a, out.dtype)
    array("shapes", shapes, 2, INT64)
    array("mix", mix, 2, A.dtype)
    array("biases", biases, 1, A.dtype)
    starts_to(starts, len(biases))
    require(out.shape == (len(a) - 1, len(biases)), "one row of out for each series, one column for each bias")
    require(shapes.shape[1] == 3, "a shape is a kernel, a dilation, and whether it is padded")
    require(mix.shape == (len(shapes), A.shape[1]), "one row of mix for each shape, one column for each channel")
    require(len(starts) == len(shapes) + 1, "the biases of each shape")
    inside(shapes[:, 0], 84, "kernels are numbered from 0 to 83")
    require((shapes[:, 1] >= 1).all(), "a dilation is at least 1")


def _signatures(out: Any, A: Any, a: Any, level: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _series(A, a, out.dtype)
    whole("level", level, 1, 63)
    width = sum(A.shape[1] ** m for m in range(1, int(level) + 1))
    require(out.shape == (len(a) - 1, width), "one row of out for each series, one column for each tuple of channels")


OF_OBJECTS: dict[str, Callable[..., None]] = {
    "best_alignment": _best_alignment,
    "convolutions": _convolutions,
    "dtw": _dtw,
    "dtw_pairs": _dtw_pairs,
    "erp": _elastic("gap"),
    "global_alignment": _global_alignment,
    "graphlets": _graphlets,
    "keyed_products": _keyed_products,
    "labeled_walks": _labeled_walks,
    "levenshtein": _levenshtein,
    "levenshtein_pairs": _levenshtein_pairs,
    "msm": _elastic("cost"),
    "neighbor_bags": _neighbor_bags,
    "self_alignment": _self_alignment,
    "self_subsequences": _self_subsequences,
    "self_sum_alignments": _self_sum_alignments,
    "set_bits": _set_bits,
    "shared_features": _shared_features,
    "shortest_paths": _shortest_paths,
    "signatures": _signatures,
    "subsequences": _subsequences,
    "sum_alignments": _sum_alignments,
    "soft_dtw": _elastic("gamma", positive=True),
    "twe": _elastic("stiffness", "penalty"),
    "weisfeiler_lehman": _weisfeiler_lehman,
    "window_bags": _window_bags,
    "term_bags": _term_bags,
    "term_keys": _term_keys,
}
