"""Predictions for held-out examples: the split, and what models predict for examples they were not fitted to."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.estimators import without_evaluation
from similitude.evaluation import (
    assign_folds,
    fold_pairs,
    groups_for_fit,
    groups_of_classes,
    random_part,
    rarest_in_group,
)
from similitude.fitting import probabilities
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MANY_EXAMPLES, MIN_EXAMPLES, REPEATS
from similitude.similarity import Similarity
from similitude.support import ESTIMATE, HELD_OUT, Estimate, first_of, pairs_at
from similitude.theory import LEVEL, proportion

ERROR_RATE = "error rate"
ROOT_MEAN_SQUARE = "root mean squared error"

Predictor = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, "np.ndarray | None"]]
"""Fits to some positions of X and predicts others: returns scores and probabilities."""


Fold = tuple[Any, np.ndarray, np.ndarray]
"""A model, the positions in X that it was fitted to, and those that it predicted."""


def split(inputs: Inputs) -> Inputs:
    """Hold out a quarter of each class; with fewer examples plan cross-validation, with few of them repeated."""
    everything = np.arange(inputs.n)
    groups = inputs.units
    alone = np.empty(0, int)
    if inputs.of_classes:  # examples of groups that hold all examples of some class
        only = groups_of_classes(inputs.codes, groups)[inputs.codes] == 1
        alone = np.flatnonzero(np.isin(groups, groups[only]))
    rest = np.setdiff1d(everything, alone)
    n_groups = len(np.unique(groups[rest]))
    if n_groups < 2:
        raise ValueError("each class is found in one group only: none could be held out and learned from others")
    notes = []
    strata = inputs.codes[rest]
    only_ones = "the only examples of their classes"
    if inputs.groups is not None:
        strata = rarest_in_group(strata, groups[rest])
        only_ones = "in the only group of some class"
        notes.append(f"examples of one of the {len(np.unique(groups)):,} groups were held out together")
    if len(alone):
        notes.insert(0, f"{only_ones}, and so fitted to but never held out: examples {first_of(alone, 10)}")
    rng = inputs.rng()
    if inputs.n >= MANY_EXAMPLES:
        test = rest[random_part(groups[rest], 0.25, strata, rng)]
        train = np.setdiff1d(everything, test)
        notes.append(
            f"{len(test):,} examples, a quarter of each class, rounded up, were held out: the model was fitted to the "
            f"other {len(train):,} and tested on these"
        )
        return replace(inputs, rounds=(((train, test),),), tested=test, notes=(*inputs.notes, *notes))
    repeats = REPEATS if inputs.n < MIN_EXAMPLES else 1
    rounds = []
    for _ in range(repeats):
        folds = fold_pairs(assign_folds(groups[rest], strata, rng, 5))
        rounds.append(tuple((np.setdiff1d(everything, rest[test]), rest[test]) for _, test in folds))
    several = f"{repeats} repeats of " * (repeats > 1)
    notes.append(
        f"each example was held out in {several}{len(rounds[0])}-fold cross-validation, and predicted by models that "
        f"were not fitted to it; the reported model was then fitted to all"
    )
    return replace(inputs, rounds=tuple(rounds), tested=rest, notes=(*inputs.notes, *notes))


@dataclass(frozen=True, eq=False)
class HeldOutPredictions:
    """Predictions for the tested examples by models that were not fitted to them."""

    tested: np.ndarray  # their positions in X
    scores: np.ndarray  # of shape (rounds, n, classes), or (rounds, n) for predicted numbers
    probabilities: np.ndarray | None  # of shape (n, classes), means over rounds; None for regression
    targets: np.ndarray  # class codes, or numbers to predict
    grade: str
    groups: np.ndarray  # which intervals count

    @property
    def predicted(self) -> np.ndarray:
        """The predicted class codes or numbers, a row for each round."""
        if self.scores.ndim == 3:
            return np.asarray(self.scores.argmax(axis=2))
        return self.scores

    @property
    def mean_scores(self) -> np.ndarray:
        """The mean over rounds."""
        means: np.ndarray = self.scores.mean(axis=0)
        return means

    @property
    def measure(self) -> str:
        """What `error` returns."""
        return ROOT_MEAN_SQUARE if self.probabilities is None else ERROR_RATE

    def losses(self) -> np.ndarray:
        """Return for each example the share of wrong classes, or the mean absolute error."""
        if self.probabilities is None:
            return np.asarray(np.abs(self.predicted - self.targets).mean(axis=0))
        return np.asarray((self.predicted != self.targets).mean(axis=0))

    def error(self, seed: int) -> Estimate:
        """Return the error rate with an exact interval, or the root mean squared error with a bootstrap interval."""
        if self.probabilities is not None:
            return self.share(self.predicted != self.targets)
        squared = ((self.predicted - self.targets) ** 2).mean(axis=0)
        return bootstrap_interval(np.sqrt(squared @ self.resampled(seed) / len(self.targets)))

    def share(self, which: np.ndarray, among: np.ndarray | None = None) -> Estimate:
        """Return the share of examples, in all rounds, of those that are `among`, with its exact interval."""
        if among is None:
            among = np.ones(len(self.targets), dtype=bool)
        n_groups = len(np.unique(self.groups[among]))
        successes = float(which[:, among].sum(axis=1).mean())
        return proportion(successes * n_groups / int(among.sum()), n_groups, self.grade)

    def resampled(self, seed: int) -> np.ndarray:
        """Return how often each example is drawn in bootstrap samples of examples or groups, scaled to add up to n."""
        _, group = np.unique(self.groups, return_inverse=True)
        counts = bootstrap_counts(int(group.max()) + 1, seed)[group]
        return np.asarray(counts * (len(counts) / counts.sum(axis=0)))


@functools.lru_cache(maxsize=2)
def bootstrap_counts(n: int, seed: int) -> np.ndarray:
    """Return how often each of n examples is drawn: once in the sample itself, then in up to 400 bootstrap samples."""
    times = int(np.clip(4_000_000 // n, 100, 400))
    drawn = np.random.default_rng(seed).integers(n, size=(n, times)) * (times + 1) + np.arange(1, times + 1)
    counts = np.bincount(drawn.ravel(), minlength=n * (times + 1)).reshape(n, times + 1).astype(float)
    counts[:, 0] = 1.0
    return counts


def bootstrap_interval(values: np.ndarray) -> Estimate:
    """Return the first value with the percentile interval of the others, the bootstrap replicates, that are finite."""
    value = float(values[0])
    known = values[1:][np.isfinite(values[1:])]
    if not len(known):
        return Estimate(value, value, value, LEVEL, ESTIMATE)
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value), LEVEL, ESTIMATE)


def similarity_of(model: Any) -> Similarity:
    """Return the similarity of a fitted model; of several, which are blended, the sum in the same shares."""
    k: Any = model.similarity_
    if isinstance(k, Similarity):
        return k
    weights = [1.0] * len(k) if model.learned_ is None else model.learned_.weights
    parts = [weight / sum(weights) * one for weight, one in zip(weights, k, strict=True)]
    blended: Similarity = functools.reduce(operator.add, parts)
    return blended


def fitted(inputs: Inputs, make: Callable[[], Any], train: np.ndarray) -> Any:
    """Fit an estimator to the examples at these positions."""
    with pairs_at(train, train), without_evaluation():
        groups = groups_for_fit(inputs.groups, train)
        return make().fit(take(inputs.X, train), inputs.y[train], groups=groups)


def predict_held_out(inputs: Inputs, make: Callable[[], Any]) -> tuple[HeldOutPredictions, tuple[Fold, ...]]:
    """Fit an estimator in every fold and predict what was held out; return also the models of all rounds."""
    folds: list[Fold] = []

    def predict(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        model = fitted(inputs, make, train)
        folds.append((model, train, test))
        X = take(inputs.X, test)
        return class_scores(inputs, model, X) if inputs.of_classes else (model.predict(X), None)

    return out_of_fold(inputs, predict), tuple(folds)


def out_of_fold(inputs: Inputs, predict: Predictor) -> HeldOutPredictions:
    """Predict every held-out example by `predict`, in every fold."""
    tested = inputs.tested
    at = np.searchsorted(tested, np.arange(inputs.n))
    shape = (len(inputs.rounds), len(tested), *[len(inputs.classes)] * inputs.of_classes)
    scores = np.zeros(shape)
    likely = np.zeros(shape)
    for i, folds in enumerate(inputs.rounds):
        for train, test in folds:
            scores[i, at[test]], probable = predict(train, test)
            if probable is not None:
                likely[i, at[test]] = probable
    return HeldOutPredictions(
        tested,
        scores,
        likely.mean(axis=0) if inputs.of_classes else None,
        inputs.targets[tested],
        HELD_OUT if inputs.held_out else ESTIMATE,
        inputs.units[tested],
    )


def class_scores(inputs: Inputs, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a score and a probability for each class of the inputs, also for classes the model was not fitted to."""
    known = np.searchsorted(inputs.classes, model.classes_)
    raw = both = model.decision_function(X)
    if raw.ndim == 1:
        both = np.stack([-raw / 2, raw / 2], axis=1)
        both[raw == 0, 1] = np.finfo(float).tiny  # models decide for the second class at a score of exactly 0
    scores = np.full((len(both), len(inputs.classes)), both.min() - 1.0)
    chances = np.zeros_like(scores)
    scores[:, known], chances[:, known] = both, probabilities(raw, model.temperature_)
    return scores, chances
