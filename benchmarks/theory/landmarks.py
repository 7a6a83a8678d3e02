"""How many landmarks: Lemma 1 and Theorem 1 on orthonormal objects, one of them common and the others rare.

The error of the best separator in the span of the landmarks is the mass of the objects that were never drawn. It is
read off the features: an object that was not drawn has none, the others are separated by the projected w, or by a
linear program. Where the Gram matrix of all landmarks would take too long, the draws are counted, and a line says so;
another line says that counting and features agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.theory.chances import agrees, contradicts, in_words, quantile_interval
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV, ROUNDING, Separator, mass_below, separated
from similitude import bounds
from similitude.datasets import Atoms, atoms
from similitude.maps import LandmarkMap, ProjectionMap

Kind = type[ProjectionMap] | type[LandmarkMap] | None
"""A map, or None to count draws."""

THEOREMS = {
    ProjectionMap: f"Theorem 1, {BBV}: ProjectionMap",
    LandmarkMap: f"Lemma 1, {BBV}: LandmarkMap",
    None: f"Lemma 1, {BBV}: pure counting",
}


def features(kind: type[ProjectionMap] | type[LandmarkMap], drawn: np.ndarray, problem: Atoms) -> np.ndarray:
    """Return the features of every atom by a map with these landmarks; atoms are rows of the identity matrix."""
    every = np.eye(len(problem.masses))
    return kind("linear", landmarks=every[drawn]).fit(every).transform(every)


def error_left(kind: Kind, drawn: np.ndarray, problem: Atoms, gamma: float) -> float:
    """Return the error of the best separator in the span of these landmarks; of a projection, at margin gamma/2.

    The separator w is the sum of all atoms, signed by their labels. Features of a projection are linear, so F(w) is
    the sum of theirs. Similarities to landmarks promise no margin, and a linear program finds their separator.
    """
    if kind is None:
        return float(np.delete(problem.masses, np.unique(drawn)).sum())
    F = features(kind, drawn, problem)
    if kind is ProjectionMap:
        return mass_below(gamma / 2, Separator(problem.labels @ F), F, problem.labels, problem.masses)
    return float(problem.masses[~separated(F, problem.labels)].sum())


def count_failures(trials: int, rng: np.random.Generator, kind: Kind, n: int, epsilon: float, gamma: float) -> int:
    """Return how often n landmarks leave no separator of error epsilon."""
    problem = atoms(epsilon, gamma)
    errors = [error_left(kind, problem.draw(n, rng), problem, gamma) for _ in range(trials)]
    return sum(error > epsilon + ROUNDING for error in errors)


def enough(
    trials: int,
    rng: np.random.Generator,
    kind: Kind,
    epsilon: float,
    gamma: float,
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Draw as many landmarks as the theorem asks for."""
    n = bounds.landmarks(epsilon, gamma, delta) // divisor
    failures = count_failures(trials, rng, kind, n, epsilon, gamma)
    margin = f" at margin {gamma / 2:g}" if kind is ProjectionMap else ""
    return Finding(
        THEOREMS[kind],
        f"n = {n:,}: error > {epsilon:g}{margin} at a rate <= {delta:g} (gamma = {gamma:g})",
        in_words(failures, trials),
        trials,
        not contradicts(failures, trials, delta),
    )


