"""Settings of every test run: threads, workers, hypothesis profiles, and modules that cannot be imported here."""

import gc
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# Matrices of tests are small: threads of BLAS and torch would only wait for each other. Set before NumPy is imported,
# and inherited by the workers of pytest-xdist and by the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")


settings.register_profile("default", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Nothing is garbage while tests are collected, and what was collected stays: looking through it takes seconds.
gc.disable()

# A shell starts a background job with Ctrl-C ignored, and the programs that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return the number of workers for ``-n auto``: one per core that this process may use, eight at most."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)


def pytest_collection_modifyitems(items):
    """Mark the examples of README, which cannot carry a marker themselves."""
    for item in items:
        if item.path.name == "README.md":
            item.add_marker("quick")


def pytest_collection_finish():
    """Collect garbage again, of what tests make alone."""
    gc.freeze()
    gc.enable()


RNG_STATES = {}


def pytest_runtest_setup(item):
    """Start every test with the module's generator `rng` as it was after import, whichever tests ran before it."""
    rng = getattr(getattr(item, "module", None), "rng", None)
    if hasattr(rng, "bit_generator"):
        rng.bit_generator.state = RNG_STATES.setdefault(item.module.__name__, rng.bit_generator.state)


collect_ignore_glob = ["tests/conftest.py"]  # holds no examples, and docs/ has a module of that name
ROOT = Path(__file__).parent
for library in ("torch", "triton"):  # modules that cannot be imported without it hold examples too
    if not find_spec(library):
        found = [
            path for path in ROOT.glob("src/**/*.py") if f"\nimport {library}\n" in path.read_text(encoding="utf-8")
        ]
        collect_ignore_glob += [str(path.relative_to(ROOT)) for path in found]
