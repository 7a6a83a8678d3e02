"""Rows on the workers of a cluster: what a second worker gains, and what the cluster costs."""

from __future__ import annotations

import numpy as np

from benchmarks.gates import at_most, faster
from benchmarks.nouns import Data, Dataset, Settings, Task
from benchmarks.tasks.machine import accuracy


def rows(n: int, m: int) -> Dataset:
    """Return vectors of 28 columns whose length tells the class."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.standard_normal((n + 2_000, 28), dtype=np.float32)
        y = ((X**2).sum(axis=1) > 28).astype(np.int64)
        return {"X": X[:n], "y": y[:n], "new": X[n:], "truth": y[n:], "m": m, "sigma": 5.0}

    return Dataset(f"rows n={n} d=28 float32 m={m}", make)


def collections(settings: Settings) -> list[Dataset]:
    """Return a million rows."""
    return [rows(60_000, 200) if settings.quick else rows(1_000_000, 500)]


FIT = Task(
    name="cluster",
    computes="SimilarityClassifier with a given kernel, on two workers of a cluster: fit to all rows",
    operation="cluster",
    datasets=collections,
    check=accuracy,
    gates=(
        faster(1.6, "ours on one worker", goal=1.85, where="n=1000000"),
        at_most(1.2, "ours in this process", of="ours on one worker", where="n=1000000"),
    ),
    threads=(1,),
    in_child=False,
    imports=("dask.array", "distributed"),
)
