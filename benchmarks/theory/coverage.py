"""Do the intervals of ``assess`` cover? Problems drawn from populations whose figures are known exactly.

A population is a finite distribution: objects, their classes and masses, and the similarities of all of them. What the
definitions speak of can then be computed, and each problem is a sample of it, drawn independently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.theory.chances import contradicts
from benchmarks.theory.nouns import Experiment, Finding
from similitude.goodness.alignments import estimated_alignments, ideal
from similitude.goodness.assessment import EPSILONS, strong_goodness
from similitude.goodness.class_means import balanced_gamma, plain_gamma, weak_goodness
from similitude.goodness.gaps import class_similarities, gaps, largest_gap
from similitude.goodness.sampling import Labels, plan
from similitude.goodness.weighted import NUS, Fits, HingeGoodness, WeightedGoodness, WeightedSample, certify, fit, hinge

BB = "Balcan and Blum 2006"

PROMISED = 0.93
"""Share of problems in which an interval called 95 % must hold the truth."""

FULL = 500
"""Problems that are tried; of fewer, as in the tests, chance is allowed for."""

SPOILT = {"narrowed": 0.1}
"""Intervals a tenth as wide: they must be found wanting."""

SHORT = ("two clouds", "Figure 3.1", "the 0.2-similarity", "Figure 3.1 with noise")
"""Populations that are tried in the tests too."""

Interval = tuple[float, float, float]
"""An interval and the truth."""


@dataclass(frozen=True)
class Population:
    """A finite distribution.

    Attributes
    ----------
    K : array of shape (N, N)
    codes : array of int
    masses : array
    """

    K: np.ndarray
    codes: np.ndarray
    masses: np.ndarray

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarities of n objects and their classes; two of each class at least."""
        while True:
            drawn = rng.choice(len(self.codes), n, p=self.masses)
            if np.bincount(self.codes[drawn], minlength=self.codes.max() + 1).min() >= 2:
                return self.K[np.ix_(drawn, drawn)], self.codes[drawn]

    def gammas(self, shift: float = 0.0) -> np.ndarray:
        """Return the gap that all but each share of the objects reach (Definition 2)."""
        means = class_similarities(self.K, self.codes, self.masses)
        return largest_gap(gaps(means, self.codes), np.array(EPSILONS) + shift, self.masses)

    def means(self) -> np.ndarray:
        """Return the means of classes to classes (Definition 5)."""
        share = np.eye(self.codes.max() + 1)[self.codes] * self.masses[:, None] / np.bincount(self.codes, self.masses)
        return share.T @ self.K @ share

    def alignments(self) -> tuple[float, float]:
        """Return the plain and the centered alignment."""
        scale, constant = ideal(int(self.codes.max()) + 1)
        T = np.where(self.codes[:, None] == self.codes, scale + constant, constant)
        return self._cosine(self.K, T), self._cosine(self._centered(self.K), self._centered(T))

    def _cosine(self, K: np.ndarray, T: np.ndarray) -> float:
        p = self.masses
        return float(p @ (K * T) @ p / math.sqrt((p @ (K * K) @ p) * (p @ (T * T) @ p)))

    def _centered(self, K: np.ndarray) -> np.ndarray:
        p = self.masses
        return K - (K @ p)[:, None] - p @ K + p @ K @ p


@dataclass(frozen=True)
class PairNoise(Population):
    """The same with a number of its own added to each pair of examples, uniform on ±`noise` and 0 on average.

    The alignments of such a population are not those of K alone: E[K^2] grows by noise^2 / 3.
    """

    noise: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return similarities, not symmetric, and classes."""
        K, codes = super().draw(n, rng)
        return K + rng.uniform(-self.noise, self.noise, K.shape), codes

    def _cosine(self, K: np.ndarray, T: np.ndarray) -> float:
        square = float(self.masses @ (K * K) @ self.masses)
        return super()._cosine(K, T) * math.sqrt(square / (square + self.noise**2 / 3))


def circle(*degrees: float) -> np.ndarray:
    """Return points on the unit circle."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def figure_3_1() -> Population:
    """Positives at 150 and 30 degrees, negatives at -30, and the dot product."""
    X = circle(150, 30, -30)
    return Population(X @ X.T, np.array([1, 1, 0]), np.array([0.25, 0.25, 0.5]))


