"""How ratios to the fastest other library change from version to version: benchmarks/history.csv.

A line has the version and the day of a run, its processor, a task on a data set, the fastest other library on one
thread, and its time relative to ours. `tools.benchmark_page` adds the lines of a complete run.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import header, line

HISTORY = Path(__file__).parents[1] / "benchmarks" / "history.csv"

SHOWN_RUNS = 4
"""Most runs that the page shows, the last ones."""


class Ratio(NamedTuple):
    """The time of the fastest other library relative to ours, in one run."""

    version: str
    day: str
    processor: str
    task: str
    data: str
    peer: str
    ratio: str


def read_history(path: Path) -> list[Ratio]:
    """Return the lines of a history; none if there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Ratio(**row) for row in csv.DictReader(file)]


def add_to_history(path: Path, new: Sequence[Ratio]) -> list[Ratio]:
    """Write a history with further lines; a task that was measured before on the same day is replaced."""
    known = {(one.version, one.day, one.processor, one.task, one.data): one for one in [*read_history(path), *new]}
    lines = sorted(known.values(), key=lambda one: (one.day, one.version))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Ratio._fields)
        writer.writerows(lines)
    return lines


def by_version(lines: Sequence[Ratio]) -> str:
    """Return a table with a column for each of the last runs; nothing while there is only one."""
    runs = list(dict.fromkeys((one.day, one.version, one.processor) for one in lines))[-SHOWN_RUNS:]
    if len(runs) < 2:
        return ""
    cells: dict[tuple[str, str], dict[Any, str]] = {}
    for one in lines:
        cells.setdefault((one.task, one.data), {})[one.day, one.version, one.processor] = f"{one.ratio} ({one.peer})"
    rows = [line([*name, *(found.get(run, "-") for run in runs)]) for name, found in cells.items()]
    titles = [f"{version}, {day}, {processor}" for day, version, processor in runs]
    return "\n".join(["### By version\n", header(["task", "data", *titles]), *rows])
