"""What a fit costs: seconds, memory and calls, from fixed constants and never from a clock.

The time is the sum of what `work` counts, each times a constant. Constants were fitted to the CPU times of one thread
of a server of 2026, by ``python -m benchmarks.plan_costs --folder DATA --calibrate``, and typical counts were set by
hand to the same fits. Another computer is faster or slower by a factor, but the same data give the same estimate
everywhere. A user's function is not called, and is taken to need a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from similitude.compute.engines import format_bytes
from similitude.evaluation import FIRST_FITTED_ROWS, Pilot, folds_of
from similitude.fitting import limits
from similitude.fitting.facts import PairWork, Sizes
from similitude.fitting.frugal import MOST_LANDMARKS
from similitude.fitting.frugal_rows import SCREENING
from similitude.fitting.pilot_choice import MOST_PREDICTED, PILOT_STAGES
from similitude.support import Result

PASSES_OF_TRIAL = 6
"""How often the matrix of similarities of a trial is gone over: distances, copies, the kernel, and predictions."""

PARTS = 2
"""Kernels that are blended in an exact fit: one to four."""

PILOT_TRIALS = tuple(zip(PILOT_STAGES, (24, 12, 6), strict=True))
"""Rows, and how many settings are tried on them, of a pilot for one given kernel."""

SCALES_TRIED = 4
"""Of five scales of a similarity, those that are compared on the way to the best."""

GRADIENT_STEPS = 40
"""How often conjugate gradients go over the matrix of similarities, with those that compare penalties."""

IN_DOUBLE = 2
"""How much longer products take in double precision: sums over features have it, and kernels are learned in single."""


class Work(dict[str, float]):
    """Amounts of work by their names in `costs.SECONDS`.

    >>> done = Work(pairs=2.0)
    >>> done.add(3.0, pairs=1.0, steps=1.0)
    >>> done
    {'pairs': 5.0, 'steps': 3.0}
    """

    def add(self, times: float = 1.0, **amounts: float) -> None:
        """Add amounts, some times."""
        for name, amount in amounts.items():
            self[name] = self.get(name, 0.0) + times * amount


def pilot_rows_of(n: int) -> tuple[int, float, float]:
    """Return the splits of the pilot on which kernels are learned, and the rows of each that are fitted and tested."""
    pilot = Pilot.of(n)
    tested = min(pilot.most_held_out, pilot.size / max(pilot.folds, 3))
    return pilot.folds, pilot.size - tested, tested


def landmarks_tried(case: str, sizes: Sizes) -> list[int]:
    """Return the numbers of landmarks that may be tried; linear kernels have no more features than numbers."""
    if case == "pilot":
        return [min(sizes.n // 2, limits.MAX_AUTO_LANDMARKS)]
    linear = all([k.form == "linear" for k in sizes.used])
    return [min(m, sizes.width + 1) if linear else m for m in sizes.numbers]


def landmarks_expected(case: str, sizes: Sizes) -> list[int]:
    """Return the numbers of landmarks of a typical fit, which stops halfway: the next one gains little."""
    tried = landmarks_tried(case, sizes)
    return tried[: len(tried) // 2 + 1]


def work_of_fit(case: str, sizes: Sizes) -> Work:
    """Count the work of a fit."""
    done = Work(steps=1, cells=sizes.n * sizes.cells)
    if case == "frugal":
        _buy(done, sizes)
    elif case == "exact":
        _fit_exactly(done, sizes)
    elif case == "cells":
        _fit_in_cells(done, sizes)
    elif case == "pilot":
        _fit_by_pilot(done, sizes)
    elif case == "gram":
        _fit_to_gram(done, sizes)
    else:
        _fit_on_landmarks(done, case, sizes)
    if "convolutions" in [k.form for k in (*sizes.members, *sizes.used)]:
        # default convolutions of series: their number, how many points of a series take as long as the copies of its
        # features in a fit, and what drawing the filters takes, in steps
        done.add(steps=20, convolved=(min(sizes.rows, limits.TRIED_ROWS) + sizes.rows) * 400)
    # how often a fit goes over the letters or nodes of objects, where a prediction encodes them once: it also looks
    # for equal objects, learns weights, and copies rows for members of a family and for folds
    done["encoded"] = 5 * done.get("encoded", 0.0)
    return done


def work_of_prediction(case: str, sizes: Sizes) -> Work:
    """Count the work of one prediction among many."""
    done = Work(objects=1, cells=sizes.cells)
    if case == "frugal":
        done.add(calls=min(MOST_LANDMARKS, sizes.most_calls / sizes.n / 2))  # half of the rows are certain early
        return done
    if case in ("exact", "cells"):
        from similitude.kernel_learning import CELL_ROWS  # loads all kernels

        within = sizes.n if case == "exact" else 2 * CELL_ROWS
        done.add(PARTS * within, pairs=PASSES_OF_TRIAL / 2, columns=sizes.width)
        return done
    if case == "gram":
        done.add(pairs=sizes.n)
        return done
    every_row = case == "pilot" and sizes.n <= limits.LEAVE_ONE_OUT
    n = sizes.n if every_row else landmarks_expected(case, sizes)[-1]
    for k in sizes.used:
        _compare(done, k, n, 1, sizes)
    return done


def _buy(done: Work, sizes: Sizes) -> None:
    """Count a frugal fit: a model for each number of columns, by the eigenvectors of all compared rows."""
    rows = limits.rows_compared(sizes.n)
    most = (1 + SCREENING) * rows * MOST_LANDMARKS * sizes.used[0].calls
    done.add(calls=min(sizes.most_calls, most))
    # models of a frugal fit: one for each number of columns, and again in the order of what columns tell
    done.add(18, eigen=rows**3, steps=1)


def _learn(done: Work, n: int, sizes: Sizes, times: int = 1) -> None:
    """Count the choice of learned kernels on n rows."""
    folds, fitted, tested = pilot_rows_of(n)
    first = min(fitted, FIRST_FITTED_ROWS)
    # settings at which learned kernels are tried on the first pilot rows, metrics that are learned there, and
    # settings that see more rows: typical of the fits of `benchmarks.defaults`, some of which take half or twice as
    # many
    _try_settings(done, times * folds * 65, first, tested)
    done.add(times * folds * 10, columns=first * (first + tested) * sizes.width)
    if folds == 1:
        _try_settings(done, times * 15, fitted, tested)


def _try_settings(done: Work, times: float, fitted: float, tested: float) -> None:
    """Count models of some rows that predict others."""
    done.add(times, trials=1, products=fitted**3 / 3, pairs=PASSES_OF_TRIAL * fitted * (fitted + tested))


def _factor(done: Work, times: float, n: float, sizes: Sizes) -> None:
    """Count exact fits to n vectors."""
    done.add(times, products=n**3 / 3 + n**2 * sizes.outputs, pairs=PASSES_OF_TRIAL * n**2, columns=n**2 * sizes.width)


def _fit_exactly(done: Work, sizes: Sizes) -> None:
    """Count learned kernels and Cholesky factors; where no rows are kept apart, also in nested folds."""
    n = sizes.n
    apart = limits.rows_apart(sizes.n)
    folds = 0
    if not apart:
        folds = folds_of(n)
    for rows, times in ((n, 1), (n - n // max(folds, 1), folds)):
        left_out = min(apart, limits.MOST_EVALUATED) or rows
        _learn(done, max(2, rows - apart), sizes, times)
        _factor(done, times * PARTS, rows, sizes)
        done.add(times, steps=1, products=PARTS * left_out**3 / 3)


def _fit_in_cells(done: Work, sizes: Sizes) -> None:
    """Count learned kernels, fits of all cells, and the landmarks that cells must beat."""
    from similitude.fitting.cells import RIVAL_LANDMARKS, RIVAL_ROWS  # loads all kernels
    from similitude.kernel_learning import CELL_ROWS

    _learn(done, sizes.n, sizes)
    cells = 2 ** max(0, round(np.log2(sizes.n / CELL_ROWS)))
    # fits of all cells: the first, rounds that learn metrics, a second kernel, and the last one
    _factor(done, 6 * cells, sizes.n / cells, sizes)
    rows = min(sizes.n, RIVAL_ROWS)
    done.add(rows, pairs=RIVAL_LANDMARKS, products=RIVAL_LANDMARKS**2)


def _fit_by_pilot(done: Work, sizes: Sizes) -> None:
    """Count trials on pilot rows, and an exact fit, or conjugate gradients with landmarks."""
    for rows, times in PILOT_TRIALS:
        _try_settings(done, times, min(rows, sizes.n), min(MOST_PREDICTED, sizes.n))
    if sizes.n <= limits.LEAVE_ONE_OUT:
        _factor(done, 1, sizes.n, sizes)
        return
    n = sizes.n
    m = landmarks_tried("pilot", sizes)[-1]
    done.add(n * m, pairs=1 + GRADIENT_STEPS, columns=sizes.width, products=GRADIENT_STEPS * sizes.outputs)
    done.add(products=IN_DOUBLE * m**3)


def _fit_to_gram(done: Work, sizes: Sizes) -> None:
    """Count ridge regression on a Gram matrix: one Cholesky factor, or eigenvectors for several penalties."""
    n = sizes.n
    done.add(pairs=n**2)
    if sizes.penalties:
        done.add(eigen=n**3)
    else:
        done.add(products=n**3 / 3)


def _fit_on_landmarks(done: Work, case: str, sizes: Sizes) -> None:
    """Count the choice of a similarity, of its scale and of landmarks, in folds if rows are few, and a pass if many."""
    rows = max(1, min(sizes.rows, sizes.rows_chosen_on))
    numbers = landmarks_expected(case, sizes)
    similarities = sizes.used
    width = len(similarities) * numbers[-1]
    folds = 0
    if sizes.n <= limits.LEAVE_ONE_OUT and sizes.all_in_memory:
        folds = folds_of(rows)
    if sizes.candidates == "learned":
        _learn(done, sizes.rows, sizes)
    if sizes.candidates == "family":
        _try_members(done, sizes, folds)
    scaled = sizes.candidates == "given" and any([k.scaled for k in similarities])
    for times, n in ((1, rows), (folds, rows - rows / max(folds, 1))):
        _on_features(done, times, n, [len(similarities) * m * n / rows for m in numbers])
        if scaled:
            some = min(n, limits.SCALE_ROWS)
            m = min(n, limits.SCALE_LANDMARKS, landmarks_tried(case, sizes)[-1])
            _on_features(done, times * SCALES_TRIED, some, [m])
            for k in similarities:
                _compare(done, k, times * (SCALES_TRIED * some * m + n * numbers[-1]), times * n, sizes)
    for k in similarities:
        asymmetric = 1 if k.proven else 1.5  # the landmarks with each other
        _compare(done, k, asymmetric * sizes.n * numbers[-1], sizes.n, sizes)
    if sizes.n > rows:
        done.add(sizes.n, products=width**2, read=0 if sizes.all_in_memory else 1)


def _on_features(done: Work, times: int, n: float, numbers: Sequence[float]) -> None:
    """Count ridge regressions on the features of some numbers of landmarks."""
    for m in numbers:
        # penalties whose left-out losses are computed, each in one pass over the features
        done.add(times, steps=1, eigen=m**3, pairs=20 * n * m, products=2 * IN_DOUBLE * n * m**2)


def _try_members(done: Work, sizes: Sizes, folds: int) -> None:
    """Count the members of a family on the rows that they are tried on."""
    from similitude.kernels import PAIR_BUDGET  # loads all kernels

    members = sizes.members
    n = min(sizes.rows, limits.rows_tried(sizes.kind == "records"))
    if len(members) == 1 or not limits.can_choose(n):
        return
    costly = sum([k.pair_cost for k in members if k.form != "sum"])
    for k in members:
        tried = min(n, int(np.sqrt(PAIR_BUDGET * n / (sizes.size * costly)))) if k.pair_cost else n
        if k.form != "sum":
            _compare(done, k, tried**2 / 2, tried, sizes)
        done.add(eigen=(tried / 2) ** 3)
    done.add(1 + folds * (1 - 1 / max(folds, 1)) ** 3, eigen=limits.FINALISTS * n**3)
    if sizes.kind == "records":
        _learn(done, n, sizes)


def _compare(done: Work, k: PairWork, pairs: float, objects: float, sizes: Sizes) -> None:
    """Count some similarities, and the objects that are encoded for them."""
    if k.calls:
        done.add(pairs, calls=k.calls)
    elif sizes.kind in ("vectors", "table", "records", "matrix"):
        done.add(pairs, pairs=1, columns=sizes.width)
    elif k.pair_cost or (k.heavy and sizes.kind in ("strings", "series")):
        # what alignments of series and strings other than time warping cost, as `pair_cost` has it
        done.add(pairs, warps=(k.pair_cost or 4.0) * sizes.size**2)
    elif sizes.kind == "series":
        # default convolutions of series: their number, how many points of a series take as long as the copies of its
        # features in a fit, and what drawing the filters takes, in steps
        done.add(products=pairs * 10_000, convolved=objects * sizes.size)
    else:
        done.add(sizes.size * k.counts, letters=pairs, encoded=objects)


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

BASE = 42e6
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
    seconds_per_prediction : float
    """

    seconds: float
    memory: float
    calls: float
    seconds_per_prediction: float

    def __str__(self) -> str:
        parts = [f"about {in_seconds(self.seconds)}, at most {format_bytes(self.memory)}"]
        if self.calls:
            parts.append(f"{self.calls:,.0f} calls of your function")
        parts.append(f"{in_seconds(self.seconds_per_prediction)} a prediction")
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
        calls = ""
        if self.calls:
            calls = f", {self.calls:,} calls of your function"
        return f"{in_seconds(self.seconds)}{calls}"


