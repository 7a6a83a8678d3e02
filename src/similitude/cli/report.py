"""``similitude report``: one page about a similarity, its labels and a model."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

import similitude
from similitude.cli.inputs import TrainingOptions, check_not_read
from similitude.cli.options import Seed
from similitude.cli.output import Computation, Terminal

PageOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The report to write: .html, .txt or .json.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The title of the report.")]


def report(
    given: TrainingOptions, output: PageOut = "report.html", title: Title = None, seed: Seed = 0, *, run: Computation
) -> None:
    """Write one page: whether the similarity is a kernel, how good it is for the labels, what a model learned."""
    check_not_read(output, given.file)
    similitude.report.check_report_place(output)
    data = given.load(run)
    options = {
        "--output": output,
        "--label": given.label,
        "--similarity": data.text,
        "--object": given.object,
        "--kind": data.schema.kind,
        "--task": data.task,
        "--title": title,
        "--seed": str(seed),
    }
    with run.computing(), run.working("investigating"):
        found = similitude.write_report(
            data.similarity,
            data.objects,
            data.labels,
            output,
            names=(data.schema.names or None) if data.schema.kind == "vectors" else None,
            title=title,
            task=data.task,
            command=command_line(given.file, options, given.trust),
            random_state=seed,
        )

    def show(terminal: Terminal) -> None:
        terminal.say(found)
        terminal.say(f"\nWritten to {output}.", "bold")

    run.result({"command": "report", "report": output, **found.to_dict()}, show)


def command_line(file: str, options: dict[str, str | None], trust: bool) -> str:
    """Return the command that writes the same report again.

    >>> command_line("my genes.csv", {"--label": "class", "--object": None, "--seed": "0"}, trust=True)
    "similitude report 'my genes.csv' --label class --seed 0 --trust"
    """
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    return shlex.join(["similitude", "report", file, *words, *["--trust"] * trust])
