"""Choices on a sample: landmarks, scale, number of landmarks and penalty; and nested folds that make them again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from similitude.compute import check_objects, join, rows, take
from similitude.evaluation import (
    Search,
    Trial,
    at_rows,
    downhill,
    fold_pairs,
    interleaved,
    nested_folds_of_fit,
)
from similitude.fitting import limits
from similitude.fitting.automatic import prepared_by_labels
from similitude.fitting.batches import DistributedRows
from similitude.fitting.facts import Facts, FitOptions, keeps_median, open_scales
from similitude.fitting.model import FittedModel, ScoredRows
from similitude.fitting.penalized import fit_penalized
from similitude.fitting.products import trial_by_products
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import (
    AMONG_ALL,
    PROJECTION,
    UNLABELED,
    LandmarkFeatures,
    Landmarks,
    Pool,
    SampleFeatures,
    at_most,
    choose,
    choose_among_all,
    describe_choice,
)
from similitude.linear import Ridge, Validation
from similitude.similarity import Similarity, remembered_images
from similitude.support import error_prefix, generator, objects_at


@dataclass(frozen=True, eq=False)
class LandmarkChoice:
    """Landmarks in the order in which they are used, and the numbers of them to try on some rows of the data."""

    landmarks: Landmarks
    sizes: list[int]
    pilot: int  # how many rows the number is chosen on
    data: TrainingSet  # landmarks that are not among the rows were added with weight zero
    limit: str = "their number was given"  # what prevents more landmarks than the largest size
    notes: Sequence[str] = ()  # from which rows of a collection they were chosen


def choose_landmarks(data: TrainingSet, options: FitOptions, facts: Facts) -> LandmarkChoice:
    """Choose landmarks in the order in which they are used, and the numbers of them to try."""
    facts = facts.encoded(data, options)
    if options.given is not None:
        given = options.given
        if options.n_landmarks not in ("auto", len(given)):
            raise ValueError(f"n_landmarks = {options.n_landmarks} but {len(given)} landmarks were given: leave it out")
        return LandmarkChoice(given, [len(given)], facts.rows_chosen_on, data)
    if options.n_landmarks != "auto":
        available = data.n if options.unlabeled is None else check_objects(options.unlabeled)
        at_most("n_landmarks", int(options.n_landmarks), available, f"the {available:,} objects they are drawn from")
    sizes, limit = facts.numbers
    notes = []
    collection = data.sampling.all_rows if options.unlabeled is None else None
    if isinstance(collection, DistributedRows) and options.rule in AMONG_ALL:
        data, landmarks = _among_all(options.rule, data, collection, sizes[-1])
    else:
        landmarks = _drawn(options, data, sizes[-1])
    if isinstance(collection, DistributedRows):
        notes = [describe_choice(landmarks.rule, data.n_sampled, collection.n)]
    if sizes[-1] > len(landmarks):
        sizes = sorted({min(n, len(landmarks)) for n in sizes})
    return LandmarkChoice(landmarks, sizes, facts.rows_chosen_on, data, limit, notes)


def _drawn(options: FitOptions, data: TrainingSet, most: int) -> Landmarks:
    """Return landmarks chosen by the rule, as many as may be needed."""
    rng = generator(options.random_state)
    labels = data.labels
    rule = options.rule
    if rule == "auto":
        rule = "stratified"
        if data.proven or labels is None or options.unlabeled is not None:
            rule = "uniform"
    if options.unlabeled is not None:
        return _from_pool(options, data, rule, most, rng)
    candidates = data.order[: max(most, min(data.n_fitted, data.n_sampled))]
    if data.groups is not None:
        candidates = candidates[: data.n_fitted]
    if rule == "uniform":
        which = candidates[:most]
    elif rule == "stratified":
        if labels is None:
            raise ValueError("landmarks='stratified' needs classes: use 'uniform'")
        which = candidates[interleaved(labels[candidates], rng)[:most]]
    else:
        few = np.sort(candidates)
        pool = Pool(data.similarities[0], rows(data.encodings[0], few), options.engine, None, rng, take(data.X, few))
        with objects_at(data.located_at(few)):
            which = few[choose(rule, pool, min(most, len(few)))]
    return Landmarks(take(data.X, which), which, None, at_rows(labels, which), rule)


def _among_all(rule: str, data: TrainingSet, collection: DistributedRows, most: int) -> tuple[TrainingSet, Landmarks]:
    """Choose among all rows of a collection except those held out, and add them to objects and rows in memory."""
    assert data.sampling.places is not None
    barred = data.sampling.places[np.concatenate(data.held_out())]
    objects, places = choose_among_all(rule, data.similarities[0], collection, most, barred)
    X = join(data.X, objects)
    n = len(data.Y)
    data = replace(
        data,
        X=X,
        encodings=tuple(k.encode_checked(X, "X") for k in data.similarities),
        Y=np.concatenate([data.Y, np.zeros_like(data.Y[:1]).repeat(len(places), axis=0)]),
        weights=np.concatenate([data.weights, np.zeros(len(places))]),
        sampling=replace(data.sampling, places=np.concatenate([data.sampling.places, places])),
    )
    return data, Landmarks(objects, np.arange(n, n + len(places)), rule=rule)


def _from_pool(options: FitOptions, data: TrainingSet, rule: str, most: int, rng: np.random.Generator) -> Landmarks:
    """Return landmarks from the unlabeled pool."""
    k = data.similarities[0]
    pool = options.unlabeled
    with error_prefix("unlabeled"):
        if rule == "stratified":
            raise ValueError("landmarks='stratified' needs labels, an unlabeled pool has none: use 'uniform'")
        if rule == "uniform":
            which = rng.permutation(check_objects(pool))[:most]
        else:
            which = choose(rule, Pool(k, k.encode(pool), options.engine, None, rng, pool), most)
    return Landmarks(take(pool, which), rule=UNLABELED if rule == "uniform" else rule)


MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the median that are tried."""

