"""Theorem 1 on unit vectors x = l gamma w + sqrt(1 - gamma^2) u: every one has margin exactly gamma.

The separator of the proofs is the image of w under the map, and w is a vector like others: it is mapped as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.theory.nouns import Experiment, Finding
from benchmarks.theory.separators import BBV, ROUNDING, Separator
from similitude import bounds
from similitude.goodness.margins import error_at_margin
from similitude.maps import ProjectionMap

FRESH = 500
"""New points on which a separator is tried."""


@dataclass(frozen=True)
class Sphere:
    """Points with l uniform on ±1 and u uniform among the unit vectors orthogonal to w, the first axis."""

    gamma: float
    dimension: int = 3000

    @property
    def w(self) -> Any:
        """The separator, as a row."""
        return np.eye(1, self.dimension)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return points and labels."""
        y, X = rng.choice([-1, 1], size=n), rng.standard_normal((n, self.dimension))
        X[:, 0] = 0
        X *= math.sqrt(1 - self.gamma**2) / np.linalg.norm(X, axis=1)[:, None]
        X[:, 0] = y * self.gamma
        return X, y


@dataclass(frozen=True)
class SparseSphere(Sphere):
    """The same with u = ±1/4 on 16 coordinates: the Gram matrix of thousands costs little."""

    @property
    def w(self) -> Any:
        """The separator, as a sparse row."""
        from scipy.sparse import csr_array

        return csr_array(super().w)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return points, as a sparse matrix, and labels."""
        from scipy.sparse import csr_array

        y = rng.choice([-1, 1], size=n)
        places = np.array([1 + rng.choice(self.dimension - 1, 16, replace=False) for _ in range(n)])
        entries = math.sqrt(1 - self.gamma**2) / 4 * rng.choice([-1, 1], size=(n, 16))
        columns, values = np.column_stack([np.zeros(n, int), places]), np.column_stack([y * self.gamma, entries])
        return csr_array((values.ravel(), (np.repeat(np.arange(n), 17), columns.ravel())), (n, self.dimension)), y


def errors(fitted: ProjectionMap, problem: Sphere, margin: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the error of the image of w at a margin, as a cosine of features and beside the length of the objects, 1.

    Of the projection of an object the length is at most its own, so the first margin is at least the second.
    """
    X, y = problem.draw(FRESH, rng)
    w, F = fitted.transform(problem.w)[0], fitted.transform(X)
    short = float(np.mean(y * (F @ w) < (margin - ROUNDING) * np.linalg.norm(w)))
    return float(error_at_margin(Separator(w), F, y, [margin]).y[0]), short


def projected(
    trials: int,
    rng: np.random.Generator,
    epsilon: float,
    gamma: float,
    delta: float = 0.05,
    divisor: int = 1,
    landmarks: int | None = None,
) -> Finding:
    """Draw as many landmarks as Theorem 1 asks for, or a part of them: on this problem few are enough."""
    problem, n = Sphere(gamma), landmarks or bounds.landmarks(epsilon, gamma, delta) // divisor
    found = []
    for _ in range(trials):
        fitted = ProjectionMap("linear", landmarks=problem.draw(n, rng)[0]).fit(problem.w)
        found.append(errors(fitted, problem, gamma / 2, rng))
    worst = np.max(found, axis=0)
    part = f" (1/{divisor} of the theorem's)" if divisor > 1 else ""
    return Finding(
        f"Theorem 1, {BBV}: random unit vectors in R^{problem.dimension:,}, ProjectionMap",
        f"n = {n:,}{part}: error <= {epsilon:g} at margin {gamma / 2:g}",
        f"at most {worst[0]:g} in the features, {worst[1]:g} in the space of the kernel",
        trials,
        bool(worst.max() <= epsilon),
    )


EXPERIMENTS = (
    Experiment("sphere_0.5", projected, 20, 4, {"epsilon": 0.1, "gamma": 0.5}, {"landmarks": 1}),
    Experiment("sphere_0.2", projected, 20, None, {"epsilon": 0.1, "gamma": 0.2}),
    Experiment("sphere_few", projected, 20, 20, {"epsilon": 0.1, "gamma": 0.2, "divisor": 64}, {"landmarks": 1}),
)
