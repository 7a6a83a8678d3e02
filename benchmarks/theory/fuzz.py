"""Search for distributions on which a guarantee is wrong: ``python -m benchmarks.theory.fuzz --problems 10000``.

Every class with a ``guarantee_`` is fitted to draws from random finite distributions: unbalanced, of many classes, with
copies, asymmetric, out of range. Where the premises of a guarantee are true of the distribution, its statement is
compared with the truth. A statement that follows from the sample may never be wrong; one with probability 1 - delta may
fail at that rate; the bound of a mean is compared with a mean.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.theory.promises import TRIALS, Check

DOUBT = 1e-4
"""Counts of failures less likely than this contradict a probability."""


@dataclass
class Tally:
    """The checks of one class."""

    problems: int = 0
    checks: list[Check] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Return what contradicts the guarantees."""
        from scipy.stats import binomtest

        found = [one.detail for one in self.checks if not one.holds and one.delta == 0]
        for delta in {one.delta for one in self.checks if one.delta > 0}:
            outcomes = [one.holds for one in self.checks if one.delta == delta]
            failures = outcomes.count(False)
            if binomtest(failures, len(outcomes), delta, alternative="greater").pvalue < DOUBT:
                found.append(f"{failures} of {len(outcomes)} fail, at most a share {delta:g} may")
        ratios = np.array([one.ratio for one in self.checks if one.ratio is not None])
        if len(ratios) > 1 and ratios.mean() - 1 > 3.72 * ratios.std(ddof=1) / math.sqrt(len(ratios)):
            found.append(f"a bound on a mean is exceeded {ratios.mean():.3g} times")
        return found


def fuzz(problems: int, seed: int = 0, only: str = "") -> dict[str, Tally]:
    """Try so many problems, in turn for each class, and return the checks of each class."""
    named = {name: trial for name, trial in TRIALS.items() if only in name}
    tallies = {name: Tally() for name in named}
    with threadpool_limits(1):
        for number in range(problems):
            name = list(named)[number % len(named)]
            tallies[name].problems += 1
            tallies[name].checks += named[name](np.random.default_rng([seed, number]))
    return tallies


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each class, and what was found wrong; return 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theory.fuzz", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="TEXT", help="classes whose name contains this")
    given = parser.parse_args(arguments)
    start, wrong = time.perf_counter(), 0
    for name, tally in fuzz(given.problems, given.seed, given.only).items():
        failures, faults = sum(not one.holds for one in tally.checks), tally.faults()
        wrong += bool(faults)
        print(
            f"{name:34} {tally.problems:6,} problems {len(tally.checks):6,} checks {failures:4} fail",
            *faults[:3],
            sep="\n  ",
        )
    print(f"{given.problems:,} problems in {time.perf_counter() - start:.0f} s: {wrong} classes promise too much")
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
