"""Rows of different lengths, stored consecutively: row i is ``entries[starts[i]:starts[i + 1]]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.compute import keys, mixed, mixed_entries


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the starts of rows of these lengths, and the end of the last one.

    >>> starts_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64, copy=False)


def ragged_rows(starts: np.ndarray, which: Any) -> tuple[np.ndarray, Any]:
    """Return the starts of the chosen rows after selection, and the positions of their entries before it.

    >>> ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([0, 3, 5]), array([2, 3, 4, 0, 1]))
    """
    if isinstance(which, slice) and which.step in (None, 1):
        first, last, _ = which.indices(len(starts) - 1)
        chosen = starts[first : max(first, last) + 1]
        return chosen - chosen[0], slice(int(chosen[0]), int(chosen[-1]))
    lengths = np.diff(starts)[which]
    new = starts_of(lengths)
    return new, np.arange(new[-1]) + np.repeat(starts[:-1][which] - new[:-1], lengths)


class Ragged:
    """Base class of encodings that store rows of different lengths consecutively."""

    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of entries of each row."""
        return np.diff(self.starts)

    @property
    def owners(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def entries(self) -> tuple[np.ndarray, ...]:
        """Return arrays of entries that say all about the rows; none if they do not."""
        return ()

    def fingerprints(self) -> np.ndarray:
        """Return a 64-bit number per row, equal for equal rows: a sum over entries and their places in the row."""
        entries = self.entries()
        if not entries:
            return keys(self)
        found = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.lengths)
        found = found.astype(np.uint64)
        for one in entries:
            found = mixed(found + mixed_entries(one))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(found, dtype=np.uint64)])
        return mixed(np.diff(sums[self.starts]) + self.lengths.astype(np.uint64))
