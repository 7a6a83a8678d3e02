"""Sets and tables: Jaccard's index of bits and of items, Gower's coefficient, and how well it predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import faster
from benchmarks.measure import Figures
from benchmarks.nouns import OURS, Check, Data, Dataset, Gate, Settings, Task
from benchmarks.tasks.checking import Truth, against_truth

CORNER = 60


def bits(n: int, width: int = 2048) -> Dataset:
    """Return rows of bits, a tenth of them set, like the fingerprints of molecules."""
    return Dataset(f"n={n} {width} bits", lambda rng: {"X": rng.random((n, width)) < 0.1})


def items(n: int) -> Dataset:
    """Return sets of about twenty of 5,000 words."""

    def make(rng: np.random.Generator) -> Data:
        words = [f"word {i}" for i in range(5_000)]
        return {"X": [{words[i] for i in rng.integers(0, len(words), 20)} for _ in range(n)]}

    return Dataset(f"n={n} sets of 20 words", make)


def jaccard(data: Data) -> Truth:
    """Return the index by Python's own sets; singles of float32 are allowed."""
    X = data["X"][:CORNER]
    sets = X if isinstance(X, list) else [set(np.flatnonzero(row).tolist()) for row in X]
    values = np.array([[len(x & z) / len(x | z) for z in sets] for x in sets])
    return Truth(values, np.full(values.shape, 1e-6))


def mixed(n: int, numbers: int = 8, categories: int = 7) -> Dataset:
    """Return a table of numbers and categories without missing values, which not all contenders take."""

    def make(rng: np.random.Generator) -> Data:
        import pandas as pd

        columns: dict[str, Any] = {f"number {k}": rng.standard_normal(n) for k in range(numbers)}
        columns |= {f"category {k}": rng.choice(["a", "b", "c", "d"], n) for k in range(categories)}
        return {"X": pd.DataFrame(columns)}

    return Dataset(f"n={n} {numbers + categories} columns", make)


def gower(data: Data) -> Truth:
    """Return the coefficient by its definition; singles of float32 are allowed."""
    total = np.zeros((CORNER, CORNER))
    for _, values in data["X"].items():
        column = values.to_numpy()
        x = column[:CORNER]
        if column.dtype.kind == "f":
            total += 1 - np.abs(x[:, None] - x) / (column.max() - column.min())
        else:
            total += x[:, None] == x
    values = total / data["X"].shape[1]
    return Truth(values, np.full(values.shape, 1e-6))


JACCARD = Task(
    name="jaccard",
    computes="Jaccard's index of all pairs of rows of bits",
    operation="jaccard",
    datasets=lambda settings: [bits(settings.size(3_000, 2_000))],
    truth=jaccard,
    check=against_truth,
    gates=(faster(4.0, "BLAS", where="n=3000"),),
    at_size=bits,
    sizes=(500, 1_000, 1_500, 2_000),
)

JACCARD_SETS = Task(
    name="jaccard_sets",
    computes="Jaccard's index of all pairs of Python sets",
    operation="jaccard_sets",
    datasets=lambda settings: [items(settings.size(3_000, 1_000))],
    truth=jaccard,
    check=against_truth,
    in_child=False,
)

GOWER = Task(
    name="gower",
    computes="Gower's coefficient of all pairs of rows of a table",
    operation="gower",
    datasets=lambda settings: [mixed(settings.size(2_000, 400))],
    truth=gower,
    check=against_truth,
    gates=(faster(50.0, "gower", where="n=2000"),),
    in_child=False,
    imports=("pandas",),
)


def labeled(file: str, label: str, new: int, landmarks: int, settings: Settings) -> Dataset:
    """Return a table with its labels, and rows that are kept back; rows without a label are left out."""

    def make(rng: np.random.Generator) -> Data:
        import pandas as pd

        table = pd.read_csv(Path(settings.data or ".") / file)
        table = table[table[label].notna()]
        table = table.iloc[rng.permutation(len(table))[: 6_000 if settings.quick else None]]
        X, y = table.drop(columns=label), table[label].to_numpy()
        return {"X": X[new:], "y": y[new:], "new": X[:new], "truth": y[:new], "landmarks": landmarks}

    return Dataset(f"{file.split('.')[0]} {landmarks} landmarks", make, needs=file)


def accuracy(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of right predictions."""
    share = float(np.mean(np.asarray(result) == data["truth"]))
    return Check(share, f"accuracy {share:.4f}", share > 0.8)


def right(bound: float, where: str) -> Gate:
    """Promise a share of right predictions."""

    def measure(figures: Figures) -> float | None:
        series = figures.find(OURS, 1)
        return series.check.value if series is not None and series.check is not None else None

    return Gate(f"ours at least {bound:.1%} right", measure, bound, at_least=True, where=where)


ACCURACY = Task(
    name="table_accuracy",
    computes="classes of the rows of a table, from Gower's coefficient to landmarks and a linear learner",
    operation="table_accuracy",
    datasets=lambda settings: [
        labeled("table_adult_uci.csv.gz", "income", settings.size(10_000, 2_000), 300, settings),
        labeled("housevotes84.csv.gz", "Class", 135, 200, settings),
    ],
    check=accuracy,
    gates=(right(0.835, "adult"), right(0.92, "housevotes")),
    in_child=False,
    imports=("pandas",),
)
