"""Marks the tests that `make quick` runs."""

import pytest
import quick_tests


def pytest_collection_modifyitems(items):
    """Mark the tests that are listed in ``quick_tests.py``."""
    quick = quick_tests.listed()
    for item in items:
        if (item.path.name, getattr(item, "originalname", None)) in quick:
            item.add_marker(pytest.mark.quick)
