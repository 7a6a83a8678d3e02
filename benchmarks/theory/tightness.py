"""How tight: the smallest size that is enough on a hard problem, computed exactly, and how it grows.

Where a bound is less than twice what the problem needs, its constant cannot be halved or doubled. Elsewhere its
exponents are measured: the slope of the size that is needed, in logarithms, against each figure that it depends on.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.theory.landmarks import failure_rates
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV
from benchmarks.theory.signs import BB
from similitude import bounds

NEAR = 0.3
"""Exponents that differ by less are the same; logarithms and rounding bend the slopes of finite sizes."""


def first(enough: Callable[[int], bool], least: int = 1) -> int:
    """Return the first whole number that is enough."""
    high = least
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def atoms_needed(epsilon: float, gamma: float, delta: float) -> int:
    """Landmarks for half of the rare atoms, by the exact Markov chain."""
    most = round(2 / (epsilon * gamma**2) * (1 + math.log(1 / delta) / 8))
    return 1 + int(np.argmax(failure_rates(most, epsilon, gamma) <= delta))


def votes_needed(gamma: float, delta: float, kept: float) -> int:
    """Signs of mean gamma/2, as many of each class: the mean must not fall to a share `kept` of that."""
    from scipy.stats import binom

    def enough(m: int) -> bool:
        ones = 2 * m * (1 + kept * gamma / 2) / 2
        return bool(binom.cdf(math.ceil(ones - 1e-9) - (kept > 0), 2 * m, (1 + gamma / 2) / 2) <= delta)

    return first(enough)


def lengths_needed(distortion: float, failure: float) -> int:
    """Normal projections: k times the square of a unit vector's image is chi-squared with k degrees of freedom."""
    from scipy.stats import chi2

    def enough(k: int) -> bool:
        tails = chi2.cdf(k * (1 - distortion), k) + chi2.sf(k * (1 + distortion), k)
        return bool(tails <= failure)

    return first(enough)


def good_draws_needed(epsilon: float, gamma: float, delta: float, alpha: float) -> int:
    """As many good draws as the lemma asks for at delta/2, by the binomial distribution."""
    from scipy.stats import binom

    wanted = bounds.landmarks(epsilon, gamma, delta / 2)
    return first(lambda n: bool(binom.cdf(wanted - 1, n, 1 - alpha) <= delta / 2))


def examples_allowed(error: float, delta: float) -> int:
    """Independent examples that are all right with probability 1 - delta."""
    return first(lambda s: 1 - (1 - error) ** (s + 1) > delta)


def mistakes_made(gamma: float) -> int:
    """A perceptron errs on each of 1/gamma^2 orthonormal examples once."""
    return round(1 / gamma**2)


@dataclass(frozen=True)
class Hard:
    """A bound and what its hard problem needs, at some figures and along each of them.

    Attributes
    ----------
    theorem : str
    bound, needed : callable
        Of the figures, by name.
    base : mapping
    along : mapping
        The values that each figure takes, the others being as in `base`.
    most : float
        The bound is at most so many times what is needed.
    """

    theorem: str
    bound: Callable[..., float]
    needed: Callable[..., float]
    base: Mapping[str, float]
    along: Mapping[str, tuple[float, ...]]
    most: float

    def slope(self, size: Callable[..., float], name: str) -> float:
        """Return the exponent of a figure: that of ln(1/delta) for a probability of failure."""
        values = self.along[name]
        sizes = [math.log(size(**{**self.base, name: value})) for value in values]
        scale = [math.log(-math.log(one)) if name in ("delta", "failure") else math.log(one) for one in values]
        return float(
            np.mean([(b - a) / (d - c) for (a, b), (c, d) in zip(pairwise(sizes), pairwise(scale), strict=True)])
        )

    def ratios(self) -> list[float]:
        """Return the bound divided by what is needed, everywhere."""
        places = [{**self.base, name: value} for name, values in self.along.items() for value in values]
        return [self.bound(**place) / self.needed(**place) for place in places]


