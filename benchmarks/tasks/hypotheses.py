"""Do two samples differ? Tests with 999 permutations."""

from __future__ import annotations

import numpy as np

from benchmarks.gates import faster
from benchmarks.nouns import Check, Data, Dataset, Task

PERMUTATIONS = 999


def shifted_means(n: int) -> Dataset:
    """Return two samples, n objects in all, whose means differ clearly."""

    def make(rng: np.random.Generator) -> Data:
        return {"X": rng.standard_normal((n // 2, 5)), "Z": rng.standard_normal((n // 2, 5)) + 5 / np.sqrt(n)}

    return Dataset(f"n={n} d=5 B={PERMUTATIONS}", make)


def check(data: Data, result: float, truth: None) -> Check:
    """Ask for the smallest p-value that so many permutations can give."""
    return Check(result, f"p = {result:.3g}", result <= 1.5 / (1 + PERMUTATIONS))


TWO_SAMPLES = Task(
    name="two_samples",
    computes=f"a test whether two samples differ: MMD with a Gaussian kernel, {PERMUTATIONS} permutations",
    operation="two_samples",
    datasets=lambda settings: [shifted_means(settings.size(1000, 300))],
    check=check,
    gates=(faster(5.0, "hyppo", goal=20.0),),
    threads=(1,),
    in_child=False,
    imports=("similitude.hypotheses",),
)
