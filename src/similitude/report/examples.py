"""The hardest examples and typical ones, with the landmarks they are most like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import take
from similitude.goodness import Goodness
from similitude.report.about import CLASSIFICATION, Subject, plain_label
from similitude.report.landmarks import LandmarkFinding, Roles, ranked
from similitude.report.trials import Trial, class_scores
from similitude.support.results import Result

MISTAKES, CLOSE, TYPICAL = 25, 7, 18
"""Examples at most that are shown for each reason, beside the ten hardest."""

NEAREST = 5
"""Landmarks named for each example."""

IMPORTANT = 40
"""Landmarks shown for their importance."""

HARDEST, MISTAKE, CLOSE_CALL, ORDINARY = "hardest", "mistake", "close call", "typical"


@dataclass(frozen=True)
class Near(Result):
    """A landmark that an example is like.

    Attributes
    ----------
    landmark : int
        Its place in `Findings.landmarks`.
    similarity : float
    contribution : float
        What it does to the score of the predicted class (of the second of two classes), or to the predicted number;
        see `Findings.importance`.
    """

    landmark: int
    similarity: float
    contribution: float


@dataclass(frozen=True)
class ExampleFinding(Result):
    """An example and what the model makes of it.

    Attributes
    ----------
    index : int
        Its position in X.
    object : object
    label : label or float
    predicted : label or float
    probabilities : tuple of float or None
        Of the classes in order.
    score : float
        By how much the score of its label exceeds that of the best other class: negative where the model is wrong. For
        numbers, predicted less true.
    wrong : bool
        For numbers, False.
    held_out : bool
        Whether the model had not seen it.
    why : tuple of str
        Why it is shown: hardest, mistake, close call, typical.
    hardest_rank : int or None
        1 for the example with the lowest gap of all; None where it is not among the hardest.
    nearest : tuple of Near
        The landmarks it is most like, the most similar first; itself left out.
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
class Answers:
    """What is predicted for some examples: by models that had not seen them where there are such.

    Attributes
    ----------
    indices : array of int
    scores : array of shape (n, classes), or (n,) of predicted numbers
    chances : array or None
    held_out : array of bool
    """

    indices: np.ndarray
    scores: np.ndarray
    chances: np.ndarray | None
    held_out: np.ndarray

    @classmethod
    def of(cls, subject: Subject, model: Any, trial: Trial, indices: np.ndarray) -> Answers:
        """Look up what was predicted in the trial, and ask the model for the rest."""
        tested = np.isin(indices, trial.tested)
        at = np.searchsorted(trial.tested, indices[tested])
        scores = np.zeros((len(indices), *trial.mean_scores.shape[1:]))
        chances = None if trial.chances is None else np.zeros_like(scores)
        scores[tested] = trial.mean_scores[at]
        if chances is not None and trial.chances is not None:
            chances[tested] = trial.chances[at]
        rest = np.flatnonzero(~tested)
        if len(rest):
            X = take(subject.X, indices[rest])
            if chances is None:
                scores[rest] = model.predict(X)
            else:
                scores[rest], chances[rest] = class_scores(subject, model, X)
        return cls(indices, scores, chances, tested)


