"""The Gaussian Gram matrix of sparse rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.gates import faster, scaling
from benchmarks.nouns import Data, Dataset, Settings, Task
from benchmarks.tasks.checking import against_truth, gaussian_truth

COLUMNS, PER_ROW = 123, 14
"""The shape of a9a: 123 indicators, 14 of them set in a row."""
SIGMA = 3.0


def like_a9a(n: int) -> Dataset:
    """Return rows of indicators, some much more frequent than others."""

    def make(rng: np.random.Generator) -> Data:
        from scipy.sparse import csr_array

        frequency = rng.permutation(1.0 / np.arange(1, COLUMNS + 1))
        keys = rng.exponential(size=(n, COLUMNS)) / frequency
        chosen = np.sort(np.argpartition(keys, PER_ROW, axis=1)[:, :PER_ROW], axis=1)
        parts = (np.ones(n * PER_ROW), chosen.ravel(), np.arange(0, n * PER_ROW + 1, PER_ROW))
        return {"X": csr_array(parts, shape=(n, COLUMNS)), "sigma": SIGMA}

    return Dataset(f"synthetic n={n} d={COLUMNS} {PER_ROW} per row", make)


def a9a(n: int, settings: Settings) -> Dataset:
    """Return rows of a9a."""

    def make(rng: np.random.Generator) -> Data:
        from scipy.sparse import csr_array

        with np.load(Path(settings.data or ".") / "a9a.npz") as file:
            data, indices, indptr, shape = (file[f"train_{part}"] for part in ("data", "indices", "indptr", "shape"))
        X = csr_array((data.astype(np.float64), indices, indptr), shape=tuple(shape))
        return {"X": X[np.sort(rng.choice(shape[0], n, replace=False))], "sigma": SIGMA}

    return Dataset(f"a9a n={n} d={COLUMNS}", make, needs="a9a.npz")


def datasets(settings: Settings) -> list[Dataset]:
    """Return real rows and rows like them."""
    n = settings.size(5000, 3000)
    return [like_a9a(n), a9a(n, settings)]


TASK = Task(
    name="sparse_gram",
    computes="the Gaussian Gram matrix of sparse rows",
    operation="sparse_gram",
    datasets=datasets,
    truth=lambda data: gaussian_truth(data["X"], data["X"], data["sigma"]),
    check=against_truth,
    gates=(faster(3.0, "scikit-learn"), scaling(1.7)),
    at_size=like_a9a,
    sizes=(500, 1000, 1500, 2000, 3000),
    imports=("scipy.sparse",),
)
