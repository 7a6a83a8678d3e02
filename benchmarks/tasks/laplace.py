"""The Laplace kernel of the sum of absolute differences, which no matrix product gives."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.gates import faster, scaling
from benchmarks.nouns import Data, Dataset, Settings, Task
from benchmarks.tasks.checking import Truth, against_truth, corner


def vectors(n: int, d: int, dtype: str) -> Dataset:
    """Return two sets of n normal vectors; sigma = d gives values about exp(-1)."""

    def make(rng: np.random.Generator) -> Data:
        X, Z = (rng.standard_normal((n, d)).astype(dtype) for _ in range(2))
        return {"X": X, "Z": Z, "sigma": float(d)}

    return Dataset(f"n={n} d={d} {dtype}", make)


def datasets(settings: Settings) -> list[Dataset]:
    """Return the same vectors in both precisions."""
    return [vectors(settings.size(3000, 2000), 50, dtype) for dtype in ("float64", "float32")]


def truth(data: Data) -> Truth:
    """Return exp(-|x - z|_1 / sigma), within (d + 8) eps (1 + |x - z|_1 / sigma) of itself."""
    X, Z = corner(data["X"]), corner(data["Z"])
    d = X.shape[1]
    exponent = sum(np.abs(X[:, k, None] - Z[None, :, k]) for k in range(d)) / data["sigma"]
    K = np.exp(-exponent)
    return Truth(K, (d + 8) * np.finfo(data["X"].dtype).eps * (1 + exponent) * K)


TASK = Task(
    name="laplace_l1",
    computes="the Laplace kernel (norm 1) of all pairs of two sets of vectors",
    operation="laplace",
    datasets=datasets,
    truth=truth,
    check=against_truth,
    gates=(faster(5.0, "scikit-learn", goal=8.0), faster(5.0, "SciPy"), scaling(1.7)),
    at_size=partial(vectors, d=50, dtype="float64"),
    sizes=(250, 500, 1000, 1500, 2000),
)
