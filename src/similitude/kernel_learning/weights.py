"""Rounds of learning weights: fit, weigh each feature by the root of its mean squared gradient, and fit again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.rounds import LEARNING_ROUNDS, Path, gain, why_stop
from similitude.kernel_learning.search import GUARD_BY_FOLDS, GUARD_BY_SPLIT
from similitude.kernel_learning.trials import RidgeTrial, Setting, precision
from similitude.linear import PENALTIES, GramFactor

MOST_IMPORTANT = 200
"""Most features that have an importance."""


@dataclass(frozen=True, eq=False)
class WeightCandidate:
    """A similarity with weights for each split, learned without the rows that the split is judged by."""

    problem: Any
    splits: tuple[PilotSplit, ...]
    weights: tuple[np.ndarray, ...]
    tried: dict[float, RidgeTrial] = field(default_factory=dict)

    @cached_property
    def grams(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """The similarities of fitted, and of judged and fitted rows, of each split, and what they were divided by."""
        found = []
        for split, w in zip(self.splits, self.weights, strict=True):
            K, C = self.problem.grams(w, *_places(split))
            size = float(K.diagonal().mean()) or 1.0
            found.append((K / size, C / size, size))
        return found

    @property
    def targets(self) -> np.ndarray:
        """The targets of the judged rows of all splits."""
        return np.concatenate([split.judged.Y for split in self.splits])

    def trial(self, penalty: float) -> RidgeTrial:
        """Return ridge regression at a penalty, from memory if it was made before."""
        if penalty not in self.tried:
            predicted, coefficients = [], []
            dtype = precision(Setting(0, penalty))
            for split, (K, C, _) in zip(self.splits, self.grams, strict=True):
                factor = GramFactor.of(K.astype(dtype), 10.0**penalty)
                coefficients.append(factor.solve(split.fitted.Y).astype(np.float64))
                predicted.append(C @ coefficients[-1])
            joined = np.concatenate(predicted)
            losses = ((joined - self.targets) ** 2).sum(axis=1)
            self.tried[penalty] = RidgeTrial(Setting(0, penalty), joined, losses, coefficients)
        return self.tried[penalty]

    def best(self, start: float) -> WeightFit:
        """Return the best penalty on a walk from a start, as long as the loss falls."""
        at = self.trial(start)
        for step in (-1, 1):
            while PENALTIES[0] <= 10.0 ** (at.setting.penalty + step) <= PENALTIES[-1]:
                there = self.trial(at.setting.penalty + step)
                if not there.loss < at.loss:
                    break
                at = there
        return WeightFit(self, at)

    def next_weights(self, trial: RidgeTrial) -> tuple[np.ndarray, ...]:
        """Return the roots of the mean squared gradients of a fit, per split."""
        found, begin = [], 0
        parts = zip(self.splits, self.weights, self.grams, trial.coefficients, strict=True)
        for split, w, (_, C, size), coefficients in parts:
            predicted = trial.predicted[begin : begin + len(C)]
            begin += len(C)
            squares = self.problem.squares(w, *_places(split), coefficients / size, predicted)
            found.append(self.problem.unit(self.problem.bounded(np.sqrt(squares))) if squares.any() else w)
        return tuple(found)

    def mean_weights(self) -> np.ndarray:
        """Return the mean of the splits' weights."""
        return np.asarray(self.problem.unit(self.problem.bounded(np.mean(self.weights, axis=0))))


@dataclass(frozen=True, eq=False)
class WeightFit:
    """Weights at their best penalty."""

    candidate: WeightCandidate
    trial: RidgeTrial

    @property
    def loss(self) -> float:
        """The mean loss of the judged rows."""
        return self.trial.loss


@dataclass(frozen=True, eq=False)
class WeightSearch:
    """What was found: the paths, the chosen weights with the name of their start if they are those, and why."""

    paths: list[Path]
    chosen: WeightFit
    name: str
    reason: str


def search_weights(problem: Any, splits: tuple[PilotSplit, ...]) -> WeightSearch:
    """Learn weights from each start, and keep the best only if it clearly beats the kernel as it was given."""
    starts = [problem.starts(_places(split)[0]) for split in splits]
    paths: list[Path] = []
    for name in starts[0]:
        candidate = WeightCandidate(problem, splits, tuple(one[name] for one in starts))
        paths.append(_learn_path(name, candidate.best(paths[0].fits[0].trial.setting.penalty if paths else -1)))
    return _guarded(paths)


