"""Examples that vote: Theorems 1 and 8 of Balcan and Blum (2006)."""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import agrees, contradicts, in_words
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import ROUNDING
from benchmarks.theory.signs import BB, signs
from similitude import FromBlocks, bounds
from similitude.datasets import FewObjects, two_points, unbalanced
from similitude.learners.votes import SimilarityVote, WeakSimilarityVote


def examples(problem: FewObjects, each: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return as many examples of each class, and their labels."""
    drawn = np.concatenate([problem.draw(each, rng, label=label) for label in (1, -1)])
    return drawn, problem.labels[drawn]


def vote(
    trials: int, rng: np.random.Generator, gamma: float, epsilon: float, delta: float = 0.05, divisor: int = 1
) -> Finding:
    """Let as many examples vote as the theorem asks for, on a problem whose gap is exactly gamma.

    An unlucky sample is wrong about nearly all objects: that is when half of all signs, or more, are -1.
    """
    from scipy.stats import binom

    hard, asked = signs((gamma / 2,), epsilon), bounds.votes(gamma, delta)
    problem, m, found = hard.problem, asked // divisor, []
    objects = np.arange(len(problem.masses))
    for _ in range(trials):
        model = SimilarityVote(FromBlocks(problem.kernel)).fit(*examples(problem, m, rng))
        found.append(float(problem.masses[model.predict(objects) != problem.labels].sum()))
    failures, rate = sum(error > epsilon + delta for error in found), binom.cdf(asked, 2 * asked, (1 + gamma / 2) / 2)
    return Finding(
        f"Theorem 1, {BB}: SimilarityVote",
        f"{m:,} of each class: error > {epsilon:g} + {delta:g} at a rate <= {delta:g}, here {rate:.2g} (gap {gamma:g})",
        f"{in_words(failures, trials)}, error otherwise {np.median(found):.3g}",
        trials,
        not contradicts(failures, trials, delta) and agrees(failures, trials, rate),
    )


def too_few(trials: int, rng: np.random.Generator, gamma: float, delta: float = 0.05, divisor: int = 16) -> Finding:
    """Let a sixteenth of them vote: were the problem not hard, passing would mean nothing."""
    from scipy.stats import binom

    problem, asked = signs((gamma / 2,)).problem, bounds.votes(gamma, delta)
    m, failures, objects = asked // divisor, 0, np.arange(len(problem.masses))
    for _ in range(trials):
        model = SimilarityVote(FromBlocks(problem.kernel)).fit(*examples(problem, m, rng))
        failures += problem.masses[model.predict(objects) != problem.labels].sum() > delta
    rate = binom.cdf(asked // 16, 2 * (asked // 16), (1 + gamma / 2) / 2)
    return Finding(
        f"Theorem 1, {BB}: hardness of the problem",
        f"{asked // 16} of each class: error > {delta:g} at the rate {rate:.4f}, exactly (gap {gamma:g})",
        f"{failures}/{trials} fail",
        trials,
        agrees(int(failures), trials, rate) and bool(rate > 2 * delta),
    )


def wrong(model: WeakSimilarityVote, problem: FewObjects) -> np.ndarray:
    """Return the probability of a wrong answer to each object."""
    objects = np.arange(len(problem.masses))
    return 1 - model.predict_proba(objects)[objects, (problem.labels == 1).astype(int)]


def weak(trials: int, rng: np.random.Generator, balanced: bool, delta: float = 0.1, divisor: int = 1) -> Finding:
    """Answer by chance on the line of footnote 7, where the gap is 1/2 and the error 3/8 on average."""
    problem = two_points()
    m, errors, failures = bounds.weak_votes(0.5, delta) // divisor, [], 0
    for _ in range(trials):
        model = WeakSimilarityVote(FromBlocks(problem.kernel), balanced=balanced).fit(*examples(problem, m, rng))
        errors.append(float(problem.masses @ wrong(model, problem)))
        failures += errors[-1] > 0.5 - 0.5 / 8 / model.shrink_ + ROUNDING
    return Finding(
        f"Theorem 8, {BB}, equal classes: WeakSimilarityVote{'' if balanced else ', as printed'}",
        f"{m} of each class: error > 1/2 - gap/8 = {0.5 - 0.5 / 8:g} at a rate <= {delta:g}, 0.375 on average",
        f"{in_words(failures, trials)}, {max(errors):.4f} at most, {np.mean(errors):.4f} on average",
        trials,
        not contradicts(failures, trials, delta) and abs(float(np.mean(errors)) - 0.375) < 0.01,
    )


def answers(trials: int, rng: np.random.Generator, new: int = 20_000, each: int = 100, repeat: bool = False) -> Finding:
    """Count wrong answers to new objects, drawn one by one: each has a coin of its own, also the copies of one."""
    problem, agreed, closest = two_points(), 0, 1.0
    for _ in range(trials):
        seed = int(rng.integers(2**32))
        model = WeakSimilarityVote(FromBlocks(problem.kernel), random_state=seed).fit(*examples(problem, each, rng))
        drawn = problem.draw(new, rng)
        said = model.predict(np.arange(4))[drawn] if repeat else model.predict(drawn)
        expected = float(wrong(model, problem)[drawn].mean())
        counted = int((said != problem.labels[drawn]).sum())
        agreed += agrees(counted, new, expected)
        closest = min(closest, 1 - abs(counted / new - expected))
    return Finding(
        f"Theorem 8, {BB}: answers of WeakSimilarityVote",
        f"wrong as often as its probabilities say, up to chance ({new:,} objects)",
        f"{agreed}/{trials} agree, off by {1 - closest:.4f} at most",
        trials,
        not contradicts(trials - agreed, trials, 0.01),
    )


def as_printed(
    trials: int, rng: np.random.Generator, positive: float, alike: float, believed: float | None = None
) -> Finding:
    """Try the printed rule where one class is rare: similarities are larger within classes, and it errs above 1/2.

    Objects of a class are all alike here, so that any examples give the same means: no number of them would help.
    """
    problem, found = unbalanced(positive, alike), []
    expected = 0.5 - (positive * alike - (1 - positive)) / 4 if believed is None else believed
    for _ in range(trials):
        drawn = problem.draw(500, rng)
        model = WeakSimilarityVote(FromBlocks(problem.kernel), balanced=False).fit(drawn, problem.labels[drawn])
        found.append(float(problem.masses @ wrong(model, problem)))
    return Finding(
        f"Theorem 8, {BB}, as printed, does not hold: classes of {positive:g} and {1 - positive:g}",
        f"gap {problem.weak_gap:.4f} as pairs come, {problem.balanced_gap:.4f} balanced: error {expected:.4f} > 1/2",
        f"{min(found):.4f} to {max(found):.4f}",
        trials,
        bool(np.abs(np.array(found) - expected).max() < 1e-9),
    )


def mixtures(
    trials: int, rng: np.random.Generator, positive: float, delta: float = 0.05, balanced: bool = True
) -> Finding:
    """Take a gap that comes from the rare class alone; the balanced rule shares it out."""
    problem = unbalanced(positive, among_positives=0.0, between=0.2, among_negatives=1.0)
    gap, found = problem.balanced_gap, []
    m = bounds.weak_votes(gap, delta)
    for _ in range(trials):
        model = WeakSimilarityVote(FromBlocks(problem.kernel), balanced=balanced).fit(*examples(problem, m, rng))
        found.append((float(problem.masses @ wrong(model, problem)), 0.5 - gap / 8 / model.shrink_))
    failures = sum(error > bound + ROUNDING for error, bound in found)
    return Finding(
        f"Theorem 8, {BB}, any classes: WeakSimilarityVote, classes of {positive:g} and {1 - positive:g}",
        f"{m} of each class: error <= 1/2 - gap/(8 shrink) = {max(bound for _, bound in found):.4f} (gap {gap:g})",
        f"{max(error for error, _ in found):.4f} at most",
        trials,
        not contradicts(failures, trials, delta),
    )


EXPERIMENTS = (
    Experiment("vote_0.2", vote, 2000, 200, {"gamma": 0.2, "epsilon": 0.1}, {"divisor": 16}),
    Experiment("vote_0.5", vote, 2000, 200, {"gamma": 0.5, "epsilon": 0.0}, {"divisor": 16}),
    Experiment("vote_0.05", vote, 200, None, {"gamma": 0.05, "epsilon": 0.05}),
    Experiment("vote_hard", too_few, 2000, 300, {"gamma": 0.2}, {"divisor": 4}),
    Experiment("weak_vote", weak, 2000, 200, {"balanced": True}, {"divisor": 74}),
    Experiment("weak_vote_printed", weak, 2000, 200, {"balanced": False}, {"divisor": 74}),
    Experiment("weak_answers", answers, 100, 10, {}, {"repeat": True}),
    Experiment("weak_0.9", as_printed, 10, 2, {"positive": 0.9, "alike": 0.063}, {"believed": 0.49375}),
    Experiment("weak_0.8", as_printed, 10, 2, {"positive": 0.8, "alike": 0.12}, {"believed": 0.49324}),
    Experiment("weak_mixture_0.9", mixtures, 20, 4, {"positive": 0.9}, {"balanced": False}),
    Experiment("weak_mixture_0.99", mixtures, 20, 4, {"positive": 0.99}, {"balanced": False}),
)
