"""Fits of one kernel of vectors whose choices are made on pilot rows: exact, or with landmarks where these suffice.

Rows that judge the model take part in no choice, and equal no other row. Of up to 5,000 rows each of them is left out
alone, which costs little if they are the last rows of the Gram matrix: leaving them out needs only the last block of
the Cholesky factor. Of more rows they are judged by a model of the others, from which that of all rows starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Blocks, take
from similitude.compute.engines import one_scipy_thread
from similitude.evaluation import Trial, at_rows, groups_of_equals
from similitude.fitting.automatic import EVERY_ROW
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
from similitude.linear import IteratedRidge, LinearModel, Moments, Ridge, factorize
from similitude.similarity import Similarity
from similitude.support import ESTIMATE

PENALTY_STEP = 10.0**0.5
"""The ratio of penalties that are compared."""


class IteratedFit(NamedTuple):
    """A model of all rows, how the rows that judge fare under a model of others, and the influence of rows."""

    linear: LinearModel
    judged: Trial
    influence: DelayedInfluence


def fit_by_steps(
    features: LandmarkFeatures,
    own: np.ndarray,
    A: np.ndarray,
    targets: tuple[np.ndarray, np.ndarray],
    n_judging: int,
    lam: float,
    options: FitOptions,
) -> IteratedFit:
    """Choose a penalty, fit to all rows but those that choose and judge, and from there to all.

    Parameters
    ----------
    features : LandmarkFeatures
        Projected, of landmarks that are among the first rows.
    own : array of int
        Which rows the landmarks are.
    A : array
        The rows, encoded in double precision.
    targets : tuple of arrays
        Targets and weights.
    n_judging : int
        How many rows judge, the last ones; as many before these compare penalties.
    lam : float
        The penalty that is tried first.
    options : FitOptions
    """
    Y, weights = targets
    learned = len(Y) - 2 * n_judging
    # rows per landmark of the preconditioner
    others = np.setdiff1d(np.arange(min(int(2.0 * len(own)), learned)), own)
    rows = RowsOfSteps(features, A, Y, weights, own, others, options)
    ridge = rows.ridge(rows.similarities(lam), lam)
    lam, without = _best_penalty(ridge, Y, weights, n_judging)
    last = slice(len(Y) - n_judging, None)
    judged = Trial.of(lam, ridge.scores(without, last), Y[last], weights[last])
    linear = ridge.fit(Y, weights, lam, without)
    if options.classes and Y.shape[1] > 1:  # codes of classes have the same sum for each row, and so have the scores
        W = linear.weights
        b = linear.intercept
        linear = LinearModel(W - W.mean(axis=1, keepdims=True), b - b.mean() + rows.base.mean())
    by_similarities = LinearModel(features.similarity_weights(linear.weights), linear.intercept)
    kept = replace(rows, features=replace(features, factor=None))
    influence = DelayedInfluence(rows.base, lambda: kept.influence(by_similarities, lam))
    return IteratedFit(linear, judged, influence)


def _best_penalty(ridge: IteratedRidge, Y: np.ndarray, weights: np.ndarray, n: int) -> tuple[float, LinearModel]:
    """Return the penalty, and the model of all but the last 2 n rows; of these the first n compare penalties.

    With few landmarks, as on pilot rows, the best penalty is larger: smaller ones are tried as long as they are better.
    """
    fitted = weights.copy()
    compared = slice(len(Y) - 2 * n, len(Y) - n)
    fitted[len(Y) - 2 * n :] = 0.0
    lam = ridge.lam
    model = None
    least = np.inf
    while True:
        # the accuracy with which penalties are compared
        tried = ridge.fit(Y, fitted, lam, model, 2e-3)
        loss = Trial.of(lam, ridge.scores(tried, compared), Y[compared], weights[compared]).loss
        if model is not None and loss >= least:
            return lam * PENALTY_STEP, model
        model = tried
        least = loss
        lam = lam / PENALTY_STEP


def rounding_of_sums(k: Similarity, A: np.ndarray, weights: np.ndarray) -> float:
    """Return the rounding error of sums over all rows in single precision, in units of the penalty.

    It is largest along the mean of the features, whose squared length is the mean similarity.
    """
    # rows whose mean similarity stands for that of all
    some = A[:200]
    return float(np.finfo(np.float32).eps * weights.sum() * np.abs(k.block(some, some)).mean())


@dataclass(frozen=True, eq=False)
class RowsOfSteps:
    """All rows of a fit in steps, encoded, with targets and weights.

    Attributes
    ----------
    features : LandmarkFeatures
        Their factor is None while rows are only kept: it is as large as the square of the landmarks.
    A, Y, weights : array
    own, others : array of int
        Which rows the landmarks are, and the other rows of the preconditioner.
    options : FitOptions
    """

    features: LandmarkFeatures
    A: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    others: np.ndarray
    options: FitOptions

    @property
    def base(self) -> np.ndarray:
        """The weighted mean of the targets."""
        mean: np.ndarray = self.weights @ self.Y / self.weights.sum()
        return mean

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
        if groups.classes is not None and len(groups) == outputs > 2:
            return ClassInfluence.of(linear, self.base, heads, counts, groups.classes[filled])
        added = self.ridge(K, lam).of_groups(linear, Y, weights, lam, members)
        W = added.weights.reshape(m, len(groups), outputs)[:, filled].reshape(m, -1)
        b = added.intercept.reshape(len(groups), outputs)[filled].ravel()
        if groups.classes is not None:
            kinds: Any = groups.classes[filled]
        else:
            inside = (members.group[:, None] == np.flatnonzero(filled)) * weights[:, None]
            kinds = inside.T @ Y / inside.sum(axis=0)[:, None]
        return GroupInfluence(heads, counts, kinds, self.base, (W,), b).with_columns(m)


def fit_by_pilot(data: TrainingSet, options: FitOptions, facts: Facts) -> tuple[FittedModel, int]:
    """Choose on pilot rows, and fit to all rows; also return how many choices there were.

    It is for one kernel of vectors with a unit diagonal, ridge regression, and landmarks of which nothing is asked.
    """
    n = len(data.order)
    k = data.similarities[0]
    order, n_judging = judging_last(data, facts.n_outside_pilot)
    pilot = order[: n - n_judging]
    scales = open_scales(options.similarities[0])
    objects = take(data.X, pilot)
    choice = choose_on_pilot(k, scales, objects, data.Y[pilot], data.weights[pilot], n, facts.few)
    problem = _Problem(data, options, order, np.arange(n - n_judging, n), choice, facts.few)
    fit = problem.exactly() if facts.few and choice.enough is None else problem.with_landmarks(facts.most_of_pilot)
    return fit, choice.n_scales * len(fit.curve.x)


def judging_last(data: TrainingSet, most: int) -> tuple[np.ndarray, int]:
    """Return the rows with a weight, those that judge last, and the number of these: they equal no other row."""
    order = data.order
    groups = groups_of_equals(data.encodings[0], order)
    alone = np.flatnonzero(np.bincount(groups)[groups] == 1)
    last = alone[-most:]
    return np.concatenate([np.delete(order, last), order[last]]), len(last)


@dataclass(frozen=True, eq=False)
class _Problem:
    """All rows with a weight, those that judge last, and what was chosen."""

    data: TrainingSet
    options: FitOptions
    rows: np.ndarray
    judging: np.ndarray
    choice: PilotChoice
    few: bool

    def exactly(self) -> FittedModel:
        """Fit to all rows, each of which is a landmark."""
        from similitude.kernel_learning import exact_ridge  # loads all kernels

        landmarks, Y, weights = self._landmarks(self.rows), *self._targets()
        k = self.choice.similarity
        penalty = self.choice.penalty
        mean = np.average(Y, axis=0, weights=weights)
        model, alone = exact_ridge(k, landmarks.encoding, Y - mean, weights, penalty, self.judging, constant=True)
        constant = mean + model.intercept
        trial = self._trial(mean + alone)
        known = Y if landmarks.labels is None else landmarks.labels
        influence = BlendInfluence(known, weights, constant, (penalty,), (1.0,))
        linear = LinearModel(model.weights, constant)
        curve = self._curve([*self.choice.sizes, len(self.rows)], trial, EVERY_ROW)
        fit = self._fit(LandmarkFeatures(k, landmarks), linear, trial, curve, influence)
        return replace(fit, at=self.judging)

    def with_landmarks(self, most: int) -> FittedModel:
        """Fit to all rows by the features of the first of them."""
        n_rows = len(self.rows)
        enough = self.choice.enough
        sizes = self.choice.sizes
        n = most if enough is None else LANDMARKS_FACTOR * enough
        n = min(n, n_rows // 2)
        k = self.choice.similarity
        landmarks = self._landmarks(self.rows[:n])
        sample = self.options.sample(k, landmarks.encoding, self.rows[:n], landmarks)
        factor = factor_of_distinct(sample.gram(n))
        features = LandmarkFeatures(k, landmarks.only(factor.pivots), factor=factor.U)
        # number of outputs up to which conjugate gradients are faster than the Gram matrix of the features
        if not self.few and self.data.Y.shape[1] <= 32:
            linear, trial, influence = fit_by_steps(
                features, factor.pivots, self._encoded(), self._targets(), len(self.judging), self.lam, self.options
            )
        else:
            linear, trial, influence = self._directly(features)
        reason = f"{n:,} are the most tried"
        if enough is not None:
            reason = f"{enough:,} did as well as all pilot rows, and {LANDMARKS_FACTOR} times as many are used"
        tried = sizes if enough is None else sizes[: sizes.index(enough) + 1]
        return self._fit(features, linear, trial, self._curve([*tried, n], trial, reason), influence)

    def _directly(self, features: LandmarkFeatures) -> tuple[LinearModel, Trial, Any]:
        """Return the model on given features, how rows fare that are left out alone, and the influence of rows."""
        F = features_of(FeatureUnion.of((features,), 8), (self._encoded(),), self.options.engine)
        Y, weights = self._targets()
        ridge = Ridge(Moments.of(F, Y, weights), self.lam)
        left = ridge.left_out(F[self.judging], Y[self.judging], weights[self.judging])(self.lam)
        assert left is not None
        places = self.data.located_at(self.rows)
        classes = self.options.classes
        influence = influence_in_ridge(ridge, self.lam, (features,), (F, Y, weights), places, classes)
        return ridge.fit(self.lam), self._trial(left.scores), influence

    def _sizes(self, features: LandmarkFeatures, lam: float) -> tuple[np.ndarray | None, OpenVariance | None]:
        """Return features of the rows that judge, by the first landmarks, and the variance that all rows leave open.

        Both are None in an exact fit, and for classes.
        """
        if self.options.classes or features.factor is None:
            return None, None
        some = np.arange(min(len(features.landmarks), MOST_NOISE_FEATURES))
        factor = features.factor
        first = replace(features.only(some), factor=factor[: len(some), : len(some)])
        A = self._encoded()
        Y, weights = self._targets()
        F = features_of(FeatureUnion.of((first,), 8), (A,), self.options.engine.without_progress())
        moments = Moments.of(F, Y, weights)
        judging = self.judging
        found = open_variance_of(
            (features,), moments, lam, A[judging], F[judging], weights[judging], variances(Y, weights)
        )
        return F[judging], found

    def _encoded(self) -> Any:
        """Return all rows, encoded."""
        return self.choice.similarity.encode(_in_double_precision(take(self.data.X, self.rows)))

    @property
    def lam(self) -> float:
        """The penalty, as a sum over rows with their weights has it."""
        return self.choice.penalty * float(self.data.weights[self.rows].mean())

    def _targets(self) -> tuple[np.ndarray, np.ndarray]:
        return self.data.Y[self.rows], self.data.weights[self.rows]

    def _landmarks(self, rows: np.ndarray) -> Landmarks:
        """Return rows as landmarks, encoded."""
        objects = _in_double_precision(take(self.data.X, rows))
        known = at_rows(self.data.labels, rows)
        encoded = self.choice.similarity.encode(objects)
        return Landmarks(objects, self.data.located_at(rows), encoded, known, "uniform")

    def _trial(self, scores: np.ndarray) -> Trial:
        """Return how the rows that judge fare."""
        Y, weights = self._targets()
        return Trial.of(self.lam, scores, Y[self.judging], weights[self.judging])

    def _curve(self, sizes: list[int], last: Trial, reason: str) -> LandmarkCurve:
        """Return the losses of pilot rows by the number of landmarks, and that of the fit, by the rows that judge."""
        tried = len(sizes) - 1
        y = np.array([*self.choice.losses[:tried], last.loss])
        spread = 1.96 * np.array([*self.choice.deviations[:tried], last.deviation])
        return LandmarkCurve(np.array(sizes, dtype=float), y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def _fit(
        self, features: LandmarkFeatures, linear: LinearModel, trial: Trial, curve: LandmarkCurve, influence: Any
    ) -> FittedModel:
        """Return the fit with what belongs to it."""
        landmarks, Y, weights = features.landmarks, *self._targets()
        held_out = Y[self.judging], weights[self.judging]
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
            evaluation=ScoredRows(trial, *held_out, positions=self.data.located_at(self.rows[self.judging])),
            tried=tried,
            open_variance=left_open,
            landmarks=landmarks,
            samples=[sample],
        )


def _in_double_precision(X: Any) -> Any:
    """Return rows in double precision: with a small penalty, similarities need all digits."""
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        return X.astype(np.float64)
    return X