def _places(split: PilotSplit) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the fitted and of the judged rows."""
    return split.fitted.X[:, 0], split.judged.X[:, 0]


def _learn_path(name: str, start: WeightFit) -> Path:
    """Return rounds from a start on, until these gain little, get worse, or are enough."""
    fits, stopped = [start], ""
    while not stopped:
        last = fits[-1]
        weights = last.candidate.next_weights(last.trial)
        candidate = WeightCandidate(last.candidate.problem, last.candidate.splits, weights)
        fits.append(candidate.best(last.trial.setting.penalty))
        stopped = why_stop([fit.loss for fit in fits], np.inf, LEARNING_ROUNDS)
    return Path(f"from {name}", fits, stopped)  # type: ignore[arg-type]


def _guarded(paths: list[Path]) -> WeightSearch:
    """Return the best round of all paths, or the first start where that is not clearly worse."""
    first: Any = paths[0].fits[0]
    best = min(paths, key=lambda path: path.best.loss)
    found: Any = best.best
    mean, error = gain(first, found)
    needed = GUARD_BY_SPLIT if len(first.candidate.splits) == 1 else GUARD_BY_FOLDS
    how_much = f"gain {mean:.2g}, standard error {error:.2g}, needed {needed:g} of these"
    n, kept = len(first.trial.losses), paths[0].name.removeprefix("from ")
    measured = f"squared error on {n:,} held-out pilot rows, relative to the variance of the targets"
    if not mean > needed * error:
        reason = f"{kept} were kept: no others clearly lower the {measured}, {first.loss:.3g} ({how_much})"
        return WeightSearch(paths, first, kept, reason)
    start, rounds = best.name.removeprefix("from "), best.fits.index(found)
    named = f"learned weights ({best.name}, round {rounds})" if rounds else f"{start} weights"
    reason = f"{named} lower the {measured}, from {first.loss:.3g} to {found.loss:.3g} ({how_much})"
    return WeightSearch(paths, found, "" if rounds else start, f"{reason}; learning stopped: {best.stopped}")


def importance_of(fit: WeightFit) -> GradientImportance:
    """Return the shares of features in the variance of predictions for judged rows."""
    candidate, problem = fit.candidate, fit.candidate.problem
    parts = zip(candidate.splits, candidate.weights, candidate.grams, fit.trial.coefficients, strict=True)
    added = [problem.contributions(w, *_places(split), a / size) for split, w, (_, _, size), a in parts]
    shares = np.mean([np.sum([_variances(one) for one in outputs], axis=0) for outputs in added], axis=0)
    top = np.argsort(-shares, kind="stable")[:MOST_IMPORTANT]
    squares = np.concatenate([sum(_centered_squares(one, top) for one in outputs) for outputs in added])
    totals = np.concatenate([sum(_total_squares(one) for one in outputs) for outputs in added])
    return GradientImportance.of(problem.names(top), squares, totals, problem.kind)


def _variances(A: Any) -> np.ndarray:
    """Return the variance of each column of a sparse or dense matrix."""
    squared = A.multiply(A) if hasattr(A, "multiply") else A * A
    return np.maximum(np.asarray(squared.mean(axis=0)).ravel() - np.asarray(A.mean(axis=0)).ravel() ** 2, 0.0)


def _centered_squares(A: Any, columns: np.ndarray) -> np.ndarray:
    """Return the squared differences to the mean of some columns."""
    some = A[:, columns]
    some = some.toarray() if hasattr(some, "toarray") else some
    return np.asarray((some - some.mean(axis=0)) ** 2)


def _total_squares(A: Any) -> np.ndarray:
    """Return the sum of the squared differences of all columns to their means, for each row."""
    means = np.asarray(A.mean(axis=0)).ravel()
    squared = A.multiply(A) if hasattr(A, "multiply") else A * A
    return np.asarray(squared.sum(axis=1)).ravel() - 2 * (A @ means) + float(means @ means)
