"""Linear models by name of loss and penalty, with the penalty strength chosen on folds or on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from similitude.evaluation import LastRows, Trial, assign_folds, fold_pairs, n_fitted, rarest_in_group
from similitude.linear.features import Features
from similitude.linear.l1_penalty import L1_TOLERANCE, l1_path, largest_penalty
from similitude.linear.l2_penalty import L2_TOLERANCE, l2_path
from similitude.linear.losses import LOSSES, Loss, MultinomialLogistic
from similitude.linear.moments import LinearModel
from similitude.linear.ridge import DECADE, PENALTIES
from similitude.support import generator

L1_PENALTIES = 10.0 ** np.arange(-0.25, -4.01, -0.25)
"""Strengths of the l1 penalty, relative to the one at which all weights are zero."""

FEW_VALIDATED_ROWS = 300
FOLDS = 5
FEWER_FOLDS = 3
"""Cross-validation folds up to this many rows, and with more, where models of fewer rows lose less."""

PATH_PATIENCE = 2
"""Penalties that may be worse than the best one before a path ends. With folds and an l2 penalty it does not end while
the strongest penalty is the best: of several fits to few rows, the next ones may all be worse by chance."""

COMPARED_GAPS = {"l1": 1e-2, "l2": 1e-4}
FINAL_GAPS = {"l1": L1_TOLERANCE, "l2": L2_TOLERANCE}
"""Tolerances of models that are only compared, or are on the way to the last one, and of the last one: the former
differ by less than the folds make them differ."""


class RowsTogether(NamedTuple):
    """The groups of rows, and how many of many rows are held out: the last ones, which are whole groups."""

    groups: np.ndarray
    last: LastRows


def fit_classes(
    loss: str,
    penalty: str,
    F: Any,
    numbers: np.ndarray,
    n_classes: int,
    weights: np.ndarray,
    random_state: Any,
    together: RowsTogether | None = None,
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit a linear model to class numbers; return the model, how held-out rows fared, and which rows these are.

    Features that are a tensor stay on their device; only penalty='l1' needs a NumPy array.
    """
    own = numbers[:, None] == np.arange(n_classes)
    if loss == "logistic" and n_classes > 2:
        codes = own.astype(np.float64)
        return _fit(MultinomialLogistic(), penalty, F, codes, weights, random_state, numbers, together)
    signs = np.where(own, 1.0, -1.0)
    targets = signs[:, 1:] if n_classes == 2 else signs
    return _fit(LOSSES[loss](), penalty, F, targets, weights, random_state, numbers, together)


def fit_numbers(
    F: np.ndarray, Y: np.ndarray, weights: np.ndarray, random_state: Any, together: RowsTogether | None = None
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit a sparse linear model to numbers; return the model, how held-out rows fared, and which rows these are."""
    return _fit(LOSSES["squared"](), "l1", F, Y, weights, random_state, together=together)


def fit_loss(
    loss: Loss, F: Any, Y: np.ndarray, weights: np.ndarray, random_state: Any, together: RowsTogether | None = None
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit numbers by a smooth loss, l2-penalized; return the model, how held-out rows fared, and which these are."""
    return _fit(loss, "l2", F, Y, weights, random_state, together=together)


def _fit(
    loss: Loss,
    penalty: str,
    F: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    random_state: Any,
    classes: np.ndarray | None = None,
    together: RowsTogether | None = None,
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit a path of penalties without the held-out rows, choose the best, and fit to all rows with it.

    With many rows, choices are made on the first of the held-out rows, and the trial is that of the others. Folds have
    their share of each class; a held-out row of a class without any training row has no part in the choice, because
    no penalty could predict it.
    """
    n = len(F)
    fit_path = l1_path if penalty == "l1" else l2_path
    compare_path = partial(fit_path, tolerance=COMPARED_GAPS[penalty])
    path = _path(loss, penalty, F, targets, weights)
    fitted = n_fitted(n)
    last = LastRows.of(n)
    if together is not None and fitted < n:
        last = together.last
        fitted = n - last.held_out
    splits = _splits(n, fitted, generator(random_state), classes, None if together is None else together.groups)
    folds = []
    for train, test in splits:
        chosen_on = weights[test].copy()
        if classes is not None:
            chosen_on[~np.isin(classes[test], classes[train])] = 0.0
        if fitted < n:
            chosen_on[len(test) - last.evaluating :] = 0.0
        models = compare_path(F[train], targets[train], weights[train], path, loss)
        folds.append(_held_out(models, loss, F[test], targets[test], chosen_on))
    best, held = _best_of_path(folds, at_once=fitted < n or penalty == "l1")
    tolerance = np.append(np.full(best, COMPARED_GAPS[penalty]), FINAL_GAPS[penalty])
    *_, model = fit_path(F, targets, weights, path[: best + 1], loss, tolerance=tolerance)
    judged = slice(-last.evaluating if fitted < n else 0, None)
    rows = np.concatenate([test for _, test in splits])[judged]
    held = held[judged]
    losses = loss.value(targets[rows], held).sum(axis=1)
    return model, Trial.of(float(path[best]), held, targets[rows], weights[rows], losses), rows


def _path(loss: Loss, penalty: str, F: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the penalties to try, in decreasing order."""
    if penalty == "l1":
        return largest_penalty(F, targets, weights, loss) * L1_PENALTIES
    features = Features(F, weights)
    trace = float(features.spread.sum())
    uncentered = trace + features.total * float(features.mean @ features.mean)
    return (trace if trace > 1e-12 * uncentered else 1.0) * PENALTIES[::-DECADE]  # 1: the features are constant


def _held_out(
    models: Iterable[LinearModel], loss: Loss, F: Any, targets: np.ndarray, weights: np.ndarray
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield held-out scores and their loss for each penalty."""
    for model in models:
        scores = model.scores(F)
        yield scores, float(weights @ loss.value(targets, scores).sum(axis=1))


def _best_of_path(folds: list[Iterator[tuple[np.ndarray, float]]], *, at_once: bool) -> tuple[int, np.ndarray]:
    """Return which penalty has the smallest loss over all folds, and the held-out scores of all folds with it.

    All folds go along the path together, which ends when the loss keeps getting worse; `at_once`: also
    if it has never been better than at first.
    """
    best = np.inf
    place = 0
    scores = np.empty(0)
    for i, tried in enumerate(zip(*folds, strict=True)):
        value = sum([one for _, one in tried])
        if value < best or i == 0:
            best = value
            place = i
            scores = np.concatenate([held for held, _ in tried])
        if i - place >= PATH_PATIENCE and (at_once or place > 0):
            break
    return place, scores


def _splits(
    n: int, fitted: int, rng: np.random.Generator, classes: np.ndarray | None, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to fit and the rows to evaluate."""
    if fitted < n:
        return [(np.arange(fitted), np.arange(fitted, n))]
    n_folds = FOLDS if n <= FEW_VALIDATED_ROWS else FEWER_FOLDS
    if groups is None:
        return fold_pairs(assign_folds(np.arange(n), classes, rng, n_folds))
    rarest = None if classes is None else rarest_in_group(classes, groups)
    return fold_pairs(assign_folds(groups, rarest, rng, n_folds))
