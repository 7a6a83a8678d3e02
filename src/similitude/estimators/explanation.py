"""Why a model decided so: what each landmark added to the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.support.errors import brief
from similitude.support.results import Result

SHOWN = 5
"""Landmarks that a printed explanation names."""


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """One prediction as a sum over landmarks, those that count most first.

    Attributes
    ----------
    prediction : label or number
    score : float
        What was summed up to: the score of the predicted class (of ``classes_[1]`` where there are two), or the
        predicted number.
    intercept : float
        What it is for an object that is like no landmark.
    landmarks : list of objects
    positions : array of int, or None
        Where they stand in the training objects; None for objects of your own.
    similarities : array of float
        How alike the object is to each: K(x, l), or K(l, x) where only that is used.
    contributions : array of float
        What each adds; their sum and the intercept are the score.
    """

    prediction: Any
    score: float
    intercept: float
    landmarks: list[Any]
    positions: np.ndarray | None
    similarities: np.ndarray
    contributions: np.ndarray

    def __str__(self) -> str:
        lines = [f"{self.prediction!r}: score {self.score:.4g} = {self.intercept:+.4g} (always)"]
        for i in range(min(SHOWN, len(self.landmarks))):
            where = "" if self.positions is None else f" (object {self.positions[i]})"
            alike = f"similarity {self.similarities[i]:.4g}"
            lines.append(f"  {self.contributions[i]:+.4g}  {brief(self.landmarks[i])}{where}, {alike}")
        rest = self.contributions[SHOWN:]
        if len(rest):
            lines.append(f"  {rest.sum():+.4g}  {len(rest)} other landmarks")
        return "\n".join(lines)
