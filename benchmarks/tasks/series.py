"""Time series: distances and kernels by alignment, and what a support vector machine makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import at_most, faster
from benchmarks.nouns import OURS, Check, Data, Dataset, Gate, Settings, Task

SIGMA = 12.0
"""About the median distance of entries times the root of the length, for standardized series of length 150."""
GRAM = "one Gram matrix"
SOFTNESS = 0.1
"""The gamma of soft time warping."""
LEVEL = 4
"""The highest level of signatures."""
CHECKED = 4
"""Rows of a matrix that are compared with the truth."""


def read(name: str, settings: Settings) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the series and labels of the training and of the test part, each series as (time, channel)."""
    with np.load(Path(settings.data or ".") / f"ts_{name}.npz") as file:
        X, new = (_part(file, part) for part in ("train", "test"))
        return X, file["y_train"], new, file["y_test"]


def _part(file: Any, part: str) -> Any:
    if f"X_{part}" in file:
        X = file[f"X_{part}"]
        return X[:, :, None] if X.ndim == 2 else np.swapaxes(X, 1, 2)
    values, starts = file[f"values_{part}"], file[f"ptr_{part}"]
    return [values[:, s:t].T for s, t in itertools.pairwise(starts)]


def gun_point(settings: Settings, dtype: str) -> Dataset:
    """Return both parts of GunPoint in one matrix."""

    def make(rng: np.random.Generator) -> Data:
        X, _, new, _ = read("GunPoint", settings)
        return {"X": rng.permutation(np.concatenate([X, new])[:, :, 0])[: settings.size(200, 60)].astype(dtype)}

    n = settings.size(200, 60)
    return Dataset(f"GunPoint n={n} L=150 {dtype}", make, needs="ts_GunPoint.npz")


