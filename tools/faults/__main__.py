"""Run all faults: ``python -m tools.faults [--seed 0] [--share 1.0]``; a share below 1 is a short form."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tools.faults import interrupts, kills, shortages


def in_a_process(module: str, *arguments: Any) -> Any:
    """Run a module of this folder in a process of its own, and return what it printed last."""
    program = [sys.executable, "-m", f"tools.faults.{module}", *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise AssertionError(f"{module} {arguments}: {done.stderr.strip()[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def faults(seed: int, share: float) -> dict[str, Callable[[], Any]]:
    """Return every fault by name."""
    rng = np.random.default_rng(seed)

    def some(n: int) -> int:
        return max(2, int(n * share))

    found: dict[str, Callable[[], Any]] = {
        "kill -9 of fits with a checkpoint": lambda: kills.of_checkpointed_fits(rng, some(80)),
        "kill -9 of saving": lambda: kills.of_saving(rng, some(60)),
        "kill -9 of caches": lambda: kills.of_caches(rng, some(40)),
        "kill -9 of Dask workers": lambda: in_a_process("kills", seed, some(20)),
        "full disks": lambda: shortages.of_disks(rng, share),
        "clocks that jump": lambda: shortages.of_clocks(rng, share),
        "too little memory": lambda: in_a_process("shortages", seed, share),
        "SIGTERM": lambda: interrupts.of_terminations(rng, some(5)),
    }
    for engine in interrupts.ENGINES:
        found[f"Ctrl-C on {engine}"] = lambda engine=engine: json.loads(
            in_a_process("interrupts", engine, some(100), seed)
        )
    return found


def main() -> int:
    """Run the faults that were asked for, print how each ended, and return the number that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", default="", help="part of the name of a fault")
    asked = parser.parse_args()
    failed = 0
    for name, fault in faults(asked.seed, asked.share).items():
        if asked.only not in name:
            continue
        began = time.monotonic()
        try:
            ending = str(fault())
        except (AssertionError, subprocess.SubprocessError) as error:
            failed += 1
            ending = f"FAILED: {error}"
        print(f"{name} ({time.monotonic() - began:.0f} s): {ending}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
