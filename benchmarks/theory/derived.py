"""Bounds against values that are derived here once more: by solving the inequalities of the proofs, without formulas.

Most theorems are far from tight (Lemma 1 asks for twenty times what the hard problem needs), so that no experiment can
tell a constant from its half. What a proof asks for can be found without its closed form: the smallest size at which
the inequality that it ends with holds. That is done here, by bisection, beside the sizes that the papers print.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV
from benchmarks.theory.signs import BB
from similitude import bounds

Case = tuple[Callable[[], Any], Callable[[], Any]]
"""What the library says, and what is derived."""


def smallest(enough: Callable[[float], bool], most: float = 1e18) -> float:
    """Return the smallest size, as a real number, that is enough; if some is, all larger ones are.

    >>> round(smallest(lambda n: n * n >= 2), 9)
    1.414213562
    """
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            raise ValueError("no size is enough")
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def largest(fits: Callable[[float], bool]) -> float:
    """Return the largest real number that fits, where 0 does and large numbers do not."""
    return smallest(lambda size: not fits(size))


def whole(size: float) -> int:
    """Round a size up, allowing for rounding errors."""
    return math.ceil(size * (1 - 1e-9))


def hoeffding(n: float, deviation: float, width: float) -> float:
    """Return Hoeffding's bound for the mean of n independent numbers in an interval of this width."""
    return math.exp(-2 * n * deviation**2 / width**2)


def refused(call: Callable[[], Any]) -> int:
    """Return 1 if arguments are refused, otherwise 2."""
    try:
        call()
    except ValueError:
        return 1
    return 2


def draws(successes: float, chance: float, failure: float) -> int:
    """Return how many draws have so many successes by Chernoff's bound exp(-(mu - s)^2 / (2 mu)) for the lower tail."""
    fine = smallest(lambda mu: mu > successes and (mu - successes) ** 2 / (2 * mu) >= math.log(1 / failure))
    return whole(fine / chance)


def one_lemma(epsilon: float, gamma: float, delta: float) -> int:
    """A draw succeeds with probability epsilon, at most 4/gamma^2 times: half the mean mu is to be as large.

    Chernoff: fewer than mu/2 with probability exp(-mu/8). The paper takes mu for which both parts hold as a sum.
    """
    first = smallest(lambda mu: mu / 2 >= 4 / gamma**2)
    return whole((first + smallest(lambda mu: math.exp(-mu / 8) <= delta)) / epsilon)


def imperfect(epsilon: float, gamma: float, delta: float, alpha: float) -> int:
    """As many good draws as the lemma asks for at delta/2, but for another delta/2."""
    return draws(one_lemma(epsilon, gamma, delta / 2), 1 - alpha, delta / 2)


def kept_length(distortion: float, failure: float) -> int:
    """Arriaga and Vempala: 2 exp(-(e^2 - e^3) k / 4) is to be the failure."""
    e = distortion
    return whole(smallest(lambda k: 2 * math.exp(-(e**2 - e**3) * k / 4) <= failure))


def two_stages(epsilon: float, gamma: float, delta: float) -> int:
    """Three lengths keep a cosine up to 4e/(1 - e) = gamma/4; each may fail with a third of epsilon delta/4."""
    e = largest(lambda e: e < 1 and 4 * e / (1 - e) <= gamma / 4)
    return kept_length(e, epsilon * delta / 4 / 3)


def vote(gamma: float, delta: float) -> int:
    """The difference of two means of m numbers in [-1, 1] falls by gamma with probability delta^2 at most.

    It is the mean of 2m independent numbers in [-2, 2].
    """
    return whole(smallest(lambda m: hoeffding(2 * m, gamma, 4) <= delta**2))


def similarity_map(gamma: float, delta: float) -> int:
    """The same, but half of gamma is to be left."""
    return whole(smallest(lambda d: hoeffding(2 * d, gamma / 2, 4) <= delta**2))


def weak_vote(gamma: float, delta: float) -> int:
    """The mean of l g, of 2m numbers in [-1, 1] and gamma/2 on average, is to stay above gamma/4."""
    return whole(smallest(lambda m: hoeffding(2 * m, gamma / 4, 2) <= delta))


