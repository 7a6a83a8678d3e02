"""Ridge regression on many rows with landmarks by conjugate gradients, judged before it is fitted to all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Blocks
from similitude.compute.engines import one_scipy_thread
from similitude.evaluation import Trial
from similitude.fitting.delayed_influence import DelayedInfluence
from similitude.fitting.group_influence import ClassInfluence, GroupInfluence, solved_groups
from similitude.fitting.landmark_pilot import working_precision
from similitude.fitting.options import FitOptions
from similitude.landmarks import LandmarkFeatures, solve_rows, solver
from similitude.linear import IteratedRidge, LinearModel, factorize
from similitude.similarity import Similarity

PENALTY_STEP = 10.0**0.5
"""The ratio of penalties that are compared."""

COMPARED_AT = 2e-3
"""The accuracy with which penalties are compared."""

LEAST_ABOVE_ROUNDING = 4.0
"""How far the penalty must be above the rounding of sums over all rows if single precision is to be used. Along a
direction in which features hardly vary, rounding of the gradient is divided by the penalty: of 22 fits to 7,000 and
15,000 rows of five data sets, errors rose 24-fold to 10^9-fold in eight of the eleven below 2.7, and by less than 0.2 %
in the eleven above 4.6."""

ROWS_LOOKED_AT = 200
"""Rows whose mean similarity stands for that of all."""

ROWS_PER_LANDMARK = 2.0
"""Rows per landmark of the preconditioner."""


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
    others = np.setdiff1d(np.arange(min(int(ROWS_PER_LANDMARK * len(own)), learned)), own)
    rows = RowsOfSteps(features, A, Y, weights, own, others, options)
    ridge = rows.ridge(rows.similarities(lam), lam)
    lam, without = _best_penalty(ridge, Y, weights, n_judging)
    last = slice(len(Y) - n_judging, None)
    judged = Trial.of(lam, ridge.scores(without, last), Y[last], weights[last])
    linear = ridge.fit(Y, weights, lam, without)
    if options.classes and Y.shape[1] > 1:  # codes of classes have the same sum for each row, and so have the scores
        W, b = linear.weights, linear.intercept
        linear = LinearModel(W - W.mean(axis=1, keepdims=True), b - b.mean() + rows.base.mean())
    by_similarities = LinearModel(features.similarity_weights(linear.weights), linear.intercept)
    kept = replace(rows, features=replace(features, factor=None))
    influence = DelayedInfluence(rows.base, lambda: kept.influence(by_similarities, lam))
    return IteratedFit(linear, judged, influence)


def _best_penalty(ridge: IteratedRidge, Y: np.ndarray, weights: np.ndarray, n: int) -> tuple[float, LinearModel]:
    """Return the penalty, and the model of all but the last 2 n rows; of these the first n compare penalties.

    With few landmarks, as on pilot rows, the best penalty is larger: smaller ones are tried as long as they are better.
    """
    fitted, compared = weights.copy(), slice(len(Y) - 2 * n, len(Y) - n)
    fitted[len(Y) - 2 * n :] = 0.0
    lam, model, least = ridge.lam, None, np.inf
    while True:
        tried = ridge.fit(Y, fitted, lam, model, COMPARED_AT)
        loss = Trial.of(lam, ridge.scores(tried, compared), Y[compared], weights[compared]).loss
        if model is not None and loss >= least:
            return lam * PENALTY_STEP, model
        model, least, lam = tried, loss, lam / PENALTY_STEP


def rounding_of_sums(k: Similarity, A: np.ndarray, weights: np.ndarray) -> float:
    """Return the rounding error of sums over all rows in single precision, in units of the penalty.

    It is largest along the mean of the features, whose squared length is the mean similarity.
    """
    some = A[:ROWS_LOOKED_AT]
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
        if lam >= LEAST_ABOVE_ROUNDING * rounding_of_sums(k, self.A, self.weights):
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
        Y, weights, m, outputs = self.Y, self.weights, len(self.own), self.Y.shape[1]
        groups = solved_groups(self.features.landmarks, outputs, self.options.classes)
        K, near = (
            self.similarities(lam),
            replace(self.features, factor=None),
        )  # the nearest landmark: the most similar one
        members = groups.members(*groups.nearness(near), K, Y)
        counts = np.bincount(members.group, weights > 0, len(groups)).astype(np.intp)
        filled = counts > 0
        heads, counts = groups.landmarks[filled], counts[filled]
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
