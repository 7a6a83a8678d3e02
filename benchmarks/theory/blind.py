"""No map without data: the lower bound of section 5 of Balcan, Blum and Vempala.

Its problem has margin sqrt(3)/2; the paper's 1/2 is true of it and not tight. The positive definite version has
sqrt(1 - alpha) sqrt(3)/2, where the paper has (1 - alpha)/2.
"""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import agrees
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV
from similitude import FromBlocks
from similitude.datasets import LowerBound, lower_bound
from similitude.errors import InseparableError
from similitude.goodness.margins import margin
from similitude.learners import SeparatorLP
from similitude.maps import LandmarkMap

SECTION = f"Section 5, {BBV}"
LANDMARKS = 20


def seen_through(problem: LowerBound, landmarks: np.ndarray, rng: np.random.Generator) -> tuple[int, int, int]:
    """Return how many different rows of features there are, and of how many new objects how many are told right."""
    F = LandmarkMap(FromBlocks(problem.kernel), landmarks=landmarks).fit(problem.inside).transform(problem.inside)
    learned, new = np.split(rng.permutation(len(F)), 2)
    right = told(F[learned], problem.labels[learned], F[new]) == problem.labels[new]
    return len(np.unique(F, axis=0)), int(right.sum()), len(new)


def told(F: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return labels by a separator without errors or, where there is none, the commoner label."""
    try:
        return SeparatorLP().fit(F, y).predict(new)
    except InseparableError:
        return np.full(len(new), 1 if y.sum() >= 0 else -1)


def unseen(trials: int, rng: np.random.Generator, from_data: bool = False) -> Finding:
    """Choose landmarks among all objects: unless one of them occurs, the features of all that occur are the same."""
    rate = (1 - 2.0**-10) ** LANDMARKS
    same = right = new = 0
    for _ in range(trials):
        problem = lower_bound(20, random_state=rng)
        landmarks = rng.choice(problem.inside, LANDMARKS) if from_data else problem.anywhere(LANDMARKS, rng)
        rows, right_here, of = seen_through(problem, landmarks, rng)
        if rows == 1:
            same, right, new = same + 1, right + right_here, new + of
    return Finding(
        f"{SECTION}: {LANDMARKS} landmarks without data",
        f"1 distinct row at the rate {rate:.4f}, exactly, and then an accuracy of 1/2",
        f"1 row in {same}/{trials}, accuracy {right / max(new, 1):.4f} there",
        trials,
        agrees(same, trials, rate) and agrees(right, max(new, 1), 0.5),
    )


def seen(trials: int, rng: np.random.Generator, from_data: bool = True) -> Finding:
    """Choose landmarks among the objects that occur."""
    found = []
    for _ in range(trials):
        problem = lower_bound(20, random_state=rng)
        landmarks = rng.choice(problem.inside, LANDMARKS) if from_data else problem.anywhere(LANDMARKS, rng)
        rows, right, of = seen_through(problem, landmarks, rng)
        found.append((rows, right / of))
    (rows, accuracy), most = np.min(found, axis=0), np.max(found, axis=0)[0]
    return Finding(
        f"{SECTION}: {LANDMARKS} landmarks from the data",
        "2 distinct rows and an accuracy of 1 in every trial",
        f"{rows:g} to {most:g} rows, accuracy at least {accuracy:.4f}",
        trials,
        bool(rows == most == 2 and accuracy == 1),
    )


def three(problem: LowerBound) -> np.ndarray:
    """Return one object that never occurs and one of each class: the three directions of the paper's figure."""
    outside = next(one for one in range(2**problem.n_bits) if one not in problem.inside)
    return np.array([outside, *(problem.inside[problem.labels == label][0] for label in (1, -1))])


def eigenvalues(trials: int, rng: np.random.Generator, alpha: float, believed: float | None = None) -> Finding:
    """Compare the eigenvalues of the three directions' Gram matrix with 0, 3/2, 3/2, scaled and shifted by alpha."""
    believed, worst = alpha if believed is None else believed, 0.0
    expected = (1 - believed) * np.array([0.0, 1.5, 1.5]) + believed
    for _ in range(trials):
        problem = lower_bound(20, alpha=alpha, random_state=rng)
        found = np.linalg.eigvalsh(FromBlocks(problem.kernel).gram(three(problem)))
        worst = max(worst, float(np.abs(found - expected).max()))
    return Finding(
        f"{SECTION}: kernel with alpha = {alpha:g}",
        f"eigenvalues {', '.join(f'{value:.4g}' for value in expected)}",
        f"{', '.join(f'{abs(value):.4f}' for value in found)}, off by {worst:.1g} at most",
        trials,
        worst < 1e-12,
    )


def wide(
    trials: int, rng: np.random.Generator, alpha: float, believed: float | None = None, each: int = 100
) -> Finding:
    """Compare the margin of a sample, as many of each class, with that of the separator (0, 1) on all objects.

    On a sample of m objects the diagonal alpha helps: the largest margin is sqrt((1 - alpha) 3/4 + alpha/m).
    """
    found = []
    for _ in range(trials):
        problem = lower_bound(20, alpha=alpha, random_state=rng)
        some = np.concatenate([rng.choice(problem.inside[problem.labels == one], each, False) for one in (1, -1)])
        found.append(margin(FromBlocks(problem.kernel), some, np.repeat([1, -1], each)).value)
    expected = problem.margin if believed is None else believed
    on_sample = np.sqrt(expected**2 + alpha / (2 * each))
    return Finding(
        f"{SECTION}: margin with alpha = {alpha:g}",
        f"{expected:.4f}, not {(1 - alpha) / 2:g}; on {2 * each} objects {on_sample:.4f}",
        f"{min(found):.4f} to {max(found):.4f}",
        trials,
        bool(np.abs(np.array(found) - on_sample).max() < 1e-6),
    )


EXPERIMENTS = (
    Experiment("blind", unseen, 200, 20, {}, {"from_data": True}),
    Experiment("seeing", seen, 200, 20, {}, {"from_data": False}),
    Experiment("eigenvalues_0", eigenvalues, 20, 3, {"alpha": 0.0}, {"believed": 0.1}),
    Experiment("eigenvalues_0.1", eigenvalues, 20, 3, {"alpha": 0.1}, {"believed": 0.0}),
    Experiment("margin_0", wide, 20, 2, {"alpha": 0.0}, {"believed": 0.5}),
    Experiment("margin_0.1", wide, 20, 2, {"alpha": 0.1}, {"believed": 0.45}),
)
