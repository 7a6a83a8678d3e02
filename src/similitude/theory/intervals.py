"""Exact confidence intervals for proportions, bands for distribution functions, and conformal quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.support import Estimate

LEVEL = 0.95
"""Default confidence level of intervals and bands."""


def clopper_pearson(successes: Any, trials: Any, level: Any = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact two-sided interval for a probability, of numbers or arrays (Clopper and Pearson, 1934).

    The coverage is at least `level` for every true probability.
    """
    from scipy.stats import beta

    k = np.asarray(successes)
    n = np.asarray(trials)
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
    """Return the half-width of a band for a distribution function (Dvoretzky et al., 1956; Massart, 1990)."""
    return math.sqrt(math.log(2 / (1 - level)) / (2 * trials))


def conformal_quantile(scores: Any, level: float) -> float:
    """Return the limit below which the score of a new row lies with probability `level`; infinity if there are few.

    The rank of a new score among m others that are exchangeable with it is uniform (Vovk, Gammerman and Shafer,
    Algorithmic Learning in a Random World, 2005). Without ties the probability is at most level + 1 / (m + 1).
    """
    scores = np.asarray(scores, dtype=np.float64)
    rank = conformal_rank(len(scores), level)
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


def conformal_rank(m: int, level: float) -> int:
    """Return the rank of the conformal quantile among m scores in increasing order; m + 1 if it is infinite."""
    return math.ceil((m + 1) * level * (1 - 1e-12))  # level = 0.9 and m = 9 is rank 9, not 10 by rounding


def highest_level(m: int) -> float:
    """Return the highest level at which m scores have a conformal quantile that is finite."""
    return m / (m + 1)
