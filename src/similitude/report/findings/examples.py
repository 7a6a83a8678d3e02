"""Hard and typical examples, with the landmarks they are most similar to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import take
from similitude.goodness import Goodness
from similitude.report.findings.held_out import HeldOutPredictions, class_scores
from similitude.report.findings.inputs import Inputs, plain_label
from similitude.report.findings.landmark_importance import LandmarkFinding, LandmarkRoles, ranked
from similitude.support.results import Result

N_MISTAKES, N_CLOSE, N_TYPICAL = 25, 7, 18
"""Largest number of examples that are shown for each reason, beside the ten hardest."""

N_NEAREST = 5
"""Number of landmarks listed for each example."""

N_IMPORTANT = 40
"""Number of landmarks shown because of their importance."""

HARDEST, MISTAKE, CLOSE_CALL, TYPICAL = "hardest", "mistake", "close call", "typical"


@dataclass(frozen=True)
class Near(Result):
    """A landmark that an example is similar to.

    Attributes
    ----------
    landmark : int
        Its position in `Findings.landmarks`.
    similarity : float
    contribution : float
        Its effect on the score of the predicted class (of the second of two classes), or on the predicted number; see
        `Findings.importance`.
    """

    landmark: int
    similarity: float
    contribution: float


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
        Why it is shown: hardest, mistake, close call, typical.
    hardest_rank : int or None
        1 for the example with the lowest gap of all; None if it is not among the hardest.
    nearest : tuple of Near
        The landmarks it is most similar to, in decreasing order of similarity, without itself.
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
    nearest: tuple[Near, ...]


@dataclass(frozen=True, eq=False)
class ShownPredictions:
    """Predictions for the examples that are shown: held-out ones where there are any.

    Attributes
    ----------
    indices : array of int
    scores : array of shape (n, classes), or (n,) of predicted numbers
    probabilities : array or None
    held_out : array of bool
    """

    indices: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None
    held_out: np.ndarray

    @classmethod
    def of(cls, inputs: Inputs, model: Any, predictions: HeldOutPredictions, indices: np.ndarray) -> ShownPredictions:
        """Look up held-out predictions, and let the model predict the other examples."""
        tested = np.isin(indices, predictions.tested)
        at = np.searchsorted(predictions.tested, indices[tested])
        scores = np.zeros((len(indices), *predictions.mean_scores.shape[1:]))
        chances = None if predictions.probabilities is None else np.zeros_like(scores)
        scores[tested] = predictions.mean_scores[at]
        if chances is not None and predictions.probabilities is not None:
            chances[tested] = predictions.probabilities[at]
        rest = np.flatnonzero(~tested)
        if len(rest):
            X = take(inputs.X, indices[rest])
            if chances is None:
                scores[rest] = model.predict(X)
            else:
                scores[rest], chances[rest] = class_scores(inputs, model, X)
        return cls(indices, scores, chances, tested)


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
    inputs: Inputs, predictions: HeldOutPredictions, goodness: Goodness | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield reasons to show examples, the most informative first, with positions in X."""
    if goodness is not None:
        yield HARDEST, goodness.hardest
    margin = margins(predictions.mean_scores, predictions.targets)
    if not inputs.of_classes:
        errors = np.abs(margin)
        yield HARDEST, predictions.tested[np.argsort(-errors, kind="stable")[:N_MISTAKES]]
        yield TYPICAL, predictions.tested[np.argsort(np.abs(errors - np.median(errors)), kind="stable")[:N_TYPICAL]]
        return
    order = np.argsort(margin, kind="stable")
    wrong, right = order[margin[order] < 0], order[margin[order] >= 0]
    yield MISTAKE, predictions.tested[wrong[:N_MISTAKES]]
    yield CLOSE_CALL, predictions.tested[right[:N_CLOSE]]
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
    inputs: Inputs, model: Any, predictions: HeldOutPredictions, goodness: Goodness | None, roles: LandmarkRoles
) -> tuple[tuple[ExampleFinding, ...], tuple[LandmarkFinding, ...]]:
    """Return the examples to show, and the landmarks: the important ones, and the nearest ones of these examples."""
    why: dict[int, list[str]] = {}
    for reason, indices in _chosen(inputs, predictions, goodness):
        for index in indices.tolist():
            why.setdefault(index, [])
            why[index] += [reason] if reason not in why[index] else []
    shown = ShownPredictions.of(inputs, model, predictions, np.array(list(why)))
    numbers, similarities, effects = _nearest(inputs, roles, shown)
    important = np.argsort(-roles.importance, kind="stable")[:N_IMPORTANT]
    landmarks = ranked(inputs, roles, np.union1d(important, numbers.ravel()).astype(int))
    place = {one.number: at for at, one in enumerate(landmarks)}
    ranks = {} if goodness is None else {int(i): rank for rank, i in enumerate(goodness.hardest, 1)}
    found = []
    for at, (index, reasons) in enumerate(why.items()):
        columns = zip(numbers[at].tolist(), similarities[at].tolist(), effects[at].tolist(), strict=True)
        nearest = tuple(Near(place[number], similarity, effect) for number, similarity, effect in columns)
        found.append(_example(inputs, shown, at, tuple(reasons), ranks.get(index), nearest))
    return tuple(found), landmarks


def _nearest(
    inputs: Inputs, roles: LandmarkRoles, shown: ShownPredictions
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of the nearest landmarks of each example, their similarities and their contributions."""
    n = len(shown.indices)
    if not len(roles.importance):
        return np.empty((n, 0), int), np.empty((n, 0)), np.empty((n, 0))
    X = take(inputs.X, shown.indices)
    K = roles.similarities(X)
    others = np.where(roles.positions == shown.indices[:, None], -np.inf, K)
    numbers = np.argsort(-others, axis=1, kind="stable")[:, : min(N_NEAREST, K.shape[1] - 1)]
    outputs = np.zeros(n, int)
    if roles.sides[0].shape[1] > 1:
        known = np.searchsorted(inputs.classes, roles.model.classes_)
        outputs = shown.scores[:, known].argmax(axis=1)
    effects = roles.contributions(X, outputs)
    return numbers, np.take_along_axis(K, numbers, axis=1), np.take_along_axis(effects, numbers, axis=1)


def _example(
    inputs: Inputs, shown: ShownPredictions, at: int, why: tuple[str, ...], rank: int | None, nearest: tuple[Near, ...]
) -> ExampleFinding:
    item, scores = inputs.item(shown.indices[at]), shown.scores[at]
    target = inputs.targets[item.index]
    decided = int(scores.argmax()) if inputs.of_classes else 0
    return ExampleFinding(
        index=item.index,
        object=item.object,
        label=item.label,
        predicted=plain_label(inputs.classes[decided]) if inputs.of_classes else float(scores),
        probabilities=None if shown.probabilities is None else tuple(shown.probabilities[at].tolist()),
        score=float(margins(scores[None], np.array([target]))[0]),
        wrong=bool(inputs.of_classes and decided != target),
        held_out=bool(shown.held_out[at]),
        why=why,
        hardest_rank=rank,
        nearest=nearest,
    )
