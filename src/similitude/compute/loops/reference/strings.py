"""Loops over pairs of strings: edit distances, subsequences, alignments."""

import math
from collections.abc import Callable

import numpy as np

from similitude.compute.loops.arguments import Array
from similitude.compute.loops.reference.bags import pieces

LONGEST_SUBSEQUENCE = 1_000
"""The largest number of letters of subsequences: the sums for all shorter ones are held at once."""

SIZES_OF_FACTORS = 1e-100, 1e100
"""The range of the factors of alignments that are summed."""


def levenshtein(
    out: Array, queries: Array, query_starts: Array, targets: Array, target_starts: Array, same: bool = False
) -> None:
    """Write the Levenshtein distances into `out`: the smallest numbers of insertions, deletions and replacements.

    Strings are letters numbered from 0 on, fewer than the letters of all strings together, stored consecutively. If
    queries and targets are the `same` strings, half of the distances suffice.
    """
    _write_pairs(out, queries, query_starts, targets, target_starts, same, _edits)


def _write_pairs(
    out: Array,
    queries: Array,
    query_starts: Array,
    targets: Array,
    target_starts: Array,
    same: bool,
    value: Callable[[Array, Array], float],
) -> None:
    for i, query in enumerate(pieces(queries, query_starts)):
        for j, target in enumerate(pieces(targets, target_starts)):
            if same and j < i:
                out[i, j] = out[j, i]
            else:
                out[i, j] = value(query, target)


def levenshtein_pairs(
    out: Array, queries: Array, query_starts: Array, targets: Array, target_starts: Array, i: Array, j: Array
) -> None:
    """Write the Levenshtein distances of some pairs into `out`: query i[p] and target j[p]."""
    A = list(pieces(queries, query_starts))
    B = list(pieces(targets, target_starts))
    out[:] = [_edits(A[s], B[t]) for s, t in zip(i, j, strict=True)]


def _edits(query: Array, target: Array) -> int:
    """Return the distance of two strings, from one row of the table per letter of the query."""
    places = np.arange(len(target) + 1)
    row = places
    for letter in query.tolist():
        replaced = np.minimum(row[1:] + 1, row[:-1] + (target != letter))
        row = np.minimum.accumulate(np.concatenate([[row[0] + 1], replaced]) - places) + places
    return int(row[-1])


def subsequences(
    out: Array,
    queries: Array,
    query_starts: Array,
    targets: Array,
    target_starts: Array,
    p: int,
    decay: float,
    same: bool = False,
) -> None:
    """Write the sums over pairs of equal subsequences of p letters, each times decay to the letters that both span.

    Letters of both sides with the same number are equal. If queries and targets are the `same` strings, half of the
    sums suffice.
    """

    def value(query: Array, target: Array) -> float:
        return _common_subsequences(query, target, p, decay)

    _write_pairs(out, queries, query_starts, targets, target_starts, same, value)


def self_subsequences(text: Array, starts: Array, p: int, decay: float) -> Array:
    """Return the sums of `subsequences` for each string with itself."""
    return np.array([_common_subsequences(one, one, p, decay) for one in pieces(text, starts)])


def _common_subsequences(x: Array, z: Array, p: int, decay: float) -> float:
    """Return the sum by one table per length; cell (i, j) of a table is for the first i and j letters."""
    equal = x[:, None] == z
    sums = np.ones((len(x) + 1, len(z) + 1))
    last = np.zeros(equal.shape)
    for _ in range(p):
        last = np.where(equal, sums[:-1, :-1], 0.0)
        sums = np.zeros_like(sums)
        for i, j in np.ndindex(*equal.shape):
            around = decay * (sums[i, j + 1] + sums[i + 1, j]) - decay * decay * sums[i, j]
            sums[i + 1, j + 1] = last[i, j] + around
    return decay ** (2 * p) * _sum_of_diagonals(last)


def _sum_of_diagonals(values: Array) -> float:
    """Return the sum of a matrix, in an order that gives the same bits for its transpose."""
    n, m = values.shape
    if not n or not m:
        return 0.0
    ends = {k: float(np.add.accumulate(np.diagonal(values, m - n + k))[-1]) for k in range(1 - m, n)}
    total = ends[0]
    for k in range(1, max(n, m)):
        total += ends.get(k, 0.0) + ends.get(-k, 0.0)
    return total


