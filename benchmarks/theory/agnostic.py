"""Remarks of Balcan and Blum (2006) on learning: footnote 5, and weights that depend on the sample.

Footnote 5: what minimizes the hinge loss may err (epsilon + delta)/gamma times more than the best separator. If the
features are well-behaved, such as normal, regression with the absolute loss on polynomials of a fixed degree, and the
best threshold, comes arbitrarily near the error of the best separator (Kalai, Klivans, Mansour and Servedio, 2005).

The remark after Theorem 2: for a good kernel, margin bounds give weights to the objects of a sample, which depend on
the whole sample. Definition 3 asks for a weight of each object alone; for a good kernel, these exist as well.
"""

from __future__ import annotations

import numpy as np

from benchmarks.theory.chances import contradicts, in_words
from benchmarks.theory.good_kernels import best_gap
from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import ROUNDING
from benchmarks.theory.signs import BB
from similitude import bounds, margin
from similitude.datasets import FewObjects, atoms
from similitude.kernels import Polynomial
from similitude.learners import KernelSVC, RepresenterRegressor
from similitude.learners.losses import Quantile
from similitude.maps import LandmarkMap

NEAR = 0.02
"""How near the best separator's error agnostic learning is to come."""


def far_out(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return normal points with the sign of the first coordinate, and the wrong sign far out in one direction."""
    X, angle = rng.standard_normal((n, 2)), np.radians(50)
    y = np.where(X[:, 0] >= 0, 1, -1)
    return X, np.where(X @ [np.cos(angle), np.sin(angle)] > 1.4, -y, y)


def best_error(X: np.ndarray, y: np.ndarray) -> float:
    """Return the error of the best separator through the origin, among 360."""
    angles = np.radians(np.arange(360))
    sides = np.where(X @ np.stack([np.cos(angles), np.sin(angles)]) >= 0, 1, -1)
    return float((sides != y[:, None]).mean(axis=0).min())


def agnostic_error(F: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray, degree: int) -> float:
    """Return the error of absolute-loss regression on polynomials with the threshold of fewest training errors."""
    kernel = Polynomial(degree=degree, coef0=1.0)
    model = RepresenterRegressor(kernel, loss=Quantile(0.5), lam=1e-3, tol=1e-4).fit(F, y.astype(float))
    scores = model.predict(F)
    threshold = min(np.sort(scores), key=lambda t: int((np.where(scores >= t, 1, -1) != y).sum()))
    return float((np.where(model.predict(new) >= threshold, 1, -1) != truth).mean())


def footnote_5(trials: int, rng: np.random.Generator, degree: int = 5, n: int = 300) -> Finding:
    """Learn in the features of a map, where points far out are labeled wrongly: hinge loss is misled by them."""
    found = []
    for _ in range(trials):
        (X, y), (new, truth) = far_out(n, rng), far_out(5000, rng)
        mapped = LandmarkMap("linear", landmarks=np.eye(2)).fit(X)
        F, G = mapped.transform(X), mapped.transform(new)
        hinge = KernelSVC("linear", C=10.0, fit_intercept=False).fit(F, y)
        found.append(
            (best_error(new, truth), agnostic_error(F, y, G, truth, degree), (hinge.predict(G) != truth).mean())
        )
    best, agnostic, by_hinge = np.mean(found, axis=0)
    return Finding(
        f"Footnote 5, {BB}: absolute loss on polynomials of degree {degree}",
        f"error <= {best:.3f} + {NEAR:g}, that of the best separator, where the least hinge loss is above that",
        f"{agnostic:.3f} on average, {by_hinge:.3f} by hinge loss",
        trials,
        bool(agnostic <= best + NEAR < by_hinge),
    )


def sample_weights(
    trials: int, rng: np.random.Generator, epsilon: float, gamma: float, delta: float = 0.05, divisor: int = 1
) -> Finding:
    """Weigh the objects of a sample as the largest margin does: copies of an object have different weights."""
    problem, n = atoms(epsilon, gamma), bounds.landmarks(epsilon, gamma, delta) // divisor
    every, y, failures, weights = np.eye(len(problem.masses)), problem.labels, 0, []
    for _ in range(trials):
        drawn = np.concatenate([problem.draw(n, rng), [0, 1 + rng.integers(len(y) - 1)]])
        X = np.concatenate([every[drawn], -every[drawn]])  # mirror images change no separator through the origin
        found = margin("linear", X, np.concatenate([y[drawn], -y[drawn]]))
        w = found.coefficients @ X
        reached = y * (every @ w) / np.linalg.norm(w)
        failures += problem.masses[reached < gamma / 2 - ROUNDING].sum() > epsilon + ROUNDING
        copies = np.abs(found.coefficients[: len(drawn)] + found.coefficients[len(drawn) :])[drawn == 0]
        weights += [float(copies.min()), float(copies.max())]
    alone = best_gap(FewObjects(problem.masses, y, every, every))
    return Finding(
        f"Remark on weights that depend on the sample, {BB}: largest margin on a sample",
        f"n = {n:,}: error > {epsilon:g} at margin {gamma / 2:g} at a rate <= {delta:g}; weights of objects exist",
        f"{in_words(int(failures), trials)}; copies of one object weigh {min(weights):.2f} to {max(weights):.2f}, "
        f"the best weights of objects have gap {alone:.3f}",
        trials,
        not contradicts(int(failures), trials, delta) and alone > 0,
    )


EXPERIMENTS = (
    Experiment("agnostic", footnote_5, 20, 2, {}, {"degree": 1}),
    Experiment("sample_weights_0.5", sample_weights, 200, 20, {"epsilon": 0.2, "gamma": 0.5}, {"divisor": 140}),
    Experiment("sample_weights_0.2", sample_weights, 40, None, {"epsilon": 0.1, "gamma": 0.2}),
)
