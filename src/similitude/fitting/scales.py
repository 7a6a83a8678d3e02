"""The scale of a similarity left at ``"median"``: the best of a few multiples of the median on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from similitude.compute import take
from similitude.fitting.choose_landmarks import LandmarkChoice
from similitude.fitting.fit import Validation, best_level
from similitude.fitting.options import FitOptions
from similitude.fitting.products import trial_by_products
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import PROJECTION
from similitude.linear import downhill
from similitude.similarity import Similarity, remembered_images

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the median that are tried."""

SCALE_ROWS = 5_000
"""Most rows on which scales are compared."""

SCALE_LANDMARKS = 1_000
"""Most landmarks with which scales are compared."""

Scores = tuple[tuple[str, float], ...]
"""Candidates with their losses."""

MEDIAN_KEPT = "{!r} has the median scale: others were not compared, because each costs another Gram matrix"
"""A note on costly similarities."""


def open_scales(k: Similarity) -> list[str]:
    """Return the parameters that are to be resolved to a median of the data.

    >>> from similitude.kernels import Gaussian, Linear
    >>> open_scales(Gaussian() + Linear()), open_scales(Gaussian(sigma=1.0))
    (['k1__sigma'], [])
    """
    unresolved = k.unresolved()
    given = k.get_params() if unresolved else {}
    return [name for name in unresolved if isinstance(given.get(name), str) and given[name] == "median"]


def keeps_median(k: Similarity, resolved: Similarity) -> bool:
    """Tell whether a scale left open stays at the median: each scale to compare would cost another Gram matrix."""
    return resolved.hints.heavy and bool(open_scales(k)) and len(open_scales(k)) == len(k.unresolved())


def choose_scales(data: TrainingSet, choice: LandmarkChoice, options: FitOptions) -> tuple[TrainingSet, int, Scores]:
    """Return the rows with each similarity at its best scale, how many combinations of scales there are, and losses."""
    pairs = zip(options.similarities, data.similarities, strict=True)
    names = [[] if keeps_median(k, resolved) else open_scales(k) for k, resolved in pairs]
    if not any(names):
        return data, 1, ()
    which, n_train, n_judged = data.pilot(min(SCALE_ROWS, choice.pilot))
    validation = Validation(data.Y[which], data.weights[which], n_train, n_judged, data.groups_of(which))
    first = choice.landmarks.only(np.arange(min(SCALE_LANDMARKS, len(choice.landmarks), n_train)))
    objects = take(data.X, which)
    by_products = len(names) == 1 and len(which) < data.n and data.sampling.all_rows is None and data.groups is None

    def loss(k: Similarity) -> float:
        encoded = first.encoded(k)
        sample = options.sample(k, k.encode(objects), which, encoded)
        if by_products and sample.representation.name == PROJECTION:
            A, B = sample.encoding, encoded.encoding
            trial = trial_by_products(k, A, B, validation.Y, validation.weights, options.engine)
            if trial is not None:
                return trial.loss
        return best_level([sample], len(first), validation).trial.loss

    similarities, encodings = list(data.similarities), list(data.encodings)
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
    """Return the similarity at the multiple with the smallest loss, and all that were tried with their losses.

    The search descends from the median.
    """
    tried: dict[int, tuple[Similarity, float]] = {}

    def at(place: int) -> float:
        if not 0 <= place < len(MULTIPLES):
            return np.inf
        if place not in tried:
            k = scaled(resolved, names, MULTIPLES[place])
            tried[place] = k, loss(k)
        return tried[place][1]

    best = downhill(at, MULTIPLES.index(1.0))
    return tried[best][0], sorted(tried.values(), key=lambda one: one[1])


def scaled(resolved: Similarity, names: list[str], multiple: float) -> Similarity:
    """Return the similarity with some parameters multiplied."""
    known = resolved.get_params()
    changed: Similarity = resolved.__copy__().set_params(**{name: multiple * float(known[name]) for name in names})
    return changed
