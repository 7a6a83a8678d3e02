"""Run a plan: choose similarity, scale, landmarks and penalty, and fit a linear model of features.

The same steps serve rows in memory, in batches of a source, and on the workers of a cluster; these differ in where rows
come from (`training_set`, `batches`, `distributed`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, rows, take
from similitude.compute.engines import damaged_checkpoint, remove_checkpoint
from similitude.data.sources import MAX_BATCH_ROWS
from similitude.evaluation import Trial
from similitude.fitting.automatic import (
    fit_exactly,
    guarantee_of_learned,
    in_words,
    learn_on_pilot,
    learn_similarities,
    scores_of,
    try_family,
)
from similitude.fitting.choices import (
    MEDIAN_KEPT,
    LandmarkChoice,
    Level,
    Scores,
    choose_landmarks,
    choose_scales,
    grow,
    scored_in_folds,
)
from similitude.fitting.facts import AS_GIVEN, OF_FAMILY, Facts, FitOptions, keeps_median, open_scales
from similitude.fitting.frugal import FrugalTask, check_memory, fit_frugally
from similitude.fitting.influence import GroupInfluence, Groups, influence_in_ridge, solved_groups
from similitude.fitting.members import Family
from similitude.fitting.model import FittedModel, LandmarkCurve
from similitude.fitting.passes import FeatureUnion, check_features_fit, features_of
from similitude.fitting.penalized import refit, rounded_pinball
from similitude.fitting.pilot import PilotedFit
from similitude.fitting.plan import CELL_FIT, EXACT_FIT, FRUGAL_FIT, PILOT_FIT, PRODUCT_FIT, Plan
from similitude.fitting.products import solve_by_products, trial_by_products
from similitude.fitting.spread import open_variance_of, variances
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import (
    PROJECTION,
    LandmarkFeatures,
    SampleFeatures,
    guarantee_of_fit,
)
from similitude.linear import Moments, Ridge, Validation
from similitude.similarity import Similarity, phase, remembered_images
from similitude.support import Guarantee, digest, generator, number_of, pairs_at

if TYPE_CHECKING:
    from similitude.kernel_learning import AutoChoice, LearnedSummary


SERIES_SUGGESTED = (
    "neighboring columns are alike, as in series and spectra: if rows are series, similarity=Auto(kind='series') "
    "compares them as such"
)
"""What is noted where an array was taken for vectors, and its rows may be series."""


def run(plan: Plan, facts: Facts) -> FittedModel:
    """Fit as the plan says."""
    data = facts.data
    options = facts.options
    if plan.case == FRUGAL_FIT:
        fit = _frugally(facts)
    elif plan.case == EXACT_FIT:
        fit = fit_exactly(data, options, facts.n_apart)
    elif plan.case == CELL_FIT:
        from similitude.fitting.cells import fit_in_cells  # loads all kernels

        choice, order = learn_on_pilot(data, options)
        with phase("solving in cells of rows"):
            found = fit_in_cells(data, options, choice, order)
        # or why cells are no better than landmarks of the learned kernel
        fit = found if isinstance(found, FittedModel) else _on_landmarks(plan, facts, choice, found)
    else:
        fit = _on_landmarks(plan, facts)
    if options.automatic and options.kind == "vectors" and isinstance(data.X, np.ndarray):
        from similitude.kernels import neighbors_are_alike  # loads all kernels

        if neighbors_are_alike(data.X):
            fit = replace(fit, notes=[*fit.notes, SERIES_SUGGESTED])
    return replace(fit, plan=plan.after(fit))


def _frugally(facts: Facts) -> FittedModel:
    """Buy similarities to a few telling landmarks, and fit a cascade of models."""
    data = facts.data
    options = facts.options
    assert facts.frugal_calls is not None
    places = data.sampling.places
    check_memory(len(data.order), options.engine.budget)
    k, A = options.similarities[0].prepare(data.X, options.random_state)
    task = FrugalTask(
        data.X,
        k,
        A,
        data.Y,
        data.weights,
        data.labels,
        data.order,
        options.side,
        facts.frugal_calls,
        options.meter,
        generator(options.random_state),
        later=data.sampling.later,
        groups=data.groups,
        located=places,
    )
    with pairs_at(places, places):
        fit, _ = fit_frugally(task)
    return replace(fit, notes=list(filter(None, [options.engine.fallback_note(k)])))


def _on_landmarks(plan: Plan, facts: Facts, learned: AutoChoice | None = None, why: str | None = None) -> FittedModel:
    """Choose similarity, scale, landmarks and penalty, and fit; `why` says why there are landmarks instead of cells."""
    options = facts.options
    chosen = Chosen(options.similarities)
    if plan.candidates != AS_GIVEN:
        with phase("choosing the similarity"):
            chosen = _chosen(plan, facts, learned, why)
    data = _prepared(facts.data, chosen.similarities, options)
    notes = list(filter(None, map(options.engine.fallback_note, data.similarities)))
    if facts.chosen_again:
        options = replace(options, family=chosen.family)
    if options.family is not None or not facts.chosen_again:
        options = replace(options, similarities=chosen.similarities)
    if plan.case == PILOT_FIT:
        with phase("choosing scale and penalty on a sample"):
            fit, n_choices = PilotedFit(data, options, facts).run()
        return replace(fit, guarantee=_guarantee(fit, data, options, n_choices), notes=notes)
    with phase("choosing landmarks"):
        choice = choose_landmarks(data, options, facts)
    notes += choice.notes
    data = choice.data
    n_scales = 1
    scores: Scores = ()
    resolved = not all(map(operator.is_, chosen.similarities, data.similarities))  # one of them, on the data
    if resolved and options.family is None:
        with phase("choosing the scale"):
            by_products = plan.case == PRODUCT_FIT and facts.scales_by_products
            data, n_scales, scores = choose_scales(data, choice, options, by_products)
        pairs = zip(options.similarities, data.similarities, strict=True)
        kept = [MEDIAN_KEPT.format(now) for k, now in pairs if keeps_median(k, now)]
        chosen = chosen._replace(reason="; ".join([*filter(None, [chosen.reason]), *kept]))
    with phase("computing similarities to landmarks, and solving"):
        fit = fit_ridge(data, choice, options, plan.case == PRODUCT_FIT)
        if not options.is_ridge:
            if options.quantile is not None:
                options = replace(options, own_loss=rounded_pinball(fit, options.quantile))
            fit, on_cpu = refit(fit, data, options)
            if on_cpu is not None and (device := getattr(options.engine, "device", "")):
                notes.append(f"{on_cpu} on the CPU, not on {device}")
    if plan.candidates == AS_GIVEN:
        guarantee = _guarantee(fit, data, options, n_scales * len(choice.sizes))
    else:
        guarantee = guarantee_of_learned(data.labels is not None)
    if len(fit.curve.x) > 1:
        scores += tuple((number_of(int(n), "landmark"), loss) for n, loss in zip(fit.curve.x, fit.curve.y, strict=True))
    if scores:
        variance = float(variances(data.Y, data.weights).sum()) or 1.0
        scores = tuple((name, float(loss) / variance) for name, loss in scores)
    nested = facts.nested and len(fit.samples[0].places) == data.n
    return replace(
        fit,
        evaluation=partial(scored_in_folds, data, options, choice, fit) if nested else None,
        guarantee=guarantee,
        chosen=chosen.reason,
        learned=chosen.summary,
        notes=notes,
        scores=chosen.scores + scores,
    )


def _guarantee(fit: FittedModel, data: TrainingSet, options: FitOptions, choices: int) -> Guarantee:
    """Return what theory promises of the features, which are one of several choices."""
    assert fit.landmarks is not None
    n_classes = max(2, data.Y.shape[1])
    return guarantee_of_fit(
        options.similarities,
        fit.landmarks,
        fit.samples,
        fit.representations,
        fit.features,
        data.labels,
        n_classes,
        choices,
    )


class Chosen(NamedTuple):
    """Similarities of a fit on landmarks, and how they were chosen."""

    similarities: tuple[Similarity, ...]
    reason: str = ""
    scores: Scores = ()
    summary: LearnedSummary | None = None
    family: Family | None = None


def _chosen(plan: Plan, facts: Facts, learned: AutoChoice | None, why: str | None) -> Chosen:
    """Choose or learn similarities from the rows."""
    data = facts.data
    options = facts.options
    if facts.learns_given:
        found, reason = learn_similarities(data, options)
        return Chosen(found, reason)
    if plan.candidates == OF_FAMILY:
        from similitude.kernels import kind_in_words  # loads all kernels

        family = try_family(data, options)
        choice = family.chosen(data.Y, data.weights, groups=data.groups)
        reason = f"for {kind_in_words(options.kind, family.members)} {choice.reason}"
        return Chosen((choice.similarity,), reason, choice.scores, family=family)
    from similitude.kernel_learning import summarize

    if learned is None:
        learned, _ = learn_on_pilot(data, options)
    summary = summarize(learned)
    parts = [in_words(summary), "landmarks use the kernel that is best alone", why or facts.why_no_cells]
    reason = "; ".join(filter(None, parts))
    return Chosen((learned.best_alone(),), reason, scores_of(summary), summary)


def _prepared(data: TrainingSet, similarities: tuple[Similarity, ...], options: FitOptions) -> TrainingSet:
    """Return the rows with similarities resolved and objects encoded."""
    order = data.order
    if len(order) < 2:
        raise ValueError("need at least 2 samples with positive weight, got 1")
    prepared = []
    for k in similarities:
        if data.n_sampled < len(order) and k.unresolved() and len(open_scales(k)) == len(k.unresolved()):
            prepared.append(_prepared_on_sample(k, data, options))
        else:
            prepared.append(k.prepare(data.X, options.random_state, data.given_weights))
    resolved, encodings = zip(*prepared, strict=True)
    return replace(data, similarities=resolved, encodings=encodings, reordered=order)


def _prepared_on_sample(k: Similarity, data: TrainingSet, options: FitOptions) -> tuple[Similarity, Encoding]:
    """Return a similarity resolved, and X encoded; medians of many rows are those of a sample."""
    k.check_params()
    some = np.sort(data.order[: data.n_sampled])
    weighted = None
    if data.given_weights is not None:
        weighted = np.asarray(data.given_weights)[some]
    with remembered_images():
        resolved = k.resolve(take(data.X, some), options.random_state, weighted)
        return resolved, resolved.encode_checked(data.X, "X")


def fit_ridge(data: TrainingSet, choice: LandmarkChoice, options: FitOptions, by_products: bool) -> FittedModel:
    """Choose the number of landmarks and the penalty on a sample of rows, then fit ridge regression to all rows."""
    which, n_train, n_evaluating = data.pilot(choice.pilot)
    everything = len(which) == data.n
    sizes = choice.sizes
    projection = None
    samples = []
    with data.located(choice.landmarks):
        for k, A in zip(data.similarities, data.encodings, strict=True):
            samples.append(options.sample(k, A, which, choice.landmarks.encoded(k, A), which))
        if not everything and len(samples) == 1 and samples[0].representation.name == PROJECTION:
            if by_products:
                return _fit_by_products(data, samples[0], choice, options)
            if len(sizes) == 1:
                projection = samples[0].projection(sizes[0])
        if projection is None:
            validation = Validation(data.Y[which], data.weights[which], n_train, n_evaluating, data.groups_of(which))
            best, tried = grow(samples, sizes, validation)
    if projection is not None:  # nothing is left to choose on a sample
        return _fit_in_one_pass(data, projection[:1], samples, choice, options)
    if everything:
        fit = _fit_sample(data, validation, best, samples, choice, options)
    else:
        fit = _fit_in_one_pass(data, best.features, samples, choice, options)
    curve = LandmarkCurve.of(tried, choice.limit, sizes[-1])
    return replace(fit, curve=curve, landmarks=choice.landmarks.only(np.arange(best.n)))


def _fit_sample(
    data: TrainingSet,
    validation: Validation,
    best: Level,
    samples: Sequence[SampleFeatures],
    choice: LandmarkChoice,
    options: FitOptions,
) -> FittedModel:
    """Fit to a sample that holds all rows: its features are known."""
    design = best.F, validation.Y, validation.weights
    ridge = best.ridge
    trial = best.trial
    places = samples[0].places
    last = slice(None)
    if validation.n_evaluating:
        last = slice(len(places) - validation.n_evaluating, None)
        held_out = slice(validation.n_train, None)
        trial = ridge.trial(trial.lam, *_at(last, design))
        ridge = Ridge(ridge.moments + Moments.of(*_at(held_out, design)), trial.lam, ridge.smallest)
    fit = _of_ridge(ridge, trial, data, choice, options, samples, best.features, places[last], _at(last, design))
    if options.is_ridge:
        influence = influence_in_ridge(ridge, trial.lam, best.features, design, places, options.classes)
        fit = replace(fit, influence=influence)
    return replace(fit, design=design)


def _at(which: Any, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return some rows of several arrays."""
    return tuple(one[which] for one in arrays)


