"""Are intervals as wide as they say? Each kind where it is tight: it covers at its level, and at 80 % of its width not.

Intervals that are safe on most problems would pass every test of coverage at twice their width, or at 80 % of it. On
the problems here they cover in 95 % of the trials, neither more nor less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.theory.coverage import POPULATIONS, Interval
from benchmarks.theory.nouns import Experiment, Finding
from similitude.goodness.alignments import estimated_alignments
from similitude.goodness.assessment import EPSILONS, strong_goodness
from similitude.goodness.class_means import balanced_gamma, plain_gamma, weak_goodness
from similitude.goodness.gaps import enclosed
from similitude.goodness.resampling import bounded_mean
from similitude.theory.intervals import clopper_pearson, dkw_radius

LEAST, MOST = 0.93, 0.98
"""Coverage of intervals called 95 %, where they are tight."""

NARROW = 0.8


def class_means(rng: np.random.Generator, population: str, n: int) -> Iterator[list[Interval]]:
    """Yield intervals of Definition 5 and of alignments."""
    whole = POPULATIONS[population]()
    means, shares = whole.means(), np.bincount(whole.codes, whole.masses)
    truths = (plain_gamma(means, shares), balanced_gamma(means), *whole.alignments())
    while True:
        K, codes = whole.draw(n, rng)
        weak = weak_goodness(K, codes, np.arange(len(shares)))
        found = (weak.gamma, weak.balanced, *estimated_alignments(K, codes))
        yield [(one.low, one.high, truth) for one, truth in zip(found, truths, strict=True)]


def gaps(rng: np.random.Generator, population: str, n: int, at: tuple[float, ...]) -> Iterator[list[Interval]]:
    """Yield intervals of Definition 2 at shares where the gap is single."""
    whole = POPULATIONS[population]()
    truths, places = whole.gammas(), [EPSILONS.index(one) for one in at]
    while True:
        strong = strong_goodness(*whole.draw(n, rng), rng)
        yield [(float(strong.low[i]), float(strong.high[i]), float(truths[i])) for i in places]


def shares(rng: np.random.Generator, p: float, n: int) -> Iterator[list[Interval]]:
    """Yield Clopper and Pearson's intervals of many samples."""
    while True:
        ends = clopper_pearson(rng.binomial(n, p, size=100), n)
        yield [(float(low), float(high), p) for low, high in zip(*ends, strict=True)]


def quantiles(rng: np.random.Generator, share: float, n: int) -> Iterator[list[Interval]]:
    """Yield intervals by order statistics, of numbers whose quantile is 0 and symmetric about it."""
    while True:
        ends = enclosed(np.sort(rng.uniform(-share, 1 - share, n)), np.array([share]), 0.95, 2.0)
        yield [(float(ends[0][0]), float(ends[1][0]), 0.0)]


def bounded_means(rng: np.random.Generator, n: int) -> Iterator[list[Interval]]:
    """Yield intervals for the mean of zeros and ones; Gaffke's are exact for them."""
    while True:
        yield [(*bounded_mean((rng.random(n) < 0.4).astype(float), 1.0, rng), 0.4)]


def bands(rng: np.random.Generator, n: int) -> Iterator[list[Interval]]:
    """Yield the radius of the band about a distribution function, beside the largest deviation."""
    radius, steps = dkw_radius(n), np.arange(n + 1) / n
    while True:
        for _ in range(100):
            ordered = np.sort(rng.random(n))
            farthest = float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))
            yield [(-radius, radius, farthest)]


def calibrated(
    trials: int,
    rng: np.random.Generator,
    of: Callable[..., Iterator[list[Interval]]],
    what: str,
    setting: dict[str, object],
    narrowed: float = 1.0,
) -> Finding:
    """Count how often intervals hold the truth, at their width and at 80 % of it."""
    problems, held = of(rng, **setting), []
    for _ in range(trials):
        for low, high, truth in next(problems):
            off, radius = abs(truth - (low + high) / 2), narrowed * (high - low) / 2
            held.append((off <= radius + 1e-12, off <= NARROW * radius + 1e-12))
    full, narrow = np.mean(held, axis=0)
    return Finding(
        f"Intervals of assess are as wide as they say: {what}",
        f"95 % hold the truth: {100 * LEAST:g} to {100 * MOST:g} %, and fewer at {100 * NARROW:g} % of the width",
        f"{100 * full:.1f} %, and {100 * narrow:.1f} %",
        trials,
        bool(LEAST <= full <= MOST and narrow < LEAST),
    )


def _tight(
    name: str, of: Callable[..., Iterator[list[Interval]]], what: str, full: int, short: int | None, **setting: object
) -> Experiment:
    about = {"of": of, "what": what, "setting": setting}
    return Experiment(f"calibrated_{name}", calibrated, full, short, about, {"narrowed": NARROW})


EXPERIMENTS = (
    _tight("means", class_means, "Definition 5 and alignment, footnote 7", 2000, 600, population="footnote 7", n=100),
    _tight("clouds", class_means, "Definition 5 and alignment, two clouds", 1000, None, population="two clouds", n=400),
    _tight("gaps", gaps, "Definition 2, Figure 3.1", 1000, 150, population="Figure 3.1", n=100, at=(0.4, 0.5)),
    _tight("shares", shares, "shares (Clopper and Pearson)", 500, 50, p=0.3, n=1000),
    _tight("quantiles", quantiles, "quantiles of held-out gaps", 20_000, 2000, share=0.5, n=500),
    _tight("bounded_means", bounded_means, "hinge losses (Gaffke)", 2000, None, n=200),
    _tight("bands", bands, "bands of errors at margins (Massart)", 20_000, 2000, n=500),
)
