"""Whether a user's function is symmetric: pairs are tried before calls in both directions are set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from similitude.compute import check_objects, take
from similitude.selection.candidates import NamedSimilarity, naming
from similitude.similarity import SYMMETRIC, calls_per_pair, is_counted
from similitude.support import pairs_at

TRIED_PAIRS = 20
"""The most pairs that are compared in both directions."""


def tried_pairs(X: Any) -> int:
    """Return the number of pairs of different examples that are compared in both directions."""
    return min(TRIED_PAIRS, check_objects(X) // 2)


def may_differ(one: NamedSimilarity) -> bool:
    """Tell whether a user's function, whose calls are counted, is not known to be symmetric."""
    k = one.similarity
    return is_counted(k) and SYMMETRIC not in k.claims and not k.unresolved() and one.side == "auto"


def calls_for_a_pair(named: Sequence[NamedSimilarity]) -> int:
    """Return the most calls of users' functions for an example and a landmark."""
    counted = [one for one in named if is_counted(one.similarity)]
    both = [1 if one.side == "left" or SYMMETRIC in one.similarity.claims else 2 for one in counted]
    return sum(calls_per_pair(one.similarity) * sides for one, sides in zip(counted, both, strict=True))


def calls_to_look(named: Sequence[NamedSimilarity], X: Any) -> int:
    """Return the calls that trying pairs takes."""
    return sum(2 * tried_pairs(X) * calls_per_pair(one.similarity) for one in named if may_differ(one))


def with_sides(named: Sequence[NamedSimilarity], X: Any, rng: np.random.Generator) -> list[NamedSimilarity]:
    """Try pairs in both directions; where all of them agree, only K(x, l) is computed."""
    n = tried_pairs(X)
    at = rng.permutation(check_objects(X))[: 2 * n]
    objects = take(X, at)
    return [_with_side(one, objects, at, n) if may_differ(one) else one for one in named]


def _with_side(one: NamedSimilarity, objects: Any, at: np.ndarray, n: int) -> NamedSimilarity:
    k, i, j = one.similarity, np.arange(n), np.arange(n, 2 * n)
    with naming(one.name), pairs_at(at, at):
        A = k.encode_checked(objects, "X")
        there, back = np.asarray(k.values_at(A, A, i, j)), np.asarray(k.values_at(A, A, j, i))
    return replace(one, side="left") if np.allclose(there, back, rtol=1e-9, atol=0.0) else one
