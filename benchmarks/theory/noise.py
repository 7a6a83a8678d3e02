"""Imperfect separability: a separator with error alpha at margin gamma (a remark in section 2 of the paper)."""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV, ROUNDING, Separator, mass_below
from similitude import bounds
from similitude.datasets import Atoms, atoms
from similitude.maps import ProjectionMap


def with_junk(epsilon: float, gamma: float, alpha: float) -> Atoms:
    """Return the hard problem with one more object, of mass alpha, whose label is 0: no separator is right on it."""
    problem = atoms(epsilon / (1 - alpha), gamma)
    return Atoms(np.append((1 - alpha) * problem.masses, alpha), np.append(problem.labels, 0))


def imperfect(
    trials: int,
    rng: np.random.Generator,
    epsilon: float,
    gamma: float,
    alpha: float,
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Draw landmarks, of which a share alpha are wasted; the separator is the projection of w."""
    problem, n = with_junk(epsilon, gamma, alpha), bounds.landmarks(epsilon, gamma, delta, alpha) // divisor
    every, failures, most = np.eye(len(problem.masses)), 0, 0.0
    for _ in range(trials):
        F = ProjectionMap("linear", landmarks=every[problem.draw(n, rng)]).fit(every).transform(every)
        error = mass_below(gamma / 2, Separator(problem.labels @ F), F, problem.labels, problem.masses)
        failures, most = failures + (error > alpha + epsilon + ROUNDING), max(most, error)
    return Finding(
        f"Section 2, {BBV}: error alpha at margin gamma, ProjectionMap",
        f"n = {n:,}: error > {alpha:g} + {epsilon:g} at margin {gamma / 2:g} at a rate <= {delta:g}",
        f"{in_words(failures, trials)}, error at most {most:.3g}",
        trials,
        not contradicts(failures, trials, delta),
    )


EXPERIMENTS = (
    Experiment("imperfect_0.5", imperfect, 400, 60, {"epsilon": 0.2, "gamma": 0.5, "alpha": 0.2}, {"divisor": 64}),
    Experiment("imperfect_0.2", imperfect, 200, None, {"epsilon": 0.1, "gamma": 0.2, "alpha": 0.1}),
)
