"""Strings as people have them, turned into the numbers of their letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import as_objects
from similitude.kernels.ragged import starts_of
from similitude.support.errors import brief


def as_letters(objects: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the letters of all strings one after the other, and where each string starts.

    A letter is a unicode code point, or the value of a byte.

    >>> as_letters(["ab", "", b"a"])
    (array([97, 98, 97], dtype=uint32), array([0, 2, 2, 3]))
    """
    strings = as_objects(objects)
    try:
        text = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), np.uint32)
    except TypeError:
        text = np.frombuffer(
            "".join(map(_spelled, range(len(strings)), strings)).encode("utf-32-le", "surrogatepass"), "<u4"
        )
    return text, starts_of(np.fromiter(map(len, strings), np.int64, len(strings)))


def _spelled(i: int, string: Any) -> str:
    """Return a string or bytes as a string; name anything else."""
    if isinstance(string, str):
        return string
    if isinstance(string, (bytes, bytearray)):
        return string.decode("latin-1")
    raise TypeError(
        f"object {i} is {brief(string)}: string kernels need str or bytes; turn other objects into strings first, for "
        f"instance with k.pullback(str)"
    )
