"""A fit to a source stays within its memory budget and 200 MiB for the program itself, however many rows there are."""

import json
import subprocess
import sys
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


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
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
