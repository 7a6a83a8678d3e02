"""Loops over strings: bags of windows, features that bags share, edit distances, subsequences, alignments."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.argument_types import Array, BagArrays, Patterns, TermArrays
from similitude.compute.loops.domains import checked

DIGESTED = 1 << 63
"""The bit of codes that are digests: whether two of them are equal is decided by comparing the windows."""


@checked
def window_bags(text: Array, starts: Array, patterns: Patterns) -> BagArrays:
    """Return the different windows of each string with their counts.

    The code of a window of letters c_1, …, c_k under pattern q is the number with the digits q + 1, c_1, …, c_k to base
    256 if k <= 7, all letters are below 256 and the number is below 2^63; otherwise it is a digest.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Patterns(np.array([0, 1]), np.array([0, 2]), np.array([2]))
    >>> bags = window_bags(np.frombuffer(b"banana", np.uint8).astype(np.uint32), np.array([0, 6]), pairs)
    >>> [hex(code) for code in bags.codes.tolist()], bags.counts
    (['0x16261', '0x1616e', '0x16e61'], array([1, 2, 2]))
    """
    number = len(patterns.spans)

    def features(letters: list[int]) -> Iterator[tuple[Any, int, int]]:
        for q, positions in enumerate(_split(patterns.positions, patterns.starts)):
            for at in range(len(letters) - int(patterns.spans[q]) + 1):
                window = tuple(letters[at + t] for t in positions.tolist())
                yield (q, window), _code(q, window), at * number + q

    return _bagged(text, starts, features)


@checked
def neighbor_bags(text: Array, starts: Array, letters: int, length: int, most: int) -> BagArrays:
    """Return the words that differ from a window at no more than `most` positions, with the number of such windows.

    The text holds numbers below `letters`; any other number differs from all letters. The code of a word is the number
    with its letters as digits to base `letters`.
    """

    def features(string: list[int]) -> Iterator[tuple[Any, int, int]]:
        for at in range(len(string) - length + 1):
            window = string[at : at + length]
            for word in _neighbors(window, letters, most):
                code = 0
                for letter in word:
                    code = code * letters + letter
                yield code, code, 0

    return _bagged(text, starts, features)


@checked
def term_bags(text: Array, starts: Array, words: int, shortest: int = 1, longest: int = 0) -> TermArrays:
    r"""Return the terms of each text with their counts: runs of 1 to `words` words, and pieces of words.

    Words are separated by spaces. Pieces are the substrings of `shortest` to `longest` letters of a word with a space
    before and after it, or that itself if it is shorter; the name of a piece begins with "~". There are none if
    `longest` is 0.

    Examples
    --------
    >>> text = np.frombuffer(b"a b a", np.uint8).astype(np.uint32)
    >>> bags = term_bags(text, np.array([0, 5]), words=2)
    >>> sorted(zip(bytes(bags.names.astype(np.uint8)).decode().split("\n"), bags.counts.tolist()))
    [('a', 2), ('a b', 1), ('b', 1), ('b a', 1)]
    """
    counts, columns, ends = [], [], [0]
    numbers: dict[str, int] = {}
    for string in _split(text, starts):
        terms = Counter(_terms("".join(map(chr, string.tolist())), words, shortest, longest))
        for term in sorted(terms, key=_key):
            columns.append(numbers.setdefault(term, len(numbers)))
            counts.append(terms[term])
        ends.append(len(counts))
    keys = np.array([_key(term) for term in numbers], np.uint64)
    names = np.array([ord(letter) for term in numbers for letter in f"{term}\n"], np.uint32)
    return TermArrays(np.array(ends, np.int64), np.array(columns, np.int32), np.array(counts, np.int64), keys, names)


def _terms(text: str, words: int, shortest: int, longest: int) -> Iterator[str]:
    """Yield the terms of a text, each as often as it occurs."""
    found = [word for word in text.split(" ") if word]
    for n in range(1, min(words, len(found)) + 1):
        yield from (" ".join(found[i : i + n]) for i in range(len(found) - n + 1))
    for word in (f" {word} " for word in found if longest):
        if len(word) < shortest:
            yield f"~{word}"
        for n in range(shortest, min(longest, len(word)) + 1):
            yield from (f"~{word[i : i + n]}" for i in range(len(word) - n + 1))


@checked
def term_keys(text: Array, starts: Array) -> Array:
    """Return the key of each string as a term: a digest of 64 bits.

    >>> a, b, c = term_keys(np.array([97, 98, 97], np.uint32), np.array([0, 1, 2, 3])).tolist()
    >>> a == c, a == b
    (True, False)
    """
    return np.array([_key("".join(map(chr, string.tolist()))) for string in _split(text, starts)], np.uint64)


def _key(term: str) -> int:
    key = 1
    for letter in term:
        key = _mixed((key + ord(letter)) % 2**64)
    return key


def _neighbors(window: list[int], letters: int, most: int) -> list[tuple[int, ...]]:
    """Return the words that differ at no more than `most` positions, in alphabetical order."""
    found: set[tuple[int, ...]] = set()
    for free in combinations(range(len(window)), min(most, len(window))):
        choices = [range(letters) if t in free else [x] if x < letters else [] for t, x in enumerate(window)]
        found.update(product(*choices))
    return sorted(found)


def _bagged(text: Array, starts: Array, features: Callable[[list[int]], Iterator[tuple[Any, int, int]]]) -> BagArrays:
    codes, counts, places, ends = [], [], [], [0]
    for string in _split(text, starts):
        bag: dict[Any, list[int]] = {}
        for key, code, place in features(string.tolist()):
            bag.setdefault(key, [code, place, 0])[2] += 1
        codes += [code for code, _, _ in bag.values()]
        places += [place for _, place, _ in bag.values()]
        counts += [count for _, _, count in bag.values()]
        ends.append(len(codes))
    numbers = [np.array(values, np.int64) for values in (counts, places, ends)]
    return BagArrays(np.array(codes, np.uint64), numbers[0], numbers[1], numbers[2], text, starts)


def _split(values: Array, starts: Array) -> list[Array]:
    return [values[begin:end] for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]


def _code(q: int, window: tuple[int, ...]) -> int:
    packed = q + 1
    for letter in window:
        packed = packed << 8 | letter
    if len(window) <= 7 and packed < DIGESTED and max(window, default=0) < 256:
        return packed
    digest = q + 1
    for letter in window:
        digest = _mixed((digest + letter) % 2**64)
    return digest | DIGESTED


def _mixed(x: int) -> int:
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9 % 2**64
    return x ^ (x >> 32)


@checked
def shared_features(A: BagArrays, B: BagArrays, patterns: Patterns) -> tuple[Array, Array, int]:
    """Number the features that occur in both A and B from 0 on, in the order of B.

    Returns
    -------
    a, b : arrays of int32
        The number of each feature of A and of B, or -1 if it occurs in only one of the two.
    count : int
        The number of shared features.
    """
    keys_a, keys_b = _keys(A, patterns), _keys(B, patterns)
    occur = set(keys_a)
    numbers = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys_b if key in occur))}
    a, b = (np.array([numbers.get(key, -1) for key in keys], np.int32) for keys in (keys_a, keys_b))
    return a, b, len(numbers)


def _keys(bags: BagArrays, patterns: Patterns) -> list[Any]:
    """Return the features: their code, or the pattern and the letters if it is a digest."""
    positions, number = _split(patterns.positions, patterns.starts), max(1, len(patterns.spans))
    keys: list[Any] = bags.codes.tolist()
    owners = np.repeat(np.arange(len(bags.starts) - 1), np.diff(bags.starts))
    for f in np.flatnonzero(bags.codes >> np.uint64(63)).tolist():
        at, q = divmod(int(bags.places[f]), number)
        keys[f] = q, tuple(bags.text[bags.text_starts[owners[f]] + at + positions[q]].tolist())
    return keys


@checked
def set_bits(out: NDArray[np.uint64], numbers: Array, starts: Array) -> None:
    """Set bit number k of row i of 64-bit words for each k >= 0 in ``numbers[starts[i]:starts[i + 1]]``."""
    for i, bag in enumerate(_split(numbers, starts)):
        for number in bag[bag >= 0].tolist():
            out[i, number // 64] |= np.uint64(1 << number % 64)


@checked
def levenshtein(
    out: Array, queries: Array, query_starts: Array, targets: Array, target_starts: Array, same: bool = False
) -> None:
    """Write the Levenshtein distances into `out`: the smallest numbers of insertions, deletions and replacements.

    Strings are letters numbered from 0 on, fewer than the letters of all strings together, stored consecutively. If
    queries and targets are the `same` strings, half of the distances suffice.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty((1, 2))
    >>> query, targets = np.array([0, 1, 2], np.int32), np.array([1, 2, 2, 0], np.int32)
    >>> levenshtein(out, query, np.array([0, 3]), targets, np.array([0, 4, 4]))
    >>> out
    array([[3., 3.]])
    """
    for i, query in enumerate(_split(queries, query_starts)):
        for j, target in enumerate(_split(targets, target_starts)):
            out[i, j] = out[j, i] if same and j < i else _edits(query, target)


@checked
def levenshtein_pairs(
    out: Array, queries: Array, query_starts: Array, targets: Array, target_starts: Array, i: Array, j: Array
) -> None:
    """Write the Levenshtein distances of some pairs into `out`: query i[p] and target j[p].

    >>> import numpy as np
    >>> out, text, starts = np.empty(2), np.array([0, 1, 2, 1, 2, 2], np.int32), np.array([0, 3, 6])
    >>> levenshtein_pairs(out, text, starts, text, starts, np.array([0, 1]), np.array([1, 1]))
    >>> out
    array([2., 0.])
    """
    A, B = list(_split(queries, query_starts)), list(_split(targets, target_starts))
    out[:] = [_edits(A[s], B[t]) for s, t in zip(i, j, strict=True)]


def _edits(query: Array, target: Array) -> int:
    """Return the distance of two strings, from one row of the table per letter of the query."""
    places = np.arange(len(target) + 1)
    row = places
    for letter in query.tolist():
        replaced = np.minimum(row[1:] + 1, row[:-1] + (target != letter))
        row = np.minimum.accumulate(np.concatenate([[row[0] + 1], replaced]) - places) + places
    return int(row[-1])


@checked
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

    >>> out = np.empty((1, 1))
    >>> text, starts = np.array([0, 1, 2], np.int32), np.array([0, 3])
    >>> subsequences(out, text, starts, text, starts, 2, 0.5)  # ab and bc span two letters, ac spans three
    >>> out
    array([[0.140625]])
    """
    for i, query in enumerate(_split(queries, query_starts)):
        for j, target in enumerate(_split(targets, target_starts)):
            out[i, j] = out[j, i] if same and j < i else _common_subsequences(query, target, p, decay)


