"""Exact kernel ridge regression on all rows: many rows by a factor in single precision, and refined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from similitude.kernel_learning.limits import ROWS_IN_DOUBLE
from similitude.linear import SINGLE_FROM, GramFactor, LinearModel


@dataclass(frozen=True, eq=False)
class ExactRidge:
    r"""The model :math:`f(x) = \sum_i a_i K(x, x_i) + b`, fitted to all rows; see `GramFactor`.

    `left_out` are the predictions for some rows, each by the model of all other rows.
    """

    coefficients: np.ndarray
    constant: np.ndarray
    left_out: np.ndarray

    @classmethod
    def fit(
        cls,
        k: Any,
        A: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray,
        penalty: float,
        judged: np.ndarray,
        refined: bool = True,
        constant: bool = False,
        groups: np.ndarray | None = None,
    ) -> ExactRidge:
        """Fit to encoded rows with positive weights, of which the mean counts as 1, and predict the judged ones.

        These are the last rows of the factor. A solution in single precision is refined unless the model only serves
        comparisons. With groups all rows are judged, each by the model of all other groups.
        """
        order = np.concatenate([np.delete(np.arange(len(A)), judged), judged])
        ridge = penalty * weights.mean() / weights[order]
        single = len(A) > ROWS_IN_DOUBLE and penalty >= SINGLE_FROM
        A = A[order]
        rows = A.astype(np.float32 if single else np.float64, copy=False)
        factor = GramFactor.of(k.block(rows, rows), ridge)
        rest = partial(_rest, k, A, ridge) if single and refined else None
        if groups is not None:
            solution, residuals = factor.fit_groups(Y[order], weights[order], groups[order], rest)
            model = LinearModel(solution, np.zeros(Y.shape[1]))
        else:
            model, residuals = factor.fit(Y[order], constant, len(judged), rest)
        coefficients = np.empty_like(model.weights)
        coefficients[order] = model.weights
        return cls(coefficients, model.intercept, Y[judged] - residuals)


def _rest(k: Any, A: np.ndarray, ridge: np.ndarray, Y: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return what a solution in single precision leaves of the targets, computed in double precision."""
    rest = Y - ridge[:, None] * coefficients
    for start in range(0, len(A), 512):
        some = slice(start, start + 512)
        rest[some] -= k.block(A[some], A) @ coefficients
    return rest
