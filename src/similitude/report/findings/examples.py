"""Hard and typical examples, with what decided their predictions: training examples and parts of the object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.goodness import Goodness
from similitude.relevance import Attribution, attributions, kind_of_object, parts_of
from similitude.report.findings.columns import component_names
from similitude.report.findings.held_out import FoldModel, HeldOutPredictions, class_scores
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.report.limits import MAX_ATTRIBUTED_CALLS, N_DECIDING, N_MISTAKES, N_TYPICAL
from similitude.support import Result

HARDEST = "hardest"
MISTAKE = "mistake"
TYPICAL = "typical"


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


@dataclass(frozen=True)
class ExampleFinding(Result):
    """An example and its prediction.

    Attributes
    ----------
    index : int
        Its position in X.
    object : object
    label : label or float
    predicted : label or float
    probabilities : tuple of float or None
        Of the classes in sorted order.
    score : float
        The score of its label minus that of the best other class, negative where the model is wrong. For regression,
        predicted minus true.
    wrong : bool
        False for regression.
    held_out : bool
        Whether the model was not fitted to it.
    why : tuple of str
        Why it is shown: mistake, label looks wrong, hardest, close call, typical.
    hardest_rank : int or None
        1 for the example with the lowest gap of all; None if it is not among the hardest.
    decision : Decision
        Which training examples decided, by a model that was not fitted to it if it was held out.
    """

    index: int
    object: Any
    label: Any
    predicted: Any
    probabilities: tuple[float, ...] | None
    score: float
    wrong: bool
    held_out: bool
    why: tuple[str, ...]
    hardest_rank: int | None
    decision: Decision


def choose_examples(
    inputs: Inputs,
    models: Sequence[FoldModel],
    predictions: HeldOutPredictions,
    goodness: Goodness | None,
    doubted: np.ndarray,
    names: Sequence[str] | None = None,
) -> tuple[ExampleFinding, ...]:
    """Return the examples to show; the last of the models is the one that is reported."""
    why: dict[int, list[str]] = {}
    for reason, chosen in _chosen(inputs, predictions, goodness, doubted):
        for index in dict.fromkeys(chosen.tolist()):
            why.setdefault(index, []).append(reason)
    indices = np.array(list(why))
    scores, probabilities = _predicted(inputs, models[-1].model, predictions, indices)
    margin = margins(scores, inputs.targets[indices])
    decided = decisions(inputs, indices, models, names)
    ranks = {} if goodness is None else {int(i): rank for rank, i in enumerate(goodness.hardest, 1)}
    held_out = np.isin(indices, predictions.tested)
    predicted = scores.tolist()
    wrong = np.zeros(len(indices), dtype=bool)
    if inputs.of_classes:
        codes = scores.argmax(axis=1)
        predicted = inputs.classes[codes].tolist()
        wrong = codes != inputs.codes[indices]
    found = []
    for at, index in enumerate(why):
        item = inputs.item(index)
        found.append(
            ExampleFinding(
                index=item.index,
                object=item.object,
                label=item.label,
                predicted=predicted[at],
                probabilities=None if probabilities is None else tuple(probabilities[at].tolist()),
                score=float(margin[at]),
                wrong=bool(wrong[at]),
                held_out=bool(held_out[at]),
                why=tuple(why[index]),
                hardest_rank=ranks.get(index),
                decision=decided[index],
            )
        )
    return tuple(found)


def margins(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the score of each label minus the best other score or, for regression, predicted minus true.

    >>> margins(np.array([[0.2, 0.5, 0.1]]), np.array([0]))
    array([-0.3])
    """
    if scores.ndim == 1:
        return scores - targets
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, targets] = -np.inf
    return scores[rows, targets] - others.max(axis=1)


def _chosen(
    inputs: Inputs, predictions: HeldOutPredictions, goodness: Goodness | None, doubted: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield reasons to show examples, the most informative first, with positions in X."""
    tested = predictions.tested
    margin = margins(predictions.mean_scores, predictions.targets)
    if not inputs.of_classes:
        errors = np.abs(margin)
        yield HARDEST, tested[np.argsort(-errors, kind="stable")[:N_MISTAKES]]
        yield TYPICAL, tested[np.argsort(np.abs(errors - np.median(errors)), kind="stable")[:N_TYPICAL]]
        return
    order = np.argsort(margin, kind="stable")
    right = order[margin[order] >= 0]
    yield MISTAKE, tested[order[margin[order] < 0][:N_MISTAKES]]
    if goodness is not None:
        yield "label looks wrong", doubted[:6]
        yield HARDEST, goodness.hardest
    yield "close call", tested[right[:6]]
    turns = []  # examples with about the median margin of their class, class by class
    for c in np.unique(predictions.targets[right]):
        own = right[predictions.targets[right] == c]
        nearest = own[np.argsort(np.abs(margin[own] - np.median(margin[own])), kind="stable")[:N_TYPICAL]]
        turns += [(turn, int(c), i) for turn, i in enumerate(nearest.tolist())]
    yield TYPICAL, tested[[i for _, _, i in sorted(turns)[:N_TYPICAL]]]


def _predicted(
    inputs: Inputs, model: Any, predictions: HeldOutPredictions, indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return scores and probabilities (None for regression): held-out ones, or the model's for other examples."""
    held_out = np.isin(indices, predictions.tested)
    at = np.searchsorted(predictions.tested, indices[held_out])
    scores = np.zeros((len(indices), *predictions.mean_scores.shape[1:]))
    scores[held_out] = predictions.mean_scores[at]
    probabilities = None
    if predictions.probabilities is not None:
        probabilities = np.zeros_like(scores)
        probabilities[held_out] = predictions.probabilities[at]
    if not held_out.all():
        X = take(inputs.X, indices[~held_out])
        if probabilities is None:
            scores[~held_out] = model.predict(X)
        else:
            scores[~held_out], probabilities[~held_out] = class_scores(inputs, model, X)
    return scores, probabilities


def decisions(
    inputs: Inputs, indices: np.ndarray, models: Sequence[FoldModel], names: Sequence[str] | None = None
) -> dict[int, Decision]:
    """Explain the predictions of examples, each by the first model that was not fitted to it, or else by the last.

    All are attributed to parts of the object; with a function of the user, which is slow, only the first ones. `names`
    are those of the components of vectors.
    """
    left = indices.tolist()
    found: dict[int, Decision] = {}
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
    labels = [None] * len(why.examples) if why.labels is None else why.labels
    deciding = [
        DecidingExample(
            index=None if why.positions is None else int(train[why.positions[i]]),
            object=why.examples[i],
            label=plain_label(labels[i]),
            similarity=float(why.similarities[i]),
            influence=float(why.influences[i]),
            count=int(why.counts[i]),
        )
        for i in range(min(N_DECIDING, len(why.influences)))
    ]
    return Decision(
        prediction=plain_label(why.prediction),
        against=plain_label(why.against),
        score=float(why.score),
        base=float(why.base),
        deciding=tuple(deciding),
        others=float(why.influences[N_DECIDING:].sum() + why.rest),
        n_others=int(why.counts[N_DECIDING:].sum()),
        attribution=parts,
        note=why.note,
    )
