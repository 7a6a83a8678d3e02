"""Exact kernel ridge regression on all rows: many rows by a factor in single precision, and refined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from similitude.kernel_learning.trials import SINGLE_PRECISION_FROM, ridge_factor

ROWS_IN_DOUBLE = 1_000
"""Number of rows up to which all is computed in double precision."""

REFINED_ROWS = 512
"""Rows whose residuals are computed at once."""


@dataclass(frozen=True, eq=False)
class ExactRidge:
    r"""The model :math:`f(x) = \sum_i a_i K(x, x_i)` of centered targets, fitted to all rows.

    It minimizes :math:`\sum_i w_i (y_i - f(x_i))^2 + \lambda |f|^2` with weights of mean 1: :math:`a = (K + \lambda
    \operatorname{diag}(1/w))^{-1} y`.

    Attributes
    ----------
    coefficients : array of shape (n, outputs)
        a, in double precision.
    left_out : array of shape (judged rows, outputs)
        The predictions for some rows, each by the model of all other rows.
    """

    coefficients: np.ndarray
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
    ) -> ExactRidge:
        r"""Fit to encoded rows with positive weights, and predict some of them, each left out alone.

        With :math:`G = K + \lambda \operatorname{diag}(1/w)` the residual of a row that is left out is :math:`a_i /
        (G^{-1})_{ii}`. Judged rows are the last ones of the factor L of G, so that the last block of :math:`G^{-1}` is
        :math:`(L_{22} L_{22}^\top)^{-1}`: their number, not n, is what this costs.
        A solution in single precision is refined unless the model only serves comparisons.
        """
        order = np.concatenate([np.delete(np.arange(len(A)), judged), judged])
        A, Y, ridge = A[order], Y[order], penalty * weights.mean() / weights[order]
        single = len(A) > ROWS_IN_DOUBLE and penalty >= 10.0**SINGLE_PRECISION_FROM
        rows = A.astype(np.float32 if single else np.float64, copy=False)
        factor = ridge_factor(k.block(rows, rows), ridge)
        coefficients = cho_solve((factor, True), Y.astype(rows.dtype), check_finite=False).astype(np.float64)
        if single and refined:
            left = _left(k, A, Y, ridge, coefficients, rows.dtype)
            coefficients += cho_solve((factor, True), left, check_finite=False)
        last = slice(len(A) - len(judged), None)
        left_out = Y[last] - coefficients[last] / _inverse_diagonal(factor[last, last])[:, None]
        found = np.empty_like(coefficients)
        found[order] = coefficients
        return cls(found, left_out)


def _left(k: Any, A: np.ndarray, Y: np.ndarray, ridge: np.ndarray, coefficients: np.ndarray, dtype: Any) -> np.ndarray:
    """Return what a solution in single precision leaves of the targets, computed in double precision."""
    left = Y - ridge[:, None] * coefficients
    for start in range(0, len(A), REFINED_ROWS):
        some = slice(start, start + REFINED_ROWS)
        left[some] -= k.block(A[some], A) @ coefficients
    return left.astype(dtype)


def _inverse_diagonal(factor: np.ndarray) -> np.ndarray:
    """Return the diagonal of the inverse of a matrix with a given lower Cholesky factor, which may be empty."""
    if not len(factor):
        return np.empty(0)  # SciPy before 1.14 solves no empty systems
    inverse = solve_triangular(factor, np.eye(len(factor), dtype=factor.dtype), lower=True, check_finite=False)
    return np.einsum("ij,ij->j", inverse, inverse).astype(np.float64)
