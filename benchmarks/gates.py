"""Gates: promises about ratios measured in one run, and whether they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Figures
from benchmarks.nouns import OURS, Gate


def at_most(
    bound: float, against: str, goal: float | None = None, of: str = OURS, where: str = "", threads: int = 1
) -> Gate:
    """Promise a time of at most `bound` times that of a contender, on so many threads."""
    return Gate(
        f"{of} at most {bound:g} x {against}, {_counted(threads)}",
        lambda figures: figures.ratio(figures.find(of, threads), figures.find(against, threads)),
        bound,
        goal,
        where=where,
    )


def faster(
    bound: float, against: str, goal: float | None = None, of: str = OURS, where: str = "", threads: int = 1
) -> Gate:
    """Promise to be at least `bound` times faster than a contender, on so many threads."""
    return Gate(
        f"{of} at least {bound:g} x faster than {against}, {_counted(threads)}",
        lambda figures: figures.ratio(figures.find(against, threads), figures.find(of, threads)),
        bound,
        goal,
        at_least=True,
        where=where,
    )


def _counted(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def as_accurate(than: str, points: float, goal: float | None = None, where: str = "") -> Gate:
    """Promise that our check's value, an accuracy, is at most so much below that of a contender."""

    def measure(figures: Figures) -> float | None:
        ours, theirs = (_first(figures, name) for name in (OURS, than))
        return theirs.check.value - ours.check.value if ours and theirs else None

    return Gate(f"accuracy of {than} less ours at most {points:g}", measure, points, goal, where=where)


def _first(figures: Figures, name: str) -> Any:
    """Return the series of a contender that has been checked, whatever its threads."""
    return next((one for one in figures.series if one.contender.name == name and one.check is not None), None)


def scaling(bound: float, of: str = OURS, where: str = "") -> Gate:
    """Promise that two threads are at least `bound` times as fast as one."""
    return Gate(
        f"{of} with 2 threads at least {bound:g} x faster than with 1",
        lambda figures: figures.ratio(figures.find(of, 1), figures.find(of, 2)),
        bound,
        at_least=True,
        where=where,
    )


def seconds(bound: float, of: str = OURS) -> Gate:
    """Promise a time."""

    def measure(figures: Figures) -> float | None:
        series = figures.find(of, 1)
        return series.median if series else None

    return Gate(f"{of} at most {bound:g} s", measure, bound)


def less_memory(than: str, of: str = OURS) -> Gate:
    """Promise a peak of memory below that of a contender."""

    def measure(figures: Figures) -> float | None:
        peaks = [[run["peak_mb"] for run in figures.children.get(name, []) if "peak_mb" in run] for name in (of, than)]
        return float(np.median(peaks[0]) / np.median(peaks[1])) if all(peaks) else None

    return Gate(f"{of}: peak memory at most that of {than}", measure, 1.0)


def checked(bound: float, says: str, where: str = "") -> Gate:
    """Promise that the value of our check is at most so much."""

    def measure(figures: Figures) -> float | None:
        series = figures.find(OURS, 1)
        return series.check.value if series is not None and series.check is not None else None

    return Gate(says, measure, bound, where=where)


def correct(figures: Figures) -> float | None:
    """Return how many of our results were wrong."""
    ours = [one for one in figures.series if one.contender.name.startswith(OURS)]
    return float(sum(bool(one.failed) or (one.check is not None and not one.check.passed) for one in ours))


def first_call(figures: Figures) -> float | None:
    """Return our first call in a new process as a multiple of the second."""
    runs = [run for run in figures.children.get(OURS, []) if "first" in run]
    return float(np.median([run["first"] / run["second"] for run in runs])) if runs else None


ALWAYS = (
    Gate("results of ours that are wrong", correct, 0.0),
    Gate("ours: first call at most 1.25 x the second, imports excluded", first_call, 1.25, 1.0),
)
"""Every task promises these."""


@dataclass(frozen=True)
class Verdict:
    """One gate on one dataset."""

    task: str
    dataset: str
    gate: Gate
    value: float
    disturbed: float | None = None
    """How many cores others kept busy meanwhile."""

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.gate.met(self.value, self.gate.bound)

    @property
    def reached_goal(self) -> bool | None:
        """Whether the goal beyond the promise is reached; None without one."""
        return None if self.gate.goal is None else self.gate.met(self.value, self.gate.goal)


def judge(all_figures: Sequence[Figures]) -> list[Verdict]:
    """Return every gate that can be judged from these figures."""
    verdicts = []
    for figures in all_figures:
        for gate in (*figures.task.gates, *ALWAYS):
            value = gate.measure(figures) if gate.where in figures.dataset.name else None
            if value is not None:
                verdicts.append(Verdict(figures.task.name, figures.dataset.name, gate, value, figures.disturbed))
    return verdicts
