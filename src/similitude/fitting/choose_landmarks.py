"""Landmarks of an estimator: given, drawn from an unlabeled pool, or chosen among the training rows by a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import check_objects, join, rows, take
from similitude.evaluation import n_fitted
from similitude.fitting.distributed import DistributedRows
from similitude.fitting.members import Family
from similitude.fitting.options import FitOptions
from similitude.fitting.rows import PILOT, TrainingRows
from similitude.landmarks import (
    AMONG_ALL,
    UNLABELED,
    Landmarks,
    Pool,
    at_most,
    choose,
    choose_among_all,
    describe_choice,
    interleaved,
)
from similitude.linear import gram_matrices
from similitude.support import error_prefix, generator, objects_at

FIRST, PER_CLASS = 100, 20
"""Landmarks to start with: at least this many, and at least this many for each class."""

MAX_WITH_ALL_ROWS = 2_000
"""Landmarks up to which every row may become one; beyond, half of the rows."""

MAX_AUTO_LANDMARKS = 2_400
"""Most landmarks if their number is not given."""

LARGEST_BY_RULE = 1_600
"""The same for rules that compute the similarities of all rows."""

JUDGED_ROWS = 5_000
"""Rows on which a number of landmarks may be judged; with more landmarks, three times as many rows."""

FIRST_OF_FAMILY = 1_200
"""Landmarks to begin with under a similarity that was chosen from a family, which is cheap: with every row for one, the
rows of rare classes are among them."""

FEATURE_ARRAYS = 4
"""Arrays of the size of the features that are in memory at once while the number of landmarks is chosen."""


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
    X, rows
        Objects and training rows; landmarks that are not among them were added with weight zero.
    limit : str
        What prevents more landmarks than the largest size.
    note : str or None
        From which rows of a collection they were chosen.
    """

    landmarks: Landmarks
    sizes: list[int]
    pilot: int
    X: Any
    rows: TrainingRows
    limit: str = "their number was given"
    note: str | None = None


def choose_landmarks(X: Any, data: TrainingRows, labels: np.ndarray | None, options: FitOptions) -> LandmarkChoice:
    """Choose landmarks in the order in which they are used, and the numbers of them to try."""
    if options.given is not None:
        given = options.given
        if options.n_landmarks not in ("auto", len(given)):
            raise ValueError(f"n_landmarks = {options.n_landmarks} but {len(given)} landmarks were given: leave it out")
        return LandmarkChoice(given, [len(given)], _pilot(options, data, len(given)), X, data)
    sizes, limit = _sizes(options, data, 1 if labels is None else max(2, data.Y.shape[1]))
    note, collection = None, data.sampling.all_rows if options.unlabeled is None else None
    if isinstance(collection, DistributedRows) and options.rule in AMONG_ALL:
        X, data, landmarks = _among_all(options.rule, X, data, collection, sizes[-1])
    else:
        with data.located():
            landmarks = _drawn(options, X, data, labels, sizes[-1])
    if isinstance(collection, DistributedRows):
        note = describe_choice(landmarks.rule, PILOT, collection.n)
    sizes = sorted({*map(min, sizes, [len(landmarks)] * len(sizes))})
    return LandmarkChoice(landmarks, sizes, _pilot(options, data, sizes[-1]), X, data, limit, note)


