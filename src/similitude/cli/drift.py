"""`similitude drift`: whether the rows of a new file have the distribution of those of an old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from similitude.cli.errors import UsageError
from similitude.cli.inputs import AUTO_TEXT, SimilarityOptions, kind_of_data, parsed
from similitude.cli.options import FILE, MaybeLabel, Seed
from similitude.cli.output import Computation, Terminal
from similitude.support import number_of

Old = Annotated[str, typer.Argument(metavar="OLD", help=FILE, show_default=False)]
New = Annotated[str, typer.Argument(metavar="NEW", help="A file with the same columns.", show_default=False)]
Batch = Annotated[
    int | None,
    typer.Option("--batch", min=2, metavar="NUMBER", help="Compare each this many consecutive new rows by themselves."),
]
Level = Annotated[float, typer.Option("--level", metavar="NUMBER", help="The probability of a false alarm, at most.")]


@dataclass
class DriftOptions(SimilarityOptions):
    """A file of old rows and a similarity; labels are not needed."""

    file: Old
    label: MaybeLabel = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `read`: rows without a label are rows like others."""
        return {**super().arguments(), "unlabeled": "keep"}


def drift(
    given: DriftOptions,
    new: New,
    batch: Batch = None,
    level: Level = 0.05,
    seed: Seed = 0,
    *,
    run: Computation,
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
    k = None if text == AUTO_TEXT else parsed(text, given.trust)
    old = given.read(run, [] if k is None else [k])
    with run.working(f"reading {new}"):
        later = files.read(new, schema=old.schema)
    run.note(*later.notes)
    with run.computing(f"comparing {len(later):,} new rows with {len(old):,} old ones"):
        kernel = Auto(kind_of_data(old)) if k is None else k
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
