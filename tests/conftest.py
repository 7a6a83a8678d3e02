"""Marks the tests that `make quick` runs, and holds fixtures that save time."""

import os

import numpy as np
import pytest
import quick_tests

from similitude import estimators


def pytest_collection_modifyitems(items):
    """Mark the tests that are listed in ``quick_tests.py``."""
    quick = quick_tests.listed()
    for item in items:
        if (item.path.name, getattr(item, "originalname", None)) in quick:
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks():
    """Files that are saved need not survive a failure of power here, and each would wait for the disk twice."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module")
def quick_reports():
    """Reports compare with boosting of two trees, not a hundred, repeat the folds of few examples twice, not five
    times, choose among four weights, not twelve, and draw 100 samples for an interval, not 500: these would take
    most of their time.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("similitude.report.findings.baselines.MAX_TREES", 2)
        patched.setattr("similitude.report.findings.held_out.REPEATS", 2)
        patched.setattr("similitude.goodness.weighted.NUS", (0.0, 0.2))
        patched.setattr("similitude.goodness.weighted.GAMMAS", (0.25, 1.0))
        patched.setattr("similitude.goodness.resampling.BOOTSTRAP_REPLICATES", 100)
        yield


@pytest.fixture
def without_evaluation():
    """Fits estimate no error on new rows, which takes most of their time: for tests of something else."""
    with estimators.without_evaluation():
        yield


@pytest.fixture
def unlearned(monkeypatch):
    """The automatic choice compares kernels as they are, and learns no metric: for tests of something else."""
    monkeypatch.setattr("similitude.kernel_learning.auto.UNPREDICTABLE", 0.0)
    monkeypatch.setattr("similitude.kernel_learning.auto.MOST_RANKED", 0)


@pytest.fixture
def few_penalties(monkeypatch):
    """Losses that are minimized step by step choose among three penalties, not ten, of which the smallest take long."""
    monkeypatch.setattr("similitude.linear.penalty_choice.PENALTIES", np.array([1e-3, np.nan, 0.1, np.nan, 10.0]))
