"""Objects of every kind: what landmarks lose against a support vector machine on the whole Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import as_accurate
from benchmarks.nouns import Check, Data, Dataset, Settings, Task
from benchmarks.tasks import graphs, series, strings

FULL = "SVM on the whole Gram matrix"

Folds = Sequence[tuple[np.ndarray, np.ndarray]]
"""Where to learn, and where to predict."""


def ten_folds(y: np.ndarray) -> Folds:
    """Return ten folds."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))


def molecules(name: str, settings: Settings) -> Dataset:
    """Return graphs of a stored set, in folds."""

    def make(rng: np.random.Generator) -> Data:
        X, y = graphs.read(Path(settings.data or ".") / f"graph_{name}.npz")
        return {"X": X, "y": y, "folds": ten_folds(y), "kernel": "weisfeiler_lehman"}

    return Dataset(name, make, needs=f"graph_{name}.npz")


def recordings(name: str, settings: Settings) -> Dataset:
    """Return time series in their given split."""

    def make(rng: np.random.Generator) -> Data:
        return split(*series.read(name, settings), kernel="global_alignment")

    return Dataset(name, make, needs=f"ts_{name}.npz")


def letters(which: Dataset, kernel: str) -> Dataset:
    """Return strings in their given split."""

    def make(rng: np.random.Generator) -> Data:
        data = which.make(rng)
        return split(data["X"], data["y"], data["new"], data["truth"], kernel)

    return Dataset(which.name, make, needs=which.needs)


def split(X: Any, y: np.ndarray, new: Any, truth: np.ndarray, kernel: str) -> Data:
    """Return one fold: to learn from the first part, and to predict the second."""
    fold = np.arange(len(y)), np.arange(len(y), len(y) + len(truth))
    return {"X": [*X, *new], "y": np.concatenate([y, truth]), "folds": [fold], "kernel": kernel}


def all_kinds(settings: Settings) -> list[Dataset]:
    """Return graphs, series and strings."""
    small = [molecules("MUTAG", settings), recordings("GunPoint", settings)]
    if settings.quick:
        return small
    return [
        *small,
        molecules("PROTEINS", settings),
        recordings("ArrowHead", settings),
        recordings("ItalyPowerDemand", settings),
        recordings("JapaneseVowels", settings),
        letters(strings.messages(settings), "blended"),
    ]


def share_right(data: Data, result: Sequence[np.ndarray], truth: Any) -> Check:
    """Return the share of right predictions over all folds."""
    y, tests = data["y"], [test for _, test in data["folds"]]
    right = sum(int((labels == y[test]).sum()) for labels, test in zip(result, tests, strict=True))
    share = right / sum(map(len, tests))
    return Check(share, f"accuracy {share:.4f}", share > 0.6)


TASK = Task(
    name="landmarks_accuracy",
    computes="SimilarityClassifier beside a support vector machine on the whole Gram matrix, its C by cross-validation",
    operation="landmarks_accuracy",
    datasets=all_kinds,
    check=share_right,
    gates=(as_accurate(FULL, 0.01, goal=0.0),),
    threads=(1,),
    in_child=False,
)
