"""Explicit features: projection onto landmarks, landmarks by random pivots, random Fourier features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import at_most, checked, faster
from benchmarks.nouns import Check, Data, Dataset, Settings, Task
from benchmarks.tasks.checking import CORNER

GEMM = "NumPy GEMM"


def digits(n: int, dtype: str, settings: Settings, **more: Any) -> Dataset:
    """Return images of digits with entries in [0, 1]."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "mnist.npz") as file:
            images = file["X_train"]
        rows = np.sort(rng.choice(len(images), n, replace=False))
        return {"X": np.divide(images[rows], 255, dtype=dtype), "sigma": 6.0, **more}

    return Dataset(f"mnist n={n} d=784 {dtype}{_written(more)}", make, needs="mnist.npz")


def clusters(n: int, d: int, dtype: str, **more: Any) -> Dataset:
    """Return vectors around 50 centers."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.standard_normal((50, d))[rng.integers(50, size=n)] + 0.5 * rng.standard_normal((n, d))
        return {"X": X.astype(dtype), "sigma": np.sqrt(d), **more}

    return Dataset(f"clusters n={n} d={d} {dtype}{_written(more)}", make)


def satellite(settings: Settings, **more: Any) -> Dataset:
    """Return standardized pixels of a satellite's images."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "satellite.npz") as file:
            X = file["X"].astype(np.float64)
        X = ((X - X.mean(axis=0)) / X.std(axis=0))[rng.choice(len(X), 3000, replace=False)]
        return {"X": X, "sigma": 6.0, **more}

    return Dataset(f"satellite n=3000 d=36 float64{_written(more)}", make, needs="satellite.npz")


def _written(more: dict[str, Any]) -> str:
    return "".join(f" {name}={value}" for name, value in more.items())


def kernel(X: np.ndarray, Z: np.ndarray, sigma: float) -> np.ndarray:
    """Return Gaussian values in float64, from differences where there are few."""
    from scipy.spatial.distance import cdist

    return np.exp(-0.5 / sigma**2 * cdist(X.astype(np.float64), Z.astype(np.float64), "sqeuclidean"))


def nystroem_truth(data: Data) -> np.ndarray:
    """Return the kernel of the first rows as seen through the landmarks, k(x)' M^-1 k(z), in float64."""
    from scipy.linalg import cho_factor, cho_solve

    X, sigma = data["X"], data["sigma"]
    landmarks = X[np.random.RandomState(0).permutation(len(X))[: data["m"]]]
    K = kernel(X[:CORNER], landmarks, sigma)
    return K @ cho_solve(cho_factor(kernel(landmarks, landmarks, sigma)), K.T)


def same_kernel(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare dot products of features with the kernel that they should have."""
    F = np.asarray(result)[: len(truth)].astype(np.float64)
    away = float(np.abs(F @ F.T - truth).max())
    return Check(away, f"kernel off by {away:.1e}", away <= 1e-5)


def projection_data(settings: Settings) -> list[Dataset]:
    """Return many digits and many landmarks."""
    n, m = settings.size(10_000, 5_000), settings.size(1_000, 500)
    both = ("float64", "float32")
    return [clusters(5_000, 100, "float64", m=500), *(digits(n, dtype, settings, m=m) for dtype in both)]


PROJECTION = Task(
    name="projection_map",
    computes="the features of all rows by projection onto landmarks, fit and transform",
    operation="projection",
    datasets=projection_data,
    truth=nystroem_truth,
    check=same_kernel,
    gates=(faster(3.0, "scikit-learn", goal=5.0), at_most(1.6, GEMM, where="mnist")),
    in_child=False,
)


def pivot_data(settings: Settings) -> list[Dataset]:
    """Return many digits, and fewer pixels whose best approximation can be computed."""
    n, k = settings.size(20_000, 5_000), settings.size(500, 200)
    made = [digits(n, dtype, settings, k=k) for dtype in ("float64", "float32")]
    return [clusters(5_000, 100, "float64", k=200), *made, satellite(settings, k=300)]


def kernel_and_best(data: Data) -> tuple[np.ndarray, float] | None:
    """Return the kernel and the smallest trace that k dimensions can leave unexplained; None for many rows."""
    if len(data["X"]) > 3000:
        return None
    K = kernel(data["X"], data["X"], data["sigma"])
    return K, float(np.linalg.eigvalsh(K)[: -data["k"]].sum())


def near_best(data: Data, result: Any, truth: tuple[np.ndarray, float] | None) -> Check:
    """Compare the trace that the landmarks leave unexplained with the smallest possible for as many dimensions."""
    chosen, k = np.asarray(result), data["k"]
    distinct = len(set(chosen.tolist())) == k
    if truth is None:
        return Check(0.0 if distinct else np.inf, f"{k} distinct landmarks", distinct)
    K, best = truth
    half = np.linalg.solve(np.linalg.cholesky(K[np.ix_(chosen, chosen)] + 1e-12 * np.eye(k)), K[chosen])
    left = float(np.trace(K) - (half**2).sum())
    return Check(left / best, f"trace error {left / best:.2f} x the best", distinct)


PIVOTS = Task(
    name="rpcholesky",
    computes="landmarks by randomly pivoted Cholesky",
    operation="rpcholesky",
    datasets=pivot_data,
    truth=kernel_and_best,
    check=near_best,
    gates=(
        at_most(2.5, GEMM, where="mnist"),
        checked(2.0, "trace error of ours over the best of its rank", "satellite"),
    ),
    in_child=False,
)


def fourier_data(settings: Settings) -> list[Dataset]:
    """Return vectors of 784 numbers in both precisions."""
    return [clusters(settings.size(4_000, 1_000), 784, dtype, D=4096) for dtype in ("float64", "float32")]


def kernel_error(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare the mean squared error of the kernel with 1 / D, which independent features stay below."""
    F = np.asarray(result)[: len(truth)].astype(np.float64)
    off = np.triu_indices(len(truth), 1)
    error = float(np.sqrt(np.mean((F @ F.T - truth)[off] ** 2) * data["D"]))
    return Check(error, f"kernel error {error:.2f} / sqrt(D)", error <= 1.1)


FOURIER = Task(
    name="fourier_map",
    computes="random Fourier features of all rows, fit and transform",
    operation="fourier",
    datasets=fourier_data,
    truth=lambda data: kernel(data["X"][:CORNER], data["X"][:CORNER], data["sigma"]),
    check=kernel_error,
    gates=(faster(1.0, "scikit-learn"),),
    in_child=False,
)
