"""How many examples the theorems ask for at the gaps that were seen, beside how many were used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.goodness.certificates import WeightedGoodness
from similitude.goodness.class_means import WeakGoodness
from similitude.goodness.gaps import StrongGoodness
from similitude.goodness.separability import Separability
from similitude.support.results import Curve, Result
from similitude.theory import bounds

DELTA = 0.05
"""Probability of failure in the theorems."""

EPSILON = 0.1
"""Share of objects that may fall short, where the gap is positive there; otherwise the next at which it is."""

LEAST = 1e-9
"""A smaller gap is none."""

BB = "Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006"
BBV = "Balcan, Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004"


@dataclass(frozen=True)
class Size(Result):
    """What a theorem asks for, if the gap were what the sample shows.

    Attributes
    ----------
    what : str
        What is counted.
    theorem : str
    gamma : float
        The gap or margin, as estimated; 1 where it is larger.
    epsilon : float or None
        The share of objects that fall short of it.
    delta : float
        The probability of failure.
    needed : int or None
        None: no gap was seen that the theorem could speak of.
    used : int
        How many there were.
    """

    what: str
    theorem: str
    gamma: float
    epsilon: float | None
    delta: float
    needed: int | None
    used: int

    def __str__(self) -> str:
        if self.needed is None:
            return f"{self.what}: no positive gap was seen; {self.used:,} were used ({self.theorem})"
        short = "" if self.epsilon is None else f" for all but {100 * self.epsilon:g} %"
        return (
            f"{self.what}: {self.needed:,} if the gap is {self.gamma:.3g}{short}; {self.used:,} were used "
            f"({self.theorem})"
        )


def sizes(
    strong: StrongGoodness,
    weighted: WeightedGoodness | None,
    weak: WeakGoodness,
    margin: Separability,
    per_class: int,
    landmarks_per_class: int,
) -> tuple[Size, ...]:
    """Return the sizes of the theorems; with k classes delta is divided by k - 1, for the own class must beat each."""
    k = len(weak.classes_)
    delta = DELTA / (k - 1)
    epsilon, gamma = _first_positive(strong)
    needed = bounds.votes(gamma, delta) if gamma > LEAST else None
    found = [Size("votes of each class", f"Theorem 1, {BB}", gamma, epsilon, delta, needed, per_class)]
    if weighted is not None:
        epsilon, gamma = _first_positive(weighted)
        needed = bounds.similarity_landmarks(gamma, delta) if gamma > LEAST else None
        theorem = f"Theorem 2, {BB}"
        found.append(Size("landmarks of each class", theorem, gamma, epsilon, delta, needed, landmarks_per_class))
    if k == 2:
        gamma = min(weak.balanced.value, 1.0)
        needed = bounds.weak_votes(gamma, DELTA) if gamma > LEAST else None
        found.append(Size("weak votes of each class", f"Theorem 8, {BB}", gamma, None, DELTA, needed, per_class))
    if margin.value is not None and margin.value > LEAST:
        gamma = min(margin.value, 1.0)
        needed = bounds.landmarks(EPSILON, gamma, DELTA)
        found.append(Size("landmarks of the kernel", f"Theorem 1, {BBV}", gamma, None, DELTA, needed, margin.n))
    return tuple(found)


def _first_positive(curve: Curve) -> tuple[float, float]:
    """Return the first share, from 10 % on, at which the gap is positive, and the gap, at most 1."""
    from_here = np.flatnonzero(curve.x >= EPSILON - 1e-12)
    positive = from_here[curve.y[from_here] > 0]
    at = int(positive[0] if len(positive) else from_here[-1])
    return float(curve.x[at]), min(float(curve.y[at]), 1.0)
