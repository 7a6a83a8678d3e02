"""How time grows with size: the exponent fitted to the medians of several sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.contenders import that_can
from benchmarks.measure import measure
from benchmarks.nouns import Contender, Task
from benchmarks.report import duration, header, line, number


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log time over log size.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def print_growth(task: Task, threads: int, repetitions: int, quick: bool) -> dict[str, object]:
    """Measure a task at each of its sizes, and print times and exponents."""
    if task.at_size is None:
        raise SystemExit(f"{task.name} has no size that could grow")
    sizes = [size // 2 for size in task.sizes] if quick else list(task.sizes)
    contenders: list[Contender] = []
    for one in that_can(task.operation):
        if one.missing():
            print(f"skipped: {one.name}: {one.missing()}")
        else:
            contenders.append(one)
    medians: dict[str, list[float]] = {one.name: [] for one in contenders}
    for size in sizes:
        for series in measure(task, task.at_size(size), contenders, [threads], repetitions, float("inf")).series:
            medians[series.contender.name].append(series.median)
    print(f"\n{task.name}: {task.computes}; {threads} thread(s)\n")
    print(header(["contender", *(f"n = {size}" for size in sizes), "exponent"]))
    found = {name: exponent(sizes, times) for name, times in medians.items() if np.isfinite(times).all()}
    for name, times in medians.items():
        print(line([name, *(duration(one) for one in times), number(found.get(name))]))
    return {"task": task.name, "threads": threads, "sizes": sizes, "medians": medians, "exponents": found}
