"""Figures of the guarantees of maps and estimators: what they say, and what follows from the inequalities of proofs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from benchmarks.theory.derived import reasonable, smallest, whole
from benchmarks.theory.guarantees import SAID_DELTA, stated
from benchmarks.theory.nouns import Experiment
from benchmarks.theory.separators import BBV
from benchmarks.theory.signs import BB
from similitude import FromBlocks, SimilarityClassifier
from similitude.kernels import Gaussian, Linear
from similitude.landmarks import COMPACT, SEPARABLE, WIDE, Ask
from similitude.landmarks.guarantees import guarantee_of_gaps, guarantee_of_reasonable
from similitude.maps import CompactMap, ProjectionMap
from similitude.results import Guarantee

Figures = Iterator[tuple[float, float]]
"""What a guarantee says, and what it should say."""

LANDMARK_MAPS = ((SEPARABLE, 1.0, None), (WIDE, 1.0, 1 / 2), (COMPACT, 1 / 2, 1 / 4))
"""A promise, the share of error and of failures that landmarks may use up, and what is left of the margin."""


def says(condition: bool) -> tuple[float, float]:
    """Return a pair of figures that agree if a condition is true."""
    return (2.0 if condition else 1.0), 2.0


def read(pattern: str, promise: Guarantee) -> float:
    """Return the number at this place of a statement; 0 if it is not there."""
    found = re.search(pattern, promise.statement)
    return float(found[1].rstrip(",.").replace(",", "")) if found else 0.0


def rounded(said: float, exact: float) -> tuple[float, float]:
    """Return figures that agree if a number was rounded down to four digits."""
    return says(exact * (1 - 1e-3) <= said <= exact * (1 + 1e-9))


def each_failure(delta: float, choices: int, k: int) -> float:
    """Return the probability of failure of a choice, for one of its classes against the others if there are several."""
    return delta / (choices * (k if k > 2 else 1))


def lemma(epsilon: float, margin: float, delta: float) -> float:
    """The mean number of draws that succeed: half of it is 4/margin^2 but for exp(-mu/8) = delta, as a sum."""
    return (8 / margin**2 + smallest(lambda mu: math.exp(-mu / 8) <= delta)) / epsilon


def of_maps(rng: np.random.Generator) -> Figures:
    """Lemma 1, Theorem 1 and Theorem 3 on mappings: the smallest margin for which the draws suffice."""
    for (promise, share, left), drawn, (choices, k) in product(
        LANDMARK_MAPS, (1500, 6000), ((1, 2), (3, 2), (1, 4), (2, 3))
    ):
        for ask in (Ask(), Ask(0.2, None, 0.1)):
            failure = share * each_failure(ask.delta, choices, k)
            margin = smallest(lambda g: g > 0 and lemma(share * ask.epsilon, g, failure) <= drawn)  # noqa: B023
            made = promise.made(ask, drawn, [], choices, k)
            yield made.numbers["margin"], margin
            yield made.numbers["landmarks_theorem"] / drawn, 1.0
            yield from _stated(made, ask, margin, left, k)
    for promise, share, left in LANDMARK_MAPS:
        yield from _asked(promise, share, left)
    yield from _thresholds()
    yield from _parameters(rng)


def _stated(made: Guarantee, ask: Ask, margin: float, left: float | None, k: int) -> Figures:
    """The figures of a statement, and of which classes it speaks."""
    yield made.numbers["epsilon"], ask.epsilon
    yield made.numbers["delta"], ask.delta
    yield read(r"error at most (\S+)", made), ask.epsilon
    yield read(r"probability (\S+)", made), 1 - ask.delta
    if left is not None:
        yield rounded(read(r"at margin (\S+)", made), left * margin)
    yield says(("for each class" in made.statement) == (k > 2))


def _asked(promise: Any, share: float, left: float | None) -> Figures:
    """With a given margin: the landmarks that are asked for, one too few, and enough; by default two classes."""
    ask = Ask(0.3, 0.4, 0.2)
    needed = whole(lemma(share * 0.3, 0.4, share * 0.2))
    yield promise.landmarks(ask, 0.4), needed
    made, few = promise.made(ask, needed, []), promise.made(ask, needed - 1, [])
    yield made.numbers["landmarks_theorem"], needed
    yield says(made.grade == "CONDITIONAL" and few.grade == "NONE")
    yield from _stated(made, ask, 0.4, left, 2)


def _thresholds() -> Figures:
    """At a margin of 1 the lemma asks for 8/epsilon (1 + ln 1/delta) landmarks: with fewer there is no margin."""
    ask, enough = Ask(0.8, None, math.exp(-1)), 20
    at, below, above = (WIDE.made(ask, n, []) for n in (enough, enough - 4, enough + 6))
    yield at.numbers["margin"], 1.0
    yield says(below.grade == "NONE" and "any margin" in below.statement)
    yield above.numbers["margin"], 1 / math.sqrt(1.6)


def _parameters(rng: np.random.Generator) -> Figures:
    """What maps take for granted if nothing is asked, and what they make of it."""
    yield Ask.of(None, None, None).epsilon, 0.1
    for delta in (Ask.of(None, None, None).delta, Ask.of(0.2, 0.3, None).delta):
        yield delta, SAID_DELTA
    yield Ask.of(None, None, 0.2).delta, 0.2
    X = rng.normal(size=(700, 3))
    for kind, share in ((ProjectionMap, 1.0), (CompactMap, 0.5)):
        numbers = kind(Gaussian(1.0), epsilon=0.5, margin=0.5, delta=0.1, random_state=0).fit(X).guarantee_.numbers
        yield numbers["landmarks_theorem"], whole(lemma(share * 0.5, 0.5, share * 0.1))


def gap_of_means(sizes: tuple[int, ...], choices: int) -> float:
    """Hoeffding's inequality for a difference of means of numbers in [-1, 1], half of which is to be left.

    All but a share delta of the objects keep it, with probability 1 - delta, by Markov's inequality.
    """

    def failure(gap: float) -> float:
        widths = (np.repeat([2 / a, 2 / b], [a, b]) for a, b in combinations(sizes, 2))
        worst = max(math.exp(-2 * (gap / 2) ** 2 / float(one @ one)) for one in widths)
        return choices * (len(sizes) - 1) * worst

    return smallest(lambda gap: failure(gap) <= SAID_DELTA**2)


def margin_of_means(gap: float, sizes: tuple[int, ...], scales: tuple[float, ...]) -> float:
    """The proof's separator of two classes, under the worst combination, and the longest features, written out."""
    longest = np.linalg.norm(np.concatenate([np.full(sum(sizes), 1 / scale) for scale in scales]))
    lengths = [
        scale * float(np.linalg.norm(np.repeat([1 / a, -1 / b], [a, b])))
        for scale in scales
        for a, b in combinations(sizes, 2)
    ]
    return gap / 2 / max(lengths) / float(longest)


