"""Fitting a linear model of landmark features: scale, landmarks, their number, the penalty, and then all rows.

The same steps serve rows in memory, in batches of a source, and on the workers of a cluster; these differ in where rows
come from (`rows`, `batches`, `distributed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from similitude.compute import as_numpy, rows
from similitude.compute.engines import remove_checkpoint
from similitude.data.sources import MAX_BATCH_ROWS
from similitude.estimators.choose_landmarks import LandmarkChoice
from similitude.estimators.influence import GroupInfluence, Influence, influence_in_ridge
from similitude.estimators.landmark_count import LandmarkCurve, Level, SampleFeatures, Validation, doubled
from similitude.estimators.options import RIDGE, FitOptions
from similitude.estimators.passes import check_features_fit, features_of
from similitude.estimators.products import solve_by_products
from similitude.estimators.rows import Design, TrainingRows
from similitude.landmarks import PROJECTION, FeatureUnion, Groups, LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel, Moments, Ridge, Trial
from similitude.support import digest, pairs_at


@dataclass(frozen=True, eq=False)
class Fitted:
    """A linear model of landmark features.

    Attributes
    ----------
    features : tuple of LandmarkFeatures
        One for each similarity.
    representations : tuple of Representation
    linear : LinearModel
    trial : Trial
        The predictions for rows that the model was not fitted to.
    held_out : tuple of arrays
        The targets and weights of these rows.
    curve : LandmarkCurve
    landmarks : Landmarks
        Those that were drawn; the features may use fewer.
    samples : sequence of SampleFeatures
        What was computed to choose among models, one for each similarity.
    design : tuple of arrays, or None
        Features, targets and weights of all rows, if they are in memory.
    influence : Influence or None
        What training rows add to the scores, by the features; None if it is not known.
    """

    features: tuple[LandmarkFeatures, ...]
    representations: tuple[Representation, ...]
    linear: LinearModel
    trial: Trial
    held_out: tuple[np.ndarray, np.ndarray]
    curve: LandmarkCurve
    landmarks: Landmarks
    samples: Sequence[SampleFeatures]
    design: Design | None
    influence: Influence | None = None


def fit_ridge(data: TrainingRows, choice: LandmarkChoice, options: FitOptions) -> Fitted:
    """Choose the number of landmarks and the penalty on a sample of rows, then fit ridge regression to all rows."""
    which, n_train = data.pilot(choice.pilot)
    everything, sizes, projection = len(which) == data.n, choice.sizes, None
    levels: list[Level] = []
    with data.located(choice.landmarks):
        samples = _samples(data, choice.landmarks, options, which)
        if not everything and len(sizes) == len(samples) == 1 and samples[0].representation.name == PROJECTION:
            fitted = _fit_by_products(data, samples[0], choice, options)
            if fitted is not None:
                return fitted
            projection = samples[0].projection(sizes[0])
        if projection is None:
            validation = Validation(data.Y[which], data.weights[which], n_train)
            for level in doubled(samples, sizes, validation):
                if len(levels) > 1:  # the features of earlier levels are not needed any more
                    levels[-2] = replace(levels[-2], F=np.empty((0, 0)), ridge=None)  # type: ignore[arg-type]
                levels.append(level)
    if projection is not None:  # nothing is left to choose on a sample
        return _fit_in_one_pass(data, projection[:1], samples, choice, options, sizes[0])
    best = best_of(levels, samples)
    curve = LandmarkCurve.of([one.n for one in levels], [one.trial for one in levels], choice.limit)
    if not everything:
        return _fit_in_one_pass(data, best.features, samples, choice, options, best.n, curve)
    return _fit_sample(data, which, n_train, best, samples, choice, options, curve)


def best_of(levels: Sequence[Level], samples: Sequence[SampleFeatures]) -> Level:
    """Return the better one of the last two levels, if both have the present representations."""
    return min([one for one in levels[-2:] if one.agrees_with(samples)], key=lambda one: one.trial.loss)


def _samples(data: TrainingRows, landmarks: Landmarks, options: FitOptions, which: np.ndarray) -> list[SampleFeatures]:
    """Return the features of a sample of rows, for each similarity."""
    made = []
    for k, A in zip(data.similarities, data.encodings, strict=True):
        known = landmarks.encoded(k, A)
        made.append(SampleFeatures(k, rows(A, which), which, known, options))
    return made


def _fit_sample(
    data: TrainingRows,
    which: np.ndarray,
    n_train: int,
    best: Level,
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    curve: LandmarkCurve,
) -> Fitted:
    """Fit to a sample that holds all rows: its features are known."""
    Y, weights, ridge = data.Y[which], data.weights[which], best.ridge
    judged = slice(0 if n_train == len(Y) else n_train, len(Y))
    if n_train < len(Y):
        ridge = Ridge(ridge.moments + Moments.of(best.F[judged], Y[judged], weights[judged]), best.trial.lam)
    linear, features = ridge.fit(best.trial.lam), _relocated(best.features, data)
    representations = _representations(samples, features)
    held_out, drawn = (Y[judged], weights[judged]), choice.landmarks.only(np.arange(best.n))
    design, influence = (best.F, Y, weights), None
    if (options.loss, options.penalty) == RIDGE:
        influence = influence_in_ridge(ridge, best.trial.lam, best.features, design, which, options.classes)
    return Fitted(features, representations, linear, best.trial, held_out, curve, drawn, samples, design, influence)


def _fit_by_products(
    data: TrainingRows, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
) -> Fitted | None:
    """Fit to all rows by products with the matrix of similarities; None if sums over features cost less."""
    if data.sampling.all_rows is not None:
        return None
    landmarks, held_out, A = sample.landmarks.only(np.arange(choice.sizes[0])), data.held_out(), data.encodings[0]
    found = solve_by_products(
        sample.k, A, landmarks.encoding, data.Y, data.weights, data.order, held_out, options.engine
    )
    if found is None:
        return None
    linear, trial = found
    curve = LandmarkCurve.of(choice.sizes, [trial], choice.limit)
    features = _relocated((LandmarkFeatures(sample.k, landmarks),), data)
    judged, drawn = (data.Y[held_out], data.weights[held_out]), choice.landmarks.only(np.arange(choice.sizes[0]))
    return Fitted(features, (sample.representation,), linear, trial, judged, curve, drawn, [sample], None)


def _fit_in_one_pass(
    data: TrainingRows,
    features: tuple[LandmarkFeatures, ...],
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    n_landmarks: int,
    curve: LandmarkCurve | None = None,
) -> Fitted:
    """Fit to all rows in one pass; the penalty is chosen on rows held out from it."""
    size, engine, places = data.itemsize, options.engine, data.sampling.places
    features, outputs = _relocated(features, data), data.Y.shape[1]
    groups = Groups.around(
        features[0].landmarks, outputs, classes=options.classes, numbers=1 if options.classes else outputs
    )
    union = FeatureUnion.of(features, size, groups)
    if (options.loss, options.penalty) != RIDGE:
        check_features_fit(options.loss, options.penalty, data.n, len(union), size, engine)
    some = data.held_out()
    encoded, held_out = rows(data.encodings, some), (data.Y[some], data.weights[some])
    with pairs_at(some if places is None else places[some], union.positions):
        F = features_of(union, encoded, engine.without_progress(), size)
    moments = union.moments(F, *held_out)
    union = union.for_sums(F)

    def marks() -> dict[str, str]:
        leading = [part.leading for part in union.parts]
        return marks_of(features, data.n_rows, data.n, encoded, held_out, size, leading)

    with pairs_at(places if data.sampling.all_rows is None else None, None):
        sums = union.completed(data.sums(union, some, engine, marks))
    ridge, trial = fit_with_held_out(sums, moments, F, *held_out)
    remove_checkpoint(engine.checkpoint)
    curve = curve or LandmarkCurve.of(choice.sizes, [trial], choice.limit)
    drawn, representations = choice.landmarks.only(np.arange(n_landmarks)), _representations(samples, features)
    linear, influence = ridge.fit(trial.lam), GroupInfluence.of_ridge(ridge, trial.lam, groups)
    return Fitted(features, representations, linear, trial, held_out, curve, drawn, samples, None, influence)


def fit_with_held_out(
    sums: Moments, moments: Moments, F: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[Ridge, Trial]:
    """Return ridge regression on all rows, and how the held-out rows were predicted with the penalty best for them.

    `sums` are the moments of the other rows, `moments` those of the held-out rows.
    """
    ridge = Ridge(sums)
    trial = ridge.best(ridge.held_out(F, Y, weights))
    return Ridge(sums + moments, trial.lam), trial


def all_features(fitted: Fitted, data: TrainingRows, options: FitOptions) -> Design:
    """Return features, targets and weights of all rows, for losses and penalties that need them all at once."""
    design = fitted.design
    if design is None:
        design = data.features(FeatureUnion.of(fitted.features, data.itemsize), options.engine)
    F, Y, weights = design
    return (as_numpy(F) if options.penalty == "l1" else options.engine.to_device(F)), Y, weights


def _relocated(features: Sequence[LandmarkFeatures], data: TrainingRows) -> tuple[LandmarkFeatures, ...]:
    """Return the features with the positions of landmarks among all rows."""
    places = data.sampling.places
    if places is None:
        return tuple(features)
    return tuple(replace(one, landmarks=one.landmarks.relocated(places)) for one in features)


def _representations(
    samples: Sequence[SampleFeatures], features: Sequence[LandmarkFeatures]
) -> tuple[Representation, ...]:
    pairs = zip(samples, features, strict=True)
    return tuple([replace(one.representation, normalized=made.normalized) for one, made in pairs])


def marks_of(features: Sequence[LandmarkFeatures], *data: Any) -> dict[str, str]:
    """Return what the sums of a pass belong to: the version, the features and the data."""
    parts = [(one.similarity.fingerprint(), one.side, one.landmarks.objects) for one in features]
    made = [(one.normalized, f"{one.scale:.6g}") for one in features]
    model, data_ = digest((parts, made), 16).hex(), digest((MAX_BATCH_ROWS, data), 16).hex()
    return {"version": version("similitude"), "model": model, "data": data_}
