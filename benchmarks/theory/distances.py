"""Random projections keep squared distances (Arriaga and Vempala; Theorem 2 of Balcan, Blum and Vempala)."""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV
from similitude import bounds
from similitude.maps.sketches import Sketch

DIMENSION = 40
FAILURE = 0.01
SETTINGS = tuple((kind, distortion) for kind in ("gaussian", "sign") for distortion in (0.5, 0.25, 0.1))


def difference(trial: int, rng: np.random.Generator) -> np.ndarray:
    """Return u - v, by turns spread evenly over all coordinates, unevenly, or over two: signs feel the difference."""
    if trial % 3 == 0:
        return rng.standard_normal(DIMENSION)
    if trial % 3 == 1:
        return rng.standard_normal(DIMENSION) * 0.7 ** np.arange(DIMENSION)
    return np.eye(DIMENSION)[0] + np.eye(DIMENSION)[1 + trial % (DIMENSION - 1)]


def kept(trials: int, rng: np.random.Generator, kind: str, distortion: float, divisor: int = 1) -> Finding:
    """Project one difference of points by a new matrix in each trial, to the dimension that the theorem asks for."""
    k = bounds.johnson_lindenstrauss(distortion, FAILURE) // divisor
    failures = 0
    for trial in range(trials):
        u = difference(trial, rng)
        projected = Sketch(kind, DIMENSION, k, int(rng.integers(2**63)))(u[None])[0]
        failures += not 1 - distortion <= (projected @ projected) / (u @ u) <= 1 + distortion
    return Finding(
        f"Theorem 2, {BBV}; Arriaga and Vempala: {kind}",
        f"k = {k:,}: squared distance beyond 1 ± {distortion:g} at a rate <= {FAILURE:g}",
        in_words(failures, trials),
        trials,
        not contradicts(failures, trials, FAILURE),
    )


EXPERIMENTS = tuple(
    Experiment(f"{kind}_{e:g}", kept, 2000, 500, {"kind": kind, "distortion": e}, {"divisor": 25})
    for kind, e in SETTINGS
)
