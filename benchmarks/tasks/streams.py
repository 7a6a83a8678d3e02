"""More rows than memory: fit to a file and predict it, batch by batch."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import as_accurate, at_most, faster
from benchmarks.measure import Figures
from benchmarks.nouns import OURS, Check, Data, Dataset, Gate, Settings, Task

WIDTH, PIECE = 28, 1_000_000


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a place for files, which goes with the process."""
    return tempfile.TemporaryDirectory(prefix="similitude-streams-")


def rows(n: int, m: int, noisy: float = 1.0) -> Dataset:
    """Return the paths of n rows of 28 columns in single precision and of their labels, which overlap where noisy."""

    def make(rng: np.random.Generator) -> Data:
        X, y = (Path(folder().name) / f"{name}{n}_{noisy}.npy" for name in "Xy")
        out = np.lib.format.open_memmap(X, "w+", np.float32, (n, WIDTH))
        labels, along = np.empty(n, np.int8), rng.standard_normal(WIDTH, dtype=np.float32)
        for start in range(0, n, PIECE):
            Z = rng.standard_normal((min(PIECE, n - start), WIDTH), dtype=np.float32)
            out[start : start + len(Z)] = Z
            noise = noisy * rng.logistic(size=len(Z))
            labels[start : start + len(Z)] = (Z[:, :5] ** 2).sum(axis=1) + 0.5 * Z @ along + noise > 5
        out.flush()
        np.save(y, labels)
        return {"X": str(X), "y": str(y), "m": m, "sigma": 6.0}

    return Dataset(f"file n={n} d={WIDTH} float32 m={m}{'' if noisy else ' without noise'}", make)


def error(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of right predictions; it must beat chance clearly."""
    share = float(np.mean(np.asarray(result) == np.load(data["y"])))
    return Check(share, f"accuracy {share:.4f}", share > 0.6)


def resident(bound: float, goal: float, where: str) -> Gate:
    """Promise a peak of resident memory, in MB over what was there before."""

    def measure(figures: Figures) -> float | None:
        peaks = [run["peak_mb"] for run in figures.children.get(OURS, []) if "peak_mb" in run]
        return float(np.median(peaks)) if peaks else None

    return Gate(
        f"{OURS}: at most {bound:g} MB of memory, whatever the number of rows", measure, bound, goal, where=where
    )


def files(settings: Settings) -> list[Dataset]:
    """Return files of several lengths."""
    if settings.quick:
        return [rows(100_000, 200)]
    return [rows(1_000_000, 500), rows(1_000_000, 2_000), rows(1_000_000, 2_000, noisy=0.0), rows(10_000_000, 500)]


FIT = Task(
    name="stream",
    computes="SimilarityClassifier with a given kernel, from a file: fit to all rows, predict all rows",
    operation="stream",
    datasets=files,
    check=error,
    gates=(
        at_most(1.3, "ours in memory", where="n=1000000 d=28 float32 m=500"),
        at_most(1.03, OURS, of="ours with checkpoints", where="n=1000000 d=28 float32 m=500"),
        faster(3.0, "scikit-learn", where="m=2000"),
        as_accurate("scikit-learn", 0.002, where="m=2000"),
        resident(2_048.0, 1_024.0, "n=10000000"),
    ),
    at_size=lambda n: rows(n, min(500, n // 2)),
    sizes=(100_000, 1_000_000, 10_000_000),
)


def flights(settings: Settings) -> list[Dataset]:
    """Return three million flights in a Parquet file: date, distance, origin and destination, and the delay."""
    path = Path(settings.data or ".") / "flights_3m.parquet"
    return [Dataset("flights_3m", lambda rng: {"path": str(path)}, needs=path.name)]


def explained(data: Data, result: Any, truth: Any) -> Check:
    """Return how much of the variance of delays is told by the predictions, which is little."""
    import pyarrow.parquet

    delays = pyarrow.parquet.read_table(data["path"], columns=["delay"])["delay"].to_numpy().astype(float)
    share = 1 - float(np.mean((delays - result) ** 2) / delays.var())
    return Check(share, f"R2 {share:.4f}", share > 0.02)


FLIGHTS = Task(
    name="flights",
    computes="SimilarityRegressor with Gower's similarity, from a Parquet file: fit to all rows, predict all rows",
    operation="flights",
    datasets=flights,
    check=explained,
    gates=(resident(2_048.0, 1_024.0, "flights_3m"),),
)
