"""Rounds of learning a metric: take the average gradient outer product, fit again, and keep only what is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from similitude.evaluation import best, gain
from similitude.kernel_learning.gradients import is_city_block, metric_of
from similitude.kernel_learning.limits import MOST_DIRECTIONS
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.trials import (
    ALONG_PENALTIES,
    ALONG_WIDTHS,
    ISOTROPIC,
    Fit,
    MetricCandidate,
    Steps,
)
from similitude.kernels import Laplace

DIAGONAL = "diagonal"
FULL = "full"
FROM_L1 = "diagonal, from weights of an L1 kernel"

CITY_BLOCK = Laplace(norm=1, squared_scale=False)
"""The kernel whose weights are the start where the gradients of a smoother kernel say nothing."""


class Path(NamedTuple):
    """What the rounds of one kind of metric gave, the start first, and why there are no more."""

    name: str
    fits: list[Fit]
    best: Fit  # the round with the smallest loss
    stopped: str


class LearnedPaths(NamedTuple):
    """All paths, and the best round if it clearly beats the first fit, otherwise that, whose path has no name."""

    paths: list[Path]
    chosen: Fit
    name: str
    reason: str


def search_metric(
    k: Any,
    splits: tuple[PilotSplit, ...],
    how: str = "auto",
    first: Fit | None = None,
    city_block: LearnedPaths | None = None,
    to_beat: float = np.inf,
) -> LearnedPaths:
    """Learn a metric by every path that the kernel and `how` allow, and keep the best if it passes the guard.

    The isotropic kernel, what was found for the L1 kernel, and the loss of another kernel may be given.
    """
    first = first or isotropic(k, splits)
    paths = []
    if how in ("auto", "diagonal"):
        paths.append(_metric_path(DIAGONAL, first, True, to_beat))
    if is_city_block(k):
        return _guarded_metric(first, paths)
    if how == "full" or (how == "auto" and splits[0].X.shape[1] <= MOST_DIRECTIONS):
        paths.append(_metric_path(FULL, first, False, to_beat))
    if how in ("auto", "diagonal"):
        least = min(path.best.loss for path in paths)
        if city_block is None:
            start = isotropic(CITY_BLOCK, splits)
            city_block = _guarded_metric(start, [_metric_path(DIAGONAL, start, True, least)])
        if city_block.name:  # its weights were worth learning
            candidate = MetricCandidate(k, splits, city_block.chosen.candidate.metrics, FROM_L1)
            paths.append(_metric_path(FROM_L1, candidate.best(first.setting), True, least))
    return _guarded_metric(first, paths)


def isotropic(k: Any, splits: tuple[PilotSplit, ...]) -> Fit:
    """Return the kernel of standardized columns, all with the same weight, at its best setting."""
    ones = np.ones(splits[0].X.shape[1])
    return MetricCandidate(k, splits, (ones,) * len(splits), ISOTROPIC).best((0, -2))


def _metric_path(name: str, start: Fit, diagonal: bool, to_beat: float) -> Path:
    """Return the rounds of one kind of metric: by turns only widths and only penalties are tried."""

    def following(fit: Fit, i: int) -> Fit:
        return next_round(fit, name, diagonal, (ALONG_PENALTIES, ALONG_WIDTHS)[i % 2])

    return learn_path(name, start, following, to_beat)


def learn_path(name: str, start: Fit, following: Callable[[Fit, int], Fit], to_beat: float = np.inf) -> Path:
    """Return rounds until these gain little, get worse, or are enough; the best one is tuned further.

    There are two if the loss stays far above `to_beat`, that of another similarity.
    """
    fits = [start]
    stopped = ""
    while not stopped:
        fits.append(following(fits[-1], len(fits)))
        stopped = why_stop([fit.loss for fit in fits], to_beat)
    found = best(fits)
    if found is not start:
        at = fits.index(found)
        fits[at] = found.candidate.best(found.setting)
    return Path(name, fits, best(fits), stopped)


def why_stop(losses: list[float], to_beat: float) -> str:
    """Return why a path with these losses ends; an empty text if it goes on."""
    last = losses[-1]
    before = min(losses[:-1])
    if last > 1.15 * before:
        return f"the loss rose to {last / before:.2f} times the smallest"
    if min(losses) < 1e-4:
        return "the loss is below 0.0001"
    if len(losses) > 2 and min(losses[-2:]) > 0.99 * min(losses[:-2]):
        return "two rounds gained less than 1%"
    if len(losses) == 3 and min(losses) > 1.5 * to_beat:
        return "another kernel is far better"
    if len(losses) > 4:
        return "4 rounds are the most"
    return ""


def next_round(fit: Fit, name: str, diagonal: bool, moves: Steps | None = None) -> Fit:
    """Return the kernel with the metric of the gradients of a fit, at its best setting near that of the fit."""
    outer, _ = fit.candidate.squared_gradients(fit, diagonal)
    metrics = tuple(map(metric_of, outer))
    return MetricCandidate(fit.candidate.k, fit.candidate.splits, metrics, name).best(fit.setting, moves)


def with_more_rows(fit: Fit, splits: tuple[PilotSplit, ...]) -> Fit:
    """Return a candidate that is fitted to more rows; a metric is learned once more from these, and the better kept."""
    before = fit.candidate
    again = MetricCandidate(before.k, splits, before.metrics, before.name)
    if before.name == ISOTROPIC:
        return again.best(fit.setting, ALONG_PENALTIES)
    kept = again.best(fit.setting, ())
    found: Fit = best([kept, next_round(kept, before.name, before.metrics[0].ndim == 1)])
    return found


def clearly_better(before: Fit, after: Fit) -> tuple[bool, str]:
    """Whether a fit beats another by one standard error, by two in folds, whose rows are few; and by how much."""
    mean, error = gain(before.losses, after.losses, ddof=1)
    needed = min(2.0, len(before.candidate.splits))
    return mean > needed * error, f"gain {mean:.2g}, standard error {error:.2g}, needed {needed:g} of these"


def guarded(first: Fit, paths: list[Path], kept: str, won: Callable[[Path], str]) -> LearnedPaths:
    """Return the best round of all paths, or the first fit where that is not clearly worse, and why in words."""
    path = min(paths, key=lambda path: path.best.loss)
    wins, how_much = clearly_better(first, path.best)
    measured = f"squared error on {len(first.losses):,} held-out pilot rows, relative to the variance of the targets"
    if not wins:
        return LearnedPaths(paths, first, "", f"{kept} {measured}, {first.loss:.3g} ({how_much})")
    reason = f"{won(path)} {measured}, from {first.loss:.3g} to {path.best.loss:.3g} ({how_much})"
    return LearnedPaths(paths, path.best, path.name, f"{reason}; learning stopped: {path.stopped}")


def _guarded_metric(first: Fit, paths: list[Path]) -> LearnedPaths:
    kept = "the isotropic kernel was kept: no metric clearly lowers its"
    return guarded(first, paths, kept, lambda path: f"the metric ({path.name}) lowers the")
