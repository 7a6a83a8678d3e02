"""Fits of one kernel of vectors whose choices are made on pilot rows: exact, or with landmarks where these suffice.

Rows that are held out take part in no choice, and equal no other row. Of up to 5,000 rows each of them is left out
alone, which costs little if they are the last rows of the Gram matrix: leaving them out needs only the last block of
the Cholesky factor. Of more rows they are predicted by a model of the others, from which that of all rows starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Blocks, take
from similitude.compute.engines import one_scipy_thread
from similitude.evaluation import Trial, at_rows, first_minimum
from similitude.fitting.automatic import EVERY_ROW, in_double_precision
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.facts import Facts, FitOptions, open_scales
from similitude.fitting.influence import (
    ClassInfluence,
    DelayedInfluence,
    GroupInfluence,
    influence_in_ridge,
    solved_groups,
)
from similitude.fitting.model import FittedModel, LandmarkCurve, ScoredRows
from similitude.fitting.passes import FeatureUnion, features_of
from similitude.fitting.pilot_choice import (
    LANDMARKS_FACTOR,
    PilotChoice,
    choose_on_pilot,
    factor_of_distinct,
    working_precision,
)
from similitude.fitting.spread import MOST_NOISE_FEATURES, OpenVariance, open_variance_of, variances
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import (
    PROJECTION,
    LandmarkFeatures,
    Landmarks,
    Representation,
    solve_rows,
    solver,
)
from similitude.linear import IteratedRidge, LinearModel, Moments, Ridge, exact_ridge, factorize
from similitude.similarity import Similarity
from similitude.support import ESTIMATE


def rounding_of_sums(k: Similarity, A: np.ndarray, weights: np.ndarray) -> float:
    """Return the rounding error of sums over all rows in single precision, in units of the penalty.

    It is largest along the mean of the features, whose squared length is the mean similarity.
    """
    # rows whose mean similarity stands for that of all
    some = A[:200]
    return float(np.finfo(np.float32).eps * weights.sum() * np.abs(k.block(some, some)).mean())


@dataclass(frozen=True, eq=False)
class RowsOfSteps:
    """All rows of a fit in steps, encoded in double precision, with targets and weights.

    The landmarks are the rows `own`, and `others` are the other rows of the preconditioner. The features have no factor
    while rows are only kept: it is as large as the square of the landmarks.
    """

    features: LandmarkFeatures
    A: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    others: np.ndarray
    options: FitOptions

    def fit(self, n: int, lam: float) -> tuple[LinearModel, Trial, DelayedInfluence]:
        """Choose a penalty, fit to all rows but some, and from there to all.

        The last n rows are held out from the model of the trial. As many before these compare penalties, from a first
        one on: with few landmarks, as on pilot rows, the best penalty is larger, so smaller ones are tried as long as
        they are better.
        """
        Y = self.Y
        weights = self.weights
        ridge = self.ridge(self.similarities(lam), lam)
        first, last = slice(len(Y) - 2 * n, len(Y) - n), slice(len(Y) - n, None)
        fitted = weights.copy()
        fitted[len(Y) - 2 * n :] = 0.0

        def trial(lam: float, model: LinearModel, rows: slice) -> Trial:
            return Trial.of(lam, ridge.scores(model, rows), Y[rows], weights[rows])

        def tried() -> Iterator[tuple[float, tuple[float, LinearModel]]]:
            lam = ridge.lam
            model = None
            while True:
                model = ridge.fit(Y, fitted, lam, model, 2e-3)
                yield trial(lam, model, first).loss, (lam, model)
                lam = lam / 10.0**0.5

        _, (lam, without) = first_minimum(tried())
        linear = ridge.fit(Y, weights, lam, without)
        if self.options.classes and Y.shape[1] > 1:  # codes of classes have the same sum for each row, as have scores
            W = linear.weights
            b = linear.intercept
            linear = LinearModel(W - W.mean(axis=1, keepdims=True), b - b.mean() + self.base.mean())
        by_similarities = LinearModel(self.features.similarity_weights(linear.weights), linear.intercept)
        kept = replace(self, features=replace(self.features, factor=None))
        influence = DelayedInfluence(self.base, lambda: kept.influence(by_similarities, lam))
        return linear, trial(lam, without, last), influence

    @property
    def base(self) -> np.ndarray:
        """The weighted mean of the targets."""
        return np.asarray(self.weights @ self.Y / self.weights.sum())

    @property
    def factor(self) -> np.ndarray:
        """The factor of the features."""
        assert self.features.factor is not None
        return self.features.factor

    def similarities(self, lam: float) -> np.ndarray:
        """Return the similarities of all rows to the landmarks, in the precision that leaves enough digits."""
        k = self.features.similarity
        dtype = np.dtype(np.float64)
        # how far the penalty must be above the rounding of sums over all rows if single precision is to be used.
        # Along a direction in which features hardly vary, rounding of the gradient is divided by the penalty: of 22
        # fits to 7,000 and 15,000 rows of five data sets, errors rose 24-fold to 10^9-fold in eight of the eleven
        # below 2.7, and by less than 0.2 % in the eleven above 4.6
        if lam >= 4.0 * rounding_of_sums(k, self.A, self.weights):
            dtype = np.dtype(working_precision(k, self.A, self.factor))
        A = self.A.astype(dtype, copy=False)
        return Blocks(k, A, A[self.own], engine=self.options.engine, itemsize=dtype.itemsize).whole()

    def ridge(self, K: np.ndarray, lam: float) -> IteratedRidge:
        """Return ridge regression on the features of similarities, preconditioned for a penalty."""
        F = solve_rows(K[self.others], solver(self.factor, K.dtype))
        return IteratedRidge(K, self.factor, self.own, self.others, F, self.weights, lam)

    def influence(self, model: LinearModel, lam: float) -> GroupInfluence:
        """Return what groups of rows add to the scores of a model by similarities, which has minimized a penalty."""
        with one_scipy_thread:
            L = self.A[self.own]
            U = factorize(self.features.similarity.block(L, L), 0.0)
            features = replace(self.features, factor=U)
            found = replace(self, features=features)._by_features(LinearModel(U @ model.weights, model.intercept), lam)
            return found.by_similarities(features)

    def _by_features(self, linear: LinearModel, lam: float) -> GroupInfluence:
        """Return what groups of rows add to the scores, with weights of the features."""
        Y = self.Y
        weights = self.weights
        m = len(self.own)
        outputs = self.Y.shape[1]
        groups = solved_groups(self.features.landmarks, outputs, self.options.classes)
        # the nearest landmark: the most similar one
        K = self.similarities(lam)
        near = replace(self.features, factor=None)
        members = groups.members(*groups.nearness(near), K, Y)
        counts = np.bincount(members.group, weights > 0, len(groups)).astype(np.intp)
        filled = counts > 0
        heads = groups.landmarks[filled]
        counts = counts[filled]
        kinds: Any = None if groups.classes is None else groups.classes[filled]
        if kinds is not None and len(groups) == outputs > 2:
            return ClassInfluence.of(linear, self.base, heads, counts, kinds)
        added = self.ridge(K, lam).of_groups(linear, Y, weights, lam, members)
        W = added.weights.reshape(m, len(groups), outputs)[:, filled].reshape(m, -1)
        b = added.intercept.reshape(len(groups), outputs)[filled].ravel()
        if kinds is None:
            inside = (members.group[:, None] == np.flatnonzero(filled)) * weights[:, None]
            kinds = inside.T @ Y / inside.sum(axis=0)[:, None]
        return GroupInfluence(heads, counts, kinds, self.base, (W,), b).with_columns(m)


def fit_by_pilot(data: TrainingSet, options: FitOptions, facts: Facts) -> tuple[FittedModel, int]:
    """Choose on pilot rows, and fit to all rows; also return how many choices there were.

    It is for one kernel of vectors with a unit diagonal, ridge regression, and landmarks of which nothing is asked.
    """
    order = data.order
    units = data.units(order)
    last = np.flatnonzero(np.bincount(units)[units] == 1)[-facts.n_outside_pilot :]
    order = np.concatenate([np.delete(order, last), order[last]])
    pilot = order[: len(order) - len(last)]
    scales = open_scales(options.similarities[0])
    choice = choose_on_pilot(
        data.similarities[0], scales, take(data.X, pilot), data.Y[pilot], data.weights[pilot], len(order), facts.few
    )
    held_out = np.arange(len(pilot), len(order))
    fit = _PilotedFit(data, options, order, data.Y[order], data.weights[order], held_out, choice, facts.few)
    found = fit.exact() if facts.few and choice.enough is None else fit.with_landmarks(facts.most_of_pilot)
    return found, choice.n_scales * len(found.curve.x)


@dataclass(frozen=True, eq=False)
class _PilotedFit:
    """All rows with a weight, of which the last are held out from choices, and what was chosen."""

    data: TrainingSet
    options: FitOptions
    rows: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    last: np.ndarray
    choice: PilotChoice
    few: bool

    def exact(self) -> FittedModel:
        """Fit to all rows, each of which is a landmark."""
        landmarks = self._landmarks(self.rows)
        k = self.choice.similarity
        penalty = self.choice.penalty
        mean = np.average(self.Y, axis=0, weights=self.weights)
        model, alone = exact_ridge(
            k, landmarks.encoding, self.Y - mean, self.weights, penalty, self.last, constant=True
        )
        constant = mean + model.intercept
        trial = self._trial(mean + alone)
        known = self.Y if landmarks.labels is None else landmarks.labels
        influence = BlendInfluence(known, self.weights, constant, (penalty,), (1.0,))
        linear = LinearModel(model.weights, constant)
        curve = self._curve([*self.choice.sizes, len(self.rows)], trial, EVERY_ROW)
        return replace(self._fit(LandmarkFeatures(k, landmarks), linear, trial, curve, influence), at=self.last)

    def with_landmarks(self, most: int) -> FittedModel:
        """Fit to all rows by the features of the first of them."""
        enough = self.choice.enough
        sizes = self.choice.sizes
        n = min(most if enough is None else LANDMARKS_FACTOR * enough, len(self.rows) // 2)
        k = self.choice.similarity
        landmarks = self._landmarks(self.rows[:n])
        sample = self.options.sample(k, landmarks.encoding, self.rows[:n], landmarks)
        factor = factor_of_distinct(sample.gram(n))
        own = factor.pivots
        features = LandmarkFeatures(k, landmarks.only(own), factor=factor.U)
        # number of outputs up to which conjugate gradients are faster than the Gram matrix of the features
        if not self.few and self.Y.shape[1] <= 32:
            # rows per landmark of the preconditioner
            some = min(int(2.0 * len(own)), len(self.Y) - 2 * len(self.last))
            others = np.setdiff1d(np.arange(some), own)
            steps = RowsOfSteps(features, self._encoded(), self.Y, self.weights, own, others, self.options)
            linear, trial, influence = steps.fit(len(self.last), self.lam)
        else:
            linear, trial, influence = self._directly(features)
        reason = f"{n:,} are the most tried"
        if enough is not None:
            reason = f"{enough:,} did as well as all pilot rows, and {LANDMARKS_FACTOR} times as many are used"
            sizes = sizes[: sizes.index(enough) + 1]
        return self._fit(features, linear, trial, self._curve([*sizes, n], trial, reason), influence)

    def _directly(self, features: LandmarkFeatures) -> tuple[LinearModel, Trial, Any]:
        """Return the model on given features, the trial of rows that are left out alone, and the influence of rows."""
        F = features_of(FeatureUnion.of((features,), 8), (self._encoded(),), self.options.engine)
        ridge = Ridge(Moments.of(F, self.Y, self.weights), self.lam)
        (left,) = ridge.left_out(F[self.last], self.Y[self.last], self.weights[self.last])([self.lam])
        targets = (F, self.Y, self.weights)
        places = self.data.located_at(self.rows)
        influence = influence_in_ridge(ridge, self.lam, (features,), targets, places, self.options.classes)
        return ridge.fit(self.lam), left, influence

    def _sizes(self, features: LandmarkFeatures, lam: float) -> tuple[np.ndarray | None, OpenVariance | None]:
        """Return features of held-out rows, by the first landmarks, and the variance that all rows leave open.

        Both are None in an exact fit, and for classes.
        """
        if self.options.classes or features.factor is None:
            return None, None
        some = np.arange(min(len(features.landmarks), MOST_NOISE_FEATURES))
        first = replace(features.only(some), factor=features.factor[: len(some), : len(some)])
        A = self._encoded()
        F = features_of(FeatureUnion.of((first,), 8), (A,), self.options.engine.without_progress())
        moments = Moments.of(F, self.Y, self.weights)
        last = self.last
        open_by = variances(self.Y, self.weights)
        return F[last], open_variance_of((features,), moments, lam, A[last], F[last], self.weights[last], open_by)

    def _encoded(self) -> Any:
        """Return all rows, encoded."""
        return self.choice.similarity.encode(in_double_precision(take(self.data.X, self.rows)))

    @property
    def lam(self) -> float:
        """The penalty, as a sum over rows with their weights has it."""
        return self.choice.penalty * float(self.weights.mean())

    def _landmarks(self, rows: np.ndarray) -> Landmarks:
        """Return rows as landmarks, encoded."""
        objects = in_double_precision(take(self.data.X, rows))
        encoded = self.choice.similarity.encode(objects)
        return Landmarks(objects, self.data.located_at(rows), encoded, at_rows(self.data.labels, rows), "uniform")

    def _trial(self, scores: np.ndarray) -> Trial:
        """Evaluate the scores of held-out rows."""
        return Trial.of(self.lam, scores, self.Y[self.last], self.weights[self.last])

    def _curve(self, sizes: list[int], last: Trial, reason: str) -> LandmarkCurve:
        """Return the losses of pilot rows by the number of landmarks, and that of the fit, on held-out rows."""
        tried = len(sizes) - 1
        y = np.array([*self.choice.losses[:tried], last.loss])
        spread = 1.96 * np.array([*self.choice.deviations[:tried], last.deviation])
        return LandmarkCurve(np.array(sizes, dtype=float), y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def _fit(
        self, features: LandmarkFeatures, linear: LinearModel, trial: Trial, curve: LandmarkCurve, influence: Any
    ) -> FittedModel:
        """Return the fit with what belongs to it."""
        landmarks = features.landmarks
        held_out = self.Y[self.last], self.weights[self.last]
        places = self.rows[: len(landmarks)]
        located = replace(landmarks, positions=places)
        sample = self.options.sample(features.similarity, landmarks.encoding, places, located)
        reason = sample.representation.reason
        if len(landmarks) == len(self.rows):
            reason = f"{reason}, and {EVERY_ROW}: the fit is exact"
        tried, left_open = self._sizes(features, trial.lam)
        return FittedModel(
            features=(features,),
            representations=(Representation(PROJECTION, reason),),
            linear=linear,
            trial=trial,
            held_out=held_out,
            curve=curve,
            influence=influence,
            evaluation=ScoredRows(trial, *held_out, positions=self.data.located_at(self.rows[self.last])),
            tried=tried,
            open_variance=left_open,
            landmarks=landmarks,
            samples=[sample],
        )
