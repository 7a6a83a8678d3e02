"""How many examples and landmarks are used: within fixed limits, the engine's memory and a budget of calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from similitude.compute.engines import Engine, format_bytes
from similitude.support import BudgetError

COMPARED_ROWS = 20_000
COMPARED_LANDMARKS = 1_000
"""Most examples and landmarks that compare candidates."""

COMBINED_ROWS = 10_000
COMBINED_LANDMARKS = 500
"""Most examples and landmarks that weigh the members of a sum."""

MAX_PARTS = 24
"""Most parts of the examples whose sums are kept; of more, the sums of every fold are computed alone."""

MIN_SIZE = 50
"""The number of examples or landmarks is not reduced below this to save memory."""

TRIED_PAIRS = 20
"""Most pairs that show whether a user's function is symmetric."""


@dataclass(frozen=True)
class SampleSizes:
    """Numbers of examples and of landmarks, and notes on what is left out."""

    rows: int
    landmarks: int
    notes: tuple[str, ...] = ()

    def affordable(self, n: int, cost: Callable[[int, int], int], engine: Engine) -> SampleSizes:
        """Return sizes for n examples whose cost, in bytes, is within the engine's budget."""
        most = min(n, self.rows)
        wanted = min(n, self.landmarks)
        r = most
        m = wanted
        while cost(r, m) > engine.budget:
            if max(r, m) <= MIN_SIZE:
                raise MemoryError(
                    f"{m} landmarks and {r} examples take {format_bytes(cost(r, m))}, the memory budget is "
                    f"{format_bytes(engine.budget)}: raise it with use_engine(LocalEngine(memory=...))"
                )
            wide = r <= 4 * m
            if wide:
                m = max(m // 2, min(m, MIN_SIZE))
            if not wide or m == MIN_SIZE:
                r = max(r // 2, MIN_SIZE)
        notes = []
        if r < n:
            why = f"the limit is {most:,}" if r == most else "more do not fit into the memory budget"
            notes.append(f"{r:,} of {n:,} examples are used, sampled at random: {why}")
        if m < wanted:
            notes.append(f"{m:,} landmarks instead of {wanted:,}: more do not fit into the memory budget")
        return SampleSizes(r, m, tuple(notes))

    def within_calls(self, per_pair: int, max_calls: int, looking: int) -> SampleSizes:
        """Return the largest sizes within a budget of calls: `per_pair` for an example and a landmark."""
        if not per_pair:
            return self
        pairs = max(0, max_calls - looking) // per_pair
        r = max(min(self.rows, pairs // 20), min(self.rows, MIN_SIZE))  # rather fewer examples than 20 landmarks
        m = min(self.landmarks, r, pairs // r)
        if m < 2:
            raise BudgetError(
                f"max_calls = {max_calls:,} does not suffice: comparing {r:,} examples with two landmarks takes "
                f"{2 * r * per_pair + looking:,} calls for all candidates together"
            )
        return SampleSizes(r, m, (*self.notes, f"{r:,} examples and {m:,} landmarks are within max_calls"))

    def announce(self, caller: str) -> None:
        """Warn of what is left out."""
        for note in self.notes:
            warnings.warn(f"{caller}: {note}", UserWarning, stacklevel=3)
