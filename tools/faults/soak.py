"""Many fits and predictions in one process: memory, open files and threads stay as they are, and so do the bits.

``python -m tools.faults.soak [--share 1.0]``: 2,000 fits, 10^6 predictions, and several threads that predict with one
model while others fit models of their own.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import psutil
from tools.faults import work

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.kernels import Edit, Gaussian
from similitude.learners import KernelRidge, KernelSVC
from similitude.maps import LandmarkMap

GROWTH = 24.0
"""MiB by which memory may grow after the first fifth of a run: what allocators keep, but not a leak of all turns."""

POINTS = 10
"""How often a run is measured."""


class Footprint(NamedTuple):
    """What a process holds: resident memory in MiB, open files and threads."""

    memory: float
    files: int
    threads: int

    @classmethod
    def now(cls) -> Footprint:
        """Measure this process."""
        gc.collect()
        me = psutil.Process()
        return cls(round(me.memory_info().rss / 2**20, 1), me.num_fds(), me.num_threads())


def small_fits() -> list[Callable[[], Any]]:
    """Return fits of many kinds that take milliseconds."""
    X, y, words, labels = work.X[:60, :3], work.Y[:60], work.WORDS[:40], work.LABELS[:40]
    return [
        lambda: SimilarityRegressor(Gaussian(sigma=1.0), n_landmarks=10).fit(X, y),
        lambda: SimilarityClassifier(Edit(), n_landmarks=8).fit(words, labels),
        lambda: SimilarityClassifier(work.agreement, n_landmarks=5).fit(words, labels),
        lambda: KernelRidge(lam="auto").fit(X, y),
        lambda: KernelSVC().fit(X, y > 0),
        lambda: LandmarkMap("gaussian", n_components=5).fit(X),
    ]


def watched(turns: int, step: Callable[[int], None]) -> Iterator[Footprint]:
    """Take the turns, and measure after each part of them."""
    for part in range(POINTS):
        for turn in range(part * turns // POINTS, (part + 1) * turns // POINTS):
            step(turn)
        yield Footprint.now()


def is_flat(name: str, turns: int, step: Callable[[int], None]) -> bool:
    """Take many turns, print what the process held on the way, and tell whether it did not grow."""
    began, points = time.monotonic(), list(watched(turns, step))
    early, late = points[1], points[-1]
    flat = late.memory - early.memory < GROWTH and late.files <= early.files and late.threads <= early.threads
    memory = " ".join(f"{one.memory:.0f}" for one in points)
    print(
        f"{name}: {turns:,} turns in {time.monotonic() - began:.0f} s, memory {memory} MiB, "
        f"open files {early.files} to {late.files}, threads {early.threads} to {late.threads}"
        f": {'flat' if flat else 'IT GROWS'}",
        flush=True,
    )
    return flat


def predictions(share: float) -> bool:
    """Predict single rows and batches of rows, a million in all."""
    of_vectors = SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=50).fit(work.X[:2000], work.Y[:2000])
    of_words = SimilarityClassifier(Edit(), n_landmarks=20).fit(work.WORDS, work.LABELS)
    rows, expected = work.X[:100], of_vectors.predict(work.X[:100])

    def step(turn: int) -> None:
        assert np.array_equal(of_vectors.predict(rows), expected), f"other bits in turn {turn}"
        of_vectors.predict(rows[turn % 100 : turn % 100 + 1])
        of_words.predict(work.WORDS[turn % 300 : turn % 300 + 1])

    return is_flat("predictions of 102 rows a turn", max(POINTS, int(9_804 * share)), step)


def repeated_fits(share: float) -> bool:
    """Fit 2,000 models of six kinds."""
    kinds = small_fits()
    return is_flat("fits", max(POINTS, int(2000 * share)), lambda turn: kinds[turn % len(kinds)]())


def threads_agree(share: float) -> bool:
    """Let four threads predict with one model while two others fit models: everyone sees the same bits."""
    model = SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=50).fit(work.X[:2000], work.Y[:2000])
    expected = model.predict(work.NEW)
    fitted = [work.digest_of(model_of(one)) for one in (0, 1)]
    wrong: list[str] = []

    def predict() -> None:
        for _ in range(max(5, int(500 * share))):
            if not np.array_equal(model.predict(work.NEW), expected):
                wrong.append("a prediction")

    def fit(which: int) -> None:
        for _ in range(max(2, int(40 * share))):
            if work.digest_of(model_of(which)) != fitted[which]:
                wrong.append(f"fit {which}")

    began = time.monotonic()
    crew = [threading.Thread(target=predict) for _ in range(4)]
    crew += [threading.Thread(target=fit, args=(which,)) for which in (0, 1)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    print(f"six threads in {time.monotonic() - began:.0f} s: {f'OTHER BITS: {wrong}' if wrong else 'the same bits'}")
    return not wrong


def model_of(which: int) -> np.ndarray:
    """Fit a model and return what it learned."""
    if which == 0:
        return (
            SimilarityRegressor(Gaussian(sigma=1.0), n_landmarks=30).fit(work.X[:1000], work.Y[:1000]).predict(work.NEW)
        )
    return SimilarityClassifier(Edit(), n_landmarks=20).fit(work.WORDS, work.LABELS).decision_function(work.WORDS)


def main() -> int:
    """Run everything, and return the number of runs that were not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args().share
    return sum(not run(share) for run in (repeated_fits, predictions, threads_agree))


if __name__ == "__main__":
    sys.exit(main())
