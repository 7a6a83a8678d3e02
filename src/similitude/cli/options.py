"""How options are declared, and those that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

PANELS = ("Commands", "Arguments", "Input", "Format", "Similarity", "Model", "Output", "Options")
"""The panels of ``--help``, in order."""


def option(panel: str, names: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Declare an option by its names, its help and the word for its value, and the panel of ``--help`` it is in."""
    return typer.Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


def column(name: str, help: str) -> Any:
    """Declare an option for a column, whose names the shell can complete."""
    return option("Input", name, help, "COLUMN", autocompletion=_quietly(_columns))


def expression(help: str) -> Any:
    """Declare the option for a similarity."""
    text = f"Similarity of two objects: 'gaussian(sigma=2)', 'spectrum(p=3) + 0.5*edit()', mymodule:func. {help}"
    return option("Similarity", "--similarity -s", text, "EXPRESSION", autocompletion=_quietly(_names))


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


FILE = (
    "A CSV, TSV, Excel, JSON Lines, Parquet, Arrow, FASTA, npz, svmlight, GraphML or .ts file, gzipped or not, a "
    "folder of texts, images or GraphML files in subfolders named by their labels, a TU folder, or - (by its content)."
)

File = Annotated[str, typer.Argument(metavar="FILE", help=FILE)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model saved by 'fit'.")]
MaybeLabel = Annotated[str | None, column("--label", "A column to leave out.")]
Groups = Annotated[
    str | None,
    column(
        "--groups",
        "A column that says which rows belong together, such as a patient or a document: no model is tested on rows "
        "of a group that it was fitted to. It is not learned from.",
    ),
]
TaskName = Annotated[
    Literal["classification", "regression"] | None,
    option("Model", "--task", "classification or regression. Default: inferred from the labels."),
]
Trust = Annotated[bool, option("Similarity", "--trust", "Allow mymodule:func: Python code that is imported and run.")]
Learn = Annotated[
    bool,
    option(
        "Similarity",
        "--learn",
        "Learn a metric, or weights of substrings, items, subtrees or columns, from labels.",
    ),
]
MaxCalls = Annotated[
    int | None,
    option(
        "Similarity",
        "--max-calls",
        "The most calls of mymodule:func; with fewer than all pairs take, the computation is frugal.",
        "NUMBER",
        min=1,
    ),
]
Seed = Annotated[int, option("Model", "--seed", "The random seed; the same seed gives the same result.", min=0)]
EngineSettings = Annotated[
    str,
    option(
        "Model",
        "--engine",
        "Any of threads=2, memory=4GiB, processes=4, checkpoint=FILE, separated by commas.",
        "SETTINGS",
    ),
]
AsJson = Annotated[bool, option("Output", "--json", "One JSON document on standard output.")]