def margins(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return by how much the score of the label exceeds the best other, or a prediction the number.

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


def _chosen(subject: Subject, trial: Trial, goodness: Goodness | None) -> Iterator[tuple[str, int]]:
    """Yield examples to show, each with the reason, the more telling reasons first."""
    if goodness is not None:
        yield from ((HARDEST, int(i)) for i in goodness.hardest)
    apart = margins(trial.mean_scores, trial.targets)
    if subject.task != CLASSIFICATION:
        order = np.argsort(-np.abs(apart), kind="stable")
        yield from ((HARDEST, int(i)) for i in trial.tested[order[:MISTAKES]])
        middle = np.argsort(np.abs(np.abs(apart) - np.median(np.abs(apart))), kind="stable")
        yield from ((ORDINARY, int(i)) for i in trial.tested[middle[:TYPICAL]])
        return
    order = np.argsort(apart, kind="stable")
    wrong, right = order[apart[order] < 0], order[apart[order] >= 0]
    yield from ((MISTAKE, int(i)) for i in trial.tested[wrong[:MISTAKES]])
    yield from ((CLOSE_CALL, int(i)) for i in trial.tested[right[:CLOSE]])
    yield from ((ORDINARY, int(trial.tested[i])) for i in _typical(trial.targets, apart, right))


def _typical(targets: np.ndarray, apart: np.ndarray, right: np.ndarray) -> list[int]:
    """Return examples that are right by about as much as most of their class, taking turns among classes."""
    turns = []
    for c in np.unique(targets[right]):
        own = right[targets[right] == c]
        order = np.argsort(np.abs(apart[own] - np.median(apart[own])), kind="stable")
        turns += [(turn, int(c), int(i)) for turn, i in enumerate(own[order][:TYPICAL])]
    return [i for _, _, i in sorted(turns)[:TYPICAL]]


def show(
    subject: Subject, model: Any, trial: Trial, goodness: Goodness | None, found: Roles
) -> tuple[tuple[ExampleFinding, ...], tuple[LandmarkFinding, ...]]:
    """Return the examples to show, and the landmarks: the important ones, and those that examples are most like."""
    why: dict[int, list[str]] = {}
    for reason, index in _chosen(subject, trial, goodness):
        why.setdefault(index, [])
        why[index] += [reason] if reason not in why[index] else []
    answers = Answers.of(subject, model, trial, np.array(list(why)))
    X = take(subject.X, answers.indices)
    numbers, near = _near(subject, found, answers, X)
    important = np.argsort(-found.importance, kind="stable")[:IMPORTANT]
    landmarks = ranked(subject, found, np.union1d(important, numbers.ravel()).astype(int))
    place = {one.number: at for at, one in enumerate(landmarks)}
    hard = {} if goodness is None else {int(i): rank for rank, i in enumerate(goodness.hardest, 1)}
    shown = [
        _example(subject, answers, at, tuple(reasons), hard.get(index), numbers[at], near[:, at], place)
        for at, (index, reasons) in enumerate(why.items())
    ]
    return tuple(shown), landmarks


def _near(subject: Subject, found: Roles, answers: Answers, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return for each example the numbers of its nearest landmarks; their similarities and contributions."""
    if not len(found.importance):
        return np.empty((len(answers.indices), 0), int), np.empty((2, len(answers.indices), 0))
    alike = found.similarities(X)
    others = np.where(found.positions == answers.indices[:, None], -np.inf, alike)  # itself is no news
    numbers = np.argsort(-others, axis=1, kind="stable")[:, : min(NEAREST, alike.shape[1] - 1)]
    outputs = np.zeros(len(alike), int)
    if found.sides[0].shape[1] > 1:
        known = np.searchsorted(subject.classes, found.model.classes_)
        outputs = answers.scores[:, known].argmax(axis=1)
    added = found.contributions(X, outputs)
    return numbers, np.stack([np.take_along_axis(values, numbers, axis=1) for values in (alike, added)])


def _example(
    subject: Subject,
    answers: Answers,
    at: int,
    why: tuple[str, ...],
    rank: int | None,
    numbers: np.ndarray,
    near: np.ndarray,
    place: dict[int, int],
) -> ExampleFinding:
    item, scores = subject.item(answers.indices[at]), answers.scores[at]
    classes = subject.task == CLASSIFICATION
    target = subject.codes[item.index] if classes else subject.y[item.index]
    decided = int(scores.argmax()) if classes else 0
    nearest = zip(numbers.tolist(), *near.tolist(), strict=True)
    return ExampleFinding(
        index=item.index,
        object=item.object,
        label=item.label,
        predicted=plain_label(subject.classes[decided]) if classes else float(scores),
        probabilities=None if answers.chances is None else tuple(answers.chances[at].tolist()),
        score=float(margins(scores[None], np.array([target]))[0]),
        wrong=bool(classes and decided != target),
        held_out=bool(answers.held_out[at]),
        why=why,
        hardest_rank=rank,
        nearest=tuple(Near(place[number], alike, added) for number, alike, added in nearest),
    )
