"""Scores of predictions for held-out examples: accuracy and beyond, with intervals, for each class and in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.findings.held_out import HeldOutPredictions, bootstrap_interval
from similitude.report.findings.inputs import Inputs
from similitude.support import Estimate, Result

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
    """How well one class is recognized."""

    label: Any
    n: int  # held-out examples of the class
    recall: Estimate  # the share of these that is predicted correctly
    precision: float | None  # the share of the predictions of this class that is right; None if it is never predicted

    def __str__(self) -> str:
        return f"{self.label}: recall {self.recall}"


@dataclass(frozen=True)
class Scores(Result):
    """The scores of one predictor on the held-out examples."""

    name: str
    about: str  # what the predictor is
    values: dict[str, Estimate]  # by the names in MEANINGS
    ahead: Estimate | None = (
        None  # by how much the (absolute) error is lower than the model's; None for the model itself
    )

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{name} {value.value:.3g}" for name, value in self.values.items())


def scores(inputs: Inputs, predictions: HeldOutPredictions) -> dict[str, Estimate]:
    """Return the scores of held-out predictions, by name, with bootstrap intervals (accuracy: exact ones)."""
    weights = predictions.resampled(inputs.seed)
    targets = predictions.targets
    rounds = predictions.predicted
    if inputs.of_classes:
        counts = np.mean([_confusions(targets, one, weights, len(inputs.classes)) for one in rounds], axis=0)
        right = counts.diagonal(axis1=1, axis2=2)
        true = np.where(counts.any(axis=2), counts.sum(axis=2), np.nan)
        found = {
            BALANCED: np.nanmean(right / true, axis=1),
            AUC: areas(predictions, weights),
            F1: np.nanmean(2 * right / (counts.sum(axis=1) + true), axis=1),
        }
        accuracy = {ACCURACY: predictions.share(rounds == targets)}
        return accuracy | {name: bootstrap_interval(values) for name, values in found.items()}
    means = weights / len(targets)
    squared = ((rounds - targets) ** 2).mean(axis=0)
    centered = targets - targets.mean()
    variances = centered**2 @ means - (centered @ means) ** 2
    found = {
        RMSE: np.sqrt(squared @ means),
        ABSOLUTE: np.abs(rounds - targets).mean(axis=0) @ means,
        EXPLAINED: 1 - (squared @ means) / np.where(variances > 0, variances, np.nan),
    }
    return {name: bootstrap_interval(values) for name, values in found.items()}


def class_scores_of(inputs: Inputs, predictions: HeldOutPredictions) -> tuple[ClassScores, ...]:
    """Return how well each class is recognized; classes without held-out examples are left out."""
    n_classes = len(inputs.classes)
    counts = confusion(predictions, n_classes)
    found = []
    for code, label in enumerate(inputs.classes.tolist()):
        n = round(counts[code].sum())
        if n:
            predicted = counts[:, code].sum()
            precision = float(counts[code, code] / predicted) if predicted else None
            recall = predictions.share(predictions.predicted == code, predictions.targets == code)
            found.append(ClassScores(label, n, recall, precision))
    return tuple(found)


def confusion(predictions: HeldOutPredictions, n_classes: int) -> np.ndarray:
    """Return the number of examples by true and predicted class, the mean over rounds."""
    pairs = predictions.targets * n_classes + predictions.predicted
    return np.bincount(pairs.ravel(), minlength=n_classes**2).reshape(n_classes, n_classes) / len(predictions.scores)


def ahead_of(predictions: HeldOutPredictions, model: HeldOutPredictions, seed: int) -> Estimate:
    """Return how much better predictions are than the model's on the same examples, with a bootstrap interval."""
    better = model.losses() - predictions.losses()
    return bootstrap_interval(better @ model.resampled(seed) / len(model.targets))


def _confusions(targets: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return, for each column of weights, the weighted counts by true and predicted class."""
    pairs = targets * n_classes + predicted
    different, which = np.unique(pairs, return_inverse=True)
    members = np.zeros((len(pairs), len(different)))
    members[np.arange(len(pairs)), which] = 1.0
    counts = np.zeros((weights.shape[1], n_classes**2))
    counts[:, different] = (members.T @ weights).T
    return counts.reshape(-1, n_classes, n_classes)


def areas(predictions: HeldOutPredictions, weights: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve, the mean over classes against all others, for each column of weights."""
    margins = predictions.mean_scores
    targets = predictions.targets
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
    own = values[is_class]
    mine = weights[is_class]
    low, high = (np.searchsorted(values[others], own, side=side) for side in ("left", "right"))
    ordered = np.einsum("ij,ij->j", mine, below[low])
    tied = np.flatnonzero(high > low)
    ordered += np.einsum("ij,ij->j", mine[tied], below[high[tied]] - below[low[tied]]) / 2
    totals = mine.sum(axis=0) * below[-1]
    return np.asarray(np.divide(ordered, totals, out=np.full(len(totals), np.nan), where=totals > 0))
