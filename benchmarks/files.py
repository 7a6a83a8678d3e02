"""Time of `similitude.files.read` as a ratio to `pandas.read_csv`, in one process: ``python -m benchmarks.files``.

pandas has two engines that read these files; both are timed, and the faster one counts. Each time is the least of
several runs, in which the readers take turns, so that a disturbance of the machine falls on all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from similitude import files

SHAPES = {"numbers": (1_000_000, 10), "decimal commas": (1_000_000, 10), "wide": (50, 20_000)}
"""Rows and columns of each file."""

GATES = {"numbers": 1.5, "decimal commas": 3.0, "wide": 3.0}
"""The largest ratios that are accepted."""

ENGINES = ("c", "pyarrow")


def written(folder: Path, name: str, scale: float) -> tuple[Path, dict[str, str]]:
    """Write a file of normal deviates; return it, and what pandas needs to be told of it."""
    rows, columns = SHAPES[name]
    values = np.random.default_rng(0).standard_normal((max(20, int(rows * scale)), columns))
    told = {"sep": ";", "decimal": ","} if name == "decimal commas" else {}
    path = folder / f"{name}.csv"
    pd.DataFrame(values, columns=[f"v{i}" for i in range(columns)]).to_csv(path, index=False, **told)
    return path, told


def least_times(readers: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Return the least of the times of each reader in seconds; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(runs):
        for name, read in readers.items():
            began = time.perf_counter()
            read()
            times[name].append(time.perf_counter() - began)
    return {name: min(found) for name, found in times.items()}


def main() -> int:
    """Print the ratios; return the number of those beyond their gate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows of each file")
    asked = parser.parse_args()
    beyond = 0
    with TemporaryDirectory() as folder:
        for name, (_, columns) in SHAPES.items():
            path, told = written(Path(folder), name, asked.scale)
            readers: dict[str, Callable[[], Any]] = {"similitude": lambda path=path: files.read(path)}  # type: ignore[misc]
            for engine in ENGINES:
                readers[engine] = lambda path=path, told=told, engine=engine: pd.read_csv(path, engine=engine, **told)
            expected = readers["c"]().to_numpy()
            np.testing.assert_allclose(readers["similitude"]().objects, expected, rtol=1e-14)
            times = least_times(readers, asked.runs)
            fastest = min(ENGINES, key=times.__getitem__)
            ratio = times["similitude"] / times[fastest]
            beyond += ratio > GATES[name]
            print(
                f"{name:15s} {len(expected):9,} x {columns:6,}: {times['similitude']:6.2f} s, "
                f"pandas ({fastest}) {times[fastest]:6.2f} s, ratio {ratio:4.2f} of at most {GATES[name]}",
                flush=True,
            )
    return beyond


if __name__ == "__main__":
    raise SystemExit(min(1, main()))
