"""Ridge regression on many rows with landmarks by conjugate gradients, judged before it is fitted to all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Blocks
from similitude.estimators.group_influence import ClassInfluence, GroupInfluence
from similitude.estimators.landmark_pilot import working_precision
from similitude.estimators.options import FitOptions
from similitude.landmarks import Groups, LandmarkFeatures, most_numbers, solve_rows, solver
from similitude.linear import IteratedRidge, LinearModel, Trial

PENALTY_STEP = 10.0**0.5
"""The ratio of penalties that are compared."""

MOST_SOLVED = 14
"""About how many groups of rows are kept apart, times the number of outputs: each costs a solution."""

COMPARED_AT = 2e-3
"""The accuracy with which penalties are compared."""

ROWS_PER_LANDMARK = 2.0
"""Rows per landmark of the preconditioner."""


class IteratedFit(NamedTuple):
    """A model of all rows, how the rows that judge fare under a model of others, and the influence of rows."""

    linear: LinearModel
    judged: Trial
    influence: GroupInfluence


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
    k, U = features.similarity, features.factor
    assert U is not None
    dtype = np.dtype(working_precision(k, A, U))
    rows = A.astype(dtype, copy=False)
    K = Blocks(k, rows, rows[own], engine=options.engine, itemsize=dtype.itemsize).whole()
    others = np.setdiff1d(np.arange(min(int(ROWS_PER_LANDMARK * len(U)), len(Y) - 2 * n_judging)), own)
    ridge = IteratedRidge(K, U, own, others, solve_rows(K[others], solver(U, dtype)), weights, lam)
    lam, without = _best_penalty(ridge, Y, weights, n_judging)
    last = slice(len(Y) - n_judging, None)
    judged = Trial.of(lam, ridge.scores(without, last), Y[last], weights[last])
    linear = ridge.fit(Y, weights, lam, without)
    base = weights @ Y / weights.sum()
    if options.classes and Y.shape[1] > 1:  # codes of classes have the same sum for each row, and so have the scores
        W, b = linear.weights, linear.intercept
        linear = LinearModel(W - W.mean(axis=1, keepdims=True), b - b.mean() + base.mean())
    return IteratedFit(linear, judged, _influence(ridge, linear, lam, features, Y, weights, options.classes))


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


def _influence(
    ridge: IteratedRidge,
    linear: LinearModel,
    lam: float,
    features: LandmarkFeatures,
    Y: np.ndarray,
    weights: np.ndarray,
    classes: bool,
) -> GroupInfluence:
    """Return what groups of rows add to the scores; `weights` of it are those of the features."""
    outputs, m, base = Y.shape[1], len(features.landmarks), weights @ Y / weights.sum()
    numbers = outputs * max(1, round(most_numbers(m) / MOST_SOLVED))
    groups = Groups.around(features.landmarks, outputs, classes=classes, numbers=numbers)
    near: Any = replace(features, factor=None)  # the nearest landmark is the most similar one
    members = groups.members(*groups.nearness(near), ridge.K, Y)
    counts = np.bincount(members.group, weights > 0, len(groups)).astype(np.intp)
    filled = counts > 0
    heads, counts = groups.landmarks[filled], counts[filled]
    if groups.classes is not None and len(groups) == outputs > 2:
        return ClassInfluence.of(linear, base, heads, counts, groups.classes[filled])
    added = ridge.of_groups(linear, Y, weights, lam, members)
    W = added.weights.reshape(m, len(groups), outputs)[:, filled].reshape(m, -1)
    b = added.intercept.reshape(len(groups), outputs)[filled].ravel()
    if groups.classes is not None:
        kinds = groups.classes[filled]
    else:
        inside = (members.group[:, None] == np.flatnonzero(filled)) * weights[:, None]
        kinds = inside.T @ Y / inside.sum(axis=0)[:, None]
    return GroupInfluence(heads, counts, kinds, base, (W,), b).with_columns(m)
