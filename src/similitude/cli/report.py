"""``similitude report``: one page that says whether a similarity is any good, and what a model learned."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from similitude.cli.options import (
    AsJson,
    Engine,
    File,
    KindOfObject,
    Label,
    Object,
    Seed,
    Similarity,
    TaskOption,
    Trust,
    engine_of,
)

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = "Example: similitude report genes.csv --label class -o report.html"

PageOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes: .html, .txt or .json.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Stands at the top of the report.")]


def report(
    file: File,
    output: PageOut = "report.html",
    label: Label = None,
    similarity: Similarity = None,
    object: Object = None,
    kind: KindOfObject = None,
    task: TaskOption = None,
    title: Title = None,
    trust: Trust = False,
    seed: Seed = 0,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Write one page: whether the similarity is a kernel, how good it is for the labels, what a model learned."""
    from similitude.cli.inputs import check_not_read, chosen_similarity, labels_of, task_of
    from similitude.cli.output import Output, warnings_caught
    from similitude.compute.engines import use_engine
    from similitude.report import check_report_place, write_report

    out, local = Output(as_json), engine_of(engine)
    check_not_read(output, file)
    check_report_place(output)
    data, text, k = chosen_similarity(out, file, similarity, trust, label=label, object=object, kind=kind)
    what, y = task_of(out, data, task), labels_of(data)
    given = {"--output": output, "--label": label, "--similarity": text, "--object": object, "--kind": data.schema.kind}
    given |= {"--task": what, "--title": title}
    command = command_line(file, given, seed, trust)
    names = data.schema.names if data.schema.kind == "vectors" else None
    with use_engine(local), warnings_caught() as said, out.working("looking into it"):
        found = write_report(
            k,
            data.objects,
            y,
            output,
            names=names or None,
            title=title,
            task=what,
            command=command,
            random_state=seed,
        )
    out.note_each(said)
    document = {"command": "report", "report": output, **found.to_dict()}
    out.result(document, lambda console: _show(console, str(found), output))


def command_line(file: str, given: dict[str, str | None], seed: int, trust: bool) -> str:
    """Return the command that asks for the same report again.

    >>> command_line("my genes.csv", {"--label": "class", "--object": None}, seed=0, trust=True)
    "similitude report 'my genes.csv' --label class --seed 0 --trust"
    """
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    return shlex.join(["similitude", "report", file, *options, "--seed", str(seed), *["--trust"] * trust])


def _show(console: Console, told: str, output: str) -> None:
    from similitude.cli.output import printable

    console.print(printable(told), soft_wrap=True)
    console.print(printable(f"\nWritten to {output}."), style="bold", soft_wrap=True)
