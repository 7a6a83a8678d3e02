"""Rounds of learning: fit, take the average gradient outer product as the next metric, and fit again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.kernel_learning.gradients import metric_of
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.trials import (
    ALONG_PENALTIES,
    ALONG_WIDTHS,
    BOTH,
    HALF_STEPS,
    Candidate,
    RidgeTrial,
    Setting,
    Steps,
)

LEARNING_ROUNDS = 4
"""Most rounds of a path."""

SMALL_GAIN = 0.01
"""A round that lowers the best loss by less than this share gains little."""

TOO_HIGH = 1.15
"""Multiple of the best loss at which a path ends."""

TINY_LOSS = 1e-4
"""Loss, relative to that of the mean, below which there is nothing left to learn."""

HOPELESS = 1.5
"""Multiple of another kernel's loss above which a path ends after two rounds."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A candidate at its best setting."""

    candidate: Candidate
    trial: RidgeTrial

    @property
    def loss(self) -> float:
        """The mean loss of the judged rows."""
        return self.trial.loss


@dataclass(frozen=True, eq=False)
class Path:
    """What the rounds of one kind of metric gave, the start first, and why there are no more."""

    name: str
    fits: list[Fit]
    stopped: str

    @property
    def best(self) -> Fit:
        """The round with the smallest loss."""
        return min(self.fits, key=lambda one: one.loss)


def isotropic(k: Any, splits: tuple[PilotSplit, ...]) -> Fit:
    """Return the kernel of standardized columns, all with the same weight."""
    ones = np.ones(splits[0].width)
    return with_metrics(k, splits, (ones,) * len(splits), Setting())


def learn_path(name: str, start: Fit, diagonal: bool, to_beat: float = np.inf, rounds: int = LEARNING_ROUNDS) -> Path:
    """Return rounds from a start on, until these gain little, get worse, or are enough.

    A path whose loss stays far above `to_beat`, the loss of another kernel, ends after two rounds.
    """
    fits, stopped = [start], ""
    while not stopped:
        fits.append(next_round(fits[-1], diagonal, ALONG_WIDTHS if len(fits) % 2 else ALONG_PENALTIES))
        stopped = why_stop([fit.loss for fit in fits], to_beat, rounds)
    at = min(range(len(fits)), key=lambda i: fits[i].loss)
    if at:  # along the way, only widths or only penalties were tried
        fits[at] = replace(fits[at], trial=fits[at].candidate.best(fits[at].trial.setting))
    return Path(name, fits, stopped)


def why_stop(losses: list[float], to_beat: float, rounds: int) -> str:
    """Return why a path with these losses ends; an empty text if it goes on."""
    before, last = min(losses[:-1]), losses[-1]
    if last > TOO_HIGH * before:
        return f"the loss rose to {last / before:.2f} times the smallest"
    if min(losses) < TINY_LOSS:
        return f"the loss is below {TINY_LOSS:g}"
    if len(losses) > 2 and min(losses[-2:]) > (1 - SMALL_GAIN) * min(losses[:-2]):
        return f"two rounds gained less than {SMALL_GAIN:.0%}"
    if len(losses) == 3 and min(losses) > HOPELESS * to_beat:
        return "another kernel is far better"
    return f"{rounds} rounds are the most" if len(losses) > rounds else ""


def next_round(fit: Fit, diagonal: bool, moves: Steps = BOTH) -> Fit:
    """Return the kernel with the metric of the gradients of a fit, at its best setting near that of the fit."""
    outer, _ = fit.candidate.squared_gradients(fit.trial, diagonal)
    return with_metrics(fit.candidate.k, fit.candidate.splits, tuple(map(metric_of, outer)), fit.trial.setting, moves)


def with_metrics(
    k: Any,
    splits: tuple[PilotSplit, ...],
    metrics: tuple[np.ndarray, ...],
    start: Setting,
    moves: Steps = BOTH,
) -> Fit:
    """Return a kernel with given metrics at its best setting."""
    candidate = Candidate(k, splits, metrics)
    return Fit(candidate, candidate.best(start, moves))


def with_more_rows(fit: Fit, splits: tuple[PilotSplit, ...]) -> Fit:
    """Return a candidate that is fitted to more rows; a metric is learned once more from these, and the better kept."""
    metrics = fit.candidate.metrics
    equal = all(T.ndim == 1 and (T == 1).all() for T in metrics)
    again = with_metrics(fit.candidate.k, splits, metrics, fit.trial.setting, ALONG_PENALTIES if equal else ())
    if equal:
        return again
    return min(again, next_round(again, metrics[0].ndim == 1), key=lambda one: one.loss)


def tuned(fit: Fit) -> Fit:
    """Return a fit at its best setting among those half a step apart."""
    return replace(fit, trial=fit.candidate.best(fit.trial.setting, HALF_STEPS))


def gain(before: Fit, after: Fit) -> tuple[float, float]:
    """Return by how much the mean loss falls from one fit to another, and the standard error of this over rows."""
    differences = before.trial.losses - after.trial.losses
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
