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
from similitude.fitting.influence import class_numbers, influence_in_refit, influence_in_ridge
from similitude.fitting.limited_targets import robust_deviation
from similitude.fitting.options import FitOptions
from similitude.fitting.passes import check_features_fit, features_of
from similitude.fitting.products import solve_by_products, trial_by_products
from similitude.fitting.result import FittedModel, LandmarkCurve
from similitude.fitting.training_set import Design, TrainingSet
from similitude.fitting.uncertainty import open_variance_of
from similitude.landmarks import PROJECTION, FeatureUnion, Groups, LandmarkFeatures, Representation, SampleFeatures
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
class Validation:
    """The targets on which choices are validated: by leave-one-out, or on held-out rows, which come last.

    Attributes
    ----------
    Y : array of shape (n, k)
    weights : array of shape (n,)
    n_train : int
        Number of training rows; n under leave-one-out.
    n_judged : int
        Number of rows at the end that no choice is made on.
    groups : array of int, or None
        Under leave-one-out these are left out instead of rows.
    """

    Y: np.ndarray
    weights: np.ndarray
    n_train: int
    n_judged: int = 0
    groups: np.ndarray | None = None

    @property
    def chosen_on(self) -> slice:
        """The rows on which choices are made, predicted by a model that was not fitted to them."""
        return slice(0 if self.n_train == len(self.Y) else self.n_train, len(self.Y) - self.n_judged)

    def ridge(self, F: np.ndarray, near: float | None) -> tuple[Ridge, Trial]:
        """Return ridge regression on the training rows, and the trial of its best penalty."""
        train, some = slice(0, self.n_train), self.chosen_on
        ridge = Ridge(Moments.of(F[train], self.Y[train], self.weights[train]))
        rows = F[some], self.Y[some], self.weights[some]
        if self.n_train < len(self.Y):
            return ridge, ridge.best(ridge.held_out(*rows), near)
        return ridge, ridge.best(ridge.left_out(*rows, self.groups), near, descend=self.groups is not None)


@dataclass(frozen=True, eq=False)
class Level:
    """A number of landmarks, and ridge regression on the features they give.

    Attributes
    ----------
    n : int
    features : tuple of LandmarkFeatures
        One for each similarity.
    F : array
        Their values for the sample.
    ridge : Ridge
    trial : Trial
        The held-out rows under the best penalty.
    """

    n: int
    features: tuple[LandmarkFeatures, ...]
    F: np.ndarray
    ridge: Ridge
    trial: Trial


def grow(
    samples: Sequence[SampleFeatures], sizes: Sequence[int], validation: Validation
) -> tuple[Level, list[tuple[int, Trial]]]:
    """Try one number of landmarks after another, up to the first that gains less than one standard error.

    Return the better one of the last two, and the numbers that were tried with their trials.
    """
    tried: list[tuple[int, Trial]] = []
    last: Level | None = None
    for n in sizes:
        before = last
        last = best_level(samples, n, validation, None if before is None else before.trial.lam / before.ridge.unit)
        best = last
        tried.append((n, last.trial))
        if before is not None and _is_comparable(before, samples):
            if before.trial.loss <= last.trial.loss:
                best = before
            if last.trial.loss > before.trial.loss - before.trial.deviation:
                break
    return best, tried


def _is_comparable(level: Level, samples: Sequence[SampleFeatures]) -> bool:
    """Whether its features have the present representations: more landmarks may have changed one."""
    now = [one.representation.name == PROJECTION for one in samples]
    return now == [one.factor is not None for one in level.features]


def best_level(samples: Sequence[SampleFeatures], n: int, validation: Validation, near: float | None = None) -> Level:
    """Try n landmarks; similarities that are not projected are also tried divided by their length.

    Division must gain more than one standard error, and is not tried with a penalty that selects landmarks, because
    the length needs all of them.
    """
    tried: list[Level] = []
    for normalized in (False, True):
        features, values = [], []
        for sample in samples:
            made, F = sample.features(n, normalized)
            features.append(made)
            values.append(F)
        F = values[0] if len(values) == 1 else _side_by_side(features, values)
        tried.append(Level(n, tuple(features), F, *validation.ridge(F, near)))
        if all([one.representation.name == PROJECTION or one.sparse for one in samples]):
            return tried[0]
    plain, divided = tried
    return divided if divided.trial.loss < plain.trial.loss - plain.trial.deviation else plain


def _side_by_side(features: list[LandmarkFeatures], values: list[np.ndarray]) -> np.ndarray:
    """Divide the features of each similarity by their root mean square length, and return all side by side."""
    for i, F in enumerate(values):
        squared = float(np.einsum("ij,ij->", F, F, dtype=np.float64)) / len(F)
        scale = float(np.sqrt(squared)) if squared > 0 else 1.0
        features[i], values[i] = replace(features[i], scale=scale), F / F.dtype.type(scale)
    return np.concatenate(values, axis=1)