def in_seconds(seconds: float) -> str:
    """Return a time as a person reads it.

    >>> in_seconds(0.00012), in_seconds(2.34), in_seconds(600)
    ('0.12 ms', '2.3 s', '10 min')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min"


def estimated(case: str, sizes: Sizes) -> Cost:
    """Return the cost of a case of the table."""
    done = work_of_fit(case, sizes)
    later = work_of_prediction(case, sizes)
    seconds = sum([SECONDS[name] * amount for name, amount in done.items()])
    if case == "products" and sizes.on_gpu:
        # seconds of a fit by products on a GPU: of its start, and of a row with a landmark. On an H200, 100,000 rows
        # with 5,000 landmarks took 0.15 s, and 400,000 with 10,000 took 0.36 s
        seconds = 0.1 + 6e-11 * sizes.n * sizes.numbers[-1]
    prediction = sum([SECONDS[name] * amount for name, amount in later.items()])
    return Cost(sizes.fits * seconds, _memory(case, sizes), sizes.fits * done.get("calls", 0.0), prediction)


def _memory(case: str, sizes: Sizes) -> float:
    """Return the bytes of the largest arrays that are there at once, where landmarks are as many as may be tried.

    It is far more than most fits in cells need, because these fall back to landmarks where cells are no better.
    """
    n = sizes.n
    rows = sizes.rows
    if case == "gram":
        return BASE + limits.MATRICES * 8 * n**2
    memory = BASE + 48 * rows * sizes.width + _encoded(sizes)
    if sizes.candidates == "learned":
        folds, fitted, tested = pilot_rows_of(rows)
        memory += 32 * folds * fitted * (fitted + tested)
    if case == "frugal":
        return memory + 64 * limits.rows_compared(n) ** 2
    if case == "exact":
        return max(memory, BASE + 8 * n**2)
    if case == "pilot" and n <= limits.LEAVE_ONE_OUT:
        pilot = min(n, PILOT_STAGES[-1])
        return memory + max(12 * n**2, 32 * pilot * (pilot + MOST_PREDICTED))
    m = len(sizes.used) * landmarks_tried(case, sizes)[-1]
    array = sizes.itemsize * min(rows, sizes.rows_chosen_on) * m
    return memory + (1.5 if case == "pilot" else limits.FEATURE_ARRAYS) * array + 56 * m**2


def _encoded(sizes: Sizes) -> float:
    """Return the bytes of encoded objects other than vectors."""
    kind = sizes.kind
    rows = sizes.rows
    size = sizes.size
    if kind == "strings":
        return size * (4_000 * min(rows, limits.TRIED_ROWS) + 1_000 * rows)
    if kind == "series":
        return 500_000.0 * rows
    columns = 0
    if kind == "records":
        columns = sizes.cells * min(rows, limits.RECORDS_TRIED) ** 2
    return rows * (200 * size + 1_000 * sizes.cells) + 16 * columns
