"""LearningFeatures for learning: standardized columns of vectors or tables, and kernels of the original columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.kernel_learning.gradients import root_of
from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.trials import Fit, apply_metric, at_scale, median_distance_of_rows
from similitude.kernels import Gaussian, Tabular
from similitude.similarity import Similarity


@dataclass(frozen=True, eq=False)
class LearningFeatures:
    """Numbers on which a metric is learned, and how they come from the objects."""

    X: np.ndarray  # columns have mean 0 and standard deviation 1, or are 0; indicators are not standardized
    scale: np.ndarray  # by which each column of vectors was multiplied
    names: list[str]  # of the columns of the user
    owners: np.ndarray  # the column of the user that each feature belongs to
    table: Tabular | None = None  # makes features of the rows of a table

    @classmethod
    def of_vectors(cls, X: np.ndarray, names: list[str] | None = None) -> LearningFeatures:
        """Standardize the columns of a matrix; columns of huge numbers do not overflow."""
        size = np.abs(X).max(axis=0)
        size[size == 0] = 1.0
        centered = X / size
        centered = centered - centered.mean(axis=0)
        deviation = centered.std(axis=0)
        scale = np.where(deviation > 1e-12, 1.0 / np.where(deviation > 0, deviation, 1.0), 0.0)
        names = names or [f"column {i}" for i in range(X.shape[1])]
        return cls(centered * scale, scale / size, names, np.arange(X.shape[1]))

    @classmethod
    def of_table(cls, X: Any, table: Tabular) -> LearningFeatures:
        """Return the features of the rows of a table, or of vectors with ranks."""
        without_scale = table.with_params(k=Gaussian(1.0))
        table = table.with_params(columns=without_scale.resolve(X).columns)
        made = table.features(X).astype(np.float64, copy=False)
        return cls(made, np.ones(made.shape[1]), *table.feature_columns(X), table)

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal."""
        return not (self.X[:1] != self.X).any()

    def kernel(self, k: Any, metric: np.ndarray, multiple: float = 1.0) -> Similarity:
        """Return a kernel of the original objects, at a multiple of the median distance under a metric."""
        median = median_distance_of_rows(k, apply_metric(self.X, metric))
        scaled = (metric.T * self.scale).T
        kernel: Similarity = at_scale(k, multiple * median).with_params(metric=scaled)
        if self.table is None:
            return kernel
        return self.table.with_params(k=kernel)

    def kernel_of(self, fit: Fit) -> Similarity:
        """Return the kernel of the original objects that was fitted."""
        return self.kernel(fit.candidate.k, mean_metric(fit.candidate.metrics), 2.0 ** fit.setting[0])

    def importance_of(self, fit: Fit) -> GradientImportance:
        """Return how much a fit depends on each of the user's columns."""
        return self.importance(fit.candidate.squared_gradients(fit, diagonal=True)[1])

    def importance(self, squares: np.ndarray) -> GradientImportance:
        """Return the importances of the user's columns, given squared gradients per row and feature."""
        sums = np.zeros((len(squares), len(self.names)))
        np.add.at(sums.T, self.owners, squares.T)
        return GradientImportance.of(self.names, sums)


def mean_metric(metrics: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the metric of the mean of the matrices M = TT'; a vector if all are vectors."""
    if len(metrics) == 1:
        return metrics[0]
    if all(T.ndim == 1 for T in metrics):
        return root_of(np.mean([T**2 for T in metrics], axis=0))
    return root_of(np.mean([T @ T.T for T in metrics], axis=0))
