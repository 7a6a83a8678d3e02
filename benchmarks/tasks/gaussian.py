"""Gaussian matrices of dense vectors."""

from __future__ import annotations

import math
from functools import partial

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


def blocks(settings: Settings) -> list[Dataset]:
    """Return long vectors, and short ones."""
    n = settings.size(3000, 2000)
    return [vectors(n, d, dtype) for d in (784, 10) for dtype in ("float64", "float32")]


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
        one_set(vectors(settings.size(3000, 2000), 784, dtype)) for dtype in ("float64", "float32")
    ],
    truth=lambda data: gaussian_truth(data["X"], data["X"], data["sigma"]),
    check=against_truth,
    gates=(at_most(2.5, GEMM), scaling(1.7)),
    at_size=lambda n: one_set(vectors(n, 64, "float64")),
    sizes=(500, 1000, 1500, 2000, 3000),
)
