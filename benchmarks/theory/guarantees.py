"""Figures of the guarantees of votes: what the fitted models say, and what follows from Hoeffding's inequality."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from benchmarks.theory.derived import hoeffding, smallest
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.signs import BB
from similitude.kernels import Gaussian
from similitude.learners.votes import AlignmentVote, SimilarityVote, WeakSimilarityVote

SAID_DELTA = 0.05
"""The probability of failure for which guarantees are stated."""


def fitted(model: Any, each: int, n_classes: int, rng: np.random.Generator) -> Any:
    """Fit a vote to separate clouds of different widths, as many examples of each class."""
    y = np.repeat(np.arange(n_classes), each)
    return model.fit(rng.normal(size=(len(y), 2)) * (0.1 + 0.5 * y[:, None]) + 5.0 * y[:, None], y)


def granted(model: Any, each: int, n_classes: int, rng: np.random.Generator) -> float:
    """Return 2 if there is a guarantee, otherwise 1."""
    return 1.0 if fitted(model, each, n_classes, rng).guarantee_.grade == "NONE" else 2.0


def votes(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """The smallest gap: by Markov, delta of the objects err but for delta if delta^2 err on average.

    With k classes each of k - 1 others may take the place of the own one: their chances add up.
    """
    for each, k in ((700, 2), (500, 3), (300, 5)):
        numbers = fitted(SimilarityVote(Gaussian(1.0)), each, k, rng).guarantee_.numbers
        gap = smallest(lambda g: (k - 1) * hoeffding(2 * each, g, 4) <= SAID_DELTA**2)  # noqa: B023
        yield from ((numbers["gamma"], gap), (numbers["delta"], SAID_DELTA))
        yield numbers["examples_theorem"] / each, 1.0
    for each, expected in ((10, 1.0), (30, 2.0)):  # smallest gaps of 1.55 and 0.89, and 1 is asked for
        yield granted(SimilarityVote(Gaussian(1.0)), each, 2, rng), expected


def weak_votes(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """The smallest gap at which the mean of l g stays above half of it, and the error by chance minus a quarter gap.

    With k classes the answer is right with probability 1/k + (lead over the mean of others)/(2k), and half is left.
    """
    for each, k in ((700, 2), (500, 3)):
        model = fitted(WeakSimilarityVote(Gaussian(1.0)), each, k, rng)
        numbers = model.guarantee_.numbers
        gap = smallest(lambda g: hoeffding(2 * each, g / 4, 2) <= SAID_DELTA)  # noqa: B023
        right = 1 / k + gap / 2 / (2 * k) / model.shrink_
        yield from ((numbers["gamma"], gap), (numbers["delta"], SAID_DELTA), (numbers["error"], 1 - right))
        yield numbers["examples_theorem"] / each, 1.0
    for each, expected in ((20, 1.0), (60, 2.0)):
        yield granted(WeakSimilarityVote(Gaussian(1.0)), each, 2, rng), expected


def aligned(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """The mean of n numbers in [-1, 1] falls by the slack with probability delta."""
    for each in (100, 350):
        numbers = fitted(AlignmentVote(Gaussian(1.0)), each, 2, rng).guarantee_.numbers
        slack = smallest(lambda s: hoeffding(2 * each, s, 2) <= SAID_DELTA)  # noqa: B023
        yield from ((numbers["slack"], slack), (numbers["delta"], SAID_DELTA))
    yield from evidence(rng)
    for each, k, expected in ((2, 2, 1.0), (5, 2, 2.0), (100, 3, 1.0)):  # slacks of 1.22 and 0.77; three classes
        yield granted(AlignmentVote(Gaussian(1.0)), each, k, rng), expected


def evidence(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """The mean of l l' K over pairs of different examples, if a premise of the guarantee says it."""
    X, y = rng.normal(size=(9, 2)), np.repeat([0, 1], [4, 5])
    premises = AlignmentVote(Gaussian(1.0)).fit(X, y).guarantee_.premises
    pairs = list(permutations(range(9), 2))
    signed = [math.exp(-(math.dist(X[i], X[j]) ** 2) / 2) * (1 if y[i] == y[j] else -1) for i, j in pairs]
    for said in re.findall(r"examples the mean is (\S+)", " ".join(one.evidence for one in premises)):
        yield float(said), math.fsum(signed) / len(pairs)


def stated(
    trials: int,
    rng: np.random.Generator,
    figures: Callable[..., Iterator[tuple[float, float]]],
    theorem: str,
    promised: str = "the smallest gap, and the error, by Hoeffding's inequality",
    off: float = 1.0,
) -> Finding:
    """Compare the numbers of guarantees with those that follow from the inequality."""
    pairs = list(figures(rng))
    ratios = [said / (off * expected) for said, expected in pairs]
    worst = max(abs(math.log(one)) if 0 < one < math.inf else math.inf for one in ratios)
    return Finding(
        f"{theorem}: numbers of guarantee_",
        f"{promised}, at delta = {SAID_DELTA:g}",
        f"off by a factor {math.exp(min(worst, 700.0)):.6f} at most",
        len(pairs),
        bool(worst < 1e-3),
    )


EXPERIMENTS = tuple(
    Experiment(f"guarantee_{name}", stated, 1, 1, {"figures": figures, "theorem": theorem}, {"off": 1.1})
    for name, figures, theorem in (
        ("vote", votes, f"Theorem 1, {BB}"),
        ("weak_vote", weak_votes, f"Theorem 8, {BB}"),
        ("alignment", aligned, f"Section on alignment, {BB}"),
    )
)
