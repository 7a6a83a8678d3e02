"""The arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.problems import UsageError

if TYPE_CHECKING:
    from similitude.compute.engines import LocalEngine


class Kind(str, Enum):
    """What the objects are."""

    vectors = "vectors"
    strings = "strings"
    graphs = "graphs"
    series = "series"
    sets = "sets"
    table = "table"


class Task(str, Enum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


class Loss(str, Enum):
    """The loss of the linear model."""

    auto = "auto"
    squared = "squared"
    logistic = "logistic"
    squared_hinge = "squared_hinge"


class Penalty(str, Enum):
    """The penalty on its weights."""

    l2 = "l2"
    l1 = "l1"


def _quietly(complete: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Let a completion that fails offer nothing: the shell shows no errors."""

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
    """Return the columns of the file on the line, where a look at its first line tells them."""
    path = Path(ctx.params.get("file") or ctx.args[0])
    if path.suffix not in (".csv", ".tsv"):
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return next(csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ","))


FILE = "A CSV, TSV, JSON Lines, Parquet, Arrow, FASTA, npz or .ts file, gzipped or not, a TU folder, or - (CSV)."

File = Annotated[str, typer.Argument(metavar="FILE", help=FILE, show_default=False)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that 'fit' wrote.", show_default=False)]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="The column to predict. Default: the labels that .ts, npz and TU files have of their own.",
        autocompletion=_quietly(_columns),
    ),
]
MaybeLabel = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="A column to leave out.", autocompletion=_quietly(_columns)),
]
Object = Annotated[
    str | None,
    typer.Option(
        "--object",
        metavar="COLUMN",
        help="The column with the objects. Default: the only one, or all of them as a row of a table.",
        autocompletion=_quietly(_columns),
    ),
]
KindOfObject = Annotated[
    Kind | None, typer.Option("--kind", help="What the objects are. Default: what the similarity and the file tell.")
]
SIMILARITY = "How alike two objects are: 'gaussian(sigma=2)', 'spectrum(p=3) + 0.5*edit()', mymodule:func."
Similarity = Annotated[
    str | None,
    typer.Option(
        "--similarity",
        "-s",
        metavar="EXPRESSION",
        help=f"{SIMILARITY} Default: one for the kind of object.",
        autocompletion=_quietly(_names),
    ),
]
Similarities = Annotated[
    list[str],
    typer.Option(
        "--similarity",
        "-s",
        metavar="EXPRESSION",
        help=f"{SIMILARITY} Twice at least.",
        show_default=False,
        autocompletion=_quietly(_names),
    ),
]
TaskOption = Annotated[
    Task | None, typer.Option("--task", help="What is predicted. Default: what the labels look like.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Allow mymodule:func: Python code that is imported and run.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="SETTINGS",
        help="Of threads=2, memory=4GiB, processes=4, checkpoint=FILE, with commas between.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", show_default=False)]


def engine_of(settings: str, progress: bool = True) -> LocalEngine:
    """Return the engine that ``threads=2,memory=4GiB,processes=4`` asks for.

    >>> engine_of("threads=2, memory=4GiB", progress=False)
    LocalEngine(threads=2, processes=None, memory='4GiB', progress=False, checkpoint=None)
    """
    import sys

    from similitude.cli.output import animated
    from similitude.compute.engines import LocalEngine

    readers: dict[str, Callable[[str], Any]] = {"threads": int, "processes": int, "memory": str, "checkpoint": str}
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in settings.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in readers or not value:
            known = "threads=NUMBER, processes=NUMBER, memory=SIZE, checkpoint=FILE"
            raise UsageError(f"--engine: {part!r} is none of {known}")
        try:
            found[name] = readers[name](value)
        except ValueError:
            raise UsageError(f"--engine: {name} must be a whole number, got {value!r}") from None
    try:
        return LocalEngine(**found, progress=progress and animated(sys.stderr))
    except ValueError as error:
        raise UsageError(f"--engine: {error}") from None
