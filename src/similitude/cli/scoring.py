"""Accuracy and R² of predictions, for files that contain labels."""

from __future__ import annotations

import numpy as np

from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, proportion


class Score:
    """Accumulates an accuracy over batches, or R² where the model has no classes."""

    def __init__(self, classes: np.ndarray | None) -> None:
        self.classes = classes
        self.unknown: dict[str, None] = {}
        self.rows = 0
        self._right = 0
        self._numbers: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        """Add the labels and predictions of a batch."""
        self.rows += len(labels)
        if self.classes is not None:
            self._right += int((labels == predictions).sum())
            self.unknown |= dict.fromkeys(map(str, np.setdiff1d(labels, self.classes).tolist()))
        else:
            self._numbers.append((labels.astype(float), predictions))

    def estimate(self) -> Estimate | None:
        """Return the accuracy with the interval of Clopper and Pearson, or R²; None if it is undefined."""
        if not self.rows:
            return None
        if self.classes is not None:
            return proportion(self._right, self.rows, ESTIMATE)
        y = np.concatenate([labels for labels, _ in self._numbers])
        return r_squared(y, np.concatenate([predictions for _, predictions in self._numbers]))


def r_squared(y: np.ndarray, predicted: np.ndarray) -> Estimate | None:
    r"""Return :math:`R^2`, the share of the variance of y that is explained, with a normal interval.

    It is one minus a ratio of two means; its standard error is by the delta method.
    """
    losses = (y - predicted) ** 2
    deviations = (y - y.mean()) ** 2
    if len(y) < 2 or not deviations.any():
        return None
    ratio = float(losses.mean() / deviations.mean())
    error = 1.959964 * float((losses - ratio * deviations).std()) / float(deviations.mean()) / len(y) ** 0.5
    return Estimate(1 - ratio, 1 - ratio - error, min(1.0, 1 - ratio + error), LEVEL, ESTIMATE)
