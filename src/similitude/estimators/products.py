"""When ridge regression on many landmarks is fitted by products with the matrix of similarities."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, in_precision
from similitude.compute.engines import Engine
from similitude.estimators.group_influence import ClassInfluence, GroupInfluence
from similitude.estimators.influence import class_numbers
from similitude.landmarks import Groups
from similitude.linear import LinearModel, Members, Trial, fit_by_products, n_held_out
from similitude.scikit import FLOAT_DTYPES


def reads_memory_map(X: Any, y: Any, one_pass: bool, n_landmarks: Any, engine: Engine) -> bool:
    """Tell whether a memory map is fitted by products, like an array in memory: the device reads it in pieces."""
    return (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and X.dtype in FLOAT_DTYPES
        and not isinstance(y, (str, os.PathLike))
        and one_pass
        and isinstance(n_landmarks, numbers.Integral)
        and engine.products_from is not None
        and int(n_landmarks) >= engine.products_from
    )


def solve_by_products(
    similarity: Any,
    A: Encoding,
    landmarks: Encoding,
    Y: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
    engine: Engine,
    start: float | None = None,
    groups: Groups | None = None,
) -> tuple[LinearModel, Trial, GroupInfluence | None] | None:
    """Fit to all rows with the penalty that is best for some held-out rows, and judge by others, the last of all.

    The search for the penalty begins near `start`, if given.

    Return the model, how the last rows fared, and the influence of groups of rows, if any are given; None if landmarks
    are few, or if the engine has no products of this similarity.
    """
    if engine.products_from is None or count(landmarks) < engine.products_from:
        return None
    with engine.linear_algebra(f"the equations of {count(landmarks):,} landmarks"):
        operator = engine.operator(similarity, A, landmarks)
        if operator is None:
            return None
        members = None if groups is None else _members(operator, Y, groups)
        linear, trial, added = fit_by_products(operator, Y, weights, order, held, start, members)
        return linear, trial, None if groups is None else _influence(linear, added, members, groups, Y, weights)


def trial_by_products(
    similarity: Any,
    A: Encoding,
    landmarks: Encoding,
    Y: np.ndarray,
    weights: np.ndarray,
    engine: Engine,
    start: float | None = None,
) -> Trial | None:
    """Return how landmarks fare for a sample of rows in random order; None where there are no products.

    A tenth of the rows is held out. The penalty is chosen on half of these, and the others judge.
    """
    order = np.arange(len(Y))
    some = order[len(order) - n_held_out(len(order)) :]
    held = some[: len(some) // 2], some[len(some) // 2 :]
    found = solve_by_products(similarity, A, landmarks, Y, weights, order, held, engine, start)
    return None if found is None else found[1]


def _members(operator: Any, Y: np.ndarray, groups: Groups) -> Members | None:
    """Return the group of each row: that of the nearest landmark in feature space, among those of its class.

    None where each of several classes is one group: what these add follows from the scores.
    """
    if groups.classes is not None and len(groups) == Y.shape[1] > 1:
        return None
    heads = operator.to_columns(groups.landmarks)
    squares = heads.similarity.block(heads.b, heads.b).diagonal()
    near = heads.times(in_precision(heads.move(np.eye(len(groups))), heads.dtype)) - squares / 2
    if groups.classes is not None:
        near[heads.move(class_numbers(Y))[:, None] != heads.move(groups.classes)] = -np.inf
    return Members(as_numpy(near.argmax(1)), len(groups))


def _influence(
    linear: LinearModel,
    added: LinearModel | None,
    members: Members | None,
    groups: Groups,
    Y: np.ndarray,
    weights: np.ndarray,
) -> GroupInfluence:
    """Return the influence of groups of rows; without members, that of each class, which follows from the scores."""
    base = weights @ Y / weights.sum()
    counted = (weights > 0).astype(float)
    if added is None or members is None:
        assert groups.classes is not None
        first = np.unique(groups.classes, return_index=True)[1]
        counts = np.bincount(class_numbers(Y), counted, Y.shape[1]).astype(np.intp)
        filled = np.flatnonzero(counts)
        return ClassInfluence.of(linear, base, groups.landmarks[first][filled], counts[filled], filled)
    counts = np.bincount(members.group, counted, len(groups)).astype(np.intp)
    filled = np.flatnonzero(counts)
    labels = groups.classes
    if labels is None:
        sums = np.stack([np.bincount(members.group, weights * y, len(groups)) for y in Y.T], axis=1)
        labels = sums / np.maximum(np.bincount(members.group, weights, len(groups)), 1e-300)[:, None]
    W = added.weights.reshape(len(added.weights), len(groups), -1)[:, filled].reshape(len(added.weights), -1)
    b = added.intercept.reshape(len(groups), -1)[filled].ravel()
    found = GroupInfluence(groups.landmarks[filled], counts[filled], labels[filled], base, (W,), b)
    return found.with_columns(len(W))
