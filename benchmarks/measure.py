"""Measuring: contenders take turns on fresh data, in an order that alternates."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.nouns import OURS, Check, Contender, Data, Dataset, SelfTimed, Task
from similitude import use_engine
from similitude.engines import LocalEngine

PAUSE = 0.04
"""Seconds before each measurement: threads of BLAS and OpenMP that the one before has left wait busily for so long."""

T = TypeVar("T")


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Hold BLAS, OpenMP, torch, oneDAL and our engine to so many threads."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(number)
    if "daal4py" in sys.modules:
        sys.modules["daal4py"].daalinit(number)
    with threadpool_limits(number), use_engine(LocalEngine(threads=number)):
        yield


def in_turn(ones: Sequence[T], turn: int) -> list[T]:
    """Return them forwards on even turns, backwards on odd ones."""
    return list(ones) if turn % 2 == 0 else list(reversed(ones))


def copied(data: Data) -> Data:
    """Return the data in new memory, so that nobody finds them warmer or changed by somebody else."""
    return {name: value.copy() if hasattr(value, "copy") else value for name, value in data.items()}


def timed(operation: Callable[..., Any], data: Data) -> tuple[float, Any]:
    """Return the seconds of one call, and its result."""
    start = time.perf_counter()
    result = operation(**data)
    seconds = time.perf_counter() - start
    return (result.seconds, result.result) if isinstance(result, SelfTimed) else (seconds, result)


@dataclass
class Series:
    """What one contender did on one dataset with one number of threads."""

    contender: Contender
    threads: int
    seconds: dict[int, float] = field(default_factory=dict)
    """By repetition; repetition 0, the warm-up, stands here only where it was too long to repeat."""
    check: Check | None = None
    failed: str = ""
    spent: float = 0.0
    """Seconds of all repetitions, with what a result that brings its own time does not count."""

    @property
    def median(self) -> float:
        """The median time."""
        return float(np.median(list(self.seconds.values()))) if self.seconds else float("nan")

    @property
    def spread(self) -> float:
        """The interquartile range of the times."""
        values = list(self.seconds.values()) or [float("nan")]
        return float(np.subtract(*np.percentile(values, [75, 25])))


class Figures:
    """All series of one dataset."""

    def __init__(self, task: Task, dataset: Dataset, series: list[Series]) -> None:
        self.task, self.dataset, self.series = task, dataset, series
        self.children: dict[str, Any] = {}
        """By contender: its memory and its first two calls, each measured in a process of its own."""
        self.disturbed: float | None = None
        """How many cores others kept busy meanwhile."""
        self.took: dict[str, float] = {}
        """Seconds for all contenders in turn, and for the processes that measure memory and first calls."""

    def find(self, contender: str, threads: int) -> Series | None:
        """Return a series that has times; one without threads stands for any number of them."""
        for one in self.series:
            fits = one.threads == threads or not one.contender.scales(self.task.operation)
            if one.contender.name == contender and fits and one.seconds:
                return one
        return None

    def ratio(self, above: Series | None, below: Series | None) -> float | None:
        """Return the median over repetitions of one time as a multiple of another on the same data."""
        if above is None or below is None:
            return None
        common = above.seconds.keys() & below.seconds.keys()
        if not common:
            return above.median / below.median
        return float(np.median([above.seconds[one] / below.seconds[one] for one in common]))

    def to_ours(self, one: Series) -> float | None:
        """Return the time as a multiple of ours."""
        return self.ratio(one, self.find(OURS, one.threads))

    def to_limit(self, one: Series) -> float | None:
        """Return the time as a multiple of the limit's."""
        limits = {other.contender.name for other in self.series if other.contender.is_limit}
        return self.ratio(one, self.find(limits.pop(), one.threads)) if limits else None


def measure(
    task: Task,
    dataset: Dataset,
    contenders: Sequence[Contender],
    thread_counts: Sequence[int],
    repetitions: int,
    patience: float,
    enough: float = math.inf,
) -> Figures:
    """Measure every contender; a warm-up that exceeds `patience` seconds is its only measurement, unless it compiled.

    A contender whose repetitions took `enough` seconds together is not repeated any more.
    """
    all_series = [
        Series(contender, number)
        for number in thread_counts
        for contender in contenders
        if contender.scales(task.operation) or number == thread_counts[0]
    ]
    task.load()
    for series in all_series:
        series.failed = _why_not_loaded(series.contender)
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # or else every collection visits all objects of all libraries, a seventh of a second each time
    for repetition in range(repetitions + 1):
        taking_part = [one for one in all_series if _goes_on(one, enough)]
        if not taking_part:
            break
        data = dataset.fresh(repetition)
        truth = task.truth(data) if repetition == 0 else None
        for series in in_turn(taking_part, repetition):
            _take(task, series, repetition, data, truth, patience)
    return Figures(task, dataset, all_series)


def _why_not_loaded(contender: Contender) -> str:
    """Import what a contender needs; return the error where that fails."""
    try:
        _ = contender.library
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _goes_on(series: Series, enough: float) -> bool:
    """Tell whether a contender is measured once more."""
    return not series.failed and 0 not in series.seconds and series.spent < enough


def _take(task: Task, series: Series, repetition: int, data: Data, truth: Any, patience: float) -> None:
    """Measure one contender once; the warm-up is checked."""
    mine = copied(data)
    gc.collect()  # of what came after the contenders were loaded
    time.sleep(PAUSE)
    start = time.monotonic()
    try:
        with threads(series.threads):
            seconds, result = timed(getattr(series.contender, task.operation), mine)
        spent = time.monotonic() - start
        if repetition == 0 and not series.contender.is_limit:
            series.check = task.check(data, result, truth)
    except Exception as error:
        series.failed = f"{type(error).__name__}: {error}"
        series.seconds.clear()
        return
    if repetition > 0 or (spent > patience and not series.contender.compiles):
        series.seconds[repetition] = seconds
    if repetition > 0:
        series.spent += spent
