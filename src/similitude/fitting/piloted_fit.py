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
from similitude.evaluation import Trial, at_rows, first_minimum, groups_of_equals
from similitude.fitting.automatic import EVERY_ROW, in_double_precision
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.facts import Facts, FitOptions, open_scales
from similitude.fitting.influence import (
    DelayedInfluence,
    GroupInfluence,
    influence_in_ridge,
    solved_groups,
)
from similitude.fitting.model import FittedModel, LandmarkCurve, ScoredRows
from similitude.fitting.passes import FeatureUnion, features_of
from similitude.fitting.pilot_choice import (
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
    """Return the rounding error of sums in single precision, in units of the penalty: largest along the mean."""
    # rows whose mean similarity stands for that of all
    some = A[:200]
    return float(np.finfo(np.float32).eps * weights.sum() * np.abs(k.block(some, some)).mean())


@dataclass(frozen=True, eq=False)
class RowsOfSteps:
    """All rows of a fit in steps; the preconditioner takes the rows `own`, the landmarks, and `others`."""

    features: LandmarkFeatures
    A: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    others: np.ndarray
    options: FitOptions

    def fit(self, n: int, lam: float) -> tuple[LinearModel, Trial, DelayedInfluence]:
        """Choose a penalty, fit to all rows but the last n, which are those of the trial, and from there to all."""
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
            linear = LinearModel(U @ model.weights, model.intercept)
            rows = replace(self, features=replace(self.features, factor=U))
            groups = solved_groups(self.features.landmarks, self.Y.shape[1], self.options.classes)
            K = rows.similarities(lam)
            # the nearest landmark is the most similar one
            members = groups.members(*groups.nearness(replace(self.features, factor=None)), K, self.Y)

            def added() -> LinearModel:
                return rows.ridge(K, lam).of_groups(linear, self.Y, self.weights, lam, members)

            found = GroupInfluence.of_solution(groups, linear, members.group, self.Y, self.weights, added)
            return found.by_similarities(rows.features)


def fit_by_pilot(data: TrainingSet, options: FitOptions, facts: Facts) -> tuple[FittedModel, int]:
    """Choose on pilot rows, and fit to all rows; also return how many choices there were."""
    order = data.order
    groups = groups_of_equals(data.encodings[0], order)
    last = np.flatnonzero(np.bincount(groups)[groups] == 1)[-facts.n_outside_pilot :]
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
        influence = BlendInfluence(self.data.known[self.rows], self.weights, constant, (penalty,), (1.0,))
        linear = LinearModel(model.weights, constant)
        curve = self._curve([*self.choice.sizes, len(self.rows)], trial, EVERY_ROW)
        return replace(self._fit(LandmarkFeatures(k, landmarks), linear, trial, curve, influence), at=self.last)

    def with_landmarks(self, most: int) -> FittedModel:
        """Fit to all rows by the features of the first of them."""
        enough = self.choice.enough
        sizes = self.choice.sizes
        if enough is None:
            n = min(most, len(self.rows) // 2)
            reason = f"{n:,} are the most tried"
        else:
            n = min(2 * enough, len(self.rows) // 2)
            reason = f"{enough:,} did as well as all pilot rows, and 2 times as many are used"
            sizes = sizes[: sizes.index(enough) + 1]
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
        return self._fit(features, linear, trial, self._curve([*sizes, n], trial, reason), influence)

    def _directly(self, features: LandmarkFeatures) -> tuple[LinearModel, Trial, Any]:
        """Return the model on given features, the trial of rows that are left out alone, and the influence of rows."""
        F = features_of(FeatureUnion.of((features,), 8), (self._encoded(),), self.options.engine)
        ridge = Ridge(Moments.of(F, self.Y, self.weights), self.lam)
        left = ridge.left_out(F[self.last], self.Y[self.last], self.weights[self.last])(self.lam)
        assert left is not None
        targets = (F, self.Y, self.weights)
        places = self.data.located_at(self.rows)
        influence = influence_in_ridge(ridge, self.lam, (features,), targets, places, self.options.classes)
        return ridge.fit(self.lam), left, influence

    def _sizes(self, features: LandmarkFeatures, lam: float) -> tuple[np.ndarray | None, OpenVariance | None]:
        """Return features of held-out rows, and what all rows leave open; None in exact fits and for classes."""
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