def walks(n: int, dtype: str, length: int = 150) -> Dataset:
    """Return smooth random walks of mean 0 and variance 1."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.standard_normal((n, length)).cumsum(1)
        return {"X": ((X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)).astype(dtype)}

    return Dataset(f"walks n={n} L={length} {dtype}", make)


def matrices(settings: Settings) -> list[Dataset]:
    """Return the same series in both precisions."""
    real = [gun_point(settings, dtype) for dtype in ("float64", "float32")]
    return [*real, walks(settings.size(100, 40), "float64")]


def filled(X: np.ndarray, Z: np.ndarray, border: float, step: Callable[..., np.ndarray]) -> np.ndarray:
    """Return the last cell of the table of every pair of rows, all pairs at once."""
    column = np.full((Z.shape[1] + 1, len(X)), border)
    column[0] = 0.0
    for i in range(X.shape[1]):
        diagonal, column[0] = column[0].copy(), border
        for j in range(1, len(column)):
            here = step(diagonal, column[j], column[j - 1], (X[:, i] - Z[:, j - 1]) ** 2)
            diagonal, column[j] = column[j].copy(), here
    return column[-1]


def warping(data: Data) -> np.ndarray:
    """Return some rows of the distances, in NumPy and float64."""
    X = np.asarray(data["X"], float)
    pairs = np.repeat(X[:CHECKED], len(X), axis=0), np.tile(X, (CHECKED, 1))
    least = filled(*pairs, np.inf, lambda d, b, a, square: square + np.minimum(np.minimum(d, b), a))
    return least.reshape(CHECKED, len(X))


def alignment(data: Data) -> np.ndarray:
    """Return some rows of the normalized kernel, in NumPy, float64 and logarithms."""
    X = np.asarray(data["X"], float)

    def step(diagonal: np.ndarray, before: np.ndarray, above: np.ndarray, square: np.ndarray) -> np.ndarray:
        u = -0.5 / SIGMA**2 * square
        return np.logaddexp(np.logaddexp(diagonal, before), above) + u - np.log(2 - np.exp(u))

    own = filled(X, X, -np.inf, step)
    sums = filled(np.repeat(X[:CHECKED], len(X), axis=0), np.tile(X, (CHECKED, 1)), -np.inf, step)
    return np.exp(sums.reshape(CHECKED, len(X)) - own[:CHECKED, None] / 2 - own / 2)


def near(data: Data, result: Any, truth: Any) -> Check:
    """Compare some rows with the truth."""
    error = float(np.abs(np.asarray(result)[:CHECKED] - truth).max() / np.abs(truth).max())
    return Check(error, f"error {error:.1e}", error < (1e-4 if data["X"][0].dtype == np.float32 else 1e-10))


def both(bound: float, against: str, goal: float, where: str) -> tuple[Gate, ...]:
    """Promise to be so many times faster, on one and on two threads."""

    def on(threads: int) -> Gate:
        return Gate(
            f"{OURS} at least {bound:g} x faster than {against}, {threads} thread(s)",
            lambda figures: figures.ratio(figures.find(against, threads), figures.find(OURS, threads)),
            bound,
            goal,
            at_least=True,
            where=where,
        )

    return on(1), on(2)


WARPING = Task(
    name="dtw",
    computes="the dynamic time warping distances of series with each other",
    operation="dtw",
    datasets=lambda settings: [*matrices(settings), walks(settings.size(60, 20), "float64", 427)],
    check=near,
    truth=warping,
    gates=(
        *both(6.0, "aeon", 10.0, "float64"),
        *both(10.0, "aeon", 20.0, "float32"),
        faster(20.0, "aeon", where="L=427"),
    ),
    in_child=False,
)


def elastic(
    name: str,
    computes: str,
    peer: str,
    bound: float,
    step: Callable[..., np.ndarray],
    border: Callable[..., Any] = lambda X: np.inf,
) -> Task:
    """Return the task of an elastic distance; the border of its table is infinite, or follows from the entries."""

    def truth(data: Data) -> np.ndarray:
        X = np.asarray(data["X"], float)
        pairs = np.repeat(X[:CHECKED], len(X), axis=0), np.tile(X, (CHECKED, 1))
        return filled_from_entries(*pairs, step, border).reshape(CHECKED, len(X))

    return Task(
        name=name,
        computes=computes,
        operation=name,
        datasets=lambda settings: [walks(settings.size(60, 20), dtype) for dtype in ("float64", "float32")],
        check=near,
        truth=truth,
        gates=(faster(bound, peer),),
        threads=(1,),
        in_child=False,
    )


def filled_from_entries(
    X: np.ndarray, Z: np.ndarray, step: Callable[..., np.ndarray], border: Callable[..., Any]
) -> np.ndarray:
    """Return the last cell of the table of every pair of rows; a cell follows from its neighbors and the entries."""
    D = np.zeros((X.shape[1] + 1, Z.shape[1] + 1, len(X)))
    D[1:, 0], D[0, 1:] = border(X.T), border(Z.T)
    X, Z = (np.column_stack([np.zeros(len(one)), one]) for one in (X, Z))
    for i in range(1, X.shape[1]):
        for j in range(1, Z.shape[1]):
            entries = X[:, i], X[:, i - 1], Z[:, j], Z[:, j - 1]
            D[i, j] = step(D[i - 1, j - 1], D[i - 1, j], D[i, j - 1], *entries, abs(i - j))
    return D[-1, -1]


def _msm_step(both: Any, by_x: Any, by_z: Any, x: Any, before_x: Any, z: Any, before_z: Any, apart: int) -> np.ndarray:
    def split(value: Any, before: Any, other: Any) -> Any:
        outside = np.maximum(np.minimum(before, other) - value, value - np.maximum(before, other))
        return 1.0 + np.maximum(outside, 0.0)

    moved = both + np.abs(x - z)
    return np.minimum(np.minimum(moved, by_x + split(x, before_x, z)), by_z + split(z, before_z, x))


def _twe_step(both: Any, by_x: Any, by_z: Any, x: Any, before_x: Any, z: Any, before_z: Any, apart: int) -> np.ndarray:
    matched = both + np.abs(x - z) + np.abs(before_x - before_z) + 0.002 * apart
    return np.minimum(np.minimum(matched, by_x + np.abs(x - before_x) + 1.001), by_z + np.abs(z - before_z) + 1.001)


def _erp_step(both: Any, by_x: Any, by_z: Any, x: Any, _x: Any, z: Any, _z: Any, apart: int) -> np.ndarray:
    return np.minimum(np.minimum(both + np.abs(x - z), by_x + np.abs(x)), by_z + np.abs(z))


def _left_out(entries: np.ndarray) -> np.ndarray:
    return np.abs(entries).cumsum(0)


def _soft_step(both: Any, by_x: Any, by_z: Any, x: Any, _x: Any, z: Any, _z: Any, apart: int) -> np.ndarray:
    least = np.minimum(np.minimum(both, by_x), by_z)
    sums = sum(np.exp((least - cost) / SOFTNESS) for cost in (both, by_x, by_z))
    return (x - z) ** 2 + least - SOFTNESS * np.log(sums)


ELASTIC = (
    elastic("msm", "the move-split-merge distances of series with each other", "aeon", 3.0, _msm_step),
    elastic("twe", "the time warp edit distances of series with each other", "aeon", 50.0, _twe_step),
    elastic(
        "erp", "the edit distances with real penalty of series with each other", "aeon", 20.0, _erp_step, _left_out
    ),
    elastic("soft_dtw", "the soft time warping values of series with each other", "tslearn", 8.0, _soft_step),
)


def slopes(X: np.ndarray) -> np.ndarray:
    """Return the derivatives of Keogh and Pazzani, in NumPy; both ends repeat their neighbor."""
    inner = (X[:, 1:-1] - X[:, :-2] + (X[:, 2:] - X[:, :-2]) / 2) / 2
    return np.pad(inner, ((0, 0), (1, 1)), mode="edge")


DERIVATIVE = Task(
    name="derivative_dtw",
    computes="the similarities by dynamic time warping of derivatives of series with each other",
    operation="derivative_dtw",
    datasets=lambda settings: [walks(settings.size(60, 20), dtype) for dtype in ("float64", "float32")],
    check=near,
    truth=lambda data: np.exp(-warping({"X": slopes(np.asarray(data["X"], float))}) / SIGMA),
    gates=(faster(10.0, "aeon"),),
    threads=(1,),
    in_child=False,
)


def paths(n: int, channels: int, dtype: str) -> Dataset:
    """Return random walks of several channels."""

    def make(rng: np.random.Generator) -> Data:
        return {"X": (rng.standard_normal((n, 150, channels)).cumsum(1) / np.sqrt(150)).astype(dtype)}

    return Dataset(f"paths n={n} L=150 channels={channels} {dtype}", make)


def iterated_integrals(data: Data) -> np.ndarray:
    """Return some signatures, in NumPy and float64: after each step, their tensor product with exp of the step."""
    found = []
    for steps in np.diff(np.asarray(data["X"][:CHECKED], float), axis=1):
        levels = [np.ones(1), *(np.zeros(steps.shape[1] ** m) for m in range(1, LEVEL + 1))]
        for step in steps:
            powers = [np.ones(1)]
            for m in range(1, LEVEL + 1):
                powers.append(np.kron(powers[-1], step) / m)
            levels = [sum(np.kron(levels[m - j], powers[j]) for j in range(m + 1)) for m in range(LEVEL + 1)]
        found.append(np.concatenate(levels[1:]))
    return np.array(found)


SIGNATURE = Task(
    name="signature",
    computes="the iterated integrals of series up to level 4",
    operation="signature",
    datasets=lambda settings: [
        paths(settings.size(500, 60), channels, dtype)
        for channels, dtype in ((2, "float64"), (6, "float64"), (2, "float32"))
    ],
    check=near,
    truth=iterated_integrals,
    gates=(at_most(2.0, "pysiglib", goal=1.0), faster(4.0, "iisignature")),
    threads=(1,),
    in_child=False,
)


def clouds(n: int, dtype: str) -> Dataset:
    """Return samples of 20 to 60 vectors."""

    def make(rng: np.random.Generator) -> Data:
        return {"X": [rng.standard_normal((size, 4)).astype(dtype) for size in rng.integers(20, 61, n)]}

    return Dataset(f"samples n={n} d=4 {dtype}", make)


def mean_similarities(data: Data) -> np.ndarray:
    """Return some rows of the means of the Gaussian kernel, in NumPy and float64."""
    X = [np.asarray(one, float) for one in data["X"]]
    squares = [[((x[:, None] - z) ** 2).sum(2) for z in X] for x in X[:CHECKED]]
    return np.array([[np.exp(-0.5 * one).mean() for one in row] for row in squares])


MEANS = Task(
    name="mean_of",
    computes="the means of the Gaussian kernel over pairs of elements of two samples, of samples with each other",
    operation="mean_of",
    datasets=lambda settings: [clouds(settings.size(150, 40), dtype) for dtype in ("float64", "float32")],
    check=near,
    truth=mean_similarities,
    gates=(faster(15.0, "pair by pair"),),
    threads=(1,),
    in_child=False,
)

ALIGNMENT = Task(
    name="global_alignment",
    computes="the normalized global alignment kernel of series with each other",
    operation="global_alignment",
    datasets=matrices,
    check=near,
    truth=alignment,
    gates=both(8.0, "tslearn", 15.0, ""),
    in_child=False,
)


def split(name: str, settings: Settings) -> Dataset:
    """Return a data set with its given training and test part."""

    def make(rng: np.random.Generator) -> Data:
        X, y, new, truth = read(name, settings)
        return {"X": X, "y": y, "new": new, "truth": truth}

    return Dataset(name, make, needs=f"ts_{name}.npz")


def accuracy(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of right predictions on the test part."""
    share = float(np.mean(np.asarray(result) == data["truth"]))
    return Check(share, f"accuracy {share:.4f}", share > 0.8)


