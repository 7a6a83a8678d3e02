"""Options that several commands share.

A command takes single options, or groups of options: dataclasses whose fields are options and whose methods use them.
"""

from __future__ import annotations

import csv
import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose signature, which Typer reads, holds single options instead of groups."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group: Any = parameter.annotation
        if dataclasses.is_dataclass(group):
            hints, fields = (
                get_type_hints(group, include_extras=True),
                inspect.signature(parameter.annotation).parameters,
            )
            groups[parameter.name] = group, list(fields)
            options += [field.replace(annotation=hints[name]) for name, field in fields.items()]
        else:
            options.append(parameter)

    def run(**given: Any) -> None:
        for name, (group, fields) in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields})
        command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in options}
    by_name = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([option.replace(kind=by_name) for option in options])  # type: ignore[attr-defined]
    return run


def _quietly(complete: Callable[[typer.Context], list[str]]) -> Callable[[typer.Context, str], list[str]]:
    """Return a completion that offers nothing if it fails: the shell shows no errors."""

    def quiet(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [word for word in complete(ctx) if word.startswith(incomplete)]
        except Exception:
            return []

    return quiet


def _names(ctx: typer.Context) -> list[str]:
    from similitude.similarity.expressions import NAMES

    return sorted(NAMES)


def _columns(ctx: typer.Context) -> list[str]:
    """Return the columns of the CSV or TSV file on the command line."""
    path = Path(ctx.params.get("file") or ctx.args[0])
    if path.suffix not in (".csv", ".tsv"):
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return next(csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ","))


def _column(help: str, name: str) -> Any:
    return typer.Option(name, metavar="COLUMN", help=help, autocompletion=_quietly(_columns))


def _expression(help: str, **more: Any) -> Any:
    text = f"Similarity of two objects: 'gaussian(sigma=2)', 'spectrum(p=3) + 0.5*edit()', mymodule:func. {help}"
    return typer.Option("--similarity", "-s", metavar="EXPRESSION", help=text, autocompletion=_quietly(_names), **more)


FILE = "A CSV, TSV, JSON Lines, Parquet, Arrow, FASTA, npz or .ts file, gzipped or not, a TU folder, or - (CSV)."

File = Annotated[str, typer.Argument(metavar="FILE", help=FILE, show_default=False)]
MaybeFile = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help=f"{FILE} Without one, only a proof is searched.", show_default=False),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model saved by 'fit'.", show_default=False)]
Label = Annotated[
    str | None, _column("The column to predict. Default: the labels that .ts, npz and TU files contain.", "--label")
]
MaybeLabel = Annotated[str | None, _column("A column to leave out.", "--label")]
ObjectColumn = Annotated[
    str | None,
    _column("The column with the objects. Default: the only one, or all of them as rows of a table.", "--object"),
]
Kind = Annotated[
    Literal["vectors", "strings", "graphs", "series", "sets", "table"] | None,
    typer.Option("--kind", help="The kind of objects. Default: inferred from the similarity and the file."),
]
SimilarityText = Annotated[str | None, _expression("Default: one for the kind of objects.")]
SimilarityTexts = Annotated[list[str], _expression("At least two.", show_default=False)]
TaskName = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option("--task", help="What is predicted. Default: inferred from the labels."),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Allow mymodule:func: Python code that is imported and run.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The random seed; the same seed gives the same result.")]
EngineSettings = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="SETTINGS",
        help="Any of threads=2, memory=4GiB, processes=4, checkpoint=FILE, separated by commas.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", show_default=False)]
