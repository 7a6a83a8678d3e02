"""A Gaussian matrix times a vector, without storing the matrix."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.gates import at_most, scaling
from benchmarks.nouns import Check, Data, Dataset, Task
from benchmarks.tasks.checking import corner, squared_distances


def vectors(n: int, d: int = 64) -> Dataset:
    """Return two sets of n normal vectors and a vector of weights."""

    def make(rng: np.random.Generator) -> Data:
        X, Z = rng.standard_normal((n, d)), rng.standard_normal((n, d))
        return {"X": X, "Z": Z, "v": rng.standard_normal(n), "sigma": math.sqrt(d)}

    return Dataset(f"n={n} d={d} float64", make)


def truth(data: Data) -> np.ndarray:
    """Return the first rows of the product in long double."""
    X, Z = corner(data["X"])[:20], data["Z"].astype(np.longdouble)
    return np.exp(-squared_distances(X, Z) / (2 * data["sigma"] ** 2)) @ data["v"].astype(np.longdouble)


def check(data: Data, result: np.ndarray, right: np.ndarray) -> Check:
    """Compare with the truth, relative to the sum of what may be as large as |v|."""
    away = float(np.abs(result[: len(right)] - right).max() / np.abs(data["v"]).sum())
    return Check(away, f"off by {away:.1e} of the weights' sum", away <= 1e-13)


TASK = Task(
    name="gram_times_vector",
    computes="the Gaussian kernel matrix times a vector, the matrix never stored",
    operation="gaussian_times",
    datasets=lambda settings: [vectors(settings.size(8000, 4000))],
    truth=truth,
    check=check,
    gates=(at_most(1.0, "NumPy"), scaling(1.7)),
    at_size=vectors,
    sizes=(1000, 2000, 3000, 4000, 6000),
)
