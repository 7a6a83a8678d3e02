"""Scores of predictions for held-out examples: accuracy and beyond, with intervals, for each class and in all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.findings.held_out import HeldOutPredictions
from similitude.report.findings.inputs import Inputs
from similitude.support import ESTIMATE, Estimate, Result
from similitude.theory import LEVEL, proportion

BOOTSTRAPS = 400
"""Number of bootstrap samples."""

ACCURACY, BALANCED, AUC, F1 = "accuracy", "balanced accuracy", "AUC", "F1"
RMSE, ABSOLUTE, EXPLAINED = "root mean squared error", "mean absolute error", "R²"

MEANINGS = {
    ACCURACY: "share of examples that are predicted correctly",
    BALANCED: "mean of the shares of each class that are predicted correctly, so that rare classes count as much",
    AUC: "probability that an example of a class gets a higher score for it than another one (mean of all classes)",
    F1: "harmonic mean of precision and recall (mean of all classes)",
    RMSE: "root of the mean squared difference between predicted and true numbers",
    ABSOLUTE: "mean difference between predicted and true numbers",
    EXPLAINED: "share of the variance that is explained",
}
"""What each score measures."""


@dataclass(frozen=True)
class ClassScores(Result):
    """How well one class is recognized.

    Attributes
    ----------
    label : label
    n : int
        Number of held-out examples of the class.
    recall : Estimate
        The share of these that is predicted correctly.
    precision : float or None
        The share of the predictions of this class that is right; None if it is never predicted.
    """

    label: Any
    n: int
    recall: Estimate
    precision: float | None

    def __str__(self) -> str:
        return f"{self.label}: recall {self.recall}"


@dataclass(frozen=True)
class Scores(Result):
    """The scores of one predictor on the held-out examples.

    Attributes
    ----------
    name : str
    about : str
        What the predictor is.
    values : dict of Estimate
        By the name of the score: accuracy, balanced accuracy, AUC, F1, or those of predicted numbers.
    ahead : Estimate or None
        How much better this predictor is than the model on the same examples (accuracy, or mean absolute error);
        negative where the model is better; None for the model itself.
    """

    name: str
    about: str
    values: dict[str, Estimate]
    ahead: Estimate | None = None

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{name} {value.value:.3g}" for name, value in self.values.items())


def scores(inputs: Inputs, predictions: HeldOutPredictions) -> dict[str, Estimate]:
    """Return the scores of held-out predictions, by name, with bootstrap intervals (accuracy: exact ones)."""
    n = len(predictions.targets)
    drawn = np.random.default_rng(inputs.seed).multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS).astype(float)
    weights = np.vstack([np.ones(n), drawn])
    rounds = predictions.predicted
    if not inputs.of_classes:
        return _number_scores(predictions, weights)
    right = float((rounds == predictions.targets).sum(axis=1).mean())
    counts = np.mean([_confusions(predictions.targets, one, weights, len(inputs.classes)) for one in rounds], axis=0)
    found = {ACCURACY: proportion(right, n, predictions.grade)}
    found[BALANCED] = _interval(_recalls(counts))
    found[AUC] = _interval(areas(predictions, weights))
    found[F1] = _interval(_f1(counts))
    return found


def _number_scores(predictions: HeldOutPredictions, weights: np.ndarray) -> dict[str, Estimate]:
    targets, n = predictions.targets, len(predictions.targets)
    squared = ((predictions.predicted - targets) ** 2).mean(axis=0)
    absolute = np.abs(predictions.predicted - targets).mean(axis=0)
    means = weights @ targets / n
    variances = weights @ targets**2 / n - means**2
    explained = 1 - (weights @ squared / n) / np.where(variances > 0, variances, np.nan)
    return {
        RMSE: _interval(np.sqrt(weights @ squared / n)),
        ABSOLUTE: _interval(weights @ absolute / n),
        EXPLAINED: _interval(explained),
    }


def class_scores_of(inputs: Inputs, predictions: HeldOutPredictions) -> tuple[ClassScores, ...]:
    """Return how well each class is recognized; classes without held-out examples are left out."""
    n_classes = len(inputs.classes)
    ones = np.ones((1, len(predictions.targets)))
    counts = np.mean(
        [_confusions(predictions.targets, one, ones, n_classes)[0] for one in predictions.predicted], axis=0
    )
    found = []
    for code, label in enumerate(inputs.classes.tolist()):
        total, predicted, right = counts[code].sum(), counts[:, code].sum(), counts[code, code]
        if total:
            recall = proportion(float(right), float(total), predictions.grade)
            found.append(ClassScores(label, round(total), recall, float(right / predicted) if predicted else None))
    return tuple(found)


def ahead_of(predictions: HeldOutPredictions, model: HeldOutPredictions) -> Estimate:
    """Return how much better predictions are than the model's on the same examples, with a bootstrap interval."""

    def losses(one: HeldOutPredictions) -> np.ndarray:
        wrong = one.predicted != one.targets if one.probabilities is not None else np.abs(one.predicted - one.targets)
        mean: np.ndarray = wrong.mean(axis=0)
        return mean

    difference = losses(model) - losses(predictions)
    n = len(difference)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS)
    return _interval(np.concatenate([[difference.mean()], weights @ difference / n]))


