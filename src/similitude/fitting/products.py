"""When ridge regression on many landmarks is fitted by products with the matrix of similarities."""

from __future__ import annotations

import functools
import numbers
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, in_precision, is_tensor, moved, nbytes
from similitude.compute.engines import Engine
from similitude.evaluation import Trial, n_held_out
from similitude.fitting.influence import DelayedInfluence, FitInfluence, GroupInfluence, Groups
from similitude.fitting.model import class_numbers
from similitude.linear import Equations, LinearModel, Members, fit_by_products
from similitude.scikit import FLOAT_DTYPES

MOST_KEPT = 2**31
"""Bytes of rows up to which a model keeps a copy of them, to compute influences when they are asked for."""


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
) -> tuple[LinearModel, Trial, FitInfluence | None]:
    """Fit to all rows; return the model, its trial on the last held-out rows, and the influence of groups, if any."""
    with engine.linear_algebra(f"the equations of {count(landmarks):,} landmarks"):
        operator = engine.operator(similarity, A, landmarks)
        linear, trial, equations = fit_by_products(operator, Y, weights, order, held, start)
        if groups is None:
            return linear, trial, None
        rows = RowsOfProducts(similarity, A, landmarks, Y, weights, groups, engine)
        if groups.are_classes(Y.shape[1]) or nbytes(A) > MOST_KEPT:
            return linear, trial, rows.influence(linear, operator, equations)
        later = functools.partial(rows.copy().influence_again, linear, equations.lam, equations.some)
        return linear, trial, DelayedInfluence(weights @ Y / weights.sum(), later)


def trial_by_products(
    similarity: Any,
    A: Encoding,
    landmarks: Encoding,
    Y: np.ndarray,
    weights: np.ndarray,
    engine: Engine,
    start: float | None = None,
) -> Trial:
    """Return the trial of landmarks on rows in random order: a tenth is held out, half of it for the penalty."""
    order = np.arange(len(Y))
    some = order[len(order) - n_held_out(len(order)) :]
    held = some[: len(some) // 2], some[len(some) // 2 :]
    return solve_by_products(similarity, A, landmarks, Y, weights, order, held, engine, start)[1]


@dataclass(frozen=True, eq=False)
class RowsOfProducts:
    """All rows of a fit by products, encoded, with targets, weights, and groups."""

    similarity: Any
    A: Encoding
    landmarks: Encoding
    Y: np.ndarray
    weights: np.ndarray
    groups: Groups
    engine: Engine

    def copy(self) -> RowsOfProducts:
        """Return the same with copies of what is the user's, and may change."""
        A = moved(self.A, lambda array: array.clone() if is_tensor(array) else array.copy())
        return replace(self, A=A, Y=self.Y.copy(), weights=self.weights.copy())

    def influence_again(self, linear: LinearModel, lam: float, some: np.ndarray | None) -> GroupInfluence:
        """Return the influence by the similarities to all landmarks, from equations that are made again."""
        with self.engine.linear_algebra(f"the equations of {count(self.landmarks):,} landmarks"):
            operator = self.engine.operator(self.similarity, self.A, self.landmarks)
            equations = Equations.of(operator, self.Y, self.weights, lam, some)
            found = self.influence(linear, operator, equations)
        weights = found.weights[0]
        if found.columns is not None:
            weights = weights.astype(np.float32)
        return found.stored(found.heads, [weights])

    def influence(self, linear: LinearModel, operator: Any, equations: Equations) -> GroupInfluence:
        """Return the influence of groups of rows."""
        members = self._members(operator)
        added = functools.partial(equations.of_groups, linear, members)
        return GroupInfluence.of_solution(self.groups, linear, members.group, self.Y, self.weights, added)

    def _members(self, operator: Any) -> Members:
        """Return the group of each row: that of the nearest landmark in feature space, among those of its class."""
        groups = self.groups
        if groups.are_classes(self.Y.shape[1]):
            return Members(class_numbers(self.Y), len(groups))
        heads = operator.to_columns(groups.landmarks)
        squares = heads.similarity.block(heads.b, heads.b).diagonal()
        near = heads.times(in_precision(heads.move(np.eye(len(groups))), heads.dtype)) - squares / 2
        if groups.classes is not None:
            near[heads.move(class_numbers(self.Y))[:, None] != heads.move(groups.classes)] = -np.inf
        return Members(as_numpy(near.argmax(1)), len(groups))
