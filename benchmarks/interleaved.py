"""Small fits of two checkouts in turn: ``python -m benchmarks.interleaved OTHER_TREE [--only iris,table]``.

A process of each tree stays for all runs of a workload, so that neither imports nor first calls count, and the trees
alternate, so that both have the same share of a busy machine. Another workload has other processes: freed memory that
earlier ones left behind made the predictions of equal code differ by a third.

The line of a workload has the median time of each tree; the median ratio of runs that follow each other, this tree to
the other, so that below 1 is faster; its quartiles; and the largest difference of predictions relative to the largest
prediction. Times are those of the processor, which other programs disturb less; ``--seconds wall`` takes those of the
clock, as several threads or processes need. Both trees have one thread unless ``--threads`` says otherwise.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import in_turn, threads

Work = Callable[[], Any]
"""What is timed; it returns predictions."""

HERE = Path(__file__).resolve().parents[1]
CLOCKS = {"wall": time.perf_counter, "CPU": time.process_time}
MAKERS: dict[str, Callable[[], Work]] = {}
"""For each name, a function that makes data, and returns what is timed."""


def workload(make: Callable[[], Work]) -> Callable[[], Work]:
    MAKERS[make.__name__] = make
    return make


def waves(n: int, width: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors, and numbers that depend on half of the columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, width))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n)


def numbers(n: int) -> Work:
    """Fit the default to numbers."""
    from similitude import SimilarityRegressor

    X, y = waves(n)
    return lambda: SimilarityRegressor(random_state=0).fit(X, y).predict(X[:500])


def classes(n: int) -> Work:
    """Fit the default to three classes."""
    from similitude import SimilarityClassifier

    X, y = waves(n)
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    return lambda: SimilarityClassifier(random_state=0).fit(X, labels).decision_function(X[:500])


@workload
def iris() -> Work:
    from sklearn.datasets import load_iris

    from similitude import SimilarityClassifier

    X, y = load_iris(return_X_y=True)
    return lambda: SimilarityClassifier(random_state=0).fit(X, y).decision_function(X)


@workload
def classes_400() -> Work:
    return classes(400)


@workload
def numbers_1500() -> Work:
    return numbers(1_500)


@workload
def classes_4000() -> Work:
    return classes(4_000)


@workload
def numbers_8000() -> Work:
    return numbers(8_000)


@workload
def gaussian_25000() -> Work:
    from similitude import SimilarityRegressor
    from similitude.kernels import Gaussian

    X, y = waves(25_000)
    return lambda: SimilarityRegressor(Gaussian(1.0), n_landmarks=300, random_state=0).fit(X, y).predict(X[:500])


@workload
def table() -> Work:
    import pandas as pd

    from similitude import SimilarityClassifier

    X, y = waves(500, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["shade"] = np.array(["light", "dark", "none"])[np.digitize(X[:, 0], [0.3, 0.6])]
    frame["size"] = np.array(["small", "large"])[(X[:, 1] > 0.5).astype(int)]
    labels = y > np.median(y)
    return lambda: SimilarityClassifier(random_state=0).fit(frame, labels).decision_function(frame)


def share_equal(one: str, other: str) -> float:
    return sum(a == b for a, b in zip(one, other, strict=False)) / len(one)


@workload
def strings() -> Work:
    from similitude import SimilarityClassifier
    from similitude.datasets import promoters

    X, y = promoters()
    return lambda: SimilarityClassifier(random_state=0).fit(X, y).decision_function(X)


@workload
def strings_own_function() -> Work:
    from similitude import FromPairs, SimilarityClassifier
    from similitude.datasets import promoters

    X, y = promoters()
    return lambda: SimilarityClassifier(FromPairs(share_equal), random_state=0).fit(X, y).decision_function(X)


@workload
def frugal_own_function() -> Work:
    from similitude import FromPairs, SimilarityClassifier
    from similitude.datasets import promoters

    X, y = promoters()

    def work() -> Any:
        model = SimilarityClassifier(FromPairs(share_equal, cost=0.001), max_calls=3_000, random_state=0)
        return model.fit(X, y).decision_function(X)

    return work


@workload
def series() -> Work:
    from similitude import SimilarityClassifier

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = [np.sin(np.arange(60)[:, None] / (4 + 2 * y[i])) + 0.3 * rng.normal(size=(60, 1)) for i in range(len(y))]
    return lambda: SimilarityClassifier(random_state=0).fit(X, y).decision_function(X)


@workload
def graphs() -> Work:
    from similitude import SimilarityClassifier

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = []
    for label in y:
        ends = rng.integers(0, 12, size=(14, 2))
        edges = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
        X.append((edges, rng.integers(0, 2 + label, size=12)))
    return lambda: SimilarityClassifier(random_state=0).fit(X, y).decision_function(X)


@workload
def kernel_ridge() -> Work:
    from similitude.kernels import Gaussian
    from similitude.learners import KernelRidge

    X, y = waves(1_500)
    return lambda: KernelRidge(Gaussian(1.0)).fit(X, y).predict(X[:500])


@workload
def predict_20000() -> Work:
    from similitude import SimilarityRegressor

    X, y = waves(20_000)
    model = SimilarityRegressor(random_state=0).fit(X[:2_000], y[:2_000])
    return lambda: model.predict(X)


@workload
def stream() -> Work:
    from similitude import SimilarityRegressor

    X, y = waves(5_000)

    def work() -> Any:
        model = SimilarityRegressor(random_state=0)
        for part in np.array_split(np.arange(len(y)), 10):
            model.partial_fit(X[part], y[part])
        return model.predict(X[:500])

    return work


@workload
def source_30000() -> Work:
    from similitude import SimilarityRegressor
    from similitude.sources import Source

    X, y = waves(30_000)

    def batches() -> Any:
        for part in np.array_split(np.arange(len(y)), 6):
            yield X[part], y[part]

    return lambda: SimilarityRegressor(random_state=0).fit(Source(batches)).predict(X[:500])


@workload
def choose() -> Work:
    from similitude import choose_kernel
    from similitude.kernels import Gaussian, Laplace, Polynomial

    X, y = waves(500)

    def work() -> Any:
        chosen = choose_kernel([Gaussian("median"), Laplace("median"), Polynomial(2)], X, y, random_state=0)
        return [row.error.value for row in chosen.table]

    return work


def serve(number: int) -> None:
    """Run the workloads that lines of standard input name, and write seconds and predictions as JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    warnings.simplefilter("ignore")
    import similitude

    print(json.dumps(similitude.__file__), file=answers, flush=True)
    made: dict[str, Work] = {}
    with threads(number):
        for line in sys.stdin:
            print(json.dumps(answer(made, *json.loads(line))), file=answers, flush=True)


