"""Marks the tests that `make quick` runs, and holds a fixture for the tests of reports."""

import pytest
import quick_tests


def pytest_collection_modifyitems(items):
    """Mark the tests that are listed in ``quick_tests.py``."""
    quick = quick_tests.listed()
    for item in items:
        if (item.path.name, getattr(item, "originalname", None)) in quick:
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="module")
def few_trees():
    """Reports compare with boosting of ten trees, not a hundred, which would take half of their time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("similitude.report.findings.baselines.MAX_TREES", 10)
        yield
