"""Batches of rows: their validation, their schema, and cutting a stream into batches of equal size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_table, join
from similitude.support import SourceError, brief, error_prefix


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a source.

    Attributes
    ----------
    objects : array, sparse matrix, data frame or list
    labels, weights : array or None
    name : str
        The shard or batch that the rows come from, for error messages.
    start : int
        The position of the first row in the source.
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
        """The position after the last row."""
        return self.start + len(self)

    def part(self, a: int, b: int) -> Batch:
        """Return the rows a to b of the batch."""
        if a == 0 and b == len(self):
            return self
        objects = self.objects.iloc[a:b] if hasattr(self.objects, "iloc") else self.objects[a:b]
        labels, weights = (None if one is None else one[a:b] for one in (self.labels, self.weights))
        return replace(self, objects=objects, labels=labels, weights=weights, start=self.start + a)

    def followed_by(self, other: Batch) -> Batch:
        """Return the rows of both batches as one."""
        labels, weights = (
            None if mine is None else np.concatenate([mine, theirs])
            for mine, theirs in ((self.labels, other.labels), (self.weights, other.weights))
        )
        first, last = self.name.split(" to ")[0], other.name
        name = first if first == last else f"{first} to {last}"
        return Batch(join(self.objects, other.objects), labels, weights, name, self.start)

    def validated(self) -> Batch:
        """Return the batch with labels and weights as arrays; raise if it is empty or they do not fit the objects."""
        n = len(self)
        if n == 0:
            raise SourceError(f"{self.name} is empty: leave it out")
        columns: dict[str, Any] = {"labels": _as_array(self.labels), "weights": _as_array(self.weights)}
        for what, values in columns.items():
            if values is not None and values.shape[:1] != (n,):
                raise SourceError(f"{self.name} holds {n:,} objects and {what} of shape {values.shape}")
        return replace(self, **columns)

    def schema(self) -> dict[str, str]:
        """Return the properties that all batches of a source share, in words."""
        X, labels = self.objects, self.labels
        found = {"object kind": _kind(X)}
        if is_table(X):
            found["columns"] = brief(list(X.columns))
        elif hasattr(X, "shape") and hasattr(X, "dtype"):
            found["width"] = str(tuple(X.shape[1:])).strip("(),") or "1"
            found["dtype"] = "text" if X.dtype.kind in "US" else str(X.dtype)
        found["label type"] = "none" if labels is None else _LABEL_TYPES.get(labels.dtype.kind, "mixed")
        if labels is not None:
            found["labels per object"] = str(labels.shape[1:] or 1)
        found["weights"] = "none" if self.weights is None else "one per object"
        return found


_LABEL_TYPES = {"i": "integer", "u": "integer", "f": "number", "b": "boolean", "U": "text", "S": "bytes"}


def _as_array(values: Any) -> np.ndarray | None:
    """Return labels or weights as an array, of text if they are strings."""
    if values is None:
        return None
    values = np.asarray(values)
    is_text = values.dtype == object and values.ndim == 1 and all(isinstance(one, str) for one in values)
    return values.astype(str) if is_text else values


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


def with_one_schema(pieces: Iterator[Batch]) -> Iterator[Batch]:
    """Yield validated pieces; raise if one differs from the first in kind, width, precision or labels."""
    expected: dict[str, str] = {}
    first = ""
    for piece in pieces:
        piece = piece.validated()
        found = piece.schema()
        if not expected:
            expected, first = found, piece.name
        wrong = next((what for what in expected if expected[what] != found[what]), None)
        if wrong is not None:
            raise SourceError(f"{piece.name} has {wrong} {found[wrong]}, {first} has {expected[wrong]}")
        yield piece


def rebatched(pieces: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Yield batches of a given number of rows, the last with fewer, whatever the sizes of the pieces.

    >>> batches = rebatched(iter([Batch([1, 2, 3], start=0), Batch([4], start=3)]), 2)
    >>> [(one.start, one.objects) for one in batches]
    [(0, [1, 2]), (2, [3, 4])]
    """
    pending: Batch | None = None
    for piece in pieces:
        pending = piece if pending is None else pending.followed_by(piece)
        n = len(pending)
        for a in range(0, n - rows + 1, rows):
            yield pending.part(a, a + rows)
        left = n % rows
        pending = pending.part(n - left, n) if left else None
    if pending is not None:
        yield pending


def errors_in_batch(batch: Batch) -> AbstractContextManager[None]:
    """Return a context in which errors begin with the name of the batch."""
    return error_prefix(batch.name)
