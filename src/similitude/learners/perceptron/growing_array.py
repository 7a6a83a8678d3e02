"""Arrays and other sequences that grow by appended rows, for streams of examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, as_objects, count, is_sparse, is_table, join


class GrowingArray:
    """The rows of an array with spare capacity that doubles, so that appending a row takes amortized constant time.

    `extended` returns another instance that shares the buffer: only the newest one may be extended, or an older one
    if all newer ones are discarded.

    >>> GrowingArray(np.array([1., 2.])).extended(np.array([3.])).rows
    array([1., 2., 3.])

    """

    def __init__(self, buffer: np.ndarray, size: int | None = None) -> None:
        self._buffer, self._size = buffer, len(buffer) if size is None else size

    @property
    def rows(self) -> np.ndarray:
        """All rows, without a copy."""
        return self._buffer[: self._size]

    def extended(self, more: Any) -> GrowingArray:
        """Return these rows followed by more."""
        more = more.toarray() if is_sparse(more) else np.asarray(more)
        buffer, start, size = self._buffer, self._size, self._size + len(more)
        dtype = np.result_type(buffer, more) if start else more.dtype
        if size > len(buffer) or dtype != buffer.dtype:
            buffer = np.empty((max(size, 2 * start), *more.shape[1:]), dtype)
            buffer[:start] = self.rows
        buffer[start:size] = more
        return GrowingArray(buffer, size)


def growing(rows: Any) -> Any:
    """Return rows as `extended` takes them: arrays, also inside a tuple of encodings, become GrowingArrays."""
    if isinstance(rows, tuple):
        return tuple(map(growing, rows))
    return GrowingArray(rows) if isinstance(rows, np.ndarray) else rows


def extended(store: Any, more: Any) -> Any:
    """Append rows to what `growing` returned; objects that are stored differently become a list."""
    if isinstance(store, tuple):
        return tuple(map(extended, store, more))
    if isinstance(store, GrowingArray):
        return store.extended(more)
    if not count(store):
        return growing(more)
    if type(store) is type(more) or is_sparse(store):
        return join(store, more)
    return [*as_objects(store), *as_objects(more)]


def contents(store: Any) -> Any:
    """Return all rows of what `growing` or `extended` returned.

    >>> contents(extended(growing((np.array([1., 2.]), ["a", "b"])), (np.array([3.]), ["c"])))
    (array([1., 2., 3.]), ['a', 'b', 'c'])
    """
    if isinstance(store, tuple):
        return tuple(map(contents, store))
    return store.rows if isinstance(store, GrowingArray) else store


def can_be_extended(encoding: Encoding) -> bool:
    """Tell whether two encodings of this kind can be joined: a user's own class cannot."""
    if isinstance(encoding, tuple):
        return all(map(can_be_extended, encoding))
    return isinstance(encoding, list) or hasattr(encoding, "shape") or is_table(encoding)
