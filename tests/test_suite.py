"""The test suite itself: every quick test exists, and a worker keeps to one thread."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import quick_tests
import threadpoolctl

TESTS = Path(__file__).parent


@pytest.mark.parametrize(("file", "name"), sorted(quick_tests.listed()))
def test_every_quick_test_exists(file, name):
    assert re.search(rf"^ *def {name}\(", (TESTS / file).read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_a_worker_keeps_to_the_threads_of_its_environment():
    np.eye(2) @ np.eye(2)
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            assert library["num_threads"] == int(os.environ["OMP_NUM_THREADS"])
