"""Ridge regression by many landmarks, on products with the matrix of similarities, which is never stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.encodings import Encoding, as_numpy, rows
from similitude.engines import Engine
from similitude.machine.heads.linear import Linear
from similitude.machine.heads.ridge import PENALTIES, Trial
from similitude.machine.views import Coordinates, View

MANY = 3_000
"""Landmarks from which on products cost less than the moments of the features."""

STEP, START, WINDOW = 2, 1e-7, 3
"""Penalties are tried a decade apart, from the one below this part of the trace on, so many by the same products."""

CHOSEN_ON = 20
"""Examples for each landmark by which the penalty is chosen."""

TRIAL: dict[str, Any] = {"steps": 30, "tolerance": 1e-2}
"""How exactly penalties are compared; the one chosen is then solved as exactly as the engine does."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A model found by products, and how held-out examples fared."""

    coordinates: Coordinates
    linear: Linear
    trial: Trial


def solve_by_products(
    view: View, A: Encoding, Y: np.ndarray, weights: np.ndarray, order: np.ndarray, held: np.ndarray, engine: Engine
) -> Solved | None:
    """Return the model of all examples with the penalty that is best for those held out.

    The penalty is chosen with the first examples of a random order; as a noise of the targets it does not depend on
    how many there are. None where landmarks are few, or where the engine has no products of this similarity.
    """
    solver = engine.least_squares(view.similarity, A, view.landmarks.encoding) if view.n_landmarks >= MANY else None
    if solver is None:
        return None
    learned = weights.copy()
    learned[held] = 0.0
    few = rows(A, held)

    def trial_of(lam: float, found: Any) -> Trial:
        values = engine.times(view.similarity, few, view.landmarks.encoding, found.weights)
        return Trial.of(lam, as_numpy(values).astype(np.float64) + found.intercept, Y[held], weights[held])

    some = np.sort(order[: min(CHOSEN_ON * view.n_landmarks, len(order) - len(held))])
    lam, start = _chosen(solver.of(rows(A, some)), Y[some], weights[some], trial_of)
    apart = solver.problem(Y, learned).solve(lam, start)
    found = solver.problem(Y, weights).solve(lam, apart)
    return Solved(Coordinates(view), Linear(found.weights, found.intercept, found.residual), trial_of(lam, apart))


def _chosen(
    solver: Any, Y: np.ndarray, weights: np.ndarray, trial_of: Callable[[float, Any], Trial]
) -> tuple[float, Any]:
    """Return the penalty that is best for examples held out, and the model that it gives."""
    problem = solver.problem(Y, weights)
    unit = solver.spread * float(weights.sum())
    tried: dict[int, tuple[float, Any, float]] = {}

    def judge(places: Sequence[int]) -> None:
        lams = [unit * float(PENALTIES[place]) for place in places]
        for place, lam, found in zip(places, lams, problem.path(lams, **TRIAL), strict=True):
            tried[place] = lam, found, trial_of(lam, found).loss

    best = best_in_windows(judge, lambda place: tried[place][2])
    return tried[best][:2]


def best_in_windows(judge: Callable[[Sequence[int]], None], loss: Callable[[int], float]) -> int:
    """Return the penalty with the smallest loss; a further window is judged while the best is at the edge of all.

    >>> seen = []
    >>> best_in_windows(seen.extend, lambda place: abs(place - 10)), seen
    (10, [2, 4, 6, 8, 10, 12])
    """
    start = int(np.abs(np.log(PENALTIES / START)).argmin())
    grid = range(start % STEP, len(PENALTIES), STEP)
    low = max(0, grid.index(start) - 1)
    high = low + WINDOW
    judge(grid[low:high])
    while True:
        best = min(range(low, high), key=lambda i: loss(grid[i]))
        if best == high - 1 < len(grid) - 1:
            judge(grid[high : high + WINDOW])
            high = min(high + WINDOW, len(grid))
        elif best == low > 0:
            judge(grid[max(0, low - WINDOW) : low])
            low = max(0, low - WINDOW)
        else:
            return grid[best]
