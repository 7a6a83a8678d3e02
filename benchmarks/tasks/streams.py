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
    return [rows(200_000, 500), rows(60_000, 1_000), rows(60_000, 1_000, noisy=0.0)]


FIT = Task(
    name="stream",
    computes="SimilarityClassifier with a given kernel, from a file: fit to all rows, predict all rows",
    operation="stream",
    datasets=files,
    check=error,
    gates=(
        at_most(1.3, "ours in memory", where="m=500"),
        at_most(1.03, OURS, of="ours with checkpoints", where="m=500"),
        faster(3.0, "scikit-learn", where="m=1000"),
        as_accurate("scikit-learn", 0.002, where="m=1000"),
        resident(2_048.0, 1_024.0, "m=500"),
    ),
    at_size=lambda n: rows(n, min(500, n // 2)),
    sizes=(100_000, 1_000_000, 10_000_000),
)


def flights(n: int, settings: Settings) -> Dataset:
    """Return some of three million flights in a Parquet file: date, distance, origin and destination, and the delay."""
    name = "flights_3m.parquet"

    def make(rng: np.random.Generator) -> Data:
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(Path(settings.data or ".") / name)
        path = Path(folder().name) / f"flights{n}.parquet"
        pyarrow.parquet.write_table(table.take(np.sort(rng.choice(len(table), n, replace=False))), path)
        return {"path": str(path)}

    return Dataset(f"flights n={n}", make, needs=name)


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
    datasets=lambda settings: [flights(settings.size(200_000, 50_000), settings)],
    check=explained,
    gates=(resident(2_048.0, 1_024.0, "flights"),),
)