Scores = tuple[tuple[str, float], ...]
"""Candidates with their losses."""

MEDIAN_KEPT = "{!r} has the median scale: others were not compared, because each costs another Gram matrix"
"""A note on costly similarities."""


def choose_scales(
    data: TrainingSet, choice: LandmarkChoice, options: FitOptions, by_products: bool = False
) -> tuple[TrainingSet, int, Scores]:
    """Return the rows with each similarity at its best scale, how many combinations of scales there are, and losses."""
    if options.family is not None:  # its members keep their scales
        return data, 1, ()
    pairs = zip(options.similarities, data.similarities, strict=True)
    names = [[] if keeps_median(k, resolved) else open_scales(k) for k, resolved in pairs]
    if not any(names):
        return data, 1, ()
    most, n_landmarks = limits.scale_comparison(choice.pilot, len(choice.landmarks))
    which, n_train, n_evaluating = data.pilot(most)
    validation = Validation(data.Y[which], data.weights[which], n_train, n_evaluating, data.groups_of(which))
    first = choice.landmarks.only(np.arange(min(n_landmarks, n_train)))
    objects = take(data.X, which)

    def loss(k: Similarity) -> float:
        encoded = first.encoded(k)
        sample = options.sample(k, k.encode(objects), which, encoded)
        if by_products and sample.representation.name == PROJECTION:
            A = sample.encoding
            B = encoded.encoding
            return trial_by_products(k, A, B, validation.Y, validation.weights, options.engine).loss
        return grow([sample], [len(first)], validation)[0].trial.loss

    similarities = list(data.similarities)
    encodings = list(data.encodings)
    scores: list[tuple[str, float]] = []
    with remembered_images(), data.located(choice.landmarks):
        for i, open_ones in enumerate(names):
            if open_ones:
                similarities[i], tried = best_scale(similarities[i], open_ones, loss)
                scores += [(repr(one), found) for one, found in tried]
                encodings[i] = similarities[i].encode(data.X)
    compared = math.prod([len(MULTIPLES) for open_ones in names if open_ones])
    return replace(data, similarities=tuple(similarities), encodings=tuple(encodings)), compared, tuple(scores)


def best_scale(
    resolved: Similarity, names: list[str], loss: Callable[[Similarity], float]
) -> tuple[Similarity, list[tuple[Similarity, float]]]:
    """Return the similarity at a multiple better than its neighbors, and all that were tried with their losses."""

    def make(place: int) -> tuple[Similarity, float]:
        k = scaled(resolved, names, MULTIPLES[place])
        return k, loss(k)

    search = Search(make, range(len(MULTIPLES)), itemgetter(1))
    best = downhill(search.loss, MULTIPLES.index(1.0))
    return search[best][0], sorted(search.tried.values(), key=itemgetter(1))


def scaled(resolved: Similarity, names: list[str], multiple: float) -> Similarity:
    """Return the similarity with some parameters multiplied."""
    known = resolved.get_params()
    changed: Similarity = resolved.__copy__().set_params(**{name: multiple * float(known[name]) for name in names})
    return changed


