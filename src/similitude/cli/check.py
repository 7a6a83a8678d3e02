"""``similitude check``: whether a similarity is a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from similitude.cli import options
from similitude.cli.options import AsJson, Engine, KindOfObject, MaybeLabel, Object, Seed, Similarity, Trust

if TYPE_CHECKING:
    from rich.console import Console

    from similitude.validity import Validity

TRIED = 100
"""Rows at most on which the similarity is tried before it is judged."""

EXAMPLE = "Example: similitude check genes.csv --label class --similarity 'spectrum(p=3) + 0.5*edit()'"

NAMED = 8
"""Objects of a counterexample up to which each is shown."""

MaybeFile = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help=f"{options.FILE} Without one only a proof is sought.", show_default=False),
]


def check(
    file: MaybeFile = None,
    similarity: Similarity = None,
    label: MaybeLabel = None,
    object: Object = None,
    kind: KindOfObject = None,
    trust: Trust = False,
    seed: Seed = 0,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Tell whether a similarity is a kernel: a proof, or the smallest counterexample in the file, or neither.

    Exits with 3 where a counterexample is found.
    """
    import numpy as np

    from similitude.cli.inputs import chosen_similarity, parsed
    from similitude.cli.output import Output, warnings_caught
    from similitude.cli.problems import REFUTED, UsageError
    from similitude.compute.encodings import take
    from similitude.compute.engines import use_engine
    from similitude.validity import check_kernel

    out, local = Output(as_json), options.engine_of(engine)
    X = None
    if file is None:
        if similarity is None:
            raise UsageError("check needs a FILE, or --similarity to look for a proof without one")
        text, k = similarity, parsed(similarity, trust)
    else:
        data, text, k = chosen_similarity(out, file, similarity, trust, label=label, object=object, kind=kind)
        X = data.objects
        k.prepare(take(X, np.arange(min(len(data), TRIED))))  # a proof would not look at the file
    with use_engine(local), warnings_caught() as said:
        validity = check_kernel(k, X, random_state=seed)
    out.note_each(said)
    document = {"command": "check", "similarity": text, **validity.to_dict()}
    out.result(document, lambda console: _show(console, text, validity))
    if validity.verdict == "INVALID":
        raise typer.Exit(REFUTED)


def _show(console: Console, text: str, validity: Validity) -> None:
    from similitude.cli.output import printable

    color = {"VALID": "green", "INVALID": "red", "UNKNOWN": "yellow"}[validity.verdict]
    told = {"VALID": "is a kernel", "INVALID": "is not a kernel", "UNKNOWN": "may or may not be a kernel"}
    console.print(validity.verdict, style=f"bold {color}", end="")
    console.print(f": {printable(text)} {told[validity.verdict]}")
    console.print(printable(_why(validity)), soft_wrap=True)
    if validity.verdict == "INVALID":
        console.print("It can be used as it is: 'fit' asks for no kernel.")


def _why(validity: Validity) -> str:
    """Return the reason for a verdict; of a large counterexample only the rows."""
    witness = validity.witness
    if witness is None or len(witness.objects) <= NAMED:
        return validity.why()
    claim = (
        f"{len(witness.objects)} objects show it: their feature vectors, added with some weights, would make a vector "
        f"of squared length {witness.value:.3g}, and no squared length is negative."
    )
    rows = ", ".join(map(str, witness.indices)) or "found by search"
    return f"{claim}\n  rows {rows} (--json shows their weights)"
