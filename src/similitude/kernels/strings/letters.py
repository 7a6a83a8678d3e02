"""Strings encoded as the code points of their letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import as_objects
from similitude.kernels.ragged import Ragged, ragged_rows, starts_of
from similitude.support import brief


class Letters(Ragged):
    """Strings as numbers of letters, stored consecutively: string i is ``text[starts[i]:starts[i + 1]]``."""

    def __init__(self, text: np.ndarray, starts: np.ndarray) -> None:
        self.text, self.starts = text, starts

    def __getitem__(self, which: Any) -> Letters:
        starts, letters = ragged_rows(self.starts, which)
        return Letters(self.text[letters], starts)

    def entries(self) -> tuple[np.ndarray, ...]:
        """Return the letters."""
        return (self.text,)


def as_letters(objects: Any) -> Letters:
    """Return the letters of all strings: unicode code points, or the values of bytes.

    >>> letters = as_letters(["ab", "", b"a"])
    >>> letters.text, letters.starts
    (array([97, 98, 97], dtype=uint32), array([0, 2, 2, 3]))
    """
    strings = as_objects(objects)
    try:
        text = "".join(strings)
    except TypeError:
        text = "".join(map(as_text, range(len(strings)), strings))
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32, copy=False)
    return Letters(code_points, starts_of(np.fromiter(map(len, strings), np.int64, len(strings))))


def as_text(i: int, string: Any) -> str:
    """Return a string or bytes as a string; refuse anything else."""
    if isinstance(string, str):
        return string
    if isinstance(string, (bytes, bytearray)):
        return string.decode("latin-1")
    raise TypeError(
        f"object {i} is {brief(string)}: string kernels need str or bytes; turn other objects into strings first, for "
        f"instance with k.pullback(str)"
    )


def numbered(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return letters numbered from 0 on; those that occur in `a` only have the same number."""
    numbers = np.zeros(int(max(a.max(initial=0), b.max(initial=0))) + 1, np.int32)
    numbers[b] = 1
    numbers = np.cumsum(numbers, dtype=np.int32) * numbers
    return numbers[a], numbers[b]
