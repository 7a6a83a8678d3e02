"""Fits of a Gaussian kernel beside boosted trees: `python -m benchmarks.fits [--sizes 500,2000] [--data FOLDER]`.

Both have their defaults and run on one thread in this process, in turn; seconds are those of the CPU, the best of
several, and those of the fit alone, `held_out_error_` included. The loss on 5,000 new rows is the mean squared error
relative to the variance of the targets, or the error rate; beside it stands the held-out error that the fit states.
With ``--data`` there are also problems from the files of a folder.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from similitude import SimilarityClassifier, SimilarityRegressor, use_engine
from similitude.engines import LocalEngine

NEW_ROWS = 5_000


class Problem(NamedTuple):
    """Rows in random order with their targets."""

    X: np.ndarray
    y: np.ndarray
    classes: bool


def friedman(n: int, rng: np.random.Generator, noise: float = 1.0, dtype: Any = np.float64) -> Problem:
    X = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return Problem(X.astype(dtype), (y + noise * rng.normal(size=n)).astype(dtype), False)


def smooth(n: int, rng: np.random.Generator) -> Problem:
    X = rng.normal(size=(n, 15))
    return Problem(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n), False)


def noisy(n: int, rng: np.random.Generator) -> Problem:
    X = rng.normal(size=(n, 20))
    return Problem(X, X[:, :5].sum(axis=1) + 5 * rng.normal(size=n), False)


def waves(n: int, rng: np.random.Generator) -> Problem:
    X = rng.uniform(size=(n, 10)) * np.r_[1.0, 1.0, np.full(8, 0.1)]
    return Problem(X, np.sin(20 * X[:, 0]) * np.cos(15 * X[:, 1]) + 0.05 * rng.normal(size=n), False)


def classes(n: int, rng: np.random.Generator, n_classes: int) -> Problem:
    X, centers = rng.normal(size=(n, 15)), rng.normal(size=(3 * n_classes, 15))
    scores = np.exp(-0.03 * ((X[:, None] - centers) ** 2).sum(axis=2)).reshape(n, n_classes, 3).sum(axis=2)
    return Problem(X, (scores / scores.std() + 0.3 * rng.normal(size=scores.shape)).argmax(axis=1), True)


def stored(path: Path, is_class: bool) -> Callable[[int, np.random.Generator], Problem]:
    def read(n: int, rng: np.random.Generator) -> Problem:
        with np.load(path, allow_pickle=False) as file:
            X, y = file["X"].astype(float), file["y"]
        X, which = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12), rng.permutation(len(y))[:n]
        return Problem(X[which], y[which].ravel(), is_class)

    return read


GENERATED: dict[str, Callable[[int, np.random.Generator], Problem]] = {
    "friedman": friedman,
    "friedman, float32": lambda n, rng: friedman(n, rng, dtype=np.float32),
    "friedman, no noise": lambda n, rng: friedman(n, rng, noise=0.0),
    "smooth": smooth,
    "noisy": noisy,
    "waves": waves,
    "2 classes": lambda n, rng: classes(n, rng, 2),
    "5 classes": lambda n, rng: classes(n, rng, 5),
}
FILES = {
    "bike": ("uci_bike.npz", False),
    "kin40k": ("uci_kin40k.npz", False),
    "protein": ("uci_protein.npz", False),
    "magic": ("adbench_magic_gamma.npz", True),
    "letter": ("letter.npz", True),
}


def rivals(problem: Problem) -> dict[str, Any]:
    """Return unfitted models by name."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if problem.classes:
        return {"ours": SimilarityClassifier("gaussian", random_state=0), "trees": HistGradientBoostingClassifier()}
    return {"ours": SimilarityRegressor("gaussian", random_state=0), "trees": HistGradientBoostingRegressor()}


def measure(problem: Problem, n: int, repeats: int) -> dict[str, Any]:
    """Return seconds, losses on new rows, and what the fit says of itself."""
    X, y, new, truth = problem.X[:n], problem.y[:n], problem.X[n:], problem.y[n:]
    found: dict[str, Any] = {}
    for turn in range(repeats):
        for name, model in sorted(rivals(problem).items(), reverse=turn % 2 == 1):
            start = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - start
            found[name] = min(seconds, found.get(name, np.inf))
            if turn == 0:
                predicted = model.predict(new)
                loss = (predicted != truth).mean() if problem.classes else ((predicted - truth) ** 2).mean()
                found[f"{name} loss"] = float(loss / (1.0 if problem.classes else truth.var()))
                if name == "ours":
                    error, unit = model.held_out_error_, 1.0 if problem.classes else float(truth.var())
                    found["held out"] = [float(end) / unit for end in (error.value, error.low, error.high)]
                    found["landmarks"] = int(model.n_similarity_calls_)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,2000,5000,20000")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="", help="part of the names of problems")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    asked = parser.parse_args()
    problems = dict(GENERATED)
    if asked.data:
        problems |= {name: stored(asked.data / file, is_class) for name, (file, is_class) in FILES.items()}
    warnings.simplefilter("ignore")
    figures: dict[str, Any] = {}
    print(f"{'problem':20} {'rows':>6} {'s':>7} {'x trees':>7} {'loss':>8} {'trees':>8} {'held out':>26} landmarks")
    for size in map(int, asked.sizes.split(",")):
        for name in [name for name in problems if asked.only in name]:
            problem = problems[name](size + NEW_ROWS, np.random.default_rng(size))
            n = min(size, len(problem.y) // 2 if len(problem.y) < size + 1000 else size)
            with threadpool_limits(1), use_engine(LocalEngine(threads=1)):
                one = figures[f"{name}|{size}"] = measure(problem, n, asked.repeats)
            held = "{:.4f} [{:.4f}, {:.4f}]".format(*one["held out"])
            ratio = one["ours"] / one["trees"]
            losses = f"{one['ours loss']:8.5f} {one['trees loss']:8.5f}"
            print(f"{name:20} {n:6} {one['ours']:7.2f} {ratio:7.1f} {losses} {held:>26} {one['landmarks']}", flush=True)
            if asked.json:
                asked.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
