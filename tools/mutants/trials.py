"""A plugin of pytest that tries changes instead of running the tests: each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from tools.mutants.changes import Change, apply
from tools.mutants.reach import FOLDER, UNFIT, Reach

NOTICED, UNNOTICED, UNREACHED = "noticed", "UNNOTICED", "REACHED BY NO TEST"
PASSED, FAILED, STUCK, BROKEN = "passed", "failed", "stuck", "broken"

PATIENCE = 10
"""Seconds, and ten times those recorded, after which a test is stuck: a change may make a loop endless."""


class Trials:
    """Tries each change when all tests are collected; `found` has the changes by what the tests said.

    `unfit` are the tests that fail or wait forever in a forked process also without a change, as those do that use
    a library whose threads were started before: nothing is learned from them.
    """

    def __init__(self, drawn: list[Change], reach: Reach, workers: int) -> None:
        self.drawn, self.reach, self.workers = drawn, reach, workers
        self.found: dict[str, list[Change]] = {NOTICED: [], UNNOTICED: [], UNREACHED: []}
        self.unfit = set(json.loads(UNFIT.read_text())) if UNFIT.exists() else set[str]()
        self.fit: set[str] = set()
        self.items: dict[str, pytest.Item] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all changes."""
        self.items = {item.nodeid: item for item in session.items}
        for done, (change, said) in enumerate(self.tried(), 1):
            self.found[said].append(change)
            print(f"{done}/{len(self.drawn)} {said}: {change}", flush=True)
        return True

    def tried(self) -> Iterator[tuple[Change, str]]:
        """Yield each change with what the tests say of it, in the order in which they end."""
        waiting, running = self.drawn[::-1], dict[int, Change]()
        while waiting or running:
            if waiting and len(running) < self.workers:
                change = waiting.pop()
                tests = self.tests(change)
                if tests:
                    running[self.start(tests, change)] = change
                else:
                    yield change, UNREACHED
            else:
                process, _ = os.wait()
                change = running.pop(process)
                said, test = outcome(process)
                if said == PASSED:
                    yield change, UNNOTICED
                elif self.is_fit(test):
                    yield change, NOTICED
                else:
                    waiting.append(change)

    def tests(self, change: Change) -> list[str]:
        """Return the tests that reach a change, one file after the other, each in its order."""
        place = {name: number for number, name in enumerate(self.items) if name not in self.unfit}
        files = self.reach.tests(change.path, change.lines()).values()
        return [one for some in files for one in sorted(some & place.keys(), key=place.__getitem__)]

    def is_fit(self, test: str) -> bool:
        """Whether a test passes without any change."""
        if test not in self.fit | self.unfit:
            process = self.start([test], None)
            os.waitpid(process, 0)
            said, _ = outcome(process)
            (self.fit if said == PASSED else self.unfit).add(test)
            if said != PASSED:
                UNFIT.write_text(json.dumps(sorted(self.unfit)))
                print(f"{said} without any change: {test}", flush=True)
        return test in self.fit

    def start(self, tests: list[str], change: Change | None) -> int:
        """Run tests in a process of their own, with a change or without, until one fails."""
        process = os.fork()
        if process:
            return process
        try:
            _run([self.items[one] for one in tests], change, [self.reach.seconds(one) for one in tests])
        except BaseException:
            _end(BROKEN, traceback.format_exc())
        os._exit(0)


def _run(tests: list[pytest.Item], change: Change | None, seconds: list[float]) -> None:
    """Apply a change and run tests until one fails."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if change is not None:
        apply(change)
    for test, following, usual in zip(tests, [*tests[1:], None], seconds, strict=True):
        _file(os.getpid()).write_text(json.dumps([STUCK, test.nodeid]))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends this process, whatever it waits for
        signal.alarm(int(PATIENCE + 10 * usual))
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        if test.session.testsfailed:
            _end(FAILED, test.nodeid)
    _end(PASSED, "")


def _end(said: str, test: str) -> None:
    """End this process with a word on a test."""
    _file(os.getpid()).write_text(json.dumps([said, test]))
    os._exit(0)


def _file(process: int) -> Any:
    return FOLDER / str(process)


def outcome(process: int) -> tuple[str, str]:
    """Return how the tests of a process ended, and which was the last; where the process crashed, that one is stuck."""
    said, test = json.loads(_file(process).read_text())
    _file(process).unlink()
    if said == BROKEN:
        raise SystemExit(f"a change could not be tried:\n{test}")
    return said, test
