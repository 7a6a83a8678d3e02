r"""Intervals for what depends on pairs of examples: bootstrap for quantiles, jackknife for means, and bounded means.

The gap of an example is known up to the noise of the means over the examples it is compared with. Noise spreads gaps
out, so low quantiles come out too low, and resampling, which adds as much noise again, does it twice. Where the gaps
themselves are spread out this hardly matters; where many objects have one and the same gap it does, and the plain
bootstrap then misses the truth nearly always. :func:`band` therefore measures what noise does: it adds, once more, as
much as each resampled gap holds already, and moves each end of the interval back by :math:`1 + \sqrt 2` times the mean
change, among the third of the samples nearest to that end, if that widens it. For a quantile of equal gaps, moved by z
standard deviations, this is exact: two units of noise moved it by :math:`\sqrt 2 z`, four by 2 z, and :math:`\sqrt 2 =
(1 + \sqrt 2)(2 - \sqrt 2)`; where noise matters little, the change is little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from similitude.goodness.gaps import gaps, largest_gap, ranks
from similitude.support.results import ESTIMATE, Estimate

LEVEL = 0.95
"""The probability with which intervals cover the truth."""

REPLICATES = 500
"""Samples that the bootstrap draws."""

CELLS = 4_000_000
"""Numbers at most that are held at once for a batch of replicates."""

SMALL = 5.0
"""Student's interval from classes of m examples is widened by the part 5 / m: with 25 the plain one falls short."""

FEW = 4
"""A class of fewer others does not tell the spread of similarities to it; that of all pairs is taken instead."""


