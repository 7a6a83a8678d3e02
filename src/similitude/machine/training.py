"""From examples to a linear model in the coordinates of landmarks: scale, number of landmarks, penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.encodings import Encoding, itemsize, rows, take
from similitude.machine.growth import HELD_OUT, Columns, Growth, Level, Sample, Setting, grown, n_fitted, on_their_roads
from similitude.machine.heads.linear import Linear
from similitude.machine.heads.ridge import Ridge, Trial
from similitude.machine.moments import Moments
from similitude.machine.pools import Landmarks
from similitude.machine.products import solve_by_products
from similitude.machine.roads import PROJECTION, Road
from similitude.machine.scales import MULTIPLES, SCALED_BY, SCALED_ON, best_scale, open_scales
from similitude.machine.streams import MOST_HELD_OUT, one_pass
from similitude.machine.views import Coordinates, Together, View
from similitude.similarity import Similarity
from similitude.similarity.base import remembered_images

PILOT = 20_000
"""Examples at most on which the number of landmarks is chosen; a fit to more then makes one pass over all."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Training examples, encoded for each similarity.

    Attributes
    ----------
    similarities : tuple of Similarity
        Resolved.
    encodings : tuple of encodings
        One for each similarity.
    Y : array of shape (n, k)
        Targets.
    weights : array of shape (n,)
    order : array of int
        A random order of those with a weight; the last ones are held out where not all are judged.
    """

    similarities: tuple[Similarity, ...]
    encodings: tuple[Encoding, ...]
    Y: np.ndarray
    weights: np.ndarray
    order: np.ndarray

    @property
    def itemsize(self) -> int:
        """Bytes of a similarity value."""
        return max(itemsize(A) for A in self.encodings)

    def some(self, most: int) -> tuple[np.ndarray, Sample]:
        """Return the positions of a sample, those held out last, and the sample."""
        n = min(most, len(self.order))
        fitted = n_fitted(n)
        which = np.concatenate([self.order[:fitted], self.order[len(self.order) - (n - fitted) :]])
        return which, Sample(self.Y[which], self.weights[which], fitted)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coordinates, and a ridge model in them.

    Attributes
    ----------
    coordinates : tuple of Coordinates
    roads : tuple of Road
    linear : Linear
    trial : Trial
        How examples fared that the model was not fitted to; at the places `judged` in X.
    judged : array of int
    growth : Growth
        The held-out loss by the number of landmarks.
    n_landmarks : int
        How many were drawn.
    F : array or None
        The features of all examples in X's order `rows`, where they were kept.
    rows : array of int
    """

    coordinates: tuple[Coordinates, ...]
    roads: tuple[Road, ...]
    linear: Linear
    trial: Trial
    judged: np.ndarray
    growth: Growth
    n_landmarks: int
    F: np.ndarray | None
    rows: np.ndarray


def with_scales(
    examples: Examples, given: Sequence[Similarity], X: Any, landmarks: Landmarks, ask: Setting, pilot: int
) -> Examples:
    """Return the examples with each similarity at the best of a few scales, where its scale was left open."""
    which, sample = examples.some(min(SCALED_ON, pilot))
    first = landmarks.only(min(SCALED_BY, len(landmarks), sample.fitted))
    similarities, encodings = list(examples.similarities), list(examples.encodings)
    open_ones = {i: names for i, names in enumerate(open_scales(k) for k in given) if names}
    objects = take(X, which) if open_ones else None

    def loss(k: Similarity) -> float:
        columns = Columns(k, k.encode(objects), which, first.seen_by(k, None), ask)
        return next(grown([columns], [len(first)], sample)).trial.loss

    with remembered_images():
        for i, names in open_ones.items():
            similarities[i] = best_scale(similarities[i], names, loss)
            encodings[i] = similarities[i].encode(X)
    return replace(examples, similarities=tuple(similarities), encodings=tuple(encodings))


