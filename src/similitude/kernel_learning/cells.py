"""Exact kernel ridge regression in the cells of a tree, for many rows.

Cells are split along the leading directions of a learned metric, and each may learn its own: a round takes the average
gradient outer product of the cell's model as the next metric of the cell. Rounds go on while they clearly lower the
loss on rows that no cell is fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.evaluation import gain
from similitude.kernel_learning.gradients import gradient_rows, is_city_block, metric_of, model_gradients
from similitude.kernel_learning.limits import CELL_ROWS, MOST_COORDINATES
from similitude.kernel_learning.trials import apply_metric, median_distance_of_rows
from similitude.linear import LinearModel, exact_ridge


@dataclass(frozen=True, eq=False)
class CellTree:
    """A complete binary tree in the order of a heap, whose nodes split rows at a threshold along a direction."""

    directions: np.ndarray
    thresholds: np.ndarray

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.thresholds) + 1

    @classmethod
    def grow(cls, A: np.ndarray) -> CellTree:
        """Split rows in random order at the median along the direction in which they vary most."""
        depth = max(0, round(np.log2(len(A) / CELL_ROWS)))
        nodes = [np.arange(len(A))]
        directions = np.zeros((2**depth - 1, A.shape[1]))
        thresholds = np.zeros(2**depth - 1)
        for i in range(len(thresholds)):
            rows = nodes[i]
            directions[i] = widest_direction(A[rows[:2_000]])
            along = A[rows] @ directions[i]
            thresholds[i] = balanced_threshold(along)
            nodes += [rows[along <= thresholds[i]], rows[along > thresholds[i]]]
        return cls(directions, thresholds)


def widest_direction(A: np.ndarray) -> np.ndarray:
    """Return the direction in which rows vary most, by power iteration; zeros if they are all equal.

    >>> widest_direction(np.array([[0.0, 0.0], [0.0, 3.0], [1.0, 6.0]])).round(2)
    array([0.17, 0.99])
    """
    if not len(A):
        return np.zeros(A.shape[1])
    centered = A - A.mean(axis=0)
    direction = np.zeros(A.shape[1])
    direction[np.argmax((centered**2).sum(axis=0))] = 1.0
    for _ in range(20):
        moved = centered.T @ (centered @ direction)
        length = np.linalg.norm(moved)
        if not length > 0:
            return np.zeros(A.shape[1])
        direction = moved / length
    return direction


def balanced_threshold(values: np.ndarray) -> float:
    """Return the median, or the next smaller value if that splits equal values more evenly.

    >>> balanced_threshold(np.array([1.0, 2.0, 2.0, 2.0]))
    1.0
    """
    if not len(values):
        return 0.0
    middle = np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2]
    below = values[values < middle]
    if len(below) > np.count_nonzero(values > middle):
        middle = below.max()
    return float(middle)


@dataclass(frozen=True, eq=False)
class CellFit:
    """Exact ridge regression in each cell.

    `A` are the coordinates of all rows under the metric of k and those of the cells; without rows a model is None.
    """

    k: Any
    A: np.ndarray
    cells: np.ndarray
    metrics: np.ndarray | None
    penalty: float
    fitted: list[np.ndarray]
    models: list[LinearModel | None]

    @classmethod
    def fit(
        cls,
        k: Any,
        A: np.ndarray,
        cells: np.ndarray,
        metrics: np.ndarray | None,
        penalty: float,
        targets: tuple[np.ndarray, np.ndarray],
        rows: np.ndarray,
        n_cells: int,
        refined: bool = False,
    ) -> CellFit:
        """Fit to some rows; `targets` are centered targets and weights of all rows."""
        Y, weights = targets
        fitted = [rows[cells[rows] == cell] for cell in range(n_cells)]
        models: list[LinearModel | None] = [None] * n_cells
        for cell, mine in enumerate(fitted):
            if len(mine):
                own = penalty * weights[rows].mean() / weights[mine].mean()
                models[cell], _ = exact_ridge(k, A[mine], Y[mine], weights[mine], own, mine[:0], refined)
        return cls(k, A, cells, metrics, penalty, fitted, models)

    def refitted(self, targets: tuple[np.ndarray, np.ndarray], rows: np.ndarray) -> CellFit:
        """Return the fit to other rows in the same metrics."""
        return CellFit.fit(
            self.k, self.A, self.cells, self.metrics, self.penalty, targets, rows, len(self.models), refined=True
        )

    def predicted(self, rows: np.ndarray) -> np.ndarray:
        """Return the predictions of centered targets for some rows."""
        outputs = next(one.weights.shape[1] for one in self.models if one is not None)
        found = np.zeros((len(rows), outputs))
        for cell, model in enumerate(self.models):
            at = np.flatnonzero(self.cells[rows] == cell)
            if model is not None and len(at):
                found[at] = self.k.block(self.A[rows[at]], self.A[self.fitted[cell]]) @ model.weights
        return found

    @property
    def coefficients(self) -> np.ndarray:
        """The dual coefficients of all rows; zero for rows that were not fitted."""
        known = [(mine, one.weights) for mine, one in zip(self.fitted, self.models, strict=True) if one is not None]
        found = np.zeros((len(self.A), known[0][1].shape[1]))
        for mine, coefficients in known:
            found[mine] = coefficients
        return found

    def next_round(self, targets: tuple[np.ndarray, np.ndarray], rows: np.ndarray) -> CellFit:
        """Return the fit in which the metric of each cell is that of the gradients of its model."""
        width = self.A.shape[1]
        diagonal = is_city_block(self.k) or width > MOST_COORDINATES
        one = np.ones(width) if diagonal else np.eye(width)
        metrics = np.stack([one] * len(self.models))
        if self.metrics is not None:
            metrics = self.metrics.copy()
        A = np.empty_like(self.A)
        for cell, model in enumerate(self.models):
            mine = self.cells == cell
            T = one if model is None else self._metric(self.A[self.fitted[cell]], model, diagonal)
            A[mine] = apply_metric(self.A[mine], T)
            metrics[cell] = apply_metric(metrics[cell], T)
        return CellFit.fit(self.k, A, self.cells, metrics, self.penalty, targets, rows, len(self.models))

    def _metric(self, A: np.ndarray, model: LinearModel, diagonal: bool) -> np.ndarray:
        """Return the metric of the gradients of one cell's model, at which the median distance stays what it is."""
        rows = A[: min(1_000, gradient_rows(self.k, len(A), len(A), A.shape[1]))]
        G = model_gradients(self.k, rows, A, model.weights).reshape(-1, A.shape[1])
        T = metric_of((G**2).mean(axis=0) if diagonal else G.T @ G / len(rows))
        if not diagonal:  # as many coordinates as before: those along which nothing changes are zero
            T = np.pad(T, ((0, 0), (0, A.shape[1] - T.shape[1])))
        T *= median_distance_of_rows(self.k, A) / median_distance_of_rows(self.k, apply_metric(A, T))
        return T


def learn_cells(
    fit: CellFit, targets: tuple[np.ndarray, np.ndarray], fitted: np.ndarray, held_out: np.ndarray
) -> tuple[CellFit, int]:
    """Let cells learn metrics of their own while that clearly lowers the loss on held-out rows; count the rounds."""
    Y, weights = targets

    def losses_of(one: CellFit) -> np.ndarray:
        return np.asarray(((one.predicted(held_out) - Y[held_out]) ** 2).sum(axis=1))

    losses = losses_of(fit)
    for rounds in range(4):
        following = fit.next_round(targets, fitted)
        there = losses_of(following)
        mean, error = gain(losses, there, weights[held_out])
        if not mean > error:
            return fit, rounds
        fit = following
        losses = there
    return fit, 4
