"""Mistakes of perceptrons: Theorem 1 of Balcan's lecture notes 10-315, and Lemma 5 of Balcan and Blum (2006).

The perceptrons are written out here, for vectors, to be read beside the algorithms in the sources.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import ROUNDING
from similitude import bounds
from similitude.goodness.margins import margin

NOTES = "Theorem 1, Balcan's notes 10-315"
BB = "Lemma 5, Balcan and Blum (2006)"
TIES = {"le0": "at <w, x> = 0 always a mistake", "ge0": "at <w, x> = 0 the answer is +"}


def wrong(score: float, label: int, tie: str) -> bool:
    """Tell whether a perceptron errs: on a score of 0 always ("le0"), or as if it had said + ("ge0")."""
    return label * score <= 0 if tie == "le0" else (1 if score >= 0 else -1) != label


def count_mistakes(X: np.ndarray, y: np.ndarray, tie: str, most: int) -> int:
    """Return the mistakes of a perceptron that passes through the examples until it makes none, or more than `most`."""
    w, mistakes, before = np.zeros(X.shape[1]), 0, -1
    while before != mistakes <= most:
        before = mistakes
        for x, label in zip(X, y, strict=True):
            if wrong(w @ x, label, tie):
                w, mistakes = w + label * x, mistakes + 1
    return mistakes


def margin_perceptron(X: np.ndarray, y: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Yield the w after every update, the first example being one, until y<w, x> >= 1 for all or more than `most`."""
    w, updates, before = y[0] * X[0], 1, 0
    yield w
    while before != updates <= most:
        before = updates
        for x, label in zip(X, y, strict=True):
            if label * (w @ x) < 1:
                w, updates = w + label * x, updates + 1
                yield w


def separable_problem(rng: np.random.Generator, unit: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
    """Return examples, labels by a separator through the origin, and the largest margin of any, as a distance.

    Mirror images, with the other label, change no margin of such a separator, and there are two classes of them.
    """
    n, d = int(rng.integers(5, 60)), int(rng.integers(2, 12))
    w, X = rng.standard_normal(d), rng.standard_normal((4 * n, d)) * rng.uniform(0.2, 5)
    X = X / np.linalg.norm(X, axis=1)[:, None] if unit else X
    X = X[np.abs(X @ w) >= np.quantile(np.abs(X @ w), rng.uniform(0.1, 0.75))]
    y = np.where(X @ w > 0, 1, -1)
    largest = margin("linear", np.concatenate([X, -X]), np.concatenate([y, -y]), normalized=False)
    return X, y, largest.value * (1 - ROUNDING)


def spoil(y: np.ndarray, noise: int) -> np.ndarray:
    """Return the labels with some turned round."""
    return np.where(np.arange(len(y)) < noise, -y, y)


def mistakes(trials: int, rng: np.random.Generator, tie: str, noise: int = 0) -> Finding:
    """Count mistakes on random separable problems."""
    violations, closest = 0, 0.0
    for _ in range(trials):
        X, y, gamma = separable_problem(rng)
        bound = bounds.perceptron_mistakes(float(np.linalg.norm(X, axis=1).max()), gamma)
        made = count_mistakes(X, spoil(y, noise), tie, bound)
        violations, closest = violations + (made > bound), max(closest, made / bound)
    return Finding(
        f"{NOTES}: perceptron, {TIES[tie]}",
        "mistakes <= (R/gamma)^2",
        f"{violations} violations, at most {closest:.2f} of the bound",
        trials,
        violations == 0,
    )


def attained(trials: int, rng: np.random.Generator, tie: str, expected: int, believed: int = 16) -> Finding:
    """Count mistakes on the 16 axes, signed and in any order, labels by turns: gamma is 1/4."""
    y, bound, made = np.resize([1, -1], 16), bounds.perceptron_mistakes(1.0, believed**-0.5), set()
    for _ in range(trials):
        X = np.diag(rng.choice([-1.0, 1.0], size=16))[rng.permutation(16)]
        made.add(count_mistakes(X, y, tie, 16))
    return Finding(
        f"{NOTES}: 16 orthonormal examples, {TIES[tie]}",
        f"mistakes <= {bound}, exactly {expected}",
        ", ".join(map(str, sorted(made))),
        trials,
        made == {expected} and expected <= bound,
    )


def margins(trials: int, rng: np.random.Generator, noise: int = 0) -> Finding:
    """Let margin perceptrons come to rest on random separable problems of unit vectors."""
    most = np.zeros(3)
    for _ in range(trials):
        X, y, gamma = separable_problem(rng, unit=True)
        y, bound = spoil(y, noise), bounds.margin_perceptron_updates(gamma)
        w = list(margin_perceptron(X, y, bound))
        longest = max(float(np.linalg.norm(one)) for one in w)
        kept = float((y * (X @ w[-1])).min() / np.linalg.norm(w[-1]))
        most = np.maximum(most, [len(w) / bound, longest * gamma / 3, gamma / 3 / kept if kept > 0 else np.inf])
    return Finding(
        f"{BB}: margin perceptron",
        "updates <= 3/gamma^2, |w| <= 3/gamma, margin >= gamma/3 at rest",
        f"at most {most[0]:.2f}, {most[1]:.2f}, {most[2]:.2f} of the bounds",
        trials,
        bool((most <= 1 + ROUNDING).all()),
    )


EXPERIMENTS = (
    *(Experiment(f"perceptron_{tie}", mistakes, 200, 60, {"tie": tie}, {"noise": 1}) for tie in TIES),
    Experiment("perceptron_attained_le0", attained, 20, 20, {"tie": "le0", "expected": 16}, {"believed": 9}),
    Experiment("perceptron_attained_ge0", attained, 20, 20, {"tie": "ge0", "expected": 8}, {"believed": 4}),
    Experiment("margin_perceptron", margins, 200, 60, {}, {"noise": 1}),
)
