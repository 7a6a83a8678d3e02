"""What is wrong with a text, said with a caret under the character."""

from __future__ import annotations

import unicodedata

from similitude.support.errors import ExpressionError

REACH = 36
"""Characters shown before and after the one that is pointed at."""


def pointed(problem: str, text: str, at: int) -> ExpressionError:
    """Return the error that shows a text, or the part of a long one around the character that is pointed at.

    >>> print(pointed("expected a number", "gaussian(sigma=)", 15))
    expected a number
      gaussian(sigma=)
                     ^
    """
    before, after = text[max(0, at - REACH) : at], text[at : at + REACH]
    left = ("…" if at > REACH else "") + _visible(before)
    right = _visible(after) + ("…" if at + REACH < len(text) else "")
    return ExpressionError(f"{problem}\n  {left}{right}\n  {' ' * sum(map(_width, left))}^")


def _visible(text: str) -> str:
    """Return a text with control characters and the like escaped, as Python writes them."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _width(letter: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
