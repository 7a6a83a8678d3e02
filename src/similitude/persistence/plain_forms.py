"""How values of other types are stored: as plain parts by name, from which equal values are made again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from similitude.support import SavedModelError

Parts = dict[str, Any]


def linear(parts: Parts, size: int) -> int:
    """Return the work of visiting every part once."""
    return size


class PlainForm(NamedTuple):
    """Two functions, from a value to its parts and back, and the work of the second.

    Parts are numbers, strings, arrays, containers, or values that have a plain form themselves. A value that cannot be
    stored raises SavedModelError, whose message goes on after the name of the place: "has two heads: cut one off".
    `work` returns the number of bytes that making a value visits or takes, given its parts, which may be anything that
    a file can say, and their size.
    """

    parts: Callable[[Any], Parts]
    make: Callable[..., Any]
    work: Callable[[Parts, int], int] = linear


def attributes(*names: str) -> Callable[[Any], Parts]:
    """Return a function that takes the parts from the attributes of a value."""
    return lambda value: {name: getattr(value, name) for name in names}


def library(name: str) -> Any:
    """Import the library that some values of a model belong to."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SavedModelError(f"the model contains objects that need {name}: pip install {name}") from error
