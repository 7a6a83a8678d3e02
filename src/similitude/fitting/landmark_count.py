"""The number of landmarks: doubled until the held-out loss falls by less than one standard error."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from similitude.compute import Blocks, Encoding, as_numpy, itemsize, rows
from similitude.evaluation import Trial
from similitude.fitting.options import FitOptions
from similitude.landmarks import (
    EXAMINED,
    PROJECTION,
    Factor,
    LandmarkFeatures,
    Landmarks,
    choose_representation,
    factor_of_landmarks,
    in_double,
    in_floats,
    not_projected,
    sided,
)
from similitude.linear import Moments, Ridge
from similitude.similarity import Similarity
from similitude.support import ESTIMATE, Curve, pairs_at


class SampleFeatures:
    """Similarities of a sample of rows to landmarks, computed as far as they are asked for, and the features they give.

    Parameters
    ----------
    k : Similarity
        Resolved.
    among : encoding
        The sample, or rows that it is drawn from.
    places : array of int
        Positions of the sample in X.
    landmarks : Landmarks
        Encoded, in the order in which they are used.
    options : FitOptions
    which : array of int, optional
        The rows that are the sample, copied when they are first needed; by default all of them.
    """

    def __init__(
        self,
        k: Similarity,
        among: Encoding,
        places: np.ndarray,
        landmarks: Landmarks,
        options: FitOptions,
        which: np.ndarray | None = None,
    ) -> None:
        self.k, self.places, self.landmarks, self.engine = k, places, landmarks, options.engine
        self._among, self._which = among, which
        self.proven, self.sparse, self.single = k.proven, options.penalty == "l1", itemsize(among) == 4
        self._blocks: dict[str, list[np.ndarray]] = {"left": [], "right": []}
        self._gram = np.empty((0, 0))
        self._own = None if isinstance(among, np.ndarray) else rows_of(landmarks.positions, places)
        examined = not (self.proven or self.sparse or options.side in ("right", "both"))
        M = self.gram(min(EXAMINED, len(landmarks))) if examined else None
        self.representation = choose_representation(k, M, options.side, self.sparse, self.single)

    @cached_property
    def encoding(self) -> Encoding:
        """The sample."""
        return self._among if self._which is None else rows(self._among, self._which)

    def features(self, n: int, normalized: bool) -> tuple[LandmarkFeatures, np.ndarray]:
        """Return the features that the first n landmarks give, and their values for the sample."""
        side = self.representation.side
        if self.representation.name == PROJECTION:
            made = self.projection(n)
            if made is None:
                self.representation = not_projected(self.gram(n))
                return self.features(n, normalized)
            features, pivots = made
            K = self.similarities(n, "left")
            if len(pivots) < n or (pivots != np.arange(n)).any():
                K = np.take(K, pivots, axis=1)
            return features, features.ready(K.dtype).transform(np.ascontiguousarray(K))
        parts = [self.similarities(n, one) for one in (["left", "right"] if side == "both" else [side])]
        features = LandmarkFeatures(self.k, self.landmarks.only(np.arange(n)), side, normalized=normalized)
        return features, features.transform(np.concatenate(parts, axis=1))

    def projection(self, n: int) -> tuple[LandmarkFeatures, np.ndarray] | None:
        """Return the projection onto the first n landmarks and its pivots; None if their Gram matrix is not PSD."""
        factor: Factor | None = factor_of_landmarks(self.gram(n), self.single, self.proven)
        if factor is None:
            return None
        return LandmarkFeatures(self.k, self.landmarks.only(factor.pivots), factor=factor.U), factor.pivots

    def similarities(self, n: int, side: str) -> np.ndarray:
        """Return the similarities to the first n landmarks; known ones are not computed again."""
        blocks = self._blocks[side]
        known = sum([block.shape[1] for block in blocks])
        if known < n:
            symmetric = side == "left" and self._own is not None and self.proven and self.k.hints.heavy
            every_row = np.arange(len(self.places))
            values = self._by_symmetry(known, n) if symmetric else self._compared(every_row, known, n, side)
            blocks.append(in_floats(values))
        return np.concatenate(blocks, axis=1)[:, :n]

    def _compared(self, which: np.ndarray, known: int, n: int, side: str) -> np.ndarray:
        """Return the similarities of some rows to the landmarks from `known` to n - 1."""
        new, positions = np.arange(known, n), self.landmarks.positions
        like, columns = sided(self.k, rows(self.landmarks.encoding, new), side)
        A = self.encoding if len(which) == len(self.places) else rows(self.encoding, which)
        with pairs_at(self.places[which], None if positions is None else positions[new]):
            return Blocks(like, A, columns, engine=self.engine, itemsize=itemsize(A)).whole()

    def _by_symmetry(self, known: int, n: int) -> np.ndarray:
        """Return the similarities of all rows to the landmarks from `known` to n - 1, each pair of landmarks once."""
        old, new = self._own[:known], self._own[known:n]  # type: ignore[index]
        others = np.setdiff1d(np.arange(len(self.places)), [*old, *new])
        with pairs_at(self.places[new], self.places[new]):
            A = rows(self.encoding, new)
            gram = Blocks(self.k, A, symmetric=True, engine=self.engine, itemsize=itemsize(A)).whole()
        values = np.empty((len(self.places), n - known), gram.dtype)
        values[new] = gram
        if known:
            values[old] = self.similarities(known, "left")[new].T
        if len(others):
            values[others] = self._compared(others, known, n, "left")
        return values

    @property
    def n_known(self) -> int:
        """The number of landmarks to which all similarities are known, or all landmarks if none is known."""
        known = [sum([block.shape[1] for block in blocks]) for blocks in self._blocks.values() if blocks]
        return min(known) if known else len(self.landmarks)

    def restricted(self, order: np.ndarray, which: np.ndarray) -> SampleFeatures:
        """Return the same for rows in another order, and for some of the landmarks that they were compared with."""
        which = which[which < self.n_known]
        made = copy.copy(self)
        made.encoding, made.places = rows(self.encoding, order), self.places[order]
        made.landmarks = self.landmarks.only(which)
        made._blocks = {
            side: [np.concatenate(blocks, axis=1)[np.ix_(order, which)]] if blocks else []
            for side, blocks in self._blocks.items()
        }
        examined = which[which < len(self._gram)]
        made._gram = self._gram[np.ix_(examined, examined)]
        made._own = None if self._own is None else rows_of(made.landmarks.positions, made.places)
        return made

    @property
    def largest(self) -> float:
        """The largest magnitude of a similarity that was computed."""
        blocks = [*self._blocks["left"], *self._blocks["right"], self._gram]
        return max([float(np.abs(block).max(initial=0.0)) for block in blocks])

    def gram(self, n: int) -> np.ndarray:
        """Return the Gram matrix of the first n landmarks in float64.

        Without a proof every pair is computed, once. With one, and for objects other than vectors, values are taken
        from the similarities of the sample if all landmarks are rows of it.
        """
        if self._own is not None and self.proven and self.similarities(n, "left").dtype == np.float64:
            return self.similarities(n, "left")[self._own[:n]]
        A = in_double(self.k, self.landmarks.only(np.arange(n)))
        if self.proven:
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
        at = self.landmarks.positions if self.landmarks.positions is not None else np.arange(len(self.landmarks))
        with pairs_at(at[down], at[right]):
            blocks = Blocks(self.k, rows(A, down), rows(A, right), engine=self.engine, itemsize=itemsize(A))
            values = as_numpy(blocks.whole())
        self.single = self.single or values.dtype == np.float32
        return values


def rows_of(positions: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
    """Return which rows of the sample the landmarks are; None if one of them is not in the sample."""
    if positions is None:
        return None
    row = dict(zip(places.tolist(), range(len(places)), strict=True))
    own = np.array(list(map(row.get, positions.tolist())), dtype=float)
    return None if np.isnan(own).any() else own.astype(np.intp)


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

    def agrees_with(self, samples: Sequence[SampleFeatures]) -> bool:
        """Tell whether its features have the present representations: more landmarks may have changed one."""
        pairs = zip(self.features, samples, strict=True)
        return all([(made.factor is not None) == (now.representation.name == PROJECTION) for made, now in pairs])


def doubled(samples: Sequence[SampleFeatures], sizes: Sequence[int], validation: Validation) -> Iterator[Level]:
    """Yield one level after another, up to the first that gains less than one standard error over the one before."""
    before: Level | None = None
    for n in sizes:
        near = None if before is None else before.trial.lam / before.ridge.unit
        now = best_level(samples, n, validation, near)
        yield now
        if before is not None and not before.agrees_with(samples):
            before = None
        if before is not None and now.trial.loss > before.trial.loss - before.trial.deviation:
            return
        before = now


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


@dataclass(frozen=True)
class LandmarkCurve(Curve):
    """The held-out loss by the number of landmarks, and why there are not more.

    Attributes
    ----------
    x : array
        Numbers of landmarks.
    y, low, high : array
        The mean squared error on rows that the model was not fitted to, with normal intervals.
    level, grade
    reason : str
        Why the last number is the last.
    """

    reason: str

    @classmethod
    def of(cls, sizes: Sequence[int], trials: Sequence[Trial], limit: str, largest: int | None = None) -> LandmarkCurve:
        """Return the curve of some trials; `limit` says what prevents more landmarks than the largest possible number.

        `largest` is that number; by default the last one that was tried.
        """
        x, y = np.array(sizes, dtype=float), np.array([one.loss for one in trials])
        spread = 1.96 * np.array([one.deviation for one in trials])
        slow = largest is not None and sizes[-1] < largest
        reason = "the last doubling gained less than one standard error" if slow else limit
        if len(trials) > 1 and trials[-1].loss > trials[-2].loss:
            reason = f"with {sizes[-1]:,} the held-out loss was no better"
        return cls.of_losses(x, y, spread, reason)

    @classmethod
    def of_losses(cls, x: np.ndarray, y: np.ndarray, spread: np.ndarray, reason: str) -> LandmarkCurve:
        """Return the curve of losses, given half the length of their intervals."""
        return cls(x, y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  not more, because {self.reason}"
