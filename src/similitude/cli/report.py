"""``similitude report``: one page about a similarity, its labels and a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal

import similitude
from similitude.cli.inputs import (
    AUTO_TEXT,
    DataOptions,
    Task,
    check_not_read,
    image_shape_of,
    labels_of,
    parsed,
    task_of,
)
from similitude.cli.output import Computation, Terminal


def report(
    given: DataOptions,
    output: str = "report.html",
    task: Task | None = None,
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
    data, text, similarity = given.read_both(run, may_learn=True, groups=groups)
    task = task_of(run, data, task)
    y = labels_of(data)
    options = {
        "output": output,
        "label": given.label,
        "similarity": text,
        "object": given.object,
        "kind": data.schema.kind,
        "task": task,
        "groups": groups,
        "title": title,
        "image_shape": image_shape,
        "map": map.replace("pca", ""),
        "max_calls": max_calls,
        "seed": str(seed),
        "separator": given.separator,
        "decimal": given.decimal,
        "encoding": given.encoding,
        "sheet": given.sheet,
        "image_size": given.image_size,
        "unlabeled": given.unlabeled.replace("drop", ""),
        "compare": list(others),
        "missing": given.missing,
        "keep": given.keep,
        "ignore": given.ignore,
        "color": given.color,
        "trust": given.trust,
    }
    with run.computing(f"investigating {len(y):,} rows"):
        found = similitude.write_report(
            similarity,
            data.objects,
            y,
            output,
            names=(data.schema.names or None) if data.schema.kind == "vectors" else None,
            title=title or f"{Path(given.file).name}: predicting {data.schema.label or 'labels'}",
            task=task,
            groups=data.groups,
            command=command_line(given.file, options),
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
    """Return the command that writes the same report again."""
    words = []
    for name, given in options.items():
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if value:
                words += [f"--{name.replace('_', '-')}", *[str(value)] * (value is not True)]
    return shlex.join(["similitude", "report", file, *words])
