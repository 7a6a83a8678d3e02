"""The search for a metric: the isotropic kernel, the paths from it, and the guard that keeps only what is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.kernel_learning.gradients import is_city_block
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.rounds import Fit, Path, gain, isotropic, learn_path, with_metrics
from similitude.kernels import Laplace

MOST_DIRECTIONS = 500
"""Number of columns up to which a full matrix is learned."""

GUARD_BY_SPLIT, GUARD_BY_FOLDS = 1.0, 2.0
"""Standard errors by which a metric must win: the rows of folds are few, and each metric is learned from fewer."""

ISOTROPIC, DIAGONAL, FULL, FROM_L1 = "isotropic", "diagonal", "full", "diagonal, from weights of an L1 kernel"

CITY_BLOCK = Laplace(norm=1, squared_scale=False)
"""The kernel whose weights are the start where the gradients of a smoother kernel say nothing."""


@dataclass(frozen=True, eq=False)
class Search:
    """What was found for one family of kernels.

    Attributes
    ----------
    first : Fit
        The isotropic kernel.
    paths : list of Path
    chosen : Fit
        The best round if it beats the isotropic kernel by a standard error, otherwise that kernel.
    name : str
        The kind of metric that was chosen.
    reason : str
    """

    first: Fit
    paths: list[Path]
    chosen: Fit
    name: str
    reason: str


def search_metric(
    k: Any,
    splits: tuple[PilotSplit, ...],
    how: str = "auto",
    first: Fit | None = None,
    city_block: Search | None = None,
    to_beat: float = np.inf,
) -> Search:
    """Learn a metric by every path that the kernel and `how` allow, and keep the best if it passes the guard.

    Parameters
    ----------
    k : Similarity
    splits : tuple of PilotSplit
    how : {"auto", "diagonal", "full"}
    first : Fit, optional
        The isotropic kernel, if it is known.
    city_block : Search, optional
        What was found for the L1 kernel, if that is known; otherwise its path is followed here.
    to_beat : float
        The loss of another kernel: a path that stays far above it ends soon.
    """
    first = first or isotropic(k, splits)
    paths = []
    if how in ("auto", "diagonal"):
        paths.append(learn_path(DIAGONAL, first, True, to_beat))
    if is_city_block(k):
        return _guarded(first, paths)
    if how == "full" or (how == "auto" and splits[0].width <= MOST_DIRECTIONS):
        paths.append(learn_path(FULL, first, False, to_beat))
    if how in ("auto", "diagonal"):
        paths.extend(_from_city_block(first, min(path.best.loss for path in paths), city_block))
    return _guarded(first, paths)


def _from_city_block(first: Fit, best: float, known: Search | None) -> list[Path]:
    """Return the diagonal path that starts from the weights of an L1 kernel, if these were worth learning."""
    splits = first.candidate.splits
    if known is None:
        start = isotropic(CITY_BLOCK, splits)
        known = _guarded(start, [learn_path(DIAGONAL, start, True, to_beat=best)])
    if known.chosen is known.first:
        return []
    start = with_metrics(first.candidate.k, splits, known.chosen.candidate.metrics, first.trial.setting)
    return [learn_path(FROM_L1, start, True, to_beat=best)]


def clearly_better(before: Fit, after: Fit) -> tuple[bool, str]:
    """Tell whether a fit passes the guard against another, and in words by how much it wins."""
    mean, error = gain(before, after)
    needed = GUARD_BY_SPLIT if len(before.candidate.splits) == 1 else GUARD_BY_FOLDS
    return mean > needed * error, f"gain {mean:.2g}, standard error {error:.2g}, needed {needed:g} of these"


def _guarded(first: Fit, paths: list[Path]) -> Search:
    """Return the search with its best round, or with the isotropic kernel where that is not clearly worse."""
    best = min(paths, key=lambda path: path.best.loss)
    wins, how_much = clearly_better(first, best.best)
    n = len(first.trial.losses)
    measured = f"squared error on {n:,} held-out pilot rows, relative to the variance of the targets"
    if not wins:
        reason = (
            f"the isotropic kernel was kept: no metric clearly lowers its {measured}, {first.loss:.3g} ({how_much})"
        )
        return Search(first, paths, first, ISOTROPIC, reason)
    reason = (
        f"the metric ({best.name}) lowers the {measured}, from {first.loss:.3g} to {best.best.loss:.3g} ({how_much}); "
        f"learning stopped: {best.stopped}"
    )
    return Search(first, paths, best.best, best.name, reason)
