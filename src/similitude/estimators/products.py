"""Ridge regression by many landmarks, on products with the matrix of similarities, which is never stored."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.compute.engines import Engine
from similitude.landmarks.features import Coordinates, View
from similitude.linear import PENALTIES, Linear, Trial
from similitude.linear.ridge import downhill
from similitude.scikit.estimator import FLOATS

MANY = 3_000
"""Landmarks from which on products cost less than the moments of the features."""

WHOLE = 8
"""Examples for each landmark up to which the equations of all are solved at once."""

SOME = 4
"""Examples for each landmark whose equations show the way to the solution for more."""

CHOSEN_ON = 20
"""Examples for each landmark by which the penalty is chosen."""

START, STEP = 1e-6, 2
"""The penalty that is tried first, as a part of the trace, and how far apart the next ones are: a decade."""

TRIAL: dict[str, Any] = {"steps": 10, "tolerance": 1e-2}
"""How exactly penalties are compared; the one chosen is then solved as exactly as the engine does."""


def takes_map(machine: Any, X: Any, y: Any) -> bool:
    """Tell whether a memory map is left to products, like an array in memory, as the device reads it in pieces."""
    return (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and X.dtype in FLOATS
        and not isinstance(y, (str, os.PathLike))
        and machine.loss in ("auto", "squared")
        and machine.penalty == "l2"
        and isinstance(machine.n_landmarks, numbers.Integral)
        and int(machine.n_landmarks) >= MANY
        and machine._engine.solves
    )


@dataclass(frozen=True, eq=False)
class Solved:
    """A model found by products, and how held-out examples fared."""

    coordinates: Coordinates
    linear: Linear
    trial: Trial


def solve_by_products(
    view: View, A: Encoding, Y: np.ndarray, weights: np.ndarray, order: np.ndarray, held: np.ndarray, engine: Engine
) -> Solved | None:
    """Return the model of all examples with the penalty that is best for those held out, the last of a random order.

    The penalty is chosen with the first of that order; as a noise of the targets it does not depend on how many there
    are. None where landmarks are few, or where the engine has no products of this similarity.
    """
    if view.n_landmarks < MANY:
        return None
    with engine.algebra(f"the equations of {view.n_landmarks:,} landmarks"):
        solver = engine.least_squares(view.similarity, A, view.landmarks.encoding)
        if solver is None:
            return None
        learned, judges = order[: len(order) - len(held)], solver.only(held)

        def trial_of(lam: float, found: Any) -> Trial:
            return Trial.of(lam, judges.values(found), Y[held], weights[held])

        if len(learned) <= WHOLE * view.n_landmarks:
            lam, apart, found = _at_once(solver, Y, weights, np.sort(learned), held, trial_of)
        else:
            first = learned[: CHOSEN_ON * view.n_landmarks], learned[: SOME * view.n_landmarks]
            lam, apart, found = _by_steps(solver, Y, weights, np.sort(first[0]), np.sort(first[1]), held, trial_of)
        trial = trial_of(lam, apart)
    return Solved(Coordinates(view), Linear(found.weights, found.intercept, found.residual), trial)


TrialOf = Callable[[float, Any], Trial]


def _at_once(
    solver: Any, Y: np.ndarray, weights: np.ndarray, learned: np.ndarray, held: np.ndarray, trial_of: TrialOf
) -> tuple[float, Any, Any]:
    """Return the best penalty, and its solutions without and with those held out, by the equations of all."""
    equations = solver.only(learned).equations(Y[learned], weights[learned])
    lam, apart = _best_penalty(lambda lam, latest: equations.solve(lam), trial_of, solver.spread * equations.total)
    return lam, apart, (equations + solver.only(held).equations(Y[held], weights[held])).solve(lam)


def _by_steps(
    solver: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    first: np.ndarray,
    some: np.ndarray,
    held: np.ndarray,
    trial_of: TrialOf,
) -> tuple[float, Any, Any]:
    """Return the best penalty by the first, and its solutions without and with those held out, by steps to them."""
    equations = solver.only(some).equations(Y[some], weights[some])
    part = solver.only(first).problem(Y[first], weights[first])

    def solve(lam: float, latest: Any) -> Any:
        near = equations.factor(lam * equations.total / part.total)
        return part.solve(lam, near, latest or equations.solution(near), **TRIAL)

    lam, apart = _best_penalty(solve, trial_of, solver.spread * part.total)
    without = weights.copy()
    without[held] = 0.0
    near = equations.factor(lam * equations.total / float(without.sum()))
    apart = solver.problem(Y, without).solve(lam, near, apart)
    return lam, apart, solver.problem(Y, weights).solve(lam, near, apart)


def _best_penalty(solve: Callable[[float, Any], Any], trial_of: TrialOf, unit: float) -> tuple[float, Any]:
    """Return the penalty that is better than both of its neighbors, and its solution."""
    tried: dict[int, tuple[float, Any]] = {}

    def loss(place: int) -> float:
        if not 0 <= place < len(PENALTIES):
            return np.inf
        if place not in tried:
            lam, nearest = unit * float(PENALTIES[place]), min(tried, key=lambda i: abs(i - place), default=None)
            found = solve(lam, None if nearest is None else tried[nearest][1])
            tried[place] = trial_of(lam, found).loss, found
        return tried[place][0]

    place = downhill(loss, int(np.abs(np.log(PENALTIES / START)).argmin()), STEP)
    return unit * float(PENALTIES[place]), tried[place][1]
