"""What is printed, and what is written as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.gates import Verdict
from benchmarks.machine import Limit
from benchmarks.measure import Figures, Series

DISTURBED = 0.1
"""Busy cores beyond which a warning is due."""
COLUMNS = (
    "task",
    "dataset",
    "contender",
    "threads",
    "median",
    "spread",
    "x ours",
    "x limit",
    "peak MB",
    "first / second call",
    "check",
)


def line(cells: Sequence[object]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def header(columns: Sequence[str]) -> str:
    """Return the head of a Markdown table."""
    return f"{line(columns)}\n{line(['---'] * len(columns))}"


def duration(seconds: float) -> str:
    """Write a time for a person.

    >>> duration(0.0123), duration(2.5)
    ('12.3 ms', '2.50 s')
    """
    if math.isnan(seconds):
        return "-"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def number(value: float | None, digits: int = 2) -> str:
    """Write a number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def child_figures(runs: Sequence[dict[str, Any]]) -> tuple[float | None, float | None]:
    """Return the peak memory in MB and the first call as a multiple of the second: medians over runs, where known."""
    peaks = [run["peak_mb"] for run in runs if "peak_mb" in run]
    firsts = [run["first"] / run["second"] for run in runs if "second" in run]
    peak, first = (float(np.median(values)) if values else None for values in (peaks, firsts))
    return peak, first


def row(figures: Figures, series: Series) -> list[str]:
    """Return the cells of one series."""
    start = [figures.task.name, figures.dataset.name, series.contender.name, str(series.threads)]
    if series.failed:
        return [*start, "failed", *["-"] * 5, series.failed.replace("|", "/")]
    peak, first = child_figures(figures.children.get(series.contender.name, ()))
    check = "limit" if series.check is None else series.check.says + ("" if series.check.passed else ": WRONG")
    return [
        *start,
        duration(series.median),
        duration(series.spread) if len(series.seconds) > 1 else "once",
        number(figures.to_ours(series)),
        number(figures.to_limit(series)),
        number(peak, 0),
        number(first),
        check,
    ]


def gate_row(verdict: Verdict) -> list[str]:
    """Return the cells of one gate."""
    goal = "-"
    if verdict.gate.goal is not None:
        goal = f"{verdict.gate.goal:g}: {'reached' if verdict.reached_goal else 'not reached'}"
    met = "met" if verdict.met else "NOT met"
    busy = "-" if verdict.disturbed is None else f"{verdict.disturbed:.1f} cores"
    return [verdict.task, verdict.dataset, verdict.gate.says, f"{verdict.value:.3g}", met, goal, busy]


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return the last lines: a warning where other work disturbed the measurements, and the count of gates."""
    met = sum(one.met for one in verdicts)
    count = f"gates: {met} met, {len(verdicts) - met} not met"
    most = max((one.disturbed or 0.0 for one in verdicts), default=0.0)
    if most <= DISTURBED:
        return count
    return f"Other processes kept up to {most:.1f} cores busy meanwhile: measure again on a quiet machine.\n{count}"


def limits_as_json(found: Sequence[Limit]) -> list[dict[str, Any]]:
    """Return the limits for JSON."""
    return [one._asdict() for one in found]


def figures_as_json(figures: Figures) -> dict[str, Any]:
    """Return everything measured on one dataset."""
    return {
        "task": figures.task.name,
        "computes": figures.task.computes,
        "dataset": figures.dataset.name,
        "series": [_series_as_json(figures, one) for one in figures.series],
        "children": figures.children,
        "disturbed": figures.disturbed,
        "took": figures.took,
    }


def _series_as_json(figures: Figures, series: Series) -> dict[str, Any]:
    start = {"contender": series.contender.name, "threads": series.threads}
    if series.failed:
        return {**start, "failed": series.failed}
    return {
        **start,
        "seconds": list(series.seconds.values()),
        "median": series.median,
        "spread": series.spread,
        "to_ours": figures.to_ours(series),
        "to_limit": figures.to_limit(series),
        "check": series.check and vars(series.check),
    }


def gates_as_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the gates for JSON."""
    return [
        {
            "task": one.task,
            "dataset": one.dataset,
            "says": one.gate.says,
            "value": one.value,
            "bound": one.gate.bound,
            "goal": one.gate.goal,
            "met": one.met,
            "reached_goal": one.reached_goal,
            "disturbed": one.disturbed,
        }
        for one in verdicts
    ]
