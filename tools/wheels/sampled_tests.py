"""Run a sample of the tests, where a processor is emulated: ``PYTHONPATH=tools/wheels pytest -p sampled_tests``.

A test is kept if it is the first with some value of one of its parameters: every test function is there, with every
loop, kernel and instruction set that it takes. What is left out are further combinations of these.
"""

from __future__ import annotations

from typing import Any

import pytest

_SIZE = pytest.StashKey[str]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the first test with each value of each parameter, of those that markers leave."""
    seen: set[tuple[str, ...]] = set()
    kept, left_out = [], []
    for item in items:
        new = _values(item) - seen
        (kept if new else left_out).append(item)
        seen |= new
    config.hook.pytest_deselected(items=left_out)
    config.stash[_SIZE] = f"a sample of {len(kept):,} of {len(items):,} tests"
    items[:] = kept


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Say how many tests the sample has."""
    terminalreporter.write_line(config.stash[_SIZE])


def _values(item: Any) -> set[tuple[str, ...]]:
    """Return the test function, alone and with each of its parameters."""
    function = item.nodeid.partition("[")[0]
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return {(function,), *((function, name, repr(value)) for name, value in parameters.items())}
