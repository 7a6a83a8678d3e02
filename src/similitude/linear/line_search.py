"""The minimum of a convex function along a line, for many lines at once."""

from __future__ import annotations

import numpy as np

from similitude.compute import namespace
from similitude.linear.losses import Line

MOST_TRIALS = 60
"""Maximum number of evaluations."""


def line_minimum(derivatives: Line, start: np.ndarray, flat: float, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """Return a point on each line where the derivative is down to a fraction `flat` of its initial size, or to a floor.

    `derivatives` returns the first and second derivatives at points t, one per line. The first is non-decreasing; its
    root is found by Newton steps, with bisection where they leave the bracket.

    >>> line_minimum(lambda t: (t**3 - 8.0, 3 * t**2), np.zeros(1), 1e-12).round(6)
    array([2.])
    """
    xp, t = namespace(start), start
    low, high, goal = (xp.full_like(t, value) for value in (-np.inf, np.inf, np.nan))
    for trial in range(MOST_TRIALS):
        slope, curve = derivatives(t)
        goal = xp.maximum(flat * abs(slope), floor) if trial == 0 else goal
        going = abs(slope) > goal
        if not going.any():
            break
        low, high = xp.where(slope < 0, t, low), xp.where(slope > 0, t, high)
        newton = t - xp.where(curve > 0, slope / xp.where(curve > 0, curve, 1.0), np.nan)
        inside = (newton > low) & (newton < high)
        if not inside.all():
            newton = xp.where(inside, newton, _between(low, high))
        t = xp.where(going, newton, t)
    return t


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the midpoint of a bracket, or a point well beyond its only finite end."""
    xp = namespace(low)
    with np.errstate(invalid="ignore"):  # both ends may be infinite on a line that needs no search
        middle = low + (high - low) / 2
    return xp.where(xp.isinf(high), 2 * low + 1, xp.where(xp.isinf(low), 2 * high - 1, middle))
