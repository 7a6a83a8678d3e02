"""P-values of permutation tests: of one kernel, of the largest of several, and of several tests at once."""

from __future__ import annotations

import math

import numpy as np

from similitude.support import check_integer, check_share

TIE_WITHIN = 1e-9
"""Standardized statistics within this of the observed one count as ties, because rounding may part them."""


def check_permutations(n_permutations: int, level: float, tests: int = 1) -> None:
    """Validate the number of permutations: with too few, no p-value can reach the level."""
    check_integer("n_permutations", n_permutations)
    check_share("level", level)
    needed = math.ceil(tests / level - 1e-9) - 1
    if n_permutations < needed:
        among = "" if tests == 1 else f" in one of {tests} batches"
        raise ValueError(
            f"n_permutations={n_permutations} cannot reject at the level {level:g}{among}: "
            f"at least {needed} permutations are needed"
        )


def standardized(statistics: np.ndarray) -> np.ndarray:
    """Return rows of statistics with mean 0 and variance 1; a constant row is 0.

    The first column is the observed statistic, the others are those of permutations. All columns are treated alike, so
    that the rank of the first among them keeps its distribution.
    """
    centered = statistics - statistics.mean(axis=-1, keepdims=True)
    spread = centered.std(axis=-1, keepdims=True)
    spread = np.where(spread <= 1e-13 * np.abs(statistics).max(axis=-1, keepdims=True), np.inf, spread)
    return np.asarray(centered / spread)


def share_reached(statistics: np.ndarray) -> float:
    """Return the share of statistics that reach the first one; ties count.

    >>> share_reached(np.array([2.0, 1.0, 2.0, 0.0]))
    0.5
    """
    return float((statistics >= statistics[0] - TIE_WITHIN).mean())


def largest_of_several(statistics: np.ndarray) -> tuple[float, float, list[float]]:
    """Return the largest standardized statistic of several kernels, its p-value, and those of each kernel alone."""
    z = standardized(statistics)
    largest = z.max(axis=0)
    return float(largest[0]), share_reached(largest), [share_reached(row) for row in z]


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979).

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    corrected = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum.accumulate(corrected), 1.0)
    return [float(one) for one in found]
