"""Run a plan: fit to rows in memory, or to a sample of rows that are elsewhere."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from similitude.compute import Encoding, take
from similitude.compute.engines import TorchEngine, phase
from similitude.evaluation import equals_judged_together, groups_of_equals
from similitude.fitting import limits
from similitude.fitting.automatic import best_alone, fit_exactly, in_words, learn_on_pilot, scores_of, try_family
from similitude.fitting.choose_landmarks import choose_landmarks
from similitude.fitting.facts import AS_GIVEN, LEARNED, OF_FAMILY, Facts
from similitude.fitting.fit import fit_ridge, refit, rounded_pinball
from similitude.fitting.frugal import check_memory, fit_frugally
from similitude.fitting.frugal_task import FrugalTask
from similitude.fitting.guarantee import guarantee_of_fit, guarantee_of_learned
from similitude.fitting.learned_similarities import learn_similarities
from similitude.fitting.nested_folds import LandmarkFolds
from similitude.fitting.options import FitOptions
from similitude.fitting.piloted_fit import fit_by_pilot
from similitude.fitting.plan import CELL_FIT, EXACT_FIT, FRUGAL_FIT, PILOT_FIT, Plan
from similitude.fitting.result import FittedModel, Judged
from similitude.fitting.scales import MEDIAN_KEPT, Scores, choose_scales, keeps_median, open_scales
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import Representation
from similitude.linear import LinearModel
from similitude.similarity import Learnable, Similarity, remembered_images
from similitude.support import Guarantee, generator, number_of, pairs_at

if TYPE_CHECKING:
    from similitude.kernel_learning import AutoChoice, LearnedSummary

SERIES_SUGGESTED = (
    "neighboring columns are alike, as in series and spectra: if rows are series, similarity=Auto(kind='series') "
    "compares them as such"
)
"""What is noted where an array was taken for vectors, and its rows may be series."""


def run(plan: Plan, data: TrainingSet, options: FitOptions) -> FittedModel:
    """Fit as the plan says."""
    if plan.case == FRUGAL_FIT:
        fit = _frugally(data, options)
    elif plan.case == EXACT_FIT:
        fit = fit_exactly(data, options)
    elif plan.case == CELL_FIT:
        fit = _in_cells(plan, data, options)
    else:
        fit = _on_landmarks(plan, data, options)
    if options.automatic and options.kind == "vectors" and isinstance(data.X, np.ndarray):
        from similitude.kernels import neighbors_are_alike  # loads all kernels

        if neighbors_are_alike(data.X):
            fit = replace(fit, notes=[*fit.notes, SERIES_SUGGESTED])
    return replace(fit, plan=plan.after(fit))


def _frugally(data: TrainingSet, options: FitOptions) -> FittedModel:
    """Buy similarities to a few telling landmarks, and fit a cascade of models."""
    calls = Facts(data, options).frugal_calls
    assert calls is not None
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
        calls,
        options.meter,
        generator(options.random_state),
        later=data.sampling.later,
        groups=data.groups,
    )
    with pairs_at(places, places):
        found = fit_frugally(task)
    landmarks = found.model.features.landmarks.relocated(places)
    features = replace(found.model.features, landmarks=landmarks)
    reason = f"a function that may be costly is compared with few landmarks; {found.symmetry}"
    blind = "landmarks were chosen by labels, the theorems are about landmarks drawn blindly"
    return FittedModel(
        features=(features,),
        linear=LinearModel(np.empty((0, data.Y.shape[1])), np.zeros(data.Y.shape[1])),
        influence=found.influence,
        trial=found.left_out,
        held_out=(data.Y[found.learned], data.weights[found.learned]),
        evaluation=Judged(found.trial, data.Y[found.judges], data.weights[found.judges], data.groups_of(found.judges)),
        curve=found.curve,
        representations=(Representation("similarities", reason, features.side),),
        guarantee=Guarantee.none(blind),
        notes=_notes_of_engine(options, [k]),
        cascade=replace(found.model, features=features),
        mean_calls=found.calls,
        groups=data.groups_of(found.learned),
    )


def _notes_of_engine(options: FitOptions, similarities: list[Similarity]) -> list[str]:
    """Return the engine's remarks on similarities that it cannot compute on its device."""
    return [note for k in similarities if (note := options.engine.fallback_note(k))]


def _in_cells(plan: Plan, data: TrainingSet, options: FitOptions) -> FittedModel:
    """Fit exactly in the cells of a partition, or to landmarks of the learned kernel where cells are no better."""
    from similitude.fitting.cells import fit_in_cells  # loads all kernels

    choice, order = learn_on_pilot(data, options, data.copies_last)
    with phase("solving in cells of rows"):
        fit = fit_in_cells(data, options, choice, order)
    return fit if isinstance(fit, FittedModel) else _on_landmarks(plan, data, options, choice, fit)


