"""The minimum of a convex function along a line, for many lines at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST_TRIALS = 60
"""Places that are tried at most."""

Along = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives the first and second derivatives at places t, one on each line."""


def least(along: Along, lines: int, flat: float, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """Return where the derivative on each line is at most a part of what it is at 0, or at most a floor.

    It is a function that does not fall; its root is sought by Newton steps from 0, halving where they leave the
    bracket.

    Parameters
    ----------
    along : callable
    lines : int
        How many.
    flat : float
        The part.
    floor : float or array
        For example what rounding leaves of it.

    Examples
    --------
    >>> least(lambda t: (t**3 - 8.0, 3 * t**2), 1, 1e-12).round(6)
    array([2.])
    """
    low, high, t = np.full(lines, -np.inf), np.full(lines, np.inf), np.zeros(lines)
    goal = np.full(lines, np.nan)
    for trial in range(MOST_TRIALS):
        slope, curve = along(t)
        goal = np.maximum(flat * np.abs(slope), floor) if trial == 0 else goal
        going = np.abs(slope) > goal
        if not going.any():
            break
        low, high = np.where(slope < 0, t, low), np.where(slope > 0, t, high)
        newton = t - np.divide(slope, curve, out=np.full_like(slope, np.nan), where=curve > 0)
        inside = (newton > low) & (newton < high)
        t = np.where(going, np.where(inside, newton, _between(low, high)), t)
    return t


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the middle of a bracket, or a place well beyond its only end."""
    with np.errstate(invalid="ignore"):  # both ends may be infinite on a line that needs no search
        middle = low + (high - low) / 2
    return np.where(np.isinf(high), 2 * low + 1, np.where(np.isinf(low), 2 * high - 1, middle))
