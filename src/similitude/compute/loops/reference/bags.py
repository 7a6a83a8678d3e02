"""Loops over strings: bags of windows, of terms and of words near windows, and the features that bags share."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.arguments import Array, BagArrays, Patterns, TermArrays

MOST_NEIGHBORS = 100_000
"""The largest number of words near a window; each is a feature."""

DIGESTED = 1 << 63
"""The bit of codes that are digests: whether two of them are equal is decided by comparing the windows."""


def window_bags(text: Array, starts: Array, patterns: Patterns) -> BagArrays:
    """Return the different windows of each string with their counts.

    The code of a window of letters c_1, …, c_k under pattern q is the number with the digits q + 1, c_1, …, c_k to base
    256 if k <= 7, all letters are below 256 and the number is below 2^63; otherwise it is a digest.
    """
    positions, firsts, spans = patterns
    of_pattern = pieces(positions, firsts)

    def features(letters: list[int]) -> Iterator[tuple[Any, int, int]]:
        for q, chosen in enumerate(of_pattern):
            for at in range(len(letters) - int(spans[q]) + 1):
                window = tuple(letters[at + t] for t in chosen.tolist())
                yield (q, window), _code(q, window), at * len(spans) + q

    return _bagged(text, starts, features)


def words_near(letters: int, length: int, most: int) -> int:
    """Return the number of words that differ from one of this length at no more than `most` positions."""
    places = range(min(most, length) + 1)
    return sum(comb(length, j) * max(letters - 1, 0) ** j for j in places)


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


def term_bags(text: Array, starts: Array, words: int, shortest: int = 1, longest: int = 0) -> TermArrays:
    r"""Return the terms of each text with their counts: runs of 1 to `words` words, and pieces of words.

    Words are separated by spaces. Pieces are the substrings of `shortest` to `longest` letters of a word with a space
    before and after it, or that itself if it is shorter; the name of a piece begins with "~". There are none if
    `longest` is 0.
    """
    counts = []
    columns = []
    ends = [0]
    numbers: dict[str, int] = {}
    for string in pieces(text, starts):
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


def term_keys(text: Array, starts: Array) -> Array:
    """Return the key of each string as a term: a digest of 64 bits."""
    return np.array([_key("".join(map(chr, string.tolist()))) for string in pieces(text, starts)], np.uint64)


def _key(term: str) -> int:
    key = 1
    for letter in term:
        key = _mixed((key + ord(letter)) % 2**64)
    return key


def _neighbors(window: list[int], letters: int, most: int) -> list[tuple[int, ...]]:
    """Return the words that differ at no more than `most` positions, in alphabetical order."""
    found: set[tuple[int, ...]] = set()
    for free in combinations(range(len(window)), min(most, len(window))):
        kept = set(range(len(window))) - set(free)
        if all(window[t] < letters for t in kept):
            found.update(product(*([window[t]] if t in kept else range(letters) for t in range(len(window)))))
    return sorted(found)


def _bagged(text: Array, starts: Array, features: Callable[[list[int]], Iterator[tuple[Any, int, int]]]) -> BagArrays:
    codes = []
    counts = []
    places = []
    ends = [0]
    for string in pieces(text, starts):
        bag: dict[Any, list[int]] = {}
        for key, code, place in features(string.tolist()):
            bag.setdefault(key, [code, place, 0])[2] += 1
        codes += [code for code, _, _ in bag.values()]
        places += [place for _, place, _ in bag.values()]
        counts += [count for _, _, count in bag.values()]
        ends.append(len(codes))
    numbers = [np.array(values, np.int64) for values in (counts, places, ends)]
    return BagArrays(np.array(codes, np.uint64), numbers[0], numbers[1], numbers[2], text, starts)


def pieces(values: Array, starts: Array) -> list[Array]:
    """Return the values from each start to the next."""
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


def shared_features(A: BagArrays, B: BagArrays, patterns: Patterns) -> tuple[Array, Array, int]:
    """Number shared features in the order of B; return the numbers for A and B, -1 for other features, and how many."""
    keys_a = _keys(A, patterns)
    keys_b = _keys(B, patterns)
    occur = set(keys_a)
    numbers = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys_b if key in occur))}
    a, b = (np.array([numbers.get(key, -1) for key in keys], np.int32) for keys in (keys_a, keys_b))
    return a, b, len(numbers)


def _keys(bags: BagArrays, patterns: Patterns) -> list[Any]:
    """Return the features: their code, or the pattern and the letters if it is a digest."""
    positions, starts, spans = patterns
    of_pattern = pieces(positions, starts)
    keys: list[Any] = bags.codes.tolist()
    owners = np.repeat(np.arange(len(bags.starts) - 1), np.diff(bags.starts))
    for f in np.flatnonzero(bags.codes >> np.uint64(63)).tolist():
        at, q = divmod(int(bags.places[f]), len(spans))
        keys[f] = q, tuple(bags.text[bags.text_starts[owners[f]] + at + of_pattern[q]].tolist())
    return keys


def set_bits(out: NDArray[np.uint64], numbers: Array, starts: Array) -> None:
    """Set bit number k of row i of 64-bit words for each k >= 0 in ``numbers[starts[i]:starts[i + 1]]``."""
    for i, bag in enumerate(pieces(numbers, starts)):
        for number in bag[bag >= 0].tolist():
            out[i, number // 64] |= np.uint64(1 << number % 64)
