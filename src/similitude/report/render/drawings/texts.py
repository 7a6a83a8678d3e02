"""Objects as text: strings, rows of a table, sets, rows of a matrix, and the repr of anything else."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence, Set
from difflib import SequenceMatcher
from itertools import groupby
from numbers import Real
from typing import Any

from similitude.report.render.drawings.html_snippets import escaped, full_repr, number, shortened

SEQUENCE_LIMIT = 600
"""Letters of a sequence that are drawn and compared; the time of an alignment grows with their square."""


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

    marks = ""
    """The meaning of marked parts, or an empty string."""

    def draw(self, one: Any, near: Any = None) -> str:
        """Return one object as HTML; `near` is the object that it is compared with."""
        full = full_repr(one)
        short = full if len(full) <= 120 else f"{full[:119]}…"
        return f'<code class="drawing repr" title="{escaped(full)}">{escaped(short)}</code>'

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


class SetDrawer(Drawer):
    """Draws each element as a chip and marks those shared with a near set.

    >>> SetDrawer().draw({"Ann", "Bob"}, near={"Bob"})
    '<span class="drawing set"><span class="chip">Ann</span> <mark class="chip">Bob</mark></span>'
    """

    compares = True
    marks = "Marked elements are shared with the training example that decided most."

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the chips, sorted by their text; of many elements, the first."""
        elements = sorted(str(element) for element in one)
        shared = {str(element) for element in near} if isinstance(near, (set, frozenset, list, tuple)) else set()
        chips = []
        for element in elements[:40]:
            tag = "mark" if element in shared else "span"
            chips.append(f'<{tag} class="chip">{escaped(shortened(element, 60))}</{tag}>')
        if len(elements) > len(chips):
            chips.append(f'<span class="rest">and {len(elements) - len(chips):,} more</span>')
        return f'<span class="drawing set">{" ".join(chips) or "empty set"}</span>'


class TextDrawer(Drawer):
    """Draws texts; long ones are cut.

    >>> TextDrawer().draw("fish & chips")
    '<span class="drawing text">fish &amp; chips</span>'
    """

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the text."""
        return f'<span class="drawing text">{escaped(shortened(_as_text(one), 2000))}</span>'


class SequenceDrawer(Drawer):
    """Draws sequences in a fixed-width font and marks letters that differ from a near one.

    >>> SequenceDrawer().draw("ACGT", near="ACCT")
    '<code class="drawing sequence">AC<mark>G</mark>T</code>'
    """

    compares = True
    marks = "Marked letters differ from those of the training example that decided most."

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the letters, compared position by position if both have the same length, otherwise aligned."""
        text = _as_text(one)
        shown = text[:SEQUENCE_LIMIT]
        pieces = [(shown, False)]
        if isinstance(near, (str, bytes)):
            pieces = _compared(shown, _as_text(near)[:SEQUENCE_LIMIT])
        letters = "".join(f"<mark>{escaped(piece)}</mark>" if differs else escaped(piece) for piece, differs in pieces)
        rest = f"… ({len(text):,} letters)" if len(text) > SEQUENCE_LIMIT else ""
        return f'<code class="drawing sequence">{letters}{rest}</code>'


def are_texts(objects: list[Any]) -> bool:
    """Whether most of these strings contain white space."""
    with_words = sum(bool(set(_as_text(one).strip()) & set(" \n\t")) for one in objects)
    return 2 * with_words > len(objects)


def _as_text(one: Any) -> str:
    return one.decode("utf-8", "backslashreplace") if isinstance(one, bytes) else str(one)


def _compared(text: str, near: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether it differs from the near one."""
    if len(text) != len(near):
        same = SequenceMatcher(None, text, near, autojunk=False).get_opcodes()
        return [(text[a:b], what != "equal") for what, a, b, _, _ in same if b > a]
    pairs = groupby(zip(text, near, strict=True), lambda pair: pair[0] != pair[1])
    return [("".join(letter for letter, _ in piece), differs) for differs, piece in pairs]


class TableRowDrawer(Drawer):
    """Draws a row as column names and values; beside a near row, only the cells that differ, the most different first.

    Columns named in `last`, such as identifiers, come last.

    >>> TableRowDrawer().draw({"age": 30})
    '<dl class="drawing row"><div><dt>age</dt><dd>30</dd></div></dl>'
    >>> TableRowDrawer([{"age": 30}, {"age": 80}]).draw({"age": 30, "job": "cook"}, near={"age": 31, "job": "pilot"})
    '<dl class="drawing row"><div><dt>job</dt><dd>cook</dd></div><div><dt>and</dt><dd>1 alike</dd></div></dl>'
    """

    compares = True
    marks = "Only cells that differ from those of the training example that decided most; details have all."

    def __init__(self, objects: Sequence[Any] = (), last: Collection[str] = ()) -> None:
        self.last = frozenset(last)
        numbers: dict[Any, list[float]] = {}
        for one in filter(has_fields, objects):
            for name, value in _fields(one).items():
                if _is_number(value):
                    numbers.setdefault(name, []).append(float(value))
        self.spans = {name: max(values) - min(values) for name, values in numbers.items()}

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the list: all cells up to 60, or the five that differ most; numbers less than 10 % apart are alike."""
        cells = _fields(one)
        if has_fields(near):
            other = _fields(near)
            apart = {name: self._apart(name, value, other.get(name)) for name, value in cells.items()}
            differing = [name for name in cells if apart[name] > 0.1]
            shown = sorted(differing, key=lambda name: (str(name) in self.last, -apart[name]))[:5]
            counts = {"alike": len(cells) - len(differing), "more that differ": len(differing) - len(shown)}
        else:
            shown = list(cells)[:60]
            counts = {"more columns": len(cells) - len(shown)}
        limit = 120 if near is None else 40
        items = [(escaped(shortened(str(name), 60)), escaped(shortened(_shown(cells[name]), limit))) for name in shown]
        more = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        items += [("and", more)] * bool(more)
        rows = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in items)
        return f'<dl class="drawing row">{rows}</dl>'

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
    """Whether an object is a row: a mapping or a dataclass."""
    return isinstance(one, Mapping) or (dataclasses.is_dataclass(one) and not isinstance(one, type))


def _fields(one: Any) -> Mapping[Any, Any]:
    if isinstance(one, Mapping):
        return one
    return {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}


def _shown(value: Any) -> str:
    if isinstance(value, Set):
        return ", ".join(sorted(map(str, value)))
    missing = value is None or str(value) in ("nan", "NaT", "<NA>")
    return "missing" if missing else number(value)
