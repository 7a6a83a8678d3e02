"""The errors and warnings of the library, and a short form of any value for their messages."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from similitude.support.text import unboxed


class _Brief(reprlib.Repr):
    """Short forms of values; scalars of NumPy are written as numbers and texts."""

    def repr1(self, value: Any, level: int) -> str:
        """Return the short form of a value at a depth of nested values."""
        return super().repr1(unboxed(value), level)


_brief = _Brief()
_brief.maxstring = _brief.maxother = 60
_brief.maxlist = _brief.maxtuple = _brief.maxdict = _brief.maxset = _brief.maxfrozenset = _brief.maxarray = 4


def brief(value: Any) -> str:
    """Return a value as one short line, for messages."""
    if (
        type(value).__module__ != "builtins"
        and type(value).__str__ is not object.__str__
        and not hasattr(value, "shape")
    ):
        text = " ".join(str(value).split())
        return text if len(text) <= 100 else f"{text[:97]}..."
    if getattr(value, "format", None) == "csr" and value.shape[0] == 1:  # a sparse row: its values by column
        value = dict(zip(value.indices.tolist(), value.data.tolist(), strict=True))
    if hasattr(value, "shape") and hasattr(value, "tolist") and getattr(value, "ndim", 2) == 1:
        value = value.tolist()
    return " ".join(_brief.repr(value).split())


class PairError(ValueError):
    """A similarity did not give a finite real number for a pair of objects.

    Parameters
    ----------
    i, j : int
        Positions of the two objects.
    problem : str
        What was wrong.
    """

    def __init__(self, i: int, j: int, problem: str) -> None:
        super().__init__(i, j, problem)
        self.i = i
        self.j = j
        self.problem = problem

    def __str__(self) -> str:
        return f"pair ({self.i}, {self.j}): {self.problem}"

    def moved(self, down: int, right: int) -> PairError:
        """Return the error with the positions of the pair in a larger matrix."""
        return PairError(self.i + down, self.j + right, self.problem)

    def at(self, rows: Any, columns: Any) -> PairError:
        """Return the error with the pair named by these positions of rows and columns; None leaves a side unchanged."""
        i = self.i if rows is None else int(rows[self.i])
        j = self.j if columns is None else int(columns[self.j])
        return PairError(i, j, self.problem)


class UnresolvedError(ValueError):
    """A similarity has a data-dependent parameter such as ``sigma="median"`` that is not resolved yet."""


class BudgetError(RuntimeError):
    """A computation needs more calls of a similarity than its budget allows."""


class CacheError(RuntimeError):
    """A cache of pairs belongs to another function, or cannot be read or written."""


class CheckpointError(RuntimeError):
    """A checkpoint belongs to another computation, is damaged, or cannot be written."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the computation continues without it."""


class PrecisionWarning(UserWarning):
    """Integers beyond 2^53 were rounded to floating point numbers, so that close ones become equal."""


class ClusterError(RuntimeError):
    """The scheduler or the workers of a cluster were lost."""


class ExpressionError(ValueError):
    """A text does not describe a similarity; the message shows it with a caret below the error."""


class FileError(ValueError):
    """A file cannot be read or written; the message says what is wrong and what to do."""


class FileTooLargeError(FileError):
    """A file does not fit into memory, but can be read in batches."""


class InseparableError(ValueError):
    """The classes cannot be separated, and a separator without errors was required.

    Parameters
    ----------
    problem : str
        The message.
    conflicts : sequence of int
        Positions of a few examples that no separator classifies correctly at the same time. If there are at most 100,
        the set is minimal: without any one of them the others can be separated. Examples at the origin are on no side
        of a separator through it: if there are any, exactly these are named.

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
        self.problem = problem
        self.conflicts = tuple(int(i) for i in conflicts)

    def __str__(self) -> str:
        return self.problem


class NotAKernelError(ValueError):
    """A similarity that is not positive semi-definite was used where a kernel is required.

    Parameters
    ----------
    problem : str
        The message.
    witness : Witness, optional
        A counterexample.
    """

    def __init__(self, problem: str, witness: Any = None) -> None:
        super().__init__(problem, witness)
        self.problem = problem
        self.witness = witness

    def __str__(self) -> str:
        return self.problem if self.witness is None else f"{self.problem} {self.witness}"


class SavedModelError(ValueError):
    """A model cannot be saved, or a file is not a saved model that can be loaded."""


class SourceError(ValueError):
    """A batch or shard does not match the others, or cannot be read; the message names it."""


def missing_extra(extra: str, needed_for: str) -> ImportError:
    """Return the error for a missing optional dependency, with the ``pip`` command that installs it."""
    return ImportError(f"{needed_for} needs an optional dependency: pip install 'similitude[{extra}]'")


@contextmanager
def error_prefix(prefix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Begin messages of TypeError, ValueError and `kinds` with a prefix; errors of other classes pass unchanged."""
    try:
        yield
    except Exception as error:
        if type(error) not in (TypeError, ValueError, *kinds):
            raise
        raise type(error)(f"{prefix}: {error}") from error


@contextmanager
def pairs_at(rows: Any, columns: Any) -> Iterator[None]:
    """Name the pair of a PairError by these positions of rows and columns; None leaves a side unchanged."""
    try:
        yield
    except PairError as error:
        raise error.at(rows, columns) from error.__cause__


@contextmanager
def objects_at(places: Any) -> Iterator[None]:
    """Name the pair of an error, or the objects of its counterexample, by these positions in a larger data set."""
    try:
        with pairs_at(places, places):
            yield
    except NotAKernelError as error:
        if error.witness is None:
            raise
        at = tuple(int(places[i]) for i in error.witness.indices)
        raise NotAKernelError(error.problem, replace(error.witness, indices=at)) from error
