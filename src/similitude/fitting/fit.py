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
from similitude.compute.engines import damaged_checkpoint, remove_checkpoint
from similitude.data.sources import MAX_BATCH_ROWS
from similitude.evaluation import Trial
from similitude.fitting.choose_landmarks import LandmarkChoice
from similitude.fitting.group_influence import GroupInfluence, solved_groups
from similitude.fitting.influence import FitInfluence, class_numbers, influence_in_refit, influence_in_ridge
from similitude.fitting.landmark_count import LandmarkCurve, Level, SampleFeatures, Validation, doubled
from similitude.fitting.limited_targets import robust_deviation
from similitude.fitting.options import FitOptions
from similitude.fitting.passes import check_features_fit, features_of
from similitude.fitting.products import solve_by_products, trial_by_products
from similitude.fitting.rows import Design, TrainingRows
from similitude.fitting.uncertainty import OpenVariance, open_variance_of
from similitude.landmarks import PROJECTION, FeatureUnion, Groups, LandmarkFeatures, Landmarks, Representation
from similitude.linear import (
    LinearModel,
    Moments,
    Ridge,
    RowsTogether,
    SmoothQuantile,
    fit_classes,
    fit_loss,
    fit_numbers,
)
from similitude.support import digest, pairs_at

QUANTILE_WIDTH = 0.1
"""Robust standard deviations of the errors of ridge regression within which the pinball loss is rounded."""


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
    influence : FitInfluence or None
        What training rows add to the scores, by the features; None if it is not known.
    tried : array or None
        The features of the rows of the trial, if they are in memory.
    at : array of int, or None
        Which landmarks the rows of the trial are, in an exact fit.
    open_variance : OpenVariance or None
        What rows leave open of a Gaussian process, if a kernel is projected and numbers are predicted.
    groups : array of int, or None
        The groups of the rows of the trial.
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
    influence: FitInfluence | None = None
    tried: np.ndarray | None = None
    at: np.ndarray | None = None
    open_variance: OpenVariance | None = None
    groups: np.ndarray | None = None


def fit_ridge(data: TrainingRows, choice: LandmarkChoice, options: FitOptions) -> Fitted:
    """Choose the number of landmarks and the penalty on a sample of rows, then fit ridge regression to all rows."""
    which, n_train, n_judged = data.pilot(choice.pilot)
    everything, sizes, projection = len(which) == data.n, choice.sizes, None
    levels: list[Level] = []
    with data.located(choice.landmarks):
        samples = _samples(data, choice.landmarks, options, which)
        if not everything and len(samples) == 1 and samples[0].representation.name == PROJECTION:
            fitted = None if data.groups is not None else _fit_by_products(data, samples[0], choice, options)
            if fitted is not None:
                return fitted
            projection = samples[0].projection(sizes[0]) if len(sizes) == 1 else None
        if projection is None:
            validation = Validation(data.Y[which], data.weights[which], n_train, n_judged, data.groups_of(which))
            for level in doubled(samples, sizes, validation):
                if len(levels) > 1:  # the features of earlier levels are not needed any more
                    levels[-2] = replace(levels[-2], F=np.empty((0, 0)), ridge=None)  # type: ignore[arg-type]
                levels.append(level)
    if projection is not None:  # nothing is left to choose on a sample
        return _fit_in_one_pass(data, projection[:1], samples, choice, options, sizes[0])
    best = best_of(levels, samples)
    sizes_tried, trials = [one.n for one in levels], [one.trial for one in levels]
    curve = LandmarkCurve.of(sizes_tried, trials, choice.limit, sizes[-1])
    if not everything:
        return _fit_in_one_pass(data, best.features, samples, choice, options, best.n, curve)
    return _fit_sample(data, validation, best, samples, choice, options, curve)


def best_of(levels: Sequence[Level], samples: Sequence[SampleFeatures]) -> Level:
    """Return the better one of the last two levels, if both have the present representations."""
    return min([one for one in levels[-2:] if one.agrees_with(samples)], key=lambda one: one.trial.loss)


def _samples(data: TrainingRows, landmarks: Landmarks, options: FitOptions, which: np.ndarray) -> list[SampleFeatures]:
    """Return the features of a sample of rows, for each similarity."""
    made = []
    for k, A in zip(data.similarities, data.encodings, strict=True):
        known = landmarks.encoded(k, A)
        made.append(SampleFeatures(k, A, which, known, options, which))
    return made


