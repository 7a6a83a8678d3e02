"""Simultaneous intervals for the differences between candidates that were tested on the same examples."""

from __future__ import annotations

import numpy as np

from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson


def error_of(errors: np.ndarray, of_classes: bool, wider: float = 1.0) -> Estimate:
    """Return the mean error: of zeros and ones with the interval of Clopper and Pearson, else that of `around_mean`."""
    if of_classes:
        ends = clopper_pearson(errors.sum() / wider**2, len(errors) / wider**2, LEVEL)
        low = float(ends[0])
        high = float(ends[1])
    else:
        low, high = around_mean(errors, wider * student(len(errors)))
    return Estimate(float(errors.mean()), max(0.0, low), high, LEVEL, ESTIMATE)


def student(n: int) -> float:
    """Return the quantile of Student's t for the mean of n numbers."""
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, max(n - 1, 1)))


def around_mean(values: np.ndarray, steps: float) -> tuple[float, float]:
    r"""Return an interval for the mean: `steps` standard errors on both sides, and more for skewed numbers.

    Squared errors are skewed, and the upper end of a symmetric interval is too low. With
    :math:`T = \sqrt n (\bar x - \mu) / s` and skewness g, :math:`T + \frac{g}{3 \sqrt n} T^2 + \frac{g^2}{27 n} T^3
    + \frac{g}{6 \sqrt n}` is nearer to normal; an end moves to where this is `steps` from zero if that is farther out.
    (Hall, "On the Removal of Skewness by Transformation", 1992.)

    >>> around_mean(np.array([-1.0, 0.0, 1.0]), 1.0)
    (-0.57735027, 0.57735027)
    """
    n = len(values)
    mean = float(values.mean())
    apart = values - mean
    variance = float((apart**2).mean())
    if n < 2 or variance == 0.0:
        return mean, mean
    skewness = float((apart**3).mean()) / variance**1.5
    error = float(np.sqrt(variance / (n - 1)))
    below = _untransformed(steps, skewness, n)
    above = -_untransformed(-steps, skewness, n)
    return mean - error * max(steps, below), mean + error * max(steps, above)


def _untransformed(x: float, skewness: float, n: int) -> float:
    """Return the T whose transformed value is x."""
    if abs(skewness) < 1e-6:
        return x
    root = float(np.cbrt(1 + skewness * (x / np.sqrt(n) - skewness / (6 * n))))
    return float(3 * np.sqrt(n) / skewness * (root - 1))


def differences(errors: np.ndarray, best: int, of_classes: bool, wider: float = 1.0) -> list[Estimate]:
    r"""Return by how much each candidate is worse than `best`, with simultaneous intervals for all pairs.

    Errors, a column for each candidate, are paired by example. An interval is the mean difference :math:`\pm c`
    standard errors, where c is the quantile of the largest standardized difference between any two candidates whose
    errors have this covariance; for two candidates it is that of Student's t. Because all pairs are covered
    simultaneously, so are those with the best candidate, which was chosen by the same errors. (Hothorn, Bretz and
    Westfall, "Simultaneous Inference in General Parametric Models", 2008.) See `Folds.widening`, `around_mean` and
    `around_proportions`.
    """
    steps = wider * _steps(errors)
    around = around_proportions if of_classes else around_mean
    found = []
    for j, column in enumerate(errors.T):
        apart = column - errors[:, best]
        value = float(apart.mean())
        low, high = around(apart, steps) if j != best else (0.0, 0.0)
        found.append(Estimate(value, min(low, value), max(high, value), LEVEL, ESTIMATE))
    return found


def around_proportions(apart: np.ndarray, steps: float) -> tuple[float, float]:
    """Return an interval for the difference of two proportions, from -1, 0 or 1 for each example.

    Two pseudo-examples are added on which the two disagree, once each way, so that it holds if they disagree on few
    examples. (Agresti and Min, "Simple Improved Confidence Intervals for Comparing Matched Proportions", 2005.)

    >>> around_proportions(np.zeros(98), 2.0)
    (-0.02010076, 0.02010076)
    """
    n = len(apart) + 2
    center = float(apart.sum()) / n
    spread = steps * float(np.sqrt(((apart**2).sum() + 1 - n * center**2) / n / (n - 1)))
    return center - spread, center + spread


def _steps(errors: np.ndarray) -> float:
    """Return the quantile of the largest standardized difference between two candidates."""
    n, candidates = errors.shape
    one = student(n)
    if candidates < 3:
        return one
    rng = np.random.default_rng(0)
    covariance = np.cov(errors, rowvar=False) if n > 1 else np.eye(candidates)
    values, vectors = np.linalg.eigh(covariance)
    n_draws = 4000
    draws = rng.standard_normal((n_draws, candidates)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    largest = np.zeros(n_draws)
    tiny = 1e-12 * float(covariance.diagonal().max())
    for i in range(candidates - 1):
        variance = covariance[i, i] + covariance.diagonal()[i + 1 :] - 2 * covariance[i, i + 1 :]
        apart = np.abs(draws[:, [i]] - draws[:, i + 1 :])[:, variance > tiny] / np.sqrt(variance[variance > tiny])
        largest = np.maximum(largest, apart.max(axis=1, initial=0.0))
    largest /= np.sqrt(rng.chisquare(max(n - 1, 1), n_draws) / max(n - 1, 1))
    return max(one, float(np.quantile(largest, LEVEL)))
