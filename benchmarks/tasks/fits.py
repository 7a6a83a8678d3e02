"""Estimators at their defaults on vectors, beside boosted trees at theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fits
from benchmarks.gates import as_accurate
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

TREES = "boosted trees"


def problem(name: str, n: int, made: Callable[[int, np.random.Generator], fits.Problem], needs: str = "") -> Dataset:
    """Return n rows to learn from, and others to be predicted."""

    def make(rng: np.random.Generator) -> Data:
        X, y, classes = made(n + fits.NEW_ROWS, rng)
        return {"X": X[:n], "y": y[:n], "new": X[n:], "truth": y[n:], "classes": classes}

    return Dataset(f"{name} n={n}", make, needs)


def problems(settings: Settings) -> list[Dataset]:
    """Return numbers and classes, made and real."""
    n, folder = settings.size(2_000, 500), settings.data or Path(".")
    generated = [problem(name, n, fits.GENERATED[name]) for name in ("friedman", "waves", "5 classes")]
    stored = [(name, *fits.FILES[name]) for name in ("kin40k", "magic")]
    return [
        *generated,
        *(problem(name, n, fits.stored(folder / file, is_class), file) for name, file, is_class in stored),
    ]


def on_new_rows(data: Data, result: Any, truth: Any) -> Check:
    """Return the accuracy, or the explained part of the variance."""
    y = data["truth"]
    if data["classes"]:
        share = float(np.mean(result == y))
        return Check(share, f"accuracy {share:.4f} on new rows", share > 0.5)
    share = 1 - float(np.mean((result - y) ** 2) / y.var())
    return Check(share, f"R2 {share:.4f} on new rows", share > 0.1)


TASK = Task(
    name="default_fits",
    computes="SimilarityClassifier or SimilarityRegressor with a Gaussian kernel, all else at its defaults: fit",
    operation="default_fit",
    datasets=problems,
    check=on_new_rows,
    gates=(as_accurate(TREES, 0.01, goal=0.0),),
    threads=(1,),
    in_child=False,
)
