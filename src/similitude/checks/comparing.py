"""Comparing values that should be equal."""

from __future__ import annotations

from typing import Any

import numpy as np


def tolerance(values: np.ndarray) -> float:
    """Return the relative difference that the precision of the values allows."""
    return 1e-4 if values.dtype == np.float32 else 1e-8


def same(what: str, a: Any, b: Any) -> None:
    """Check that two arrays agree: numbers up to rounding, labels exactly."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, f"{what} differ: shapes {a.shape} and {b.shape}"
    if "f" not in (a.dtype.kind, b.dtype.kind):
        assert (a == b).all(), f"{what} differ"
        return
    gap = np.abs(a.astype(float) - b.astype(float))
    allowed = max(tolerance(a), tolerance(b)) * max(float(np.abs(b.astype(float)).max(initial=0.0)), 1e-300)
    if gap.max(initial=0.0) > allowed:
        place = tuple(int(position) for position in np.unravel_index(gap.argmax(), gap.shape))
        raise AssertionError(f"{what} differ at {place}: {a[place]!r} and {b[place]!r}")
