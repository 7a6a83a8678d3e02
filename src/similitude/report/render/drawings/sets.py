"""Sets drawn as chips, one per element."""

from __future__ import annotations

from typing import Any

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import escaped, shortened

CHIPS = 40
"""Largest number of elements that are drawn."""


class SetDrawer(Drawer):
    """Draws each element as a chip and marks those shared with a near set.

    >>> SetDrawer().draw({"Ann", "Bob"}, near={"Bob"})
    '<span class="drawing set"><span class="chip">Ann</span> <mark class="chip">Bob</mark></span>'
    """

    compares = True

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the chips, sorted by their text."""
        elements = sorted(str(element) for element in one)
        shared = {str(element) for element in near} if isinstance(near, (set, frozenset, list, tuple)) else set()
        chips = [_chip(element, element in shared) for element in elements[:CHIPS]]
        if len(elements) > CHIPS:
            chips.append(f'<span class="rest">and {len(elements) - CHIPS:,} more</span>')
        return f'<span class="drawing set">{" ".join(chips) or "empty set"}</span>'

    def marks(self) -> str:
        """Return the meaning of marked chips."""
        return "Marked elements are shared with the training example that decided most."


def _chip(element: str, shared: bool) -> str:
    tag = "mark" if shared else "span"
    return f'<{tag} class="chip">{escaped(shortened(element, 60))}</{tag}>'
