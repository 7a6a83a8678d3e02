"""Splits of rows: copies stay together, and folds have their share of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, fingerprints, moved, rows
from similitude.evaluation.held_out import n_held_out, n_judged
from similitude.support import generator

FEW_NESTED_ROWS, FOLDS_OF_FEW, FOLDS_OF_MANY = 300, 3, 2
"""Up to this many rows there are three folds, with more there are two."""

WIDE_ROWS = 1000
"""Number of columns above which rows are compared by digests, which are quicker to sort."""


def groups_of_equals(A: Encoding, places: np.ndarray) -> np.ndarray:
    """Return a number for each of some rows, the same for equal ones, in the order in which they first occur."""
    some = moved(rows(A, places), as_numpy)
    if isinstance(some, np.ndarray) and some.dtype.kind == "f" and some.ndim == 2 and 0 < some.shape[1] <= WIDE_ROWS:
        bits = np.ascontiguousarray(some + 0)  # + 0: 0.0 and -0.0 are equal
        named = bits.view(np.dtype((np.void, bits.itemsize * bits.shape[1])))[:, 0]
    else:
        named = fingerprints(some)
    _, first, group = np.unique(named, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def equals_judged_together(order: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the order with all rows that equal one of the last, which judge the model, at its end.

    >>> equals_judged_together(np.arange(20), np.r_[np.arange(19), 5])[-2:]
    array([ 5, 19])
    """
    last, size = {}, np.bincount(groups)
    room = n_judged(n_held_out(len(order)))
    for group in groups[::-1].tolist():
        if group not in last and size[group] <= room:
            last[group] = True
            room -= size[group]
        if room == 0:
            break
    at_end = np.isin(groups, list(last))
    return np.concatenate([order[~at_end], order[at_end]])


def folds_of(n: int) -> int:
    """Return the number of nested folds of n rows."""
    return FOLDS_OF_FEW if n <= FEW_NESTED_ROWS else FOLDS_OF_MANY


def assign_folds(groups: np.ndarray, labels: np.ndarray | None, random_state: Any) -> np.ndarray:
    """Return a random fold for each row: groups stay together, and every fold has its share of each class.

    >>> assign_folds(np.array([0, 1, 2, 3, 4, 5, 0]), np.array([0, 1, 0, 1, 0, 1, 0]), 0)
    array([2, 2, 0, 0, 1, 1, 2])
    """
    _, first = np.unique(groups, return_index=True)
    order = generator(random_state).permutation(len(first))
    if labels is not None:
        order = order[np.argsort(labels[first[order]], kind="stable")]
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % min(folds_of(len(groups)), len(first))
    found: np.ndarray = fold[groups]
    return found
