"""Trials of a kernel on the pilot rows: exact ridge regression at a width and a penalty, and the walk to the best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from similitude.kernel_learning.gradients import gradient_rows, is_city_block, model_gradients
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernels import Laplace
from similitude.linear import LOWEST_POWER, PENALTIES, SINGLE_FROM, GramFactor

WIDTH_POWERS = range(-3, 8)
"""Powers of 2 by which the median distance is multiplied."""

ALONG_PENALTIES = ((0, -1), (0, 1))
ALONG_WIDTHS = ((-1, 0), (1, 0))
BOTH = ALONG_PENALTIES + ALONG_WIDTHS
HALF_STEPS = ((0, -0.5), (0, 0.5), (-0.5, 0), (0.5, 0))
"""Steps of a walk, as changes of width and penalty."""

Steps = tuple[tuple[float, float], ...]

MEDIAN_ROWS = 300
"""Rows whose pairs give the median distance."""


class Setting(NamedTuple):
    """A width and a penalty, as powers of 2 and 10."""

    width: float = 0
    penalty: float = -2


@dataclass(frozen=True, eq=False)
class RidgeTrial:
    """How a kernel with given metrics does at one setting.

    Attributes
    ----------
    setting : Setting
    predicted : array of shape (judged rows, outputs)
    losses : array
        The squared error of each judged row, relative to the variance of the targets.
    coefficients : list of array
        The dual coefficients of each split's model.
    """

    setting: Setting
    predicted: np.ndarray
    losses: np.ndarray
    coefficients: list[np.ndarray]

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel with one metric per split, learned without the rows that the split is judged by."""

    k: Any
    splits: tuple[PilotSplit, ...]
    metrics: tuple[np.ndarray, ...]
    tried: dict[Setting, RidgeTrial] = field(default_factory=dict)
    distances: dict[int, np.ndarray] = field(default_factory=dict)  # of each split, during a walk

    @cached_property
    def mapped(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows that are fitted, and those that are judged, under the metric of their split."""
        pairs = zip(self.splits, self.metrics, strict=True)
        return [(apply_metric(split.fitted.X, T), apply_metric(split.judged.X, T)) for split, T in pairs]

    @cached_property
    def medians(self) -> list[float]:
        """The median distance of the rows of each split."""
        return [median_distance(self.k, self._distances_in(i)) for i in range(len(self.splits))]

    def kernel(self, setting: Setting, split: int) -> Any:
        """Return the kernel of mapped rows at a setting, for one split."""
        return at_scale(self.k, 2.0**setting.width * self.medians[split])

    def trial(self, setting: Setting) -> RidgeTrial:
        """Return the trial at a setting, from memory if it was made before."""
        if setting not in self.tried:
            parts = [self._one_trial(setting, i) for i in range(len(self.splits))]
            predicted = np.concatenate([there for there, _ in parts])
            losses = ((predicted - self.targets) ** 2).sum(axis=1)
            self.tried[setting] = RidgeTrial(setting, predicted, losses, [coefficients for _, coefficients in parts])
        return self.tried[setting]

    def _one_trial(self, setting: Setting, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions for one split's judged rows, and the dual coefficients of its model."""
        Y = self.splits[i].fitted.Y
        K = self.kernel(setting, i).of_distances(self._distances_in(i).astype(precision(setting)))
        coefficients = GramFactor.of(K[: len(Y)], 10.0**setting.penalty).solve(Y)
        return (K[len(Y) :] @ coefficients).astype(np.float64), coefficients

    def _distances_in(self, i: int) -> np.ndarray:
        """Return the distances of one split's rows, first those that are fitted, to those that are fitted."""
        if i not in self.distances:
            A, B = self.mapped[i]
            self.distances[i] = self.k.distances(np.concatenate([A, B]), A)
        return self.distances[i]

    @property
    def targets(self) -> np.ndarray:
        """The targets of the judged rows of all splits."""
        return np.concatenate([split.judged.Y for split in self.splits])

    def rows_of(self, setting: Setting, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return one split's mapped rows, fitted and judged, in single precision if the penalty allows it."""
        A, B = self.mapped[i]
        return A.astype(precision(setting), copy=False), B.astype(precision(setting), copy=False)

    def best(self, start: Setting, moves: Steps = BOTH) -> RidgeTrial:
        """Return the best trial on a walk from a start along penalties and widths, as long as the loss falls."""
        at = self.trial(start)
        moved = True
        while moved:
            moved = False
            for move in moves:
                while (there := self._moved(at.setting, move)) is not None:
                    trial = self.trial(there)
                    if not trial.loss < at.loss * (1 - 1e-3):
                        break
                    at, moved = trial, True
        self.distances.clear()
        return at

    def _moved(self, setting: Setting, move: tuple[float, float]) -> Setting | None:
        there = Setting(setting.width + move[0], setting.penalty + move[1])
        inside = WIDTH_POWERS[0] <= there.width <= WIDTH_POWERS[-1]
        return there if inside and LOWEST_POWER <= there.penalty <= np.log10(PENALTIES[-1]) else None

    def squared_gradients(self, trial: RidgeTrial, diagonal: bool) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the average outer product of gradients of each split, or its diagonal, and squares per row and column.

        Gradients are those in standardized columns at the judged rows, whose targets are not used.
        """
        outer, squares = [], []
        for i, T in enumerate(self.metrics):
            k, (A, B) = self.kernel(trial.setting, i), self.rows_of(trial.setting, i)
            rows = B[: gradient_rows(k, len(B), len(A), A.shape[1])]
            G = model_gradients(k, rows, A, trial.coefficients[i]).astype(np.float64)
            G = G * T if T.ndim == 1 else G @ T.T
            squares.append((G**2).sum(axis=1))
            flat = G.reshape(-1, G.shape[2])
            outer.append(squares[-1].mean(axis=0) if diagonal else flat.T @ flat / len(rows))
        return outer, np.concatenate(squares)


def precision(setting: Setting) -> type:
    """Return single precision if the penalty leaves it enough digits, otherwise double."""
    return np.float32 if 10.0**setting.penalty >= SINGLE_FROM else np.float64


def apply_metric(X: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return rows under a metric."""
    return X * T if T.ndim == 1 else X @ T


def at_scale(k: Any, scale: float) -> Any:
    """Return the kernel with its scale set to a multiple of a distance."""
    (name,) = k.resolves
    squared = isinstance(k, Laplace) and k.squared_scale
    return k.with_params(**{name: math.sqrt(scale) if squared else scale})


def median_distance_of_rows(k: Any, A: np.ndarray) -> float:
    """Return the median distance of the first rows of a matrix."""
    some = A[:MEDIAN_ROWS]
    return median_distance(k, k.distances(some, some))


def median_distance(k: Any, D: np.ndarray) -> float:
    """Return the median of the first of given distances, or the mean positive one if that is zero."""
    n = min(D.shape[1], MEDIAN_ROWS)
    distances = D[:n, :n][~np.tri(n, dtype=bool)]
    median = float(np.median(distances if is_city_block(k) else np.sqrt(distances)))
    return median if median > 0 else float(distances[distances > 0].mean() if (distances > 0).any() else 1.0)
