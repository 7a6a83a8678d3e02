"""Strings: sequences letter by letter, and texts."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import escaped, shortened

SEQUENCE_LIMIT = 600
"""Largest number of letters of a sequence."""

TEXT_LIMIT = 2000
"""Largest number of characters of a text."""


class TextDrawer(Drawer):
    """Draws texts; long ones are cut.

    >>> TextDrawer().draw("fish & chips")
    '<span class="drawing text">fish &amp; chips</span>'
    """

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the text."""
        return f'<span class="drawing text">{escaped(shortened(_as_text(one), TEXT_LIMIT))}</span>'


class SequenceDrawer(Drawer):
    """Draws sequences in a fixed-width font and marks letters that differ from a near one.

    >>> SequenceDrawer().draw("ACGT", near="ACCT")
    '<code class="drawing sequence">AC<mark>G</mark>T</code>'
    """

    compares = True

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the letters, compared position by position if both have the same length, otherwise aligned."""
        text = _as_text(one)
        shown = text[:SEQUENCE_LIMIT]
        pieces = [(shown, False)] if not isinstance(near, (str, bytes)) else _compared(shown, _as_text(near))
        letters = "".join(f"<mark>{escaped(piece)}</mark>" if differs else escaped(piece) for piece, differs in pieces)
        rest = f"… ({len(text):,} letters)" if len(text) > SEQUENCE_LIMIT else ""
        return f'<code class="drawing sequence">{letters}{rest}</code>'

    def marks(self) -> str:
        """Return the meaning of marks."""
        return "Marked letters differ from those of the training example that decided most."


def are_texts(objects: list[Any]) -> bool:
    """Tell whether most of these strings contain white space."""
    with_words = sum(bool(set(_as_text(one).strip()) & set(" \n\t")) for one in objects)
    return 2 * with_words > len(objects)


def _as_text(one: Any) -> str:
    return one.decode("utf-8", "backslashreplace") if isinstance(one, bytes) else str(one)


def _compared(text: str, near: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether it differs from the near one."""
    near = near[:SEQUENCE_LIMIT]
    if len(text) != len(near):
        same = SequenceMatcher(None, text, near, autojunk=False).get_opcodes()
        return [(text[a:b], what != "equal") for what, a, b, _, _ in same if b > a]
    pairs = groupby(zip(text, near, strict=True), lambda pair: pair[0] != pair[1])
    return [("".join(letter for letter, _ in piece), differs) for differs, piece in pairs]
