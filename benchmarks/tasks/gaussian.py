"""Gaussian matrices of dense vectors."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.gates import at_most, faster, scaling
from benchmarks.nouns import Data, Dataset, Settings, Task
from benchmarks.tasks.checking import against_truth, gaussian_truth

GEMM = "NumPy GEMM"


def vectors(n: int, d: int, dtype: str) -> Dataset:
    """Return two sets of n normal vectors; sigma = sqrt(d) gives values about exp(-1)."""

    def make(rng: np.random.Generator) -> Data:
        X, Z = (rng.standard_normal((n, d)).astype(dtype) for _ in range(2))
        return {"X": X, "Z": Z, "sigma": math.sqrt(d)}

    return Dataset(f"n={n} d={d} {dtype}", make)


def mnist(n: int, settings: Settings) -> Dataset:
    """Return images of digits with entries in [0, 1]."""

    def make(rng: np.random.Generator) -> Data:
        with np.load(Path(settings.data or ".") / "mnist.npz") as file:
            images = file["X_train"]
        rows = rng.choice(len(images), 2 * n, replace=False)
        X, Z = (np.divide(images[part], 255, dtype=np.float32) for part in (rows[:n], rows[n:]))
        return {"X": X, "Z": Z, "sigma": 5.0}

    return Dataset(f"mnist n={n} d=784 float32", make, needs="mnist.npz")


def blocks(settings: Settings) -> list[Dataset]:
    """Return many short vectors, and fewer long ones."""
    n = settings.size(4000, 2000)
    dimensions = (784, 10) if settings.quick else (784, 64, 10)
    made = [vectors(n, d, dtype) for d in dimensions for dtype in ("float64", "float32")]
    return [*made, mnist(n, settings)]


BLOCK = Task(
    name="gaussian_block",
    computes="the Gaussian kernel of all pairs of two sets of vectors",
    operation="gaussian",
    datasets=blocks,
    truth=lambda data: gaussian_truth(**data),
    check=against_truth,
    gates=(
        at_most(1.25, GEMM, goal=1.05, of="ours (block)", where="d=784"),
        at_most(1.08, GEMM, goal=1.03, where="d=784 float64"),
        at_most(2.5, GEMM, where="d=784"),
        faster(2.5, "scikit-learn", goal=4.0, where="d=10 "),
        scaling(1.7),
    ),
    at_size=partial(vectors, d=64, dtype="float64"),
    sizes=(500, 1000, 1500, 2000, 3000),
)


def one_set(dataset: Dataset) -> Dataset:
    """Return the same vectors without the second set."""

    def make(rng: np.random.Generator) -> Data:
        data = dataset.make(rng)
        return {"X": data["X"], "sigma": data["sigma"]}

    return Dataset(dataset.name, make, dataset.needs)


GRAM = Task(
    name="gaussian_gram",
    computes="the Gaussian Gram matrix of one set of vectors",
    operation="gaussian_gram",
    datasets=lambda settings: [
        one_set(vectors(settings.size(4000, 2000), 784, dtype)) for dtype in ("float64", "float32")
    ],
    truth=lambda data: gaussian_truth(data["X"], data["X"], data["sigma"]),
    check=against_truth,
    gates=(at_most(2.5, GEMM), scaling(1.7)),
    at_size=lambda n: one_set(vectors(n, 64, "float64")),
    sizes=(500, 1000, 1500, 2000, 3000),
)
