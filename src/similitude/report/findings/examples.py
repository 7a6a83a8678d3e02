"""Hard and typical examples, with what decided their predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.goodness import Goodness
from similitude.report.findings.decisions import Decision, decisions
from similitude.report.findings.held_out import FoldModel, HeldOutPredictions, class_scores
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.report.limits import N_MISTAKES, N_TYPICAL
from similitude.support import Result

HARDEST = "hardest"
MISTAKE = "mistake"
TYPICAL = "typical"


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


def margins(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the score of each label minus the best other score or, for regression, predicted minus true.

    >>> margins(np.array([[0.2, 0.5, 0.1]]), np.array([0]))
    array([-0.3])
    """
    if scores.ndim == 1:
        return scores - targets
    rows = np.arange(len(scores))
    own = scores[rows, targets]
    others = scores.copy()
    others[rows, targets] = -np.inf
    return own - others.max(axis=1)


def _chosen(
    inputs: Inputs, predictions: HeldOutPredictions, goodness: Goodness | None, doubted: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield reasons to show examples, the most informative first, with positions in X."""
    margin = margins(predictions.mean_scores, predictions.targets)
    if not inputs.of_classes:
        errors = np.abs(margin)
        yield HARDEST, predictions.tested[np.argsort(-errors, kind="stable")[:N_MISTAKES]]
        yield TYPICAL, predictions.tested[np.argsort(np.abs(errors - np.median(errors)), kind="stable")[:N_TYPICAL]]
        return
    order = np.argsort(margin, kind="stable")
    wrong, right = order[margin[order] < 0], order[margin[order] >= 0]
    yield MISTAKE, predictions.tested[wrong[:N_MISTAKES]]
    if goodness is not None:
        yield "label looks wrong", doubted[:6]
        yield HARDEST, goodness.hardest
    yield "close call", predictions.tested[right[:6]]
    yield TYPICAL, predictions.tested[_typical(predictions.targets, margin, right)]


def _typical(targets: np.ndarray, margin: np.ndarray, right: np.ndarray) -> list[int]:
    """Return correctly predicted examples with about the median margin of their class, class by class in turn."""
    turns = []
    for c in np.unique(targets[right]):
        own = right[targets[right] == c]
        order = np.argsort(np.abs(margin[own] - np.median(margin[own])), kind="stable")
        turns += [(turn, int(c), int(i)) for turn, i in enumerate(own[order][:N_TYPICAL])]
    return [i for _, _, i in sorted(turns)[:N_TYPICAL]]


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
        for index in chosen.tolist():
            why.setdefault(index, [])
            why[index] += [reason] if reason not in why[index] else []
    indices = np.array(list(why))
    scores, probabilities = _predicted(inputs, models[-1].model, predictions, indices)
    margin = margins(scores, inputs.targets[indices])
    decided = decisions(inputs, indices, models, names)
    ranks = {} if goodness is None else {int(i): rank for rank, i in enumerate(goodness.hardest, 1)}
    found = []
    for at, index in enumerate(why):
        item, code = inputs.item(index), int(scores[at].argmax()) if inputs.of_classes else 0
        found.append(
            ExampleFinding(
                index=item.index,
                object=item.object,
                label=item.label,
                predicted=plain_label(inputs.classes[code]) if inputs.of_classes else float(scores[at]),
                probabilities=None if probabilities is None else tuple(probabilities[at].tolist()),
                score=float(margin[at]),
                wrong=bool(inputs.of_classes and code != inputs.codes[index]),
                held_out=bool(np.isin(index, predictions.tested)),
                why=tuple(why[index]),
                hardest_rank=ranks.get(index),
                decision=decided[index],
            )
        )
    return tuple(found)


def _predicted(
    inputs: Inputs, model: Any, predictions: HeldOutPredictions, indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return scores and probabilities (None for regression): held-out ones, or the model's for other examples."""
    held_out = np.isin(indices, predictions.tested)
    at, rest = np.searchsorted(predictions.tested, indices[held_out]), np.flatnonzero(~held_out)
    scores = np.zeros((len(indices), *predictions.mean_scores.shape[1:]))
    scores[held_out] = predictions.mean_scores[at]
    X = take(inputs.X, indices[rest]) if len(rest) else None
    if predictions.probabilities is None:
        scores[rest] = [] if X is None else model.predict(X)
        return scores, None
    probabilities = np.zeros_like(scores)
    probabilities[held_out] = predictions.probabilities[at]
    if X is not None:
        scores[rest], probabilities[rest] = class_scores(inputs, model, X)
    return scores, probabilities
