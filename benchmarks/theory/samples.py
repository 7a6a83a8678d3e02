"""Labeled examples that stay linearly separable in the features: Corollary 1 of Balcan, Blum and Vempala."""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV, separated
from similitude import bounds
from similitude.datasets import atoms
from similitude.maps import LandmarkMap, ProjectionMap


def separable(
    trials: int,
    rng: np.random.Generator,
    kind: type[ProjectionMap] | type[LandmarkMap],
    error: float,
    gamma: float,
    delta: float,
    divisor: int = 1,
) -> Finding:
    """Spend half of delta on the landmarks and half on the examples; a linear program must separate these all."""
    n, s = bounds.landmarks(error, gamma, delta / 2) // divisor, bounds.separable_sample(error, delta / 2)
    problem, failures = atoms(0.2, gamma), 0
    every = np.eye(len(problem.masses))
    for _ in range(trials):
        sample = problem.draw(s, rng)
        fitted = kind("linear", landmarks=every[problem.draw(n, rng)]).fit(every)
        failures += not separated(fitted.transform(every[sample]), problem.labels[sample]).all()
    return Finding(
        f"Corollary 1, {BBV}: {kind.__name__} and SeparatorLP",
        f"n = {n:,}: {s} examples are not separable at a rate <= {delta:g} (gamma = {gamma:g})",
        in_words(failures, trials),
        trials,
        not contradicts(failures, trials, delta),
    )


EXPERIMENTS = (
    Experiment(
        "sample_landmarks_0.5",
        separable,
        400,
        50,
        {"kind": LandmarkMap, "error": 0.01, "gamma": 0.5, "delta": 0.2},
        {"divisor": 2000},
    ),
    Experiment(
        "sample_landmarks_0.2", separable, 200, None, {"kind": LandmarkMap, "error": 0.005, "gamma": 0.2, "delta": 0.2}
    ),
    Experiment(
        "sample_projection_0.5",
        separable,
        200,
        20,
        {"kind": ProjectionMap, "error": 0.04, "gamma": 0.5, "delta": 0.4},
        {"divisor": 500},
    ),
)
