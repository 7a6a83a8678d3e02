"""`similitude duplicates` and `similitude drift`: rows that are alike, and rows unlike those before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from similitude.cli.errors import UsageError
from similitude.cli.inputs import AUTO_TEXT, DataOptions, kind_of_data, parsed
from similitude.cli.output import Computation, Terminal
from similitude.support import brief, number_of

if TYPE_CHECKING:
    import numpy as np


def duplicates(given: DataOptions, threshold: float = 0.9, *, run: Computation) -> None:
    """Find groups of rows that are linked by similarities of at least a threshold."""
    with run.working("starting"):
        from similitude.compute import as_objects
        from similitude.learners import SimilarityIndex

    data, text, k = given.read_both(run, unlabeled="keep")
    with run.computing(f"comparing {len(data):,} rows"):
        index = SimilarityIndex(k, method="exact").fit(data.objects)
        groups = index.duplicates(threshold)
    document = {
        "command": "duplicates",
        "similarity": text,
        "threshold": threshold,
        "rows": len(data),
        "groups": [group.tolist() for group in groups],
        "pairs_evaluated": index.n_evaluated_,
    }
    run.result(document, lambda terminal: _show_groups(terminal, groups, as_objects(data.objects)))


def _show_groups(terminal: Terminal, groups: list[np.ndarray], objects: list[Any]) -> None:
    rows = sum(len(group) for group in groups)
    terminal.say(f"{number_of(len(groups), 'group')} of duplicates with {rows:,} of {len(objects):,} rows")
    for group in groups:
        terminal.say("\n".join(f"  row {row}: {brief(objects[row])}" for row in group.tolist()))
        terminal.say("")


def drift(
    given: DataOptions, new: str, batch: int | None = None, level: float = 0.05, seed: int = 0, *, run: Computation
) -> None:
    """Test whether new rows have the distribution of old ones, and show the rows that differ most.

    The exit code is 0 whether they do or not.
    """
    with run.working("starting"):
        from similitude.data import files
        from similitude.hypotheses import drift_test
        from similitude.similarity import Auto

    if not 0 < level < 1:
        raise UsageError(f"--level must be strictly between 0 and 1, got {level:g}")
    text = given.similarity or AUTO_TEXT
    known = [parsed(text, given.trust)] if text != AUTO_TEXT else []
    old = given.read(run, known, unlabeled="keep")
    with run.working(f"reading {new}"):
        later = files.read(new, schema=old.schema)
    run.note(*later.notes)
    with run.computing(f"comparing {len(later):,} new rows with {len(old):,} old ones"):
        (kernel,) = known or [Auto(kind_of_data(old))]
        found = drift_test(kernel, old.objects, later.objects, batches=batch, level=level, random_state=seed)
    document = {
        "command": "drift",
        "similarity": text,
        "old_rows": len(old),
        "new_rows": len(later),
        "drifted": found.rejected,
        "drifted_batches": list(found.drifted),
        "result": found.to_dict(),
    }

    def show(terminal: Terminal) -> None:
        differ = "differ" if found.rejected else "are not shown to differ"
        rows = f"{number_of(len(later), 'new row')} and {number_of(len(old), 'old row')}"
        terminal.say(f"{rows} {differ}: p = {found.p_value:.4g}, level {level:g}", "bold")
        if batch is not None:
            named = ", ".join(f"{i} (rows {i * batch} on)" for i in found.drifted) or "none"
            terminal.say(f"Batches of {batch} new rows that differ, of {len(found.batches)}: {named}")
        for name, sample in (("old", "reference"), ("new", "new")):
            telling = [one for one in found.telling if one.sample == sample and one.p_value <= level]
            for one in telling:
                terminal.say(f"  {name} row {one.position}: {one.shown}, p = {one.p_value:.4g}")
        for note in found.notes:
            terminal.say(f"note: {note}", "dim")

    run.result(document, show)