def _of_ridge(
    ridge: Ridge,
    trial: Trial,
    data: TrainingSet,
    choice: LandmarkChoice,
    options: FitOptions,
    samples: Sequence[SampleFeatures],
    features: tuple[LandmarkFeatures, ...],
    places: np.ndarray,
    evaluated: tuple[Any, ...],
) -> FittedModel:
    """Return a fit by ridge regression on all rows, given the features, targets and weights of the trial's rows."""
    F, Y, weights = evaluated
    pairs = zip(samples, features, strict=True)
    fit = FittedModel(
        features=_relocated(features, data),
        representations=tuple(replace(one.representation, normalized=made.normalized) for one, made in pairs),
        linear=ridge.fit(trial.lam),
        trial=trial,
        held_out=(Y, weights),
        curve=LandmarkCurve.of([(choice.sizes[0], trial)], choice.limit),
        tried=F,
        groups=data.groups_of(places),
        landmarks=choice.landmarks,
        samples=samples,
    )
    if options.classes:
        return fit
    A = rows(data.encodings[0], places)
    spread = variances(data.Y, data.weights)
    return replace(fit, open_variance=open_variance_of(features, ridge.moments, trial.lam, A, F, weights, spread))


def _fit_by_products(
    data: TrainingSet, sample: SampleFeatures, choice: LandmarkChoice, options: FitOptions
) -> FittedModel:
    """Fit to all rows by products with the matrix of similarities; a number of landmarks is chosen on the sample."""
    chosen_on, held = data.held_out()
    tried: list[tuple[int, Trial]] = []
    if len(choice.sizes) > 1:
        tried = _numbers_tried(data, sample, choice, options)
    n = choice.sizes[0]
    start = None
    if tried:
        n = min(tried[-2:], key=lambda one: one[1].loss)[0]
        start = tried[-1][1].lam
    landmarks = sample.landmarks.only(np.arange(n))
    outputs = data.Y.shape[1]
    groups = solved_groups(landmarks, outputs, options.classes)
    linear, trial, influence = solve_by_products(
        sample.k,
        data.encodings[0],
        landmarks.encoding,
        data.Y,
        data.weights,
        data.order,
        (chosen_on, held),
        options.engine,
        start,
        groups,
    )
    tried = tried or [(n, trial)]
    curve = LandmarkCurve.of(tried, choice.limit, choice.sizes[-1])
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
    """Return the numbers of landmarks that were compared by products, with their trials."""
    tried: list[tuple[int, Trial]] = []
    Y = data.Y[sample.places]
    weights = data.weights[sample.places]
    for n in choice.sizes:
        some = rows(sample.landmarks.encoding, slice(n))
        start = None
        if tried:
            start = tried[-1][1].lam
        trial = trial_by_products(sample.k, sample.encoding, some, Y, weights, options.engine, start)
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
) -> FittedModel:
    """Fit to all rows in one pass; the penalty is chosen on rows held out from it, and others evaluate it."""
    size = data.itemsize
    engine = options.engine
    located = _relocated(features, data)
    groups = Groups.around(features[0].landmarks, data.Y.shape[1], classes=options.classes)
    union = FeatureUnion.of(located, size, groups)
    if not options.is_ridge:
        check_features_fit(options.loss, options.penalty, data.n, union, engine)
    chosen_on, evaluating_rows = data.held_out()
    some = np.concatenate([chosen_on, evaluating_rows])
    encoded = rows(data.encodings, some)
    held_out = (data.Y[some], data.weights[some])
    with pairs_at(data.located_at(some), union.positions):
        F = features_of(union, encoded, engine.without_progress())
    moments = union.moments(F, *held_out)
    union = union.for_sums(F)

    def marks() -> dict[str, str]:
        leading = [part.leading for part in union.parts]
        return marks_of(located, data.n_rows, data.n, encoded, held_out, size, leading)

    places = None
    if data.all_in_memory:
        places = data.sampling.places
    with pairs_at(places, None):
        sums = union.completed(data.sums(union, some, engine, marks))
    assert sums.groups is not None
    if engine.checkpoint is not None and round(float(sums.groups.counts.sum())) != data.n - len(some):
        raise damaged_checkpoint(engine.checkpoint)
    ridge, trial = fit_with_held_out(sums, moments, F, *held_out, len(evaluating_rows))
    remove_checkpoint(engine.checkpoint)
    evaluated = _at(slice(len(chosen_on), None), (F, *held_out))
    fit = _of_ridge(ridge, trial, data, choice, options, samples, features, evaluating_rows, evaluated)
    return replace(fit, influence=GroupInfluence.of_ridge(ridge, trial.lam, groups))


