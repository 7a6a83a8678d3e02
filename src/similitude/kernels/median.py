"""The median heuristic: a scale at which typical pairs are neither alike nor unlike."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute.encodings import as_numpy, count, rows
from similitude.support.randomness import generator

SAMPLE = 1000
"""Vectors at most whose pairs enter the median; more are sampled."""


def median_distance(
    A: Any,
    distances: Callable[[Any, Any], Any],
    random_state: Any = None,
    sample_weight: Any = None,
    sample: int = SAMPLE,
) -> float:
    """Return the median distance between two different rows of A.

    Above 1,000 rows (or `sample`) a uniform sample of so many stands for all (with weights: drawn by weight). A weight
    counts as repetition. Where the median is zero, the mean positive distance is returned; where every distance
    is zero, 1.
    """
    n = count(A)
    weight = np.ones(n) if sample_weight is None else _checked_weights(sample_weight, n)
    if np.count_nonzero(weight) > sample:
        logging.getLogger("similitude").info("median distance from a sample of %d of %d rows", sample, n)
        chosen = generator(random_state).choice(n, sample, replace=False, p=weight / weight.sum())
        A, weight = rows(A, np.sort(chosen)), np.ones(sample)
    elif n > sample:
        A, weight = rows(A, np.flatnonzero(weight)), weight[weight > 0]
    upper = np.triu_indices(len(weight), k=1)
    values = as_numpy(distances(A, A)).astype(float)[upper]
    copies = np.maximum(weight * (weight - 1) / 2, 0.0)
    return _median(np.append(values, 0.0), np.append(weight[upper[0]] * weight[upper[1]], copies.sum()))


def _checked_weights(sample_weight: Any, n: int) -> np.ndarray:
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError):
        weight = np.full(n, np.nan)
    if weight.shape != (n,) or not np.isfinite(weight).all() or weight.min() < 0 or weight.sum() == 0:
        raise ValueError(f"sample_weight must be {n} numbers >= 0, one per object and not all zero")
    return weight


def _median(values: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    values, reached = values[order], np.cumsum(weight[order])
    if len(values) == 0 or values[-1] == 0:
        return 1.0
    half = reached[-1] / 2
    lower, upper = np.searchsorted(reached, half, side="left"), np.searchsorted(reached, half, side="right")
    median = (values[lower] + values[upper]) / 2
    if not np.isfinite(median):
        raise ValueError("the vectors are too far apart: their distances overflow, so scale them first")
    return float(median if median > 0 else values[values > 0].mean())