def band(
    K: np.ndarray, codes: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator, bound: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return an interval for the largest gap at each epsilon.

    Parameters
    ----------
    K : array of shape (n, n)
        Similarities of the examples; the diagonal is not looked at.
    codes : array of int, shape (n,)
        The class of each example.
    epsilon : array
    rng : numpy.random.Generator
    bound : float
        What no gap exceeds in magnitude. It is the lower end where a sample of this size may well hold nobody below.
    """
    plain, moved = (np.concatenate(one, axis=1) for one in zip(*_replicates(K, codes, epsilon, rng), strict=True))
    whole = np.isfinite(plain).all(axis=0)  # not so where all members of all but one class were missed
    plain, moved = plain[:, whole], moved[:, whole]
    tail = expanded_tail(effective_size(codes))
    low, high = np.quantile(plain, [tail, 1 - tail], axis=1)
    order = np.argsort(plain, axis=1, kind="stable")
    change = (1 + math.sqrt(2)) * np.take_along_axis(moved - plain, order, axis=1)
    third = max(change.shape[1] // 3, 1)
    low = np.minimum(low, low - change[:, :third].mean(axis=1))
    high = np.maximum(high, high - change[:, -third:].mean(axis=1))
    first, last = ranks(len(codes), epsilon, LEVEL)
    low = np.where(first == 0, -bound, np.clip(low, -bound, bound))
    return low, np.where(last > len(codes), bound, np.clip(high, -bound, bound))


def _replicates(
    K: np.ndarray, codes: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of resampled largest gaps, as they are and with their noise doubled."""
    n, members = len(codes), [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    pairs = K.copy()
    np.fill_diagonal(pairs, 0.0)
    noise = np.sqrt(2 * noise_of_means(K, codes))[:, :, None]
    batch, left = max(1, CELLS // (n * len(members))), REPLICATES
    while left:
        size = min(batch, left)
        left -= size
        counts = rng.multinomial(n, np.full(n, 1 / n), size=size).T.astype(float)
        means = _resampled(pairs, members, counts)
        noisy = means + noise * rng.standard_normal(means.shape)
        yield _quantiles(means, codes, counts, epsilon), _quantiles(noisy, codes, counts, epsilon)


def _resampled(pairs: np.ndarray, members: list[np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return the mean similarities to each class in each replicate; NaN where a class has no other member there."""
    means = np.empty((len(pairs), len(members), counts.shape[1]))
    for c, who in enumerate(members):
        totals = np.broadcast_to(counts[who].sum(axis=0), (len(pairs), counts.shape[1])).copy()
        totals[who] -= counts[who]
        sums = pairs[:, who] @ counts[who]
        means[:, c] = np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=totals > 0)
    return means


def _quantiles(means: np.ndarray, codes: np.ndarray, counts: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    values = gaps(means, codes)
    missing = np.isnan(values)
    return largest_gap(np.where(missing, np.inf, values), epsilon, np.where(missing, 0.0, counts))


def noise_of_means(K: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the variance of each example's mean similarity to each class that its mean over examples does not share.

    Row and column effects are taken off each block of two classes; what is left varies from pair to pair.

    Returns
    -------
    array of shape (n, n_classes)
    """
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    noise, overall = np.empty((len(codes), len(members))), float(K.var())
    for a, rows in enumerate(members):
        for b, columns in enumerate(members):
            others = len(columns) - (a == b)
            if others < FEW:
                noise[rows, b] = overall / others
                continue
            counted = np.ones((len(rows), len(columns)))
            if a == b:
                np.fill_diagonal(counted, 0.0)
            rest = _without_effects(K[np.ix_(rows, columns)], counted)
            noise[rows, b] = (rest**2).sum(axis=1) / (others - 1) / others
    return noise


def _without_effects(block: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the block without its means over rows and columns, zero where a pair does not count."""
    values = block * counted
    by_row = values.sum(axis=1) / counted.sum(axis=1)
    by_column = values.sum(axis=0) / np.maximum(counted.sum(axis=0), 1)
    return (block - by_row[:, None] - by_column + values.sum() / counted.sum()) * counted


def effective_size(codes: np.ndarray) -> float:
    """Return the harmonic mean of the sizes of classes: means over each class are as noisy as over so many.

    >>> effective_size(np.array([0] * 10 + [1] * 90))
    18.0
    """
    return float(1 / np.mean(1 / np.bincount(codes)))


def expanded_tail(size: float) -> float:
    """Return the tail of a percentile interval that makes up for a small sample.

    Of a mean it gives the interval of Student's t (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015).
    """
    from scipy.stats import norm, t

    size = max(size, 2.0)
    return float(norm.cdf(-math.sqrt(size / (size - 1)) * t.ppf((1 + LEVEL) / 2, size - 1)))


def by_jackknife(value: float, variance: float, size: float, bound: float) -> Estimate:
    """Return an estimate with Student's interval, a little wider, cut to ±`bound`, which the truth cannot exceed."""
    from scipy.stats import t

    steps = (1 + SMALL / size) * float(t.ppf((1 + LEVEL) / 2, max(size, 2.0) - 1))
    radius = steps * math.sqrt(variance) if variance < np.inf else np.inf
    low, high = max(value - radius, -bound), min(value + radius, bound)
    return Estimate(value, min(low, value), max(high, value), LEVEL, ESTIMATE)


def jackknife_variance(left_out: np.ndarray, strata: np.ndarray | None = None) -> float:
    """Return the variance of a statistic from its values with each example left out, class by class if asked for.

    >>> x = np.array([1.0, 2.0, 4.0])
    >>> jackknife_variance((x.sum() - x) / 2), float(x.var(ddof=1) / 3)
    (0.7778, 0.7778)
    """
    strata = np.zeros(len(left_out), int) if strata is None else strata
    parts = [left_out[strata == c] for c in np.unique(strata)]
    return float(sum((len(one) - 1) * one.var() for one in parts))


def bounded_mean(values: np.ndarray, most: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return an interval for the mean of independent numbers between 0 and `most`.

    Weighted means with random weights, uniform on the simplex, where one more number is 0 for the lower end and `most`
    for the upper one. (Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable", 2005; of zeros and ones it gives Clopper and Pearson's interval. That it always covers is
    conjectured; Learned-Miller and Thomas, 2019.)

    Examples
    --------
    >>> low, high = bounded_mean(np.zeros(100), 1.0, np.random.default_rng(0))
    >>> low, 0.03 < high < 0.04  # Clopper and Pearson: 0.0362
    (0.0, True)
    """
    parts = rng.standard_exponential((8 * REPLICATES, len(values) + 1))
    parts /= parts.sum(axis=1, keepdims=True)
    means, tail = parts[:, :-1] @ values, (1 - LEVEL) / 2
    return float(np.quantile(means, tail)), float(np.quantile(means + parts[:, -1] * most, 1 - tail))
