r"""Intervals for statistics of pairs of examples: bootstrap for quantiles, jackknife for means, and bounded means.

The gap of an example is known up to the noise of the means over the examples it is compared with, to which resampling
adds as much noise again. If many objects have the same gap, the plain bootstrap interval nearly always misses the
truth. :func:`band` therefore adds once more the noise that each resampled gap already contains, and moves each end of
the interval back by :math:`1 + \sqrt 2` times the mean change, among the third of the replicates nearest to that end,
if that widens the interval. For a quantile of equal gaps, shifted by z standard deviations, this is exact: two units of
noise shift it by :math:`\sqrt 2 z`, four by 2 z, and :math:`\sqrt 2 = (1 + \sqrt 2)(2 - \sqrt 2)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from similitude.goodness.gaps import gaps, largest_gap, ranks
from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL

BOOTSTRAP_REPLICATES = 500
"""Number of bootstrap replicates."""

REPLICATE_VALUES = 4_000_000
"""Largest number of values held at once for a batch of replicates."""


def band(
    K: np.ndarray, codes: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator, bound: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return an interval for the largest gap at each epsilon, given the similarities and classes of a sample.

    No gap exceeds `bound` in magnitude, which is the lower end if a sample of this size may well contain no object
    below the quantile.
    """
    plain, moved = (np.concatenate(one, axis=1) for one in zip(*_replicates(K, codes, epsilon, rng), strict=True))
    whole = np.isfinite(plain).all(axis=0)  # NaN if a replicate contains one class only
    plain = plain[:, whole]
    moved = moved[:, whole]
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
    """Yield batches of resampled largest gaps, without and with additional noise."""
    n = len(codes)
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    pairs = K.copy()
    np.fill_diagonal(pairs, 0.0)
    noise = np.sqrt(2 * noise_of_means(K, codes))[:, :, None]
    batch = max(1, REPLICATE_VALUES // (n * len(members)))
    left = BOOTSTRAP_REPLICATES
    while left:
        size = min(batch, left)
        left -= size
        counts = rng.multinomial(n, np.full(n, 1 / n), size=size).T.astype(float)
        means = _resampled(pairs, members, counts)
        noisy = means + noise * rng.standard_normal(means.shape)
        yield _quantiles(means, codes, counts, epsilon), _quantiles(noisy, codes, counts, epsilon)


def _resampled(pairs: np.ndarray, members: list[np.ndarray], counts: np.ndarray) -> np.ndarray:
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
    """Return the variance of each example's mean similarity to each class, of shape (n, n_classes)."""
    member = np.eye(codes.max() + 1)[codes]
    others = member.sum(axis=0) - member
    noise: np.ndarray = (without_effects(K, codes) ** 2 @ member) / np.maximum(others - 1, 1) / others
    # of fewer than four others the variance says little: that of all similarities takes its place
    return np.where(others < 4, float(K.var()) / others, noise)


def without_effects(K: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return K less its diagonal, and less row and column effects in each block of two classes."""
    member = np.eye(codes.max() + 1)[codes]
    others = np.maximum(member.sum(axis=0) - member, 1)
    own = np.diag(K)[:, None] * member
    out = K @ member - own
    into = K.T @ member - own
    means = (member.T @ out) / np.maximum(member.T @ (member.sum(axis=0) - member), 1)
    rest: np.ndarray = K - (out / others)[:, codes] - (into / others)[:, codes].T + means[np.ix_(codes, codes)]
    np.fill_diagonal(rest, 0.0)
    return rest


def effective_size(codes: np.ndarray) -> float:
    """Return the harmonic mean of the class sizes, the sample size that determines the noise of class means."""
    return float(1 / np.mean(1 / np.bincount(codes)))


def expanded_tail(size: float) -> float:
    """Return the tail probability with which a percentile interval of a mean is Student's (Hesterberg 2015)."""
    from scipy.stats import norm, t

    size = max(size, 2.0)
    return float(norm.cdf(-math.sqrt(size / (size - 1)) * t.ppf((1 + LEVEL) / 2, size - 1)))


def by_jackknife(value: float, variance: float, size: float, bound: float) -> Estimate:
    """Return an estimate with Student's interval, slightly widened and clipped to ±`bound`."""
    from scipy.stats import t

    # Student's interval from classes of m examples is widened by 5 / m; with 25 examples the plain one is too narrow
    steps = (1 + 5.0 / size) * float(t.ppf((1 + LEVEL) / 2, max(size, 2.0) - 1))
    radius = steps * math.sqrt(variance) if variance < np.inf else np.inf
    low = max(value - radius, -bound)
    high = min(value + radius, bound)
    return Estimate(value, min(low, value), max(high, value), LEVEL, ESTIMATE)


def jackknife_variance(left_out: np.ndarray, strata: np.ndarray | None = None) -> float:
    """Return the variance of a statistic from its leave-one-out values, optionally by strata."""
    if strata is None:
        strata = np.zeros(len(left_out), int)
    parts = [left_out[strata == c] for c in np.unique(strata)]
    return float(sum((len(one) - 1) * one.var() for one in parts))


def bounded_mean(values: np.ndarray, most: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return an interval for the mean of independent numbers between 0 and `most`.

    Its ends are quantiles of means with weights uniform on the simplex, of the numbers and an additional 0 for the
    lower end or `most` for the upper one. (Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on
    the mean of a nonnegative variable", 2005; its coverage is conjectured: Learned-Miller and Thomas, 2019.)
    """
    parts = rng.standard_exponential((8 * BOOTSTRAP_REPLICATES, len(values) + 1))
    parts /= parts.sum(axis=1, keepdims=True)
    means = parts[:, :-1] @ values
    tail = (1 - LEVEL) / 2
    return float(np.quantile(means, tail)), float(np.quantile(means + parts[:, -1] * most, 1 - tail))
