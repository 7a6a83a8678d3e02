"""Is a matrix positive semi-definite?"""

from __future__ import annotations

import numpy as np

from benchmarks.gates import at_most
from benchmarks.nouns import Check, Data, Dataset, Task


def gram_matrix(n: int) -> Dataset:
    """Return a matrix of dot products, which is positive semi-definite."""

    def make(rng: np.random.Generator) -> Data:
        factor = rng.standard_normal((n, n))
        return {"M": factor @ factor.T}

    return Dataset(f"n={n} float64", make)


def check(data: Data, result: str, truth: None) -> Check:
    """Ask for the right verdict."""
    return Check(float(result != "VALID"), result, result == "VALID")


TASK = Task(
    name="psd_verdict",
    computes="whether a matrix is positive semi-definite",
    operation="verdict",
    datasets=lambda settings: [gram_matrix(settings.size(1000, 600))],
    check=check,
    gates=(at_most(1.5, "NumPy"),),
    at_size=gram_matrix,
    sizes=(200, 300, 450, 675, 1000),
    imports=("scipy.linalg", "similitude.validity"),  # whose BLAS must be there before its threads are limited
)
