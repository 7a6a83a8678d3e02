"""The automatic choice for vectors and tables: kernels, metrics, ranks and blends, compared on the same pilot rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from similitude.compute.engines import at_most_blas_threads
from similitude.evaluation import Pilot, best, gain
from similitude.kernel_learning.columns import LearningFeatures, mean_metric
from similitude.kernel_learning.importance import Direction, GradientImportance, LearnedSummary, LearningStep
from similitude.kernel_learning.limits import MOST_RANKED, UNPREDICTABLE
from similitude.kernel_learning.pilot import PilotSplit, pilot_splits
from similitude.kernel_learning.rounds import CITY_BLOCK, clearly_better, isotropic, search_metric, with_more_rows
from similitude.kernel_learning.trials import HALF_STEPS, ISOTROPIC, Fit
from similitude.kernels import Gaussian, Matern, Tabular
from similitude.similarity import Similarity
from similitude.support import outlying_rows

MATERN = Matern()


@dataclass(frozen=True, eq=False)
class AutoChoice:
    """What was chosen on the pilot rows: a kernel, or several whose predictions are blended."""

    features: LearningFeatures
    parts: tuple[Fit, ...]
    weights: tuple[float, ...]  # factors of predictions, relative to the mean of the targets
    rows: np.ndarray  # all others had no influence
    reason: str
    gaussian: Fit  # isotropic, for comparison

    def kernels(self) -> tuple[Similarity, ...]:
        """Return the kernels of the parts."""
        return tuple(self.features.kernel_of(part) for part in self.parts)

    def best_alone(self) -> Similarity:
        """Return the kernel of the best part."""
        return self.features.kernel_of(best(self.parts))

    def importance(self) -> GradientImportance:
        """Return how much the best part depends on each column."""
        return self.features.importance_of(best(self.parts))

    def named(self, names: list[str] | None) -> AutoChoice:
        """Return the same choice with the columns called by given names, if there are any."""
        if names is None:
            return self
        return replace(self, features=replace(self.features, names=names))

    def penalties(self) -> tuple[float, ...]:
        """Return the penalty of each part, which is added to the diagonal of its Gram matrix."""
        return tuple(10.0 ** part.setting[1] for part in self.parts)


@at_most_blas_threads(8)  # with 16 threads a fit took twice as long as with 2 to 8
def choose_automatically(
    X: Any,
    Y: np.ndarray,
    order: np.ndarray,
    pilot: Pilot,
    table: bool = False,
    groups: np.ndarray | None = None,
) -> AutoChoice:
    """Choose kernels, metrics and a blend for vectors or tables, given rows in random order; the first teach."""

    def splits_of(features: LearningFeatures, most: int | None = None) -> tuple[PilotSplit, ...]:
        return pilot_splits(features.X, Y, order, pilot, most, groups)

    if table or len(outlying_rows(np.asarray(X, dtype=np.float64))):
        features = LearningFeatures.of_table(X, Tabular(MATERN))
    else:
        features = LearningFeatures.of_vectors(np.asarray(X, dtype=np.float64))
    city_block, matern = _isotropic(splits_of(features, pilot.first_fitted))
    ranks = False
    if features.X.shape[1] <= MOST_RANKED:
        ranked = LearningFeatures.of_table(X, Tabular(MATERN, ranks=True))
        others = _isotropic(splits_of(ranked, pilot.first_fitted))
        ranks, _ = clearly_better(best([city_block, matern]), best(others))
        if ranks:
            features = ranked
            city_block, matern = others
    splits = matern.candidate.splits
    gaussian = isotropic(Gaussian(), splits)
    fits = [gaussian, city_block, matern]
    if best(fits).loss < UNPREDICTABLE:
        weights = search_metric(CITY_BLOCK, splits, first=city_block, to_beat=matern.loss)
        fits = [gaussian, weights.chosen, search_metric(MATERN, splits, first=matern, city_block=weights).chosen]
    more = splits_of(features)
    if len(more[0].X) > len(splits[0].X):
        fits = [with_more_rows(one, more) for one in fits]
    if len(splits) > 1:
        fits = [one.candidate.best(one.setting, HALF_STEPS) for one in fits]
        parts, shares = _average(fits)
    else:
        parts, shares = _blend(fits)
    reason = _reason(parts, shares, fits[0], ranks)
    return AutoChoice(features, parts, shares, order[: pilot.size], reason, fits[0])


def _isotropic(splits: tuple[PilotSplit, ...]) -> list[Fit]:
    return [isotropic(CITY_BLOCK, splits), isotropic(MATERN, splits)]


def _average(fits: list[Fit]) -> tuple[tuple[Fit, ...], tuple[float, ...]]:
    """Return the fits that are not clearly worse than the best, weighted by the inverse of their losses.

    Few rows cannot tell which is best. It has to be better than the Gaussian kernel alone, the first fit.
    """
    chosen = best(fits)
    parts = tuple(one for one in fits if one is chosen or not clearly_better(one, chosen)[0])
    precisions = 1.0 / np.maximum([one.loss for one in parts], np.finfo(float).tiny)
    weights = precisions / precisions.sum()
    if not _blended_losses(parts, weights).mean() < fits[0].loss:
        return (fits[0],), (1.0,)
    return parts, tuple(map(float, weights))


def _blend(fits: list[Fit]) -> tuple[tuple[Fit, ...], tuple[float, ...]]:
    """Return fits and the factors of their predictions, by non-negative least squares on held-out rows.

    A kernel that adds less than a tenth is left out; one alone has to beat the Gaussian kernel by a standard error.
    """
    factors = _factors(fits)
    some = [one for one, factor in zip(fits, factors, strict=True) if factor > 0.1 * factors.sum()]
    if len(some) > 1:
        return tuple(some), tuple(map(float, _factors(some)))
    chosen = best(fits[1:])
    mean, error = gain(fits[0].losses, chosen.losses, ddof=1)
    if mean > error:
        return (chosen,), (1.0,)
    return (fits[0],), (1.0,)


def _factors(fits: list[Fit]) -> np.ndarray:
    predictions = np.column_stack([one.predicted.ravel() for one in fits])
    return np.asarray(nnls(predictions, fits[0].candidate.targets.ravel())[0])


def _blended_losses(parts: Sequence[Fit], weights: Sequence[float] | np.ndarray) -> np.ndarray:
    predicted = sum(weight * part.predicted for weight, part in zip(weights, parts, strict=True))
    return np.asarray(((predicted - parts[0].candidate.targets) ** 2).sum(axis=1))


def _reason(parts: tuple[Fit, ...], weights: tuple[float, ...], gaussian: Fit, ranks: bool) -> str:
    """Return in words what was chosen, and how much it gains over an isotropic Gaussian kernel."""
    text = " and ".join(f"{type(one.candidate.k).__name__} ({one.candidate.name} metric)" for one in parts)
    if ranks:
        text += " with ranks of columns"
    if len(parts) > 1:
        text += f", blended with weights {' and '.join(f'{weight:.2g}' for weight in weights)}"
    losses = " and ".join(f"{one.loss:.3g}" for one in parts)
    n = len(gaussian.losses)
    text += f": squared error {losses} on {n:,} held-out pilot rows, relative to the variance of the targets"
    if parts[0] is gaussian:
        return text
    return f"{text}; {gaussian.loss:.3g} with an isotropic Gaussian kernel"


def summarize(choice: AutoChoice) -> LearnedSummary:
    """Return what was learned on the pilot rows."""
    parts = choice.parts
    start = choice.gaussian
    steps = [_step("isotropic Gaussian kernel", start.losses)]
    steps += [_step(_name(part), part.losses) for part in parts if part is not start]
    if len(parts) > 1:
        steps.append(_step("blended", _blended_losses(parts, choice.weights)))
    directions = _directions(mean_metric(best(parts).candidate.metrics), choice.features.names, choice.features.owners)
    importance = choice.importance()
    return LearnedSummary(choice.reason, len(start.losses), tuple(steps), importance, directions, choice.weights)


def _step(name: str, losses: np.ndarray) -> LearningStep:
    return LearningStep(name, float(losses.mean()), float(losses.std() / np.sqrt(len(losses))))


def _name(part: Fit) -> str:
    """Return a kernel and the kind of its metric in words."""
    family = type(part.candidate.k).__name__
    if part.candidate.name == ISOTROPIC:
        return f"isotropic {family} kernel"
    if part.candidate.metrics[0].ndim == 1:
        return f"{family} kernel with learned weights of columns"
    return f"{family} kernel with a learned matrix"


def _directions(metric: np.ndarray, names: list[str], owners: np.ndarray) -> tuple[Direction, ...]:
    """Return the leading eigenvectors of a metric T T', by columns of the user."""
    if metric.ndim == 1:
        return ()
    vectors, sizes, _ = np.linalg.svd(metric, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    found = []
    for q in np.flatnonzero(shares[:3] >= 0.05):  # singular values decrease
        largest = np.argsort(-np.abs(vectors[:, q]), kind="stable")[:5]
        sign = np.sign(vectors[largest[0], q])
        columns = tuple(names[owners[i]] for i in largest)
        found.append(Direction(float(shares[q]), columns, tuple((sign * vectors[largest, q]).tolist())))
    return tuple(found)
