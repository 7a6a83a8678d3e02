"""Learners: support vector machines, perceptrons, ridge regression, clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from benchmarks.gates import at_most, faster, less_memory, seconds
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

INTELEX = "scikit-learn-intelex"
NEW = 5_000
"""Rows that are predicted."""


def even_and_odd(n: int, settings: Settings, predict: bool = False) -> Dataset:
    """Return images of digits, labeled by whether the digit is odd."""

    def make(rng: np.random.Generator) -> Data:
        return _digits(n, settings, rng, predict, lambda digit: digit % 2)

    return Dataset(f"mnist even or odd n={n} d=784 float64", make, needs="mnist.npz")


def ten_digits(n: int, settings: Settings) -> Dataset:
    """Return images of digits, labeled by the digit."""

    def make(rng: np.random.Generator) -> Data:
        return _digits(n, settings, rng, True, lambda digit: digit)

    return Dataset(f"mnist ten classes n={n} d=784 float64", make, needs="mnist.npz")


def _digits(n: int, settings: Settings, rng: np.random.Generator, predict: bool, label: Any) -> Data:
    with np.load(Path(settings.data or ".") / "mnist.npz") as file:
        images, digits = file["X_train"], file["y_train"].astype(int)
    rows = rng.permutation(len(images))[: n + NEW]
    X = images[rows] / 255.0
    data = {"X": X[:n], "y": label(digits[rows[:n]]), "sigma": 1 / np.sqrt(2 * 0.013), "C": 1.0}
    return {**data, "new": X[n:], "truth": label(digits[rows[n:]])} if predict else data


def adult(n: int, settings: Settings) -> Dataset:
    """Return sparse rows of a9a with their labels."""

    def make(rng: np.random.Generator) -> Data:
        from scipy.sparse import csr_matrix

        with np.load(Path(settings.data or ".") / "a9a.npz") as file:
            parts = tuple(file[f"train_{part}"] for part in ("data", "indices", "indptr"))
            X = csr_matrix((parts[0].astype(float), *parts[1:]), shape=tuple(file["train_shape"]))
            y = file["y_train"]
        rows = np.sort(rng.choice(X.shape[0], n, replace=False))
        return {"X": X[rows].toarray(), "y": y[rows], "sigma": 1 / np.sqrt(2 * 0.05), "C": 1.0}

    return Dataset(f"a9a n={n} d=123 float64", make, needs="a9a.npz")


def moons(n: int, predict: bool = False) -> Dataset:
    """Return noisy half-moons in ten dimensions."""

    def make(rng: np.random.Generator) -> Data:
        from sklearn.datasets import make_moons

        total = n + (NEW if predict else 0)
        P, y = make_moons(total, noise=0.2, random_state=int(rng.integers(2**31)))
        X = np.hstack([P, 0.2 * rng.standard_normal((total, 8))])
        data = {"X": X[:n], "y": y[:n], "sigma": 1.0, "C": 1.0}
        return {**data, "new": X[n:], "truth": y[n:]} if predict else data

    return Dataset(f"moons n={n} d=10 float64", make)


def nearly_optimal(data: Data, result: Any, truth: Any) -> Check:
    """Compare the primal and the dual objective of a machine, in float64."""
    X, sigma, C = data["X"], data["sigma"], data["C"]
    sign = np.where(data["y"] == np.unique(data["y"])[1], 1.0, -1.0)
    beta = result.coefficients
    used = np.flatnonzero(beta)
    f = np.concatenate([_gaussian(X[at : at + 2000], X[used], sigma) @ beta[used] for at in range(0, len(X), 2000)])
    squared, losses = float(beta @ f), np.maximum(0, 1 - sign * (f + result.intercept)).sum()
    dual = float(sign @ beta) - 0.5 * squared
    gap = (0.5 * squared + C * losses - dual) / abs(dual)
    return Check(gap, f"dual objective {dual:.6g}, relative gap {gap:.1e}", bool(gap < 1e-3))


def _gaussian(X: np.ndarray, Z: np.ndarray, sigma: float) -> np.ndarray:
    squares = (X * X).sum(1)[:, None] + (Z * Z).sum(1) - 2 * X @ Z.T
    return np.exp(-0.5 / sigma**2 * np.maximum(squares, 0))


def accuracy(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of right predictions; it must beat chance clearly."""
    share = float(np.mean(np.asarray(result) == data["truth"]))
    return Check(share, f"accuracy {share:.4f}", share > 0.8)


def svc_data(settings: Settings) -> list[Dataset]:
    """Return digits of two sizes, and a9a."""
    real = [even_and_odd(n, settings) for n in ((2_000,) if settings.quick else (5_000, 10_000))]
    return [moons(settings.size(10_000, 3_000)), *real, adult(settings.size(5_000, 3_000), settings)]


SVC = Task(
    name="svc",
    computes="a support vector machine of two classes: fit",
    operation="svc",
    datasets=svc_data,
    check=nearly_optimal,
    gates=(faster(1.0, INTELEX, goal=2.0), faster(5.0, "scikit-learn", where="n=10000 d=784"), less_memory(INTELEX)),
)

SVC_CLASSES = Task(
    name="svc_classes",
    computes="a support vector machine of ten classes: fit and predict",
    operation="svc_classes",
    datasets=lambda settings: [ten_digits(settings.size(5_000, 2_000), settings)],
    check=accuracy,
    gates=(faster(1.0, INTELEX, goal=2.0),),
    in_child=False,
)

