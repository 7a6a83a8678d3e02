"""The one path of penalties of ridge regression, and the one walk along it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

HIGHEST_POWER = 1
"""The power of 10 of the largest penalty, which leaves little of any direction."""


@cache
def path(per_decade: float = 2, lowest: float = -9.0, highest: float = HIGHEST_POWER) -> np.ndarray:
    """Return the penalties to try, relative to a unit that each form of the equations knows.

    The unit is the trace of the centered Gram matrix, which is the same for features and for kernels. It is the mean
    of the diagonal where a penalty serves for other numbers of rows too: as a level of noise it does not depend on
    them. Ten times the trace leaves little of any direction, and below 1e-9 of it rounding of features in single
    precision decides which penalty looks best.
    """
    found = 10.0 ** np.linspace(lowest, highest, round(per_decade * (highest - lowest)) + 1)
    found.setflags(write=False)
    return np.asarray(found)


PENALTIES = path()
"""The path in half decades."""

LOSS_ROUNDING = 1e-9
"""Relative difference of losses that are equal: without it rounding would choose between penalties on a plateau."""

DECADE = 2
"""Positions on the path that make up a factor of 10: the stride where each penalty takes a fit."""


def nearest_place(penalty: float) -> int:
    """Return the position on the path that is nearest to a penalty."""
    return int(np.abs(np.log(PENALTIES / penalty)).argmin())


def along_path(loss: Callable[[int], float]) -> Callable[[int], float]:
    """Return the loss by the position of a penalty: computed once, and infinite beyond the ends of the path."""
    known = cache(loss)
    return lambda place: known(place) if 0 <= place < len(PENALTIES) else np.inf


def smallest(losses: np.ndarray) -> int:
    """Return the position of the smallest loss, the last one, of the largest penalty, of those equal up to rounding.

    >>> smallest(np.array([2.0, 1.0, 1.0]))
    2
    """
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + LOSS_ROUNDING))[-1])


def downhill(loss: Callable[[int], float], start: int, step: int = 1, tie: float = 1.0) -> int:
    """Return a position whose neighbors, a step to either side, are no better.

    Larger penalties are preferred while their loss is at most `tie` times the smallest.

    >>> downhill(lambda place: abs(place - 3), 8)
    3
    """
    best = start
    while tie * loss(best - step) < loss(best):
        best -= step
    while best >= start and loss(best + step) < loss(best):
        best += step
    place = best
    while loss(place + step) <= tie * loss(best) < np.inf:
        place += step
    return place


def vertex(before: float, here: float, after: float) -> float:
    """Return where, at most half a step away, the parabola through the logarithms of three losses is least.

    >>> vertex(np.e**4, 1.0, np.e**4), vertex(np.e**2, 1.0, np.e), vertex(np.inf, 1.0, 2.0)
    (0.0, 0.16666666666666666, 0.0)
    """
    if not (min(before, here, after) > 0 and np.isfinite(before + here + after)):
        return 0.0
    fall = np.log(before / here)
    rise = np.log(after / here)
    return float(np.clip(0.5 * (fall - rise) / (fall + rise), -0.5, 0.5)) if fall + rise > 0 else 0.0


def between_penalties(loss: Callable[[int], float], place: int) -> float:
    """Return the penalty near a position at the vertex of the parabola through its loss and its neighbors'."""
    steps = vertex(loss(place - 1), loss(place), loss(place + 1))
    return float(PENALTIES[place] * (PENALTIES[1] / PENALTIES[0]) ** steps)
