"""How many landmarks: twice as many, until held-out examples gain less than one standard error by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, as_numpy, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.landmarks.chosen_landmarks import Chosen, faced
from similitude.landmarks.features import Coordinates, View, in_floats
from similitude.landmarks.pivots import named
from similitude.landmarks.representation import (
    LOOKED_AT,
    PROJECTION,
    SIMILARITIES,
    Representation,
    decide,
    projected,
    why_not_projected,
)
from similitude.landmarks.triangular import Factor
from similitude.linear import Moments, Ridge, Trial
from similitude.maps.projection import in_double
from similitude.similarity import Similarity
from similitude.support.results import ESTIMATE, Curve


@dataclass(frozen=True, eq=False)
class Sample:
    """Examples on which choices are made; those held out come last.

    Attributes
    ----------
    Y : array of shape (n, k)
        Targets.
    weights : array of shape (n,)
    fitted : int
        So many are fitted to; n where each is judged by the others.
    """

    Y: np.ndarray
    weights: np.ndarray
    fitted: int

    @property
    def leaves_one_out(self) -> bool:
        """Whether each example is judged by a model of all the others."""
        return self.fitted == len(self.Y)

    @property
    def judged(self) -> slice:
        """Which examples are judged."""
        return slice(0 if self.leaves_one_out else self.fitted, len(self.Y))

    def moments(self, F: np.ndarray) -> Moments:
        """Return the moments of those fitted to."""
        return Moments.of(F[: self.fitted], self.Y[: self.fitted], self.weights[: self.fitted])

    def try_ridge(self, F: np.ndarray, near: float | None) -> tuple[Ridge, Trial]:
        """Return ridge regression on those fitted to, and the trial of its best penalty."""
        ridge = Ridge(self.moments(F))
        judged = F[self.judged], self.Y[self.judged], self.weights[self.judged]
        way = ridge.left_out if self.leaves_one_out else ridge.held_out
        return ridge, ridge.best(way(*judged), near)


@dataclass(frozen=True, eq=False)
class Setting:
    """What was asked for.

    Attributes
    ----------
    sizes : sequence of int
        Numbers of landmarks to try, one after the other.
    side : str
    loss, penalty : str
    engine : Engine
    limit : str
        What stands against more landmarks than the last size.
    """

    sizes: Sequence[int]
    side: str
    loss: str
    penalty: str
    engine: Engine
    limit: str = ""

    @property
    def sparse(self) -> bool:
        """Whether the penalty chooses among landmarks."""
        return self.penalty == "l1"

    @property
    def one_pass(self) -> bool:
        """Whether one pass over the features is enough: least squares with a quadratic penalty."""
        return (self.loss, self.penalty) == ("squared", "l2")


class Columns:
    """The similarities of a sample to landmarks in their order, computed as far as they are asked for.

    Parameters
    ----------
    k : Similarity
        Resolved.
    A : encoding
        The sample.
    places : array of int
        Where the sample stands in X.
    landmarks : Chosen
        In the order in which they are taken.
    ask : Setting
        What was asked for.
    """

    def __init__(self, k: Similarity, A: Encoding, places: np.ndarray, landmarks: Chosen, ask: Setting) -> None:
        self.k, self.A, self.places, self.landmarks, self.engine = k, A, places, landmarks, ask.engine
        self.sparse, self.single = ask.sparse, itemsize(A) == 4
        self._blocks: dict[str, list[np.ndarray]] = {"left": [], "right": []}
        self._gram = np.empty((0, 0))
        self._own = None if isinstance(A, np.ndarray) else own_rows(landmarks.positions, places)
        looks = not (k.proof().holds or ask.sparse or ask.side in ("right", "both"))
        M = self.gram(min(LOOKED_AT, count(landmarks.encoding))) if looks else None
        self.representation = decide(k, M, ask.side, ask.sparse, self.single)

    def coordinates(self, n: int, normalized: bool) -> tuple[Coordinates, np.ndarray]:
        """Return the coordinates by the first n landmarks, and the features of the sample."""
        view = View(self.k, self.landmarks.only(np.arange(n)), self.representation.side)
        if self.representation.name == PROJECTION:
            factor = self.factor(n)
            if factor is None:
                self.representation = Representation(SIMILARITIES, why_not_projected(self.gram(n)), "left")
                return self.coordinates(n, normalized)
            made = Coordinates(view.only(factor.pivots), factor.U)
            K = self._values(n, "left")
            if len(factor.pivots) < n or (factor.pivots != np.arange(n)).any():
                K = np.take(K, factor.pivots, axis=1)
            return made, made.prepared(K.dtype).features(np.ascontiguousarray(K))
        sides = ["left", "right"] if view.side == "both" else [view.side]
        K = np.concatenate([self._values(n, side) for side in sides], axis=1)
        made = Coordinates(view, None, normalized)
        return made, made.prepared(K.dtype).features(K)

    def _values(self, n: int, side: str) -> np.ndarray:
        """Return the similarities to the first n landmarks; those known are not asked for again."""
        blocks = self._blocks[side]
        known = sum(block.shape[1] for block in blocks)
        if known < n:
            like, columns = faced(self.k, rows(self.landmarks.encoding, np.arange(known, n)), side)
            asked = self.landmarks.positions[known:n] if self.landmarks.positions is not None else None
            with named(self.places, asked):
                whole = Blocks(like, self.A, columns, engine=self.engine, itemsize=itemsize(self.A)).whole()
            blocks.append(in_floats(whole))
        return np.concatenate(blocks, axis=1)[:, :n]

    def factor(self, n: int) -> Factor | None:
        """Return the factor of the Gram matrix of the first n landmarks; None where there is none to project with."""
        return projected(self.gram(n), self.single, self.k.proof().holds)

    def gram(self, n: int) -> np.ndarray:
        """Return the Gram matrix of the first n landmarks in float64.

        Without a proof every pair is computed, and none again when more landmarks are asked for. With one, those of
        objects that are no vectors are taken from the sample's similarities where all landmarks are of the sample.
        """
        if self._own is not None and self.k.proof().holds and self._values(n, "left").dtype == np.float64:
            return self._values(n, "left")[self._own[:n]]
        A = in_double(self.k, self.landmarks.only(np.arange(n)))
        if self.k.proof().holds:
            return as_numpy(Blocks(self.k, A, A, True, self.engine, itemsize(A)).whole()).astype(np.float64, copy=False)
        known = len(self._gram)
        if known < n:
            whole = np.empty((n, n))
            whole[:known, :known] = self._gram
            whole[known:] = self._pairs(A, slice(known, n), slice(0, n))
            whole[:known, known:] = self._pairs(A, slice(0, known), slice(known, n)) if known else 0.0
            self._gram = whole
        return self._gram[:n, :n]

    def _pairs(self, A: Encoding, down: slice, right: slice) -> np.ndarray:
        """Return some of the landmarks' Gram matrix."""
        at = self.landmarks.positions if self.landmarks.positions is not None else np.arange(count(A))
        with named(at[down], at[right]):
            blocks = Blocks(self.k, rows(A, down), rows(A, right), engine=self.engine, itemsize=itemsize(A))
            values = as_numpy(blocks.whole())
        self.single = self.single or values.dtype == np.float32
        return values


