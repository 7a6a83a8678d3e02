"""A batch of objects, what makes batches alike, and how their bounds are moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute.encodings import is_sparse, is_table, join
from similitude.support.errors import SourceError, brief


@dataclass(frozen=True, eq=False)
class Batch:
    """Some objects of a source, one after the other.

    Attributes
    ----------
    objects : array, sparse matrix, data frame or list
    labels, weights : array or None
    name : str
        The shard or batch they come from, for errors.
    start : int
        The row of the first one in the source.
    """

    objects: Any
    labels: Any = None
    weights: Any = None
    name: str = ""
    start: int = 0

    def __len__(self) -> int:
        return int(self.objects.shape[0]) if hasattr(self.objects, "shape") else len(self.objects)

    @property
    def stop(self) -> int:
        """The row after the last one."""
        return self.start + len(self)

    def part(self, a: int, b: int) -> Batch:
        """Return some of the rows."""
        objects = self.objects.iloc[a:b] if hasattr(self.objects, "iloc") else self.objects[a:b]
        labels, weights = (None if one is None else one[a:b] for one in (self.labels, self.weights))
        return replace(self, objects=objects, labels=labels, weights=weights, start=self.start + a)

    def followed_by(self, other: Batch) -> Batch:
        """Return both, one after the other."""
        labels, weights = (
            None if mine is None else np.concatenate([mine, theirs])
            for mine, theirs in ((self.labels, other.labels), (self.weights, other.weights))
        )
        first, last = self.name.split(" to ")[0], other.name
        name = first if first == last else f"{first} to {last}"
        return Batch(join(self.objects, other.objects), labels, weights, name, self.start)


def checked(batch: Batch) -> Batch:
    """Return a batch with labels and weights as arrays; refuse an empty one, and other numbers of labels than rows."""
    if not hasattr(batch.objects, "shape") and not hasattr(batch.objects, "__len__"):
        raise SourceError(
            f"{batch.name}: a batch is X, (X, y) or (X, y, weights) with X an array, a table or a list of objects, "
            f"got {type(batch.objects).__name__}"
        )
    n = len(batch)
    if n == 0:
        raise SourceError(f"{batch.name} is empty: leave it out")
    found: dict[str, Any] = {}
    for what in ("labels", "weights"):
        values = getattr(batch, what)
        found[what] = None if values is None else _plain(np.asarray(values))
        if values is not None and found[what].shape[:1] != (n,):
            raise SourceError(f"{batch.name} holds {n:,} objects and {what} of shape {found[what].shape}")
    return replace(batch, **found)


def _plain(values: np.ndarray) -> np.ndarray:
    """Return texts that came as objects as an array of text."""
    texts = values.dtype == object and values.ndim == 1 and all(isinstance(one, str) for one in values)
    return values.astype(str) if texts else values


def alike(pieces: Iterator[Batch]) -> Iterator[Batch]:
    """Pass pieces on; refuse one that is not like the first in kind, width, precision or labels."""
    known: dict[str, str] | None = None
    first = ""
    for piece in pieces:
        piece = checked(piece)
        found = described(piece)
        if known is None:
            known, first = found, piece.name
        wrong = next((what for what in known if known[what] != found[what]), None)
        if wrong is not None:
            raise SourceError(f"{piece.name} has {wrong} {found[wrong]}, {first} has {known[wrong]}")
        yield piece


def described(piece: Batch) -> dict[str, str]:
    """Return what must be the same in every piece, in words."""
    X = piece.objects
    said = {"objects of kind": _kind(X)}
    if is_table(X):
        said["columns"] = brief(list(X.columns))
    elif hasattr(X, "shape") and hasattr(X, "dtype"):
        said["width"] = str(tuple(X.shape[1:])).strip("(),") or "1"
        said["dtype"] = "text" if X.dtype.kind in "US" else str(X.dtype)
    labels = piece.labels
    said["labels"] = "none" if labels is None else _LABELS.get(labels.dtype.kind, "of several types")
    if labels is not None:
        said["labels per object"] = str(labels.shape[1:] or 1)
    said["weights"] = "none" if piece.weights is None else "one per object"
    return said


_LABELS = {"i": "of whole numbers", "u": "of whole numbers", "f": "of numbers", "b": "of truth values",
           "U": "of text", "S": "of bytes"}  # fmt: skip


def _kind(X: Any) -> str:
    if is_table(X):
        return "table"
    if is_sparse(X):
        return "sparse matrix"
    if hasattr(X, "shape"):
        return f"array of {len(X.shape)} dimensions"
    one = X[0]
    families = ((str, "text"), (Real, "numbers"), (Mapping, "mappings"), (Set, "sets"), (np.ndarray, "arrays"))
    return f"list of {next((name for family, name in families if isinstance(one, family)), type(one).__name__)}"


def cut(pieces: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Yield batches of so many rows, the last of fewer, whatever the pieces are.

    >>> made = cut(iter([Batch([1, 2, 3], start=0), Batch([4], start=3)]), 2)
    >>> [(one.start, one.objects) for one in made]
    [(0, [1, 2]), (2, [3, 4])]
    """
    waiting: Batch | None = None
    for piece in pieces:
        waiting = piece if waiting is None else waiting.followed_by(piece)
        n = len(waiting)
        for a in range(0, n - rows + 1, rows):
            yield waiting if n == rows else waiting.part(a, a + rows)
        left = n % rows
        waiting = waiting.part(n - left, n) if left else None
    if waiting is not None:
        yield waiting


@contextmanager
def about(batch: Batch) -> Iterator[None]:
    """Put the name of a batch before what is wrong with it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{batch.name}: {error}") from error
