"""A good kernel is a good similarity: Theorems 4 and 7 of Balcan and Blum (2006), and Lemma 6, on which they rest.

A margin perceptron passes over a sample once and leaves out what misses the margin of the separator known to be there
(it serves the proof: nobody who learns knows that). Each object's weight is how often it is added, for once that it is
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import ROUNDING
from benchmarks.theory.signs import BB
from benchmarks.theory.spheres import Sphere
from similitude import bounds
from similitude.datasets import FewObjects, atoms, figure_3_1

RUNS = 20
"""Samples over which the weights of the proof are averaged."""


def passed(problem: FewObjects, drawn: np.ndarray, good: np.ndarray) -> list[tuple[int, int]]:
    """Return at which places of a sample a margin perceptron adds which object, if that has the margin."""
    scores, added = np.zeros(len(good)), []
    signed = problem.labels[:, None] * problem.similarities * problem.labels  # l <x, l' x'>
    for place, x in enumerate(drawn.tolist()):
        if scores[x] < 1 - ROUNDING and good[x]:
            scores += signed[:, x]
            added.append((place, x))
    return added


def weights_of_the_proof(problem: FewObjects, size: int, good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how often objects are in the w held at a random place of a sample, for once that they are drawn."""
    count = np.zeros(len(good))
    for _ in range(RUNS):
        held = rng.integers(size)
        for place, x in passed(problem, problem.draw(size, rng), good):
            count[x] += place < held
    prior = np.where(problem.labels == 1, *(problem.masses[problem.labels == label].sum() for label in (1, -1)))
    return prior * count / RUNS / (size * problem.masses)


def best_gap(problem: FewObjects) -> float:
    """Return the largest gap that any weights in [0, 1] give to all objects, by a linear program."""
    from scipy.optimize import linprog

    n = len(problem.masses)
    each = np.array([problem.gaps(one) for one in np.eye(n)]).T
    found = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-each, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(0, 1)] * n + [(None, None)],
    )
    return -float(found.fun)


def three_directions(rng: np.random.Generator) -> tuple[FewObjects, np.ndarray, float, float]:
    """Return Figure 3.1 with random masses, which objects have the margin 1/2 of the best separator, and errors."""
    return figure_3_1(rng.uniform(0.4, 0.6), rng.uniform(0.4, 0.5)), np.ones(3, bool), 0.5, 0.0


def on_a_sphere(rng: np.random.Generator, n: int = 100) -> tuple[FewObjects, np.ndarray, float, float]:
    """Return random unit vectors of margin 0.4, one of them with the wrong label."""
    X, y = Sphere(0.4, dimension=10).draw(n, rng)
    y[:2] = 1, -1
    X[:2, 0] = 0.4 * y[:2]
    labels = np.where(np.arange(n) == 2, -y, y)
    return FewObjects(np.full(n, 1 / n), labels, X @ X.T, X), np.arange(n) != 2, 0.4, 1 / n


def as_similarity(
    trials: int,
    rng: np.random.Generator,
    make: Callable[..., tuple[FewObjects, np.ndarray, float, float]],
    accuracy: float,
    trusting: bool = False,
    times: float = 1.0,
) -> Finding:
    """Weigh objects as the proof does: on all but a few the gap is 1/(2M) then, and no weight is above 1."""
    most, least, best, weight = 0.0, math.inf, math.inf, 0.0
    for _ in range(trials):
        problem, good, gamma, epsilon = make(rng)
        error, gap = bounds.kernel_as_similarity(epsilon, gamma, accuracy)
        size = round(1 / (2 * gap))
        weights = np.ones(len(good)) if trusting else weights_of_the_proof(problem, size, good, rng)
        gaps = problem.gaps(weights)
        most, weight = max(most, float(problem.masses[gaps < times * gap].sum())), max(weight, weights.max())
        least, best = min([least, *gaps[gaps >= times * gap]]), min(best, best_gap(problem))
    return Finding(
        f"Theorems 4 and 7, {BB}: {make.__name__.replace('_', ' ')}, margin {gamma:g}, error {epsilon:g}",
        f"a share above {error:.3g} has a gap below 1/(2M) = {times * gap:.3g}, M = {size:,}, in no trial",
        f"{most:.3g} at most, the others {least:.3g} or more, weights up to {weight:.3g}; "
        f"the best weights give {best:.3g} to all",
        trials,
        bool(most <= error < 1 and weight <= 1),
    )


def rare_atoms(
    rng: np.random.Generator, gamma: float, accuracy: float, epsilon: float
) -> tuple[FewObjects, np.ndarray]:
    """Return orthonormal objects, half of the rare ones of which must be seen, and one with two labels.

    The objects are 1/gamma^2 atoms and, of mass epsilon, the first of them once more with the other label.
    """
    problem = atoms(accuracy / (1 - epsilon), gamma, rng)
    X = np.eye(len(problem.masses))[np.append(np.arange(len(problem.masses)), 0)]
    labels = np.append(problem.labels, -problem.labels[0])
    masses = np.append((1 - epsilon) * problem.masses, epsilon)
    return FewObjects(masses, labels, X @ X.T, X), np.arange(len(X)) < len(X) - 1


def one_sum(
    trials: int,
    rng: np.random.Generator,
    gamma: float,
    accuracy: float,
    epsilon: float,
    delta: float = 0.05,
    divisor: int = 1,
) -> Finding:
    """Draw a sample of the size of Lemma 6 and take the best of the sums that a margin perceptron passes through."""
    size = bounds.margin_perceptron_sample(gamma, accuracy, delta) // divisor
    failures, longest, worst = 0, 0.0, 0.0
    for _ in range(trials):
        problem, good = rare_atoms(rng, gamma, accuracy, epsilon)
        w, error = np.zeros(problem.points.shape[1]), 1.0
        for _, x in passed(problem, problem.draw(size, rng), good):
            w = w + problem.labels[x] * problem.points[x]
            missed = problem.labels * (problem.points @ w) < 1 - ROUNDING
            error, longest = min(error, float(problem.masses[missed].sum())), max(longest, float(np.linalg.norm(w)))
        failures, worst = failures + (error > epsilon + accuracy + ROUNDING), max(worst, error)
    return Finding(
        f"Lemma 6, {BB}: some of the examples, summed up",
        f"M = {size:,}: |w| <= {3 / gamma:g}; y<w, x> < 1 beyond {epsilon:g} + {accuracy:g} at a rate <= {delta:g}",
        f"{in_words(failures, trials)}, share at most {worst:.3g}, |w| at most {longest:.3g}",
        trials,
        not contradicts(failures, trials, delta) and longest <= 3 / gamma + ROUNDING,
    )


EXPERIMENTS = (
    Experiment("sum_0.2", one_sum, 400, 60, {"gamma": 0.2, "accuracy": 0.1, "epsilon": 0.05}, {"divisor": 32}),
    Experiment("sum_0.1", one_sum, 100, None, {"gamma": 0.1, "accuracy": 0.1, "epsilon": 0.1}),
    Experiment(
        "good_kernel_figure", as_similarity, 20, 5, {"make": three_directions, "accuracy": 0.005}, {"trusting": True}
    ),
    Experiment("good_kernel_sphere", as_similarity, 20, 3, {"make": on_a_sphere, "accuracy": 0.005}, {"times": 100.0}),
)
