"""The penalty of a head without a leave-one-out formula: a path of them, judged on folds or on a held-out part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.linear.linear import Linear

FOLDS = 5
"""Parts that each in turn are held out, where there are few examples."""

PATIENCE = 2
"""Penalties on a path that may be worse than the best before it ends."""


@dataclass(frozen=True)
class Head:
    """A head as the path needs it.

    Attributes
    ----------
    penalties : callable
        ``penalties(rows)`` gives the path for some examples, largest first.
    fit : callable
        ``fit(rows, penalties)`` yields a linear model for each penalty.
    losses : callable
        ``losses(scores, rows)`` gives the loss of each of these examples.
    """

    penalties: Callable[[np.ndarray], np.ndarray]
    fit: Callable[[np.ndarray, np.ndarray], Iterable[Linear]]
    losses: Callable[[np.ndarray, np.ndarray], np.ndarray]


def chosen(
    head: Head, F: Any, weights: np.ndarray, fitted: int, rng: np.random.Generator
) -> tuple[Linear, float, np.ndarray, np.ndarray]:
    """Return the model of all examples, its penalty, the judged examples and their held-out scores.

    Parameters
    ----------
    head : Head
    F : array or tensor of shape (n, d)
    weights : array of shape (n,)
    fitted : int
        The examples from here on are held out; n: folds instead.
    rng : Generator
    """
    n = len(F)
    path = head.penalties(np.arange(n))
    total, judged, scores = np.zeros(len(path)), [], []
    for train, test in _splits(n, fitted, rng):
        tried = list(_walk(head, F, weights, train, test, path, patient=fitted < n))
        judged.append(test)
        scores.append([one for one, _ in tried])
        losses = [loss for _, loss in tried]
        total += np.array(losses + [np.inf] * (len(path) - len(losses)))
    best = int(total.argmin())
    everything = np.arange(n)
    linear = list(head.fit(everything, path[: best + 1]))[-1]
    return linear, float(path[best]), np.concatenate(judged), np.concatenate([one[best] for one in scores])


def _walk(
    head: Head, F: Any, weights: np.ndarray, train: np.ndarray, test: np.ndarray, path: np.ndarray, patient: bool
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield held-out scores and loss for each penalty; a single walk ends when it has been getting worse."""
    best, since = np.inf, 0
    for linear in head.fit(train, path):
        scores = linear.scores(F[test])
        loss = float(weights[test] @ head.losses(scores, test))
        yield scores, loss
        best, since = (loss, 0) if loss < best else (best, since + 1)
        if patient and since >= PATIENCE:
            return


def _splits(n: int, fitted: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the examples to fit to and those to judge."""
    if fitted < n:
        yield np.arange(fitted), np.arange(fitted, n)
        return
    place = rng.permutation(n) % min(FOLDS, n)
    for fold in range(min(FOLDS, n)):
        yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)
