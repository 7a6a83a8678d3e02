"""What every test run shares: how hard hypothesis tries, and which modules have nothing to import."""

import importlib
import os

from hypothesis import settings

from similitude.loops import COMPILED

settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def lacks(package):
    """Tell whether an optional package cannot be imported here."""
    try:
        importlib.import_module(package)
    except ImportError:
        return True
    return False


collect_ignore_glob = [] if COMPILED else ["src/similitude/loops/compiled*.py"]
if lacks("torch"):
    collect_ignore_glob += [
        f"src/similitude/engines/torch_{one}.py" for one in ("loops", "moves", "products", "solver")
    ]
if lacks("triton"):
    collect_ignore_glob += ["src/similitude/engines/torch_kernels.py"]