def _on_landmarks(
    plan: Plan, data: TrainingSet, options: FitOptions, learned: AutoChoice | None = None, why: str | None = None
) -> FittedModel:
    """Choose similarity, scale, landmarks and penalty, and fit a linear model of the features.

    `learned` is what pilot rows chose, if that is known, and `why` says why there are landmarks instead of cells.
    """
    with phase("choosing the similarity"):
        chosen = _chosen(plan, data, options, learned, why)
    data = _prepared(data, chosen.similarities, options)
    notes = _notes_of_engine(options, list(data.similarities))
    again = plan.candidates != AS_GIVEN and len(data.order) <= limits.LEAVE_ONE_OUT  # in the folds of the evaluation
    options = replace(options, similarities=chosen.again if again else chosen.similarities)
    n_classes = max(2, data.Y.shape[1])
    if plan.case == PILOT_FIT:
        with phase("choosing scale and penalty on a sample"):
            fit, n_choices = fit_by_pilot(data, options)
        guarantee = guarantee_of_fit(fit, options, data.labels, n_classes, n_choices)
        return replace(fit, guarantee=guarantee, notes=notes)
    with phase("choosing landmarks"):
        choice = choose_landmarks(data, options)
    notes += [] if choice.note is None else [choice.note]
    data, n_scales, scores = choice.data, 1, chosen.scores
    if not all(map(operator.is_, chosen.similarities, data.similarities)):  # one of them was resolved on the data
        with phase("choosing the scale"):
            data, n_scales, tried = choose_scales(data, choice, options)
        scores += tried
        pairs = zip(options.similarities, data.similarities, strict=True)
        kept = [MEDIAN_KEPT.format(now) for k, now in pairs if keeps_median(k, now)]
        chosen = chosen._replace(reason="; ".join([*filter(None, [chosen.reason]), *kept]))
    with phase("computing similarities to landmarks, and solving"):
        fit = fit_ridge(data, choice, options)
        if not options.is_ridge:
            if options.quantile is not None:
                options = replace(options, own_loss=rounded_pinball(fit, options.quantile))
            fit, on_cpu = refit(fit, data, options)
            if on_cpu is not None and isinstance(options.engine, TorchEngine):
                notes.append(f"{on_cpu} on the CPU, not on {options.engine.device}")
    if plan.candidates == AS_GIVEN:
        guarantee = guarantee_of_fit(fit, options, data.labels, n_classes, n_scales * len(choice.sizes))
    else:
        guarantee = guarantee_of_learned(data.labels)
    curve = zip(fit.curve.x, fit.curve.y, strict=True)
    return replace(
        fit,
        evaluation=LandmarkFolds(data, options, choice, fit),
        guarantee=guarantee,
        chosen=chosen.reason,
        learned=chosen.summary,
        notes=notes,
        scores=(*scores, *[(number_of(int(n), "landmark"), float(loss)) for n, loss in curve]),
    )


class Chosen(NamedTuple):
    """Similarities of a fit on landmarks, those that folds choose or learn again, and how they were chosen."""

    similarities: tuple[Similarity, ...]
    again: tuple[Similarity, ...] = ()
    reason: str = ""
    summary: LearnedSummary | None = None
    scores: Scores = ()


def _chosen(plan: Plan, data: TrainingSet, options: FitOptions, learned: AutoChoice | None, why: str | None) -> Chosen:
    """Choose or learn similarities from the rows."""
    given = options.similarities
    if any(isinstance(k, Learnable) for k in given):
        found, reason = learn_similarities(data, options, data.copies_last)
        return Chosen(found, given, reason)
    if plan.candidates == OF_FAMILY:
        from similitude.kernels import kind_in_words  # loads all kernels

        family = try_family(data, options, data.copies_last)
        choice = family.chosen(data.Y, data.weights, groups=data.groups)
        reason = f"for {kind_in_words(options.kind, family.members)} {choice.reason}"
        again = (family.with_params(taken=choice.similarity),)
        return Chosen((choice.similarity,), again, reason, scores=choice.scores)
    if plan.candidates == LEARNED:
        from similitude.kernel_learning import summarize

        if learned is None:
            learned, _ = learn_on_pilot(data, options, data.copies_last)
        summary = summarize(learned)
        parts = [in_words(summary), "landmarks use the kernel that is best alone"]
        reason = "; ".join(filter(None, [*parts, why or Facts(data, options).why_no_cells]))
        return Chosen((best_alone(learned),), given, reason, summary, scores_of(summary))
    return Chosen(given)


def _prepared(data: TrainingSet, similarities: tuple[Similarity, ...], options: FitOptions) -> TrainingSet:
    """Return the rows with similarities resolved and objects encoded."""
    order = data.order
    if len(order) < 2:
        raise ValueError("need at least 2 samples with positive weight, got 1")
    if len(order) <= limits.SAMPLE_ROWS:
        prepared = [k.prepare(data.X, options.random_state, data.given_weights) for k in similarities]
    else:
        prepared = [_prepared_on_sample(k, data, options) for k in similarities]
    resolved, encodings = zip(*prepared, strict=True)
    if data.copies_last:
        order = equals_judged_together(order, groups_of_equals(encodings[0], order))
    return replace(data, similarities=resolved, encodings=encodings, reordered=order)


def _prepared_on_sample(k: Similarity, data: TrainingSet, options: FitOptions) -> tuple[Similarity, Encoding]:
    """Return a similarity resolved on many rows, and X encoded; medians are those of a sample."""
    if not k.unresolved() or len(open_scales(k)) < len(k.unresolved()):
        return k.prepare(data.X, options.random_state, data.given_weights)
    k.check_params()
    some = np.sort(data.order[: limits.SAMPLE_ROWS])
    weighted = None if data.given_weights is None else np.asarray(data.given_weights)[some]
    with remembered_images():
        resolved = k.resolve(take(data.X, some), options.random_state, weighted)
        return resolved, resolved.encode_checked(data.X, "X")
