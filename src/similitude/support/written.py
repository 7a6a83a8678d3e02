"""Values as code writes them, with scalars of NumPy as plain numbers and texts: 0.5, not np.float64(0.5)."""

from __future__ import annotations

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
