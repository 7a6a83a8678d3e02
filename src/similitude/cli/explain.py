"""``similitude explain``: why a model predicts what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from similitude.cli.options import option
from similitude.cli.output import Computation, Terminal
from similitude.cli.saved_models import ModelOptions, SavedModel
from similitude.support import brief

if TYPE_CHECKING:
    from similitude.estimators import Explanation
    from similitude.relevance import Attribution


MAX_LISTED = 6
"""Largest number of training examples in the table."""

WITHOUT_VALUE = ("nan", "None", "<NA>", "NaT")
"""How cells without a value are written."""

MAX_EDGES = 8
"""Largest number of edges of a graph that are listed."""


def explain(
    given: ModelOptions,
    row: Annotated[int, option("Input", "--row", "The row of the file, counted from 0.", "NUMBER", min=0)],
    by: Annotated[
        Literal["auto", "examples", "landmarks"],
        option(
            "Output",
            "--by",
            "examples: the training examples that decided; auto takes them together where few of them do not tell; "
            "landmarks: the weights of landmarks, which may cancel.",
        ),
    ] = "auto",
    parts: Annotated[
        bool,
        option(
            "Output",
            "--parts/--no-parts",
            "Show what in the row mattered: letters, cells, items, nodes, segments. Similarities of your own: no.",
        ),
    ] = True,
    *,
    run: Computation,
) -> None:
    """Show which training examples decided one prediction, with their labels, and what in the row mattered."""
    from similitude.compute import as_objects
    from similitude.relevance import text_of

    found = given.load(run)
    one, actual = _row(run, found, given, row)
    with run.computing(f"explaining row {row:,}"):
        explanation = found.model.explain(one, by=by)[0]
        mattered = _attribution(found.model, one, found.schema.names) if parts else None
    label = str(found.about["label"])
    document = {"command": "explain", "row": row, "actual": actual, **explanation.to_dict()}
    if mattered is not None:
        document["attribution"] = {name: mattered.to_dict()[name] for name in ("parts", "values", "base", "how")}
    truth = "" if actual is None else f" (the file says {actual})"

    def show(terminal: Terminal) -> None:
        (shown,) = as_objects(one)
        terminal.say(f"{label}: {explanation.prediction}{truth}", "bold")
        terminal.facts([("row", in_short(shown))])
        of = "" if explanation.against is None else f" of {explanation.prediction} against {explanation.against}"
        terminal.say(f"\nThe score{of} is {explanation.score:.4g}, the sum of:")
        differs = ", where it differs" if isinstance(shown, dict) else ""
        title = f"{'landmark' if by == 'landmarks' else 'training example'}{differs}"
        columns = {"adds": "right", "label": "left", "rows": "right", "similarity": "right", "row at fit": "right"}
        if by == "landmarks":
            del columns["label"], columns["rows"]
        terminal.table({**columns, title: "fold"}, _lines(shown, explanation))
        if explanation.note:
            terminal.say(explanation.note)
        if mattered is not None:
            sums = "" if mattered.base is None else f"; with a base of {mattered.base:.3g} it sums to the score"
            terminal.say(f"What in the row mattered{sums}:")
            terminal.drawing(text_of(mattered))

    run.result(document, show)


def _attribution(model: Any, one: Any, names: Sequence[str]) -> Attribution | None:
    """Return what in an object mattered; None if that would call a user's function many times."""
    from similitude.compute import as_objects
    from similitude.relevance import attribution

    known = model.similarity_ if isinstance(model.similarity_, list) else [model.similarity_]
    if not all([k.hints.threadsafe for k in known]):
        return None
    (x,) = as_objects(one)
    return attribution(model, x, names=names)


def _row(run: Computation, found: SavedModel, given: ModelOptions, row: int) -> tuple[Any, Any]:
    """Return one row of a file as a collection of one, and its label if there is one."""
    import numpy as np

    from similitude.compute import take
    from similitude.data.files import batches

    before = 0
    for data in batches(given.file, schema=found.schema, **given.format_arguments()):
        run.note(*data.notes)
        if row < before + len(data):
            label = None if data.labels is None else data.labels[row - before]
            return take(data.objects, np.array([row - before])), label
        before += len(data)
    raise ValueError(f"{given.file} has {before:,} rows, so --row is from 0 to {before - 1:,}: there is no row {row:,}")


def _lines(row: Any, found: Explanation) -> list[tuple[str, ...]]:
    """Return the examples with the largest influences, the sum of the others, the rest, and the base."""
    cells = []
    for i in range(min(MAX_LISTED, len(found.examples))):
        place = "" if found.positions is None else str(found.positions[i])
        group = () if found.labels is None else (_label(found.labels[i]), f"{found.counts[i]:,}")
        example = in_short(found.examples[i], unlike=row)
        cells.append((f"{found.influences[i]:+.3g}", *group, f"{found.similarities[i]:.3g}", place, example))
    blank = ("",) * (2 if found.labels is None else 3)
    others = found.others(MAX_LISTED)
    if others is not None:
        size, what = others
        rows = () if found.labels is None else ("", f"{found.counts[MAX_LISTED:].sum():,}")
        cells.append((f"{size:+.3g}", *rows, "", "", what if found.labels is None else "all others"))
    if found.rest:
        cells.append((f"{found.rest:+.3g}", *blank, "", "left by the solver"))
    base = "intercept" if found.labels is None else "base: the score without any influence"
    return [*cells, (f"{found.base:+.3g}", *([""] * (len(cells[0]) - 2 if cells else len(blank) + 1)), base)]


def _label(label: Any) -> str:
    return f"{label:.4g}" if isinstance(label, float) else str(label)


def in_short(value: Any, unlike: Any = None) -> str:
    """Return an object in a line or two: of a row of a table the cells, or only those that differ from another row.

    >>> in_short({"age": 30, "job": "cook"}, unlike={"age": 40, "job": "cook"})
    'age 30'
    >>> in_short({"age": float("nan"), "job": "cook"})
    'age missing, job cook'
    >>> in_short(frozenset({"b", "a"})), in_short(([[0, 1], [1, 2]], ["C", "C", "O"]))
    ("{'a', 'b'}", "3 nodes, edges 0-1, 1-2, labels ['C', 'C', 'O']")
    """
    if isinstance(value, frozenset):
        return brief(set(value)) if value else "{}"
    if isinstance(value, tuple) and len(value) in (2, 3, 4):
        return _graph(*value)
    if not isinstance(value, dict):
        return brief(value)
    other = unlike if isinstance(unlike, dict) else {}
    unlike_other = {name: cell for name, cell in value.items() if name not in other or str(other[name]) != str(cell)}
    cells = [f"{name} {'missing' if str(cell) in WITHOUT_VALUE else cell}" for name, cell in unlike_other.items()]
    return ", ".join(cells) or "nowhere"


def _graph(edges: Any, nodes: Any, edge_labels: Any = None, attributes: Any = None) -> str:
    """Return a graph in the form of files: edges, labels of the nodes or their number, labels of the edges.

    Attributes of nodes are left out: numbers of many nodes tell a reader little.
    """
    count, labels = (nodes, "") if isinstance(nodes, int) else (len(nodes), f", labels {brief(nodes)}")
    pairs = [f"{u}-{v}" for u, v in list(edges)[:MAX_EDGES]] + ["…"] * (len(edges) > MAX_EDGES)
    marked = "" if edge_labels is None else f", edge labels {brief(edge_labels)}"
    return f"{count} {'node' if count == 1 else 'nodes'}, edges {', '.join(pairs) or 'none'}{labels}{marked}"