def _interval(values: np.ndarray) -> Estimate:
    """Return the first value with the percentile interval of the others, the bootstrap replicates."""
    value = float(values[0])
    known = values[1:][np.isfinite(values[1:])]
    if not len(known):
        return Estimate(value, value, value, LEVEL, ESTIMATE)
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value), LEVEL, ESTIMATE)


def _confusions(targets: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return, for each row of weights, the weighted counts by true and predicted class."""
    pairs = targets * n_classes + predicted
    different, which = np.unique(pairs, return_inverse=True)
    members = np.zeros((len(pairs), len(different)))
    members[np.arange(len(pairs)), which] = 1.0
    counts = np.zeros((len(weights), n_classes**2))
    counts[:, different] = weights @ members
    return counts.reshape(len(weights), n_classes, n_classes)


def _recalls(counts: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes that occur, for each matrix of counts."""
    totals = counts.sum(axis=2)
    recall = np.diagonal(counts, axis1=1, axis2=2) / np.where(totals > 0, totals, np.nan)
    return np.asarray(np.nanmean(recall, axis=1))


def _f1(counts: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the classes that occur, for each matrix of counts."""
    both = counts.sum(axis=1) + counts.sum(axis=2)
    values = 2 * np.diagonal(counts, axis1=1, axis2=2) / np.where(both > 0, both, np.nan)
    values = np.where(counts.sum(axis=2) > 0, values, np.nan)
    return np.asarray(np.nanmean(values, axis=1))


def areas(predictions: HeldOutPredictions, weights: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve, the mean over classes against all others, for each row of weights."""
    margins = predictions.mean_scores
    classes = range(margins.shape[1])
    if predictions.probabilities is not None and margins.shape[1] > 2:
        margins = predictions.probabilities
    each = [_area(margins[:, c], predictions.targets == c, weights) for c in classes]
    known = [one for one in each if np.isfinite(one[0])]
    return np.mean(known, axis=0) if known else np.full(len(weights), np.nan)


def _area(values: np.ndarray, is_class: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share of pairs (in the class, not in it) that are ordered by the values, ties counting half."""
    order = np.argsort(values, kind="stable")
    start = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) > 0]))
    positive = np.add.reduceat(weights[:, order] * is_class[order], start, axis=1)
    negative = np.add.reduceat(weights[:, order] * ~is_class[order], start, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    totals = positive.sum(axis=1) * negative.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((positive * below).sum(axis=1) / np.where(totals > 0, totals, np.nan))


Predictor = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, "np.ndarray | None"]]
"""Fits to some positions of X and predicts others: returns scores and probabilities."""