def fit_ridge(examples: Examples, landmarks: Landmarks, ask: Setting, pilot: int) -> Fitted:
    """Choose the number of landmarks and the penalty, and fit.

    Up to `pilot` examples are looked at while the number is chosen; where there are more, a last pass goes over all.
    """
    which, sample = examples.some(pilot)
    pairs = list(zip(examples.similarities, examples.encodings, strict=True))
    own = landmarks.positions is None
    columns = [Columns(k, rows(A, which), which, landmarks.seen_by(k, None if own else A), ask) for k, A in pairs]
    everything = len(which) == len(examples.order)
    if not everything and len(ask.sizes) == len(columns) == 1 and columns[0].road.name == PROJECTION:
        solved = _by_products(examples, columns[0], ask)  # nothing is left to choose
        if solved is not None:
            return solved
        made = _projection(columns[0], ask.sizes[0])
        if made is not None:
            return _streamed(examples, (made,), columns, ask, ask.sizes[0])
    levels = _best_level(columns, ask.sizes, sample)
    best = min((one for one in levels[-2:] if on_their_roads(one, columns)), key=lambda one: one.trial.loss)
    curve = Growth.of([one.n for one in levels], [one.trial for one in levels], ask.limit)
    if not everything:
        return _streamed(examples, best.coordinates, columns, ask, best.n, curve)
    ridge, fitted = best.ridge, sample.fitted
    if not sample.leaves_one_out:
        rest = Moments.of(best.F[fitted:], sample.Y[fitted:], sample.weights[fitted:])
        ridge = Ridge(ridge.moments + rest)
    linear = ridge.fit(best.trial.lam)
    roads = _roads(columns, best.coordinates)
    return Fitted(best.coordinates, roads, linear, best.trial, which[sample.judged], curve, best.n, best.F, which)


def _best_level(columns: Sequence[Columns], sizes: Sequence[int], sample: Sample) -> list[Level]:
    """Return the levels tried, without the features of those that are of no further use."""
    levels: list[Level] = []
    for level in grown(columns, sizes, sample):
        if len(levels) > 1:
            levels[-2] = replace(levels[-2], F=np.empty((0, 0)), ridge=None)  # type: ignore[arg-type]
        levels.append(level)
    return levels


def _projection(columns: Columns, n: int) -> Coordinates | None:
    """Return the coordinates by n landmarks without looking at examples; None where they show that there are none."""
    factor = columns.factor(n)
    return None if factor is None else Coordinates(View(columns.k, columns.landmarks.only(factor.pivots)), factor.U)


def _by_products(examples: Examples, columns: Columns, ask: Setting) -> Fitted | None:
    """Fit to all examples by products; None where moments are the way."""
    n, view = ask.sizes[0], View(columns.k, columns.landmarks.only(np.arange(ask.sizes[0])))
    held = _held(examples)
    solved = solve_by_products(view, examples.encodings[0], examples.Y, examples.weights, held, ask.engine)
    if solved is None:
        return None
    curve = Growth.of(ask.sizes, [solved.trial], ask.limit)
    nothing = np.empty(0, dtype=int)
    return Fitted((solved.coordinates,), (columns.road,), solved.linear, solved.trial, held, curve, n, None, nothing)


def _held(examples: Examples) -> np.ndarray:
    """Return the examples that a pass over all holds out."""
    n = len(examples.order)
    return np.sort(examples.order[n - min(MOST_HELD_OUT, max(1, round(HELD_OUT * n))) :])


def _streamed(
    examples: Examples,
    coordinates: tuple[Coordinates, ...],
    columns: Sequence[Columns],
    ask: Setting,
    n_landmarks: int,
    curve: Growth | None = None,
) -> Fitted:
    """Fit to all examples in one pass."""
    size, held = examples.itemsize, _held(examples)
    together = Together.of(coordinates, np.float32 if size == 4 else np.float64)
    args = (examples.encodings, examples.Y, examples.weights, held, ask.engine, size)
    linear, trial, _ = one_pass(together, *args).solve()
    curve = curve or Growth.of(ask.sizes, [trial], ask.limit)
    roads = _roads(columns, coordinates)
    return Fitted(coordinates, roads, linear, trial, held, curve, n_landmarks, None, np.empty(0, dtype=int))


def _roads(columns: Sequence[Columns], coordinates: Sequence[Coordinates]) -> tuple[Road, ...]:
    pairs = zip(columns, coordinates, strict=True)
    return tuple(replace(one.road, normalised=made.normalised) for one, made in pairs)


def n_choices(sizes: Sequence[int], given: Sequence[Similarity]) -> int:
    """Return how many models were compared: scales times numbers of landmarks."""
    return len(sizes) * int(np.prod([len(MULTIPLES) if open_scales(k) else 1 for k in given]))