def printed_vote(gamma: float, delta: float, kept: float) -> int:
    """As printed: each of two means in an interval of width 1 is off by half of what may be lost, but for delta^2/4."""
    return whole(smallest(lambda m: hoeffding(m, (1 - kept) * gamma / 2, 1) <= (delta / 2) ** 2))


def reasonable(tau: float, gamma: float, epsilon: float, delta: float) -> int:
    """The mean of n landmarks is off by (1 + sqrt(2 L))/sqrt(n) in units of 1/gamma, but for delta/2."""
    spread = 1 + math.sqrt(2 * math.log(2 / delta))
    return draws(whole(smallest(lambda n: n > 0 and spread / math.sqrt(n) / gamma <= epsilon)), tau, delta / 2)


def side_by_side(gamma: float, alpha: tuple[float, ...]) -> float:
    """Similarities of 1 to d landmarks of each class, of which the proof keeps half the gap, under the proof's w."""
    d, n = 7, len(alpha)
    w = np.concatenate([share * np.repeat([1.0, -1.0], d) for share in alpha])
    longest = np.ones(2 * d * n)
    return float(d * gamma / 2 / np.linalg.norm(w) / np.linalg.norm(longest))


def least_hinge(epsilon: float, gamma: float, delta: float, definition: int) -> float:
    """w = 4/gamma is 0 off where the margin is gamma/4; elsewhere a margin of -1 costs 1 + |w|."""
    length = 1 / (gamma / 4)
    worst = max(0.0, 1 - (-1.0) * length)
    return (epsilon + delta) * worst if definition == 3 else epsilon + epsilon + delta * worst


def updates(gamma: float) -> int:
    """w w* grows by gamma and |w|^2 by at most 3 with each update: N gamma <= sqrt(3 N)."""
    return math.floor(largest(lambda n: n * gamma <= math.sqrt(3 * n)) * (1 + 1e-9))


def printed_sample(gamma: float, accuracy: float, delta: float) -> int:
    """As printed: the mean number of updates is 3/gamma^2 + ln(1/delta)."""
    mean = largest(lambda n: n * gamma <= math.sqrt(3 * n)) + math.log(1 / delta)
    return whole(smallest(lambda size: size * accuracy >= mean))


def good_similarity(epsilon: float, gamma: float, accuracy: float) -> tuple[float, float]:
    """By Markov, misses of epsilon + 2a on average exceed gamma/8 for a share of 8(epsilon + 2a)/gamma; 1/2 is left."""
    return (epsilon + accuracy + accuracy) / (gamma / 8), 0.5 / printed_sample(gamma, accuracy, accuracy)


def consistent(dimension: int, epsilon: float, delta: float) -> int:
    """Blumer et al., Theorem 2.1 (ii), as printed."""
    return whole(max(4 / epsilon * math.log2(2 / delta), 8 * dimension / epsilon * math.log2(13 / epsilon)))


EGD = ((0.1, 0.2, 0.05), (0.3, 0.5, 0.01), (0.05, 0.1, 0.2), (0.4, 0.9, 0.5))
GD = ((0.2, 0.05), (0.5, 0.01), (0.05, 0.2), (0.9, 0.4))
TABLE: dict[str, tuple[str, str, tuple[Case, ...]]] = {}


def derived(name: str, theorem: str, how: str, cases: list[Case]) -> None:
    """Put a comparison into the table."""
    TABLE[name] = (theorem, how, tuple(cases))


