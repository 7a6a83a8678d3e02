"""Ridge regression with a kernel on pilot rows at one scale and penalty after another, and the walk to the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from similitude.evaluation import HIGHEST_POWER, walk
from similitude.kernel_learning.gradients import gradient_rows, gradients_at, is_city_block
from similitude.kernel_learning.limits import MEDIAN_ROWS
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernels import Laplace, values_at_scales
from similitude.linear import LOWEST_POWER, GramFactor, gram_precision

ALONG_PENALTIES = ((0, -1), (0, 1))
ALONG_WIDTHS = ((-1, 0), (1, 0))
HALF_STEPS = ((0, -0.5), (0, 0.5), (-0.5, 0), (0.5, 0))
"""Steps of a walk, as changes of width and penalty."""

Steps = tuple[tuple[float, float], ...]

ISOTROPIC = "isotropic"


class Setting(NamedTuple):
    """A width and a penalty, as powers of 2 and 10."""

    width: float = 0
    penalty: float = -2

    @property
    def precision(self) -> type:
        """The precision that the penalty leaves enough digits."""
        return gram_precision(10.0**self.penalty)


@dataclass(frozen=True, eq=False)
class Fit:
    """A candidate fitted at one setting: predictions for held-out rows, and the dual coefficients of each split.

    `losses` are squared errors of held-out rows, relative to the variance of the targets.
    """

    candidate: Any
    setting: Setting
    predicted: np.ndarray
    losses: np.ndarray
    coefficients: list[np.ndarray]

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

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
        self.fits: dict[Setting, Fit] = {}
        self.targets = np.concatenate([split.held_out.Y for split in splits])

    def grams(self, setting: Setting) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the similarities of each split: of fitted rows, in a new array, and of held-out to fitted rows."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what only a walk needs."""

    def fit(self, setting: Setting) -> Fit:
        """Return the fit at a setting, from memory if it was made before."""
        if setting not in self.fits:
            grams = self.grams(setting)
            targets = [split.fitted.Y for split in self.splits]
            coefficients = GramFactor.solve_each([K for K, _ in grams], 10.0**setting.penalty, targets)
            parts = [C @ a for (_, C), a in zip(grams, coefficients, strict=True)]
            predicted = np.concatenate(parts).astype(np.float64)
            losses = ((predicted - self.targets) ** 2).sum(axis=1)
            self.fits[setting] = Fit(self, setting, predicted, losses, coefficients)
        return self.fits[setting]

    def best(self, start: Setting, moves: Steps | None = None) -> Fit:
        """Return the best fit on a walk from a start that goes on as long as the loss falls."""

        def loss(at: Setting) -> float:
            inside = -3 <= at.width <= 7 and LOWEST_POWER <= at.penalty <= HIGHEST_POWER
            return self.fit(at).loss if inside else np.inf

        steps = [partial(_moved, by) for by in (self.moves if moves is None else moves)]
        found = self.fit(walk(loss, start, steps, self.tie))
        self.forget()
        return found


def _moved(by: tuple[float, float], at: Setting) -> Setting:
    return Setting(at.width + by[0], at.penalty + by[1])


class MetricCandidate(Candidate):
    """A kernel of vectors with a metric per split, at multiples of the median distance under it."""

    tie = 1.0 / (1.0 - 1e-3)

    def __init__(self, k: Any, splits: tuple[PilotSplit, ...], metrics: tuple[np.ndarray, ...], name: str) -> None:
        super().__init__(splits)
        self.name = name
        self.k = k
        self.metrics = metrics
        self._known: list[np.ndarray] = []  # distances, during a walk
        self._values: Sequence[np.ndarray] = []  # of the kernel at the width and precision that were tried last
        self._of_values: Any = None

    def forget(self) -> None:
        """Drop the distances and the values of the kernel."""
        self._known = []
        self._values = []
        self._of_values = None

    @cached_property
    def mapped(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows that are fitted, and those that are held out, under the metric of their split."""
        pairs = zip(self.splits, self.metrics, strict=True)
        return [(apply_metric(split.fitted.X, T), apply_metric(split.held_out.X, T)) for split, T in pairs]

    def _distances(self) -> list[np.ndarray]:
        """Return the distances of each split's rows, first those that are fitted, to those that are fitted."""
        if not self._known:
            self._known = [self.k.distances(np.concatenate([A, B]), A) for A, B in self.mapped]
        return self._known

    @cached_property
    def medians(self) -> list[float]:
        """The median distance of the rows of each split."""
        return [median_distance(self.k, D) for D in self._distances()]

    def scales(self, setting: Setting) -> list[float]:
        """Return the kernel's scale in each split."""
        return [scale_of(self.k, 2.0**setting.width * median) for median in self.medians]

    def grams(self, setting: Setting) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the similarities at a scale, in single precision if the penalty allows it."""
        wanted = setting.width, setting.precision
        values = self._values
        if self._of_values != wanted:
            distances: list[np.ndarray] = [D.astype(wanted[1]) for D in self._distances()]
            values = values_at_scales(self.k, self.scales(setting), distances)
        if len(self.splits) == 1:  # of many rows: a copy would take as long
            return [(K[: K.shape[1]], K[K.shape[1] :]) for K in values]
        self._values = values
        self._of_values = wanted
        return [(K[: K.shape[1]].copy(), K[K.shape[1] :]) for K in values]

    def squared_gradients(self, fit: Fit, diagonal: bool) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the average outer product of each split's gradients, or its diagonal, and squares per row and column.

        Gradients are those in standardized columns at the held-out rows, whose targets are not used.
        """
        dtype = fit.setting.precision
        pairs: list[tuple[np.ndarray, np.ndarray]] = [
            (B[: gradient_rows(self.k, len(B), *A.shape)].astype(dtype, copy=False), A.astype(dtype, copy=False))
            for A, B in self.mapped
        ]
        gradients = gradients_at(self.k, self.scales(fit.setting), pairs, fit.coefficients)
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
    median = float(np.median(distances if is_city_block(k) else np.sqrt(distances)))
    if median > 0:
        return median
    return float(distances[distances > 0].mean() if (distances > 0).any() else 1.0)
