"""P-values of permutation tests: of one kernel, of several kernels together, and of several tests at once."""

from __future__ import annotations

import math

import numpy as np

from similitude.support import check_integer, check_share


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

    All columns are treated alike, so that the rank of the first, the observed one, keeps its distribution.
    """
    centered = statistics - statistics.mean(axis=-1, keepdims=True)
    spread = centered.std(axis=-1, keepdims=True)
    spread = np.where(spread <= 1e-13 * np.abs(statistics).max(axis=-1, keepdims=True), np.inf, spread)
    return np.asarray(centered / spread)


def share_reached(statistics: np.ndarray) -> float:
    """Return the share of standardized statistics that reach the first one, up to rounding."""
    return float((statistics >= statistics[0] - 1e-9).mean())


def combined(z: np.ndarray) -> np.ndarray:
    """Return one statistic for each column of standardized statistics of several kernels.

    It is the sum of two statistics, each standardized: z_1 + … + z_k, which is large if many kernels see a difference,
    and z' C^(-1) z, with the correlations C of the kernels, which is large as well if a few see what is unusual given
    the others (Chatterjee and Bhattacharya 2025).
    """
    number, columns = z.shape
    if number == 1:
        return np.asarray(z[0])
    C = z @ z.T / columns + (0.02 + number / columns) * np.eye(number)
    squared_lengths = np.einsum("ij,ij->j", z, np.linalg.solve(C, z))
    return standardized(squared_lengths) + standardized(z.sum(axis=0))


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum.accumulate(corrected), 1.0)
    return [float(one) for one in found]