def fit_ridge(data: TrainingSet, choice: LandmarkChoice, options: FitOptions) -> FittedModel:
    """Choose the number of landmarks and the penalty on a sample of rows, then fit ridge regression to all rows."""
    which, n_train, n_judged = data.pilot(choice.pilot)
    everything, sizes, projection = len(which) == data.n, choice.sizes, None
    with data.located(choice.landmarks):
        samples = [
            options.sample(k, A, which, choice.landmarks.encoded(k, A), which)
            for k, A in zip(data.similarities, data.encodings, strict=True)
        ]
        if not everything and len(samples) == 1 and samples[0].representation.name == PROJECTION:
            fitted = None if data.groups is not None else _fit_by_products(data, samples[0], choice, options)
            if fitted is not None:
                return fitted
            projection = samples[0].projection(sizes[0]) if len(sizes) == 1 else None
        if projection is None:
            validation = Validation(data.Y[which], data.weights[which], n_train, n_judged, data.groups_of(which))
            best, tried = grow(samples, sizes, validation)
    if projection is not None:  # nothing is left to choose on a sample
        return _fit_in_one_pass(data, projection[:1], samples, choice, options, sizes[0])
    curve = LandmarkCurve.of([n for n, _ in tried], [trial for _, trial in tried], choice.limit, sizes[-1])
    if not everything:
        return _fit_in_one_pass(data, best.features, samples, choice, options, best.n, curve)
    return _fit_sample(data, validation, best, samples, choice, options, curve)


def _fit_sample(
    data: TrainingSet,
    validation: Validation,
    best: Level,
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    curve: LandmarkCurve,
) -> FittedModel:
    """Fit to a sample that holds all rows: its features are known."""
    F, Y, weights = best.F, validation.Y, validation.weights
    ridge, trial = best.ridge, best.trial
    A, places, judged = samples[0].encoding, samples[0].places, slice(None)
    if validation.n_judged:
        n, judged = validation.n_train, slice(len(Y) - validation.n_judged, None)
        trial = ridge.judged(best.trial.lam, F[judged], Y[judged], weights[judged])
        ridge = Ridge(ridge.moments + Moments.of(F[n:], Y[n:], weights[n:]), trial.lam, ridge.smallest)
        A = rows(A, judged)
    fit = FittedModel(
        features=_relocated(best.features, data),
        representations=_representations(samples, best.features),
        linear=ridge.fit(trial.lam),
        trial=trial,
        held_out=(Y[judged], weights[judged]),
        curve=curve,
        tried=F[judged],
        groups=data.groups_of(places[judged]),
        landmarks=choice.landmarks.only(np.arange(best.n)),
        samples=samples,
        design=(F, Y, weights),
    )
    if options.is_ridge:
        influence = influence_in_ridge(ridge, trial.lam, best.features, (F, Y, weights), places, options.classes)
        fit = replace(fit, influence=influence)
    if options.classes:
        return fit
    left_open = open_variance_of(
        best.features, ridge.moments, trial.lam, A, F[judged], weights[judged], variances(Y, weights)
    )
    return replace(fit, open_variance=left_open)


def _fit_by_products(
    data: TrainingSet, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
) -> FittedModel | None:
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
    return FittedModel(
        features=features,
        representations=(sample.representation,),
        linear=linear,
        trial=trial,
        held_out=(data.Y[held], data.weights[held]),
        curve=curve,
        influence=influence,
        landmarks=choice.landmarks.only(np.arange(n)),
        samples=[sample],
    )


def _numbers_tried(
    data: TrainingSet, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
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
    data: TrainingSet,
    features: tuple[LandmarkFeatures, ...],
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
    n_landmarks: int,
    curve: LandmarkCurve | None = None,
) -> FittedModel:
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
    remove_checkpoint(engine.checkpoint)
    last = slice(len(chosen_on) if len(judged) else 0, None)
    fit = FittedModel(
        features=features,
        representations=_representations(samples, features),
        linear=ridge.fit(trial.lam),
        trial=trial,
        held_out=(data.Y[judged], data.weights[judged]),
        curve=curve or LandmarkCurve.of(choice.sizes, [trial], choice.limit),
        influence=GroupInfluence.of_ridge(ridge, trial.lam, groups),
        tried=F[last],
        groups=data.groups_of(some[last]),
        landmarks=choice.landmarks.only(np.arange(n_landmarks)),
        samples=samples,
    )
    if options.classes:
        return fit
    A, weights, spread = rows(encoded[0], last), data.weights[some][last], variances(data.Y, data.weights)
    left_open = open_variance_of(features, ridge.moments, trial.lam, A, F[last], weights, spread)
    return replace(fit, open_variance=left_open)


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


def refit(fitted: FittedModel, data: TrainingSet, options: FitOptions) -> tuple[FittedModel, str | None]:
    """Return the fit by another loss or penalty on the same features, and what was done on the CPU."""
    F, Y, weights = all_features(fitted, data, options)
    named = "penalty='l1'" if options.penalty == "l1" else f"loss={options.loss!r}"
    with options.engine.linear_algebra(f"{named} on {F.shape[0]:,} x {F.shape[1]:,} features"):
        groups = data.groups_of(data.order)  # the features of all rows are in this order
        together = None if groups is None else RowsTogether(groups, data.last)
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


def rounded_pinball(fitted: FittedModel, quantile: float) -> SmoothQuantile:
    """Return the loss of a quantile, rounded within a part of the errors of least squares."""
    errors = fitted.held_out[0] - fitted.trial.scores
    return SmoothQuantile(quantile, QUANTILE_WIDTH * (float(robust_deviation(errors)[0]) or 1.0))


def all_features(fitted: FittedModel, data: TrainingSet, options: FitOptions) -> Design:
    """Return features, targets and weights of all rows, for losses and penalties that need them all at once."""
    design = fitted.design
    if design is None:
        design = data.features(FeatureUnion.of(fitted.features, data.itemsize), options.engine)
    F, Y, weights = design
    return (as_numpy(F) if options.penalty == "l1" else options.engine.to_device(F)), Y, weights


def _relocated(features: Sequence[LandmarkFeatures], data: TrainingSet) -> tuple[LandmarkFeatures, ...]:
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
