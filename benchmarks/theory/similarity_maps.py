"""Similarities as features: Theorems 2 and 3 of Balcan and Blum (2006), and the landmarks of Balcan, Blum and Srebro.

The separators are those of the proofs, with the known weights of the problem: 1 for trusted landmarks and 0 for others,
signed by their labels.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import Separator, mass_below
from benchmarks.theory.signs import BB, Signs, signs
from similitude import FromBlocks, bounds
from similitude.maps import LandmarkMap


def features(hard: Signs, drawn: np.ndarray) -> np.ndarray:
    """Return the similarities of all objects to landmarks, for each similarity; shape (similarities, objects, d)."""
    objects = np.arange(len(hard.trusted))
    maps = [FromBlocks(hard.similarity(number).kernel) for number in range(len(hard.says))]
    return np.array([LandmarkMap(k, landmarks=drawn).fit(objects).transform(objects) for k in maps])


def separated(
    trials: int,
    rng: np.random.Generator,
    gamma: float,
    epsilon: float,
    useless: float,
    delta: float = 0.05,
    divisor: int = 1,
    trusting: bool = False,
) -> Finding:
    """Draw as many landmarks of each class as Theorem 2 asks for; some of them never tell the truth."""
    hard = signs((gamma / 2 / (1 - useless),), epsilon, useless)
    problem, d, found = hard.problem, bounds.similarity_landmarks(gamma, delta) // divisor, []
    weights = np.ones(len(hard.trusted)) if trusting else hard.trusted
    for _ in range(trials):
        drawn = hard.draw(d, rng)
        separator = Separator((weights * problem.labels)[drawn])
        F = features(hard, drawn)[0]
        found.append(mass_below(gamma / 4, separator, F, problem.labels, problem.masses))
    failures = sum(error > epsilon + delta for error in found)
    return Finding(
        f"Theorem 2, {BB}: LandmarkMap, a share {useless:g} of landmarks misleading",
        f"{d:,} of each class: error > {epsilon:g} + {delta:g} at margin {gamma / 4:g} at a rate <= {delta:g}",
        f"{in_words(failures, trials)}, error otherwise {np.median(found):.3g}",
        trials,
        not contradicts(failures, trials, delta),
    )


def combined(
    trials: int,
    rng: np.random.Generator,
    gamma: float,
    alpha: tuple[float, ...],
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Put similarities side by side of which the first alone tells something; a combination alpha has gap gamma."""
    n, norm = len(alpha), math.hypot(*alpha)
    hard, epsilon = signs((gamma / 2 / alpha[0], *(0.0 for _ in alpha[1:])), epsilon=0.05), 0.05
    problem, d = hard.problem, bounds.similarity_landmarks(gamma, delta) // divisor
    margin, failures, margins = bounds.combined_margin(gamma, n, norm), 0, []
    for _ in range(trials):
        drawn = hard.draw(d, rng)
        separator = Separator(np.concatenate([share * problem.labels[drawn] for share in alpha]))
        F = np.concatenate(features(hard, drawn), axis=1)
        failures += mass_below(margin, separator, F, problem.labels, problem.masses) > epsilon + delta
        margins.append(float((problem.labels * separator.normalized_margin(F))[hard.heard == 1].min()))
    name = "one of them alone" if norm == 1 else "all alike"
    return Finding(
        f"Theorem 3, {BB}: {n} similarities side by side, {name} combined with gap {gamma:g}",
        f"{d:,} of each class: error > {epsilon:g} + {delta:g} at margin {margin:g} at a rate <= {delta:g}",
        f"{in_words(int(failures), trials)}, margins from {min(margins):.3f}, a hundredth below "
        f"{np.quantile(margins, 0.01):.3f}",
        trials,
        not contradicts(int(failures), trials, delta),
    )


def reasonable(
    trials: int,
    rng: np.random.Generator,
    tau: float,
    gamma: float,
    accuracy: float,
    epsilon: float = 0.1,
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Draw landmarks without a look at labels; the separator of the proof has an l1 norm of 1/gamma."""
    hard = signs((gamma,), epsilon / 2, useless=1 - tau)  # who hears the contrary loses 2
    problem, d, found = hard.problem, bounds.reasonable_landmarks(tau, gamma, accuracy, delta) // divisor, []
    for _ in range(trials):
        drawn = problem.draw(d, rng)
        weights = (hard.trusted * problem.labels)[drawn]
        scores = features(hard, drawn)[0] @ weights / np.abs(weights).sum() / gamma
        found.append(float(problem.masses @ np.maximum(0.0, 1 - problem.labels * scores)))
    failures = sum(loss > epsilon + accuracy for loss in found)
    return Finding(
        f"Balcan, Blum and Srebro (2008), size worked out here: a share {tau:g} of landmarks reasonable",
        f"{d:,} landmarks: hinge loss > {epsilon:g} + {accuracy:g} at a rate <= {delta:g} (gamma = {gamma:g})",
        f"{in_words(failures, trials)}, loss at most {max(found):.3f}",
        trials,
        not contradicts(failures, trials, delta),
    )


SMALL = {"gamma": 0.5, "epsilon": 0.1, "useless": 0.3}
EXPERIMENTS = (
    Experiment("similarity_map_0.5", separated, 2000, 200, SMALL, {"trusting": True}),
    Experiment("similarity_map_few", separated, 2000, 200, {**SMALL, "useless": 0.0}, {"divisor": 16}),
    Experiment("similarity_map_0.1", separated, 100, None, {"gamma": 0.1, "epsilon": 0.05, "useless": 0.3}),
    Experiment("combined_alone", combined, 2000, 200, {"gamma": 0.8, "alpha": (1.0, 0.0, 0.0, 0.0)}, {"divisor": 16}),
    Experiment("combined_alike", combined, 500, 50, {"gamma": 0.2, "alpha": (0.25,) * 4}, {"divisor": 64}),
    Experiment("reasonable", reasonable, 500, 100, {"tau": 0.5, "gamma": 0.4, "accuracy": 0.25}, {"divisor": 64}),
)
