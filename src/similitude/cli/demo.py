"""``similitude demo``: the commands on small real data, step by step."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import typer

from similitude.cli.errors import ExitCode
from similitude.cli.output import Terminal

DEMO_STEPS = (
    (
        "DNA of a bacterium: genes.csv holds short sequences, and whether each starts a gene (+) or not (-).\n"
        "Two sequences are similar if few edits turn one into the other. Is this similarity a kernel?",
        "check genes.csv --object sequence --similarity 'edit()'",
    ),
    (
        "It is not, and can be used anyway. How good is another one, shared substrings, for these labels?",
        "assess genes.csv --label label --similarity 'spectrum(p=6, blended=True).normalized()'",
    ),
    (
        "Learn a model. Without --similarity, the default for the kind of objects is used.",
        "fit genes.csv --label label -o genes.sim",
    ),
    ("Predict sequences that the model was not fitted to.", "predict genes.sim new-genes.csv -o predicted.csv"),
    ("Why does it predict what it does for the first of them?", "explain genes.sim new-genes.csv --row 0"),
    (
        "Molecules as graphs, and whether they dissolve in water: which similarity is best?",
        "compare molecules.jsonl --label label --similarity 'weisfeiler_lehman(iterations=1).normalized()' "
        "--similarity 'shortest_path().normalized()' --similarity 'graphlet(p=3, mode=\"frequency\")'",
    ),
    ("The model is one file without code. What is in it?", "info genes.sim"),
)


def demo() -> None:
    """Show the commands on small real data: check, assess, fit, predict, explain, compare, info."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="similitude-demo-"))
    write_files(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for words, command in DEMO_STEPS:
            show(words, command)
    finally:
        os.chdir(before)
    print(f"The files are in {folder}. In Python:\n\n    from similitude import load")
    print(f'    model = load("{folder / "genes.sim"}")\n    model.predict(["{"acgt" * 14}a"])', flush=True)


def write_files(folder: Path) -> None:
    """Write the data of the demo into a folder: genes to learn from, genes to predict, and molecules."""
    from similitude.data import datasets

    header, *rows = datasets.path("promoters").read_text(encoding="utf-8").splitlines(keepends=True)
    parts: dict[str, list[str]] = {"genes.csv": [], "new-genes.csv": []}
    for number, row in enumerate(rows):
        parts["new-genes.csv" if number % 5 == 0 else "genes.csv"].append(row)
    for name, kept in parts.items():
        (folder / name).write_text("".join([header, *kept]), encoding="utf-8")
    (folder / "molecules.jsonl").write_bytes(datasets.path("molecules").read_bytes())


def show(words: str, command: str) -> None:
    """Print the question and the command, and run it."""
    from similitude.cli.app import exit_code

    print(words)
    Terminal(sys.stdout).say(f"$ similitude {command}", "bold green")
    sys.stdout.flush()
    code = exit_code(shlex.split(command))
    if code not in (ExitCode.SUCCESS, ExitCode.REFUTED):
        raise typer.Exit(code)
    print(flush=True)
