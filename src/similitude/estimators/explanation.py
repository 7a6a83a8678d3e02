"""Explanations: what each landmark adds to the score of a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.estimators.model import LandmarkModel
from similitude.support import Result, brief

SHOWN = 5
"""Landmarks that a printed explanation names."""


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """One prediction as a sum over landmarks, largest contributions first.

    Attributes
    ----------
    prediction : label or number
    score : float
        The sum: the score of the predicted class (of ``classes_[1]`` if there are two), or the predicted number.
    intercept : float
        The score of an object with similarity zero to every landmark.
    landmarks : list of objects
    positions : array of int, or None
        Their positions in the training data; None if some are not rows of it.
    similarities : array of float
        The similarity of the object to each: K(x, l), or K(l, x) if only that is used.
    contributions : array of float
        What each adds to the score; with the intercept they sum to it.
    """

    prediction: Any
    score: float
    intercept: float
    landmarks: list[Any]
    positions: np.ndarray | None
    similarities: np.ndarray
    contributions: np.ndarray

    @classmethod
    def of(
        cls,
        model: LandmarkModel,
        objects: list[Any],
        encodings: Sequence[Encoding],
        prediction: Any,
        column: int,
        intercept: np.ndarray,
    ) -> Explanation:
        """Explain the score of one encoded object in one column; `objects` are the landmarks of all parts."""
        similarities, added, positions = [], [], []
        for part, A in zip(model.parts, encodings, strict=True):
            values, contributions = part.contributions(A)
            similarities.append(values)
            added.append(contributions[:, column])
            places = part.features.landmarks.positions
            positions.append(places if places is not None else np.full(len(part.features.landmarks), -1))
        contributions, places = np.concatenate(added), np.concatenate(positions)
        order = np.argsort(-np.abs(contributions), kind="stable")
        return cls(
            prediction.item() if isinstance(prediction, np.generic) else prediction,
            float(contributions.sum() + intercept[column]),
            float(intercept[column]),
            [objects[i] for i in order],
            None if (places < 0).any() else places[order],
            np.concatenate(similarities)[order],
            contributions[order],
        )

    def __str__(self) -> str:
        lines = [f"{self.prediction!r}: score {self.score:.4g} = {self.intercept:+.4g} (intercept)"]
        for i in range(min(SHOWN, len(self.landmarks))):
            where = "" if self.positions is None else f" (object {self.positions[i]})"
            similarity = f"similarity {self.similarities[i]:.4g}"
            lines.append(f"  {self.contributions[i]:+.4g}  {brief(self.landmarks[i])}{where}, {similarity}")
        rest = self.contributions[SHOWN:]
        if len(rest):
            lines.append(f"  {rest.sum():+.4g}  {len(rest)} other landmarks")
        return "\n".join(lines)
