"""Pilot rows: a sample on which metrics are learned, and on which all candidates are compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from similitude.evaluation import Pilot, dealt_folds, fold_pairs, in_first_groups


class PilotSplit(NamedTuple):
    """Rows that a candidate is fitted to, and others that are held out; the mean of the targets has a loss of 1."""

    X: np.ndarray
    Y: np.ndarray
    X_held_out: np.ndarray
    Y_held_out: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray, fitted: np.ndarray, held_out: np.ndarray) -> PilotSplit:
        """Return a split of the rows at some positions."""
        center = Y[fitted].mean(axis=0)
        scale = np.sqrt(((Y[fitted] - center) ** 2).mean(axis=0).sum()) or 1.0
        return cls(X[fitted], (Y[fitted] - center) / scale, X[held_out], (Y[held_out] - center) / scale)


def pilot_splits(
    X: np.ndarray,
    Y: np.ndarray,
    order: np.ndarray,
    pilot: Pilot,
    most: int | None = None,
    groups: np.ndarray | None = None,
) -> tuple[PilotSplit, ...]:
    """Return one split of rows in random order, of which only the first are used, or the folds of the pilot.

    At most `most` rows are fitted. No split separates a group, unless all rows are of one.
    """
    together = order
    if groups is not None and len(np.unique(groups[order])) > 1:
        together = groups[order]
    if pilot.held_out:
        outside = in_first_groups(together, pilot.held_out)
        fitted = order[~outside][: most or pilot.most_fitted]
        return (PilotSplit.of(X, Y, fitted, order[outside][: pilot.most_held_out]),)
    pairs = fold_pairs(dealt_folds(together, pilot.folds))
    return tuple(PilotSplit.of(X, Y, order[others], order[fold]) for others, fold in pairs)
