"""Sets of classes: the smallest ones that hold the class of a share of new rows, by conformal scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from similitude.fitting.uncertainty.ranked_scores import RankedScores
from similitude.theory import highest_level

ROUNDING_OF_PROBABILITIES = 1e-12
"""A class is in a set up to this much below the limit: scores in another batch may differ by their last digit."""


GRID = np.linspace(0.0, 1.0, 101)
"""Shares of rows of other folds whose needed levels are kept."""


class TrueClassScores(NamedTuple):
    """One minus the probability of the true class of each row, and the numbers of these classes."""

    scores: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, chances: np.ndarray, classes: np.ndarray) -> TrueClassScores:
        """Take the probabilities of all classes."""
        return cls(1.0 - chances[np.arange(len(classes)), classes], classes)


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """Scores of the rows that calibrate: one minus the probability of the true class.

    A set of all classes with at least a given probability is the smallest on average among those with the same coverage
    (Sadinle, Lei and Wasserman, "Least Ambiguous Set-Valued Classifiers with Bounded Error Levels", 2019).

    Attributes
    ----------
    together : RankedScores
    by_class : tuple of RankedScores
        Those of the rows of each class.
    levels, levels_by_class : array, or None
        Levels that shares of rows of other folds (`GRID`) would have needed, by models of folds that were calibrated as
        this one is: the shares themselves if choices do not matter. None: no choice saw the rows that calibrate.
    """

    together: RankedScores
    by_class: tuple[RankedScores, ...]
    levels: np.ndarray | None = None
    levels_by_class: np.ndarray | None = None

    @classmethod
    def of(cls, found: TrueClassScores, n_classes: int) -> ClassCalibration:
        """Keep the scores of rows."""
        parts = [found.scores[found.classes == c] for c in range(n_classes)]
        return cls(RankedScores.of(found.scores), tuple(map(RankedScores.of, parts)))

    def limits(self, level: float, by_class: bool) -> np.ndarray:
        """Return the smallest probability with which each class is in a set; minus infinity: it always is.

        With `by_class` each class has a limit of its own, by its own rows, so that the level holds for the rows of each
        class (Vovk et al., 2005, "Mondrian"); a class that has too few rows for the level is in every set.
        """
        if by_class:
            found = [_quantile(one, level, self.levels_by_class) for one in self.by_class]
        else:
            found = [_quantile(self.together, level, self.levels)] * len(self.by_class)
        return 1.0 - np.array(found) - ROUNDING_OF_PROBABILITIES

    def corrected(self, folds: Sequence[tuple[TrueClassScores, TrueClassScores]]) -> ClassCalibration:
        """Return the same with the levels that make up for choices.

        For each model of folds: what calibrates it, rows on which its choices were made and each left out alone, and
        the rows of the other fold.
        """
        together = [needed_levels(inside.scores, outside.scores) for inside, outside in folds]
        by_class = [
            needed_levels(inside.scores[inside.classes == c], outside.scores[outside.classes == c])
            for inside, outside in folds
            for c in np.unique(outside.classes)
        ]
        kept = [np.quantile(np.concatenate(one), GRID, method="inverted_cdf") for one in (together, by_class)]
        return replace(self, levels=kept[0].astype(np.float32), levels_by_class=kept[1].astype(np.float32))


def needed_levels(calibrating: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return for each score the smallest level at which others that calibrate have a conformal quantile as large.

    >>> needed_levels(np.array([0.1, 0.2, 0.3]), np.array([0.05, 0.25, 0.9]))
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray((np.searchsorted(np.sort(calibrating), scores) + 1) / (len(calibrating) + 1))


def _quantile(scores: RankedScores, level: float, levels: np.ndarray | None) -> float:
    """Return the conformal quantile at a level, or at a higher one that rows of other folds needed."""
    if levels is not None:
        needed = float(levels[np.searchsorted(GRID, level * (1 - 1e-9))])
        level = max(level, min(needed, highest_level(scores.n)))
    return scores.quantile(level)
