"""From examples to a linear model in the coordinates of landmarks: scale, number of landmarks, penalty."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from similitude.compute.encodings import Encoding, itemsize, rows, take
from similitude.compute.engines import EncodedBatch, Engine, remove_checkpoint
from similitude.data.sources import MAX_BATCH_ROWS
from similitude.estimators.landmark_count import (
    Columns,
    LandmarkCurve,
    Level,
    Sample,
    Setting,
    grown,
    on_their_roads,
)
from similitude.estimators.products import solve_by_products
from similitude.estimators.scales import MULTIPLES, SCALED_BY, SCALED_ON, best_scale, open_scales
from similitude.estimators.streams import MOST_HELD_OUT, Stream, check_features_fit, mapped, mapped_there, one_pass
from similitude.landmarks.chosen_landmarks import Landmarks
from similitude.landmarks.features import Coordinates, Together, View
from similitude.landmarks.pivots import named
from similitude.landmarks.representation import PROJECTION, Representation
from similitude.linear.held_out import HELD_OUT, n_fitted
from similitude.linear.linear import Linear
from similitude.linear.moments import Moments
from similitude.linear.ridge import Ridge, Trial
from similitude.similarity import Similarity
from similitude.similarity.base import remembered_images
from similitude.support.errors import NotAKernelError
from similitude.support.fingerprints import digest

PILOT = 20_000
"""Examples at most on which the number of landmarks is chosen; a fit to more then makes one pass over all."""


Marks = Callable[[], dict[str, str]]
"""Says what the sums of a pass belong to."""


class Rest(Protocol):
    """All rows, where the examples at hand are a sample of them."""

    n: int
    n_rows: int

    def moments(
        self,
        similarities: Sequence[Similarity],
        together: Together,
        held: np.ndarray,
        engine: Engine,
        size: int,
        marks: Marks,
    ) -> Moments:
        """Return the moments of the features of all rows but those held out, by place, in one pass."""

    def features(
        self, similarities: Sequence[Similarity], together: Together, engine: Engine, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, targets and weights of all rows with a weight, in their random order."""


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
    places : array of int, or None
        Where they stand in a larger whole, of which these are a sample or a part; None: they are the whole.
    rest : Rest or None
        The larger whole, of which these hold the first and the last in a random order of all; None: these are all.
    """

    similarities: tuple[Similarity, ...]
    encodings: tuple[Encoding, ...]
    Y: np.ndarray
    weights: np.ndarray
    order: np.ndarray
    places: np.ndarray | None = None
    rest: Rest | None = None

    @property
    def n(self) -> int:
        """How many there are with a weight, here or in the larger whole."""
        return len(self.order) if self.rest is None else self.rest.n

    @property
    def n_rows(self) -> int:
        """How many there are, with or without a weight."""
        return len(self.Y) if self.rest is None else self.rest.n_rows

    @property
    def itemsize(self) -> int:
        """Bytes of a similarity value."""
        return max(itemsize(A) for A in self.encodings)

    def some(self, most: int) -> tuple[np.ndarray, Sample]:
        """Return the positions of a sample, those held out last, and the sample."""
        n = min(most, self.n)
        fitted = n_fitted(n)
        which = np.concatenate([self.order[:fitted], self.last(n - fitted)])
        return which, Sample(self.Y[which], self.weights[which], fitted)

    def last(self, n: int) -> np.ndarray:
        """Return the positions of the last n in the random order."""
        return self.order[len(self.order) - n :]

    @contextmanager
    def named(self, landmarks: Landmarks | None) -> Iterator[None]:
        """Let an error name objects, and landmarks that are of X, by their places in the larger whole."""
        own = landmarks is not None and landmarks.positions is None
        try:
            with named(self.places, None if own else self.places):
                yield
        except NotAKernelError as error:
            if error.witness is None or self.places is None or own:
                raise
            at = tuple(int(self.places[i]) for i in error.witness.indices)
            raise NotAKernelError(error.problem, replace(error.witness, indices=at)) from error

    def moments(self, together: Together, held: np.ndarray, engine: Engine, marks: Marks) -> Moments:
        """Return the moments of the features of all rows but those held out, in one pass."""
        if self.rest is not None:
            places = held if self.places is None else self.places[held]
            return self.rest.moments(self.similarities, together, places, engine, self.itemsize, marks)
        return one_pass(together, functools.partial(self._batches, held), self.n_rows, engine, self.itemsize, marks)

    def _batches(self, held: np.ndarray, start: int) -> Iterator[EncodedBatch]:
        """Yield all rows from one on as ``(encodings, targets, weights)``; those held out have no weight."""
        weights = self.weights.copy()
        weights[held] = 0.0
        for a in range(start, len(self.Y), MAX_BATCH_ROWS):
            cut = slice(a, a + MAX_BATCH_ROWS)
            encoded = rows(self.encodings, cut), self.Y[cut], weights[cut]
            yield EncodedBatch(encoded, a, min(a + MAX_BATCH_ROWS, len(self.Y)))

    def features(self, together: Together, engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, targets and weights of all examples with a weight, in their random order."""
        size = self.itemsize
        if self.rest is None:
            F = mapped_there(together, rows(self.encodings, self.order), engine, size)
            return F, self.Y[self.order], self.weights[self.order]
        return self.rest.features(self.similarities, together, engine, size)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coordinates, and a ridge model in them.

    Attributes
    ----------
    coordinates : tuple of Coordinates
    representations : tuple of Representation
    linear : Linear
    trial : Trial
        How examples fared that the model was not fitted to.
    judged : tuple of arrays
        The targets and weights of these.
    growth : LandmarkCurve
        The held-out loss by the number of landmarks.
    n_landmarks : int
        How many were drawn.
    features : tuple of arrays, or None
        Features, targets and weights of all examples, where they were kept.
    """

    coordinates: tuple[Coordinates, ...]
    representations: tuple[Representation, ...]
    linear: Linear
    trial: Trial
    judged: tuple[np.ndarray, np.ndarray]
    growth: LandmarkCurve
    n_landmarks: int
    features: tuple[np.ndarray, np.ndarray, np.ndarray] | None


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

    with remembered_images(), examples.named(landmarks):
        for i, names in open_ones.items():
            similarities[i] = best_scale(similarities[i], names, loss)
            encodings[i] = similarities[i].encode(X)
    return replace(examples, similarities=tuple(similarities), encodings=tuple(encodings))


def fit_ridge(examples: Examples, landmarks: Landmarks, ask: Setting, pilot: int) -> Fitted:
    """Choose the number of landmarks and the penalty, and fit.

    Up to `pilot` examples are looked at while the number is chosen; where there are more, a last pass goes over all.
    """
    which, sample = examples.some(pilot)
    everything = len(which) == examples.n
    with examples.named(landmarks):
        columns = _columns(examples, landmarks, ask, which)
        if not everything and len(ask.sizes) == len(columns) == 1 and columns[0].representation.name == PROJECTION:
            solved = _by_products(examples, columns[0], ask)  # nothing is left to choose
            if solved is not None:
                return solved
            made = _projection(columns[0], ask.sizes[0])
            levels = [] if made is not None else _best_level(columns, ask.sizes, sample)
        else:
            made, levels = None, _best_level(columns, ask.sizes, sample)
    if made is not None:
        return _streamed(examples, (made,), columns, ask, ask.sizes[0])
    best = min((one for one in levels[-2:] if on_their_roads(one, columns)), key=lambda one: one.trial.loss)
    curve = LandmarkCurve.of([one.n for one in levels], [one.trial for one in levels], ask.limit)
    if not everything:
        return _streamed(examples, best.coordinates, columns, ask, best.n, curve)
    return _from_sample(examples, best, sample, columns, curve)


def _columns(examples: Examples, landmarks: Landmarks, ask: Setting, which: np.ndarray) -> list[Columns]:
    """Return the similarities of a sample to the landmarks, for each similarity."""
    own = landmarks.positions is None
    pairs = zip(examples.similarities, examples.encodings, strict=True)
    return [Columns(k, rows(A, which), which, landmarks.seen_by(k, None if own else A), ask) for k, A in pairs]


def _from_sample(
    examples: Examples, best: Level, sample: Sample, columns: Sequence[Columns], curve: LandmarkCurve
) -> Fitted:
    """Fit to a sample that holds all examples."""
    ridge, fitted, judged = best.ridge, sample.fitted, sample.judged
    if not sample.leaves_one_out:
        rest = Moments.of(best.F[fitted:], sample.Y[fitted:], sample.weights[fitted:])
        ridge = Ridge(ridge.moments + rest, best.trial.lam)
    linear = ridge.fit(best.trial.lam)
    coordinates = tuple(one.placed(examples.places) for one in best.coordinates)
    told = sample.Y[judged], sample.weights[judged]
    features = best.F, sample.Y, sample.weights
    return Fitted(coordinates, _roads(columns, coordinates), linear, best.trial, told, curve, best.n, features)


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
    """Fit to all examples, which are in memory, by products; None where moments are the way."""
    if examples.rest is not None:
        return None
    view, held = View(columns.k, columns.landmarks.only(np.arange(ask.sizes[0]))), _held(examples)
    A, order = examples.encodings[0], examples.order
    solved = solve_by_products(view, A, examples.Y, examples.weights, order, held, ask.engine)
    if solved is None:
        return None
    curve = LandmarkCurve.of(ask.sizes, [solved.trial], ask.limit)
    coordinates, told = (solved.coordinates.placed(examples.places),), (examples.Y[held], examples.weights[held])
    return Fitted(coordinates, (columns.representation,), solved.linear, solved.trial, told, curve, ask.sizes[0], None)


def _held(examples: Examples) -> np.ndarray:
    """Return the examples that a pass over all holds out."""
    return np.sort(examples.last(min(MOST_HELD_OUT, max(1, round(HELD_OUT * examples.n)))))


def _streamed(
    examples: Examples,
    coordinates: tuple[Coordinates, ...],
    columns: Sequence[Columns],
    ask: Setting,
    n_landmarks: int,
    curve: LandmarkCurve | None = None,
) -> Fitted:
    """Fit to all examples in one pass."""
    n, size, engine = examples.n, examples.itemsize, ask.engine
    coordinates = tuple(one.placed(examples.places) for one in coordinates)
    together = Together.of(coordinates, np.float32 if size == 4 else np.float64)
    if not ask.one_pass:
        check_features_fit(ask.loss, ask.penalty, n, len(together), size, engine)
    some = _held(examples)
    stream, told = Stream(), (examples.Y[some], examples.weights[some])
    with named(some if examples.places is None else examples.places[some], together.positions):
        F = mapped(together, rows(examples.encodings, some), engine.without_progress(), size)
    stream.hold(F, *told)
    together = together.for_sums(F)

    def marks() -> dict[str, str]:
        made = [part.leading for part in together.parts]
        return marks_of(coordinates, examples.n_rows, n, rows(examples.encodings, some), told, size, made)

    with named(examples.places if examples.rest is None else None, None):
        stream.learn(together.summed(examples.moments(together, some, engine, marks)))
    linear, trial, _ = stream.solve()
    remove_checkpoint(engine.checkpoint)
    curve = curve or LandmarkCurve.of(ask.sizes, [trial], ask.limit)
    return Fitted(coordinates, _roads(columns, coordinates), linear, trial, told, curve, n_landmarks, None)


def marks_of(coordinates: Sequence[Coordinates], *data: Any) -> dict[str, str]:
    """Return what the moments of a pass belong to: the version, the coordinates and the data."""
    views = [one.view for one in coordinates]
    parts = [(view.similarity.fingerprint(), view.side, view.landmarks.objects) for view in views]
    made = [(one.normalized, f"{one.unit:.6g}") for one in coordinates]
    model, data_ = digest((parts, made), 16).hex(), digest((MAX_BATCH_ROWS, data), 16).hex()
    return {"version": version("similitude"), "model": model, "data": data_}


def _roads(columns: Sequence[Columns], coordinates: Sequence[Coordinates]) -> tuple[Representation, ...]:
    pairs = zip(columns, coordinates, strict=True)
    return tuple(replace(one.representation, normalized=made.normalized) for one, made in pairs)


def n_choices(sizes: Sequence[int], given: Sequence[Similarity]) -> int:
    """Return how many models were compared: scales times numbers of landmarks."""
    return len(sizes) * int(np.prod([len(MULTIPLES) if open_scales(k) else 1 for k in given]))
