"""``similitude assess``: how good a similarity is for labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from similitude.cli.options import (
    AsJson,
    Engine,
    File,
    KindOfObject,
    Label,
    Object,
    Seed,
    Similarity,
    TaskOption,
    Trust,
    engine_of,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from similitude.goodness.assessment import Goodness
    from similitude.support.results import Curve

EXAMPLE = "Example: similitude assess genes.csv --label class --similarity 'spectrum(p=4)'"

SHARES = (5, 10, 20, 50)
"""Shares of rows, in per cent, that may fall short of the gap that is shown."""

SURE = 0.05
"""A p-value up to which the similarity is said to be related to the labels."""


def assess(
    file: File,
    label: Label = None,
    similarity: Similarity = None,
    object: Object = None,
    kind: KindOfObject = None,
    task: TaskOption = None,
    trust: Trust = False,
    seed: Seed = 0,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Say how good a similarity is for the labels of a file, before anything is trained."""
    from similitude.cli.inputs import REGRESSION, chosen_similarity, labels_of, task_of
    from similitude.cli.output import Output, warnings_caught
    from similitude.compute.engines import use_engine
    from similitude.goodness import assess as assessed

    out, local = Output(as_json), engine_of(engine)
    data, text, k = chosen_similarity(out, file, similarity, trust, label=label, object=object, kind=kind)
    what, name = task_of(out, data, task), data.schema.label
    if what == REGRESSION:
        raise ValueError(f"assess is about classes, and label {name!r} holds numbers: try 'compare', or --task")
    with use_engine(local), warnings_caught() as said:
        goodness = assessed(k, data.objects, labels_of(data), random_state=seed)
    out.note_each([*said, *goodness.notes])
    document = {"command": "assess", "similarity": text, **goodness.to_dict()}
    out.result(document, lambda console: _show(console, text, name, goodness))


def _show(console: Console, text: str, label: str | None, goodness: Goodness) -> None:
    from similitude.cli.output import printable, show_facts, show_table

    console.print(printable(f"How good {text} is for {label!r}"), style="bold")
    show_facts(console, _facts(goodness))
    console.print("\nBy how much a row is more like its own class than any other", style="bold")
    show_table(console, _gaps(goodness))
    console.print("What the theorems ask for, if the gaps were what these rows show", style="bold")
    for size in goodness.sizes:
        needed = "no positive gap was seen" if size.needed is None else f"{size.needed:,} needed"
        console.print(f"  {size.what}: {needed}, {size.used:,} were there", soft_wrap=True)


def _facts(goodness: Goodness) -> list[tuple[str, object]]:
    from similitude.cli.output import around, percent

    p, weighted, margin = goodness.p_value, goodness.weighted, goodness.margin
    classes = [str(name) for name in goodness.classes_.tolist()]
    some = ", ".join(classes[:8]) + (", …" if len(classes) > 8 else "")
    related = "yes" if p.value <= SURE else "not shown"
    facts: list[tuple[str, object]] = [
        ("rows", f"{goodness.n:,} of {len(classes)} classes: {some}"),
        ("related to the labels?", f"{related}: p = {p.value:.3g}, {p.permutations:,} permutations"),
        ("centered alignment", around(goodness.centered_alignment)),
        ("own class less others", around(goodness.weak.balanced)),
    ]
    if weighted is not None:
        facts += [
            ("error of plain votes", percent(weighted.vote_error)),
            ("error of weighted votes", percent(weighted.error)),
        ]
    facts += [
        ("margin as a kernel", f"{margin.value:.3g}" if margin.value is not None else margin.reason),
        ("hardest rows", _listed(goodness.hardest)),
    ]
    return facts if weighted is None else [*facts, ("best landmarks", _listed(goodness.witnesses))]


def _listed(positions: object) -> str:
    return ", ".join(map(str, positions.tolist())) or "none"  # type: ignore[attr-defined]


def _gaps(goodness: Goodness) -> Table:
    """Return the gaps of definitions 2 and 3 as a table."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("all rows but", "all objects alike", "by weight, held out"):
        table.add_column(title, justify="right", no_wrap=True)
    alike = _by_share(goodness.strong)
    weighted = {} if goodness.weighted is None else _by_share(goodness.weighted)
    for share in SHARES:
        table.add_row(f"{share} %", alike[share], weighted.get(share, ""))
    return table


def _by_share(curve: Curve) -> dict[int, str]:
    """Return the gap and its interval by the share of rows, in per cent, that fall short of it."""
    points = zip(curve.x, curve.y, curve.low, curve.high, strict=True)
    return {round(100 * x): f"{y:.3g}  [{low:.3g}, {high:.3g}]" for x, y, low, high in points}
