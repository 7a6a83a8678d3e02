"""``similitude compare``: which similarity is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from similitude.cli.options import (
    AsJson,
    Engine,
    File,
    KindOfObject,
    Label,
    Object,
    Seed,
    Similarities,
    TaskOption,
    Trust,
    engine_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from similitude.selection.tables import Selection
    from similitude.support.results import Estimate

EXAMPLE = "Example: similitude compare genes.csv --label class --similarity 'spectrum(p=4)' --similarity edit"


def compare(
    file: File,
    similarity: Similarities,
    label: Label = None,
    object: Object = None,
    kind: KindOfObject = None,
    task: TaskOption = None,
    trust: Trust = False,
    seed: Seed = 0,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Rank similarities by cross-validated error, with intervals for how much worse each is than the best."""
    from similitude.cli.inputs import labels_of, parsed, read, task_of
    from similitude.cli.output import Output, warnings_caught
    from similitude.cli.problems import UsageError
    from similitude.compute.engines import use_engine
    from similitude.selection import choose_kernel

    out, local = Output(as_json), engine_of(engine)
    if len(set(similarity)) < max(2, len(similarity)):
        raise UsageError("compare needs two different similarities at least: give --similarity more than once")
    candidates = {text: parsed(text, trust) for text in similarity}
    data = read(out, file, list(candidates.values()), label=label, object=object, kind=kind)
    what, y = task_of(out, data, task), labels_of(data)
    with use_engine(local), warnings_caught() as said:
        selection = choose_kernel(candidates, data.objects, y, task=what, random_state=seed)
    out.note_each([*selection.notes, *(one for one in said if not one.endswith(selection.notes))])
    document = {"command": "compare", **selection.to_dict(), "best": selection.table[0].candidate}
    out.result(document, lambda console: _show(console, selection))


def _show(console: Console, selection: Selection) -> None:
    from rich import box
    from rich.table import Table

    from similitude.cli.output import printable, show_table

    classes = selection.task == "classification"
    head = f"{selection.task}: {selection.folds}, {selection.n_examples:,} rows, "
    console.print(f"{head}{len(selection.landmark_indices):,} landmarks", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("")
    table.add_column("similarity", overflow="fold")
    for title in ("error" if classes else "squared error", "worse by", "features"):
        table.add_column(title, no_wrap=True)
    for row in selection.table:
        best = row is selection.table[0]
        worse = "" if best else _range(row.difference, classes)
        mark = "*" if row.as_good else ""
        cells = (mark, printable(row.candidate), _range(row.error, classes), worse, row.representation.name)
        table.add_row(*cells, style="bold" if best else None)
    show_table(console, table)
    for remark in (
        "* not shown to be worse than the best; the intervals (95 %) hold for all at once.",
        "The error of the best of several is a little too good: judge it on other rows.",
    ):
        console.print(remark, soft_wrap=True)


def _range(estimate: Estimate, share: bool) -> str:
    if share:
        return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{estimate.value:.4g} [{estimate.low:.3g}, {estimate.high:.3g}]"
