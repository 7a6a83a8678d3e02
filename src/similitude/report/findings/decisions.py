"""What decided a prediction: training examples with their labels, for it and against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.report.findings.held_out import FoldModel
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.support import Result

N_DECIDING = 7
"""Number of training examples that are listed for each prediction."""


@dataclass(frozen=True)
class DecidingExample(Result):
    """A training example, or a group of them around a landmark, and what it added to a score.

    Attributes
    ----------
    index : int or None
        Its position in X; None if the landmark is not a row of X.
    object : object
    label : label or float
        Of the example, or of the rows of the group.
    similarity : float
    influence : float
        Positive if it speaks for the prediction, or for a larger number.
    count : int
        How many training rows stand behind it.
    """

    index: int | None
    object: Any
    label: Any
    similarity: float
    influence: float
    count: int


@dataclass(frozen=True)
class Decision(Result):
    """The score of a prediction as a sum: of `base`, the influences of `deciding`, and `others`.

    Attributes
    ----------
    prediction : label or float
    against : label or None
        The class that the predicted one is compared with.
    score, base : float
    deciding : tuple of DecidingExample
        Those with the largest influences, the largest first.
    others : float
        The sum of all other influences.
    n_others : int
        How many training rows stand behind these.
    """

    prediction: Any
    against: Any
    score: float
    base: float
    deciding: tuple[DecidingExample, ...]
    others: float
    n_others: int

    def __str__(self) -> str:
        listed = ", ".join(f"{one.influence:+.3g} (X[{one.index}], {one.label})" for one in self.deciding[:3])
        return f"{self.prediction}, score {self.score:.3g}: {listed}"


def decisions(inputs: Inputs, indices: np.ndarray, models: Sequence[FoldModel]) -> dict[int, Decision]:
    """Explain the predictions of examples, each by the first model that was not fitted to it, or else by the last."""
    left, found = set(indices.tolist()), {}
    for place, one in enumerate(models):
        own = left if place == len(models) - 1 else left & set(one.test.tolist())
        if own:
            some = np.array(sorted(own))
            explained = one.model.explain(take(inputs.X, some))
            found.update({int(i): _decision(why, one.train) for i, why in zip(some, explained, strict=True)})
        left = left - own
    return found


def _decision(why: Any, train: np.ndarray) -> Decision:
    first = range(min(N_DECIDING, len(why.influences)))
    labels = why.labels if why.labels is not None else [None] * len(why.examples)
    deciding = tuple(
        DecidingExample(
            index=None if why.positions is None else int(train[why.positions[i]]),
            object=why.examples[i],
            label=plain_label(labels[i]),
            similarity=float(why.similarities[i]),
            influence=float(why.influences[i]),
            count=int(why.counts[i]),
        )
        for i in first
    )
    others = float(why.influences[N_DECIDING:].sum() + why.rest)
    n_others = int(why.counts[N_DECIDING:].sum())
    prediction = plain_label(why.prediction)
    return Decision(prediction, plain_label(why.against), float(why.score), float(why.base), deciding, others, n_others)
