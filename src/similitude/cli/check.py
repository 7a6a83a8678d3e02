"""``similitude check``: whether a similarity is a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

import similitude
from similitude.cli.errors import ExitCode, UsageError
from similitude.cli.inputs import UnlabeledOptions, parsed
from similitude.cli.options import FILE, MaxCalls, Seed
from similitude.cli.output import Computation, Terminal

if TYPE_CHECKING:
    from similitude.validity import Validity


MaybeFile = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help=f"{FILE} Without one, only a proof is searched.")
]


@dataclass(kw_only=True)
class CheckOptions(UnlabeledOptions):
    """A similarity, and a file of objects if there is one."""

    file: MaybeFile = None  # type: ignore[assignment]


def check(given: CheckOptions, max_calls: MaxCalls = None, seed: Seed = 0, *, run: Computation) -> None:
    """Check whether a similarity is a kernel: find a proof, or a small counterexample in the file, or neither.

    Exits with 3 if a counterexample is found.
    """
    import numpy as np

    from similitude.compute import take

    X = None
    if given.file is None:
        if given.similarity is None:
            raise UsageError("check needs a FILE, or --similarity to search for a proof without one")
        text = given.similarity
        k = parsed(text, given.trust)
    else:
        data, text, k = given.read_both(run)
        X = data.objects
        k.prepare(take(X, np.arange(min(len(data), 100))))  # a proof alone would not try it on the file
    with run.computing(f"checking {text}"):
        validity = similitude.check_kernel(k, X, max_calls=max_calls, random_state=seed)
    document = {"command": "check", "similarity": text, **validity.to_dict()}
    run.result(document, lambda terminal: _show(terminal, text, validity))
    if validity.verdict == "INVALID":
        raise typer.Exit(ExitCode.REFUTED)


def _show(terminal: Terminal, text: str, validity: Validity) -> None:
    color, verdict = {
        "VALID": ("green", "is a kernel"),
        "INVALID": ("red", "is not a kernel"),
        "UNKNOWN": ("yellow", "may or may not be a kernel"),
    }[validity.verdict]
    terminal.print(validity.verdict, style=f"bold {color}", end="")
    terminal.say(f": {text} {verdict}")
    terminal.say(_why(validity))
    if validity.verdict == "INVALID":
        terminal.say("It can be used as it is: 'fit' does not need a kernel.")


def _why(validity: Validity) -> str:
    """Return the reason for a verdict; of a large counterexample, only the rows."""
    witness = validity.witness
    if witness is None or len(witness.objects) <= 8:
        return validity.why()
    claim = (
        f"{len(witness.objects)} objects show it: a weighted sum of their feature vectors would have the squared "
        f"length {witness.value:.3g}, and a squared length is never negative."
    )
    rows = f"rows {', '.join(map(str, witness.indices))}" if witness.indices else "objects that are not in the file"
    return f"{claim}\n  {rows} (--json shows their weights)"