derived(
    "landmarks",
    f"Lemma 1, {BBV}",
    "Chernoff's bound for 4/gamma^2 successes",
    [(lambda s=s: bounds.landmarks(*s), lambda s=s: one_lemma(*s)) for s in EGD]
    + [(lambda: bounds.landmarks(0.1, 0.2, 0.05), lambda: 2240)],
)
derived(
    "imperfect",
    f"Section 2, {BBV}",
    "Chernoff's bound for as many good draws",
    [
        (lambda s=s, a=a: bounds.landmarks(*s, alpha=a), lambda s=s, a=a: imperfect(*s, a))
        for s in EGD
        for a in (0.1, 0.6)
    ],
)
derived(
    "practical_landmarks",
    f"Lemma 1, {BBV}: practical size (no theorem)",
    "0.5/(epsilon gamma^2)",
    [
        (lambda e=e, g=g: bounds.practical_landmarks(e, g), lambda e=e, g=g: whole(1 / (2 * e * g * g)))
        for e, g, _ in EGD
    ],
)
derived(
    "compact_dimension",
    f"Theorem 3, {BBV}",
    "three squared lengths that keep a cosine",
    [(lambda s=s: bounds.compact_dimension(*s), lambda s=s: two_stages(*s)) for s in EGD]
    + [(lambda: bounds.compact_dimension(0.1, 0.2, 0.05, practical=True), lambda: 1060)]
    + [
        (
            lambda s=s: bounds.compact_dimension(*s, practical=True),
            lambda s=s: whole(smallest(lambda d: math.exp(-d * s[1] ** 2 / 8) <= s[0] * s[2])),
        )
        for s in EGD
    ],
)
derived(
    "johnson_lindenstrauss",
    f"Theorem 2, {BBV}",
    "2 exp(-(e^2 - e^3) k/4) = failure",
    [(lambda s=s: bounds.johnson_lindenstrauss(*s), lambda s=s: kept_length(*s)) for s in GD],
)
derived(
    "separable_sample",
    f"Corollary 1, {BBV}",
    "the union bound",
    [
        (
            lambda e=e, d=d: bounds.separable_sample(e, d),
            lambda e=e, d=d: math.floor(largest(lambda s: s * e <= d) * (1 + 1e-9)),
        )
        for e, d in ((0.001, 0.05), (0.013, 0.3), (0.0002, 0.7))
    ],
)
derived(
    "consistent_sample",
    "Theorem 2.1, Blumer, Ehrenfeucht, Haussler and Warmuth (1989)",
    "the printed formula",
    [
        (lambda s=s: bounds.consistent_sample(*s), lambda s=s: consistent(*s))
        for s in ((10, 0.1, 0.05), (3, 0.4, 0.01), (1, 0.5, 1e-9), (1, 0.3, 1e-30))
    ],
)
derived(
    "votes",
    f"Theorem 1, {BB}",
    "Hoeffding's inequality for a difference of means",
    [(lambda s=s: bounds.votes(*s), lambda s=s: vote(*s)) for s in GD]
    + [(lambda s=s: bounds.votes(*s, as_printed=True), lambda s=s: printed_vote(*s, 0)) for s in GD],
)
derived(
    "similarity_landmarks",
    f"Theorem 2, {BB}",
    "Hoeffding's inequality, with half of the gap left",
    [(lambda s=s: bounds.similarity_landmarks(*s), lambda s=s: similarity_map(*s)) for s in GD]
    + [(lambda s=s: bounds.similarity_landmarks(*s, as_printed=True), lambda s=s: printed_vote(*s, 0.5)) for s in GD],
)
derived(
    "reasonable_landmarks",
    "Balcan, Blum and Srebro (2008), size derived here",
    "McDiarmid's inequality and Chernoff's bound",
    [
        (lambda s=s: bounds.reasonable_landmarks(*s), lambda s=s: reasonable(*s))
        for s in ((0.5, 0.4, 0.25, 0.05), (0.2, 0.9, 0.8, 0.3))
    ]
    + [
        (
            lambda t=t, g=g, e=e, d=d: bounds.reasonable_landmarks(t, g, e, d, as_printed=True),
            lambda t=t, g=g, e=e, d=d: whole((2 + 32 / (g * e) ** 2) * math.log(2 / d) / t),
        )
        for t, g, e, d in ((0.5, 0.4, 0.25, 0.05), (0.2, 0.9, 0.8, 0.3), (0.1, 1.0, 0.999, 0.001))
    ],
)
derived(
    "combined_margin",
    f"Theorem 3, {BB}",
    "the proof's separator of features of length sqrt(2nd)",
    [
        (lambda g=g, a=a: bounds.combined_margin(g, len(a), math.hypot(*a)), lambda g=g, a=a: side_by_side(g, a))
        for g in (0.4, 0.9)
        for a in ((1.0,), (0.5, 0.5), (0.7, 0.2, 0.1))
    ]
    + [(lambda: bounds.combined_margin(0.3, 5), lambda: side_by_side(0.3, (1.0, 0.0, 0.0, 0.0, 0.0)))]
    + [(lambda a=a: refused(lambda: bounds.combined_margin(0.3, 4, a)), lambda: 1) for a in (0.45, 1.5)],  # no |alpha|
)
derived(
    "weak_votes",
    f"Theorem 8, {BB}",
    "Hoeffding's inequality for the mean of l g",
    [(lambda s=s: bounds.weak_votes(*s), lambda s=s: weak_vote(*s)) for s in GD],
)
derived(
    "hinge_error",
    f"Section 3.1, {BB}",
    "the loss of the proof's separator",
    [
        (lambda s=s, k=k: bounds.hinge_error(*s, definition=k), lambda s=s, k=k: least_hinge(*s, k))
        for s in ((0.01, 0.5, 0.02), (0.1, 0.2, 0.05))
        for k in (3, 4)
    ]
    + [(lambda: bounds.hinge_error(0.01, 0.5, 0.01), lambda: 0.18)],
)
derived(
    "margin_perceptron_updates",
    f"Lemma 5, {BB}",
    "N gamma <= sqrt(3 N)",
    [(lambda g=g: bounds.margin_perceptron_updates(g), lambda g=g: updates(g)) for g in (0.1, 0.23, 0.5, 0.9)],
)
derived(
    "margin_perceptron_sample",
    f"Lemma 6, {BB}",
    "Chernoff's bound for 3/gamma^2 updates",
    [
        (lambda s=s: bounds.margin_perceptron_sample(*s), lambda s=s: draws(updates(s[0]), s[1], s[2]))
        for s in ((0.1, 0.1, 0.05), (0.5, 0.3, 0.01), (0.9, 0.05, 0.5))
    ]
    + [
        (lambda s=s: bounds.margin_perceptron_sample(*s, as_printed=True), lambda s=s: printed_sample(*s))
        for s in ((0.1, 0.1, 0.05), (0.5, 0.3, 0.01), (0.9, 0.05, 0.001))
    ],
)
derived(
    "kernel_as_similarity",
    f"Theorems 4 and 7, {BB}",
    "Markov's inequality",
    [
        (lambda s=s, i=i: bounds.kernel_as_similarity(*s)[i], lambda s=s, i=i: good_similarity(*s)[i])
        for s in ((0.0, 0.1, 0.000625), (0.01, 0.5, 0.01), (0.2, 0.9, 0.1))
        for i in (0, 1)
    ],
)
derived(
    "perceptron_mistakes",
    "Theorem 1, Balcan's notes 10-315",
    "w w* >= M gamma and |w| <= R sqrt(M)",
    [
        (
            lambda r=r, g=g: bounds.perceptron_mistakes(r, g),
            lambda r=r, g=g: math.floor(largest(lambda m: m * g <= r * math.sqrt(m)) * (1 + 1e-9)),
        )
        for r, g in ((1.0, 0.25), (2.0, 0.3), (7.0, 6.9), (1.0, 1.0))
    ]
    + [(lambda: bounds.perceptron_mistakes(1.0, 1.0 + 5e-10), lambda: 1)]  # a margin that is 1 but for rounding
    + [(lambda: refused(lambda: bounds.perceptron_mistakes(1.0, 1.5)), lambda: 1)],  # larger than the radius
)


def agrees_with_the_proof(trials: int, rng: np.random.Generator, name: str, off: float = 1.0) -> Finding:
    """Compare what the library says with what was derived, at all settings."""
    theorem, how, cases = TABLE[name]
    worst, said = 0.0, []
    for say, derive in cases:
        value, expected = say(), derive() * off
        worst = max(worst, abs(math.log(value / expected)) if value > 0 and math.isfinite(value) else math.inf)
        said.append(value)
    return Finding(
        f"{theorem}: bounds.{name.replace('imperfect', 'landmarks')}, derived once more",
        f"the value that follows from {how}, at {len(cases)} settings",
        f"{said[0]:,.6g} and others, off by a factor {math.exp(worst):.9g} at most" if worst < 700 else "another value",
        len(cases),
        bool(worst < 1e-6),
    )


EXPERIMENTS = tuple(
    Experiment(f"derived_{name}", agrees_with_the_proof, 1, 1, {"name": name}, {"off": 1.1}) for name in TABLE
)
