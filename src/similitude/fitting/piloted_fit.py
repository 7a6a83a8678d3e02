"""Fits of one kernel of vectors whose choices are made on pilot rows: exact, or with landmarks where these suffice.

Rows that judge the model take part in no choice, and equal no other row. Of up to 5,000 rows each of them is left out
alone, which costs little if they are the last rows of the Gram matrix: leaving them out needs only the last block of
the Cholesky factor. Of more rows they are judged by a model of the others, from which that of all rows starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.evaluation import LEAVE_ONE_OUT, Trial, groups_of_equals, n_held_out, n_judged
from similitude.fitting import limits
from similitude.fitting.automatic import EVERY_ROW
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.fit import variances
from similitude.fitting.influence import influence_in_ridge
from similitude.fitting.iterated_fit import fit_by_steps
from similitude.fitting.landmark_pilot import choose_for_landmarks, factor_of_distinct
from similitude.fitting.options import FitOptions
from similitude.fitting.passes import features_of
from similitude.fitting.pilot_choice import LANDMARKS_FACTOR, PilotChoice, choose_on_pilot
from similitude.fitting.result import FittedModel, Judged, LandmarkCurve
from similitude.fitting.scales import open_scales
from similitude.fitting.training_set import TrainingSet
from similitude.fitting.uncertainty import MOST_NOISE_FEATURES, OpenVariance, open_variance_of
from similitude.landmarks import PROJECTION, FeatureUnion, LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel, Moments, Ridge

MOST_ITERATED = 32
"""Number of outputs up to which conjugate gradients are faster than the Gram matrix of the features."""


def fit_by_pilot(data: TrainingSet, options: FitOptions) -> tuple[FittedModel, int]:
    """Choose on pilot rows, and fit to all rows; also return how many choices there were.

    It is for one kernel of vectors with a unit diagonal, ridge regression, and landmarks of which nothing is asked.
    """
    n, k = len(data.order), data.similarities[0]
    order, n_judging = judging_last(data)
    pilot = order[: n - n_judging]
    scales = open_scales(options.similarities[0])
    choose = choose_on_pilot if n <= LEAVE_ONE_OUT else choose_for_landmarks
    choice = choose(k, scales, take(data.X, pilot), data.Y[pilot], data.weights[pilot], n)
    problem = _Problem(data, options, order, np.arange(n - n_judging, n), choice)
    fit = problem.exactly() if n <= LEAVE_ONE_OUT and choice.enough is None else problem.with_landmarks()
    return fit, choice.n_scales * len(fit.curve.x)


def judging_last(data: TrainingSet) -> tuple[np.ndarray, int]:
    """Return the rows with a weight, those that judge last, and the number of these: they equal no other row."""
    order, n = data.order, len(data.order)
    most = int(limits.LARGEST_SHARE_EVALUATED * n) if n <= LEAVE_ONE_OUT else n_judged(n_held_out(n))
    groups = groups_of_equals(data.encodings[0], order)
    alone = np.flatnonzero(np.bincount(groups)[groups] == 1)
    last = alone[-max(most, limits.FEWEST_EVALUATED) :]
    return np.concatenate([np.delete(order, last), order[last]]), len(last)


@dataclass(frozen=True, eq=False)
class _Problem:
    """All rows with a weight, those that judge last, and what was chosen."""

    data: TrainingSet
    options: FitOptions
    rows: np.ndarray
    judging: np.ndarray
    choice: PilotChoice

    def exactly(self) -> FittedModel:
        """Fit to all rows, each of which is a landmark."""
        from similitude.kernel_learning import ExactRidge  # loads all kernels

        landmarks, Y, weights = self._landmarks(self.rows), *self._targets()
        k, penalty, mean = self.choice.similarity, self.choice.penalty, np.average(Y, axis=0, weights=weights)
        model = ExactRidge.fit(k, landmarks.encoding, Y - mean, weights, penalty, self.judging, constant=True)
        constant = mean + model.constant
        trial = self._trial(mean + model.left_out)
        known = Y if landmarks.labels is None else landmarks.labels
        influence = BlendInfluence(known, weights, constant, (penalty,), (1.0,))
        linear = LinearModel(model.coefficients, constant)
        curve = self._curve([*self.choice.sizes, len(self.rows)], trial, EVERY_ROW)
        fit = self._fit(LandmarkFeatures(k, landmarks), linear, trial, curve, influence)
        return replace(fit, at=self.judging)

    def with_landmarks(self) -> FittedModel:
        """Fit to all rows by the features of the first of them."""
        n_rows, enough, sizes = len(self.rows), self.choice.enough, self.choice.sizes
        n = limits.MAX_AUTO_LANDMARKS if enough is None else LANDMARKS_FACTOR * enough
        n, k = min(n, n_rows // 2), self.choice.similarity
        landmarks = self._landmarks(self.rows[:n])
        sample = self.options.sample(k, landmarks.encoding, self.rows[:n], landmarks)
        factor = factor_of_distinct(sample.gram(n))
        features = LandmarkFeatures(k, landmarks.only(factor.pivots), factor=factor.U)
        if n_rows > LEAVE_ONE_OUT and self.data.Y.shape[1] <= MOST_ITERATED:
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
        F = features_of(FeatureUnion.of((features,), 8), (self._encoded(),), self.options.engine, 8)
        Y, weights = self._targets()
        ridge = Ridge(Moments.of(F, Y, weights), self.lam)
        left = ridge.left_out(F[self.judging], Y[self.judging], weights[self.judging])(self.lam)
        assert left is not None
        places, classes = self.data.located_at(self.rows), self.options.classes
        influence = influence_in_ridge(ridge, self.lam, (features,), (F, Y, weights), places, classes)
        return ridge.fit(self.lam), self._trial(left.scores), influence

    def _sizes(self, features: LandmarkFeatures, lam: float) -> tuple[np.ndarray | None, OpenVariance | None]:
        """Return features of the rows that judge, by the first landmarks, and the variance that all rows leave open.

        Both are None in an exact fit, and for classes.
        """
        if self.options.classes or features.factor is None:
            return None, None
        some, factor = np.arange(min(len(features.landmarks), MOST_NOISE_FEATURES)), features.factor
        first = replace(features.only(some), factor=factor[: len(some), : len(some)])
        A, (Y, weights) = self._encoded(), self._targets()
        F = features_of(FeatureUnion.of((first,), 8), (A,), self.options.engine.without_progress(), 8)
        moments, judging = Moments.of(F, Y, weights), self.judging
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
        known = None if self.data.labels is None else self.data.labels[rows]
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
        return LandmarkCurve.of_losses(np.array(sizes, dtype=float), y, spread, reason)

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
            evaluation=Judged(trial, *held_out, positions=self.data.located_at(self.rows[self.judging])),
            tried=tried,
            open_variance=left_open,
            landmarks=landmarks,
            samples=[sample],
        )


def _in_double_precision(X: Any) -> Any:
    """Return rows in double precision: with a small penalty, similarities need all digits."""
    return X.astype(np.float64) if isinstance(X, np.ndarray) and X.dtype == np.float32 else X
