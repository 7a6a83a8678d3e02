"""Rows of different lengths, one after the other: row i is ``entries[starts[i]:starts[i + 1]]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return where rows of these lengths start, and where the last one ends.

    >>> starts_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64, copy=False)


def ragged_rows(starts: np.ndarray, which: Any) -> tuple[np.ndarray, Any]:
    """Return the starts of the chosen rows among themselves, and where their entries are.

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
