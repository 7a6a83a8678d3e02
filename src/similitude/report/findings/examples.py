"""Hard and typical examples, with what decided their predictions: training examples and parts of the object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.goodness import Goodness
from similitude.relevance import Attribution, attributions, kind_of_object, parts_of
from similitude.report.findings.columns import component_names
from similitude.report.findings.held_out import Fold, HeldOutPredictions, class_scores
from similitude.report.findings.inputs import Inputs, Item
from similitude.report.limits import MAX_ATTRIBUTED_CALLS, N_DECIDING, N_TYPICAL
from similitude.support import Result, unboxed

HARDEST = "hardest"
MISTAKE = "mistake"
TYPICAL = "typical"


@dataclass(frozen=True)
class DecidingExample(Item):
    """A training example, or a group of them around a landmark, and what it added to a score."""

    similarity: float
    influence: float  # positive if it speaks for the prediction, or for a larger number
    count: int  # training rows behind it


@dataclass(frozen=True)
class Decision(Result):
    """The score of a prediction as a sum: of `base`, the influences of `deciding`, and `others`."""

    prediction: Any
    against: Any  # the class that the predicted one is compared with
    score: float
    base: float
    deciding: tuple[DecidingExample, ...]  # those with the largest influences, the largest first
    others: float  # the sum of all other influences
    n_others: int  # training rows behind these
    attribution: Attribution | None = None  # what the parts of the object add; None if unknown or too slow
    note: str = ""  # why rows of the same label are taken together, if they are

    def __str__(self) -> str:
        listed = ", ".join(f"{one.influence:+.3g} (X[{one.index}], {one.label})" for one in self.deciding[:3])
        return f"{self.prediction}, score {self.score:.3g}: {listed}"


@dataclass(frozen=True)
class ExampleFinding(Item):
    """An example and its prediction."""

    predicted: Any
    probabilities: tuple[float, ...] | None  # of the classes in sorted order
    score: float  # of its label minus that of the best other class; for regression, predicted minus true
    wrong: bool  # False for regression
    held_out: bool  # whether the model was not fitted to it
    why: tuple[str, ...]  # it is shown: mistake, label looks wrong, hardest, close call, typical
    hardest_rank: int | None  # 1 for the lowest gap of all; None if it is not among the hardest
    decision: Decision  # by a model that was not fitted to it if it was held out


def choose_examples(
    inputs: Inputs,
    folds: Sequence[Fold],
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
    scores, probabilities = _predicted(inputs, folds[-1][0], predictions, indices)
    decided = decisions(inputs, indices, folds, names)
    ranks = {} if goodness is None else {int(i): rank for rank, i in enumerate(goodness.hardest, 1)}
    margin = margins(scores, inputs.targets[indices]).tolist()
    held_out = np.isin(indices, predictions.tested).tolist()
    chances = [None] * len(indices) if probabilities is None else list(map(tuple, probabilities.tolist()))
    predicted = inputs.classes[scores.argmax(axis=1)].tolist() if inputs.of_classes else scores.tolist()
    found = []
    for at, index in enumerate(why):
        one = inputs.item(index)
        found.append(
            ExampleFinding(
                **vars(one),
                predicted=predicted[at],
                probabilities=chances[at],
                score=margin[at],
                wrong=inputs.of_classes and predicted[at] != one.label,
                held_out=held_out[at],
                why=tuple(why[index]),
                hardest_rank=ranks.get(index),
                decision=decided[index],
            )
        )
    return tuple(found)


def margins(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the score of each label minus the best other score or, for regression, predicted minus true."""
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
        yield HARDEST, tested[np.argsort(-errors, kind="stable")[:22]]
        yield TYPICAL, tested[np.argsort(np.abs(errors - np.median(errors)), kind="stable")[:N_TYPICAL]]
        return
    order = np.argsort(margin, kind="stable")
    right = order[margin[order] >= 0]
    yield MISTAKE, tested[order[margin[order] < 0][:22]]
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
    at = np.searchsorted(predictions.tested, indices) * held_out
    scores = predictions.mean_scores[at]
    probabilities = None if predictions.probabilities is None else predictions.probabilities[at]
    if not held_out.all():
        X = take(inputs.X, indices[~held_out])
        if probabilities is None:
            scores[~held_out] = model.predict(X)
        else:
            scores[~held_out], probabilities[~held_out] = class_scores(inputs, model, X)
    return scores, probabilities


def decisions(
    inputs: Inputs, indices: np.ndarray, folds: Sequence[Fold], names: Sequence[str] | None = None
) -> dict[int, Decision]:
    """Explain the predictions of examples, each by the first model that was not fitted to it, or else by the last."""
    left = indices.tolist()
    found: dict[int, Decision] = {}
    calls = np.inf if inputs.similarity.hints.threadsafe else float(MAX_ATTRIBUTED_CALLS)
    if inputs.spare is not None:
        calls = min(calls, inputs.spare / 4)  # a quarter: landmarks may be compared in both directions
    for model, train, test in folds:
        own = [i for i in left if i in set(test.tolist())] if model is not folds[-1][0] else left
        if own:
            X = take(inputs.X, np.array(own))
            parts = _attributed(inputs, model, as_objects(X), calls * len(own) / len(indices), names)
            for i, why, those in zip(own, model.explain(X), parts, strict=True):
                found[i] = _decision(why, those, train)
        left = [i for i in left if i not in found]
    return found


def _attributed(
    inputs: Inputs, model: Any, objects: Any, calls: float, names: Sequence[str] | None
) -> list[Attribution | None]:
    """Attribute predictions to parts of the objects, of the first ones if each part calls a function of the user."""
    found: list[Attribution | None] = [None] * len(objects)
    if not model.n_similarity_calls_:
        return found
    try:
        kind = kind_of_object(objects[0]) if inputs.similarity.objects == "any" else inputs.similarity.objects
        costs = np.cumsum([len(parts_of(kind, one).places) for one in objects]) * model.n_similarity_calls_
        some = int(np.searchsorted(costs, calls))
        if some:
            called = component_names(names, np.size(objects[0])) if kind == "vectors" else None
            found[:some] = attributions(model, objects[:some], names=called)
    except (TypeError, ValueError):  # no parts are known of such objects
        pass
    return found


def _decision(why: Any, parts: Attribution | None, train: np.ndarray) -> Decision:
    n = len(why.influences)
    columns = (
        [None] * n if why.positions is None else train[why.positions].tolist(),
        why.examples,
        [None] * n if why.labels is None else map(unboxed, why.labels),
        map(float, why.similarities),
        map(float, why.influences),
        map(int, why.counts),
    )
    return Decision(
        prediction=unboxed(why.prediction),
        against=unboxed(why.against),
        score=float(why.score),
        base=float(why.base),
        deciding=tuple(DecidingExample(*one) for one in islice(zip(*columns, strict=False), N_DECIDING)),
        others=float(why.influences[N_DECIDING:].sum() + why.rest),
        n_others=int(why.counts[N_DECIDING:].sum()),
        attribution=parts,
        note=why.note,
    )
