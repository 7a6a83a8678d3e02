"""Rounds of learning: fit, take the average gradient outer product as the next metric, and fit again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.kernel_learning.gradients import metric_of
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.trials import Candidate, RidgeTrial, Setting

LEARNING_ROUNDS = 4
"""Most rounds of a path."""

SMALL_GAIN = 0.01
"""A round that lowers the best loss by less than this share gains little."""

TOO_HIGH = 1.15
"""Multiple of the best loss at which a path ends."""

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
    fits, best, weak = [start], start.loss, 0
    for number in range(1, rounds + 1):
        fit = next_round(fits[-1], diagonal)
        fits.append(fit)
        if fit.loss > TOO_HIGH * best:
            return Path(name, fits, f"the loss rose to {fit.loss / best:.2f} times the smallest")
        weak = weak + 1 if fit.loss > (1 - SMALL_GAIN) * best else 0
        best = min(best, fit.loss)
        if weak == 2:
            return Path(name, fits, f"two rounds gained less than {SMALL_GAIN:.0%}")
        if number == 2 and best > HOPELESS * to_beat:
            return Path(name, fits, "another kernel is far better")
    return Path(name, fits, f"{rounds} rounds are the most")


def next_round(fit: Fit, diagonal: bool) -> Fit:
    """Return the kernel with the metric of the gradients of a fit, at its best setting near that of the fit."""
    outer, _ = fit.candidate.squared_gradients(fit.trial, diagonal)
    return with_metrics(fit.candidate.k, fit.candidate.splits, tuple(map(metric_of, outer)), fit.trial.setting)


def with_metrics(k: Any, splits: tuple[PilotSplit, ...], metrics: tuple[np.ndarray, ...], start: Setting) -> Fit:
    """Return a kernel with given metrics at its best setting."""
    candidate = Candidate(k, splits, metrics)
    return Fit(candidate, candidate.best(start))


def gain(before: Fit, after: Fit) -> tuple[float, float]:
    """Return by how much the mean loss falls from one fit to another, and the standard error of this over rows."""
    differences = before.trial.losses - after.trial.losses
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
