"""Ridge regression with a kernel on pilot rows at one scale and penalty after another, and the walk to the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from similitude.evaluation import HIGHEST_POWER, Search, walk
from similitude.kernel_learning.gradients import gradient_rows, gradients_at, is_city_block
from similitude.kernel_learning.limits import MEDIAN_ROWS
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernels import Laplace, values_at_scales
from similitude.linear import LOWEST_POWER, GramFactor, gram_precision

Setting = tuple[float, float]
"""A width and a penalty, as powers of 2 and 10."""

PRECISIONS = {power: gram_precision(10.0**power) for power in np.arange(LOWEST_POWER, HIGHEST_POWER + 0.5, 0.5)}
"""The precision of Gram matrices at each penalty that may be tried."""

SETTINGS = frozenset(product(np.arange(-3, 7.5, 0.5), PRECISIONS))
"""All settings that may be tried."""

ALONG_PENALTIES = ((0, -1), (0, 1))
ALONG_WIDTHS = ((-1, 0), (1, 0))
HALF_STEPS = ((0, -0.5), (0, 0.5), (-0.5, 0), (0.5, 0))
"""Steps of a walk, as changes of width and penalty."""

Steps = Sequence[Setting]

ISOTROPIC = "isotropic"


@dataclass(frozen=True, eq=False)
class Fit:
    """A candidate fitted at one setting; losses are squared errors relative to the variance of the targets."""

    candidate: Any
    setting: Setting
    predicted: np.ndarray
    losses: np.ndarray
    loss: float  # their mean
    coefficients: list[np.ndarray]

    @property
    def standard_error(self) -> float:
        """The standard error of the loss over the held-out rows."""
        return float(self.losses.std() / np.sqrt(len(self.losses)))


class Candidate:
    """A similarity on the pilot rows, which may be another for each split: learned without its held-out rows."""

    moves: Steps = ALONG_PENALTIES + ALONG_WIDTHS
    tie = 1.0  # factor by which a step of a walk must lower the loss

    def __init__(self, splits: tuple[PilotSplit, ...]) -> None:
        self.splits = splits
        self.search = Search(self.fit, SETTINGS)
        self.targets = np.concatenate([split.Y_held_out for split in splits])

    def grams(self, width: float, dtype: type) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the similarities of each split: of fitted rows, in a new array, and of held-out to fitted rows."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what only a walk needs."""

    def fit(self, setting: Setting) -> Fit:
        """Return the fit at a setting."""
        width, power = setting
        grams = self.grams(width, PRECISIONS[power])
        targets = [split.Y for split in self.splits]
        coefficients = GramFactor.solve_each([K for K, _ in grams], 10.0**power, targets)
        parts = [C @ a for (_, C), a in zip(grams, coefficients, strict=True)]
        predicted = np.concatenate(parts).astype(np.float64)
        losses = ((predicted - self.targets) ** 2).sum(axis=1)
        return Fit(self, setting, predicted, losses, float(losses.mean()), coefficients)

    def best(self, start: Setting, moves: Steps | None = None) -> Fit:
        """Return the best fit on a walk from a start that goes on as long as the loss falls."""
        at = walk(self.search.loss, start, self.moves if moves is None else moves, self.tie)
        self.forget()
        found: Fit = self.search.tried[at]
        return found


class MetricCandidate(Candidate):
    """A kernel of vectors with a metric per split, at multiples of the median distance under it."""

    tie = 1.0 / (1.0 - 1e-3)

    def __init__(self, k: Any, splits: tuple[PilotSplit, ...], metrics: tuple[np.ndarray, ...], name: str) -> None:
        super().__init__(splits)
        self.name = name
        self.k = k
        self.metrics = metrics
        self._latest: tuple[Any, Sequence[np.ndarray]] = (None, ())  # width and precision, and values of the kernel

    def forget(self) -> None:
        """Drop the distances and the values of the kernel."""
        self.__dict__.pop("distances", None)
        self._latest = None, ()

    @cached_property
    def mapped(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows that are fitted, and those that are held out, under the metric of their split."""
        pairs = zip(self.splits, self.metrics, strict=True)
        return [(apply_metric(split.X, T), apply_metric(split.X_held_out, T)) for split, T in pairs]

    @cached_property
    def distances(self) -> list[np.ndarray]:
        """The distances of each split's rows, first those that are fitted, to those that are fitted."""
        return [self.k.distances(np.concatenate([A, B]), A) for A, B in self.mapped]

    @cached_property
    def medians(self) -> list[float]:
        """The median distance of the rows of each split."""
        return [median_distance(self.k, D) for D in self.distances]

    def scales(self, width: float) -> list[float]:
        """Return the kernel's scale in each split."""
        return [scale_of(self.k, 2.0**width * median) for median in self.medians]

    def grams(self, width: float, dtype: type) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the similarities at a scale."""
        known, values = self._latest
        if known != (width, dtype):
            values = values_at_scales(self.k, self.scales(width), [D.astype(dtype) for D in self.distances])
        if len(self.splits) == 1:  # of many rows: a copy would take as long
            return [(K[: K.shape[1]], K[K.shape[1] :]) for K in values]
        self._latest = (width, dtype), values
        return [(K[: K.shape[1]].copy(), K[K.shape[1] :]) for K in values]

    def squared_gradients(self, fit: Fit, diagonal: bool) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the average outer product of each split's gradients, or its diagonal, and all squares."""
        dtype = fit.coefficients[0].dtype
        pairs: list[tuple[np.ndarray, np.ndarray]] = [
            (B[: gradient_rows(self.k, len(B), *A.shape)].astype(dtype, copy=False), A.astype(dtype, copy=False))
            for A, B in self.mapped
        ]
        gradients = gradients_at(self.k, self.scales(fit.setting[0]), pairs, fit.coefficients)
        outer = []
        squares = []
        for T, G in zip(self.metrics, gradients, strict=True):
            mapped = apply_metric(G.astype(np.float64), T.T)
            squares.append((mapped**2).sum(axis=1))
            flat = mapped.reshape(-1, mapped.shape[2])
            outer.append(squares[-1].mean(axis=0) if diagonal else flat.T @ flat / len(mapped))
        return outer, np.concatenate(squares)


def apply_metric(X: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return rows under a metric."""
    return X * T if T.ndim == 1 else X @ T


def scale_of(k: Any, distance: float) -> float:
    """Return the value of the kernel's scale that stands for a distance."""
    return math.sqrt(distance) if isinstance(k, Laplace) and k.squared_scale else distance


def at_scale(k: Any, distance: float) -> Any:
    """Return the kernel with its scale set to a distance."""
    (name,) = k.resolves
    return k.with_params(**{name: scale_of(k, distance)})


def median_distance_of_rows(k: Any, A: np.ndarray) -> float:
    """Return the median distance of the first rows of a matrix."""
    some = A[:MEDIAN_ROWS]
    return median_distance(k, k.distances(some, some))


def median_distance(k: Any, D: np.ndarray) -> float:
    """Return the median of the first of given distances, or the mean positive one if that is zero."""
    n = min(D.shape[1], MEDIAN_ROWS)
    distances = D[:n, :n][~np.tri(n, dtype=bool)]
    median = float(np.median(distances))
    if not is_city_block(k):
        median = float(np.median(np.sqrt(distances)))
    if median > 0 or not distances.any():
        return median or 1.0
    return float(distances[distances > 0].mean())
