"""Exact kernel ridge regression on all rows: many rows by a factor in single precision, and refined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dtrtri, strtri

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
    Y : array of shape (n, outputs)
    factor : array
        The lower Cholesky factor.
    coefficients : array of shape (n, outputs)
        a, in double precision.
    """

    Y: np.ndarray
    factor: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def fit(cls, k: Any, A: np.ndarray, Y: np.ndarray, weights: np.ndarray, penalty: float) -> ExactRidge:
        """Fit to encoded rows with positive weights."""
        single = len(A) > ROWS_IN_DOUBLE and penalty >= 10.0**SINGLE_PRECISION_FROM
        rows = A.astype(np.float32 if single else np.float64, copy=False)
        ridge = penalty * weights.mean() / weights
        factor = ridge_factor(k.block(rows, rows), ridge)
        coefficients = cho_solve((factor, True), Y.astype(rows.dtype), check_finite=False).astype(np.float64)
        if single:
            left = Y - ridge[:, None] * coefficients
            for start in range(0, len(A), REFINED_ROWS):
                some = slice(start, start + REFINED_ROWS)
                left[some] -= k.block(A[some], A) @ coefficients
            coefficients += cho_solve((factor, True), left.astype(rows.dtype), check_finite=False)
        return cls(Y, factor, coefficients)

    def left_out(self, rows: np.ndarray) -> np.ndarray:
        r"""Return the predictions for some rows, each by the model of all other rows.

        With :math:`G = K + \lambda \operatorname{diag}(1/w)` the residual is :math:`a_i / (G^{-1})_{ii}`. The factor is
        needed from the first of these rows on: leaving out the last rows costs little.
        """
        start = int(rows.min())
        last = np.array(self.factor[start:, start:], order="F")
        inverse, _ = (strtri if last.dtype == np.float32 else dtrtri)(last, lower=1, overwrite_c=1)
        inverse = np.einsum("ij,ij->j", inverse, inverse)[rows - start].astype(np.float64)
        left: np.ndarray = self.Y[rows] - self.coefficients[rows] / inverse[:, None]
        return left