PROBLEMS = {
    "landmarks": Hard(
        f"Lemma 1, {BBV}: orthonormal objects",
        lambda epsilon, gamma, delta: bounds.landmarks(epsilon, gamma, delta),
        atoms_needed,
        {"epsilon": 0.1, "gamma": 0.1, "delta": 0.05},
        {"epsilon": (0.05, 0.1, 0.2), "gamma": (0.05, 0.1, 0.2), "delta": (0.3, 0.05, 0.001)},
        25,
    ),
    "practical_landmarks": Hard(
        f"Lemma 1, {BBV}: practical size (no theorem), one failure in 20",
        lambda epsilon, gamma: bounds.practical_landmarks(epsilon, gamma),
        lambda epsilon, gamma: atoms_needed(epsilon, gamma, 0.05),
        {"epsilon": 0.1, "gamma": 0.1},
        {"epsilon": (0.05, 0.1, 0.2), "gamma": (0.05, 0.1, 0.2)},
        2,
    ),
    "good_draws": Hard(
        f"Section 2, {BBV}: good draws among all",
        lambda epsilon, gamma, delta, alpha: bounds.landmarks(epsilon, gamma, delta, alpha),
        good_draws_needed,
        {"epsilon": 0.4, "gamma": 0.5, "delta": 0.01, "alpha": 0.5},
        {"alpha": (0.2, 0.5, 0.8), "delta": (0.1, 0.01, 0.0001)},
        2,
    ),
    "johnson_lindenstrauss": Hard(
        f"Theorem 2, {BBV}: normal entries",
        lambda distortion, failure: bounds.johnson_lindenstrauss(distortion, failure),
        lengths_needed,
        {"distortion": 0.1, "failure": 1e-4},
        {"distortion": (0.05, 0.1, 0.2), "failure": (1e-3, 1e-4, 1e-6)},
        2,
    ),
    "separable_sample": Hard(
        f"Corollary 1, {BBV}: independent examples",
        examples_allowed,  # the other way round: the theorem says how many are right, and more are
        lambda error, delta: bounds.separable_sample(error, delta),
        {"error": 0.001, "delta": 0.2},
        {"error": (0.01, 0.001, 0.0001), "delta": (0.2, 0.1)},
        2,
    ),
    "perceptron_mistakes": Hard(
        "Theorem 1, Balcan's notes 10-315: orthonormal examples",
        lambda gamma: bounds.perceptron_mistakes(1.0, gamma),
        mistakes_made,
        {"gamma": 0.25},
        {"gamma": (0.125, 0.25, 0.5)},
        1.5,
    ),
    "votes": Hard(
        f"Theorem 1, {BB}: signs that all objects hear",
        lambda gamma, delta: bounds.votes(gamma, delta),
        lambda gamma, delta: votes_needed(gamma, delta, 0.0),
        {"gamma": 0.2, "delta": 1e-6},
        {"gamma": (0.1, 0.2, 0.4), "delta": (1e-4, 1e-6, 1e-10)},
        3.5,
    ),
    "similarity_landmarks": Hard(
        f"Theorem 2, {BB}: signs that all objects hear",
        lambda gamma, delta: bounds.similarity_landmarks(gamma, delta),
        lambda gamma, delta: votes_needed(gamma, delta, 0.5),
        {"gamma": 0.2, "delta": 1e-6},
        {"gamma": (0.1, 0.2, 0.4), "delta": (1e-4, 1e-6, 1e-10)},
        3.5,
    ),
    "weak_votes": Hard(
        f"Theorem 8, {BB}: signs that all objects hear",
        lambda gamma, delta: bounds.weak_votes(gamma, delta),
        lambda gamma, delta: votes_needed(gamma, delta, 0.5),
        {"gamma": 0.2, "delta": 1e-6},
        {"gamma": (0.1, 0.2, 0.4), "delta": (1e-4, 1e-6, 1e-10)},
        2,
    ),
}


def tight(trials: int, rng: np.random.Generator, name: str, tilt: float = 0.0) -> Finding:
    """Compare sizes and exponents; a bound may be tilted by a power of its first figure."""
    hard, figure = PROBLEMS[name], next(iter(PROBLEMS[name].along))

    def tilted(**at: float) -> float:
        return PROBLEMS[name].bound(**at) * at[figure] ** tilt

    hard = dataclasses.replace(hard, bound=tilted)
    slopes = {of: (hard.slope(hard.bound, of), hard.slope(hard.needed, of)) for of in hard.along}
    ratios = hard.ratios()
    shown = {of: f"ln(1/{of})" if of in ("delta", "failure") else of for of in slopes}
    return Finding(
        f"{hard.theorem}, growth",
        f"{', '.join(f'{shown[of]}^{one:.2f}' for of, (one, _) in slopes.items())}; "
        f"1 to {hard.most:g} times what is needed",
        f"{', '.join(f'{shown[of]}^{two:.2f}' for of, (_, two) in slopes.items())}; "
        f"{min(ratios):.2f} to {max(ratios):.2f} times",
        len(ratios),
        bool(
            all(abs(one - two) < NEAR for one, two in slopes.values()) and 1 <= min(ratios) <= max(ratios) <= hard.most
        ),
    )


EXPERIMENTS = tuple(Experiment(f"tight_{name}", tight, 1, 1, {"name": name}, {"tilt": 1.0}) for name in PROBLEMS)
