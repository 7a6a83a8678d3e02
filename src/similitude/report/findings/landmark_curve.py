"""Held-out error by the number of landmarks, beside the numbers that theorems ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.goodness import Goodness
from similitude.report.findings.held_out import HeldOutPredictions
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.landmarks import LandmarkBlocks
from similitude.support import ESTIMATE, NONE, Curve, Result
from similitude.theory import LEVEL, bounds


@dataclass(frozen=True)
class TheoremSize(Result):
    """The total number of landmarks that a theorem asks for, at the margin or gap of the sample."""

    name: str
    size: int
    grade: str  # ESTIMATE for a theorem at an estimated margin, NONE for a rule of thumb
    statement: str  # what would hold, and by which theorem

    def __str__(self) -> str:
        return f"{self.name}: {self.size:,} ({self.grade}). {self.statement}"


@dataclass(frozen=True, eq=False)
class LearningCurve(Result):
    """The held-out error by the number of landmarks."""

    landmarks: np.ndarray  # increasing; the last is the model's
    error: Curve  # over these numbers
    measure: str  # error rate or root mean squared error
    theorem_sizes: tuple[TheoremSize, ...]
    chosen: int  # the model's number of landmarks
    reason: str  # why the model does not have more

    def __str__(self) -> str:
        points = zip(self.landmarks.tolist(), self.error.y, self.error.low, self.error.high, strict=True)
        lines = [f"  {n:6,} landmarks: {y:.4g} [{low:.4g}, {high:.4g}]" for n, y, low, high in points]
        sizes = [f"  {size}" for size in self.theorem_sizes]
        head = f"{self.measure} on held-out examples ({100 * self.error.level:g} %, {self.error.grade})"
        return "\n".join([head, *lines, f"  not more, because {self.reason}", *sizes])


def learning_curve(
    inputs: Inputs,
    model: Any,
    blocks: Sequence[LandmarkBlocks],
    predictions: HeldOutPredictions,
    goodness: Goodness | None,
) -> LearningCurve:
    """Refit the model with ever fewer of its landmarks, at its own penalty, and measure the error in the first round.

    `blocks` belong to the models of this round; none where every row is a landmark, and nothing is refitted.
    """
    chosen = max(1, model.n_similarity_calls_)
    sizes = halvings(chosen, max(2, len(inputs.classes))) if blocks else [chosen]
    sizes = [size for size in sizes if size <= 512 or size == chosen]
    orders = [inputs.rng().permutation(one.n_landmarks) for one in blocks]
    errors = []
    for size in sizes[:-1]:
        scores = np.zeros_like(predictions.scores[:1])
        for one, order in zip(blocks, orders, strict=True):
            at = np.searchsorted(predictions.tested, one.test)
            if one.n_landmarks:
                scores[0, at] = one.scores_of_some(order[:size]).reshape(scores[0, at].shape)
        errors.append(replace(predictions, scores=scores).error(inputs.seed))
    errors.append(predictions.error(inputs.seed))
    y, low, high = np.transpose([(one.value, one.low, one.high) for one in errors])
    error = Curve(np.array(sizes, float), y, low, high, LEVEL, errors[0].grade)
    asked = _theorem_sizes(goodness)
    return LearningCurve(np.array(sizes), error, predictions.measure, asked, chosen, model.landmark_curve_.reason)


def halvings(chosen: int, least: int) -> list[int]:
    """Return increasing numbers of landmarks, each half of the next, ending with the chosen one."""
    sizes = [chosen]
    while len(sizes) < 7 and sizes[-1] // 2 >= least:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def _theorem_sizes(goodness: Goodness | None) -> tuple[TheoremSize, ...]:
    """Return the theorems' numbers of landmarks at the estimated gaps and margins."""
    if goodness is None:
        return ()
    found = []
    for size in goodness.sizes:
        if size.needed is None or "landmarks" not in size.what:
            continue
        k = 1
        name = "as a kernel"
        gap = "margin"
        if size.what.endswith("of each class"):
            k = len(goodness.classes_)
            name = "as a similarity"
            gap = "gap"
        statement = f"{size.what}: {size.needed:,} if the {gap} is {size.gamma:.3g}, as estimated; {size.theorem}"
        found.append(TheoremSize(name, size.needed * k, ESTIMATE, statement))
    gamma = goodness.margin.value
    if gamma is not None and gamma > 1e-9:
        gamma = min(gamma, 1.0)
        rule = f"0.5 / (epsilon gamma²) for error {0.1} at margin {gamma:.3g}, as estimated; no theorem"
        found.append(TheoremSize("rule of thumb", bounds.practical_landmarks(0.1, gamma), NONE, rule))
    return tuple(sorted(found, key=lambda one: one.size))
