"""``similitude check`` and ``similitude assess``: what is known of a similarity before anything is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import similitude
from similitude.cli.errors import ExitCode, UsageError
from similitude.cli.inputs import DataOptions, Task, labels_of, parsed, task_of
from similitude.cli.output import Computation, Terminal, with_interval
from similitude.support import first_of

if TYPE_CHECKING:
    from similitude.goodness import Goodness
    from similitude.support import Curve
    from similitude.validity import Validity


def check(
    given: DataOptions, file: str | None = None, max_calls: int | None = None, seed: int = 0, *, run: Computation
) -> None:
    """Check whether a similarity is a kernel: find a proof, or a small counterexample in the file, or neither.

    Exits with 3 if a counterexample is found.
    """
    import numpy as np

    from similitude.compute import take

    X = None
    if file is None:
        if given.similarity is None:
            raise UsageError("check needs a FILE, or --similarity to search for a proof without one")
        text = given.similarity
        k = parsed(text, given.trust)
    else:
        data, text, k = given.read_both(run, unlabeled="keep")
        X = data.objects
        k.prepare(take(X, np.arange(min(len(data), 100))))  # a proof alone would not try it on the file
    with run.computing(f"checking {text}"):
        validity = similitude.check_kernel(k, X, max_calls=max_calls, random_state=seed)
    document = {"command": "check", "similarity": text, **validity.to_dict()}
    run.result(document, lambda terminal: _show_verdict(terminal, text, validity))
    if validity.verdict == "INVALID":
        raise typer.Exit(ExitCode.REFUTED)


def _show_verdict(terminal: Terminal, text: str, validity: Validity) -> None:
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
    rows = "objects that are not in the file"
    if witness.indices:
        rows = f"rows {', '.join(map(str, witness.indices))}"
    return f"{claim}\n  {rows} (--json shows their weights)"


def assess(
    given: DataOptions,
    max_calls: int | None = None,
    task: Task | None = None,
    seed: int = 0,
    *,
    run: Computation,
) -> None:
    """Assess how good a similarity is for the labels of a file, before anything is trained."""
    data, text, k = given.read_both(run)
    y = labels_of(data)
    name = data.schema.label
    if task_of(run, data, task) == "regression":
        raise ValueError(f"assess needs classes, and label {name!r} holds numbers: try 'compare', or --task")
    with run.computing(f"assessing {text} on {len(y):,} rows"):
        goodness = similitude.assess(k, data.objects, y, max_calls=max_calls, random_state=seed)
    run.note(*goodness.notes)
    verdict = goodness.verdict("rows")
    document = {"command": "assess", "similarity": text, "verdict": verdict, **goodness.to_dict()}
    run.result(document, lambda terminal: _show_goodness(terminal, text, name, goodness))


def _show_goodness(terminal: Terminal, text: str, label: str | None, goodness: Goodness) -> None:
    sentence = goodness.verdict("rows")
    terminal.sentence(f"{sentence[0].upper()}{sentence[1:]}.", "bold")
    terminal.say(f"\nHow good {text} is for {label!r}", "bold")
    terminal.facts(_facts(goodness))
    terminal.say("\nHow much more similar rows are to their own class than to any other", "bold")
    equal = _by_share(goodness.strong)
    weighted = _by_share(goodness.weighted)
    columns = dict.fromkeys(("all rows but", "equal weights", "learned weights, held out"), "right")
    terminal.table(columns, [(f"{share} %", equal[share], weighted.get(share, "")) for share in (5, 10, 20, 50)])
    terminal.say("What theorems ask for, if the gaps are as estimated", "bold")
    for size in goodness.sizes:
        needed = "no positive gap was found"
        if size.needed is not None:
            needed = f"{size.needed:,} needed"
        terminal.say(f"  {size.what}: {needed}, {size.used:,} available")


def _facts(goodness: Goodness) -> list[tuple[str, object]]:
    from similitude.goodness import SIGNIFICANT

    p = goodness.p_value
    weighted = goodness.weighted
    classes = [str(name) for name in goodness.classes_.tolist()]
    related = "yes" if p.value <= SIGNIFICANT else "not shown"
    margin = goodness.margin.reason
    if goodness.margin.value is not None:
        margin = f"{goodness.margin.value:.3g}"
    facts: list[tuple[str, object]] = [
        ("rows", f"{goodness.n:,} in {len(classes)} classes: {first_of(classes, 8)}"),
        ("related to the labels?", f"{related}: p = {p.value:.3g}, {p.permutations:,} permutations"),
        ("centered alignment", with_interval(goodness.centered_alignment)),
        ("own class minus others", with_interval(goodness.weak.balanced)),
    ]
    if weighted is not None:
        facts += [
            ("error of equal votes", with_interval(weighted.vote_error, share=True)),
            ("error of weighted votes", with_interval(weighted.error, share=True)),
        ]
    facts += [
        ("margin as a kernel", margin),
        ("hardest rows", _listed(goodness.hardest)),
        ("labels that look wrong", _listed(goodness.suspects)),
    ]
    if weighted is not None:
        facts.append(("best landmarks", _listed(goodness.witnesses)))
    return facts


def _listed(positions: Any) -> str:
    return ", ".join(map(str, positions.tolist())) or "none"


def _by_share(curve: Curve | None) -> dict[int, str]:
    """Return the gap and its interval by the share of rows, in per cent, that fall short of it."""
    if curve is None:
        return {}
    points = zip(curve.x, curve.y, curve.low, curve.high, strict=True)
    return {round(100 * x): f"{y:.3g}  [{low:.3g}, {high:.3g}]" for x, y, low, high in points}
