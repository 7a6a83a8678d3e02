"""Sets of classes: the smallest ones that hold the class of a share of new rows, by conformal scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from similitude.theory import conformal_quantile, highest_level

ROUNDING_OF_PROBABILITIES = 1e-12
"""A class is in a set up to this much below the limit: scores in another batch may differ by their last digit."""


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """One minus the probability of the true class, for the rows that calibrate.

    A set of all classes with at least a given probability is the smallest on average among those with the same coverage
    (Sadinle, Lei and Wasserman, "Least Ambiguous Set-Valued Classifiers with Bounded Error Levels", 2019).

    Attributes
    ----------
    scores : array of shape (n,)
    classes : array of int
        The class number of each row.
    levels, levels_by_class : array, or None
        Levels that rows of other folds would have needed, by models of folds that were calibrated as this one is: a
        uniform distribution if choices do not matter. None: no choice saw the rows that calibrate.
    """

    scores: np.ndarray
    classes: np.ndarray
    levels: np.ndarray | None = None
    levels_by_class: np.ndarray | None = None

    @classmethod
    def of(cls, chances: np.ndarray, classes: np.ndarray) -> ClassCalibration:
        """Take the probabilities of all classes for the rows that calibrate."""
        return cls(1.0 - chances[np.arange(len(classes)), classes], classes)

    def limits(self, level: float, n_classes: int, by_class: bool) -> np.ndarray:
        """Return the smallest probability with which each class is in a set; minus infinity: it always is.

        With `by_class` each class has a limit of its own, by its own rows, so that the level holds for the rows of each
        class (Vovk et al., 2005, "Mondrian"); a class that has too few rows for the level is in every set.
        """
        if not by_class:
            found = np.full(n_classes, _quantile(self.scores, level, self.levels))
        else:
            parts = [self.scores[self.classes == c] for c in range(n_classes)]
            found = np.array([_quantile(scores, level, self.levels_by_class) for scores in parts])
        return np.asarray(1.0 - found - ROUNDING_OF_PROBABILITIES)

    def corrected(self, folds: Sequence[tuple[ClassCalibration, ClassCalibration]]) -> ClassCalibration:
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
        return replace(self, levels=np.concatenate(together), levels_by_class=np.concatenate(by_class))


def needed_levels(calibrating: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return for each score the smallest level at which others that calibrate have a conformal quantile as large.

    >>> needed_levels(np.array([0.1, 0.2, 0.3]), np.array([0.05, 0.25, 0.9]))
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray((np.searchsorted(np.sort(calibrating), scores) + 1) / (len(calibrating) + 1))


def _quantile(scores: np.ndarray, level: float, levels: np.ndarray | None) -> float:
    """Return the conformal quantile at a level, or at a higher one that rows of other folds needed."""
    if levels is not None:
        needed = float(np.quantile(levels, level, method="inverted_cdf"))
        level = max(level, min(needed, highest_level(len(scores))))
    return conformal_quantile(scores, level)
