"""Pieces of HTML that all drawings share; everything that comes from a user is escaped here."""

from __future__ import annotations

import html
import reprlib
from typing import Any

PALETTE_SIZE = 10
"""Number of colors for labels and channels; further ones start over."""

TITLE_LIMIT = 2000
"""Largest number of characters of an object's full text."""

_long = reprlib.Repr()
_long.maxstring = _long.maxother = _long.maxlong = TITLE_LIMIT
_long.maxlist = _long.maxtuple = _long.maxset = _long.maxfrozenset = _long.maxdict = _long.maxarray = 200


def escaped(value: Any) -> str:
    """Return a value as escaped text.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(str(value), quote=True)


def number(value: Any) -> str:
    """Return a number with four significant digits, anything else as text.

    >>> number(0.123456), number(1234567), number("a")
    ('0.1235', '1234567', 'a')
    """
    return f"{value:.4g}" if isinstance(value, float) or type(value).__name__.startswith("float") else str(value)


def shortened(text: str, limit: int) -> str:
    """Return a text, cut to a limit with its length appended.

    >>> shortened("abcdef", 3), shortened("abc", 3)
    ('abc… (6 characters)', 'abc')
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def full_repr(one: Any) -> str:
    """Return the full repr of an object, up to a limit; if repr fails, the name of its class."""
    try:
        return shortened(" ".join(_long.repr(one).split()), TITLE_LIMIT)
    except Exception as error:
        return f"<{type(one).__name__}: repr failed with {type(error).__name__}>"


def picture(body: str, width: float, height: float, label: str, kind: str) -> str:
    """Return an SVG picture with a text alternative."""
    return (
        f'<svg class="drawing {kind}" width="{width:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escaped(label)}"><title>{escaped(label)}</title>{body}</svg>'
    )


def swatches(names: list[Any], what: str) -> str:
    """Return a legend with one colored square per name."""
    items = "".join(
        f'<li><span class="swatch fill-{i % PALETTE_SIZE}"></span>{escaped(name)}</li>' for i, name in enumerate(names)
    )
    return f'<ul class="legend" aria-label="{escaped(what)}">{items}</ul>'
