"""The compiled loops over strings behind the signatures of their twins in ``reference_strings``."""

from typing import Any

import numpy as np

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops.reference_strings import Array, Bags, Patterns


def window_bags(text: Any, starts: Any, patterns: Patterns) -> Bags:
    """See `reference_strings.window_bags`."""
    codes, counts, places, ends = _compiled.windows(text, starts, *patterns)
    return Bags(codes, counts, places, ends, text, starts)


def neighbor_bags(text: Any, starts: Any, letters: int, length: int, most: int) -> Bags:
    """See `reference_strings.neighbor_bags`."""
    codes, counts, places, ends = _compiled.neighbors(text, starts, letters, length, most)
    return Bags(codes, counts, places, ends, text, starts)


def shared_features(A: Bags, B: Bags, patterns: Patterns) -> tuple[Array, Array, int]:
    """See `reference_strings.shared_features`."""
    a, b = np.empty(len(A.codes), np.int32), np.empty(len(B.codes), np.int32)
    count = _compiled.shared(*_parts(A), *_parts(B), *patterns, a, b)
    return a, b, int(count)


def _parts(bags: Bags) -> tuple[Array, ...]:
    return bags.codes, bags.places, bags.starts, bags.text, bags.text_starts


def set_bits(out: Any, numbers: Any, starts: Any) -> None:
    """See `reference_strings.set_bits`."""
    _compiled.set_bits(out, numbers, starts)


def levenshtein(
    out: Any, queries: Any, query_starts: Any, targets: Any, target_starts: Any, same: bool = False
) -> None:
    """See `reference_strings.levenshtein`."""
    alphabet = max(int(queries.max(initial=-1)), int(targets.max(initial=-1))) + 1
    order = np.argsort(np.diff(target_starts), kind="stable")
    _compiled.levenshtein(out, queries, query_starts, targets, target_starts, order, alphabet, same)
