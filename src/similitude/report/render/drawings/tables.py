"""Rows of a table, and objects with named fields, as lists of names and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import Any

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import escaped, number, shortened

COLUMNS = 30
"""Largest number of columns that are drawn."""


class TableRowDrawer(Drawer):
    """Draws a row as column names and values; marks values that differ from a near row, if at least half are equal.

    >>> TableRowDrawer().draw({"age": 30})
    '<dl class="drawing row"><div><dt>age</dt><dd>30</dd></div></dl>'
    """

    compares = True

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the list."""
        cells = list(_fields(one).items())
        other = _fields(near) if has_fields(near) else {}
        same = {name for name, value in cells if name in other and _shown(other[name]) == _shown(value)}
        close = 2 * len(same) >= len(cells)
        items = [_item(name, value, close and name not in same) for name, value in cells[:COLUMNS]]
        if len(cells) > COLUMNS:
            items.append(f"<div><dt>and</dt><dd>{len(cells) - COLUMNS:,} more columns</dd></div>")
        return f'<dl class="drawing row">{"".join(items)}</dl>'

    def marks(self) -> str:
        """Return the meaning of marked values."""
        return "Where at least half of the values equal those of the nearest landmark, the others are marked."


def has_fields(one: Any) -> bool:
    """Tell whether an object is a row: a mapping or a dataclass."""
    return isinstance(one, Mapping) or (dataclasses.is_dataclass(one) and not isinstance(one, type))


def _fields(one: Any) -> Mapping[Any, Any]:
    return (
        one if isinstance(one, Mapping) else {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    )


def _item(name: Any, value: Any, marked: bool) -> str:
    text = escaped(shortened(_shown(value), 120))
    text = f"<mark>{text}</mark>" if marked else text
    return f"<div><dt>{escaped(shortened(str(name), 60))}</dt><dd>{text}</dd></div>"


def _shown(value: Any) -> str:
    if isinstance(value, Set):
        return ", ".join(sorted(map(str, value)))
    missing = value is None or str(value) in ("nan", "NaT", "<NA>")
    return "missing" if missing else number(value)
