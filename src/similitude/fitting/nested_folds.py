"""Evaluation of a fit on landmarks in nested folds, in each of which every choice is made again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.evaluation import Trial, nested_folds_of_fit
from similitude.fitting.automatic import prepared_by_labels
from similitude.fitting.choices import LandmarkChoice, choose_scales, grow
from similitude.fitting.facts import FitOptions, keeps_median
from similitude.fitting.members import Family
from similitude.fitting.model import FittedModel, ScoredRows
from similitude.fitting.penalized import fit_penalized
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import Landmarks, SampleFeatures
from similitude.linear import Validation
from similitude.similarity import remembered_images


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """Evaluation of a fit on landmarks to all rows in nested folds."""

    data: TrainingSet
    options: FitOptions
    choice: LandmarkChoice
    fitted: FittedModel

    def evaluate(self) -> ScoredRows:
        """Return the scores of rows by models of other folds."""
        data = self.data
        fitted = self.fitted
        places = fitted.samples[0].places
        groups = data.units(places)
        equal = data.equal
        labels = None if data.labels is None else data.labels[places]
        folds = nested_folds_of_fit(groups, labels, data.groups is not None, self.options.random_state)
        if folds is None:
            return ScoredRows(fitted.trial, *fitted.held_out, fitted.groups)
        scores = np.empty((len(places), data.Y.shape[1]))
        within = []
        sizes = fitted.curve.x.astype(int)
        members: dict[str, Any] = {}
        pairs = zip(self.options.similarities, data.similarities, strict=True)
        fixed = not isinstance(self.options.similarities[0], Family) and all(
            k is resolved or keeps_median(k, resolved) for k, resolved in pairs
        )
        samples = fitted.samples
        landmarks = samples[0].landmarks
        with nullcontext() if fixed else remembered_images():
            for fold in np.unique(folds):
                train = np.flatnonzero(folds != fold)
                test = np.flatnonzero(folds == fold)
                mine = np.arange(len(landmarks))
                if landmarks.positions is not None:
                    mine = np.flatnonzero(np.isin(equal[landmarks.positions], equal[places[train]]))
                order = np.concatenate([train, test])
                if fixed or not len(mine):
                    compared = [sample.restricted(order, mine) for sample in samples]
                else:
                    compared = _chosen_again(data, self.options, self.choice, samples, train, order, mine, members)
                scores[test], inside = _scores(compared, sizes, data, self.options, places[train])
                within.append(inside)
        Y = data.Y[places]
        weights = data.weights[places]
        trial = Trial.of(fitted.trial.lam, scores, Y, weights)
        at = data.located_at(places)
        return ScoredRows(trial, Y, weights, groups, at, fitted.trial, folds, tuple(within))


def _chosen_again(
    data: TrainingSet,
    options: FitOptions,
    choice: LandmarkChoice,
    samples: Sequence[SampleFeatures],
    train: np.ndarray,
    order: np.ndarray,
    mine: np.ndarray,
    members: dict[str, Any],
) -> list[SampleFeatures]:
    """Return similarities chosen without the rows of a fold: those of all rows in some order to some landmarks.

    `members` keeps X as members of a family encode it, which several folds may choose.
    """
    places = samples[0].places
    similarities = options.similarities
    if isinstance(family := similarities[0], Family):
        now = data.similarities[0]
        chosen = family.chosen(data.Y, data.weights, places[train], data.groups)
        k = chosen.resolved
        kept = chosen.similarity is family.taken or chosen.similarity is now
        if kept or (k is None and keeps_median(chosen.similarity, now)):
            return [sample.restricted(order, mine) for sample in samples]
        if k is not None:
            if repr(k) not in members:
                members[repr(k)] = k.encode(data.X)
            A = members[repr(k)]
            return [options.sample(k, A, places[order], choice.landmarks.only(mine).encoded(k, A), places[order])]
        similarities = (chosen.similarity,)
    given = Landmarks(take(choice.landmarks.objects, mine), rule=choice.landmarks.rule)
    groups = data.groups_of(places[train])
    state = options.random_state
    prepared = [prepared_by_labels(k, data.X, data.Y, places[train], state, groups) for k in similarities]
    resolved, encodings = zip(*prepared, strict=True)
    fold = replace(
        data,
        X=take(data.X, places[train]),
        Y=data.Y[places[train]],
        weights=data.weights[places[train]],
        groups=groups,
        equal=None,
        copies=None,
        similarities=resolved,
        encodings=encodings,
        reordered=np.arange(len(train)),
    )
    scaled, _, _ = choose_scales(fold, replace(choice, landmarks=given), options)
    everything = take(data.X, places[order])
    encoded = [(k, k.encode(everything), given.encoded(k)) for k in scaled.similarities]
    return [options.sample(k, A, places[order], landmarks) for k, A, landmarks in encoded]


def _scores(
    samples: Sequence[SampleFeatures],
    sizes: np.ndarray,
    data: TrainingSet,
    options: FitOptions,
    train: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the scores of the rows after the training rows, and of those left out alone, with their targets.

    The model makes choices of its own; without any landmark or penalty it is the mean.
    """
    Y = data.Y[train]
    weights = data.weights[train]
    groups = data.groups_of(train)
    mean = np.average(Y, axis=0, weights=weights)
    constant = mean, (np.broadcast_to(mean, Y.shape), Y)
    known = samples[0].n_known
    if not known:  # all landmarks are in the test fold
        return constant
    try:
        validation = Validation(Y, weights, len(train), groups=groups)
        best, _ = grow(samples, np.unique(np.minimum(sizes, known)).tolist(), validation)
    except ValueError:  # no penalty can be evaluated: a model of so few rows can only predict the mean
        return constant
    inside = best.F[: len(train)]
    outside = best.F[len(train) :]
    if options.is_ridge:
        return best.ridge.fit(best.trial.lam).scores(outside), (best.trial.scores, Y)
    here = inside if options.penalty == "l1" else options.engine.to_device(inside)
    linear, trial, judged = fit_penalized(options, here, Y, weights, groups, data.last)
    return linear.scores(outside), (trial.scores, Y[judged])
