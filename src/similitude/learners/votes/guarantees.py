"""Guarantees of votes, for the smallest gap at which the number of examples suffices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.similarity import as_similarity
from similitude.support import NONE, PROVEN, Guarantee
from similitude.theory import BALCAN_BLUM, DELTA, bounds

DRAWN = "the similarity has values in [-1, 1], the examples of each class were drawn independently from its objects"


def obstacle(similarity: Any, counts: np.ndarray) -> str | None:
    """Return why theorems on independent examples and a fixed similarity do not apply; None if they do.

    >>> print(obstacle("gaussian", np.ones(3)))
    sigma of the similarity depends on the examples, a theorem takes it as fixed: give a number
    """
    if (counts != counts[0]).any():
        return "a theorem counts every example once, and these have weights"
    precomputed = isinstance(similarity, str) and similarity == "precomputed"
    waiting = [] if precomputed else as_similarity(similarity).unresolved()
    if waiting:
        names = ", ".join(waiting)
        return f"{names} of the similarity depends on the examples, a theorem takes it as fixed: give a number"
    return None


def of_vote(each: int, n_classes: int, weighted: bool, why_not: str | None) -> Guarantee:
    """Return the guarantee of Theorem 1 for a vote of at least `each` examples of every class.

    With several classes, an object must stand out against each of the others, which share the probability of failure.
    """
    theorem = f"{'Footnote 3 to ' if weighted else ''}Theorem 1 of {BALCAN_BLUM}, with the constant of bounds.votes"
    delta = DELTA / math.sqrt(n_classes - 1)
    gamma = math.sqrt(8 * math.log(1 / delta) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma}
    if why_not is not None or gamma > 1:
        return _no_guarantee(why_not or f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    numbers["examples_theorem"] = float(bounds.votes(gamma, delta))
    known = ", with these weights, which were known beforehand," if weighted else ""
    assumption = (
        f"{DRAWN}, and all objects but a share epsilon are on average{known} more similar to their own class than to "
        f"{'the other' if n_classes == 2 else 'any other'}, by {gamma:.4g}"
    )
    return Guarantee(_likely(f"the error is at most epsilon + {DELTA:g}"), theorem, assumption, numbers, PROVEN)


def of_weak_vote(each: int, n_classes: int, scale: float, shrink: float, why_not: str | None) -> Guarantee:
    """Return the guarantee of Theorem 8, with equally weighted classes, for at least `each` examples of every class.

    The probability of a right answer is a mean over independent examples. With C classes, Hoeffding's inequality needs
    2/C of the examples that it needs with two; the guarantee uses the number for two.
    """
    theorem = f"Theorem 8 of {BALCAN_BLUM}, for equally weighted classes and with the constant of bounds.weak_votes"
    gamma = math.sqrt(16 * math.log(1 / DELTA) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma, "scale": scale, "shrink": shrink}
    if why_not is not None or gamma > 1:
        return _no_guarantee(why_not or f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    error = 1 - 1 / n_classes - gamma / (4 * n_classes * shrink)
    numbers |= {"examples_theorem": float(bounds.weak_votes(gamma, DELTA)), "error": error}
    drawn = DRAWN.replace("[-1, 1]", "[-1, 1]" if scale == 1 else f"[-{scale:.4g}, {scale:.4g}]")
    unit = "" if scale == 1 else f" times {scale:.4g}"
    assumption = (
        f"{drawn}, and similarities within classes are on average larger than between classes by {gamma:.4g}{unit}, "
        f"with all classes weighted equally"
    )
    statement = _likely(f"the mean of the classes' errors is at most {error:.4g}")
    return Guarantee(statement, theorem, assumption, numbers, PROVEN)


def of_alignment(n: int, n_classes: int, why_not: str | None) -> Guarantee:
    """Return the guarantee by alignment: the mean of l f is A up to Hoeffding's inequality, and l f is at most 1."""
    theorem = f"{BALCAN_BLUM}, on alignment, and Hoeffding's inequality"
    slack = math.sqrt(2 * math.log(1 / DELTA) / n)
    numbers = {"examples": float(n), "delta": DELTA, "slack": slack}
    if n_classes > 2:
        why_not = "alignment is about two classes"
    if why_not is not None or slack >= 1:
        return _no_guarantee(why_not or f"{n:,} examples are too few for any alignment", theorem, numbers)
    assumption = (
        "the similarity has values in [-1, 1], the examples were drawn independently, "
        "and E[l(x) l(x') K(x, x')] is at least A"
    )
    statement = _likely(f"the error is at most 1 - A + {slack:.4g}, where A is the alignment")
    return Guarantee(statement, theorem, assumption, numbers, PROVEN)


def _likely(outcome: str) -> str:
    return f"with probability {1 - DELTA:g}, {outcome}"


def _no_guarantee(why: str, theorem: str, numbers: dict[str, float]) -> Guarantee:
    return Guarantee(f"no guarantee: {why}", theorem, "", numbers, NONE)
