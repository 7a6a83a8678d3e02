"""How often intervals and sets of classes hold the truth: ``python -m benchmarks.intervals [--splits 40]``.

Models of few rows without `certify`, all with defaults, so that left-out rows calibrate: an estimate, without a proof.
Each split fits to the first rows of a random order and asks for the others at the level 0.9; the standard error is that
of the mean over splits. Rows are generated, or those of the data sets of the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude import SimilarityClassifier, SimilarityRegressor, datasets
from similitude.compute import take

LEVEL = 0.9

Case = tuple[Any, np.ndarray, int]


def waves(rng: np.random.Generator, uneven: bool) -> Case:
    """Return vectors of three columns, a smooth function of two of them with noise, and the number of training rows."""
    X = rng.uniform(-1, 1, (2000, 3))
    noise = np.where(X[:, 0] > 0, 0.4, 0.1) if uneven else 0.2
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(len(X)), 100 if uneven else 60


def real(name: str, n: int) -> Case:
    """Return a data set of the package, and the number of training rows."""
    X, y = getattr(datasets, name)()
    return X, np.asarray(y), n


CASES: dict[str, Callable[[np.random.Generator], Case]] = {
    "60 vectors": lambda rng: waves(rng, uneven=False),
    "100 vectors, uneven noise": lambda rng: waves(rng, uneven=True),
    "80 strings (promoters)": lambda rng: real("promoters", 80),
    "90 series (vowels)": lambda rng: real("vowels", 90),
    "60 graphs (molecules)": lambda rng: real("molecules", 60),
    "120 rows of a table (adult)": lambda rng: real("adult", 120),
}


def covered(case: Case, rng: np.random.Generator, seed: int) -> tuple[float, float]:
    """Return the share of new rows whose interval or set holds the truth, and the mean width or size."""
    X, y, n = case
    order = rng.permutation(len(y))
    known, new = order[:n], order[n:]
    if y.dtype.kind == "f":
        ends = SimilarityRegressor(random_state=seed).fit(X[known], y[known]).predict_interval(X[new], LEVEL)
        return float(np.mean((ends[:, 0] <= y[new]) & (y[new] <= ends[:, 1]))), float(np.mean(np.ptp(ends, axis=1)))
    model = SimilarityClassifier(random_state=seed).fit(take(X, known), y[known])
    sets = model.predict_set(take(X, new), LEVEL)
    places = np.searchsorted(model.classes_, y[new])
    known_class = np.isin(y[new], model.classes_)
    right = sets[np.arange(len(new)), np.minimum(places, len(model.classes_) - 1)] & known_class
    return float(np.mean(right)), float(sets.sum(axis=1).mean())


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=40)
    splits = parser.parse_args().splits
    print(f"| fitted to | held at the level {LEVEL} | standard error | mean width or size |\n|---|---|---|---|")
    for name, make in CASES.items():
        rng = np.random.default_rng(0)
        shares, sizes = np.transpose([covered(make(rng), rng, seed) for seed in range(splits)])
        error = shares.std(ddof=1) / np.sqrt(splits)
        print(f"| {name} | {shares.mean():.3f} | {error:.3f} | {sizes.mean():.2f} |", flush=True)


if __name__ == "__main__":
    main()
