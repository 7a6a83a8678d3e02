"""The polynomial kernel: a matrix product and a little more."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.gates import at_most, scaling
from benchmarks.nouns import Data, Dataset, Task
from benchmarks.tasks.checking import Truth, against_truth, corner


def vectors(n: int, d: int, dtype: str) -> Dataset:
    """Return two sets of n normal vectors; scale = 1 / d."""

    def make(rng: np.random.Generator) -> Data:
        X, Z = (rng.standard_normal((n, d)).astype(dtype) for _ in range(2))
        return {"X": X, "Z": Z, "degree": 3, "coef0": 1.0, "scale": 1.0 / d}

    return Dataset(f"n={n} d={d} {dtype}", make)


def truth(data: Data) -> Truth:
    """Return (s <x, z> + c)^p, within what rounding of the dot product and of the power may give."""
    X, Z, degree = corner(data["X"]), corner(data["Z"]), data["degree"]
    eps, d = np.finfo(data["X"].dtype).eps, X.shape[1]
    base = data["scale"] * (X @ Z.T) + data["coef0"]
    size = data["scale"] * (np.abs(X) @ np.abs(Z).T) + abs(data["coef0"])
    away = (d + 8) * eps * size
    return Truth(base**degree, degree * away * (np.abs(base) + away) ** (degree - 1))


TASK = Task(
    name="polynomial",
    computes="the polynomial kernel of degree 3 of all pairs of two sets of vectors",
    operation="polynomial",
    datasets=lambda settings: [vectors(settings.size(3000, 2000), 784, dtype) for dtype in ("float64", "float32")],
    truth=truth,
    check=against_truth,
    gates=(at_most(1.2, "NumPy GEMM", of="ours (block)"), scaling(1.7)),
    at_size=partial(vectors, d=64, dtype="float64"),
    sizes=(500, 1000, 1500, 2000, 3000),
)
