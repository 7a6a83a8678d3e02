"""The error on new rows: nested folds, whose models make every choice without the rows that they are judged by.

Folds reuse the similarities that the fit computed: the landmarks of a fold are those of the fit that are not among its
test rows. Only a scale that is chosen from the data, or a kernel that is learned from labels, is found again, with
similarities of its own; the median scale of a costly similarity, which depends on no label, is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.evaluation import (
    FEWEST_NESTED_GROUPS,
    LEAVE_ONE_OUT,
    Trial,
    assign_folds,
    groups_of_equals,
    rarest_in_group,
)
from similitude.fitting.choose_landmarks import LandmarkChoice
from similitude.fitting.fit import Validation, fit_penalized, grow
from similitude.fitting.learned_similarities import prepared_by_labels
from similitude.fitting.members import Family
from similitude.fitting.options import FitOptions
from similitude.fitting.result import FittedModel, Judged
from similitude.fitting.scales import choose_scales, keeps_median
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import Landmarks, SampleFeatures
from similitude.linear import RowsTogether
from similitude.similarity import remembered_images

FEWEST_NESTED_ROWS = 10
"""With fewer different rows, folds would be too small to fit a model to: each row is then left out alone."""

EncodedMembers = dict[str, Any]
"""Objects as similarities encode them, by how the similarities are written."""

_judges: ContextVar[bool] = ContextVar("judges", default=True)


@contextmanager
def unjudged() -> Iterator[None]:
    """Return a context in which fits to rows in memory estimate no error on new rows, which takes most of their time.

    The models predict as ever; they lack `held_out_error_`, `constant_error_` and `suspects_`.
    """
    token = _judges.set(False)
    try:
        yield
    finally:
        _judges.reset(token)


def judges() -> bool:
    """Tell whether fits estimate their error on new rows: everywhere but within `unjudged`."""
    return _judges.get()


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """Evaluation of a fit on landmarks in nested folds.

    With more rows than are left out one by one, it is by those that the fit has held out from every choice.

    Attributes
    ----------
    data : TrainingSet
    options, choice, fitted
        The fit to all rows.
    """

    data: TrainingSet
    options: FitOptions
    choice: LandmarkChoice
    fitted: FittedModel

    def evaluate(self) -> Judged:
        """Return the scores of rows by models of other folds."""
        data, fitted = self.data, self.fitted
        places, tried = fitted.samples[0].places, Judged(fitted.trial, *fitted.held_out, fitted.groups)
        if data.sampling.all_rows is not None or len(places) < data.n or data.n > LEAVE_ONE_OUT:
            return tried
        if data.groups is None:
            groups, fewest = groups_of_equals(data.encodings[0], places), FEWEST_NESTED_ROWS
        else:
            groups, fewest = data.groups[places], FEWEST_NESTED_GROUPS
        if len(np.unique(groups)) < fewest:
            return tried
        labels = None if data.labels is None else data.labels[places]
        if data.groups is not None and labels is not None:
            labels = rarest_in_group(labels, groups)
        folds = assign_folds(groups, labels, self.options.random_state)
        scores, within = np.empty((len(places), data.Y.shape[1])), []
        sizes = [int(n) for n in fitted.curve.x]
        members: EncodedMembers = {}
        with remembered_images():
            for fold in np.unique(folds):
                train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
                samples = _samples_of_fold(data, self.options, self.choice, fitted.samples, train, test, members)
                scores[test], inside = _scores(samples, sizes, data, self.options, places[train])
                within.append(inside)
        Y, weights = data.Y[places], data.weights[places]
        trial, at = Trial.of(fitted.trial.lam, scores, Y, weights), data.located_at(places)
        return Judged(trial, Y, weights, groups, at, fitted.trial, folds, tuple(within))


def _samples_of_fold(
    data: TrainingSet,
    options: FitOptions,
    choice: LandmarkChoice,
    samples: Sequence[SampleFeatures],
    train: np.ndarray,
    test: np.ndarray,
    members: EncodedMembers,
) -> list[SampleFeatures]:
    """Return the similarities of all rows, those of the training folds first, to landmarks outside of the test fold.

    `members` keeps X as members of a family encode it, which several folds may choose.
    """
    places, landmarks = samples[0].places, samples[0].landmarks
    order = np.concatenate([train, test])
    mine = np.arange(len(landmarks))
    if landmarks.positions is not None:
        mine = np.flatnonzero(~np.isin(landmarks.positions, places[test]))
    if not len(mine):
        return []
    given_similarities = list(options.similarities)
    if isinstance(family := options.similarities[0], Family):
        chosen = family.chosen(data.Y, data.weights, places[train], data.groups)
        if chosen.similarity is family.taken:
            return [sample.restricted(order, mine) for sample in samples]
        if (k := chosen.resolved) is not None:
            A = members[repr(k)] if repr(k) in members else members.setdefault(repr(k), k.encode(data.X))
            near = choice.landmarks.only(mine).encoded(k, A)
            return [options.sample(k, A, places[order], near, places[order])]
        given_similarities = [chosen.similarity]
    pairs = zip(given_similarities, data.similarities, strict=True)
    if all(k is resolved or keeps_median(k, resolved) for k, resolved in pairs):
        return [sample.restricted(order, mine) for sample in samples]
    given = Landmarks(take(choice.landmarks.objects, mine), rule=choice.landmarks.rule)
    groups, state = data.groups_of(places[train]), options.random_state
    prepared = [prepared_by_labels(k, data.X, data.Y, places[train], state, groups) for k in given_similarities]
    similarities, encodings = zip(*prepared, strict=True)
    fold = replace(
        data,
        X=take(data.X, places[train]),
        Y=data.Y[places[train]],
        weights=data.weights[places[train]],
        groups=groups,
        similarities=similarities,
        encodings=encodings,
        reordered=np.arange(len(train)),
    )
    scaled, _, _ = choose_scales(fold, replace(choice, landmarks=given), options)
    everything = take(data.X, places[order])
    encoded = [(k, k.encode(everything), given.encoded(k)) for k in scaled.similarities]
    return [options.sample(k, A, places[order], landmarks) for k, A, landmarks in encoded]


def _scores(
    samples: Sequence[SampleFeatures],
    sizes: Sequence[int],
    data: TrainingSet,
    options: FitOptions,
    train: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the scores of the rows after the training rows, by a model with choices of its own, or the mean.

    Also return the scores of the training rows, each left out alone, and their targets.
    """
    Y, weights, groups = data.Y[train], data.weights[train], data.groups_of(train)
    mean = np.average(Y, axis=0, weights=weights)
    if not samples or not samples[0].n_known:  # all landmarks are in the test fold
        return mean, (np.broadcast_to(mean, Y.shape), Y)
    fewer = sorted({min(n, samples[0].n_known) for n in sizes})
    try:
        validation = Validation(Y, weights, len(train), groups=groups)
        best, _ = grow(samples, fewer, validation)
    except ValueError:  # no penalty can be evaluated: a model of so few rows can only predict the mean
        return mean, (np.broadcast_to(mean, Y.shape), Y)
    inside, outside = best.F[: len(train)], best.F[len(train) :]
    if options.is_ridge:
        return best.ridge.fit(best.trial.lam).scores(outside), (best.trial.scores, Y)
    here = inside if options.penalty == "l1" else options.engine.to_device(inside)
    together = None if groups is None else RowsTogether(groups, data.last)
    linear, trial, judged = fit_penalized(options, here, Y, weights, together)
    return linear.scores(outside), (trial.scores, Y[judged])
