"""How options are declared, and those that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

PANELS = ("Commands", "Arguments", "Input", "Format", "Similarity", "Model", "Output", "Options")
"""The panels of ``--help``, in order."""


def option(text: str) -> Any:
    """Declare an option or argument: its panel of ``--help``, names, the word for its value, and its help."""
    head, _, help = text.partition(": ")
    panel, *names = head.split()
    if panel == "Arguments":
        return typer.Argument(metavar=names[-1], help=help)
    metavar = "" if names[-1].startswith("-") else names.pop()
    word, _, least = metavar.partition(">=")
    complete = {"COLUMN": _columns, "EXPRESSION": _names}.get(word)
    return typer.Option(
        *names,
        metavar=word or None,
        help=help,
        rich_help_panel=panel,
        min=int(least) if least else None,
        autocompletion=complete and _quietly(complete),
    )


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
EXPRESSION = "Similarity of two objects: 'gaussian(sigma=2)', 'spectrum(p=3) + 0.5*edit()', mymodule:func."

DECLARATIONS = f"""
Arguments file FILE: {FILE}
check: Arguments file [FILE]: {FILE} Without one, only a proof is searched.
drift: Arguments file OLD: {FILE}
drift: Arguments new NEW: A file with the same columns.
export: Arguments file FILE.onnx: The file to write.
kernels: Arguments name [NAME]: Describe one in full.
Arguments model MODEL: A model saved by 'fit'.
Arguments cache CACHE: A file made by similarity.cached(path).
cache merge: Arguments into CACHE: A file made by similarity.cached(path).
cache merge: Arguments others OTHER...: The caches that are merged into it.
Input --label COLUMN: The column to predict. Default: the labels that .ts, npz and TU files contain.
check, duplicates, drift: Input --label COLUMN: A column to leave out.
Input --object COLUMN: The column with the objects. Default: the only one, or all of them as rows of a table.
Input --kind: The kind of objects: vectors, strings, graphs, series, sets or table. Default: inferred from the
    similarity and the file.
Input --keep COLUMN: A column to use although it only names the rows; may be repeated.
cache prune: Input --keep PAIRS>=0: Keep only this many newest pairs.
Input --ignore COLUMN: A column not to use; may be repeated.
Input --unlabeled --unlabelled: Rows without a label: drop leaves them out, use makes them candidates for landmarks
    ('fit'), and refuse is an error.
Input --drop-unlabeled --drop-unlabelled: The same as --unlabeled drop.
Input --image-size 32x32: The rows and columns to which images of a folder are resized.
Input --color: Take images of a folder in color.
Input --groups COLUMN: A column that says which rows belong together, such as a patient or a document: no model is
    tested on rows of a group that it was fitted to. It is not learned from.
Input --row NUMBER>=0: The row of the file, counted from 0.
Input --older-than DAYS>=0: Remove pairs older than this many days.
Format --separator SIGN: What separates cells: ';', tab, '|'. Default: detected.
Format --decimal: The decimal mark, . or , (the other separates thousands). Default: detected.
Format --encoding NAME: The encoding of a text file: latin-1, utf-16. Default: detected.
Format --missing TEXT: A text that is a missing value in any column; may be repeated.
Format --sheet NAME: The sheet of an Excel workbook.
Similarity --similarity -s EXPRESSION: {EXPRESSION} Default: one for the kind of objects.
fit, report: Similarity --similarity -s EXPRESSION: {EXPRESSION} Default, or auto: several for the kind of objects are
    tried, and the labels decide.
compare: Similarity --similarity -s EXPRESSION: {EXPRESSION} May be repeated: several are ranked. Default: that of
    'fit'.
Similarity --trust: Allow mymodule:func: Python code that is imported and run.
Similarity --learn: Learn a metric, or weights of substrings, items, subtrees or columns, from labels.
Similarity --max-calls NUMBER>=1: The most calls of mymodule:func; with fewer than all pairs take, the computation is
    frugal.
Similarity --compare EXPRESSION: Another similarity for the same page; may be repeated.
Model --task: classification or regression. Default: inferred from the labels.
Model --landmarks NUMBER>=1: The number of landmarks. Default: as many as reduce the held-out error.
Model --loss: The loss that the model minimizes: auto, squared, logistic or squared_hinge.
Model --penalty: The penalty on its weights: l2, or l1, which keeps few landmarks.
Model --seed SEED>=0: The random seed; the same seed gives the same result.
Model --engine SETTINGS: Any of threads=2, memory=4GiB, processes=4, checkpoint=FILE, separated by commas.
Model --threshold NUMBER: Rows at least this similar are duplicates.
Model --batch NUMBER>=2: Compare each this many consecutive new rows by themselves.
Model --level NUMBER: The probability of a false alarm, at most.
fit: Output --output -o MODEL: The model file to write, for instance model.sim.
report: Output --output -o FILE: The report to write: .html, .txt or .json.
predict: Output --output -o FILE: The file to write: .csv, .tsv, .jsonl, .parquet, .arrow, also .gz; - is standard
    output (CSV).
cache export: Output --output -o CSV: The file; - is standard output.
Output --json: One JSON document on standard output.
Output --plan: Print how the model would be fitted and what that costs, and stop.
Output --title TEXT: The title of the report.
Output --image-shape 8x8: Draw vectors as images of these rows and columns.
Output --map: How objects are placed on the map: pca or neighbors.
Output --probabilities: Add the probability of each class.
Output --nearest NUMBER>=0: Add this many of the most similar landmarks, by their rows at fit, and their similarities.
Output --interval LEVEL: Add the ends of an interval that holds the number with this probability, such as 0.9.
Output --set LEVEL: Add for each class whether it is in a set that holds the true one with this probability, such as
    0.9.
Output --by: examples: the training examples that decided; auto takes them together where few of them do not tell;
    landmarks: the weights of landmarks, which may cancel.
Output --parts/--no-parts: Show what in the row mattered: letters, cells, items, nodes, segments. Similarities of your
    own: no.
"""
"""Arguments and options by panel, those of some commands alone after their names.

A parameter of a command, or a field of a group, is declared by the line with its name.
"""


_LINES = DECLARATIONS.strip().replace("\n    ", " ").split("\n")
OPTION_OF = {}
for _line in _LINES:
    _commands, _text = re.fullmatch(r"(?:([a-z, ]+): )?(.*)", _line).groups()  # type: ignore[union-attr]
    _name = re.findall(r"^Arguments (\w+)|--([\w-]+)", _text)[0]
    for _command in (_commands or "").split(", "):
        OPTION_OF[_command, "".join(_name).replace("-", "_")] = option(_text)