def _sizes(options: FitOptions, data: TrainingRows, n_classes: int) -> tuple[list[int], str]:
    """Return the numbers of landmarks to try, and what prevents more."""
    pooled = options.unlabeled is not None
    available = check_objects(options.unlabeled, "unlabeled") if pooled else data.n
    if options.n_landmarks != "auto":
        of = f"the {available:,} objects they are drawn from"
        return [at_most("n_landmarks", int(options.n_landmarks), available, of)], "their number was given"
    available = available if pooled else n_fitted(available)
    cheap = options.rule in ("auto", "uniform", "stratified")
    most = min(available, max(MAX_WITH_ALL_ROWS, available // 2), MAX_AUTO_LANDMARKS if cheap else LARGEST_BY_RULE)
    first, fits = max(FIRST, PER_CLASS * n_classes), _affordable(most, options, data)
    if isinstance(options.similarities[0], Family) and not data.similarities[0].hints.heavy:
        first = max(first, FIRST_OF_FAMILY)
    rows_end = "there are no more objects to choose them from" if most == available else f"{most:,} are the most tried"
    limit = rows_end if fits == most else "more do not fit into the memory budget"
    return _doubled(first, max(fits, min(first, most))), limit


def _doubled(first: int, last: int) -> list[int]:
    """Return numbers that double up to the last.

    >>> _doubled(100, 500)
    [100, 200, 500]
    """
    sizes = [min(first, last)]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    if len(sizes) > 2 and sizes[-1] < 1.5 * sizes[-2]:
        del sizes[-2]
    return sizes


def _affordable(most: int, options: FitOptions, data: TrainingRows) -> int:
    """Return the largest number of landmarks at which the features of enough rows fit into the memory budget."""
    n, fits, too_many = min(PILOT, data.n), 0, most + 1
    while too_many - fits > 1:
        middle = most if too_many == most + 1 and fits == 0 else (fits + too_many) // 2
        enough = _rows_that_fit(options, data, middle) >= min(n, max(JUDGED_ROWS, 3 * middle))
        fits, too_many = (middle, too_many) if enough else (fits, middle)
    return fits


def _pilot(options: FitOptions, data: TrainingRows, most: int) -> int:
    """Return how many rows choices are made on."""
    fits = _rows_that_fit(options, data, most)
    if fits < 2:
        raise MemoryError(f"{most:,} landmarks do not fit into the memory budget: use fewer, or a larger budget")
    return min(PILOT, fits)


def _rows_that_fit(options: FitOptions, data: TrainingRows, n_landmarks: int) -> int:
    """Return how many rows of features fit into the memory budget beside the Gram matrices of the landmarks."""
    one_sided = options.side in ("left", "right") or data.proven
    width = n_landmarks * (1 if one_sided else 2) * len(data.similarities)
    left = options.engine.budget - gram_matrices(width) * 8 * width**2
    return max(0, left) // (FEATURE_ARRAYS * width * data.itemsize)


def _drawn(options: FitOptions, X: Any, data: TrainingRows, labels: np.ndarray | None, most: int) -> Landmarks:
    """Return landmarks chosen by the rule, as many as may be needed."""
    rng, rule = generator(options.random_state), options.rule
    if rule == "auto":
        rule = "uniform" if data.proven or labels is None or options.unlabeled is not None else "stratified"
    if options.unlabeled is not None:
        return _from_pool(options, data, rule, most, rng)
    candidates = data.order[: max(most, min(PILOT, n_fitted(data.n)))]
    if rule == "uniform":
        which = candidates[:most]
    elif rule == "stratified":
        if labels is None:
            raise ValueError("landmarks='stratified' needs classes: use 'uniform'")
        which = candidates[interleaved(labels[candidates], rng)[:most]]
    else:
        few = np.sort(candidates)
        pool = Pool(data.similarities[0], rows(data.encodings[0], few), options.engine, None, rng, take(X, few))
        with objects_at(few):
            which = few[choose(rule, pool, min(most, len(few)))]
    return Landmarks(take(X, which), which, None, None if labels is None else labels[which], rule)


def _among_all(
    rule: str, X: Any, data: TrainingRows, collection: DistributedRows, most: int
) -> tuple[Any, TrainingRows, Landmarks]:
    """Choose among all rows of a collection except those held out, and add them to objects and rows in memory."""
    assert data.sampling.places is not None
    candidates = collection.candidates(data.sampling.places[np.concatenate(data.held_out())])
    objects, places = choose_among_all(rule, data.similarities[0], candidates, most)
    X, n = join(X, objects), len(data.Y)
    data = replace(
        data,
        encodings=tuple(k.encode_checked(X, "X") for k in data.similarities),
        Y=np.concatenate([data.Y, np.zeros_like(data.Y[:1]).repeat(len(places), axis=0)]),
        weights=np.concatenate([data.weights, np.zeros(len(places))]),
        sampling=replace(data.sampling, places=np.concatenate([data.sampling.places, places])),
    )
    return X, data, Landmarks(objects, np.arange(n, n + len(places)), rule=rule)


def _from_pool(options: FitOptions, data: TrainingRows, rule: str, most: int, rng: np.random.Generator) -> Landmarks:
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
