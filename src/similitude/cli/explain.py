"""``similitude explain``: why a model predicts what it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from similitude.cli.output import Computation, Terminal
from similitude.cli.saved_models import ModelOptions
from similitude.support import brief, first_of, four_digits, number_of

if TYPE_CHECKING:
    from similitude.estimators import Explanation
    from similitude.relevance import Attribution


MAX_LISTED = 6
"""Largest number of training examples in the table."""


def explain(
    given: ModelOptions,
    row: int,
    by: Literal["auto", "examples", "landmarks"] = "auto",
    parts: bool = True,
    *,
    run: Computation,
) -> None:
    """Show which training examples decided one prediction, with their labels, and what in the row mattered."""
    from similitude.compute import as_objects
    from similitude.relevance import text_of

    model, about = given.load(run)
    one, actual = _row(run, given, about, row)
    with run.computing(f"explaining row {row:,}"):
        explanation = model.explain(one, by=by)[0]
        mattered = _attribution(model, one, about["schema"].get("names")) if parts else None
    label = str(about["label"])
    document = {"command": "explain", "row": row, "actual": actual, **explanation.to_dict()}
    if mattered is not None:
        document["attribution"] = {name: mattered.to_dict()[name] for name in ("parts", "values", "base", "how")}

    def show(terminal: Terminal) -> None:
        (shown,) = as_objects(one)
        said = f"{label}: {explanation.prediction}"
        if actual is not None:
            said += f" (the file says {actual})"
        terminal.say(said, "bold")
        terminal.facts([("row", in_short(shown))])
        of = ""
        if explanation.against is not None:
            of = f" of {explanation.prediction} against {explanation.against}"
        terminal.say(f"\nThe score{of} is {explanation.score:.4g}, the sum of:")
        title = "landmark" if by == "landmarks" else "training example"
        if isinstance(shown, dict):
            title += ", where it differs"
        columns = {"adds": "right", "label": "left", "rows": "right", "similarity": "right", "row at fit": "right"}
        if by == "landmarks":
            del columns["label"], columns["rows"]
        columns[title] = "fold"
        rows = _lines(shown, explanation, title)
        terminal.table(columns, [[one.get(name, "") for name in columns] for one in rows])
        if explanation.note:
            terminal.say(explanation.note)
        if mattered is not None:
            sums = ""
            if mattered.base is not None:
                sums = f"; with a base of {mattered.base:.3g} it sums to the score"
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


def _row(run: Computation, given: ModelOptions, about: dict[str, Any], row: int) -> tuple[Any, Any]:
    """Return one row of a file as a collection of one, and its label if there is one."""
    import numpy as np

    from similitude.compute import take

    before = 0
    for data in given.batches(run, about):
        if row < before + len(data):
            label = None if data.labels is None else data.labels[row - before]
            return take(data.objects, np.array([row - before])), label
        before += len(data)
    raise ValueError(f"{given.file} has {before:,} rows, so --row is from 0 to {before - 1:,}: there is no row {row:,}")


def _lines(row: Any, found: Explanation, title: str) -> list[dict[str, str]]:
    """Return the examples with the largest influences, the sum of the others, the rest, and the base, by column."""
    lines = []
    for i in range(min(MAX_LISTED, len(found.examples))):
        one = {"adds": f"{found.influences[i]:+.3g}", "similarity": f"{found.similarities[i]:.3g}"}
        one[title] = in_short(found.examples[i], unlike=row)
        if found.positions is not None:
            one["row at fit"] = str(found.positions[i])
        if found.labels is not None:
            one["label"] = four_digits(found.labels[i])
            one["rows"] = f"{found.counts[i]:,}"
        lines.append(one)
    others = found.others(MAX_LISTED)
    if others is not None:
        lines.append({"adds": f"{others[0]:+.3g}", title: others[1]})
        if found.labels is not None:
            lines[-1].update({"rows": f"{found.counts[MAX_LISTED:].sum():,}", title: "all others"})
    if found.rest:
        lines.append({"adds": f"{found.rest:+.3g}", title: "left by the solver"})
    base = "intercept" if found.labels is None else "base: the score without any influence"
    return [*lines, {"adds": f"{found.base:+.3g}", title: base}]


def in_short(value: Any, unlike: Any = None) -> str:
    """Return an object in a line or two: of a row of a table the cells, or only those that differ from another row."""
    if isinstance(value, frozenset):
        return brief(set(value)) if value else "{}"
    if isinstance(value, tuple) and len(value) in (2, 3, 4):
        return _graph(*value)
    if not isinstance(value, dict):
        return brief(value)
    texts = {name: re.sub("^(nan|None|<NA>|NaT)$", "missing", str(cell)) for name, cell in value.items()}
    if isinstance(unlike, dict):
        texts = {
            name: text for name, text in texts.items() if name not in unlike or str(unlike[name]) != str(value[name])
        }
    return ", ".join([f"{name} {text}" for name, text in texts.items()]) or "nowhere"


def _graph(edges: Any, nodes: Any, edge_labels: Any = None, attributes: Any = None) -> str:
    """Return a graph in the form of files: edges, labels of the nodes or their number, labels of the edges.

    Attributes of nodes are left out: numbers of many nodes tell a reader little.
    """
    count = nodes if isinstance(nodes, int) else len(nodes)
    pairs = first_of([f"{u}-{v}" for u, v in edges], 8)
    parts = [number_of(count, "node"), f"edges {pairs or 'none'}"]
    if not isinstance(nodes, int):
        parts.append(f"labels {brief(nodes)}")
    if edge_labels is not None:
        parts.append(f"edge labels {brief(edge_labels)}")
    return ", ".join(parts)