def too_few(
    trials: int, rng: np.random.Generator, kind: Kind, epsilon: float, gamma: float, divisor: int = 64
) -> Finding:
    """Draw a small part of what the theorem asks for: were the problem not hard, passing would mean nothing."""
    asked = bounds.landmarks(epsilon, gamma, 0.05)
    rate = float(failure_rates(asked // 64, epsilon, gamma)[-1])
    failures = count_failures(trials, rng, kind, asked // divisor, epsilon, gamma)
    return Finding(
        f"{THEOREMS[kind]}, hardness of the problem",
        f"n/64 = {asked // 64}: error > {epsilon:g} at the rate {rate:.4f}, exactly (gamma = {gamma:g})",
        f"{failures}/{trials} fail",
        trials,
        agrees(failures, trials, rate) and failures > 0.95 * trials,
    )


def smallest(
    trials: int,
    rng: np.random.Generator,
    kind: Kind,
    epsilon: float,
    gamma: float,
    delta: float = 0.05,
    wanted: float = 1.0,
) -> Finding:
    """Find how many landmarks are really needed: the 1 - delta quantile of the first n with error <= epsilon."""
    problem, asked = atoms(epsilon, gamma), bounds.landmarks(epsilon, gamma, delta)
    needed = [first_enough(kind, problem, wanted * epsilon, gamma, rng) for _ in range(trials)]
    low, high = quantile_interval(needed, 1 - delta)
    exact = 1 + int(np.argmax(failure_rates(asked, epsilon, gamma) <= delta))
    found = np.quantile(needed, 1 - delta, method="inverted_cdf")
    return Finding(
        f"{THEOREMS[kind]}, smallest n",
        f"n <= {asked:,}, exactly {exact} (epsilon = {epsilon:g}, gamma = {gamma:g}, delta = {delta:g})",
        f"{found:.0f} [{low:g}, {high:g}] (99 %), {asked / found:.1f} times fewer",
        trials,
        low <= exact <= high <= asked,
    )


def first_enough(kind: Kind, problem: Atoms, epsilon: float, gamma: float, rng: np.random.Generator) -> int:
    """Return the first n for which n draws leave an error of at most epsilon; more draws never leave more."""
    low, high = 0, 2 * bounds.practical_landmarks(epsilon, gamma)
    drawn = problem.draw(high, rng)
    while high - low > 1:
        n = (low + high) // 2
        left = error_left(kind, drawn[:n], problem, gamma)
        low, high = (low, n) if left <= epsilon + ROUNDING else (n, high)
    return high


def failure_rates(most: int, epsilon: float, gamma: float) -> np.ndarray:
    """Return the exact probability that 1, 2, ..., `most` landmarks leave no separator of error epsilon.

    The number of rare atoms drawn so far is a Markov chain; a failure is to have fewer than half of them. (That the
    common atom is never drawn has probability (2 epsilon)^n and is left out.)
    """
    rare = round(1 / gamma**2) - 1
    new = 2 * epsilon * (1 - np.arange(rare + 1) / rare)
    state, rates = np.eye(1, rare + 1)[0], np.empty(most)
    for n in range(most):
        state = state * (1 - new) + np.concatenate([[0.0], (state * new)[:-1]])
        rates[n] = state[: (rare + 1) // 2].sum()
    return rates


def counting(
    trials: int,
    rng: np.random.Generator,
    kind: Kind,
    epsilon: float,
    gamma: float,
    sizes: tuple[int, ...],
    off: int = 0,
) -> Finding:
    """Compare the error by features with the mass of the atoms that were never drawn."""
    problem, worst = atoms(epsilon, gamma), 0.0
    for trial in range(trials):
        drawn = problem.draw(sizes[trial % len(sizes)], rng)
        difference = error_left(kind, drawn, problem, gamma) - error_left(None, drawn[off:], problem, gamma)
        worst = max(worst, abs(difference))
    return Finding(
        f"{THEOREMS[kind]}, features against counting",
        f"error by features = mass of objects never drawn (n = {', '.join(f'{n:,}' for n in sizes)})",
        f"largest difference {worst:.1g}",
        trials,
        worst < ROUNDING,
    )


SPOILT = {enough: {"divisor": 64}, too_few: {"divisor": 16}, smallest: {"wanted": 1.5}, counting: {"off": 30}}


def on_atoms(
    tried: Callable[..., Finding],
    kind: Kind,
    epsilon: float,
    gamma: float,
    full: int,
    short: int | None = None,
    **more: Any,
) -> Experiment:
    """Return an experiment on the problem of these figures, named after them."""
    by = {ProjectionMap: "projection", LandmarkMap: "landmarks", None: "counts"}[kind]
    setting = {"kind": kind, "epsilon": epsilon, "gamma": gamma, **more}
    return Experiment(f"{tried.__name__}_{by}_{epsilon:g}_{gamma:g}", tried, full, short, setting, SPOILT[tried])


EXPERIMENTS = (
    on_atoms(enough, ProjectionMap, 0.2, 0.5, 400, 100),
    on_atoms(enough, ProjectionMap, 0.1, 0.2, 400, 6),
    on_atoms(enough, ProjectionMap, 0.1, 0.1, 3),
    on_atoms(enough, LandmarkMap, 0.1, 0.2, 400, 60),
    on_atoms(enough, LandmarkMap, 0.1, 0.1, 400),
    on_atoms(enough, None, 0.1, 0.1, 400, 400),
    on_atoms(too_few, ProjectionMap, 0.1, 0.2, 400, 100),
    on_atoms(too_few, LandmarkMap, 0.1, 0.2, 400, 100),
    on_atoms(too_few, None, 0.1, 0.1, 400, 400),
    on_atoms(smallest, ProjectionMap, 0.1, 0.2, 400, 120),
    on_atoms(smallest, LandmarkMap, 0.1, 0.2, 400),
    on_atoms(smallest, ProjectionMap, 0.1, 0.1, 200),
    on_atoms(smallest, None, 0.1, 0.2, 4000, 400),
    on_atoms(smallest, None, 0.1, 0.1, 4000, 400),
    on_atoms(smallest, None, 0.05, 0.1, 4000),
    on_atoms(counting, ProjectionMap, 0.1, 0.2, 200, 40, sizes=(35, 70, 119, 240)),
    on_atoms(counting, LandmarkMap, 0.1, 0.2, 200, 40, sizes=(35, 70, 119, 240)),
)
