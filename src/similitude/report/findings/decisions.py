"""What decided a prediction: training examples with their labels, for it and against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.relevance import Attribution, attribution
from similitude.report.findings.held_out import FoldModel
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.support import Result

MAX_ATTRIBUTED = 30
"""Largest number of examples whose parts are looked at, the first ones."""

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
    attribution : Attribution or None
        What the parts of the object add to the score; None if that is not known or would take too long.
    """

    prediction: Any
    against: Any
    score: float
    base: float
    deciding: tuple[DecidingExample, ...]
    others: float
    n_others: int
    attribution: Attribution | None = None

    def __str__(self) -> str:
        listed = ", ".join(f"{one.influence:+.3g} (X[{one.index}], {one.label})" for one in self.deciding[:3])
        return f"{self.prediction}, score {self.score:.3g}: {listed}"


def decisions(inputs: Inputs, indices: np.ndarray, models: Sequence[FoldModel]) -> dict[int, Decision]:
    """Explain the predictions of examples, each by the first model that was not fitted to it, or else by the last."""
    left, found = set(indices.tolist()), {}
    attributed = set(indices[:MAX_ATTRIBUTED].tolist())
    for place, one in enumerate(models):
        own = left if place == len(models) - 1 else left & set(one.test.tolist())
        if own:
            some = np.array(sorted(own))
            explained = one.model.explain(take(inputs.X, some))
            for i, why in zip(some.tolist(), explained, strict=True):
                found[i] = _decision(why, one.train, _attributed(inputs, one.model, i) if i in attributed else None)
        left = left - own
    return found


def _attributed(inputs: Inputs, model: Any, index: int) -> Attribution | None:
    """Attribute the prediction of one object to its parts, unless each part would call a function of the user."""
    if not inputs.similarity.hints.threadsafe or not len(model.landmark_indices_):
        return None
    try:
        return attribution(model, inputs.item(index).object)
    except (TypeError, ValueError):  # no parts are known of such objects
        return None


def _decision(why: Any, train: np.ndarray, parts: Attribution | None) -> Decision:
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
    score, base = float(why.score), float(why.base)
    return Decision(prediction, plain_label(why.against), score, base, deciding, others, n_others, parts)
