"""``similitude explain``: why a model predicts what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.output import Computation, Terminal
from similitude.cli.saved_models import ModelOptions, SavedModel
from similitude.support import brief

if TYPE_CHECKING:
    from similitude.estimators import Explanation


MAX_LANDMARKS = 6
"""Largest number of landmarks in the table."""

MAX_EDGES = 8
"""Largest number of edges of a graph that are listed."""

Row = Annotated[int, typer.Option("--row", min=0, metavar="NUMBER", help="The row of the file, counted from 0.")]


def explain(given: ModelOptions, row: Row, run: Computation) -> None:
    """Show which landmarks drove one prediction, and the contribution of each to the score."""
    from similitude.compute import as_objects

    found = given.load(run)
    one, actual = _row(run, found, given.file, row)
    with run.computing():
        explanation = found.model.explain(one)[0]
    classes, label = getattr(found.model, "classes_", None), str(found.about["label"])
    # the score is that of the second of two classes, of the predicted one of several, or the number
    target = label if classes is None else str(classes[1] if len(classes) == 2 else explanation.prediction)
    document = {"command": "explain", "row": row, "actual": actual, "score_of": target, **explanation.to_dict()}
    truth = "" if actual is None else f" (the file says {actual})"

    def show(terminal: Terminal) -> None:
        (shown,) = as_objects(one)
        terminal.say(f"{label}: {explanation.prediction}{truth}", "bold")
        terminal.facts([("row", in_short(shown))])
        terminal.say(f"\nThe score for {target} is {explanation.score:.4g}, the sum of:")
        title = "landmark, where it differs" if isinstance(shown, dict) else "landmark"
        columns = {"adds": "right", "similarity": "right", "row at fit": "right", title: "fold"}
        terminal.table(columns, _contributions(shown, explanation))

    run.result(document, show)


def _row(run: Computation, found: SavedModel, file: str, row: int) -> tuple[Any, Any]:
    """Return one row of a file as a collection of one, and its label if there is one."""
    import numpy as np

    from similitude.compute import take
    from similitude.data.files import batches

    before = 0
    for data in batches(file, schema=found.schema):
        run.note(*data.notes)
        if row < before + len(data):
            label = None if data.labels is None else data.labels[row - before]
            return take(data.objects, np.array([row - before])), label
        before += len(data)
    raise ValueError(f"{file} has {before:,} rows, so --row is from 0 to {before - 1:,}: there is no row {row:,}")


def _contributions(row: Any, explanation: Explanation) -> list[tuple[str, str, str, str]]:
    """Return the landmarks with the largest contributions, the sum of the others, and the intercept."""
    cells = []
    for i in range(min(MAX_LANDMARKS, len(explanation.landmarks))):
        place = "" if explanation.positions is None else str(explanation.positions[i])
        similarity, landmark = f"{explanation.similarities[i]:.3g}", in_short(explanation.landmarks[i], unlike=row)
        cells.append((f"{explanation.contributions[i]:+.3g}", similarity, place, landmark))
    rest = explanation.contributions[MAX_LANDMARKS:]
    if len(rest):
        cells.append((f"{rest.sum():+.3g}", "", "", f"{len(rest):,} other landmarks"))
    return [*cells, (f"{explanation.intercept:+.3g}", "", "", "intercept")]


def in_short(value: Any, unlike: Any = None) -> str:
    """Return an object in a line or two: of a row of a table the cells, or only those that differ from another row.

    >>> in_short({"age": 30, "job": "cook"}, unlike={"age": 40, "job": "cook"})
    'age 30'
    >>> in_short(frozenset({"b", "a"})), in_short(([[0, 1], [1, 2]], ["C", "C", "O"]))
    ("{'a', 'b'}", "3 nodes, edges 0-1, 1-2, labels ['C', 'C', 'O']")
    """
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
    """Return a graph in the form of files: edges, labels of the nodes or their number, labels of the edges."""
    count, labels = (nodes, "") if isinstance(nodes, int) else (len(nodes), f", labels {brief(nodes)}")
    pairs = [f"{u}-{v}" for u, v in list(edges)[:MAX_EDGES]] + ["…"] * (len(edges) > MAX_EDGES)
    marked = "" if edge_labels is None else f", edge labels {brief(edge_labels)}"
    return f"{count} {'node' if count == 1 else 'nodes'}, edges {', '.join(pairs) or 'none'}{labels}{marked}"