def right(bound: float, where: str) -> Gate:
    """Promise a share of right predictions."""

    def measure(figures: Any) -> float | None:
        ours = figures.find(OURS, 1)
        return ours.check.value if ours is not None and ours.check is not None else None

    return Gate(f"{OURS}: at least {bound:.1%} right", measure, bound, at_least=True, where=where)


CONVOLVED = Task(
    name="series_convolutions",
    computes="a ridge classifier on random convolutions, from series to predictions",
    operation="series_convolutions",
    datasets=lambda settings: [split(name, settings) for name in (NAMES[1:3] if settings.quick else NAMES)],
    check=accuracy,
    gates=(
        right(0.98, "GunPoint"),
        right(0.84, "ArrowHead"),
        right(0.95, "ItalyPowerDemand"),
        at_most(1.2, "aeon", goal=1.0),
    ),
    threads=(1,),
    in_child=False,
)

NAMES = ("GunPoint", "ArrowHead", "ItalyPowerDemand", "BasicMotions")

NEAREST = Task(
    name="nearest_series",
    computes="the label of the nearest training series by dynamic time warping, for each test series",
    operation="nearest_series",
    datasets=lambda settings: [split(name, settings) for name in ("GunPoint",)],
    check=accuracy,
    gates=(right(0.9, "GunPoint"), faster(5.0, "aeon")),
    threads=(1,),
    in_child=False,
)

