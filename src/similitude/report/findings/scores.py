"""Scores of predictions for held-out examples: accuracy and beyond, with intervals, for each class and in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.findings.held_out import HeldOutPredictions
from similitude.report.findings.inputs import Inputs
from similitude.support import ESTIMATE, Estimate, Result
from similitude.theory import LEVEL

ACCURACY = "accuracy"
BALANCED = "balanced accuracy"
AUC = "AUC"
F1 = "F1"
RMSE = "root mean squared error"
ABSOLUTE = "mean absolute error"
EXPLAINED = "R²"

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
    weights = predictions.resampled(inputs.seed)
    rounds = predictions.predicted
    if not inputs.of_classes:
        return _number_scores(predictions, weights)
    counts = np.mean([_confusions(predictions.targets, one, weights, len(inputs.classes)) for one in rounds], axis=0)
    found = {ACCURACY: predictions.share(rounds == predictions.targets)}
    found[BALANCED] = _interval(_recalls(counts))
    found[AUC] = _interval(areas(predictions, weights))
    found[F1] = _interval(_f1(counts))
    return found


def _number_scores(predictions: HeldOutPredictions, weights: np.ndarray) -> dict[str, Estimate]:
    targets, n = predictions.targets, len(predictions.targets)
    squared = ((predictions.predicted - targets) ** 2).mean(axis=0)
    absolute = np.abs(predictions.predicted - targets).mean(axis=0)
    centered = targets - targets.mean()
    means = centered @ weights / n
    variances = centered**2 @ weights / n - means**2
    explained = 1 - (squared @ weights / n) / np.where(variances > 0, variances, np.nan)
    return {
        RMSE: _interval(np.sqrt(squared @ weights / n)),
        ABSOLUTE: _interval(absolute @ weights / n),
        EXPLAINED: _interval(explained),
    }


def class_scores_of(inputs: Inputs, predictions: HeldOutPredictions) -> tuple[ClassScores, ...]:
    """Return how well each class is recognized; classes without held-out examples are left out."""
    n_classes = len(inputs.classes)
    ones = np.ones((len(predictions.targets), 1))
    counts = np.mean(
        [_confusions(predictions.targets, one, ones, n_classes)[0] for one in predictions.predicted], axis=0
    )
    found = []
    for code, label in enumerate(inputs.classes.tolist()):
        total, predicted, right = counts[code].sum(), counts[:, code].sum(), counts[code, code]
        if total:
            recall = predictions.share(predictions.predicted == code, predictions.targets == code)
            found.append(ClassScores(label, round(total), recall, float(right / predicted) if predicted else None))
    return tuple(found)


def ahead_of(predictions: HeldOutPredictions, model: HeldOutPredictions, seed: int) -> Estimate:
    """Return how much better predictions are than the model's on the same examples, with a bootstrap interval."""

    def losses(one: HeldOutPredictions) -> np.ndarray:
        wrong = one.predicted != one.targets if one.probabilities is not None else np.abs(one.predicted - one.targets)
        mean: np.ndarray = wrong.mean(axis=0)
        return mean

    difference = losses(model) - losses(predictions)
    return _interval(difference @ model.resampled(seed) / len(difference))


def _interval(values: np.ndarray) -> Estimate:
    """Return the first value with the percentile interval of the others, the bootstrap replicates."""
    value = float(values[0])
    known = values[1:][np.isfinite(values[1:])]
    if not len(known):
        return Estimate(value, value, value, LEVEL, ESTIMATE)
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value), LEVEL, ESTIMATE)


def _confusions(targets: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return, for each column of weights, the weighted counts by true and predicted class."""
    pairs = targets * n_classes + predicted
    different, which = np.unique(pairs, return_inverse=True)
    members = np.zeros((len(pairs), len(different)))
    members[np.arange(len(pairs)), which] = 1.0
    counts = np.zeros((weights.shape[1], n_classes**2))
    counts[:, different] = (members.T @ weights).T
    return counts.reshape(-1, n_classes, n_classes)


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
    """Return the area under the ROC curve, the mean over classes against all others, for each column of weights."""
    margins, targets = predictions.mean_scores, predictions.targets
    if margins.shape[1] == 2:  # both classes have the same area
        return _area(margins[:, 1] - margins[:, 0], targets == 1, weights)
    if predictions.probabilities is not None:
        margins = predictions.probabilities
    each = [_area(margins[:, c], targets == c, weights) for c in range(margins.shape[1])]
    known = [one for one in each if np.isfinite(one[0])]
    return np.mean(known, axis=0) if known else np.full(weights.shape[1], np.nan)


def _area(values: np.ndarray, is_class: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share of pairs (in the class, not in it) that are ordered by the values, ties counting half."""
    others = np.flatnonzero(~is_class)
    others = others[np.argsort(values[others], kind="stable")]
    below = np.zeros((len(others) + 1, weights.shape[1]))
    np.cumsum(weights[others], axis=0, out=below[1:])
    own, mine = values[is_class], weights[is_class]
    low, high = (np.searchsorted(values[others], own, side=side) for side in ("left", "right"))
    ordered = np.einsum("ij,ij->j", mine, below[low])
    tied = np.flatnonzero(high > low)
    ordered += np.einsum("ij,ij->j", mine[tied], below[high[tied]] - below[low[tied]]) / 2
    totals = mine.sum(axis=0) * below[-1]
    return np.asarray(np.divide(ordered, totals, out=np.full(len(totals), np.nan), where=totals > 0))
