"""The compiled loops over time series behind the signatures of their twins in ``reference_series``."""

from typing import Any

import numpy as np

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops.reference import Array


def dtw(out: Any, A: Any, a: Any, B: Any, b: Any, window: float | None = None, half: bool = False) -> None:
    """See `reference_series.dtw`."""
    radius, fraction = -1, -1.0
    if isinstance(window, (int, np.integer)):
        radius = min(int(window), len(A) + len(B))  # no path is longer
    elif window is not None:
        fraction = window
    _compiled.dtw(out, A, a, B, b, _by_length(b), radius, fraction, half)


def global_alignment(out: Any, A: Any, a: Any, B: Any, b: Any, scale: float, half: bool = False) -> None:
    """See `reference_series.global_alignment`."""
    _compiled.global_alignment(out, A, a, B, b, _by_length(b), scale, half)


def self_alignment(A: Any, a: Any, scale: float) -> Array:
    """See `reference_series.self_alignment`."""
    out = np.empty(len(a) - 1)
    _compiled.self_alignment(out, A, a, _by_length(a), scale)
    return out


def _by_length(starts: Any) -> Array:
    return np.argsort(np.diff(starts), kind="stable").astype(np.int64, copy=False)
