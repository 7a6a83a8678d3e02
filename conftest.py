"""What every test run shares: threads, how hard hypothesis tries, and which modules have nothing to import."""

import importlib
import os
import signal

# Matrices of tests are small: threads of BLAS and torch would but wait for each other, for long on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

from similitude.compute.loops import COMPILED

settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A run in the background of a shell is told to ignore Ctrl-C, and would tell the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def lacks(package):
    """Tell whether an optional package cannot be imported here."""
    try:
        importlib.import_module(package)
    except ImportError:
        return True
    return False


collect_ignore_glob = [] if COMPILED else ["src/similitude/compute/loops/compiled*.py"]
if lacks("torch"):
    collect_ignore_glob += [
        f"src/similitude/compute/engines/torch/{one}.py" for one in ("fused", "transfer", "products", "solver")
    ]
if lacks("triton"):
    collect_ignore_glob += ["src/similitude/compute/engines/torch/kernels.py"]
