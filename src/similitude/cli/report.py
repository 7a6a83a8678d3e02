"""``similitude report``: one page about a similarity, its labels and a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import similitude
from similitude.cli.inputs import AUTO_TEXT, LearningOptions, check_not_read, image_shape_of, parsed
from similitude.cli.options import option
from similitude.cli.output import Computation, Terminal


def report(
    given: LearningOptions,
    output: Annotated[
        str, option("Output --output -o FILE: The report to write: .html, .txt or .json.")
    ] = "report.html",
    title: str | None = None,
    compare: list[str] | None = None,
    image_shape: str | None = None,
    map: Literal["pca", "neighbors"] = "pca",
    groups: str | None = None,
    max_calls: int | None = None,
    seed: int = 0,
    *,
    run: Computation,
) -> None:
    """Write one page: how well a model does beside baselines, what decided, and how good the similarity is."""
    shape = image_shape_of(image_shape)
    others = {text: text if text == AUTO_TEXT else parsed(text, given.trust) for text in compare or ()}
    check_not_read(output, given.file)
    with run.working("starting"):
        similitude.report.check_report_place(output)
    data = given.load(run, may_learn=True, groups=groups)
    options = {
        "output": output,
        "label": given.label,
        "similarity": data.text,
        "object": given.object,
        "kind": data.schema.kind,
        "task": data.task,
        "groups": groups,
        "title": title,
        "image_shape": image_shape,
        "map": map.replace("pca", ""),
        "max_calls": max_calls,
        "seed": str(seed),
        **given.repeated(list(others)),
    }
    with run.computing(f"investigating {len(data.labels):,} rows"):
        found = similitude.write_report(
            data.similarity,
            data.objects,
            data.labels,
            output,
            names=(data.schema.names or None) if data.schema.kind == "vectors" else None,
            title=title or f"{Path(given.file).name}: predicting {data.schema.label or 'labels'}",
            task=data.task,
            groups=data.groups,
            command=command_line(given.file, {**options}),
            compare=others,
            image_shape=shape,
            embedding=map,
            max_calls=max_calls,
            random_state=seed,
        )

    def show(terminal: Terminal) -> None:
        terminal.say(found)
        terminal.say(f"\nWritten to {output}.", "bold")

    run.result({"command": "report", "report": output, **found.to_dict()}, show)


def command_line(file: str, options: dict[str, Any]) -> str:
    """Return the command that writes the same report again.

    >>> command_line("my genes.csv", {"label": "class", "object": None, "max_calls": 9, "keep": ["a"], "trust": True})
    "similitude report 'my genes.csv' --label class --max-calls 9 --keep a --trust"
    """
    words = []
    for name, given in options.items():
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if value:
                words += [f"--{name.replace('_', '-')}", *[str(value)] * (value is not True)]
    return shlex.join(["similitude", "report", file, *words])
