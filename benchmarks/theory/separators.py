"""Separators in the features of a map, judged by these features alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from similitude.errors import InseparableError
from similitude.learners import SeparatorLP

BBV = "Balcan, Blum and Vempala (2004)"
ROUNDING = 1e-9
"""Margins are compared up to this: a bound that is attained is not broken by rounding."""


@dataclass(frozen=True)
class Separator:
    """A separator through the origin of the features: a model, as the margins of the library ask for one."""

    w: np.ndarray
    classes_: ClassVar[np.ndarray] = np.array([-1, 1])

    def normalized_margin(self, F: np.ndarray) -> np.ndarray:
        """Return the cosine between w and each row; 0 for a row that is 0."""
        lengths = np.linalg.norm(F, axis=1) * np.linalg.norm(self.w)
        return np.clip(F @ self.w / np.where(lengths > 0, lengths, 1.0), -1.0, 1.0)


def mass_below(margin: float, separator: Separator, F: np.ndarray, y: np.ndarray, masses: np.ndarray) -> float:
    """Return the mass of the objects whose margin is smaller than this: the error at it, exactly.

    >>> F = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]])
    >>> mass_below(0.6, Separator(np.array([2.0, 0.0])), F, np.ones(4), np.full(4, 0.25))
    0.5
    """
    return float(masses[y * separator.normalized_margin(F) < margin - ROUNDING].sum())


def separated(F: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which examples a separator through the origin can put on their right sides, by a linear program.

    No separator is right on features that are all 0. The others are separated all or, so to be on the safe side, none.
    Each is given with its mirror image too: the same question, with two classes even where there is one. Equal columns
    are given once.
    """
    seen = F.any(axis=1)
    if not seen.any():
        return seen
    some, labels = np.unique(F[seen], axis=1), y[seen]
    try:
        SeparatorLP(fit_intercept=False).fit(np.concatenate([some, -some]), np.concatenate([labels, -labels]))
    except InseparableError:
        return np.zeros(len(y), bool)
    return seen