SVC_PREDICT = Task(
    name="svc_predict",
    computes="a support vector machine of two classes: predict",
    operation="svc_predict",
    datasets=lambda settings: [
        moons(settings.size(10_000, 3_000), predict=True),
        even_and_odd(settings.size(5_000, 2_000), settings, predict=True),
    ],
    check=accuracy,
    gates=(faster(10.0, "scikit-learn"), faster(1.3, INTELEX, where="mnist")),
    in_child=False,
)


def stream(n: int) -> Dataset:
    """Return vectors that a perceptron learns with about 300 mistakes."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.standard_normal((2 * n, 10))
        score = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
        clear = np.flatnonzero(np.abs(score) > 0.3)[:n]
        return {"X": X[clear], "y": np.sign(score[clear]).astype(int), "sigma": 3.0}

    return Dataset(f"stream n={n} d=10", make)


PERCEPTRON = Task(
    name="perceptron",
    computes="one pass of the kernel perceptron",
    operation="perceptron",
    datasets=lambda settings: [stream(settings.size(100_000, 20_000))],
    check=lambda data, result, truth: Check(float(result), f"{result} support objects", 100 <= result <= 1000),
    gates=(seconds(1.0),),  # 100,000 examples a second
    in_child=False,
)


def smooth(n: int) -> Dataset:
    """Return vectors with a smooth target, and twenty strengths of regularization."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.standard_normal((n, 10))
        y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
        return {"X": X, "y": y, "sigma": 3.0, "lams": np.geomspace(1e-4, 1e2, 20)}

    return Dataset(f"smooth n={n} d=10", make)


RIDGE = Task(
    name="ridge",
    computes="kernel ridge regression with 20 lambdas chosen by leave-one-out",
    operation="ridge",
    datasets=lambda settings: [smooth(settings.size(2_000, 1_000))],
    check=lambda data, result, truth: Check(float(result), f"lambda {float(result):.2g}", 1e-4 <= result <= 1e2),
    gates=(at_most(1.5, "NumPy eigh"),),
    in_child=False,
)


def groups(n: int) -> Dataset:
    """Return vectors around eight centers."""

    def make(rng: np.random.Generator) -> Data:
        X = 2 * rng.standard_normal((8, 10))[rng.integers(8, size=n)] + rng.standard_normal((n, 10))
        return {"X": X, "sigma": 4.0, "clusters": 8}

    return Dataset(f"groups n={n} d=10", make)


def inertia(data: Data, result: Any, truth: Any) -> Check:
    """Return the sum of squared distances to the centers in feature space."""
    K, labels = _gaussian(data["X"], data["X"], data["sigma"]), np.asarray(result)
    total = float(np.trace(K)) - sum(K[np.ix_(at, at)].sum() / len(at) for at in _members(labels))
    return Check(total, f"inertia {total:.1f}", bool(np.isfinite(total)))


def _members(labels: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(labels == one) for one in np.unique(labels)]


KMEANS = Task(
    name="kmeans",
    computes="kernel k-means with eight clusters",
    operation="kmeans",
    datasets=lambda settings: [groups(settings.size(2_000, 1_000))],
    check=inertia,
    gates=(faster(5.0, "tslearn"),),
    in_child=False,
)


def distances(n: int, k: int, dtype: str) -> Dataset:
    """Return the Euclidean distances of vectors around thirty centers, and the first medoids."""

    def make(rng: np.random.Generator) -> Data:
        X = 3 * rng.standard_normal((30, 10))[rng.integers(30, size=n)] + rng.standard_normal((n, 10))
        far = squareform(pdist(X)).astype(dtype)
        return {"distances": far, "start": rng.choice(n, k, replace=False)}

    return Dataset(f"distances n={n} k={k} {dtype}", make)


def loss(data: Data, result: Any, truth: Any) -> Check:
    """Return the sum of the distances from the nearest medoids."""
    total = float(data["distances"][np.asarray(result)].min(axis=0).sum(dtype=float))
    return Check(total, f"loss {total:.1f}", bool(np.isfinite(total)))


def _distances(settings: Settings) -> list[Dataset]:
    if settings.quick:
        return [distances(1_000, 10, "float64")]
    return [distances(n, k, dtype) for n, k in ((2_000, 10), (5_000, 100)) for dtype in ("float64", "float32")]


KMEDOIDS = Task(
    name="kmedoids",
    computes="k-medoids of a matrix of distances, from the same first medoids",
    operation="kmedoids",
    datasets=_distances,
    check=loss,
    gates=(at_most(1.0, "kmedoids"),),
    in_child=False,
)


def affinities(n: int) -> Dataset:
    """Return the Gaussian similarities of vectors around eight centers."""

    def make(rng: np.random.Generator) -> Data:
        truth = rng.integers(8, size=n)
        X = 8 * rng.standard_normal((8, 10))[truth] + rng.standard_normal((n, 10))
        return {"affinity": _gaussian(X, X, 4.0), "clusters": 8, "truth": truth}

    return Dataset(f"affinities n={n}", make)


def agreement(data: Data, result: Any, truth: Any) -> Check:
    """Return the adjusted Rand index of the clusters and those that were planted."""
    index = float(adjusted_rand_score(data["truth"], result))
    return Check(index, f"adjusted Rand {index:.3f}", index > 0.99)


SPECTRAL = Task(
    name="spectral",
    computes="normalized cuts into eight clusters",
    operation="spectral",
    datasets=lambda settings: [affinities(settings.size(2_000, 500))],
    check=agreement,
    gates=(at_most(1.0, "scikit-learn"),),
    in_child=False,
)
