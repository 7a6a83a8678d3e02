"""Exact confidence intervals for proportions and bands for distribution functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.support import Estimate

LEVEL = 0.95
"""Default confidence level of intervals and bands."""


def clopper_pearson(successes: Any, trials: Any, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the exact two-sided interval for a probability, of numbers or arrays.

    The ends are the :math:`p` for which the binomial tail beyond the observed count has probability :math:`(1 -
    \text{level}) / 2`; the coverage is at least `level` for every true probability (Clopper and Pearson, 1934).

    >>> low, high = clopper_pearson(3, 100, level=0.9)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0082, 0.0757)
    """
    from scipy.stats import beta

    k, n = np.asarray(successes), np.asarray(trials)
    tail = (1 - level) / 2
    with np.errstate(all="ignore"):
        low = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        high = np.where(k < n, beta.ppf(1 - tail, k + 1, n - k), 1.0)
    return low, high


def proportion(successes: float, trials: float, grade: str, level: float = LEVEL) -> Estimate:
    """Return a share with its exact interval, as an estimate of this grade."""
    low, high = clopper_pearson(successes, trials, level)
    return Estimate(float(successes) / trials, float(low), float(high), level, grade)


def dkw_radius(trials: int, level: float = LEVEL) -> float:
    r"""Return the half-width of a simultaneous confidence band for a distribution function.

    :math:`\sqrt{\ln(2 / (1 - \text{level})) / (2n)}` (Dvoretzky, Kiefer and Wolfowitz, 1956, with the constant of
    Massart, 1990).

    Examples
    --------
    >>> round(dkw_radius(1000), 4)
    0.0429
    """
    return math.sqrt(math.log(2 / (1 - level)) / (2 * trials))
