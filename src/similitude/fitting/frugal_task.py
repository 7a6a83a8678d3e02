"""What a frugal fit is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.similarity import Meter, Similarity

JUDGING = 0.1
"""The share of rows that judge the model."""


@dataclass(frozen=True, eq=False)
class FrugalTask:
    """What a frugal fit is given.

    Attributes
    ----------
    X, k, A
        Objects, the similarity, and the objects encoded by it.
    Y, weights : array
    numbers : array of int, or None
        Class numbers; None for numbers to predict, where every row goes through every stage.
    order : array of int
        The rows with a weight, in random order.
    side : str
    budget : int
        Most calls.
    meter : Meter
        Counts them.
    rng : Generator
    judging : float
        The share of rows that judge.
    later : int
        The number of other rows that are predicted within the same budget.
    groups : array of int, or None
        The group of each row; no split separates one.
    """

    X: Any
    k: Similarity
    A: Encoding
    Y: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray | None
    order: np.ndarray
    side: str
    budget: int
    meter: Meter
    rng: np.random.Generator
    judging: float = JUDGING
    later: int = 0
    groups: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes, or 1 for numbers."""
        return 1 if self.numbers is None else len(np.unique(self.numbers))
