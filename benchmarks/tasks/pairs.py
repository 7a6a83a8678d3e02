"""What FromPairs adds to each call of a user's function."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Figures
from benchmarks.nouns import OURS, Check, Data, Dataset, Gate, Task


def constant(x: int, z: int) -> float:
    """Cost as little as a Python function can."""
    return 1.0


def numbers(n: int) -> Dataset:
    """Return n objects."""

    def make(rng: np.random.Generator) -> Data:
        return {"f": constant, "X": rng.permutation(n).tolist()}

    return Dataset(f"n={n} constant function", make)


def microseconds(figures: Figures) -> float | None:
    """Return the time of a pair on top of the function's own."""
    ours, bare = figures.find(OURS, 1), figures.find("bare loop", 1)
    if ours is None or bare is None:
        return None
    n = int(figures.dataset.name.split()[0].removeprefix("n="))
    return (ours.median - bare.median) / n**2 * 1e6


def check(data: Data, result: np.ndarray, truth: None) -> Check:
    """Compare with the only value there is."""
    away = float(np.abs(result - 1.0).max())
    return Check(away, f"off by {away:.1e}", away == 0 and result.shape == (len(data["X"]),) * 2)


TASK = Task(
    name="pair_overhead",
    computes="the Gram matrix of a Python function of pairs",
    operation="pairs",
    datasets=lambda settings: [numbers(settings.size(2000, 700))],
    check=check,
    gates=(Gate("FromPairs adds at most 1 microsecond a pair", microseconds, 1.0),),
    threads=(1,),
    at_size=numbers,
    sizes=(200, 400, 600, 800),
)
