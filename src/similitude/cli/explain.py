"""``similitude explain``: why a model decided so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.options import AsJson, Engine, File, Model, Trust, engine_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from similitude.cli.models import Saved
    from similitude.cli.output import Output
    from similitude.estimators.explanation import Explanation

EXAMPLE = "Example: similitude explain genes.sim new.csv --row 3"

SHOWN = 6
"""Landmarks that are shown to a person."""

EDGES = 8
"""Edges of a graph that are shown."""

Row = Annotated[int, typer.Option("--row", min=0, metavar="NUMBER", help="Which row of the file, counted from 0.")]


def explain(
    model: Model,
    file: File,
    row: Row,
    trust: Trust = False,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Show which landmarks drove one prediction, and what each added to the score."""
    from similitude.cli.models import saved
    from similitude.cli.output import Output, warnings_caught
    from similitude.compute.engines import use_engine

    out, local = Output(as_json), engine_of(engine)
    found = saved(out, model, trust)
    one, actual = _row(out, found, file, row)
    with use_engine(local), warnings_caught() as said:
        explanation = found.model.explain(one)[0]
    out.note_each(said)
    target = _target(found, explanation)
    document = {"command": "explain", "row": row, "actual": actual, "score_of": target, **explanation.to_dict()}
    out.result(document, lambda console: _show(console, found.about, target, actual, one, explanation))


def _row(out: Output, found: Saved, file: str, row: int) -> tuple[Any, Any]:
    """Return one row of a file as a collection of one, and its label if there is one."""
    import numpy as np

    from similitude.compute.encodings import take

    before = 0
    for data in found.batches(file):
        out.note_each(data.notes)
        if row < before + len(data):
            label = None if data.labels is None else data.labels[row - before]
            return take(data.objects, np.array([row - before])), label
        before += len(data)
    raise ValueError(f"{file} has {before:,} rows, so --row is from 0 to {before - 1:,}: there is no row {row:,}")


def _target(found: Saved, explanation: Explanation) -> str:
    """Return what the score speaks for: the second of two classes, the predicted one of several, or the number."""
    classes = getattr(found.model, "classes_", None)
    if classes is None:
        return str(found.about["label"])
    return str(classes[1] if len(classes) == 2 else explanation.prediction)


def _show(
    console: Console, about: dict[str, Any], target: str, actual: Any, one: Any, explanation: Explanation
) -> None:
    from similitude.cli.output import printable, show_facts, show_table
    from similitude.compute.encodings import as_objects

    (row,) = as_objects(one)
    truth = "" if actual is None else f" (the file says {actual})"
    console.print(printable(f"{about['label']}: {explanation.prediction}{truth}"), style="bold")
    show_facts(console, [("row", shown(row))])
    console.print(printable(f"\nThe score for {target} is {explanation.score:.4g}, the sum of:"))
    show_table(console, _table(row, explanation))


def _table(row: Any, explanation: Explanation) -> Table:
    """Return the landmarks that count most; of those that are rows of a table, where they differ."""
    from rich import box
    from rich.table import Table

    from similitude.cli.output import printable

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("adds", "similarity", "row at fit"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("landmark, where it differs" if isinstance(row, dict) else "landmark", overflow="fold")
    for i in range(min(SHOWN, len(explanation.landmarks))):
        place = "" if explanation.positions is None else str(explanation.positions[i])
        alike, landmark = f"{explanation.similarities[i]:.3g}", shown(explanation.landmarks[i], unlike=row)
        table.add_row(f"{explanation.contributions[i]:+.3g}", alike, place, printable(landmark))
    rest = explanation.contributions[SHOWN:]
    if len(rest):
        table.add_row(f"{rest.sum():+.3g}", "", "", f"{len(rest):,} other landmarks")
    table.add_row(f"{explanation.intercept:+.3g}", "", "", "always")
    return table


def shown(value: Any, unlike: Any = None) -> str:
    """Write an object in a line or two: of a row of a table the cells, or only those `unlike` another row's.

    >>> shown({"age": 30, "job": "cook"}, unlike={"age": 40, "job": "cook"})
    'age 30'
    >>> shown(frozenset({"b", "a"})), shown(([[0, 1], [1, 2]], ["C", "C", "O"]))
    ("{'a', 'b'}", "3 nodes, edges 0-1, 1-2, labels ['C', 'C', 'O']")
    """
    from similitude.support.errors import brief

    if isinstance(value, frozenset):
        return brief(set(value)) if value else "{}"
    if isinstance(value, tuple) and len(value) in (2, 3):
        return _graph(*value)
    if not isinstance(value, dict):
        return brief(value)
    other = unlike if isinstance(unlike, dict) else {}
    cells = [f"{name} {cell}" for name, cell in value.items() if name not in other or str(other[name]) != str(cell)]
    return ", ".join(cells) or "nowhere"


def _graph(edges: Any, nodes: Any, edge_labels: Any = None) -> str:
    """Write a graph as files have it: its edges, the labels of its nodes or their number, the labels of its edges."""
    from similitude.support.errors import brief

    count, labels = (nodes, "") if isinstance(nodes, int) else (len(nodes), f", labels {brief(nodes)}")
    pairs = [f"{u}-{v}" for u, v in list(edges)[:EDGES]] + ["…"] * (len(edges) > EDGES)
    marked = "" if edge_labels is None else f", edge labels {brief(edge_labels)}"
    return f"{count} {'node' if count == 1 else 'nodes'}, edges {', '.join(pairs) or 'none'}{labels}{marked}"
