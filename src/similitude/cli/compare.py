"""``similitude compare``: which similarity is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import similitude
from similitude.cli.errors import UsageError
from similitude.cli.inputs import FileOptions, labels_of, parsed, task_of
from similitude.cli.options import Learn, MaxCalls, Seed, SimilarityTexts, TaskName, Trust
from similitude.cli.output import Computation, Terminal

if TYPE_CHECKING:
    from similitude.selection import Selection
    from similitude.support import Estimate


def compare(
    given: FileOptions,
    similarity: SimilarityTexts,
    trust: Trust = False,
    task: TaskName = None,
    learn: Learn = False,
    max_calls: MaxCalls = None,
    seed: Seed = 0,
    *,
    run: Computation,
) -> None:
    """Rank similarities by cross-validated error, with intervals for how much worse each is than the best."""
    if len(set(similarity)) < max(1 if learn else 2, len(similarity)):
        raise UsageError("compare needs at least two different similarities: give --similarity more than once")
    candidates = {text: parsed(text, trust) for text in similarity}
    data = given.read(run, list(candidates.values()))
    chosen_task, y = task_of(run, data, task), labels_of(data)
    with run.computing(f"comparing {len(candidates)} similarities on {len(y):,} rows"):
        selection = similitude.choose_kernel(
            candidates, data.objects, y, task=chosen_task, learn=learn, max_calls=max_calls, random_state=seed
        )
    document = {"command": "compare", **selection.to_dict(), "best": selection.table[0].candidate}
    run.result(document, lambda terminal: _show(terminal, selection))


def _show(terminal: Terminal, selection: Selection) -> None:
    classes = selection.task == "classification"
    landmarks = f"{len(selection.landmark_indices):,} landmarks"
    terminal.say(f"{selection.task}: {selection.folds}, {selection.n_examples:,} rows, {landmarks}", "bold")
    error = "error" if classes else "squared error"
    columns = {"": "left", "similarity": "fold", error: "left", "worse by": "left", "features": "left"}
    rows = []
    for i, row in enumerate(selection.table):
        worse = _range(row.difference, classes) if i else ""
        mark = "*" if row.as_good else ""
        rows.append((mark, row.candidate, _range(row.error, classes), worse, row.representation.name))
    terminal.table(columns, rows, style_first="bold")
    terminal.say("* not shown to be worse than the best; the intervals (95 %) hold simultaneously.")
    terminal.say(f"{selection.on_new_rows()}.", "bold")
    terminal.say("For that line the choice was made again without the rows that judge it.")


def _range(estimate: Estimate, share: bool) -> str:
    if share:
        return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{estimate.value:.4g} [{estimate.low:.3g}, {estimate.high:.3g}]"
