"""What theorems promise to votes, for the smallest gap at which there are examples enough."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.similarity.adapters import as_similarity
from similitude.support.results import NONE, PROVEN, Guarantee
from similitude.theory import bounds

PAPER = 'Balcan and Blum, "On a Theory of Learning with Similarity Functions"'

DELTA = 0.05
"""The probability of failure for which guarantees are stated."""

DRAWN = "the similarity has values in [-1, 1], the examples of each class were drawn independently from its objects"


def obstacle(similarity: Any, counts: np.ndarray) -> str | None:
    """Return why theorems on independent examples and a given similarity do not speak of this one; None if they do.

    >>> print(obstacle("gaussian", np.ones(3)))
    sigma of the similarity was fixed on the examples themselves, a theorem takes it as given before: name a number
    """
    if (counts != counts[0]).any():
        return "a theorem counts every example once, and these have weights"
    precomputed = isinstance(similarity, str) and similarity == "precomputed"
    waiting = [] if precomputed else as_similarity(similarity).unresolved()
    if waiting:
        names = ", ".join(waiting)
        return (
            f"{names} of the similarity was fixed on the examples themselves, "
            f"a theorem takes it as given before: name a number"
        )
    return None


def of_vote(each: int, n_classes: int, weighted: bool, why_not: str | None) -> Guarantee:
    """Return what Theorem 1 promises to a vote of `each` examples or more of every class.

    With several classes, an object must stand out against each of the others: these share the probability of failure.
    """
    theorem = f"{'Footnote 3 to ' if weighted else ''}Theorem 1 of {PAPER}, with the constant of bounds.votes"
    delta = DELTA / math.sqrt(n_classes - 1)
    gamma = math.sqrt(8 * math.log(1 / delta) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma}
    if why_not is not None or gamma > 1:
        return _nothing(why_not or f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    numbers["examples_theorem"] = float(bounds.votes(gamma, delta))
    known = ", with these weights, which were known beforehand," if weighted else ""
    assumption = (
        f"{DRAWN}, and all objects but a share epsilon are on average{known} more similar to their own class than to "
        f"{'the other' if n_classes == 2 else 'any other'}, by {gamma:.4g}"
    )
    return Guarantee(_likely(f"the error is at most epsilon + {DELTA:g}"), theorem, assumption, numbers, PROVEN)


def of_weak_vote(each: int, n_classes: int, scale: float, shrink: float, why_not: str | None) -> Guarantee:
    """Return what Theorem 8, for classes that count alike, promises to `each` examples or more of every class.

    The chance of a right answer is a mean over independent examples. With C classes, Hoeffding's inequality asks for
    2/C of what it asks with two; the promise here is content with that of two.
    """
    theorem = f"Theorem 8 of {PAPER}, for classes that count alike and with the constant of bounds.weak_votes"
    gamma = math.sqrt(16 * math.log(1 / DELTA) / each) + 1e-12
    numbers = {"examples_per_class": float(each), "delta": DELTA, "gamma": gamma, "scale": scale, "shrink": shrink}
    if why_not is not None or gamma > 1:
        return _nothing(why_not or f"{each:,} examples of a class are too few for any gap", theorem, numbers)
    error = 1 - 1 / n_classes - gamma / (4 * n_classes * shrink)
    numbers |= {"examples_theorem": float(bounds.weak_votes(gamma, DELTA)), "error": error}
    drawn = DRAWN.replace("[-1, 1]", "[-1, 1]" if scale == 1 else f"[-{scale:.4g}, {scale:.4g}]")
    unit = "" if scale == 1 else f" times {scale:.4g}"
    assumption = (
        f"{drawn}, and similarities within classes are on average larger than between classes by {gamma:.4g}{unit}, "
        f"where all classes count alike"
    )
    statement = _likely(f"the mean of the classes' errors is at most {error:.4g}")
    return Guarantee(statement, theorem, assumption, numbers, PROVEN)


def of_alignment(n: int, n_classes: int, why_not: str | None) -> Guarantee:
    """Return what alignment promises: the mean of l f is A up to Hoeffding's inequality, and l f is at most 1."""
    theorem = f"{PAPER}, on alignment, and Hoeffding's inequality"
    slack = math.sqrt(2 * math.log(1 / DELTA) / n)
    numbers = {"examples": float(n), "delta": DELTA, "slack": slack}
    if n_classes > 2:
        why_not = "alignment is about two classes"
    if why_not is not None or slack >= 1:
        return _nothing(why_not or f"{n:,} examples are too few for any alignment", theorem, numbers)
    assumption = (
        "the similarity has values in [-1, 1], the examples were drawn independently, "
        "and E[l(x) l(x') K(x, x')] is at least A"
    )
    statement = _likely(f"the error is at most 1 - A + {slack:.4g}, where A is the alignment")
    return Guarantee(statement, theorem, assumption, numbers, PROVEN)


def _likely(outcome: str) -> str:
    return f"with probability {1 - DELTA:g}, {outcome}"


def _nothing(why: str, theorem: str, numbers: dict[str, float]) -> Guarantee:
    return Guarantee(f"nothing is promised: {why}", theorem, "", numbers, NONE)
