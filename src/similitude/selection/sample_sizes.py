"""How many examples and landmarks are used, and which: bounded by limits and by the engine's memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.compute.engines import Engine, format_bytes
from similitude.evaluation import TaskTargets
from similitude.goodness import stratified
from similitude.landmarks import interleaved
from similitude.support import BudgetError

MIN_LANDMARKS = 20
"""With fewer landmarks than this, a budget of calls rather goes into fewer examples."""

MIN_SIZE = 50
"""The number of examples or landmarks is not reduced below this to save memory."""


@dataclass(frozen=True)
class SampleSizes:
    """Numbers of examples and of landmarks, and notes on what is left out."""

    rows: int
    landmarks: int
    notes: tuple[str, ...] = ()

    def announce(self, caller: str) -> None:
        """Warn of what is left out."""
        for note in self.notes:
            warnings.warn(f"{caller}: {note}", UserWarning, stacklevel=3)


def affordable(n: int, rows: int, landmarks: int, cost: Callable[[int, int], int], engine: Engine) -> SampleSizes:
    """Return the largest numbers of examples, of n, and landmarks within the limits and the engine's memory budget.

    ``cost(rows, landmarks)`` is in bytes.
    """
    most, m = min(n, rows), min(n, landmarks)
    r = most
    while cost(r, m) > engine.budget:
        if max(r, m) <= MIN_SIZE:
            raise MemoryError(
                f"{m} landmarks and {r} examples take {format_bytes(cost(r, m))}, the memory budget is "
                f"{format_bytes(engine.budget)}: raise it with use_engine(LocalEngine(memory=...))"
            )
        if r > 4 * m:
            r = max(r // 2, MIN_SIZE)
        else:
            m = max(m // 2, min(m, MIN_SIZE))
            r = max(r // 2, MIN_SIZE) if m == MIN_SIZE else r
    notes = []
    if r < n:
        why = f"the limit is {most:,}" if r == most else "more do not fit into the memory budget"
        notes.append(f"{r:,} of {n:,} examples are used, sampled at random: {why}")
    if m < min(n, landmarks):
        notes.append(f"{m:,} landmarks instead of {min(n, landmarks):,}: more do not fit into the memory budget")
    return SampleSizes(r, m, tuple(notes))


def within_calls(sizes: SampleSizes, per_pair: int, max_calls: int | None, looking: int = 0) -> SampleSizes:
    """Return the largest sizes at which comparing examples with landmarks is within a budget of calls.

    ``per_pair`` are the calls for an example and a landmark, ``looking`` those that are made beforehand.
    """
    if max_calls is None or not per_pair:
        return sizes
    pairs = max(0, max_calls - looking) // per_pair
    r = max(min(sizes.rows, pairs // MIN_LANDMARKS), min(sizes.rows, MIN_SIZE))
    m = min(sizes.landmarks, r, pairs // r)
    if m < 2:
        raise BudgetError(
            f"max_calls = {max_calls:,} does not suffice: comparing {r:,} examples with two landmarks takes "
            f"{2 * r * per_pair + looking:,} calls for all candidates together"
        )
    return SampleSizes(r, m, (*sizes.notes, f"{r:,} examples and {m:,} landmarks are within max_calls"))


def sample_rows(n: int, targets: TaskTargets | None, size: int, least: int, rng: np.random.Generator) -> np.ndarray:
    """Return sorted positions; stratified if there are classes, with at least `least` examples of each if possible."""
    if size >= n:
        return np.arange(n)
    if targets is None or targets.codes is None:
        return np.sort(rng.permutation(n)[:size])
    return stratified(targets.codes, size, rng, least)


def sample_landmarks(n: int, codes: np.ndarray | None, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the places of landmarks among n examples: at random, or stratified by class if codes are given."""
    order = rng.permutation(n) if codes is None else interleaved(codes, rng)
    return order[:size]