@checked
def self_subsequences(text: Array, starts: Array, p: int, decay: float) -> Array:
    """Return the sums of `subsequences` for each string with itself.

    >>> self_subsequences(np.array([0, 1, 2], np.int32), np.array([0, 3]), 2, 0.5)
    array([0.140625])
    """
    return np.array([_common_subsequences(one, one, p, decay) for one in _split(text, starts)])


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


@checked
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

    >>> out, scores = np.empty((1, 1)), np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> query, target = np.array([0, 1, 1], np.int32), np.array([0, 1], np.int32)
    >>> best_alignment(out, query, np.array([0, 3]), target, np.array([0, 2]), scores, 1.5, 1.0)
    >>> out
    array([[2.5]])
    """
    for i, query in enumerate(_split(queries, query_starts)):
        for j, target in enumerate(_split(targets, target_starts)):
            of_pairs = scores[np.ix_(query, target)]
            out[i, j] = out[j, i] if same and j < i else _best(of_pairs, gap_open, gap_extend, local)


def _best(scores: Array, gap_open: float, gap_extend: float, local: bool) -> float:
    """Return the score of the best alignment by the tables of Gotoh: any, and those that end with a gap."""
    n, m = scores.shape
    best, down, across = np.zeros((n + 1, m + 1)), *np.full((2, n + 1, m + 1), -np.inf)
    for k in range(1, n + 1 if not local else 1):
        best[k, 0] = down[k, 0] = -gap_open - (k - 1) * gap_extend
    for k in range(1, m + 1 if not local else 1):
        best[0, k] = across[0, k] = -gap_open - (k - 1) * gap_extend
    for i, j in np.ndindex(n, m):
        down[i + 1, j + 1] = max(best[i, j + 1] - gap_open, down[i, j + 1] - gap_extend)
        across[i + 1, j + 1] = max(best[i + 1, j] - gap_open, across[i + 1, j] - gap_extend)
        ended = max(best[i, j] + scores[i, j], down[i + 1, j + 1], across[i + 1, j + 1])
        best[i + 1, j + 1] = max(ended, 0.0) if local else ended
    return float(best.max() if local else best[-1, -1])


@checked
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

    >>> out, factors = np.empty((1, 1)), np.array([[3.0]])
    >>> text, starts = np.array([0, 0], np.int32), np.array([0, 2])
    >>> sum_alignments(out, text, starts, text, starts, factors, 0.5, 0.5)  # four single pairs and two of them
    >>> np.exp(out).round(6)
    array([[22.]])
    """
    for i, query in enumerate(_split(queries, query_starts)):
        for j, target in enumerate(_split(targets, target_starts)):
            of_pairs = factors[np.ix_(query, target)]
            out[i, j] = out[j, i] if same and j < i else _log_sum(of_pairs, gap_open, gap_extend)


