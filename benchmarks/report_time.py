"""What a report costs beside a fit: ``python -m benchmarks.report_time [--rows 10000] [case ...]``.

The fit has the settings of the report's own model, on all rows. Times are those of the CPU, the least of several runs,
and ``ratio`` is report over fit; the gate is 4 at 10,000 rows. Data sets are generated: a table of numbers and
categories, vectors, strings, and vectors whose numbers are to be predicted; ``--csv FILE --label COLUMN`` takes a file
instead. ``--steps`` prints the steps of each report.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from similitude import SimilarityClassifier, SimilarityRegressor, write_report

MOST = 4.0
"""The gate: time of a report over that of a fit."""

Case = tuple[str, Any, Any, np.ndarray]


def table(n: int, rng: np.random.Generator) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return rows with numbers and categories, of which two columns decide with noise."""
    numbers = rng.normal(size=(n, 6)).round(3)
    cities, jobs = rng.integers(8, size=n), rng.integers(12, size=n)
    rows = [
        {**{f"number{i}": float(v) for i, v in enumerate(one)}, "city": f"city{c}", "job": f"job{j}"}
        for one, c, j in zip(numbers, cities.tolist(), jobs.tolist(), strict=True)
    ]
    return rows, np.where(numbers[:, 0] + (cities % 3) - 1 + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def strings(n: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return DNA of 60 letters; one class has a motif."""
    made = ["".join(rng.choice(list("acgt"), 60)) for _ in range(n)]
    y = rng.integers(2, size=n)
    return [s[:20] + "tataat" + s[26:] if c else s for s, c in zip(made, y.tolist(), strict=True)], y


def cases(n: int) -> Iterator[Case]:
    """Yield names, similarities, objects and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    yield "table, gower", "gower", *table(n, rng)
    yield "vectors, gaussian", "gaussian", X, np.where(f + 0.3 * rng.normal(size=n) > 0, "a", "b")
    yield "vectors, numbers", "gaussian", X, f + 0.3 * rng.normal(size=n)
    yield "strings, spectrum", "spectrum(p=4)", *strings(n, rng)
    yield "vectors, auto", "auto", X, np.where(f + 0.3 * rng.normal(size=n) > 0, "a", "b")
    yield "table, auto", "auto", *table(n, rng)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returns."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def compared(similarity: Any, X: Any, y: np.ndarray, repeats: int) -> tuple[float, float, float, Any]:
    """Return the least CPU seconds of a report and of a fit, the size of the page in MB, and the findings."""
    estimator = SimilarityRegressor if y.dtype.kind == "f" else SimilarityClassifier
    fits, reports = [], []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = Path(folder, "report.html")
        estimator(similarity, random_state=0).fit(X[:500], y[:500])  # imports
        for _ in range(repeats):
            fits.append(timed(lambda: estimator(similarity, random_state=0).fit(X, y))[0])
            seconds, found = timed(lambda: write_report(similarity, X, y, page, random_state=0))
            reports.append(seconds)
        return min(reports), min(fits), page.stat().st_size / 1e6, found


def of_file(path: str, label: str, similarity: str, n: int) -> Case:
    """Return a case from a CSV file."""
    import pandas as pd

    frame = pd.read_csv(path)
    frame = frame.sample(min(n, len(frame)), random_state=0).reset_index(drop=True)
    return Path(path).name, similarity, frame.drop(columns=label), frame[label].to_numpy()


def main() -> int:
    """Print a table; return 1 if a gate is missed."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("only", nargs="*", help="parts of the names of cases")
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--steps", action="store_true")
    options.add_argument("--csv")
    options.add_argument("--label", default="class")
    options.add_argument("--similarity", default="gower")
    asked = options.parse_args()
    chosen = cases(asked.rows) if asked.csv is None else [of_file(asked.csv, asked.label, asked.similarity, asked.rows)]
    missed = False
    print(f"{'':24} report s   fit s  ratio     MB", flush=True)
    for name, similarity, X, y in chosen:
        if asked.only and not any(one in name for one in asked.only):
            continue
        report, fit, size, found = compared(similarity, X, y, asked.repeats)
        missed |= report > MOST * fit
        print(f"{name:24} {report:8.2f} {fit:7.2f} {report / fit:6.2f} {size:6.2f}", flush=True)
        if asked.steps:
            print("   " + ", ".join(f"{step} {taken:.2f}" for step, taken in found.reproduce.seconds.items()))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