def _fit_sample(
    data: TrainingRows,
    validation: Validation,
    best: Level,
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    curve: LandmarkCurve,
) -> Fitted:
    """Fit to a sample that holds all rows: its features are known."""
    F, Y, weights, n = best.F, validation.Y, validation.weights, validation.n_train
    ridge, trial, judged = best.ridge, best.trial, slice(len(Y) - validation.n_judged, len(Y))
    if validation.n_judged:
        trial = ridge.judged(best.trial.lam, F[judged], Y[judged], weights[judged])
        ridge = Ridge(ridge.moments + Moments.of(F[n:], Y[n:], weights[n:]), trial.lam, ridge.smallest)
    linear, features = ridge.fit(trial.lam), _relocated(best.features, data)
    held_out = (Y[judged], weights[judged]) if validation.n_judged else (Y, weights)
    representations, drawn = _representations(samples, features), choice.landmarks.only(np.arange(best.n))
    influence = None
    if options.is_ridge:
        at = samples[0].places
        influence = influence_in_ridge(ridge, trial.lam, best.features, (F, Y, weights), at, options.classes)
    design = F, Y, weights
    tried, left_open = F[judged] if validation.n_judged else F, None
    if not options.classes:
        A = samples[0].encoding if not validation.n_judged else rows(samples[0].encoding, judged)
        spread = variances(Y, weights)
        left_open = open_variance_of(best.features, ridge.moments, trial.lam, A, tried, held_out[1], spread)
    return Fitted(
        features,
        representations,
        linear,
        trial,
        held_out,
        curve,
        drawn,
        samples,
        design,
        influence,
        tried,
        open_variance=left_open,
        groups=data.groups_of(samples[0].places[judged] if validation.n_judged else samples[0].places),
    )


def _fit_by_products(
    data: TrainingRows, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
) -> Fitted | None:
    """Fit to all rows by products with the matrix of similarities; None if sums over features cost less.

    A number of landmarks that is not given is chosen by such fits to the sample.
    """
    if data.sampling.all_rows is not None:
        return None
    chosen_on, held = data.held_out()
    tried: list[tuple[int, Trial]] = []
    if len(choice.sizes) > 1:
        tried = _numbers_tried(data, sample, choice, options)
        if not tried:
            return None
    n = min(tried[-2:], key=lambda one: one[1].loss)[0] if tried else choice.sizes[0]
    landmarks, outputs = sample.landmarks.only(np.arange(n)), data.Y.shape[1]
    groups = solved_groups(landmarks, outputs, options.classes)
    found = solve_by_products(
        sample.k,
        data.encodings[0],
        landmarks.encoding,
        data.Y,
        data.weights,
        data.order,
        (chosen_on, held),
        options.engine,
        tried[-1][1].lam if tried else None,
        groups,
    )
    if found is None:
        return None
    linear, trial, influence = found
    tried = tried or [(n, trial)]
    curve = LandmarkCurve.of([one for one, _ in tried], [one for _, one in tried], choice.limit, choice.sizes[-1])
    features = _relocated((LandmarkFeatures(sample.k, landmarks),), data)
    judged, drawn = (data.Y[held], data.weights[held]), choice.landmarks.only(np.arange(n))
    return Fitted(features, (sample.representation,), linear, trial, judged, curve, drawn, [sample], None, influence)


def _numbers_tried(
    data: TrainingRows, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
) -> list[tuple[int, Trial]]:
    """Return the numbers of landmarks that were compared by products, with their trials; none without products.

    The sample has none of the rows that judge the model.
    """
    tried: list[tuple[int, Trial]] = []
    Y, weights = data.Y[sample.places], data.weights[sample.places]
    for n in choice.sizes:
        some, start = rows(sample.landmarks.encoding, slice(n)), tried[-1][1].lam if tried else None
        trial = trial_by_products(sample.k, sample.encoding, some, Y, weights, options.engine, start)
        if trial is None:
            return []
        tried.append((n, trial))
        if len(tried) > 1 and trial.loss > tried[-2][1].loss - tried[-2][1].deviation:
            break
    return tried


