"""k-medoids of a matrix of distances by FasterPAM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import loops

PAIRS_PER_CALL = 2 * 10**8
"""Distances that one call of the loop looks at: Ctrl-C is handled between calls."""


@dataclass(frozen=True)
class Medoids:
    """Medoids, the sum of the distances of all objects from the nearest one, and how they were found."""

    indices: np.ndarray
    loss: float
    n_iter: int  # passes over all candidates
    converged: bool


def best_medoids(far: np.ndarray, k: int, rng: np.random.Generator, n_init: int, max_iter: int) -> Medoids:
    """Return the best of several local optima; see `improved`."""
    n = len(far)
    runs = (improved(far, rng.choice(n, k, replace=False), max_iter) for _ in range(n_init if k > 1 else 1))
    return min(runs, key=lambda found: found.loss)


def improved(far: np.ndarray, start: Any, max_iter: int) -> Medoids:
    """Return a local optimum from given medoids: no swap of a medoid with another object lowers the loss.

    Entry (c, o) of `far` is the distance of object o from c as a medoid.
    """
    n, medoids = len(far), np.array(start, np.int64)
    if len(medoids) == 1:
        best = far.sum(axis=1, dtype=np.float64).argmin()
        return Medoids(np.array([best]), float(far[best].sum(dtype=np.float64)), 1, True)
    tried, failed, most = 0, 0, max(1, PAIRS_PER_CALL // n)
    while failed < n and tried < max_iter * n:
        step = min(most, max_iter * n - tried)
        failed = loops.swap_medoids(far, medoids, tried % n, step, failed)
        tried += step
    loss = float(far[medoids].min(axis=0).sum(dtype=np.float64))
    return Medoids(medoids, loss, min(max_iter, -(-tried // n)), failed >= n)
