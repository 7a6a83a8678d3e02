"""Memory of one contender, and the first call if it is ours, each run in a process of its own.

``python -m benchmarks.child`` measures and writes JSON; :func:`in_child` calls it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.contenders import named
from benchmarks.measure import threads, timed
from benchmarks.nouns import OURS, Contender, Dataset, Settings, Task

STATUS = Path("/proc/self/status")
CHILD_LIMIT = 300

Run = dict[str, Any]


def resident() -> tuple[float, float]:
    """Return the resident memory of this process, now and at its highest, in MB."""
    if STATUS.exists():
        fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
        now, high = (int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))
        return now, high
    import resource

    high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    return high, high


def forget_highest() -> None:
    """Start a new high-water mark, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def measure_here(task: Task, dataset: Dataset, contender: Contender, number: int) -> Run:
    """Return the peak memory of the first call over what was there before, and the times of two calls if it is ours."""
    task.load()
    _ = contender.library
    operation = getattr(contender, task.operation)
    first_data = dataset.fresh(1)
    second_data = dataset.fresh(2) if contender.name == OURS else None
    with threads(number):
        before = set(sys.modules)
        forget_highest()
        baseline = resident()[0]
        first, kept = timed(operation, first_data)  # kept, so that the second call needs new memory too
        peak = resident()[1] - baseline
        imported = sorted(set(sys.modules) - before)
        run = {"peak_mb": peak, "imported": imported, "result": type(kept).__name__}
        return {**run, "first": first, "second": timed(operation, second_data)[0]} if second_data else run


def in_child(
    task: Task, dataset: Dataset, contender: Contender, number: int, settings: Settings, preload: Sequence[str] = ()
) -> Run:
    """Run :func:`measure_here` in a new process; a failure is returned, not raised."""
    names = [task.name, dataset.name, contender.name, str(number)]
    options = [*(["--quick"] if settings.quick else []), *(["--data", str(settings.data)] if settings.data else [])]
    command = [sys.executable, "-m", "benchmarks.child", *names, *options, "--preload", ",".join(preload)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_LIMIT)
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {CHILD_LIMIT} s"}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])  # a library may have printed something before


def in_children(
    task: Task, dataset: Dataset, contender: Contender, number: int, settings: Settings, runs: int
) -> list[Run]:
    """Measure in new processes; what a first call imports is found in one and imported beforehand in the others."""
    found = [in_child(task, dataset, contender, number, settings)]
    imported = found[0].get("imported", [])
    more = runs if imported else runs - 1
    found += [in_child(task, dataset, contender, number, settings, imported) for _ in range(more)]
    return found[1:] if imported else found


def main() -> None:
    """Measure what the command line names."""
    from benchmarks.tasks import task_named

    parser = argparse.ArgumentParser(prog="python -m benchmarks.child")
    for name in ("task", "dataset", "contender"):
        parser.add_argument(name)
    parser.add_argument("threads", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--preload", default="")
    chosen = parser.parse_args()
    for name in filter(None, chosen.preload.split(",")):
        importlib.import_module(name)
    task = task_named(chosen.task)
    datasets = task.datasets(Settings(chosen.quick, chosen.data))
    dataset = next(one for one in datasets if one.name == chosen.dataset)
    print(json.dumps(measure_here(task, dataset, named(chosen.contender), chosen.threads)))


if __name__ == "__main__":
    main()
