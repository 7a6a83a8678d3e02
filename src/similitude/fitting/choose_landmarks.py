"""Landmarks of an estimator: given, drawn from an unlabeled pool, or chosen among the training rows by a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from similitude.compute import check_objects, join, rows, take
from similitude.evaluation import interleaved
from similitude.fitting import limits
from similitude.fitting.distributed import DistributedRows
from similitude.fitting.facts import FeatureSize, n_available, numbers_to_try, rows_to_choose_on
from similitude.fitting.members import Family
from similitude.fitting.options import FitOptions
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import (
    AMONG_ALL,
    UNLABELED,
    Landmarks,
    Pool,
    at_most,
    choose,
    choose_among_all,
    describe_choice,
)
from similitude.support import error_prefix, generator, objects_at, pairs_at


@dataclass(frozen=True, eq=False)
class LandmarkChoice:
    """Landmarks, the numbers of them to try, and what they are tried on.

    Attributes
    ----------
    landmarks : Landmarks
        As many as the largest size, in the order in which they are used.
    sizes : list of int
    pilot : int
        How many rows the number is chosen on.
    data : TrainingSet
        Landmarks that are not among the rows were added with weight zero.
    limit : str
        What prevents more landmarks than the largest size.
    note : str or None
        From which rows of a collection they were chosen.
    """

    landmarks: Landmarks
    sizes: list[int]
    pilot: int
    data: TrainingSet
    limit: str = "their number was given"
    note: str | None = None


def choose_landmarks(data: TrainingSet, options: FitOptions) -> LandmarkChoice:
    """Choose landmarks in the order in which they are used, and the numbers of them to try."""
    size = FeatureSize(
        data.n,
        len(data.similarities),
        data.proven,
        data.similarities[0].hints.heavy,
        data.itemsize,
        1 if data.labels is None else max(2, data.Y.shape[1]),
    )
    if options.given is not None:
        given = options.given
        if options.n_landmarks not in ("auto", len(given)):
            raise ValueError(f"n_landmarks = {options.n_landmarks} but {len(given)} landmarks were given: leave it out")
        return LandmarkChoice(given, [len(given)], rows_to_choose_on(options, size, len(given)), data)
    if options.n_landmarks != "auto":
        available = n_available(options, size)
        at_most("n_landmarks", int(options.n_landmarks), available, f"the {available:,} objects they are drawn from")
    sizes, limit = numbers_to_try(options, size, isinstance(options.similarities[0], Family))
    note, collection = None, data.sampling.all_rows if options.unlabeled is None else None
    if isinstance(collection, DistributedRows) and options.rule in AMONG_ALL:
        data, landmarks = _among_all(options.rule, data, collection, sizes[-1])
    else:
        with pairs_at(data.sampling.places, data.sampling.places):
            landmarks = _drawn(options, data, sizes[-1])
    if isinstance(collection, DistributedRows):
        note = describe_choice(landmarks.rule, limits.SAMPLE_ROWS, collection.n)
    sizes = sorted({*map(min, sizes, [len(landmarks)] * len(sizes))})
    return LandmarkChoice(landmarks, sizes, rows_to_choose_on(options, size, sizes[-1]), data, limit, note)


def _drawn(options: FitOptions, data: TrainingSet, most: int) -> Landmarks:
    """Return landmarks chosen by the rule, as many as may be needed."""
    rng, rule, labels = generator(options.random_state), options.rule, data.labels
    if rule == "auto":
        rule = "uniform" if data.proven or labels is None or options.unlabeled is not None else "stratified"
    if options.unlabeled is not None:
        return _from_pool(options, data, rule, most, rng)
    candidates = data.order[: max(most, min(limits.SAMPLE_ROWS, data.n_fitted))]
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
        with objects_at(few):
            which = few[choose(rule, pool, min(most, len(few)))]
    return Landmarks(take(data.X, which), which, None, None if labels is None else labels[which], rule)


def _among_all(rule: str, data: TrainingSet, collection: DistributedRows, most: int) -> tuple[TrainingSet, Landmarks]:
    """Choose among all rows of a collection except those held out, and add them to objects and rows in memory."""
    assert data.sampling.places is not None
    candidates = collection.candidates(data.sampling.places[np.concatenate(data.held_out())])
    objects, places = choose_among_all(rule, data.similarities[0], candidates, most)
    X, n = join(data.X, objects), len(data.Y)
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
    k, pool = data.similarities[0], options.unlabeled
    with error_prefix("unlabeled"):
        if rule == "stratified":
            raise ValueError("landmarks='stratified' needs labels, an unlabeled pool has none: use 'uniform'")
        if rule == "uniform":
            which = rng.permutation(check_objects(pool))[:most]
        else:
            which = choose(rule, Pool(k, k.encode(pool), options.engine, None, rng, pool), most)
    return Landmarks(take(pool, which), rule=UNLABELED if rule == "uniform" else rule)
