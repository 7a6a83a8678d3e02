"""How many examples and landmarks are looked at, and which."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.compute.engines import Engine, format_bytes
from similitude.goodness.samples import stratified
from similitude.landmarks.landmarks import interleaved
from similitude.selection.reading import Targets

FEWEST = 50
"""Examples and landmarks below which there is no point in making them fewer to save memory."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of examples and of landmarks, and what is left out by that."""

    rows: int
    landmarks: int
    notes: tuple[str, ...] = ()


def affordable(n: int, rows: int, landmarks: int, cost: Callable[[int, int], int], engine: Engine) -> Sizes:
    """Return how many of n examples and of landmarks to look at: so many at most, and less where memory is short.

    Parameters
    ----------
    n, rows, landmarks : int
        How many examples there are; the most to look at; the most landmarks.
    cost : callable
        ``cost(rows, landmarks)`` in bytes.
    engine : Engine
        Its budget must not be exceeded.
    """
    most, m = min(n, rows), min(n, landmarks)
    r = most
    while cost(r, m) > engine.budget:
        if max(r, m) <= FEWEST:
            raise MemoryError(
                f"{m} landmarks and {r} examples take {format_bytes(cost(r, m))}, the memory budget is "
                f"{format_bytes(engine.budget)}: raise it with use_engine(LocalEngine(memory=...))"
            )
        if r > 4 * m:
            r = max(r // 2, FEWEST)
        else:
            m = max(m // 2, min(m, FEWEST))
            r = max(r // 2, FEWEST) if m == FEWEST else r
    notes = []
    if r < n:
        why = f"{most:,} are looked at at most" if r == most else "more do not fit into the memory budget"
        notes.append(f"{r:,} of {n:,} examples are looked at, drawn at random: {why}")
    if m < min(n, landmarks):
        notes.append(f"{m:,} landmarks rather than {min(n, landmarks):,}: more do not fit into the memory budget")
    return Sizes(r, m, tuple(notes))


def announce(sizes: Sizes, caller: str) -> None:
    """Warn of what is left out."""
    for note in sizes.notes:
        warnings.warn(f"{caller}: {note}", UserWarning, stacklevel=3)


def drawn_rows(n: int, targets: Targets | None, size: int, least: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions in order; where there are classes, each in proportion and with `least` examples if it can be."""
    if size >= n:
        return np.arange(n)
    if targets is None or targets.numbers is None:
        return np.sort(rng.permutation(n)[:size])
    return stratified(targets.numbers, size, rng, least)


def drawn_landmarks(n: int, numbers: np.ndarray | None, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return places of landmarks among n examples: at random, or from each class in proportion where it is given."""
    order = rng.permutation(n) if numbers is None else interleaved(numbers, rng)
    return order[:size]
