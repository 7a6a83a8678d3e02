"""Rows of a table, and objects with named fields, as lists of names and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence, Set
from numbers import Real
from typing import Any

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import escaped, number, shortened

COLUMNS = 60
"""Largest number of columns that are drawn."""

DIFFERING = 5
"""Largest number of differing cells that are drawn."""

MAX_CELL, MAX_DIFFERING = 120, 40
"""Characters of a cell, and of one that is shown because it differs."""

ALIKE = 0.1
"""Numbers that differ by less than this share of the column's range are alike."""


class TableRowDrawer(Drawer):
    """Draws a row as column names and values; beside a near row, only the cells that differ, the most different first.

    Columns named in `last`, such as identifiers, come last.

    >>> TableRowDrawer().draw({"age": 30})
    '<dl class="drawing row"><div><dt>age</dt><dd>30</dd></div></dl>'
    >>> TableRowDrawer([{"age": 30}, {"age": 80}]).draw({"age": 30, "job": "cook"}, near={"age": 31, "job": "pilot"})
    '<dl class="drawing row"><div><dt>job</dt><dd>cook</dd></div><div><dt>and</dt><dd>1 alike</dd></div></dl>'
    """

    compares = True

    def __init__(self, objects: Sequence[Any] = (), last: Collection[str] = ()) -> None:
        self.last = frozenset(last)
        numbers: dict[Any, list[float]] = {}
        for one in filter(has_fields, objects):
            for name, value in _fields(one).items():
                if _is_number(value):
                    numbers.setdefault(name, []).append(float(value))
        self.spans = {name: max(values) - min(values) for name, values in numbers.items()}

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the list."""
        cells = _fields(one)
        if has_fields(near):
            other = _fields(near)
            apart = {name: self._apart(name, value, other.get(name)) for name, value in cells.items()}
            differing = [name for name in cells if apart[name] > ALIKE]
            shown = sorted(differing, key=lambda name: (str(name) in self.last, -apart[name]))[:DIFFERING]
            alike, hidden = len(cells) - len(differing), len(differing) - len(shown)
            more = [f"{alike:,} alike"] * (alike > 0) + [f"{hidden:,} more that differ"] * (hidden > 0)
        else:
            shown = list(cells)[:COLUMNS]
            more = [f"{len(cells) - COLUMNS:,} more columns"] * (len(cells) > COLUMNS)
        limit = MAX_CELL if near is None else MAX_DIFFERING
        items = [_item(name, cells[name], limit) for name in shown]
        items += [f"<div><dt>and</dt><dd>{', '.join(more)}</dd></div>"] * bool(more)
        return f'<dl class="drawing row">{"".join(items)}</dl>'

    def marks(self) -> str:
        """Return the meaning of the cells."""
        return "Only cells that differ from those of the training example that decided most; details have all."

    def _apart(self, name: Any, value: Any, other: Any) -> float:
        """Return how much two cells differ: 0 if they are equal, 1 if they are not numbers, or a share of the range."""
        if _shown(value) == _shown(other):
            return 0.0
        if not (_is_number(value) and _is_number(other)):
            return 1.0
        return abs(float(value) - float(other)) / (self.spans.get(name) or 1.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) == float(value)


def has_fields(one: Any) -> bool:
    """Tell whether an object is a row: a mapping or a dataclass."""
    return isinstance(one, Mapping) or (dataclasses.is_dataclass(one) and not isinstance(one, type))


def _fields(one: Any) -> Mapping[Any, Any]:
    return (
        one if isinstance(one, Mapping) else {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    )


def _item(name: Any, value: Any, limit: int) -> str:
    text = escaped(shortened(_shown(value), limit))
    return f"<div><dt>{escaped(shortened(str(name), 60))}</dt><dd>{text}</dd></div>"


def _shown(value: Any) -> str:
    if isinstance(value, Set):
        return ", ".join(sorted(map(str, value)))
    missing = value is None or str(value) in ("nan", "NaT", "<NA>")
    return "missing" if missing else number(value)
