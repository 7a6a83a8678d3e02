"""The search of the package: candidates compared by loss, walks to the best, and the one path of penalties."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from operator import add, attrgetter
from typing import Any

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

DECADE = 2
"""Positions on the path that make up a factor of 10: the stride where each penalty takes a fit."""


def nearest_place(penalty: float) -> int:
    """Return the position on the path that is nearest to a penalty."""
    return int(np.abs(np.log(PENALTIES / penalty)).argmin())


class Search:
    """Candidates at places, such as penalties on the path: each is made once, when its loss is first needed.

    The loss is infinite at other places, at those where no candidate can be made, and where it is not finite. `tried`
    is the record of what was made, in that order.

    >>> search = Search(lambda place: abs(place - 3), range(9), float)
    >>> downhill(search.loss, 7), list(search.tried)
    (3, [6, 7, 5, 4, 3, 2])
    """

    def __init__(
        self,
        make: Callable[[Any], Any],
        places: Container[Any] = range(len(PENALTIES)),
        loss: Callable[[Any], float] = attrgetter("loss"),
    ) -> None:
        self.make = make
        self.places = places
        self.loss_of = loss
        self.tried: dict[Any, Any] = {}

    def __getitem__(self, place: Any) -> Any:
        """Return the candidate at a place, or None."""
        if place not in self.tried:
            self.tried[place] = self.make(place)
        return self.tried[place]

    def loss(self, place: Any) -> float:
        """Return the loss at a place."""
        if place not in self.places or self[place] is None:
            return np.inf
        found = self.loss_of(self[place])
        if np.isfinite(found):
            return found
        return np.inf

    def nearest(self, place: int) -> Any:
        """Return the candidate that was tried nearest to a place; None at first."""
        return self.tried.get(min(self.tried, key=lambda one: abs(one - place), default=None))


def best(candidates: Iterable[Any]) -> Any:
    """Return the candidate with the smallest loss, the first one of equals."""
    return min(candidates, key=attrgetter("loss"))


def smallest(losses: np.ndarray | Sequence[float]) -> int:
    """Return the position of the smallest loss, the last one, of the largest penalty, of those equal up to rounding.

    >>> smallest([2.0, 1.0, 1.0])
    2
    """
    # relative difference of losses that are equal: without it rounding would choose between penalties on a plateau
    return int(np.flatnonzero(np.asarray(losses) <= np.min(losses) * (1.0 + 1e-9))[-1])


def downhill(loss: Callable[[int], float], start: int, step: int = 1, tie: float = 1.0) -> int:
    """Return a position whose neighbors, a step to either side, are no better.

    Larger penalties are preferred while their loss is at most `tie` times the smallest.

    >>> downhill(lambda place: abs(place - 3), 8)
    3
    """
    place = start
    while tie * loss(place - step) < loss(place):
        place -= step
    if place == start:
        while loss(place + step) < loss(place):
            place += step
    least = loss(place)
    while loss(place + step) <= tie * least < np.inf:
        place += step
    return place


def walk(
    loss: Callable[[Any], float], start: tuple[float, ...], steps: Iterable[tuple[float, ...]], tie: float = 1.0
) -> tuple[float, ...]:
    """Return where no step lowers the loss by more than a factor `tie`; each is repeated while it does.

    >>> walk(lambda at: abs(at[0] - 3) + abs(at[1]), (0, 2), [(1, 0), (0, -1)])
    (3, 0)
    """
    at = start
    least = loss(at)
    before = None
    while at != before:
        before = at
        for step in steps:
            while tie * (found := loss(there := tuple(map(add, at, step)))) < least:
                at = there
                least = found
    return at


def vertex(before: float, here: float, after: float) -> float:
    """Return where, at most half a step away, the parabola through the logarithms of three losses is least.

    >>> vertex(np.e**4, 1.0, np.e**4), vertex(np.e**2, 1.0, np.e), vertex(np.inf, 1.0, 2.0)
    (0.0, 0.16666666666666666, 0.0)
    """
    if not (min(before, here, after) > 0 and np.isfinite(before + here + after)):
        return 0.0
    fall = np.log(before / here)
    rise = np.log(after / here)
    if fall + rise > 0:
        return float(np.clip(0.5 * (fall - rise) / (fall + rise), -0.5, 0.5))
    return 0.0


def between_penalties(loss: Callable[[int], float], place: int) -> float:
    """Return the penalty near a position at the vertex of the parabola through its loss and its neighbors'."""
    steps = vertex(loss(place - 1), loss(place), loss(place + 1))
    return float(PENALTIES[place] * (PENALTIES[1] / PENALTIES[0]) ** steps)


def gain(
    before: np.ndarray, after: np.ndarray, weights: np.ndarray | None = None, ddof: int = 0
) -> tuple[float, float]:
    """Return by how much the mean loss of the same rows falls, and the standard error of that."""
    gains = before - after
    if weights is None:
        return float(gains.mean()), float(gains.std(ddof=ddof) / np.sqrt(len(gains)))
    mean = float(np.average(gains, weights=weights))
    return mean, float(np.sqrt(weights**2 @ (gains - mean) ** 2) / weights.sum())


def first_minimum(tried: Iterable[tuple[float, Any]], patience: int = 1, at_once: bool = True) -> tuple[int, Any]:
    """Return place and candidate of the smallest loss, up to where `patience` are no better than it."""
    least = np.inf
    found = 0, None
    for place, (loss, candidate) in enumerate(tried):
        if loss < least or place == 0:
            least = loss
            found = place, candidate
        if place - found[0] >= patience and (at_once or found[0] > 0):
            break
    return found
