"""Run the benchmarks: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.child import in_children
from benchmarks.contenders import that_can
from benchmarks.gates import judge
from benchmarks.growth import print_growth
from benchmarks.machine import Disturbance, Limit, cores, description, limits
from benchmarks.measure import Figures, measure
from benchmarks.nouns import OURS, Dataset, Settings, Task
from benchmarks.tasks import ALL, task_named

PATIENCE = 3.0
"""Seconds of a warm-up from which on it is a contender's only measurement."""

ENOUGH = 1.5
"""Seconds of all repetitions of a contender on one dataset, after which it is not repeated any more."""

RUNS_OF_OURS = 2
"""Processes in which our first call is measured."""


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure similitude beside its peers.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repetitions: under three minutes")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="tasks whose name matches, such as 'gauss*'")
    parser.add_argument("--threads", default="1,2", metavar="N,N", help="numbers of threads (default: 1,2)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="default: 7, or 2 with --quick")
    parser.add_argument("--data", type=Path, metavar="DIR", help="real data sets: mnist.npz, a9a.npz")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), metavar="PATH")
    parser.add_argument("--growth", metavar="TASK", help="fit how the time of a task grows with its size")
    parser.add_argument("--list", action="store_true", help="list tasks, datasets and contenders")
    chosen = parser.parse_args(arguments)
    chosen.threads = [int(one) for one in chosen.threads.split(",")]
    chosen.repetitions = chosen.repetitions or (2 if chosen.quick else 7)
    return chosen


def chosen_tasks(pattern: str) -> list[Task]:
    """Return the tasks whose name contains or matches the pattern."""
    return [task for task in ALL if pattern in task.name or fnmatch.fnmatch(task.name, pattern)]


def print_list(settings: Settings) -> None:
    """Print what there is."""
    for task in ALL:
        print(f"{task.name}: {task.computes}")
        for dataset in task.datasets(settings):
            missing = dataset.missing(settings)
            print(f"    on {dataset.name}{f' ({missing})' if missing else ''}")
        for contender in that_can(task.operation):
            missing = contender.missing()
            print(f"    by {contender.name}{f' ({missing})' if missing else ''}")
        for gate in task.gates:
            print(f"    gate: {gate.says}{f' (where {gate.where.strip()})' if gate.where else ''}")


class Run:
    """One run: what was measured, and what was skipped."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.settings = Settings(chosen.quick, chosen.data)
        self.threads = [number for number in chosen.threads if number <= cores()]
        self.skipped: list[str] = []
        self.had_children = False
        self.start = time.monotonic()
        for number in chosen.threads:
            if number not in self.threads:
                self.skip(f"{number} threads: this machine has {cores()} core(s)")

    def skip(self, what: str) -> None:
        """Name once what is left out."""
        if what not in self.skipped:
            self.skipped.append(what)

    def print_limits(self) -> list[Limit]:
        """Print and return what the machine can do at best."""
        found = []
        print(report.header(["limit of this machine", "threads", "value"]))
        for limit in limits(self.threads, self.chosen.quick):
            if isinstance(limit, str):
                self.skip(limit)
                continue
            found.append(limit)
            print(report.line([limit.name, limit.threads, f"{limit.value:.3g} {limit.unit}"]), flush=True)
        return found

    def print_tasks(self, tasks: Sequence[Task], found: Sequence[Limit]) -> list[Figures]:
        """Measure all tasks; say on the way how many are left, and write what was measured after each."""
        all_figures = []
        for i, task in enumerate(tasks):
            done = f"task {i + 1} of {len(tasks)} after {self.minutes():.1f} min"
            print(f"{done}: {task.name}", file=sys.stderr, flush=True)
            all_figures += self.print_task(task)
            write(self.chosen.json, self.as_json(all_figures, found))
        return all_figures

    def minutes(self) -> float:
        """Return how long the run has taken so far."""
        return (time.monotonic() - self.start) / 60

    def as_json(self, all_figures: Sequence[Figures], found: Sequence[Limit]) -> dict[str, Any]:
        """Return what was measured so far."""
        return {
            "machine": description(),
            "quick": self.chosen.quick,
            "repetitions": self.chosen.repetitions,
            "minutes": self.minutes(),
            "limits": report.limits_as_json(found),
            "figures": [report.figures_as_json(one) for one in all_figures],
            "gates": report.gates_as_json(judge(all_figures)),
            "skipped": self.skipped,
        }

    def print_task(self, task: Task) -> list[Figures]:
        """Measure a task on each of its datasets and print the lines."""
        all_figures = []
        for dataset in task.datasets(self.settings):
            if dataset.missing(self.settings):
                self.skip(f"{task.name} on {dataset.name}: {dataset.missing(self.settings)}")
                continue
            others, start = Disturbance(), time.monotonic()
            try:
                figures = self.measured(task, dataset)
            except Exception as error:  # no data, or no truth: contenders that fail are among the figures
                self.skip(f"{task.name} on {dataset.name}: {type(error).__name__}: {error}")
                continue
            figures.took["contenders"] = time.monotonic() - start
            if task.in_child and not all_figures:
                self.measure_in_children(figures)
                figures.took["processes"] = time.monotonic() - start - figures.took["contenders"]
            figures.disturbed = others.cores()
            for series in figures.series:
                print(report.line(report.row(figures, series)), flush=True)
            all_figures.append(figures)
        return all_figures

    def measured(self, task: Task, dataset: Dataset) -> Figures:
        """Measure all contenders on one dataset."""
        contenders = []
        for contender in that_can(task.operation):
            if contender.missing():
                self.skip(f"{contender.name}: {contender.missing()}")
            else:
                contenders.append(contender)
        numbers = [number for number in self.threads if task.threads is None or number in task.threads] or [1]
        patience = 0.8 if self.chosen.quick else PATIENCE
        return measure(task, dataset, contenders, numbers, self.chosen.repetitions, patience, ENOUGH)

    def measure_in_children(self, figures: Figures) -> None:
        """Measure memory and our first calls; a quick run measures the memory of peers once in all."""
        for series in figures.series:
            name, is_limit = series.contender.name, series.contender.is_limit
            wanted = name == OURS or not (is_limit or (self.chosen.quick and self.had_children))
            if wanted and not series.failed and name not in figures.children:
                task, dataset, runs = figures.task, figures.dataset, RUNS_OF_OURS if name == OURS else 1
                found = in_children(task, dataset, series.contender, series.threads, self.settings, runs)
                figures.children[name] = found
        self.had_children = True


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, and the directory it goes to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def main() -> None:
    """Measure, print Markdown, write JSON after each task."""
    chosen = options()
    run = Run(chosen)
    if chosen.list:
        return print_list(run.settings)
    if chosen.growth:
        grown = print_growth(task_named(chosen.growth), run.threads[0], chosen.repetitions, chosen.quick)
        return write(chosen.json, {"machine": description(), "growth": grown})
    machine = description()
    print(f"{machine['processor']}, {machine['cores']} cores, loops {machine['loops']}\n")
    found = run.print_limits()
    print(f"\n{report.header(report.COLUMNS)}")
    verdicts = judge(run.print_tasks(chosen_tasks(chosen.only), found))
    print(f"\n{report.header(['task', 'dataset', 'gate', 'measured', 'met?', 'goal', 'others'])}")
    for verdict in verdicts:
        print(report.line(report.gate_row(verdict)))
    print()
    for what in run.skipped:
        print(f"skipped: {what}")
    print(report.summary(verdicts))
    print(f"{run.minutes():.1f} minutes", file=sys.stderr)


if __name__ == "__main__":
    main()
