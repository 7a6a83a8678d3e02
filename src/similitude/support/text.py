"""Text for people: values as code writes them, 0.5 and not np.float64(0.5), and without control characters."""

from __future__ import annotations

import re
from typing import Any

_BRACKETS: dict[Any, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}


def written(value: Any) -> str:
    """Return the repr of a value, without the names of NumPy's types of scalars.

    >>> import numpy as np
    >>> written((np.str_("a"),)), written({np.int64(1): [np.float64(0.5), None]}), written(np.array([1.0]))
    ("('a',)", '{1: [0.5, None]}', 'array([1.])')
    """
    value, kind = unboxed(value), type(value)
    if kind is dict:
        return "{" + ", ".join([f"{written(key)}: {written(item)}" for key, item in value.items()]) + "}"
    if kind not in _BRACKETS or not value:
        return repr(value)
    first, last = _BRACKETS[kind]
    inside = ", ".join(map(written, value))
    return f"{first}{inside}{',' * (kind is tuple and len(value) == 1)}{last}"


def plain_values(value: Any) -> Any:
    """Return a value with NumPy's scalars in it, also inside of lists, tuples and dicts, as those of Python."""
    kind = type(value)
    if kind is dict:
        return {plain_values(key): plain_values(item) for key, item in value.items()}
    return kind(map(plain_values, value)) if kind in (list, tuple) else unboxed(value)


def unboxed(value: Any) -> Any:
    """Return a scalar of NumPy as a number or a text of Python; anything else as it is."""
    if type(value).__module__ != "numpy" or getattr(value, "shape", None) != ():
        return value
    return str(value) if value.dtype.kind in "mM" else value.item()  # dates: nanoseconds would become a number


def four_digits(value: Any) -> str:
    """Return a number with four significant digits, anything else as text.

    >>> four_digits(0.123456), four_digits(1234567), four_digits("a")
    ('0.1235', '1234567', 'a')
    """
    value = unboxed(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def for_people(text: object) -> str:
    """Return text without control characters and with short numbers."""
    return short_numbers(printable(text))


def cut_to(most: int, text: str) -> str:
    """Return a text, of a long one the beginning.

    >>> cut_to(6, "kernel"), cut_to(5, "kernel")
    ('kernel', 'kern…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_of(items: Any, most: int) -> str:
    """Return items in a row, of many the first ones.

    >>> first_of([1, 2, 3], 3), first_of([1, 2, 3], 2)
    ('1, 2, 3', '1, 2, …')
    """
    items = list(map(str, items))
    return ", ".join([*items[:most], *["…"] * (len(items) > most)])


_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of text
    r"\u180e\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # no width, or lines of their own
    r"\ud800-\udfff]"
)


def printable(text: object) -> str:
    """Escape control characters except tabs and line ends, and marks that turn text or have no width except joiners."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


LONG_NUMBER = re.compile(r"(?:(?<=[=(\[*])|(?<=, ))(-?\d+\.\d{5,}(?:e[-+]?\d+)?)(?![\w.])")
"""A number of many digits, in an expression."""


def short_numbers(text: str) -> str:
    """Return an expression with four significant digits of each number, for people to read.

    >>> short_numbers("0.5*Gaussian(sigma=0.7071067811865476, metric=[1.52, 0.12345678])")
    '0.5*Gaussian(sigma=0.7071, metric=[1.52, 0.1235])'
    """
    return LONG_NUMBER.sub(lambda found: f"{float(found[1]):.4g}", text)
