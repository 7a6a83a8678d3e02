"""``similitude demo``: from a file to goodness, a model, its reasons and a saved file, step by step."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import typer


class Step(NamedTuple):
    """What is asked, and the command that answers it."""

    words: str
    command: str


STEPS = (
    Step(
        "DNA of a bacterium: genes.csv holds short sequences, and whether each starts a gene (+) or not (-).\n"
        "Two sequences are alike if few letters must be edited to make one from the other. Is that a kernel?",
        "check genes.csv --object sequence --similarity 'edit()'",
    ),
    Step(
        "It is not, and may be used all the same. How good is another one, shared substrings, for these labels?",
        "assess genes.csv --label label --similarity 'spectrum(p=6, blended=True).normalized()'",
    ),
    Step(
        "Learn from it. Without --similarity the kind of object picks one.", "fit genes.csv --label label -o genes.sim"
    ),
    Step("Predict sequences that the model has not seen.", "predict genes.sim new-genes.csv -o predicted.csv"),
    Step("Why does it take the first of them for what it does?", "explain genes.sim new-genes.csv --row 0"),
    Step(
        "Molecules as graphs, and whether they dissolve in water: which similarity is best?",
        "compare molecules.jsonl --label label --similarity 'weisfeiler_lehman(iterations=1).normalized()' "
        "--similarity 'shortest_path().normalized()' --similarity 'graphlet(p=3, mode=\"frequency\")'",
    ),
    Step("The model is one file that holds no code. What is in it?", "info genes.sim"),
)

EVERY = 5
"""Each sequence with a number divisible by this is kept for predictions."""


def demo() -> None:
    """Show the whole way on small real data, with the commands to type: check, assess, fit, predict, explain."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="similitude-demo-"))
    write_files(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for step in STEPS:
            show(step)
    finally:
        os.chdir(before)
    _say(f"The files are in {folder}. In Python:\n\n    from similitude import load")
    _say(f'    model = load("{folder / "genes.sim"}")\n    model.predict(["{"acgt" * 14}a"])')


def write_files(folder: Path) -> None:
    """Put the data of the demo into a folder: some genes to learn from, some to predict, and molecules."""
    from similitude.data import datasets

    header, *rows = datasets.path("promoters").read_text(encoding="utf-8").splitlines(keepends=True)
    parts: dict[str, list[str]] = {"genes.csv": [], "new-genes.csv": []}
    for number, row in enumerate(rows):
        parts["new-genes.csv" if number % EVERY == 0 else "genes.csv"].append(row)
    for name, kept in parts.items():
        (folder / name).write_text("".join([header, *kept]), encoding="utf-8")
    (folder / "molecules.jsonl").write_bytes(datasets.path("molecules").read_bytes())


def show(step: Step) -> None:
    """Say what is asked, show the command and run it."""
    from similitude.cli.output import console
    from similitude.cli.problems import DONE, REFUTED, exit_code

    _say(step.words)
    console(sys.stdout).print(f"$ similitude {step.command}", style="bold green", soft_wrap=True)
    sys.stdout.flush()
    code = exit_code(shlex.split(step.command))
    if code not in (DONE, REFUTED):
        raise typer.Exit(code)
    print(flush=True)


def _say(words: str) -> None:
    print(words, flush=True)
