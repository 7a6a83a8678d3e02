"""What a fit costs: seconds, memory and calls, from fixed constants and never from a clock.

The time is the sum of what `work` counts, each times a constant. Constants were fitted to the CPU times of one thread
of a server of 2026, by ``python -m benchmarks.plan_costs --folder DATA --calibrate``, and typical counts were set by
hand to the same fits. Another computer is faster or slower by a factor, but the same data give the same estimate
everywhere. A user's function is not called, and is taken to need a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass

from similitude.compute.engines import format_bytes
from similitude.fitting import limits
from similitude.fitting.frugal_rows import MOST_COMPARED_ROWS
from similitude.fitting.members import RECORDS_TRIED, TRIED_ROWS
from similitude.fitting.pilot_choice import MOST_PREDICTED, PENALTY_PILOT
from similitude.fitting.sizes import Sizes
from similitude.fitting.work import landmarks_tried, pilot_rows_of, work_of_fit, work_of_prediction
from similitude.support import Result

SECONDS = {
    "steps": 4e-3,  # a fit, a nested fold or a number of landmarks: Python between arrays
    "objects": 1.5e-6,  # an object that is checked and predicted, among many
    "trials": 1.6e-4,  # one setting of a learned kernel, tried on few rows
    "products": 1.4e-11,  # a multiplication and an addition of dense matrices
    "eigen": 2.4e-10,  # of n^3, for the eigenvectors of a matrix of n rows
    "pairs": 4.5e-10,  # a value of a kernel of vectors
    "columns": 4e-12,  # a column of a pair of vectors
    "cells": 1.4e-6,  # a cell of a table that becomes numbers
    "letters": 4.6e-10,  # a letter, element or node of a pair of objects that are compared by what they have in common
    "encoded": 1e-7,  # a letter, element or node of one such object
    "warps": 7e-11,  # a pair of points of two series, or of nodes of two graphs with attributes
    "convolved": 1.3e-6,  # a point of one series under the default convolutions
    "calls": 1e-6,  # a call of a user's function, which is not timed
    "read": 5e-7,  # a row of a source that is read twice; too small to be told from the rest
}
"""Seconds of each kind of work."""

STARTED_ON_GPU, PAIRS_ON_GPU = 0.1, 6e-11
"""Seconds of a fit by products on a GPU: of its start, and of a row with a landmark. On an H200, 100,000 rows with
5,000 landmarks took 0.15 s, and 400,000 with 10,000 took 0.36 s."""

BASE = 32e6
"""Bytes of a fit to few rows: arrays of evaluations, and what the allocator keeps."""


@dataclass(frozen=True)
class Cost(Result):
    """What a fit takes.

    Attributes
    ----------
    seconds : float
    memory : float
        Bytes, at most.
    calls : float
        Of the user's functions.
    prediction : float
        Seconds to predict one object.
    """

    seconds: float
    memory: float
    calls: float
    prediction: float

    def __str__(self) -> str:
        parts = [f"about {in_seconds(self.seconds)}, at most {format_bytes(self.memory)}"]
        if self.calls:
            parts.append(f"{self.calls:,.0f} calls of your function")
        parts.append(f"{in_seconds(self.prediction)} a prediction")
        return ", ".join(parts)


@dataclass(frozen=True)
class Spent(Result):
    """What a fit took.

    Attributes
    ----------
    seconds : float
    calls : int
        Of the user's functions.
    """

    seconds: float
    calls: int

    def __str__(self) -> str:
        calls = f", {self.calls:,} calls of your function" if self.calls else ""
        return f"{in_seconds(self.seconds)}{calls}"


def in_seconds(seconds: float) -> str:
    """Return a time as a person reads it.

    >>> in_seconds(0.00012), in_seconds(2.34), in_seconds(600)
    ('0.12 ms', '2.3 s', '10 min')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 120 else f"{seconds / 60:.2g} min"


def estimated(case: str, sizes: Sizes) -> Cost:
    """Return the cost of a case of the table."""
    done = work_of_fit(case, sizes)
    later = work_of_prediction(case, sizes)
    seconds = sum([SECONDS[name] * amount for name, amount in done.items()])
    if case == "products" and sizes.on_gpu:
        seconds = STARTED_ON_GPU + PAIRS_ON_GPU * sizes.n * sizes.numbers[-1]
    prediction = sum([SECONDS[name] * amount for name, amount in later.items()])
    return Cost(sizes.fits * seconds, _memory(case, sizes), sizes.fits * done.get("calls", 0.0), prediction)


def _memory(case: str, sizes: Sizes) -> float:
    """Return the bytes of the largest arrays that are there at once, where landmarks are as many as may be tried.

    It is far more than most fits in cells need, because these fall back to landmarks where cells are no better.
    """
    n, rows = sizes.n, sizes.rows
    if case == "gram":
        return BASE + limits.MATRICES * 8 * n**2
    memory = BASE + 48 * rows * sizes.width + _encoded(sizes)
    if sizes.candidates == "learned":
        folds, fitted, judged = pilot_rows_of(rows)
        memory += 32 * folds * fitted * (fitted + judged)
    if case == "frugal":
        return memory + 64 * min(n, MOST_COMPARED_ROWS) ** 2
    if case == "exact":
        return max(memory, BASE + 8 * n**2)
    if case == "pilot" and n <= limits.LEAVE_ONE_OUT:
        pilot = min(n, PENALTY_PILOT)
        return memory + max(12 * n**2, 32 * pilot * (pilot + MOST_PREDICTED))
    m = len(sizes.used) * landmarks_tried(case, sizes)[-1]
    array = sizes.itemsize * min(rows, sizes.rows_chosen_on) * m
    return memory + (1.5 if case == "pilot" else limits.FEATURE_ARRAYS) * array + 56 * m**2


def _encoded(sizes: Sizes) -> float:
    """Return the bytes of encoded objects other than vectors."""
    kind, rows, size = sizes.kind, sizes.rows, sizes.size
    if kind == "strings":
        return size * (4_000 * min(rows, TRIED_ROWS) + 1_000 * rows)
    if kind == "series":
        return 500_000.0 * rows
    columns = sizes.cells * min(rows, RECORDS_TRIED) ** 2 if kind == "records" else 0
    return rows * (200 * size + 1_000 * sizes.cells) + 16 * columns
