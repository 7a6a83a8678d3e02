"""Cross-validation of ridge regression: all folds and all penalties from moments of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.linear import PENALTIES, Ridge
from similitude.selection.folds import Folds
from similitude.selection.targets import SelectionTargets


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """The held-out errors of ridge regression, with the penalty that is best for all folds together.

    ``losses`` and ``errors`` of each test example are the squared error of its scores, and `SelectionTargets.errors`;
    means over folds, if it is a test example of several.
    """

    penalty: float
    losses: np.ndarray
    errors: np.ndarray

    @property
    def loss(self) -> float:
        """The mean squared error of the scores."""
        return float(self.losses.mean())

    @property
    def deviation(self) -> float:
        """The standard error of the loss."""
        return float(self.losses.std() / np.sqrt(len(self.losses)))


def cross_validate(F: np.ndarray, targets: SelectionTargets, folds: Folds) -> HeldOutErrors:
    """Return the held-out errors of ridge regression in all folds.

    The penalty of a fold is the one with the smallest squared loss on the test examples of the other folds, so that no
    example is tested with a penalty that it helped to choose (with a single fold, on its own). Ties go to the larger
    penalty. Every fold is solved by one eigendecomposition for all penalties.
    """
    total, each = folds.moments(F, targets.Y)
    centered, plain = float(np.trace(total.centered()[0])), float(np.trace(total.gram))
    penalties = PENALTIES * (centered if centered > np.finfo(float).eps * plain else 1.0)
    tried = [
        _held_out(F, targets, test, Ridge(one), penalties) for one, (_, test) in zip(each, folds.pairs, strict=True)
    ]
    sums = np.stack([losses.sum(axis=1) for losses, _ in tried])
    losses, errors, times = np.zeros((3, len(F)))
    for fold, (_, test) in enumerate(folds.pairs):
        best = _smallest((sums if len(folds) == 1 else np.delete(sums, fold, axis=0)).sum(axis=0))
        losses[test] += tried[fold][0][best]
        errors[test] += tried[fold][1][best]
        times[test] += 1
    tested = np.flatnonzero(times)
    penalty = float(penalties[_smallest(sums.sum(axis=0))])
    return HeldOutErrors(penalty, losses[tested] / times[tested], errors[tested] / times[tested])


def _held_out(
    F: np.ndarray, targets: SelectionTargets, test: np.ndarray, ridge: Ridge, penalties: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return losses and errors of the test examples of a fold, a row for each penalty."""
    trial_of = ridge.held_out(F[test], targets.Y[test], np.ones(len(test)))
    losses, errors = np.empty((2, len(penalties), len(test)))
    for place, lam in enumerate(penalties):
        trial = trial_of(float(lam))
        assert trial is not None
        losses[place], errors[place] = trial.losses, targets.errors(trial.scores, test)
    return losses, errors


def _smallest(sums: np.ndarray) -> int:
    """Return the position of the minimum, the last one in case of ties."""
    return len(sums) - 1 - int(sums[::-1].argmin())