def best_alignment(
    out: Array,
    queries: Array,
    query_starts: Array,
    targets: Array,
    target_starts: Array,
    scores: Array,
    gap_open: float,
    gap_extend: float,
    local: bool = False,
    same: bool = False,
) -> None:
    """Write the scores of the best alignments: of whole strings, or of any parts of both (at least 0) if `local`.

    An alignment pairs letters of both strings in order, each pair with its score; k letters without partner in a row of
    one string cost gap_open + (k - 1) gap_extend. Letters are numbers of rows of `scores`.
    """

    def value(query: Array, target: Array) -> float:
        return _best(scores[np.ix_(query, target)], gap_open, gap_extend, local)

    _write_pairs(out, queries, query_starts, targets, target_starts, same, value)


def _best(scores: Array, gap_open: float, gap_extend: float, local: bool) -> float:
    """Return the score of the best alignment by the tables of Gotoh: any, and those that end with a gap."""
    n, m = scores.shape
    best, down, across = np.zeros((n + 1, m + 1)), *np.full((2, n + 1, m + 1), -np.inf)
    if not local:
        best[1:, 0] = down[1:, 0] = -gap_open - np.arange(n) * float(gap_extend)
        best[0, 1:] = across[0, 1:] = -gap_open - np.arange(m) * float(gap_extend)
    for i, j in np.ndindex(n, m):
        down[i + 1, j + 1] = max(best[i, j + 1] - gap_open, down[i, j + 1] - gap_extend)
        across[i + 1, j + 1] = max(best[i + 1, j] - gap_open, across[i + 1, j] - gap_extend)
        ended = max(best[i, j] + scores[i, j], down[i + 1, j + 1], across[i + 1, j + 1])
        best[i + 1, j + 1] = max(ended, 0.0) if local else ended
    return float(best.max() if local else best[-1, -1])


def sum_alignments(
    out: Array,
    queries: Array,
    query_starts: Array,
    targets: Array,
    target_starts: Array,
    factors: Array,
    gap_open: float,
    gap_extend: float,
    same: bool = False,
) -> None:
    """Write the logarithms of one plus the sum over all local alignments of the product of their factors.

    A local alignment pairs letters of both strings in order, one pair at least, each with its factor; k letters without
    partner in a row between two pairs, of either string, have the factor gap_open * gap_extend^(k - 1).
    """

    def value(query: Array, target: Array) -> float:
        return _log_sum(factors[np.ix_(query, target)], gap_open, gap_extend)

    _write_pairs(out, queries, query_starts, targets, target_starts, same, value)


def self_sum_alignments(text: Array, starts: Array, factors: Array, gap_open: float, gap_extend: float) -> Array:
    """Return the logarithms of `sum_alignments` for each string with itself."""
    sums = [_log_sum(factors[np.ix_(one, one)], gap_open, gap_extend) for one in pieces(text, starts)]
    return np.array(sums)


def _log_sum(factors: Array, gap_open: float, gap_extend: float) -> float:
    """Return the logarithm by tables of logarithms: of sums that end with a pair, and with gaps after it."""
    n, m = factors.shape
    opened = math.log(gap_open)
    extended = math.log(gap_extend)
    logs = np.log(factors)
    pair, down, across, both = np.full((4, n + 1, m + 1), -np.inf)
    for i, j in np.ndindex(n, m):
        before = [0.0, pair[i, j], down[i, j], across[i, j], both[i, j]]
        pair[i + 1, j + 1] = logs[i, j] + np.logaddexp.reduce(before)
        down[i + 1, j + 1] = np.logaddexp(opened + pair[i, j + 1], extended + down[i, j + 1])
        across[i + 1, j + 1] = np.logaddexp(opened + pair[i + 1, j], extended + across[i + 1, j])
        both[i + 1, j + 1] = np.logaddexp(opened + down[i + 1, j], extended + both[i + 1, j])
    return float(np.logaddexp.reduce(np.append(pair, 0.0)))
