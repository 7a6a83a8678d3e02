"""Look for input that the readers of files, the expression language or `load` do not survive.

    python tools/fuzz.py                        # every target, 90 seconds each
    python tools/fuzz.py --seconds 20 load csv  # some of them

A crash, a call of more than 5 seconds, an error of another class than the documented one, or more than 1 GiB of memory
is a failure: the input is kept in ``build/fuzz/failures``, and belongs into ``tests/corpus`` once it is dealt with.
Inputs that reach new code are kept in ``build/fuzz`` for the next run. Needs atheris (pip install atheris).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import pkgutil
import random
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

ROOT = Path(__file__).parent.parent
CORPUS, FOUND = ROOT / "tests" / "corpus", ROOT / "build" / "fuzz"
LONGEST_CALL, MOST_MEMORY, LARGEST_INPUT = 5, 1024, 8192
INSTRUMENTED = r"similitude\.(?!persistence\.user_code)"
"""Modules of whose code new parts are looked for; one function there has a fingerprint."""

ROOMS = ("support", "compute", "data", "kernels", "similarity", "persistence")


def main() -> int:
    """Fuzz each target in a process of its own; return the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=90, help="for each target")
    asked = parser.parse_args()
    names = asked.targets or sorted(one.name for one in CORPUS.iterdir() if one.is_dir())
    (FOUND / "failures").mkdir(parents=True, exist_ok=True)
    failed = [name for name in names if not fuzzed(name, asked.seconds)]
    if failed:
        print(f"failed: {', '.join(failed)}; see {FOUND / 'failures'}")
    return len(failed)


def fuzzed(name: str, seconds: int) -> bool:
    """Fuzz one target, and print one line; return whether it survived."""
    (FOUND / name).mkdir(exist_ok=True)
    limits = [f"-timeout={LONGEST_CALL}", f"-rss_limit_mb={MOST_MEMORY}", f"-max_len={LARGEST_INPUT}"]
    how = [f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={FOUND}/failures/{name}-"]
    command = [sys.executable, __file__, "--worker", name, *limits, *how, str(FOUND / name), str(CORPUS / name)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=ROOT, env=environment)
    stats = dict(re.findall(r"stat::(\w+):\s*(\d+)", done.stderr))
    executed = int(stats.get("number_of_executed_units", 0))
    print(f"{name:12s} {executed:9,} calls, {int(stats.get('peak_rss_mb', 0)):5,} MiB at most", flush=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-1500:], flush=True)
    return done.returncode == 0


def work(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process."""
    import atheris

    sys.path.insert(0, str(ROOT / "tests"))
    for room in ROOMS:
        package = importlib.import_module(f"similitude.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"\.(torch|dask|_compiled)", module.name):
                importlib.import_module(module.name)
    targets = importlib.import_module("fuzz_targets")
    for function in gc.get_objects():  # a package installed in place has a loader that atheris does not instrument
        if isinstance(function, FunctionType) and re.match(INSTRUMENTED, str(function.__module__)):
            atheris.instrument_func(function)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        """Change the nodes of a model rather than its bytes, most of the time."""
        draw = random.Random(seed)
        changed = targets.mutated(data, draw, most) if draw.random() < 0.9 else None
        return changed if changed is not None else atheris.Mutate(data, most)

    options = {"custom_mutator": mutate} if name == "load" else {}
    atheris.Setup([sys.argv[0], *arguments], lambda data: targets.run(name, data), **options)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(min(1, main()))