@dataclass(frozen=True, eq=False)
class Level:
    """A number of landmarks, ridge regression on the features they give, and the trial of its best penalty."""

    n: int
    features: tuple[LandmarkFeatures, ...]  # one for each similarity
    F: np.ndarray  # their values for the sample
    ridge: Ridge
    trial: Trial

    @classmethod
    def of(
        cls, samples: Sequence[SampleFeatures], n: int, normalized: bool, validation: Validation, near: float | None
    ) -> Level:
        """Fit to the features of n landmarks; those of several similarities have the root mean square length 1."""
        features, values = map(list, zip(*[sample.features(n, normalized) for sample in samples], strict=True))
        F = values[0]
        if len(values) > 1:
            squares = [float(np.einsum("ij,ij->", F, F, dtype=np.float64)) / len(F) for F in values]
            scales = [float(np.sqrt(squared)) or 1.0 for squared in squares]
            features = [replace(made, scale=scale) for made, scale in zip(features, scales, strict=True)]
            parts = [F / F.dtype.type(scale) for F, scale in zip(values, scales, strict=True)]
            F = np.concatenate(parts, axis=1)
        return cls(n, tuple(features), F, *validation.ridge(F, near))


def grow(
    samples: Sequence[SampleFeatures], sizes: Sequence[int], validation: Validation
) -> tuple[Level, list[tuple[int, Trial]]]:
    """Try one number of landmarks after another, up to the first that gains less than one standard error.

    Similarities that are not projected are also tried divided by their length. That must gain more than one standard
    error, and is not tried with a penalty that selects landmarks, because the length needs all of them.

    Return the better one of the last two, and the numbers that were tried with their trials.
    """
    tried: list[tuple[int, Trial]] = []
    last: Level | None = None
    for n in sizes:
        before = last
        near = None
        if before is not None:
            near = before.trial.lam / before.ridge.unit
        best = last = Level.of(samples, n, False, validation, near)
        if any(not (one.representation.name == PROJECTION or one.sparse) for one in samples):
            normalized = Level.of(samples, n, True, validation, near)
            if normalized.trial.loss < last.trial.loss - last.trial.deviation:
                best = last = normalized
        tried.append((n, last.trial))
        if before is None or [one.factor is None for one in before.features] != [
            one.representation.name != PROJECTION for one in samples
        ]:  # not comparable: more landmarks have changed a representation
            continue
        if before.trial.loss <= last.trial.loss:
            best = before
        if last.trial.loss > before.trial.loss - before.trial.deviation:
            break
    return best, tried


def scored_in_folds(data: TrainingSet, options: FitOptions, choice: LandmarkChoice, fitted: FittedModel) -> ScoredRows:
    """Return the scores of all rows by models of other folds, in each of which every choice is made again."""
    samples = fitted.samples
    places = samples[0].places
    groups = data.units(places)
    labels = at_rows(data.labels, places)
    folds = nested_folds_of_fit(groups, labels, data.groups is not None, options.random_state)
    if folds is None:
        return fitted.left_out
    scores = np.empty((len(places), data.Y.shape[1]))
    within = []
    sizes = fitted.curve.x.astype(int)
    members: dict[str, Any] = {}
    pairs = zip(options.similarities, data.similarities, strict=True)
    fixed = options.family is None and all(k is resolved or keeps_median(k, resolved) for k, resolved in pairs)
    landmarks = samples[0].landmarks
    with nullcontext() if fixed else remembered_images():
        for train, test in fold_pairs(folds):
            mine = np.arange(len(landmarks))
            if landmarks.positions is not None:
                mine = np.flatnonzero(np.isin(data.equal[landmarks.positions], data.equal[places[train]]))
            order = np.concatenate([train, test])
            if fixed or not len(mine):
                compared = [sample.restricted(order, mine) for sample in samples]
            else:
                compared = _chosen_again(data, options, choice, samples, train, order, mine, members)
            scores[test], inside = _scores(compared, sizes, data, options, places[train])
            within.append(inside)
    Y = data.Y[places]
    weights = data.weights[places]
    trial = Trial.of(fitted.trial.lam, scores, Y, weights)
    return ScoredRows(trial, Y, weights, groups, data.located_at(places), fitted.trial, folds, tuple(within))


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
    """Return samples by similarities chosen without the rows of a fold; `members` keeps what several folds encode."""
    places = samples[0].places
    similarities = options.similarities
    if options.family is not None:
        now = data.similarities[0]
        chosen = options.family.chosen(data.Y, data.weights, places[train], data.groups)
        k = chosen.resolved
        kept = chosen.similarity is similarities[0] or chosen.similarity is now
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
    """Return the scores of rows after the training rows, and of those left out alone, with their targets."""
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
    linear, trial, evaluated = fit_penalized(options, here, Y, weights, groups, data.last)
    return linear.scores(outside), (trial.scores, Y[evaluated])
