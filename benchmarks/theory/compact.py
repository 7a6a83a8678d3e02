"""Two stages, a projection onto landmarks and a random one: Theorem 3 of Balcan, Blum and Vempala.

The theorem's own dimension is above 1,156/gamma^2 ln(24/(epsilon delta)), and so above the rank of the first stage
wherever the theorem's own number of landmarks fits into memory. A map would stay at that rank; here the projection is
drawn all the same, after landmarks of orthonormal objects, which are hard for the first stage. Once it is tried below
the rank too, with more landmarks than needed, twice. Other lines have the practical dimension, which is no theorem.
"""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV, ROUNDING, Separator, mass_below
from benchmarks.theory.spheres import SparseSphere, Sphere, errors
from similitude import bounds
from similitude.datasets import atoms
from similitude.maps import CompactMap, ProjectionMap
from similitude.maps.sketches import Sketch


def fit(problem: Sphere, n: int, d: int, projection: str, rng: np.random.Generator) -> CompactMap:
    """Return a map with n landmarks drawn from the problem and d features."""
    seed = int(rng.integers(2**32))
    asked = CompactMap(
        "linear", landmarks=problem.draw(n, rng)[0], n_components=d, projection=projection, random_state=seed
    )
    return asked.fit(problem.w)


def practical(
    trials: int,
    rng: np.random.Generator,
    epsilon: float,
    gamma: float,
    projection: str,
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Map with the landmarks of the theorem and the practical dimension."""
    problem = Sphere(gamma)
    n = bounds.landmarks(epsilon / 2, gamma, delta / 2)
    d = bounds.compact_dimension(epsilon, gamma, delta, practical=True) // divisor
    found = [errors(fit(problem, n, d, projection, rng), problem, gamma / 4, rng)[0] for _ in range(trials)]
    failures = sum(error > epsilon for error in found)
    return Finding(
        f"Theorem 3, {BBV}: CompactMap, {projection}, practical dimension (no theorem)",
        f"n = {n:,}, d = {d:,}: error > {epsilon:g} at margin {gamma / 4:g} at a rate <= {delta:g}",
        f"{in_words(failures, trials)}, error at most {max(found):g}",
        trials,
        not contradicts(failures, trials, delta),
    )


def proven(trials: int, rng: np.random.Generator, epsilon: float, gamma: float, delta: float, n: int) -> Finding:
    """Map with the theorem's own dimension, from more landmarks than it asks for, so that the rank is above it.

    Trials are too few to speak of a rate: none may fail.
    """
    problem, d = SparseSphere(gamma, dimension=20_000), bounds.compact_dimension(epsilon, gamma, delta)
    needed, found, least = bounds.landmarks(epsilon / 2, gamma, delta / 2), [], n
    for _ in range(trials):
        fitted = fit(problem, n, d, "gaussian", rng)
        found.append(errors(fitted, problem, gamma / 4, rng)[0])
        least = min(least, fitted.rank_)
    return Finding(
        f"Theorem 3, {BBV}: CompactMap, gaussian, the theorem's dimension",
        f"n = {n:,} >= {needed}, d = {d:,}: error <= {epsilon:g} at margin {gamma / 4:g} (delta = {delta:g})",
        f"error at most {max(found):g}, rank {least:,}",
        trials,
        least > d and max(found) <= epsilon,
    )


def own_dimension(
    trials: int,
    rng: np.random.Generator,
    projection: str,
    epsilon: float,
    gamma: float,
    delta: float,
    divisor: int = 1,
) -> Finding:
    """Project onto the theorem's own number of landmarks, then at random to its own dimension."""
    problem, failures = atoms(epsilon, gamma), 0
    n, d = bounds.landmarks(epsilon / 2, gamma, delta / 2), bounds.compact_dimension(epsilon, gamma, delta) // divisor
    every, y = np.eye(len(problem.masses)), problem.labels
    for _ in range(trials):
        F = ProjectionMap("linear", landmarks=every[problem.draw(n, rng)]).fit(every).transform(every)
        F = Sketch(projection, F.shape[1], d, int(rng.integers(2**63)))(F)
        failures += mass_below(gamma / 4, Separator(y @ F), F, y, problem.masses) > epsilon + ROUNDING
    return Finding(
        f"Theorem 3, {BBV}: orthonormal objects, {projection}, the theorem's landmarks and dimension",
        f"n = {n:,}, d = {d:,}: error > {epsilon:g} at margin {gamma / 4:g} at a rate <= {delta:g}",
        in_words(int(failures), trials),
        trials,
        not contradicts(int(failures), trials, delta),
    )


def two_stages(projection: str, epsilon: float, gamma: float, full: int, short: int | None = None) -> Experiment:
    """Return an experiment with the practical dimension; spoilt, one feature is left."""
    setting = {"epsilon": epsilon, "gamma": gamma, "projection": projection}
    d = bounds.compact_dimension(epsilon, gamma, 0.05, practical=True)
    return Experiment(f"compact_{projection}_{epsilon:g}_{gamma:g}", practical, full, short, setting, {"divisor": d})


EXPERIMENTS = (
    two_stages("gaussian", 0.2, 0.5, 100, 6),
    two_stages("sign", 0.2, 0.5, 100, 6),
    two_stages("gaussian", 0.1, 0.5, 60),
    two_stages("sign", 0.1, 0.5, 60),
    two_stages("gaussian", 0.1, 0.3, 60),
    *(
        Experiment(
            f"compact_own_{projection}",
            own_dimension,
            200,
            40,
            {"projection": projection, "epsilon": 0.2, "gamma": 0.5, "delta": 0.1},
            {"divisor": 10_000},
        )
        for projection in ("gaussian", "sign")
    ),
    Experiment(
        "compact_own_0.2",
        own_dimension,
        10,
        None,
        {"projection": "gaussian", "epsilon": 0.1, "gamma": 0.2, "delta": 0.05},
    ),
    Experiment("compact_proven", proven, 2, None, {"epsilon": 0.2, "gamma": 0.95, "delta": 0.2, "n": 9000}),
)
