"""What decided a prediction: training examples with their labels, for it and against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.relevance import Attribution, attributions, kind_of_object, parts_of
from similitude.report.findings.columns import component_names
from similitude.report.findings.held_out import FoldModel
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.report.limits import MAX_ATTRIBUTED_CALLS, N_DECIDING
from similitude.support import Result


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
    note : str
        Why rows of the same label are taken together; empty if they are not.
    """

    prediction: Any
    against: Any
    score: float
    base: float
    deciding: tuple[DecidingExample, ...]
    others: float
    n_others: int
    attribution: Attribution | None = None
    note: str = ""

    def __str__(self) -> str:
        listed = ", ".join(f"{one.influence:+.3g} (X[{one.index}], {one.label})" for one in self.deciding[:3])
        return f"{self.prediction}, score {self.score:.3g}: {listed}"


def decisions(
    inputs: Inputs, indices: np.ndarray, models: Sequence[FoldModel], names: Sequence[str] | None = None
) -> dict[int, Decision]:
    """Explain the predictions of examples, each by the first model that was not fitted to it, or else by the last.

    All are attributed to parts of the object; with a function of the user, which is slow, only the first ones. `names`
    are those of the components of vectors.
    """
    left, found = list(indices.tolist()), {}
    calls = np.inf if inputs.similarity.hints.threadsafe else float(MAX_ATTRIBUTED_CALLS)
    if inputs.spare is not None:
        calls = min(calls, inputs.spare / 4)  # a quarter: landmarks may be compared in both directions
    for place, one in enumerate(models):
        tested = set(one.test.tolist())
        own = left if place == len(models) - 1 else [i for i in left if i in tested]
        if own:
            explained = one.model.explain(take(inputs.X, np.array(own)))
            parts = _attributed(inputs, one.model, own, calls * len(own) / len(indices), names)
            for i, why, those in zip(own, explained, parts, strict=True):
                found[i] = _decision(why, one.train, those)
        left = [i for i in left if i not in found]
    return found


def _attributed(
    inputs: Inputs, model: Any, indices: list[int], calls: float, names: Sequence[str] | None
) -> list[Attribution | None]:
    """Attribute predictions to parts of the objects, of the first ones if each part calls a function of the user."""
    nothing: list[Attribution | None] = [None] * len(indices)
    if not model.n_similarity_calls_:
        return nothing
    objects = as_objects(take(inputs.X, np.array(indices)))
    try:
        kind = kind_of_object(objects[0]) if inputs.similarity.objects == "any" else inputs.similarity.objects
        costs = np.cumsum([len(parts_of(kind, one).places) for one in objects]) * model.n_similarity_calls_
        some = int(np.searchsorted(costs, calls))
        called = component_names(names, np.size(objects[0])) if kind == "vectors" else None
        return [*attributions(model, objects[:some], names=called), *nothing[some:]] if some else nothing
    except (TypeError, ValueError):  # no parts are known of such objects
        return nothing


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
    return Decision(prediction, plain_label(why.against), score, base, deciding, others, n_others, parts, why.note)