ACCURACY = Task(
    name="series_accuracy",
    computes="a support vector machine with the global alignment kernel, width and C by cross-validation",
    operation="series_accuracy",
    datasets=lambda settings: [split(name, settings) for name in (NAMES[1:3] if settings.quick else NAMES)],
    check=accuracy,
    gates=(right(0.97, "GunPoint"), right(0.82, "ArrowHead"), right(0.945, "ItalyPowerDemand")),
    threads=(1,),
    in_child=False,
)


def labeled_walks(n: int, length: int) -> Dataset:
    """Return random walks, half of them with a wave added."""

    def make(rng: np.random.Generator) -> Data:
        y = np.arange(n) % 2
        X = rng.standard_normal((n, length)).cumsum(1) + np.outer(y, 3 * np.sin(np.arange(length) / 10))
        return {"X": (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True), "y": y}

    return Dataset(f"walks n={n} L={length}", make)


FIT = Task(
    name="series_fit",
    computes="a SimilarityClassifier with the global alignment kernel at its defaults, beside one Gram matrix",
    operation="series_fit",
    datasets=lambda settings: [labeled_walks(settings.size(200, 60), settings.size(427, 100))],
    check=lambda data, result, truth: Check(float(result), f"accuracy {result:.3f} on its rows", result > 0.5),
    gates=(at_most(4.0, GRAM, goal=2.0),),
    threads=(1,),
    in_child=False,
)
