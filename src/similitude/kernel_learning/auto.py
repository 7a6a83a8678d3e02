"""The automatic choice for vectors and tables: kernels, metrics, ranks and blends, compared on the same pilot rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from similitude.compute.engines import at_most_blas_threads
from similitude.kernel_learning.columns import LearningFeatures, mean_metric
from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.pilot import FIRST_FITTED_ROWS, PilotSplit, pilot_size, pilot_splits
from similitude.kernel_learning.rounds import (
    CITY_BLOCK,
    ISOTROPIC,
    Search,
    clearly_better,
    gain,
    isotropic,
    search_metric,
    tuned,
    with_more_rows,
)
from similitude.kernel_learning.trials import Fit
from similitude.kernels import Gaussian, Matern, Tabular
from similitude.similarity import Similarity
from similitude.support import outlying_rows

UNPREDICTABLE = 0.97
"""Loss, relative to that of the mean, above which no isotropic kernel shows anything to learn from."""

MOST_RANKED = 300
"""Number of features up to which ranks are tried: more would double the time."""

SMALL_SHARE = 0.1
"""Share of a blend below which a kernel is left out."""

PILOT_THREADS = 8
"""Most threads of BLAS for the matrices of pilot rows: with 16 a fit took twice as long as with 2 to 8."""

MATERN = Matern()


@dataclass(frozen=True, eq=False)
class AutoChoice:
    """What was chosen on the pilot rows.

    Attributes
    ----------
    features : LearningFeatures
    parts : tuple of Fit
        One kernel, or several whose predictions are blended.
    weights : tuple of float
        The factor of each one's prediction, relative to the mean of the targets.
    searches : tuple of Search
        What was tried for each family.
    rows : array of int
        The pilot rows: all others had no influence.
    reason : str
    gaussian : Fit
        An isotropic Gaussian kernel, for comparison.
    """

    features: LearningFeatures
    parts: tuple[Fit, ...]
    weights: tuple[float, ...]
    searches: tuple[Search, ...]
    rows: np.ndarray
    reason: str
    gaussian: Fit

    def kernels(self) -> tuple[Similarity, ...]:
        """Return the kernels of the parts."""
        return tuple(
            self.features.kernel(part.candidate.k, mean_metric(part.candidate.metrics), 2.0**part.setting.width)
            for part in self.parts
        )

    def importance(self) -> GradientImportance:
        """Return how much the best part depends on each column."""
        best = min(self.parts, key=lambda part: part.loss)
        _, squares = best.candidate.squared_gradients(best, diagonal=True)
        return self.features.importance(squares)

    def named(self, names: list[str] | None) -> AutoChoice:
        """Return the same choice with the columns called by given names, if there are any."""
        return self if names is None else replace(self, features=replace(self.features, names=names))

    def penalties(self) -> tuple[float, ...]:
        """Return the penalty of each part, which is added to the diagonal of its Gram matrix."""
        return tuple(10.0**part.setting.penalty for part in self.parts)


@at_most_blas_threads(PILOT_THREADS)
def choose_automatically(
    X: Any, Y: np.ndarray, order: np.ndarray, table: bool = False, groups: np.ndarray | None = None
) -> AutoChoice:
    """Choose kernels, metrics and their blend for vectors, or for the rows of a table.

    Parameters
    ----------
    X : array, or data frame
    Y : array of shape (n, outputs)
        Numbers, or codes of classes.
    order : array of int
        Rows in random order; of many, only the first ones have influence.
    table : bool
        Whether columns may hold categories and missing values.
    groups : array of int, optional
        The group of each row; no split separates one.
    """
    if table or len(outlying_rows(np.asarray(X, dtype=np.float64))):
        plain = LearningFeatures.of_table(X, Tabular(MATERN))
    else:
        plain = LearningFeatures.of_vectors(np.asarray(X, dtype=np.float64))
    start = _Start.of(plain, Y, order, groups)
    if plain.X.shape[1] <= MOST_RANKED:
        with_ranks = LearningFeatures.of_table(X, Tabular(MATERN, ranks=True))
        start = _Start.better_of(start, _Start.of(with_ranks, Y, order, groups))
    gaussian = isotropic(Gaussian(), start.splits)
    searches = start.searches() if min(gaussian.loss, start.best.loss) < UNPREDICTABLE else ()
    found = [one.chosen for one in searches] or [start.city_block, start.matern]
    splits = pilot_splits(start.features.X, Y, order, groups=groups)
    if len(splits[0].fitted.X) > len(start.splits[0].fitted.X):
        gaussian, *found = [with_more_rows(one, splits) for one in (gaussian, *found)]
        searches = tuple(replace(one, chosen=fit) for one, fit in zip(searches, found, strict=False))
    if len(splits) > 1:
        gaussian, *found = map(tuned, (gaussian, *found))
        searches = tuple(replace(one, chosen=fit) for one, fit in zip(searches, found, strict=False))
        parts, weights = _average(gaussian, found)
    else:
        parts, weights = _blend([gaussian, *found], _chosen(gaussian, found))
    reason = _reason(parts, weights, gaussian, searches, start.features is not plain)
    return AutoChoice(start.features, parts, weights, searches, order[: pilot_size(len(order))], reason, gaussian)


@dataclass(frozen=True, eq=False)
class _Start:
    """Isotropic kernels on some features."""

    features: LearningFeatures
    splits: tuple[PilotSplit, ...]
    city_block: Fit
    matern: Fit

    @classmethod
    def of(cls, features: LearningFeatures, Y: np.ndarray, order: np.ndarray, groups: np.ndarray | None) -> _Start:
        splits = pilot_splits(features.X, Y, order, FIRST_FITTED_ROWS, groups)
        return cls(features, splits, isotropic(CITY_BLOCK, splits), isotropic(MATERN, splits))

    @property
    def best(self) -> Fit:
        return min(self.city_block, self.matern, key=lambda one: one.loss)

    @staticmethod
    def better_of(one: _Start, other: _Start) -> _Start:
        """Return the other start only if it is clearly better."""
        return other if clearly_better(one.best, other.best)[0] else one

    def searches(self) -> tuple[Search, ...]:
        """Learn the metric of both kernels."""
        city_block = search_metric(CITY_BLOCK, self.splits, first=self.city_block, to_beat=self.matern.loss)
        return city_block, search_metric(MATERN, self.splits, first=self.matern, city_block=city_block)


def _chosen(gaussian: Fit, others: list[Fit]) -> Fit:
    """Return the best fit if it beats a Gaussian kernel by a standard error; metrics have passed a guard before."""
    best = min(others, key=lambda one: one.loss)
    mean, error = gain(gaussian, best)
    return best if mean > error else gaussian


def _average(gaussian: Fit, others: list[Fit]) -> tuple[tuple[Fit, ...], tuple[float, ...]]:
    """Return the fits that are not clearly worse than the best, weighted by the inverse of their losses.

    Few rows cannot tell which is best, and errors of different kernels cancel in part. An average that is not better
    than the Gaussian kernel alone is not taken.
    """
    fits = [gaussian, *others]
    best = min(fits, key=lambda one: one.loss)
    parts = tuple(one for one in fits if one is best or not clearly_better(one, best)[0])
    precisions = 1.0 / np.maximum([one.loss for one in parts], np.finfo(float).tiny)
    weights = precisions / precisions.sum()
    predicted = sum(weight * one.predicted for weight, one in zip(weights, parts, strict=True))
    losses = ((predicted - gaussian.candidate.targets) ** 2).sum(axis=1)
    if not losses.mean() < gaussian.loss:
        return (gaussian,), (1.0,)
    return parts, tuple(map(float, weights))


def _blend(fits: list[Fit], alone: Fit) -> tuple[tuple[Fit, ...], tuple[float, ...]]:
    """Return fits and the factors of their predictions; one fit alone if no sum is better.

    The factors are those of non-negative least squares on the judged rows, so that a kernel that adds nothing has none.
    """
    targets = alone.candidate.targets
    factors, _ = nnls(np.column_stack([one.predicted.ravel() for one in fits]), targets.ravel())
    kept = [i for i in range(len(fits)) if factors[i] > SMALL_SHARE * factors.sum()]
    if len(kept) < 2:
        return (alone,), (1.0,)
    some = [fits[i] for i in kept]
    factors, _ = nnls(np.column_stack([one.predicted.ravel() for one in some]), targets.ravel())
    return tuple(some), tuple(map(float, factors))


def _reason(
    parts: tuple[Fit, ...], weights: tuple[float, ...], gaussian: Fit, searches: tuple[Search, ...], ranks: bool
) -> str:
    """Return in words what was chosen, and how much it gains over an isotropic Gaussian kernel."""
    kinds = {id(one.chosen): one.name for one in searches}
    names = [f"{type(one.candidate.k).__name__} ({kinds.get(id(one)) or ISOTROPIC} metric)" for one in parts]
    losses = " and ".join(f"{one.loss:.3g}" for one in parts)
    text = f"{' and '.join(names)}{' with ranks of columns' if ranks else ''}"
    if len(parts) > 1:
        text += f", blended with weights {' and '.join(f'{weight:.2g}' for weight in weights)}"
    n = len(gaussian.losses)
    text += f": squared error {losses} on {n:,} held-out pilot rows, relative to the variance of the targets"
    return text if parts[0] is gaussian else f"{text}; {gaussian.loss:.3g} with an isotropic Gaussian kernel"
