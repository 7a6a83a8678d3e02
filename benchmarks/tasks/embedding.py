"""Learning without labels: kernel principal components, one-class machines and novelty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import faster
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

NEW = 3000
"""Most new objects of either kind."""


def letters(n: int, settings: Settings, **more: Any) -> Dataset:
    """Return standardized figures of printed letters."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "letter.npz") as file:
            X = file["X"].astype(np.float64)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return {"X": X[np.sort(rng.choice(len(X), n, replace=False))], "sigma": 4.0, **more}

    written = "".join(f" {name}={value}" for name, value in more.items())
    return Dataset(f"letter n={n} d=16 float64{written}", make, needs="letter.npz")


def _times(X: np.ndarray, Z: np.ndarray, sigma: float, V: np.ndarray) -> np.ndarray:
    """Return K(X, Z) V in float64."""
    from sklearn.metrics.pairwise import rbf_kernel

    parts = [rbf_kernel(X[at : at + 2000], Z, 0.5 / sigma**2) @ V for at in range(0, len(X), 2000)]
    return np.concatenate(parts)


def residuals(data: Data, result: Any, truth: Any) -> Check:
    """Return the largest |K v - value v| of the centered Gram matrix, as a share of the largest eigenvalue."""
    values, V = (np.asarray(one) for one in result)
    product = _times(data["X"], data["X"], data["sigma"], V - V.mean(axis=0))
    R = product - product.mean(axis=0) - V * values
    worst = float(np.linalg.norm(R, axis=0).max() / values.max())
    return Check(worst, f"residual {worst:.1e} of the largest eigenvalue", worst < 1e-2)


KERNEL_PCA = Task(
    name="kernel_pca",
    computes="fifty kernel principal components: fit",
    operation="kernel_pca",
    datasets=lambda settings: [letters(settings.size(20_000, 3_000), settings, k=50)],
    check=residuals,
    gates=(faster(4.0, "scikit-learn", where="n=20000", goal=5.0),),
)


def affinities(n: int, k: int) -> Dataset:
    """Return the Gaussian similarities of vectors around ten centers."""

    def make(rng: np.random.Generator) -> Data:
        X = 2 * rng.standard_normal((10, 10))[rng.integers(10, size=n)] + rng.standard_normal((n, 10))
        lengths = (X * X).sum(axis=1)
        return {"affinity": np.exp(-0.125 * np.maximum(lengths[:, None] + lengths - 2 * X @ X.T, 0.0)), "k": k}

    return Dataset(f"affinities n={n} k={k}", make)


def quotients(data: Data, result: Any, truth: Any) -> Check:
    """Return the sum of the Rayleigh quotients of the Laplacian, which the exact coordinates minimize."""
    W, E = data["affinity"] - np.diag(np.diagonal(data["affinity"])), np.asarray(result)
    degrees = W.sum(axis=0)
    total = float((1 - (E * (W @ E)).sum(axis=0) / (degrees @ E**2)).sum())
    return Check(total, f"sum of quotients {total:.8f}", bool(np.isfinite(total)))


SPECTRAL_EMBEDDING = Task(
    name="spectral_embedding",
    computes="Laplacian eigenmaps of a matrix of similarities: fit",
    operation="spectral_embedding",
    datasets=lambda settings: [affinities(settings.size(5_000, 1_000), 10)],
    check=quotients,
    in_child=False,
)


def dual_objective(data: Data, result: Any, truth: Any) -> Check:
    """Return the minimized function, per squared object."""
    support, a = (np.asarray(one) for one in result)
    S, total = data["X"][support], data["nu"] * len(data["X"])
    value = 0.5 * float(a @ _times(S, S, data["sigma"], a))
    feasible = abs(a.sum() - total) < 1e-6 * total and a.min() >= 0 and a.max() <= 1 + 1e-12
    return Check(value, f"objective {value:.8g}", bool(feasible))


ONE_CLASS = Task(
    name="one_class",
    computes="a one-class support vector machine: fit",
    operation="one_class",
    datasets=lambda settings: [letters(settings.size(12_000, 3_000), settings, nu=nu) for nu in (0.1, 0.5)],
    check=dual_objective,
    gates=(faster(3.0, "scikit-learn", where="n=12000"),),
    in_child=False,
)


def outliers(name: str, settings: Settings) -> Dataset:
    """Return inliers, and new objects of both kinds."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / f"adbench_{name}.npz") as file:
            X, y = file["X"].astype(np.float64), file["y"]
        inliers, others = (rng.permutation(np.flatnonzero(y == one)) for one in (0, 1))
        train, new = inliers[:4000], np.concatenate([inliers[4000 : 4000 + NEW], others[:NEW]])
        mean, spread = X[train].mean(axis=0), X[train].std(axis=0) + 1e-12
        return {"X": (X[train] - mean) / spread, "new": (X[new] - mean) / spread, "truth": y[new]}

    return Dataset(f"{name} n=4000", make, needs=f"adbench_{name}.npz")


def one_digit(digit: int, settings: Settings) -> Dataset:
    """Return images of one digit, and new images of all digits."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "mnist.npz") as file:
            X, y, new, digits = (file[part] for part in ("X_train", "y_train", "X_test", "y_test"))
        train, some = rng.permutation(np.flatnonzero(y == digit))[:NEW], rng.permutation(len(new))[:NEW]
        return {"X": X[train] / 255.0, "new": new[some] / 255.0, "truth": (digits[some] != digit).astype(int)}

    return Dataset(f"mnist {digit} against the rest n={NEW}", make, needs="mnist.npz")


def area_under_curve(data: Data, result: Any, truth: Any) -> Check:
    """Return the chance that an outlier has a lower score than another object."""
    from sklearn.metrics import roc_auc_score

    area = float(roc_auc_score(data["truth"], -np.asarray(result)))
    return Check(area, f"AUC {area:.3f}", bool(np.isfinite(area)))


NOVELTY = Task(
    name="novelty",
    computes="novelty by default settings: fit, and scores of new objects",
    operation="novelty",
    datasets=lambda settings: [
        *[outliers(name, settings) for name in ("cover", "skin", "magic_gamma")],
        *[one_digit(digit, settings) for digit in (1, 4)],
    ],
    check=area_under_curve,
    in_child=False,
)
