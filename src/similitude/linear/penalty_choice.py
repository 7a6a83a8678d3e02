"""Linear models by name of loss and penalty, with the penalty strength chosen on folds or on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from similitude.evaluation import (
    DECADE,
    PENALTIES,
    LastRows,
    Trial,
    assign_folds,
    first_minimum,
    fold_pairs,
    n_fitted,
    rarest_in_group,
)
from similitude.linear.features import Features
from similitude.linear.l1_penalty import L1_TOLERANCE, l1_path, largest_penalty
from similitude.linear.l2_penalty import L2_TOLERANCE, l2_path
from similitude.linear.losses import LOSSES, Loss, MultinomialLogistic
from similitude.linear.moments import LinearModel
from similitude.support import generator

L1_PENALTIES = 10.0 ** np.arange(-0.25, -4.01, -0.25)
"""Strengths of the l1 penalty, relative to the one at which all weights are zero."""

FOLDS = 5
"""Cross-validation folds of few rows."""

COMPARED_GAPS = {"l1": 1e-2, "l2": 1e-4}
"""Tolerances of models that are only compared, or are on the way to the last one: they differ by less than the folds
make them differ."""


def fit_classes(
    loss: str,
    penalty: str,
    F: Any,
    numbers: np.ndarray,
    n_classes: int,
    weights: np.ndarray,
    random_state: Any,
    groups: np.ndarray | None = None,
    last: LastRows | None = None,
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit a linear model to class numbers, see `fit_numbers`; features that are a tensor stay on their device."""
    own = numbers[:, None] == np.arange(n_classes)
    made = LOSSES[loss]()
    targets = np.where(own, 1.0, -1.0)[:, int(n_classes == 2) :]  # one column for two classes
    if loss == "logistic" and n_classes > 2:
        made = MultinomialLogistic()
        targets = own.astype(np.float64)
    return fit_numbers(made, penalty, F, targets, weights, random_state, groups, last, numbers)


def fit_numbers(
    loss: Loss,
    penalty: str,
    F: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    random_state: Any,
    groups: np.ndarray | None = None,
    last: LastRows | None = None,
    classes: np.ndarray | None = None,
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit a path of penalties without the held-out rows, choose the best, and fit to all rows with it.

    Return the model, the trial of held-out rows, and which rows these are. Of many rows, choices are made on the first
    of the held-out rows, and the trial is that of the others; with groups, the `last` rows are whole groups.
    """
    n = len(F)
    fit_path = l1_path if penalty == "l1" else l2_path
    path = _path(loss, penalty, F, targets, weights)
    fitted = n_fitted(n)
    if groups is None or last is None:
        last = LastRows.of(n)
    elif fitted < n:
        fitted = n - last.held_out
    many = fitted < n
    splits = _splits(n, fitted, generator(random_state), classes, groups)
    folds = []
    for train, test in splits:
        chosen_on = weights[test].copy()
        if classes is not None:
            chosen_on[~np.isin(classes[test], classes[train])] = 0.0
        if many:
            chosen_on[len(test) - last.evaluating :] = 0.0
        models = fit_path(F[train], targets[train], weights[train], path, loss, tolerance=COMPARED_GAPS[penalty])
        folds.append(_held_out(models, loss, F[test], targets[test], chosen_on))
    # all folds go along the path together
    tried = ((sum(loss for loss, _ in fold), fold) for fold in zip(*folds, strict=True))
    # with folds and an l2 penalty a path does not end while the strongest penalty is the best: of several fits to few
    # rows, the next ones may all be worse by chance
    best, found = first_minimum(tried, 2, at_once=many or penalty == "l1")
    tolerance = np.append(np.full(best, COMPARED_GAPS[penalty]), {"l1": L1_TOLERANCE, "l2": L2_TOLERANCE}[penalty])
    *_, model = fit_path(F, targets, weights, path[: best + 1], loss, tolerance=tolerance)
    evaluated = slice(-last.evaluating if many else 0, None)
    rows = np.concatenate([test for _, test in splits])[evaluated]
    scores = np.concatenate([scores for _, scores in found])[evaluated]
    losses = loss.value(targets[rows], scores).sum(axis=1)
    return model, Trial.of(float(path[best]), scores, targets[rows], weights[rows], losses), rows


def _path(loss: Loss, penalty: str, F: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the penalties to try, in decreasing order."""
    if penalty == "l1":
        return largest_penalty(F, targets, weights, loss) * L1_PENALTIES
    features = Features(F, weights)
    trace = float(features.spread.sum())
    if trace <= 1e-12 * (trace + features.total * float(features.mean @ features.mean)):
        trace = 1.0  # the features are constant
    return trace * PENALTIES[::-DECADE]


def _held_out(
    models: Iterable[LinearModel], loss: Loss, F: Any, targets: np.ndarray, weights: np.ndarray
) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the loss of held-out rows and their scores for each penalty."""
    for model in models:
        scores = model.scores(F)
        yield float(weights @ loss.value(targets, scores).sum(axis=1)), scores


def _splits(
    n: int, fitted: int, rng: np.random.Generator, classes: np.ndarray | None, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to fit and the rows to evaluate."""
    if fitted < n:
        return [(np.arange(fitted), np.arange(fitted, n))]
    n_folds = FOLDS
    if n > 300:  # models of fewer rows lose less where there are more
        n_folds = 3
    if groups is None:
        groups = np.arange(n)
    elif classes is not None:
        classes = rarest_in_group(classes, groups)
    return fold_pairs(assign_folds(groups, classes, rng, n_folds))
