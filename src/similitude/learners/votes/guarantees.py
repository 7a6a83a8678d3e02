"""Guarantees of votes, for the smallest gap at which the number of examples suffices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.compute.engines import Engine
from similitude.landmarks import fixed_beforehand, share_without_gap, within_range
from similitude.scikit import whole_gram
from similitude.similarity import Precomputed, Similarity, as_similarity
from similitude.support import INDEPENDENT_ROWS, Guarantee, Premise, pairs_at, rounded_up
from similitude.theory import BALCAN_BLUM, DELTA, bounds

Seen = tuple[np.ndarray, np.ndarray]
"""Similarities of some examples, and their class numbers."""


def premises_of_votes(similarity: object, counts: np.ndarray, largest: float | None) -> list[Premise]:
    """Return the premises that all votes share, given the similarity as the user gave it and the largest value seen."""
    k: Similarity = Precomputed(None)
    if not (isinstance(similarity, str) and similarity == "precomputed"):
        k = as_similarity(similarity)
    once = Premise("every example counts once", "proven")
    if (counts != counts[0]).any():
        once = Premise(once.text, "contradicted", "the examples have different weights")
    return [once, fixed_beforehand([k]), within_range([k], largest)]


def compare_examples(k: Similarity, A: Encoding, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of 50 examples, or as many as fit into the memory budget, and their similarities."""
    n = max(1, min(50, count(A), math.isqrt(engine.budget // 8)))
    some = np.sort(np.random.default_rng(0).choice(count(A), size=n, replace=False))
    with pairs_at(some, some):
        return some, as_numpy(whole_gram(k, rows(A, some), engine)).astype(np.float64, copy=False)


def of_vote(
    each: int, n_classes: int, weighted: bool, premises: Sequence[Premise], seen: Seen | None = None
) -> Guarantee:
    """Return the guarantee of Theorem 1 for `each` votes of every class; `seen`: weighted similarities, codes."""
    theorem = f"Theorem 1 of {BALCAN_BLUM}, with the constant of bounds.votes"
    known = ""
    if weighted:
        theorem = f"Footnote 3 to {theorem}"
        known = ", with these weights, which were known beforehand,"
    delta = DELTA / math.sqrt(n_classes - 1)
    gamma = math.sqrt(8 * math.log(1 / delta) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma}
    if gamma > 1:
        return Guarantee.none(f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    numbers["examples_theorem"] = float(bounds.votes(gamma, delta))
    evidence = ""
    if seen is not None:
        share = share_without_gap(*seen, None, gamma)
        if share is not None:
            evidence = f"of {len(seen[1])} examples, {share:.1%} are not"
    gap = Premise(
        f"all objects but a share epsilon are on average{known} more similar to their own class than to "
        f"{'the other' if n_classes == 2 else 'any other'}, by {rounded_up(gamma)}",
        "assumed",
        evidence,
    )
    statement = _likely(f"the error is at most epsilon + {DELTA:g}")
    return Guarantee.under([*premises, gap, INDEPENDENT_ROWS], statement, theorem, numbers)


def of_weak_vote(each: int, n_classes: int, shrink: float, found: float, premises: Sequence[Premise]) -> Guarantee:
    """Return the guarantee of Theorem 8, with equally weighted classes, for at least `each` examples of every class."""
    theorem = f"Theorem 8 of {BALCAN_BLUM}, for equally weighted classes and with the constant of bounds.weak_votes"
    gamma = math.sqrt(16 * math.log(1 / DELTA) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma, "shrink": shrink}
    if gamma > 1:
        return Guarantee.none(f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    error = 1 - 1 / n_classes - gamma / (4 * n_classes * shrink)
    numbers |= {"examples_theorem": float(bounds.weak_votes(gamma, DELTA)), "error": error}
    text = (
        f"similarities within classes are larger on average than between classes by {rounded_up(gamma)}, with all "
        f"classes weighted equally"
    )
    gap = Premise(text, "assumed" if found > 0 else "contradicted", f"between the examples it is {found:.4g}")
    statement = _likely(f"the mean of the classes' errors is at most {rounded_up(error)}")
    return Guarantee.under([*premises, gap, INDEPENDENT_ROWS], statement, theorem, numbers)


def of_alignment(n: int, n_classes: int, premises: Sequence[Premise], seen: Seen | None = None) -> Guarantee:
    """Return the guarantee by alignment, the mean of l f up to Hoeffding's inequality; `seen`: similarities, codes."""
    theorem = f"{BALCAN_BLUM}, on alignment, and Hoeffding's inequality"
    slack = math.sqrt(2 * math.log(1 / DELTA) / n)
    numbers = {"examples": float(n), "delta": DELTA, "slack": slack}
    if n_classes > 2:
        return Guarantee.none("alignment is about two classes", theorem, numbers)
    if slack >= 1:
        return Guarantee.none(f"{n:,} examples are too few for any alignment", theorem, numbers)
    evidence = ""
    if seen is not None and len(seen[1]) > 1:
        K, signs = seen[0], 2.0 * seen[1] - 1
        mean = float(signs @ K @ signs - np.trace(K)) / (len(K) * (len(K) - 1))
        evidence = f"between {len(K)} examples the mean is {mean:.4g}"
    aligned = Premise("E[l(x) l(x') K(x, x')] is at least A", "assumed", evidence)
    statement = _likely(f"the error is at most 1 - A + {rounded_up(slack)}, where A is the alignment")
    return Guarantee.under([*premises, aligned, INDEPENDENT_ROWS], statement, theorem, numbers)


def _likely(outcome: str) -> str:
    return f"with probability {1 - DELTA:g}, {outcome}"
