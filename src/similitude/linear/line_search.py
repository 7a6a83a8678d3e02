"""The minimum of a convex function along a line, for many lines at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from similitude.compute.encodings import namespace

MOST_TRIALS = 60
"""Places that are tried at most."""

Along = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives the first and second derivatives at places t, one on each line."""


def least(along: Along, start: np.ndarray, flat: float, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """Return where the derivative on each line is at most a part of what it is at the start, or at most a floor.

    It is a function that does not fall; its root is sought by Newton steps, halving where they leave the bracket.

    Parameters
    ----------
    along : callable
    start : array or tensor
        A place on each line.
    flat : float
        The part.
    floor : float or array
        For example what rounding leaves of it.

    Examples
    --------
    >>> least(lambda t: (t**3 - 8.0, 3 * t**2), np.zeros(1), 1e-12).round(6)
    array([2.])
    """
    xp, t = namespace(start), start
    low, high, goal = (xp.full_like(t, value) for value in (-np.inf, np.inf, np.nan))
    for trial in range(MOST_TRIALS):
        slope, curve = along(t)
        goal = xp.maximum(flat * abs(slope), floor) if trial == 0 else goal
        going = abs(slope) > goal
        if not going.any():
            break
        low, high = xp.where(slope < 0, t, low), xp.where(slope > 0, t, high)
        newton = t - xp.where(curve > 0, slope / xp.where(curve > 0, curve, 1.0), np.nan)
        inside = (newton > low) & (newton < high)
        t = xp.where(going, xp.where(inside, newton, _between(low, high)), t)
    return t


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the middle of a bracket, or a place well beyond its only end."""
    xp = namespace(low)
    with np.errstate(invalid="ignore"):  # both ends may be infinite on a line that needs no search
        middle = low + (high - low) / 2
    return xp.where(xp.isinf(high), 2 * low + 1, xp.where(xp.isinf(low), 2 * high - 1, middle))