def _fit_in_one_pass(
    data: TrainingRows,
    features: tuple[LandmarkFeatures, ...],
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    n_landmarks: int,
    curve: LandmarkCurve | None = None,
) -> Fitted:
    """Fit to all rows in one pass; the penalty is chosen on rows held out from it, and others judge the model."""
    size, engine, places = data.itemsize, options.engine, data.sampling.places
    features, outputs = _relocated(features, data), data.Y.shape[1]
    groups = Groups.around(
        features[0].landmarks, outputs, classes=options.classes, numbers=1 if options.classes else outputs
    )
    union = FeatureUnion.of(features, size, groups)
    if not options.is_ridge:
        check_features_fit(options.loss, options.penalty, data.n, len(union), size, engine)
    chosen_on, judged = data.held_out()
    some = np.concatenate([chosen_on, judged])
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
    _check_count(sums, data.n - len(some), engine)
    ridge, trial = fit_with_held_out(sums, moments, F, *held_out, len(judged))
    held_out = data.Y[judged], data.weights[judged]
    remove_checkpoint(engine.checkpoint)
    curve = curve or LandmarkCurve.of(choice.sizes, [trial], choice.limit)
    drawn, representations = choice.landmarks.only(np.arange(n_landmarks)), _representations(samples, features)
    linear, influence = ridge.fit(trial.lam), GroupInfluence.of_ridge(ridge, trial.lam, groups)
    last = slice(len(chosen_on) if len(judged) else 0, None)
    tried, left_open = F[last], None
    if not options.classes:
        A, weights, spread = rows(encoded[0], last), data.weights[some][last], variances(data.Y, data.weights)
        left_open = open_variance_of(features, ridge.moments, trial.lam, A, tried, weights, spread)
    return Fitted(
        features,
        representations,
        linear,
        trial,
        held_out,
        curve,
        drawn,
        samples,
        None,
        influence,
        tried,
        open_variance=left_open,
        groups=data.groups_of(some[last]),
    )


def _check_count(sums: Moments, n: int, engine: Any) -> None:
    """Refuse sums over another number of rows than n, which a checkpoint must have brought in."""
    if engine.checkpoint is not None and sums.groups is not None and round(float(sums.groups.counts.sum())) != n:
        raise damaged_checkpoint(engine.checkpoint)


def variances(Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted variance of each output."""
    return np.asarray(np.average((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=0, weights=weights))


def fit_with_held_out(
    sums: Moments, moments: Moments, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, n_judged: int
) -> tuple[Ridge, Trial]:
    """Return ridge regression on all rows, and how the last rows held out from the sums were predicted without them.

    The penalty is the best one for the other rows that were held out; `moments` are those of all held-out rows.
    """
    ridge, n = Ridge(sums), len(Y) - n_judged
    trial = ridge.best(ridge.held_out(F[:n], Y[:n], weights[:n]))
    judged = ridge.judged(trial.lam, F[n:], Y[n:], weights[n:]) if n_judged else trial
    smallest = ridge.smallest
    del ridge  # its factors take as much memory as those of the next one
    return Ridge(sums + moments, trial.lam, smallest), judged


def fit_penalized(
    options: FitOptions, F: Any, Y: np.ndarray, weights: np.ndarray, together: RowsTogether | None = None
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit another loss or penalty than ridge regression; return the model, how held-out rows fared, and which rows."""
    if options.classes:
        n_classes, state = max(2, Y.shape[1]), options.random_state
        return fit_classes(options.loss, options.penalty, F, class_numbers(Y), n_classes, weights, state, together)
    if options.own_loss is None:
        return fit_numbers(F, Y, weights, options.random_state, together)
    return fit_loss(options.own_loss, F, Y, weights, options.random_state, together)


def refit(fitted: Fitted, data: TrainingRows, options: FitOptions) -> tuple[Fitted, str | None]:
    """Return the fit by another loss or penalty on the same features, and what was done on the CPU."""
    F, Y, weights = all_features(fitted, data, options)
    named = "penalty='l1'" if options.penalty == "l1" else f"loss={options.loss!r}"
    with options.engine.linear_algebra(f"{named} on {F.shape[0]:,} x {F.shape[1]:,} features"):
        groups = data.groups_of(data.order)  # the features of all rows are in this order
        together = None if groups is None else RowsTogether(groups, data.n_held_out)
        linear, trial, judged = fit_penalized(options, F, Y, weights, together)
        places = None if fitted.design is None else data.located_at(fitted.samples[0].places)
        linear, influence = influence_in_refit(options, linear, trial.lam, fitted.features, (F, Y, weights), places)
    found = replace(
        fitted,
        linear=linear,
        trial=trial,
        held_out=(Y[judged], weights[judged]),
        influence=influence,
        tried=as_numpy(F[judged]),
        open_variance=None,
        groups=None if groups is None else groups[judged],
    )
    return found, f"the model with {named} was fitted" if isinstance(F, np.ndarray) else None


def rounded_pinball(fitted: Fitted, quantile: float) -> SmoothQuantile:
    """Return the loss of a quantile, rounded within a part of the errors of least squares."""
    errors = fitted.held_out[0] - fitted.trial.scores
    return SmoothQuantile(quantile, QUANTILE_WIDTH * (float(robust_deviation(errors)[0]) or 1.0))


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