def own_rows(positions: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
    """Return which rows of the sample the landmarks are; None where one of them is not of the sample."""
    if positions is None:
        return None
    row = {place: i for i, place in enumerate(places.tolist())}
    own = [row.get(position, -1) for position in positions.tolist()]
    return None if -1 in own else np.array(own, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Level:
    """A number of landmarks, and how held-out examples fare with them.

    Attributes
    ----------
    n : int
    coordinates : tuple of Coordinates
        One for each similarity.
    F : array
        The features of the sample.
    ridge : Ridge
        On those fitted to.
    trial : Trial
        With the best penalty.
    """

    n: int
    coordinates: tuple[Coordinates, ...]
    F: np.ndarray
    ridge: Ridge
    trial: Trial


@dataclass(frozen=True)
class LandmarkCurve(Curve):
    """The held-out loss by the number of landmarks, and why there are not more.

    Attributes
    ----------
    x : array
        Numbers of landmarks.
    y, low, high : array
        The mean squared error on examples that the model was not fitted to, with normal intervals.
    level, grade
    reason : str
        Why the last number is the last.
    """

    reason: str

    @classmethod
    def of(cls, sizes: Sequence[int], trials: Sequence[Trial], limit: str) -> LandmarkCurve:
        """Return the curve of some trials; `limit` says what stood against more landmarks."""
        x, y = np.array(sizes, dtype=float), np.array([one.loss for one in trials])
        spread = 1.96 * np.array([one.deviation for one in trials])
        slow = len(trials) > 1 and trials[-1].loss > trials[-2].loss - trials[-2].deviation
        reason = "the last doubling gained less than one standard error" if slow else limit
        return cls(x, y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  not more, because {self.reason}"


def on_their_roads(one: Level, columns: Sequence[Columns]) -> bool:
    """Tell whether a level is on the representations that the similarities are on by now: more landmarks may show another."""
    pairs = zip(one.coordinates, columns, strict=True)
    return all((made.factor is None) == (now.representation.name == SIMILARITIES) for made, now in pairs)


def level(columns: Sequence[Columns], n: int, sample: Sample, near: float | None = None) -> Level:
    """Try n landmarks; similarities that go in as they are, also divided by their length.

    The latter must gain more than one standard error, as a further doubling must.
    """
    found = _level(columns, n, sample, near, normalized=False)
    if all(one.representation.name == PROJECTION or one.sparse for one in columns):  # a length needs every landmark
        return found
    other = _level(columns, n, sample, near, normalized=True)
    return other if other.trial.loss < found.trial.loss - found.trial.deviation else found


def _level(columns: Sequence[Columns], n: int, sample: Sample, near: float | None, normalized: bool) -> Level:
    made, features = zip(*(one.coordinates(n, normalized) for one in columns), strict=True)
    F = features[0]
    if len(made) > 1:
        units = [_unit(one) for one in features]
        F = np.concatenate([one / one.dtype.type(unit) for one, unit in zip(features, units, strict=True)], axis=1)
        made = tuple(replace(one, unit=unit) for one, unit in zip(made, units, strict=True))
    return Level(n, tuple(made), F, *sample.try_ridge(F, near))


def _unit(F: np.ndarray) -> float:
    """Return the root mean square length of the features: similarities side by side count alike."""
    squared = float(np.einsum("ij,ij->", F, F, dtype=np.float64)) / len(F)
    return float(np.sqrt(squared)) if squared > 0 else 1.0


def grown(columns: Sequence[Columns], sizes: Sequence[int], sample: Sample) -> Iterator[Level]:
    """Yield level after level, up to the first that gains less than one standard error over the one before."""
    before: Level | None = None
    for n in sizes:
        now = level(columns, n, sample, None if before is None else before.trial.lam / before.ridge.unit)
        yield now
        if before is not None and not on_their_roads(before, columns):
            before = None
        if before is not None and now.trial.loss > before.trial.loss - before.trial.deviation:
            return
        before = now
