"""Change the theory and see who notices: ``python -m benchmarks.theory --mutate``.

Every mutant must turn a row of the table to NO. Rows are tried in the order of this module, those that take
milliseconds first, and of these only the ones that call the changed function.
"""

from __future__ import annotations

import time
import types
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.theory import by_hand, derived, guarantees, guarantees_of_landmarks, tightness
from benchmarks.theory.experiments import ALL
from benchmarks.theory.mutants import Mutant, all_mutants, calls
from benchmarks.theory.nouns import Experiment

EXACT = (
    *tightness.EXPERIMENTS,
    *derived.EXPERIMENTS,
    *by_hand.EXPERIMENTS,
    *guarantees.EXPERIMENTS,
    *guarantees_of_landmarks.EXPERIMENTS,
)
"""Rows without chance, or nearly so: hard problems on which bounds are tight before values that are derived."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: the row that says NO (None: all say yes), whether it failed instead, or why none can."""

    mutant: Mutant
    noticed_by: str | None
    failed: bool = False
    equivalent: str | None = None

    @property
    def survives(self) -> bool:
        """Tell whether it should have been noticed and was not."""
        return self.noticed_by is None and self.equivalent is None


class Rows:
    """Experiments in short form, and which functions each of them calls; found out when first needed."""

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        self.experiments = experiments
        self._called: dict[str, set[types.CodeType]] = {}

    def calling(self, code: types.CodeType) -> Iterator[Experiment]:
        """Yield the experiments that run this code."""
        for one in self.experiments:
            if one.name not in self._called:
                finding, self._called[one.name] = calls(lambda: one.run(short=True))  # noqa: B023
                if not finding.holds:
                    raise RuntimeError(f"the row {one.name} says NO without any mutant: {finding.measured}")
            if code in self._called[one.name]:
                yield one


def verdict(experiment: Experiment, mutant: Mutant) -> str:
    """Return what a row says with a mutant in place: yes, NO, or that it cannot be computed."""
    with mutant.applied(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return "yes" if experiment.run(short=True).holds else "NO"
        except Exception as error:
            return type(error).__name__


def outcomes(mutants: Sequence[Mutant], experiments: Sequence[Experiment] | None = None) -> Iterator[Outcome]:
    """Yield what becomes of each mutant."""
    if experiments is None:
        others = [one for one in ALL if one.short is not None and one not in EXACT]
        experiments = (*EXACT, *others)
    rows = Rows(experiments)
    for one in mutants:
        tried = EXACT if one.why_equivalent else experiments  # that nothing notices it is checked, not believed
        said = ((row.name, verdict(row, one)) for row in rows.calling(one.original.__code__) if row in tried)
        name, word = next(((name, word) for name, word in said if word != "yes"), (None, "yes"))
        yield Outcome(one, name, word not in ("yes", "NO"), None if name else one.why_equivalent)


def report(details: bool = True) -> int:
    """Try all mutants, print who noticed, and return 1 if some survive."""
    start, found = time.perf_counter(), []
    for one in outcomes(all_mutants()):
        found.append(one)
        if details:
            fate = one.noticed_by or (f"equivalent: {one.equivalent}" if one.equivalent else "SURVIVES")
            print(f"{one.mutant.name}: {fate}", flush=True)
    noticed = Counter(one.noticed_by for one in found if one.noticed_by)
    print("\n| row | mutants noticed |\n| --- | --- |")
    print("\n".join(f"| {name} | {count} |" for name, count in noticed.most_common()))
    survivors = [one for one in found if one.survives]
    equivalent = sum(one.equivalent is not None for one in found)
    print(
        f"\n{len(found)} mutants in {time.perf_counter() - start:.0f} s: {noticed.total()} noticed "
        f"({sum(one.failed for one in found)} of them by an error), {equivalent} equivalent, {len(survivors)} survive"
    )
    return 1 if survivors else 0