def of_gaps(rng: np.random.Generator) -> Figures:
    """Theorems 2 and 3 on similarities: gaps and margins for any sizes of classes and units of similarities."""
    settings = [
        ((400, 400), (1.0,), 1),
        ((150, 900), (1.0,), 3),
        ((300, 500, 400), (2.0, 0.5), 1),
        ((700, 350, 500, 900), (1.5,), 2),
        ((260, 260), (3.0, 1.0, 0.7), 1),
    ]
    for sizes, scales, choices in settings:
        made = guarantee_of_gaps(np.array(sizes), list(scales), choices, [], lambda gamma: None)
        gap = gap_of_means(sizes, choices)
        margin = margin_of_means(gap, sizes, scales)
        yield from ((made.numbers["gamma"], gap), (made.numbers["margin"], margin))
        yield from ((made.numbers["landmarks_per_class"], min(sizes)), (made.numbers["delta"], SAID_DELTA))
        yield made.numbers["choices"], choices
        yield rounded(read(r"at margin (\S+)", made), margin)
        yield says(("one for each class" in made.statement) == (len(sizes) > 2))
        yield read(r"probability (\S+)", made), 1 - SAID_DELTA
        yield read(r"epsilon \+ (\S+)", made), SAID_DELTA
    for sizes, choices in (((80, 80), 1), ((60, 90, 70), 2)):  # gaps of 1.1 and 1.4
        few = guarantee_of_gaps(np.array(sizes), [1.0], choices, [], lambda gamma: None)
        k = len(sizes)
        needed = whole(smallest(lambda d: choices * (k - 1) * math.exp(-d / 16) <= SAID_DELTA**2))  # noqa: B023
        yield says(few.grade == "NONE")
        yield read(r"(\S+) would do", few), needed
        enough = guarantee_of_gaps(np.full(k, needed), [1.0], choices, [], lambda gamma: None)
        yield says(enough.grade == "CONDITIONAL")


