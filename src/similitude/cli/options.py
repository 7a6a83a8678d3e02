"""Options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


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


FILE = (
    "A CSV, TSV, Excel, JSON Lines, Parquet, Arrow, FASTA, npz, svmlight, GraphML or .ts file, gzipped or not, a "
    "folder of texts, images or GraphML files in subfolders named by their labels, a TU folder, or - (by its content)."
)

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
    typer.Option(
        "--kind",
        help="The kind of objects: vectors, strings, graphs, series, sets or table. Default: inferred from the "
        "similarity and the file.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="CHARACTER", help="What separates cells: ';', tab, '|'. Default: detected."),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    typer.Option("--decimal", help="The decimal mark, . or , (the other one separates thousands). Default: detected."),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="The encoding of a text file: latin-1, utf-16. Default: detected."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A text that is a missing value in any column; may be repeated."),
]
Sheet = Annotated[str | None, typer.Option("--sheet", metavar="NAME", help="The sheet of an Excel workbook.")]
Keep = Annotated[
    list[str] | None,
    _column("A column to use although it only names the rows; may be repeated.", "--keep"),
]
Groups = Annotated[
    str | None,
    _column(
        "A column that says which rows belong together, such as a patient or a document: no model is tested on rows "
        "of a group that it was fitted to. It is not learned from.",
        "--groups",
    ),
]
Ignore = Annotated[list[str] | None, _column("A column not to use; may be repeated.", "--ignore")]
Unlabeled = Annotated[
    Literal["drop", "use", "refuse"],
    typer.Option(
        "--unlabeled",
        "--unlabelled",
        help="Rows without a label: drop leaves them out, use makes them candidates for landmarks ('fit'), and refuse "
        "is an error.",
    ),
]
DropUnlabeled = Annotated[
    bool,
    typer.Option("--drop-unlabeled", "--drop-unlabelled", help="The same as --unlabeled drop.", show_default=False),
]
ImageSize = Annotated[
    str | None,
    typer.Option("--image-size", metavar="32x32", help="The rows and columns to which images of a folder are resized."),
]
Color = Annotated[bool, typer.Option("--color", help="Take images of a folder in color.", show_default=False)]
SimilarityText = Annotated[str | None, _expression("Default: one for the kind of objects.")]
ChosenSimilarity = Annotated[
    str | None,
    _expression("Default, or auto: several for the kind of objects are tried, and the labels decide."),
]
SimilarityTexts = Annotated[
    list[str] | None,
    _expression("May be repeated: several are ranked. Default: that of 'fit'.", show_default=False),
]
TaskName = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option("--task", help="classification or regression. Default: inferred from the labels."),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Allow mymodule:func: Python code that is imported and run.", show_default=False)
]
Learn = Annotated[
    bool,
    typer.Option(
        "--learn",
        help="Learn a metric, or weights of substrings, items, subtrees or columns, from the labels.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The random seed; the same seed gives the same result.")]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        min=1,
        metavar="NUMBER",
        help="The most calls of mymodule:func; with fewer than all pairs take, the computation is frugal.",
    ),
]
EngineSettings = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="SETTINGS",
        help="Any of threads=2, memory=4GiB, processes=4, checkpoint=FILE, separated by commas.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", show_default=False)]
