"""What goes wrong between two objects, and how it is said."""

from __future__ import annotations

import reprlib
from typing import Any

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 60
_brief.maxlist = _brief.maxtuple = _brief.maxdict = _brief.maxset = _brief.maxfrozenset = _brief.maxarray = 4


def brief(value: Any) -> str:
    """Write any object in one short line, for error messages and sentences.

    >>> brief([1, 2, 3, 4, 5]), brief("kernel " * 20)
    ('[1, 2, 3, 4, ...]', "'kernel kernel kernel kernel...el kernel kernel kernel '")
    """
    if (
        type(value).__module__ != "builtins"
        and type(value).__str__ is not object.__str__
        and not hasattr(value, "shape")
    ):
        text = " ".join(str(value).split())
        return text if len(text) <= 100 else f"{text[:97]}..."
    if getattr(value, "format", None) == "csr" and value.shape[0] == 1:  # a sparse row: its numbers by their places
        value = dict(zip(value.indices.tolist(), value.data.tolist(), strict=True))
    if hasattr(value, "shape") and hasattr(value, "tolist") and getattr(value, "ndim", 2) == 1:
        value = value.tolist()
    return " ".join(_brief.repr(value).split())


class PairError(ValueError):
    """A similarity could not give a finite real number for one pair of objects.

    Parameters
    ----------
    i, j : int
        Positions of the query and of the other object.
    problem : str
        What was wrong with this pair.
    """

    def __init__(self, i: int, j: int, problem: str) -> None:
        super().__init__(i, j, problem)
        self.i, self.j, self.problem = i, j, problem

    def __str__(self) -> str:
        return f"pair ({self.i}, {self.j}): {self.problem}"

    def moved(self, down: int, right: int) -> PairError:
        """Name the same pair by its place in a larger matrix."""
        return PairError(self.i + down, self.j + right, self.problem)


class UnresolvedError(ValueError):
    """A similarity still waits for data to fix a parameter such as ``sigma="median"``."""


def missing_extra(extra: str, needed_for: str) -> ImportError:
    """Say in one line which ``pip`` command brings an optional part."""
    return ImportError(f"{needed_for} needs an optional part: pip install 'similitude[{extra}]'")
