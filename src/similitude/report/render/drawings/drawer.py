"""The base class of drawers, which shows the repr of any object; and rows of a precomputed matrix."""

from __future__ import annotations

from typing import Any

from similitude.report.render.drawings.html_snippets import escaped, full_repr

SHORT = 120
"""Characters of a repr that are visible; the full text is in the title."""


class Drawer:
    """Draws objects of one kind as HTML.

    A drawer is made for a collection of objects, so that all of them have the same scale and the same colors. This
    one shows the repr; its subclasses draw objects of one kind.

    Examples
    --------
    >>> Drawer().draw(3 + 4j)
    '<code class="drawing repr" title="(3+4j)">(3+4j)</code>'
    """

    compares = False
    """Whether a drawing depends on the object that it is compared with."""

    def draw(self, one: Any, near: Any = None) -> str:
        """Return one object as HTML; `near` is the object that it is compared with."""
        full = full_repr(one)
        short = full if len(full) <= SHORT else f"{full[: SHORT - 1]}…"
        return f'<code class="drawing repr" title="{escaped(full)}">{escaped(short)}</code>'

    def marks(self) -> str:
        """Return the meaning of marked parts, or an empty string."""
        return ""

    def legend(self) -> str:
        """Return the legend of colors and scales, or an empty string."""
        return ""


class IndexDrawer(Drawer):
    """Shows objects that are rows of a precomputed matrix.

    >>> IndexDrawer().draw(3)
    '<span class="drawing text">row 3 of the matrix</span>'
    """

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the number of the row."""
        return f'<span class="drawing text">row {int(one)} of the matrix</span>'
