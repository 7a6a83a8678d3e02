"""Comparing what should be equal."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(values: Any) -> np.ndarray:
    """Return values as a NumPy array."""
    return np.asarray(values)


def tolerance(values: np.ndarray) -> float:
    """Return the relative difference that the precision of these values allows."""
    return 1e-4 if values.dtype == np.float32 else 1e-8


def same(what: str, a: np.ndarray, b: np.ndarray) -> None:
    """Check that two arrays agree, or say where they differ most."""
    assert a.shape == b.shape, f"{what} differ: shapes {a.shape} and {b.shape}"
    gap = np.abs(a.astype(float) - b.astype(float))
    allowed = max(tolerance(a), tolerance(b)) * max(float(np.abs(b).max(initial=0.0)), 1e-300)
    if gap.max(initial=0.0) > allowed:
        place = tuple(int(position) for position in np.unravel_index(gap.argmax(), gap.shape))
        raise AssertionError(f"{what} differ at {place}: {a[place]!r} and {b[place]!r}")
