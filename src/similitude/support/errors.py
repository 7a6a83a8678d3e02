"""What goes wrong between two objects, and how it is said."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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


class CheckpointError(RuntimeError):
    """A checkpoint that belongs to something else, is damaged, or cannot be written."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the computation goes on."""


class ClusterError(RuntimeError):
    """The scheduler or the workers of a cluster are gone."""


class ExpressionError(ValueError):
    """A text that says no similarity; the message shows it, with a caret under the character that is wrong."""


class FileError(ValueError):
    """A file that cannot be read or written as asked: one or two lines that say what is wrong and what to do."""


class InseparableError(ValueError):
    """A zero-noise separator was asked for, and none exists.

    Parameters
    ----------
    problem : str
        What is missing, in words.
    conflicts : sequence of int
        Positions of a few examples that no separator can all put on their own sides. Without any one of them the
        others can be separated, where there are 100 of them at most. Examples at the origin are on no side of a
        separator through it: where there are some, all of them are named, and no others.

    Examples
    --------
    >>> from similitude.errors import InseparableError
    >>> from similitude.learners import SeparatorLP
    >>> try:
    ...     SeparatorLP().fit([[0.0], [1.0], [2.0]], ["b", "a", "b"])
    ... except InseparableError as error:
    ...     print(error.conflicts)
    (0, 1, 2)
    """

    def __init__(self, problem: str, conflicts: Sequence[int]) -> None:
        super().__init__(problem, conflicts)
        self.problem, self.conflicts = problem, tuple(int(i) for i in conflicts)

    def __str__(self) -> str:
        return self.problem


class NotAKernelError(ValueError):
    """A similarity that is not positive semi-definite was given where a kernel is needed.

    Parameters
    ----------
    problem : str
    witness : Witness
        The counterexample.
    """

    def __init__(self, problem: str, witness: Any = None) -> None:
        super().__init__(problem, witness)
        self.problem, self.witness = problem, witness

    def __str__(self) -> str:
        return self.problem if self.witness is None else f"{self.problem} {self.witness}"


class SavedModelError(ValueError):
    """A model cannot be saved, or a file does not hold one that can be loaded."""


class SourceError(ValueError):
    """A batch or shard that does not fit the others, or cannot be read: it is named."""


def missing_extra(extra: str, needed_for: str) -> ImportError:
    """Say in one line which ``pip`` command brings an optional part."""
    return ImportError(f"{needed_for} needs an optional part: pip install 'similitude[{extra}]'")


@contextmanager
def error_prefix(prefix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Begin messages of TypeError, ValueError and `kinds` with a prefix; errors of other classes pass unchanged.

    >>> with error_prefix("column 'age'"):
    ...     int("old")
    Traceback (most recent call last):
        ...
    ValueError: column 'age': invalid literal for int() with base 10: 'old'
    """
    try:
        yield
    except Exception as error:
        if type(error) not in (TypeError, ValueError, *kinds):
            raise
        raise type(error)(f"{prefix}: {error}") from error


@contextmanager
def pairs_at(rows: Any, columns: Any) -> Iterator[None]:
    """Let a PairError name its pair by these positions of the rows and columns; None leaves a side as it is."""
    try:
        yield
    except PairError as error:
        i = error.i if rows is None else int(rows[error.i])
        j = error.j if columns is None else int(columns[error.j])
        raise PairError(i, j, error.problem) from error.__cause__


@contextmanager
def objects_at(places: Any) -> Iterator[None]:
    """Let an error name its pair, or the objects of its counterexample, by these positions in a larger data set."""
    try:
        with pairs_at(places, places):
            yield
    except NotAKernelError as error:
        if error.witness is None:
            raise
        at = tuple(int(places[i]) for i in error.witness.indices)
        raise NotAKernelError(error.problem, replace(error.witness, indices=at)) from error