@checked
def self_sum_alignments(text: Array, starts: Array, factors: Array, gap_open: float, gap_extend: float) -> Array:
    """Return the logarithms of `sum_alignments` for each string with itself.

    >>> text, starts = np.array([0, 0], np.int32), np.array([0, 1, 2])
    >>> np.exp(self_sum_alignments(text, starts, np.array([[3.0]]), 0.5, 0.5)).round(6)
    array([4., 4.])
    """
    sums = [_log_sum(factors[np.ix_(one, one)], gap_open, gap_extend) for one in _split(text, starts)]
    return np.array(sums)


def _log_sum(factors: Array, gap_open: float, gap_extend: float) -> float:
    """Return the logarithm by tables of logarithms: of sums that end with a pair, and with gaps after it."""
    n, m = factors.shape
    opened, extended, logs = math.log(gap_open), math.log(gap_extend), np.log(factors)
    pair, down, across, both = np.full((4, n + 1, m + 1), -np.inf)
    for i, j in np.ndindex(n, m):
        before = [0.0, pair[i, j], down[i, j], across[i, j], both[i, j]]
        pair[i + 1, j + 1] = logs[i, j] + np.logaddexp.reduce(before)
        down[i + 1, j + 1] = np.logaddexp(opened + pair[i, j + 1], extended + down[i, j + 1])
        across[i + 1, j + 1] = np.logaddexp(opened + pair[i + 1, j], extended + across[i + 1, j])
        both[i + 1, j + 1] = np.logaddexp(opened + down[i + 1, j], extended + both[i + 1, j])
    return float(np.logaddexp.reduce(np.append(pair, 0.0)))
