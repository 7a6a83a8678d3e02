"""Strings encoded as the code points of their letters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import as_objects
from similitude.kernels.ragged import Ragged, starts_of
from similitude.support import brief

LETTERS_AT_ONCE = 1 << 16
"""Letters of the strings that are encoded at a time."""


class Letters(Ragged):
    """Strings as numbers of letters, stored consecutively: string i is ``text[starts[i]:starts[i + 1]]``."""

    of_entries = ("text",)
    described_by = ("text",)
    text: np.ndarray


def as_letters(objects: Any, first: int = 0) -> Letters:
    """Return unicode code points, or the values of bytes; errors call the first string object number `first`."""
    strings = as_objects(objects)
    try:
        text = "".join(strings)
    except TypeError:
        text = "".join(map(as_text, range(first, first + len(strings)), strings))
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32, copy=False)
    return Letters(starts_of(np.fromiter(map(len, strings), np.int64, len(strings))), code_points)


def letters_in_parts(objects: Any) -> Iterator[Letters]:
    """Yield the letters of some strings after the other: a letter takes four bytes, what is made of it even more."""
    strings = as_objects(objects)
    sizes = [len(one) for one in strings if isinstance(one, (str, bytes, bytearray))]
    portions = np.cumsum(sizes) // LETTERS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(portions)) + 1).tolist(), len(strings)]
    yield from (as_letters(strings[first:last], first) for first, last in pairwise(cuts))


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
