"""Pilot rows: a sample on which metrics are learned, and on which all candidates are compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from similitude.evaluation import dealt_folds, fold_pairs, in_first_groups
from similitude.kernel_learning.limits import FEW_ROWS, PILOT_FITTED_ROWS, PILOT_HELD_OUT_ROWS, VERY_FEW_ROWS


class PilotRows(NamedTuple):
    """Standardized vectors and their targets."""

    X: np.ndarray
    Y: np.ndarray


class PilotSplit(NamedTuple):
    """Rows that a candidate is fitted to, and others that are held out.

    Targets are centered and scaled on the rows that are fitted, so that the mean has a loss of 1.
    """

    fitted: PilotRows
    held_out: PilotRows

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray, fitted: np.ndarray, held_out: np.ndarray) -> PilotSplit:
        """Return a split of the rows at some positions."""
        center = Y[fitted].mean(axis=0)
        scale = np.sqrt(((Y[fitted] - center) ** 2).mean(axis=0).sum()) or 1.0
        return cls(*(PilotRows(X[rows], (Y[rows] - center) / scale) for rows in (fitted, held_out)))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.fitted.X.shape[1])


def pilot_size(n: int) -> int:
    """Return how many of n rows the pilot uses.

    >>> pilot_size(500), pilot_size(100_000)
    (500, 2600)
    """
    n_held_out = _n_held_out(n)
    return n_held_out + min(n - n_held_out, PILOT_FITTED_ROWS)


def n_pilot_folds(n: int) -> int:
    """Return the number of folds of few rows; many rows are split once.

    >>> n_pilot_folds(150), n_pilot_folds(500), n_pilot_folds(5000)
    (8, 4, 1)
    """
    if n >= FEW_ROWS:
        return 1
    return min(8 if n < VERY_FEW_ROWS else 4, n)


def _n_held_out(n: int) -> int:
    return min(PILOT_HELD_OUT_ROWS, n // 3) if n >= FEW_ROWS else 0


def pilot_splits(
    X: np.ndarray,
    Y: np.ndarray,
    order: np.ndarray,
    most: int = PILOT_FITTED_ROWS,
    groups: np.ndarray | None = None,
) -> tuple[PilotSplit, ...]:
    """Return one split of many rows in random order, of which only the first are used, or folds of few.

    At most `most` rows are fitted; the held-out ones are the same for any number. No split separates a group, unless
    all rows are of one.
    """
    n = len(order)
    n_held_out = _n_held_out(len(order))
    together = order if groups is None or len(np.unique(groups[order])) < 2 else groups[order]
    if n_held_out:
        outside = in_first_groups(together, n_held_out)
        fitted = order[~outside][: min(most, PILOT_FITTED_ROWS)]
        return (PilotSplit.of(X, Y, fitted, order[outside][:PILOT_HELD_OUT_ROWS]),)
    n_folds = n_pilot_folds(n)
    pairs = fold_pairs(dealt_folds(together, n_folds))
    return tuple(PilotSplit.of(X, Y, order[others], order[fold]) for others, fold in pairs)