def of_reasonable(rng: np.random.Generator) -> Figures:
    """Landmarks without labels, half of them reasonable and 0.1 of hinge loss to be added."""
    for drawn, choices, k in ((4000, 1, 2), (9000, 3, 2), (9000, 1, 3), (60000, 2, 4)):
        made, failure = guarantee_of_reasonable(drawn, k, choices, []), each_failure(SAID_DELTA, choices, k)
        margin = smallest(lambda g: g > 0 and reasonable(0.5, g, 0.1, failure) <= drawn)  # noqa: B023
        yield made.numbers["gamma"], margin
        expected = {"landmarks": drawn, "tau": 0.5, "epsilon": 0.1, "delta": SAID_DELTA}
        yield from ((made.numbers[name], value) for name, value in expected.items())
        yield rounded(1 / max(read(r"absolute sum (\S+)", made), 1e-9), margin)
        yield read(r"at most L \+ (\S+)", made), 0.1
        yield says(("for each class" in made.statement) == (k > 2))
    needed = reasonable(0.5, 1.0, 0.1, SAID_DELTA)
    few, enough = (guarantee_of_reasonable(n, 2, 1, []) for n in (needed - 1, needed))
    yield says(few.grade == "NONE" and enough.grade == "CONDITIONAL")
    yield read(r"(\S+) would do", few), needed


def _signs(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Similarities of -1 and 1, which are not symmetric, and features that all have the same length."""
    return np.sign(np.outer(A[:, 0], B[:, 0]) + 0.6 * np.outer(A[:, 1], B[:, 2]) + 0.7 * np.outer(A[:, 3], B[:, 1]))


def of_fits(rng: np.random.Generator) -> Figures:
    """How many representations a fit chose among, with the number of landmarks given; and what no theorem is about."""
    X = rng.choice([-1.0, 1.0], size=(400, 4)) * np.exp(1e-3 * rng.normal(size=(400, 1)))
    y = (X[:, 0] > 0).astype(int)
    own, kernel = FromBlocks(_signs), Gaussian(1.0)

    def fitted(k: Any, n: int = 260, rule: str = "stratified", **how: Any) -> SimilarityClassifier:
        return SimilarityClassifier(k, n_landmarks=n, landmarks=rule, random_state=0, **how).fit(X, y)

    for side, choices, sides in (("auto", 3, 2), ("left", 2, 1), ("right", 1, 1), ("both", 1, 2)):
        model = fitted(own, side=side)
        made, sizes = model.guarantee_, tuple(np.bincount(y[model.landmark_indices_]).tolist())
        gap = gap_of_means(sizes, choices)
        yield made.numbers["gamma"], gap
        yield made.numbers["margin"], margin_of_means(gap, sizes, (1.0,) * sides)
        yield made.numbers["choices"], choices
    yield fitted([own, FromBlocks(lambda A, B: _signs(A[:, ::-1], B[:, ::-1]))]).guarantee_.numbers["choices"], 9
    yield fitted(own, penalty="l1", side="left").guarantee_.numbers["choices"], 1
    alone, failure = fitted(kernel, 400, "uniform").guarantee_, each_failure(SAID_DELTA, 1, 2)
    yield alone.numbers["margin"], smallest(lambda g: g > 0 and lemma(0.1, g, failure) <= 400)
    for several, reason in (([kernel, Linear()], "several kernels"), ([kernel, own], "different representations")):
        yield says(reason in fitted(several).guarantee_.statement)


EXPERIMENTS = tuple(
    Experiment(
        f"guarantee_{name}",
        stated,
        1,
        1,
        {"figures": figures, "theorem": theorem, "promised": promised},
        {"off": 1.1},
    )
    for name, figures, theorem, promised in (
        ("maps", of_maps, f"Theorems 1 and 3, {BBV}", "margins by the inequality in which the proof of Lemma 1 ends"),
        (
            "gaps",
            of_gaps,
            f"Theorems 2 and 3, {BB}",
            "gaps by Hoeffding's inequality, margins by the separator",
        ),
        (
            "reasonable",
            of_reasonable,
            "Balcan, Blum and Srebro (2008), size derived here",
            "margins by McDiarmid's inequality and Chernoff's bound",
        ),
        ("fits", of_fits, f"Theorems 2 and 3, {BB}, SimilarityClassifier", "all that was chosen among shares delta"),
    )
)
