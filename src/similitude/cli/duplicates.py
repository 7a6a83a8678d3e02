"""`similitude duplicates`: groups of rows that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.inputs import SimilarityOptions
from similitude.cli.options import MaybeLabel
from similitude.cli.output import Computation, Terminal
from similitude.support import brief, number_of

if TYPE_CHECKING:
    import numpy as np

Threshold = Annotated[
    float, typer.Option("--threshold", metavar="NUMBER", help="Rows at least this similar are duplicates.")
]


@dataclass
class DuplicateOptions(SimilarityOptions):
    """A file and a similarity; labels are not needed."""

    label: MaybeLabel = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `read`: rows without a label are rows like others."""
        return {**super().arguments(), "unlabeled": "keep"}


def duplicates(given: DuplicateOptions, threshold: Threshold = 0.9, *, run: Computation) -> None:
    """Find groups of rows that are linked by similarities of at least a threshold."""
    with run.working("starting"):
        from similitude.compute import as_objects
        from similitude.learners import SimilarityIndex

    data, text, k = given.read_both(run)
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
    run.result(document, lambda terminal: _show(terminal, groups, as_objects(data.objects)))


def _show(terminal: Terminal, groups: list[np.ndarray], objects: list[Any]) -> None:
    rows = sum(len(group) for group in groups)
    terminal.say(f"{number_of(len(groups), 'group')} of duplicates with {rows:,} of {len(objects):,} rows")
    for group in groups:
        terminal.say("\n".join(f"  row {row}: {brief(objects[row])}" for row in group.tolist()))
        terminal.say("")
