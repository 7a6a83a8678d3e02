"""How long imports take in new processes."""

from __future__ import annotations

from benchmarks.gates import at_most, seconds
from benchmarks.nouns import Check, Data, Dataset, Task


def check(data: Data, result: str, truth: None) -> Check:
    """Name what was imported."""
    return Check(0.0, result, True)


TASK = Task(
    name="import_time",
    computes="an import in a new process",
    operation="importing",
    datasets=lambda settings: [Dataset("new process", lambda rng: {})],
    check=check,
    gates=(seconds(0.3), at_most(1.1, "scikit-learn", of="ours (estimator)")),
    threads=(1,),
    in_child=False,
)
