"""Guarantees of every class against the truth, on random finite distributions where their premises hold."""

from __future__ import annotations

import numpy as np

from benchmarks.theory.fuzz import Tally
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.promises import TRIALS, bolder
from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.kernels import Linear


def kept(trials: int, rng: np.random.Generator, name: str, factor: float = 1.0) -> Finding:
    """Fit a class to draws from random distributions, and compare what it promises with the truth."""
    tally = Tally()
    with bolder(factor):
        for _ in range(trials):
            tally.problems += 1
            tally.checks += TRIALS[name](rng)
    compared = [one for one in tally.checks if one.compared]
    failures = sum(not one.holds for one in compared)
    ratios = [one.ratio for one in compared if one.ratio is not None]
    mean = f", {np.mean(ratios):.2f} of the bound on average" if ratios else ""
    return Finding(
        f"Guarantees of every class: {name}",
        "no premise that the sample refutes; statements fail never, or as rarely as they say",
        f"{failures} of {len(compared)} statements fail{mean}",
        trials,
        not tally.faults() and bool(compared),
    )


def nothing(trials: int, rng: np.random.Generator, kind: type = SimilarityRegressor) -> Finding:
    """Fit to numbers, of which no theorem speaks."""
    promised = 0
    for _ in range(trials):
        y = rng.integers(2, size=400)
        X = 0.1 * rng.normal(size=(400, 2)) + 2.0 * y[:, None] - 1.0
        model = kind(Linear(), n_landmarks=400, landmarks="uniform", random_state=0)
        promised += model.fit(X, y).guarantee_.grade != "NONE"
    return Finding(
        "Guarantees of every class: SimilarityRegressor",
        "nothing: the theorems are about classes",
        f"{promised} of {trials} fits promise something",
        trials,
        promised == 0,
    )


SLOW = {"Theorems 2 and 3, searched": (100, 4), "SimilarityClassifier": (150, 6), "CompactMap": (300, 20)}
"""Trials, also in short form, of classes whose promises take longer to compare."""

EXPERIMENTS = (
    *(
        Experiment(
            f"kept_{name.replace(',', '').replace(' ', '_')}",
            kept,
            *SLOW.get(name, (2000, 40)),
            {"name": name},
            {"factor": 1e8 if name == "LandmarkMap" else 40.0},
        )
        for name in sorted(TRIALS, key=lambda name: name in SLOW)
        if name != "SimilarityRegressor"
    ),
    Experiment("kept_SimilarityRegressor", nothing, 20, 1, {}, {"kind": SimilarityClassifier}),
)
