"""Ridge regression by many landmarks, on products with the matrix of similarities, which is never stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.encodings import Encoding, as_numpy, rows
from similitude.engines import Engine
from similitude.machine.heads.linear import Linear
from similitude.machine.heads.ridge import PENALTIES, Trial, downhill
from similitude.machine.views import Coordinates, View

MANY = 3_000
"""Landmarks from which on products cost less than the moments of the features."""

STEP, START = 2, 1e-7
"""Penalties are tried a decade apart, from the one near this part of the trace."""

TRIAL = {"steps": 20, "tolerance": 1e-2}
"""How exactly penalties are compared; the one chosen is then solved as exactly as the engine does."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A model found by products, and how held-out examples fared."""

    coordinates: Coordinates
    linear: Linear
    trial: Trial


def solve_by_products(
    view: View, A: Encoding, Y: np.ndarray, weights: np.ndarray, held: np.ndarray, engine: Engine
) -> Solved | None:
    """Return the model of all examples with the penalty that is best for those held out.

    None where landmarks are few, or where the engine has no products of this similarity.
    """
    solver = engine.least_squares(view.similarity, A, view.landmarks.encoding) if view.n_landmarks >= MANY else None
    if solver is None:
        return None
    learned = weights.copy()
    learned[held] = 0.0
    problem, few = solver.problem(Y, learned), rows(A, held)
    unit = solver.spread * float(learned.sum())
    tried: dict[int, tuple[Any, Trial]] = {}

    def loss(place: int) -> float:
        if not 0 <= place < len(PENALTIES):
            return np.inf
        if place not in tried:
            lam = unit * float(PENALTIES[place])
            found = problem.solve(lam, **TRIAL)
            values = engine.times(view.similarity, few, view.landmarks.encoding, found.weights)
            scores = as_numpy(values).astype(np.float64) + found.intercept
            tried[place] = found, Trial.of(lam, scores, Y[held], weights[held])
        return tried[place][1].loss

    best = downhill(loss, int(np.abs(np.log(PENALTIES / START)).argmin()), STEP)
    start, trial = tried[best]
    found = solver.problem(Y, weights).solve(trial.lam, start)
    return Solved(Coordinates(view), Linear(found.weights, found.intercept, found.residual), trial)
