"""Objects without a picture of their own: what they say of themselves, shortened."""

from __future__ import annotations

from typing import Any

from similitude.report.drawings.snippets import escaped, spelled

SHORT = 120
"""Characters of a repr that are shown; the full text is in the title."""


class Drawer:
    """Draws objects of one kind as HTML.

    A drawer is made for a collection of objects, so that all of them have the same scale and the same colors. This
    one writes the repr of anything; others know their kind better.

    Examples
    --------
    >>> Drawer().draw(3 + 4j)
    '<code class="drawing repr" title="(3+4j)">(3+4j)</code>'
    """

    compares = False
    """Whether a drawing depends on the object that it is seen beside."""

    def draw(self, one: Any, near: Any = None) -> str:
        """Return one object as HTML; `near` is another one that it is seen beside."""
        full = spelled(one)
        short = full if len(full) <= SHORT else f"{full[: SHORT - 1]}…"
        return f'<code class="drawing repr" title="{escaped(full)}">{escaped(short)}</code>'

    def marks(self) -> str:
        """Return what a marked part of an example means, or nothing."""
        return ""

    def legend(self) -> str:
        """Return what colors mean, or nothing."""
        return ""


class Positions(Drawer):
    """Names objects that are known by their similarities only: rows of a matrix.

    >>> Positions().draw(3)
    '<span class="drawing text">row 3 of the matrix</span>'
    """

    def draw(self, one: Any, near: Any = None) -> str:
        """Return which row it is."""
        return f'<span class="drawing text">row {int(one)} of the matrix</span>'