def answer(made: dict[str, Work], name: str, seconds: str) -> dict[str, Any]:
    """Run a workload, and return its seconds, and its predictions in the first run."""
    first = name not in made
    try:
        if first:
            made[name] = MAKERS[name]()
        gc.collect()
        begun = CLOCKS[seconds]()
        predictions = made[name]()
        found = {"seconds": CLOCKS[seconds]() - begun}
    except Exception as error:  # one tree may lack what the other has
        return {"failed": f"{type(error).__name__}: {error}"}
    if first:
        found["predictions"] = np.ravel(predictions).astype(float).tolist()
    return found


class Tree:
    """A process that runs workloads with the package of one checkout."""

    def __init__(self, root: Path, number: int) -> None:
        root = root.resolve()
        python = root / ".venv" / "bin" / "python"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        if not python.exists():
            python = Path(sys.executable)
            environment["PYTHONPATH"] = str(root / "src")
        self.process = subprocess.Popen(
            [str(python), "-c", f"from benchmarks.interleaved import serve; serve({number})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE,  # both run the workloads of this tree
            env=environment,
        )
        package = Path(json.loads(self._line()))
        if root / "src" not in package.parents:
            raise SystemExit(f"{python} imports {package}, which is not in {root / 'src'}")

    def run(self, name: str, seconds: str) -> dict[str, Any]:
        self.process.stdin.write(json.dumps([name, seconds]) + "\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()

    def _line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a tree ended with status {self.process.wait()}")
        return line


def difference(one: list[float], other: list[float]) -> float:
    """Return the largest difference relative to the largest number, or infinity where lengths differ."""
    if len(one) != len(other):
        return float("inf")
    largest = np.abs(other).max()
    return float(np.abs(np.subtract(one, other)).max() / max(largest, 1e-300))


def print_row(name: str, given: argparse.Namespace) -> float:
    """Print what both trees took for a workload, and return the ratio, which a failed one does not have."""
    times = np.zeros((given.repeats, 2))
    with Tree(HERE, given.threads) as mine, Tree(given.other, given.threads) as other:
        trees = (mine, other)
        first = [tree.run(name, given.seconds) for tree in trees]
        failed = [one["failed"] for one in first if "failed" in one]
        if failed:
            print(f"{name:22} failed: {failed[0]}", flush=True)
            return float("nan")
        for turn in range(given.repeats):
            for side in in_turn((0, 1), turn):
                times[turn, side] = trees[side].run(name, given.seconds)["seconds"]
    medians = 1000 * np.median(times, axis=0)
    low, ratio, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.5, 0.75])
    apart = difference(*(one["predictions"] for one in first))
    row = f"{name:22} {medians[0]:9.1f} {medians[1]:9.1f} {ratio:7.3f}  {low:.3f} to {high:.3f}  {apart:9.1e}"
    print(row, flush=True)
    return float(ratio)


def main() -> None:
    """Print a line for each workload, and the mean ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder of another checkout")
    parser.add_argument("--only", default=",".join(MAKERS), help="workloads, separated by commas")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", choices=list(CLOCKS), default="CPU")
    given = parser.parse_args()
    unknown = set(given.only.split(",")) - set(MAKERS)
    if unknown:
        parser.error(f"no workload is called {', '.join(sorted(unknown))}: there are {', '.join(MAKERS)}")
    print(f"{'workload':22} {'this, ms':>9} {'other, ms':>9} {'ratio':>7}  {'quartiles':14}  difference")
    ratios = [print_row(name, given) for name in given.only.split(",")]
    print(f"{'geometric mean':22} {'':19} {np.exp(np.nanmean(np.log(ratios))):7.3f}")


if __name__ == "__main__":
    main()
