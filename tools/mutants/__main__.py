"""Change the source in random places, one at a time, and count the changes that some test notices.

    python -m tools.mutants [--number 100] [--seed 0] [--modules theory "linear/moments*" ...] [--workers 2] [--fresh]

A change is drawn at random from the bodies of functions: a comparison, an operator or a number becomes another one, a
condition its opposite, "and" becomes "or", a returned value becomes None. All tests run once without any change, to see
which of them reach which line (again with ``--fresh``, and when the source or a test is newer). Then the tests are
collected, and each change is made in a process that is forked from there and runs the tests that reach it until one
fails, which must pass without the change. Printed are the share of changes that a test noticed, and those that none
did: each is a missing test, or a change that means nothing. What tests start in new processes is not changed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path

import pytest
from tools.mutants.changes import Change, changes
from tools.mutants.reach import FOLDER, ROOMS, SECONDS, Reach, record
from tools.mutants.trials import NOTICED, Trials

PACKAGE = Path("src/similitude")


def is_recorded() -> bool:
    """Whether all tests were recorded after the last change of the source and the tests."""
    files = [*Path("src").rglob("*.py"), *Path("tests").rglob("*.py")]
    return SECONDS.exists() and SECONDS.stat().st_mtime > max(file.stat().st_mtime for file in files)


def possible(patterns: list[str]) -> list[Change]:
    """Return all changes of modules in some rooms, or whose path in the package is like a pattern."""
    paths = {path for one in patterns for path in PACKAGE.glob(f"{one}/**/*.py" if one in ROOMS else one)}
    return [one for path in sorted(paths) for one in changes(path)]


def main() -> None:
    """Draw changes, run the tests with each, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="*", default=ROOMS, help="rooms, or patterns of paths")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="run all tests again to see what they reach")
    given = parser.parse_args()
    if given.fresh or not is_recorded():
        record(given.workers)
    everything = possible(given.modules)
    drawn = random.Random(given.seed).sample(everything, min(given.number, len(everything)))
    trials, begun = Trials(drawn, Reach(), given.workers), time.monotonic()
    if pytest.main(["-n", "0", "-s", "-p", "no:terminal", "-p", "no:cacheprovider"], plugins=[trials]):
        raise SystemExit("the tests could not be collected")
    found = trials.found
    counts = ", ".join(f"{len(some)} {said}" for said, some in found.items() if some)
    print(f"{counts}; {time.monotonic() - begun:.0f} s")
    share = 100 * len(found[NOTICED]) / max(len(drawn), 1)
    print(f"{share:.0f} % of {len(drawn)} changes were noticed, of {len(everything):,} possible ones")
    for said, some in found.items():
        for change in sorted(map(str, some)) if said != NOTICED else []:
            print(f"  look at ({said}): {change}")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    sys.exit(main())