def footnote_7() -> Population:
    """Points ±1 on a line, three quarters of each class on its side, and the product."""
    x = np.array([1.0, -1.0, 1.0, -1.0])
    return Population(np.outer(x, x), np.array([1, 1, 0, 0]), np.array([3.0, 1.0, 1.0, 3.0]) / 8)


def noisy_0_2() -> Population:
    """Similarity 0.2 within classes and 0 on average across: every object has the gap 0.2, and no example shows it."""
    return PairNoise(np.array([[0.2, 0.0], [0.0, 0.2]]), np.array([0, 1]), np.array([0.5, 0.5]), noise=0.8)


def noisy_figure_3_1() -> Population:
    """Figure 3.1 at half size with noise in each pair."""
    plain = figure_3_1()
    return PairNoise(plain.K / 2, plain.codes, plain.masses, noise=0.5)


def clouds(centers: tuple[float, ...], shares: tuple[float, ...], dimension: int, sigma: float) -> Population:
    """Normal clouds along a line under a Gaussian kernel, 2,000 objects of them."""
    rng = np.random.default_rng(0)
    codes = rng.choice(len(shares), 2000, p=shares)
    X = rng.standard_normal((2000, dimension))
    X[:, 0] += np.array(centers)[codes]
    squares = (X**2).sum(axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0) / (2 * sigma**2))
    return Population(K, codes, np.full(2000, 1 / 2000))


def lopsided() -> Population:
    """Two clouds under a similarity that is not symmetric and takes both signs."""
    plain = clouds((0.0, 1.5), (0.6, 0.4), 3, 1.5)
    rng = np.random.default_rng(1)
    tilt = np.tanh(rng.standard_normal(2000))
    return Population((plain.K + 0.5 * tilt - 0.5) / 1.5, plain.codes, plain.masses)


POPULATIONS: dict[str, Callable[[], Population]] = {
    "two clouds": lambda: clouds((0.0, 1.5), (0.5, 0.5), 2, 1.0),
    "a rare class": lambda: clouds((0.0, 1.5), (0.85, 0.15), 5, 2.0),
    "three classes": lambda: clouds((0.0, 1.5, 3.0), (0.4, 0.3, 0.3), 2, 1.0),
    "a similarity that is not symmetric": lopsided,
    "Figure 3.1": figure_3_1,
    "footnote 7": footnote_7,
    "the 0.2-similarity": noisy_0_2,
    "Figure 3.1 with noise": noisy_figure_3_1,
}


def figures(population: Population, n: int, rng: np.random.Generator) -> Iterator[dict[str, Interval]]:
    """Yield, for problem after problem, the intervals of Definitions 2 and 5 and of alignments.

    A share at which the curve jumps has no single gap and is passed over.
    """
    curve, means, aligned = population.gammas(), population.means(), population.alignments()
    single = np.abs(population.gammas(shift=1e-9) - population.gammas(shift=-1e-9)) < 0.01
    shares = np.bincount(population.codes, population.masses)
    truths = (plain_gamma(means, shares), balanced_gamma(means), *aligned)
    names = ("gamma of Definition 5", "balanced gamma", "alignment", "centered alignment")
    while True:
        K, codes = population.draw(n, rng)
        strong = strong_goodness(K, codes, rng)
        weak = weak_goodness(K, codes, np.arange(len(shares)))
        found = (weak.gamma, weak.balanced, *estimated_alignments(K, codes))
        points = zip(EPSILONS, strong.low, strong.high, curve, single, strict=True)
        both = {f"gap at {e:g}": (low, high, truth) for e, low, high, truth, one in points if one}
        for a, b in ((0, 0), (1, 1), (0, 1)):
            both[f"mean similarity of class {a} to class {b}"] = (weak.low[a, b], weak.high[a, b], means[a, b])
        yield both | {name: (f.low, f.high, t) for name, f, t in zip(names, found, truths, strict=True)}


