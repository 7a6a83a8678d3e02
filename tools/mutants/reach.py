"""Which tests reach which lines of some rooms, and how long each takes.

Loaded by pytest as a plugin (``-p tools.mutants.reach``), it records the lines of each test in the process of the test:
what tests start in other processes is not counted, because changes do not reach it either. `Reach` reads the records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import coverage
import pytest

FOLDER = Path("build/mutants")
LINES, SECONDS, UNFIT = FOLDER / "lines", FOLDER / "seconds.json", FOLDER / "unfit.json"

ROOMS = ["landmarks", "linear", "persistence", "similarity", "theory", "validity"]
"""The rooms whose lines are recorded and changed: those that hold the statements that the library makes."""


class Lines:
    """In a process that runs tests: names each test to coverage.py before it runs."""

    def __init__(self) -> None:
        rooms = [f"src/similitude/{room}/*" for room in ROOMS]
        self.recorded = coverage.Coverage(data_file=str(LINES), data_suffix=True, include=rooms, config_file=False)
        self.recorded.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Count the lines that follow for this test."""
        self.recorded.switch_context(item.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the lines."""
        self.recorded.stop()
        self.recorded.save()


class Seconds:
    """In the process that reports: adds up how long each test takes."""

    def __init__(self) -> None:
        self.of: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the setup, the call or the teardown of a test."""
        self.of[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the seconds."""
        SECONDS.write_text(json.dumps(self.of))


def pytest_configure(config: pytest.Config) -> None:
    """Start to record."""
    config.pluginmanager.register(Lines() if hasattr(config, "workerinput") else Seconds())


def record(workers: int) -> None:
    """Run all tests once, without any change, and record what each of them reaches."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        if old != UNFIT:
            old.unlink()
    options = f"-q -p tools.mutants.reach -n {workers} --dist worksteal"
    command = [sys.executable, "-m", "pytest", *options.split()]
    if subprocess.run(command, env={**os.environ, "PYTHONPATH": "."}, check=False).returncode:
        SECONDS.unlink(missing_ok=True)
        raise SystemExit("some tests fail without any change")
    whole = coverage.Coverage(data_file=str(LINES), config_file=False)
    whole.combine([str(FOLDER)])
    whole.save()


class Reach:
    """The tests that reach a line, quickest modules first."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = json.loads(SECONDS.read_text())
        self._lines = coverage.CoverageData(basename=str(LINES))
        self._lines.read()
        self._tests_of: dict[Path, dict[int, list[str]]] = {}

    def seconds(self, test: str) -> float:
        """Return how long a test takes."""
        return self._seconds.get(test, 0.0)

    def tests(self, path: Path, lines: range) -> dict[str, set[str]]:
        """Return the tests that reach any of some lines, as sets by the file that holds them."""
        if path not in self._tests_of:
            self._tests_of[path] = self._lines.contexts_by_lineno(str(path.resolve()))
        found: dict[str, set[str]] = defaultdict(set)
        for line in lines:
            for test in filter(None, self._tests_of[path].get(line, [])):
                found[test.partition("::")[0]].add(test)
        cost: dict[str, Any] = {file: sum(self._seconds.get(one, 0.0) for one in some) for file, some in found.items()}
        return {file: found[file] for file in sorted(found, key=lambda file: (cost[file], file))}
