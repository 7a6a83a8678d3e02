"""The numbers of examples that the theorems need at the observed gaps, and the numbers that were used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.goodness.class_means import WeakGoodness
from similitude.goodness.gaps import StrongGoodness
from similitude.goodness.margins import Separability
from similitude.goodness.weighted import WeightedGoodness
from similitude.support import Curve, Result
from similitude.theory import BALCAN_BLUM, BALCAN_BLUM_VEMPALA, DELTA, bounds


@dataclass(frozen=True)
class Size(Result):
    """The number of examples that a theorem needs, if the gap is that of the sample.

    Attributes
    ----------
    what : str
        What is counted.
    theorem : str
    gamma : float
        The estimated gap or margin, at most 1.
    epsilon : float or None
        The share of objects that fall short of it.
    delta : float
        The probability of failure.
    needed : int or None
        None if no positive gap was observed.
    used : int
        The number that was used.
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
            return f"{self.what}: no positive gap was observed; {self.used:,} were used ({self.theorem})"
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
    """Return the sizes in the theorems; with k classes delta is divided by k - 1, the number of other classes."""
    k = len(weak.classes_)
    delta = DELTA / (k - 1)
    epsilon, gamma = _first_positive(strong)
    needed = bounds.votes(gamma, delta) if gamma > 1e-9 else None
    found = [Size("votes of each class", f"Theorem 1, {BALCAN_BLUM}", gamma, epsilon, delta, needed, per_class)]
    if weighted is not None:
        epsilon, gamma = _first_positive(weighted)
        needed = bounds.similarity_landmarks(gamma, delta) if gamma > 1e-9 else None
        theorem = f"Theorem 2, {BALCAN_BLUM}"
        found.append(Size("landmarks of each class", theorem, gamma, epsilon, delta, needed, landmarks_per_class))
    if k == 2:
        gamma = min(weak.balanced.value, 1.0)
        theorem = f"Theorem 8, {BALCAN_BLUM}"
        needed = bounds.weak_votes(gamma, DELTA) if gamma > 1e-9 else None
        found.append(Size("weak votes of each class", theorem, gamma, None, DELTA, needed, per_class))
    if margin.value is not None and margin.value > 1e-9:
        gamma = min(margin.value, 1.0)
        theorem = f"Theorem 1, {BALCAN_BLUM_VEMPALA}"
        needed = bounds.landmarks(0.1, gamma, DELTA)
        found.append(Size("landmarks of the kernel", theorem, gamma, None, DELTA, needed, margin.n))
    return tuple(found)


def _first_positive(curve: Curve) -> tuple[float, float]:
    """Return the first share, from 10 % on, at which the gap is positive, and the gap, at most 1."""
    from_here = np.flatnonzero(curve.x >= 0.1 - 1e-12)
    positive = from_here[curve.y[from_here] > 0]
    at = int(positive[0] if len(positive) else from_here[-1])
    return float(curve.x[at]), min(float(curve.y[at]), 1.0)