def certificates(population: Population, n: int, rng: np.random.Generator) -> Iterator[dict[str, Interval]]:
    """Yield the intervals of fitted weights; the truth is what these weights do on the whole population."""
    k = population.codes.max() + 1
    while True:
        drawn = rng.choice(len(population.codes), n, p=population.masses)
        codes = population.codes[drawn]
        if np.bincount(codes, minlength=k).min() < 2:
            continue
        who = plan(Labels(np.arange(k), codes), None, rng)
        K, columns = population.K[:, drawn[who.landmarks]], codes[who.landmarks]
        fitted, choice, test = (
            WeightedSample(K[drawn[rows]], codes[rows], columns, itself)
            for rows, itself in ((who.fit, who.itself), (who.choice, None), (who.test, None))
        )
        fits = fit(fitted)
        weighted, by_hinge = certify(fits, fitted, choice, test, who.landmarks, rng)
        everyone = WeightedSample(K, population.codes, columns)
        yield weighted_truths(population, weighted, everyone) | hinge_truths(population, by_hinge, fits, everyone)


def weighted_truths(population: Population, found: WeightedGoodness, everyone: WeightedSample) -> dict[str, Interval]:
    """Return each interval of Definition 3 with what is true of the whole population."""
    p, reached, curve = population.masses, everyone.gaps(found.weights), found.error_at_gap
    vote, at = everyone.gaps(np.ones(len(everyone.columns))), len(curve.x) // 2
    below = float(p @ (reached < curve.x[at] - 1e-10 * abs(curve.x[at])))
    intervals = {
        "error": (found.error.low, found.error.high, float(p @ (reached <= 0))),
        "error of the vote": (found.vote_error.low, found.vote_error.high, float(p @ (vote <= 0))),
        "error at a gap": (float(curve.low[at]), float(curve.high[at]), below),
    }
    for i in (2, 4):
        truth = float(largest_gap(everyone.gaps(found.fits[i]), np.array(NUS[i : i + 1]), p)[0])
        intervals[f"gap by weight at {NUS[i]:g}"] = (float(found.low[i]), float(found.high[i]), truth)
    return intervals


def hinge_truths(
    population: Population, found: HingeGoodness, fits: Fits, everyone: WeightedSample
) -> dict[str, Interval]:
    """Return the intervals of Definition 4, at the first and the last gap, with the truth."""
    intervals = {}
    for i in (0, -1):
        truth = float(population.masses @ hinge(everyone.gaps(fits[0][len(NUS) : -1][i]), found.x[i]))
        name = f"hinge loss at the {'last' if i else 'first'} gap"
        intervals[name] = (float(found.low[i]), float(found.high[i]), truth)
    return intervals


def covered(
    trials: int,
    rng: np.random.Generator,
    population: str,
    n: int = 100,
    of: Callable[..., Iterator[dict[str, Interval]]] = figures,
    narrowed: float = 1.0,
) -> Finding:
    """Count how often each interval holds the truth; `narrowed` intervals do so less often than they say."""
    counts: dict[str, int] = {}
    problems = of(POPULATIONS[population](), n, rng)
    for _ in range(trials):
        for name, (low, high, truth) in next(problems).items():
            middle, radius = (low + high) / 2, narrowed * (high - low) / 2 + 1e-9
            counts[name] = counts.get(name, 0) + bool(abs(truth - middle) <= radius)
    worst = min(counts, key=lambda name: counts[name])
    enough = counts[worst] >= PROMISED * trials
    what = "2 and 5 and of alignment" if of is figures else "3 and 4"
    return Finding(
        f"Intervals of assess, Definitions {what}, {BB}: {population}",
        f"n = {n}: each of {len(counts)} intervals called 95 % holds the truth in 93 % of problems or more",
        f"least often {worst}: {100 * counts[worst] / trials:.1f} %; "
        f"all together {100 * sum(counts.values()) / trials / len(counts):.1f} %",
        trials,
        enough if trials >= FULL else not contradicts(trials - counts[worst], trials, 1 - PROMISED),
    )


def _experiment(name: str, short: int | None, held_out: bool = False) -> Experiment:
    setting = {"population": name} | ({"of": certificates} if held_out else {})
    key = "_".join(name.replace(",", "").split())
    return Experiment(f"{'held_out_' if held_out else ''}coverage_{key}", covered, FULL, short, setting, SPOILT)


EXPERIMENTS = (
    *(_experiment(name, 15 if name in SHORT else None) for name in POPULATIONS),
    *(
        _experiment(name, 10 if name == "Figure 3.1" else None, True)
        for name in ("two clouds", "three classes", "Figure 3.1")
    ),
)
