"""A fit to a source stays within its memory budget and 200 MiB for the program itself, however many rows there are."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

KINDS = ("map", "part of a map", "columns first", "shards", "arrow", "arrow file", "csv", "lazy", "function")


def peak_of(kind, rows, budget):
    """Return the peak of memory of a fit in a process of its own, in MiB."""
    program = Path(__file__).with_name("stream_memory.py")
    given = [sys.executable, program, kind, str(rows), str(budget)]
    done = subprocess.run(given, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["peak"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")
@pytest.mark.parametrize(
    ("kind", "rows", "budget"),
    [
        ("parquet", 500_000, 128),
        pytest.param("parquet", 8_000_000, 256, marks=pytest.mark.deep),
        pytest.param("long strings", 30_000, 1024, marks=pytest.mark.deep),
        *(pytest.param(kind, 2_000_000, 128, marks=pytest.mark.deep) for kind in KINDS),
    ],
)
def test_memory_is_bounded_by_the_budget(kind, rows, budget):
    assert peak_of(kind, rows, budget) < budget + 200


BUDGET = """
    import sys
    import numpy as np
    from similitude import SimilarityClassifier
    from similitude.engines import LocalEngine
    from similitude.kernels import Gaussian

    def peak():
        return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1024

    n, m, loss = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    X = np.random.default_rng(0).standard_normal((n, 10))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    SimilarityClassifier(Gaussian(sigma=3.0), n_landmarks=10).fit(X[:500], y[:500])
    before, refused = peak(), False
    try:
        engine = LocalEngine(threads=1, memory="100MiB")
        SimilarityClassifier(Gaussian(sigma=3.0), n_landmarks=m, loss=loss, engine=engine).fit(X, y)
    except MemoryError:
        refused = True
    print(peak() - before, refused)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")
@pytest.mark.parametrize(
    ("n", "m", "loss", "refused"),
    [
        (12_000, 500, "logistic", True),
        pytest.param(3_000, 1_400, "squared", True, marks=pytest.mark.deep),
        pytest.param(3_000, 1_000, "squared", False, marks=pytest.mark.deep),
        pytest.param(12_000, 400, "logistic", False, marks=pytest.mark.deep),
    ],
)
@pytest.mark.deep
def test_a_classifier_stays_within_its_budget_or_says_so(n, m, loss, refused):
    program = [sys.executable, "-c", textwrap.dedent(BUDGET), str(n), str(m), loss]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    grown, found = done.stdout.split()
    assert (float(grown) < 100, found) == (True, str(refused))
