"""Columns of vectors: standardized for learning, and the metric of standardized columns as one of the original ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.kernel_learning.trials import apply_metric


@dataclass(frozen=True, eq=False)
class Standardized:
    """Columns with mean 0 and standard deviation 1; a constant column is 0.

    Attributes
    ----------
    X : array of shape (n, d)
    scale : array of shape (d,)
        What each column was multiplied by.
    """

    X: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Standardized:
        """Return the columns of a matrix, standardized; columns of huge numbers do not overflow."""
        size = np.abs(X).max(axis=0)
        size[size == 0] = 1.0
        centered = X / size
        centered = centered - centered.mean(axis=0)
        deviation = centered.std(axis=0)
        scale = np.where(deviation > 1e-12, 1.0 / np.where(deviation > 0, deviation, 1.0), 0.0)
        return cls(centered * scale, scale / size)

    def original(self, metric: np.ndarray) -> np.ndarray:
        """Return a metric of the standardized columns as one of the original columns."""
        return metric * self.scale if metric.ndim == 1 else metric * self.scale[:, None]

    def mapped(self, metric: np.ndarray) -> np.ndarray:
        """Return the rows under a metric."""
        return apply_metric(self.X, metric)


def mean_metric(metrics: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the metric of the mean of the matrices M = TT'; a vector if all are vectors."""
    if len(metrics) == 1:
        return metrics[0]
    if all(T.ndim == 1 for T in metrics):
        return np.asarray(np.sqrt(np.mean([T**2 for T in metrics], axis=0)))
    values, vectors = np.linalg.eigh(np.mean([T @ T.T for T in metrics], axis=0))
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
