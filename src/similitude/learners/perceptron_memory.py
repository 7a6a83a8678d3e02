"""What a perceptron remembers of a stream: objects, encoded once, with their weights, in buffers that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.blocks import BlockTask
from similitude.compute.encodings import Encoding, as_objects, count, is_sparse, is_table, join, rows, take
from similitude.similarity import Similarity


class Growing:
    """The rows of an array; room doubles, so that adding a row costs no more than copying two.

    Examples
    --------
    >>> kept = Growing(np.array([1., 2.]))
    >>> kept.add(np.array([3.]))
    >>> kept.rows
    array([1., 2., 3.])
    """

    def __init__(self, first: np.ndarray) -> None:
        self._room, self._size, self._end = first, len(first), [len(first)]

    @property
    def rows(self) -> np.ndarray:
        """All rows, without a copy."""
        return self._room[: self._size]

    def copy(self) -> Growing:
        """Return another one with the same rows; they share the room until both of them grow."""
        other = Growing(self._room)
        other._size, other._end = self._size, self._end
        return other

    def add(self, more: Any) -> None:
        """Add rows at the end."""
        more = more.toarray() if is_sparse(more) else np.asarray(more)
        size = self._size + len(more)
        dtype = np.result_type(self._room, more) if self._size else more.dtype
        if size > len(self._room) or dtype != self._room.dtype or self._end[0] != self._size:
            room = np.empty((max(size, 2 * self._size), *more.shape[1:]), dtype)
            room[: self._size] = self.rows
            self._room, self._end = room, [self._size]
        self._room[self._size : size] = more
        self._size = self._end[0] = size

    def __getstate__(self) -> dict[str, Any]:
        return {"_room": self.rows.copy(), "_size": self._size, "_end": [self._size]}


class Joined:
    """Objects stored in anything else that can be joined: lists, sparse rows, data frames, tensors."""

    def __init__(self, first: Any) -> None:
        self.rows = first

    def copy(self) -> Joined:
        """Return another one with the same objects."""
        return Joined(self.rows)

    def add(self, more: Any) -> None:
        """Add objects at the end; differently stored ones become a list."""
        if not count(self.rows):
            self.rows = more
        elif type(self.rows) is type(more) or is_sparse(self.rows):
            self.rows = join(self.rows, more)
        else:
            self.rows = [*as_objects(self.rows), *as_objects(more)]


class Beside:
    """Encodings side by side, as those of a composite are."""

    def __init__(self, first: tuple[Any, ...]) -> None:
        self.parts = [holding(part) for part in first]

    @property
    def rows(self) -> tuple[Any, ...]:
        """All rows of all parts."""
        return tuple(part.rows for part in self.parts)

    def copy(self) -> Beside:
        """Return another one with the same rows."""
        other = Beside(())
        other.parts = [part.copy() for part in self.parts]
        return other

    def add(self, more: tuple[Any, ...]) -> None:
        """Add rows to each part."""
        for part, rows_ in zip(self.parts, more, strict=True):
            part.add(rows_)


def holding(first: Any) -> Growing | Joined | Beside:
    """Return what holds rows like these and takes more of them."""
    if isinstance(first, tuple):
        return Beside(first)
    return Growing(first) if isinstance(first, np.ndarray) else Joined(first)


def _can_be_joined(encoding: Encoding) -> bool:
    if isinstance(encoding, tuple):
        return all(map(_can_be_joined, encoding))
    return isinstance(encoding, list) or hasattr(encoding, "shape") or is_table(encoding)


class Memory:
    """Objects with weights, from the oldest to the newest, and how far the stream has run.

    Parameters
    ----------
    objects, encoding
        None of them yet: an empty piece of what is to come.
    outputs : tuple of int
        The shape of one object's weights.

    Attributes
    ----------
    weights, moments : Growing
        What each object has in the hypothesis; the sum of what was added times the number of steps before.
    positions : Growing
        Where each object stood in the stream.
    seen, time : int
        Examples in the stream; steps, which count an example once per epoch.
    squared_length : float
        Of the hypothesis in feature space; NaN where objects were forgotten.
    """

    def __init__(self, objects: Any, encoding: Encoding, outputs: tuple[int, ...]) -> None:
        self.objects, self.encoding = holding(objects), holding(encoding)
        self.weights, self.moments = Growing(np.empty((0, *outputs))), Growing(np.empty((0, *outputs)))
        self.positions = Growing(np.empty(0, np.intp))
        self.seen = self.time = 0
        self.squared_length = 0.0

    def __len__(self) -> int:
        return len(self.positions.rows)

    def copy(self) -> Memory:
        """Return another one that remembers the same and can be changed alone."""
        other = Memory.__new__(Memory)
        grown = (Growing, Joined, Beside)
        vars(other).update({name: v.copy() if isinstance(v, grown) else v for name, v in vars(self).items()})
        return other

    def scores(self, kernel: Similarity, encoding: Encoding, weights: np.ndarray) -> np.ndarray:
        """Return the weighted similarities of a few new objects, in one block."""
        if not len(self):
            return np.zeros((count(encoding), *weights.shape[1:]))
        return np.asarray(BlockTask(kernel)(encoding, self.encoding.rows)) @ weights

    def averaged(self) -> np.ndarray:
        """Return the weights of the average of all hypotheses, each counted once per step that it survived."""
        return np.asarray(self.weights.rows - self.moments.rows / max(1, self.time))

    def add(
        self,
        kernel: Similarity,
        objects: Any,
        encoding: Encoding,
        positions: Any,
        weights: np.ndarray,
        moments: np.ndarray,
    ) -> None:
        """Remember further objects."""
        if not len(positions):
            return
        self.objects.add(objects)
        if _can_be_joined(encoding):
            self.encoding.add(encoding)
        else:  # a class of the user's own: nobody knows how to join two of them
            self.encoding = holding(kernel.encode(self.objects.rows))
        self.positions.add(np.asarray(positions, np.intp))
        self.weights.add(weights)
        self.moments.add(moments)

    def keep(self, which: np.ndarray) -> None:
        """Forget all other objects."""
        if len(which) == len(self):
            return
        self.objects = holding(take(self.objects.rows, which))
        self.encoding = holding(rows(self.encoding.rows, which))
        for name in ("positions", "weights", "moments"):
            setattr(self, name, Growing(getattr(self, name).rows[which]))
        self.squared_length = np.nan