def fit_with_held_out(
    sums: Moments, moments: Moments, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, n_evaluating: int
) -> tuple[Ridge, Trial]:
    """Return ridge regression on all rows, and how the last held-out rows were predicted without them."""
    ridge = Ridge(sums)
    n = len(Y) - n_evaluating
    trial = ridge.best(ridge.held_out(F[:n], Y[:n], weights[:n]))
    evaluated = ridge.trial(trial.lam, F[n:], Y[n:], weights[n:]) if n_evaluating else trial
    smallest = ridge.smallest
    del ridge  # its factors take as much memory as those of the next one
    return Ridge(sums + moments, trial.lam, smallest), evaluated


def _relocated(features: Sequence[LandmarkFeatures], data: TrainingSet) -> tuple[LandmarkFeatures, ...]:
    """Return the features with the positions of landmarks among all rows."""
    places = data.sampling.places
    return tuple(replace(one, landmarks=one.landmarks.relocated(places)) for one in features)


def marks_of(features: Sequence[LandmarkFeatures], *data: Any) -> dict[str, str]:
    """Return what the sums of a pass belong to: the version, the features and the data."""
    parts = [(one.similarity.fingerprint(), one.side, one.landmarks.objects) for one in features]
    made = [(one.normalized, f"{one.scale:.6g}") for one in features]
    model = digest((parts, made), 16).hex()
    data_ = digest((MAX_BATCH_ROWS, data), 16).hex()
    return {"version": version("similitude"), "model": model, "data": data_}
