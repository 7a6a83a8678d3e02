"""The similarity machines: many images, defaults against a grid search, similarities that are no kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import as_accurate, at_most, faster
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

GRID = "scikit-learn"
"""Who searches the grid."""


def digits(n: int, m: int, settings: Settings) -> Dataset:
    """Return images of digits in single precision, and 10,000 more to be recognized."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "mnist.npz") as file:
            rows = rng.permutation(len(file["X_train"]))[:n]
            X, y = file["X_train"][rows], file["y_train"][rows]
            new, truth = file["X_test"], file["y_test"]
        X, new = (np.divide(one.reshape(len(one), -1), 255, dtype=np.float32) for one in (X, new))
        return {"X": X, "y": y, "new": new, "truth": truth, "sigma": 4.0, "m": m}

    return Dataset(f"mnist n={n} d=784 float32 m={m}", make, needs="mnist.npz")


def clusters(n: int, m: int) -> Dataset:
    """Return vectors around 50 centers of ten classes."""

    def make(rng: np.random.Generator) -> Data:
        centers = rng.standard_normal((50, 100))
        which = rng.integers(50, size=n + 2_000)
        X = (centers[which] + rng.standard_normal((n + 2_000, 100))).astype(np.float32)
        return {"X": X[:n], "y": which[:n] % 10, "new": X[n:], "truth": which[n:] % 10, "sigma": 10.0, "m": m}

    return Dataset(f"clusters n={n} d=100 float32 m={m}", make)


def accuracy(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of right predictions; it must beat chance clearly."""
    share = float(np.mean(np.asarray(result) == data["truth"]))
    return Check(share, f"accuracy {share:.4f}", share > 0.55)


def fit_data(settings: Settings) -> list[Dataset]:
    """Return clusters and digits."""
    if settings.quick:
        return [clusters(5_000, 300), digits(5_000, 500, settings)]
    return [clusters(10_000, 500), digits(20_000, 1_000, settings)]


FIT = Task(
    name="machine",
    computes="SimilarityClassifier with a given kernel: fit to all rows, predict new ones",
    operation="machine",
    datasets=fit_data,
    check=accuracy,
    gates=(
        faster(2.5, "scikit-learn", goal=4.0, where="mnist"),
        faster(2.5, "scikit-learn", goal=4.0, where="mnist", threads=2),
        at_most(1.6, "NumPy GEMM", where="n=20000 d=784", threads=2),
        as_accurate("scikit-learn", 0.0, where="n=20000 d=784"),
    ),
    in_child=False,
)

VECTORS = ("letter", "satellite", "adbench_magic_gamma", "musk", "sonar")

MOST_ROWS = 6_000
"""Rows of a real data set: a grid search on all 20,000 letters takes minutes."""


def standardized(name: str, settings: Settings) -> Dataset:
    """Return standardized vectors of a real data set, 6,000 at most, a quarter of them held back."""

    def make(rng: np.random.Generator) -> Data:
        X, y, new, truth = _read(name, Path(settings.data or "."), rng)
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation == 0] = 1.0
        return {"X": (X - mean) / deviation, "y": y, "new": (new - mean) / deviation, "truth": truth}

    file = f"{name}.csv.gz" if name == "musk" else f"{name}.npz"
    return Dataset(f"{name} standardized n<={MOST_ROWS}", make, needs=file)


def _read(name: str, folder: Path, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return training rows and labels, new rows and labels."""
    if name == "musk":
        import pandas as pd

        table = pd.read_csv(folder / "musk.csv.gz")
        return _split(table.drop(columns="Class").to_numpy(float), table["Class"].to_numpy(), rng)
    with np.load(folder / f"{name}.npz") as file:
        return _split(file["X"].astype(float), file["y"], rng)


def _split(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    from sklearn.model_selection import train_test_split

    some, seed = rng.permutation(len(X))[:MOST_ROWS], int(rng.integers(2**31))
    X, y = X[some], y[some]
    X, new, y, truth = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    return X, y, new, truth


DEFAULTS = Task(
    name="machine_defaults",
    computes="SimilarityClassifier as it comes, against a support vector machine with a grid search: fit and predict",
    operation="machine_defaults",
    datasets=lambda settings: [standardized(name, settings) for name in (VECTORS[-2:] if settings.quick else VECTORS)],
    check=accuracy,
    gates=(
        as_accurate(GRID, 0.02, goal=0.015),
        *(faster(2.0, GRID, where=name) for name in ("letter", "magic")),
    ),
    threads=(1,),
    in_child=False,
)


def blogs(settings: Settings) -> Dataset:
    """Return links between political blogs, an asymmetric similarity of 0 and 1, 30 % of the blogs held back."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "sim_polblogs.npz") as file:
            (origin, goal), y = file["edge_index"], file["y"].astype(int)
        M = np.zeros((len(y), len(y)))
        M[origin, goal] = 1.0
        order = rng.permutation(len(y))
        cut = round(0.7 * len(y))
        return {"M": M, "train": order[:cut], "test": order[cut:], "y": y, "truth": y[order[cut:]]}

    return Dataset("polblogs", make, needs="sim_polblogs.npz")


def shapes(settings: Settings) -> Dataset:
    """Return minus the distances between shapes, asymmetric and not Euclidean; the source's split."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "sim_coilyork.npz") as file:
            D, new = file["D_train"].astype(float), file["D_test"].astype(float).T
            y = np.unique(np.concatenate([file["y_train"], file["y_test"]]), return_inverse=True)[1]
        n = len(D)
        M = np.zeros((2 * n, 2 * n))
        M[:n, :n], M[n:, :n] = -D, -new
        return {"M": M, "train": np.arange(n), "test": np.arange(n, 2 * n), "y": y, "truth": y[n:]}

    return Dataset("coilyork", make, needs="sim_coilyork.npz")


INDEFINITE = Task(
    name="machine_indefinite",
    computes="learning from an asymmetric similarity: fit and predict",
    operation="machine_indefinite",
    datasets=lambda settings: [blogs(settings), shapes(settings)],
    check=accuracy,
    gates=tuple(as_accurate(peer, 0.0) for peer in ("clip", "flip", "shift", "square", "neighbors")),
    threads=(1,),
    in_child=False,
)
