r"""Ridge regression on the projected features of many landmarks, by conjugate gradients on their similarities.

With :math:`K(L, L) = U^\top U` the features of a row with similarities k are :math:`f = U^{-\top} k`. They are never
computed but for some rows S, whose weighted, centered Gram matrix, enlarged to the weight of all rows, is the
preconditioner :math:`P = \rho \sum_{i \in S} s_i (f_i - m_S)(f_i - m_S)^\top + \lambda`. Then a step costs two products
with the similarities, and about ten steps suffice, where the Gram matrix of all rows would take as long as hundreds.

The model is linear in the targets, so that what groups of rows add to it are the minimizers for the targets of one
group each, less the mean, and zero elsewhere. Their steps are those of a block of columns. The same preconditioner
serves for other penalties nearby.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from similitude.linear.cholesky import factorize
from similitude.linear.model import LinearModel
from similitude.linear.moments import Members, sums_of_groups

STEP_TOLERANCE, MOST_STEPS = 5e-4, 60
"""The relative error of the objective at which conjugate gradients stop, as they estimate it, and the most steps."""

GROUP_TOLERANCE = 2e-3
"""The same for what groups of rows add to a model."""

LEAST_OBJECTIVE = 1e-12
"""Part of the squared targets below which an objective is rounding."""

FEW_COLUMNS = 4
"""Number of outputs up to which products with vectors are faster than products of matrices."""

ROWS_SUMMED = 4096
"""Rows whose sums are computed in the precision of the similarities."""


class IteratedRidge:
    r"""Minimize :math:`\sum_i s_i |y_i - w^\top f_i - b|^2 + \lambda |w|^2` over w and b.

    Parameters
    ----------
    K : array of shape (n, m)
        The similarities of rows to landmarks, in either precision.
    U : array of shape (m, m)
        Upper triangular, :math:`K(L, L) = U^\top U`.
    some : array of int
        The rows of the preconditioner.
    F : array
        Their features.
    weights : array of shape (n,)
    lam : float
        The penalty of the preconditioner.

    >>> K, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> ridge = IteratedRidge(K, np.eye(1), np.arange(2), K[:2], np.ones(3), lam=1.0)
    >>> ridge.fit(Y, np.ones(3), lam=1.0).scores(np.array([[4.0]])).round(4)
    array([[2.3333]])
    """

    def __init__(
        self, K: np.ndarray, U: np.ndarray, some: np.ndarray, F: np.ndarray, weights: np.ndarray, lam: float
    ) -> None:
        self.K, self.U, self.lam, s = K, np.asfortranarray(U), lam, weights[some]
        centered = F - (s @ F / s.sum()).astype(F.dtype)
        centered *= np.sqrt(weights.sum() / s.sum() * s).astype(F.dtype)[:, None]
        self.factor = _factor(centered.T @ centered, lam)

    def fit(
        self,
        Y: np.ndarray,
        weights: np.ndarray,
        lam: float,
        start: LinearModel | None = None,
        tolerance: float = STEP_TOLERANCE,
    ) -> LinearModel:
        """Return the minimizer for rows of which some may have no weight, and a penalty, from a start."""
        mean = weights @ Y / weights.sum()
        right, squares = self._adjoint(weights[:, None] * (Y - mean)), weights @ (Y - mean) ** 2
        W = self._solve(right, squares, weights, lam, None if start is None else start.weights, tolerance)
        return LinearModel(W, mean - weights @ self.images(W) / weights.sum())

    def _solve(
        self,
        right: np.ndarray,
        squares: np.ndarray,
        weights: np.ndarray,
        lam: float,
        start: np.ndarray | None,
        tolerance: float,
    ) -> np.ndarray:
        """Solve the normal equations for the columns of a right-hand side, given the sums of the squared targets.

        A gradient's squared length in the norm of the preconditioner is about how far the objective is above its
        minimum.
        """
        W, G = np.zeros_like(right), right
        if start is not None:
            W, G = start, right - self._times(start, weights, lam)
        Z = self._precondition(G)
        D, size = Z, _products(G, Z)
        for _ in range(MOST_STEPS):
            objective = np.maximum(squares - _products(W, right + G), LEAST_OBJECTIVE * squares)
            if (size <= tolerance * objective).all():
                break
            H = self._times(D, weights, lam)
            length = _quotients(size, _products(D, H))
            W, G = W + length * D, G - length * H
            Z = self._precondition(G)
            before, size = size, _products(G, Z)
            D = Z + _quotients(size, before) * D
        return W

    def images(self, W: np.ndarray) -> np.ndarray:
        """Return the scores of all rows for weights of the features, without an intercept."""
        V = _divided(self.U, W).astype(self.K.dtype)
        if V.shape[1] > FEW_COLUMNS:
            return (self.K @ V).astype(np.float64)
        return np.column_stack([self.K @ column for column in V.T]).astype(np.float64)

    def of_groups(
        self,
        model: LinearModel,
        Y: np.ndarray,
        weights: np.ndarray,
        lam: float,
        members: Members,
        tolerance: float = GROUP_TOLERANCE,
    ) -> LinearModel:
        """Return what groups of rows add to the model: a column for each group, and in it for each output.

        They add up to the model less the mean target: what the steps leave is added in proportion to the weights of the
        groups.
        """
        n, outputs, total = members.n_groups, Y.shape[1], weights.sum()
        inside = members.group[:, None] == np.arange(n)
        mean, share = weights @ Y / total, weights @ inside / total
        targets = weights[:, None] * (Y - mean)
        middle = self._sums(weights[:, None] / total)
        sums = self._sums_of_groups(targets, members) - middle * (targets.T @ inside).ravel()
        squares = ((weights[:, None] * (Y - mean) ** 2).T @ inside).ravel()
        W = self._solve(_divided(self.U, sums, transposed=True), squares, weights, lam, None, tolerance)
        W = W.reshape(-1, outputs, n)
        W = W + (model.weights - W.sum(axis=2))[:, :, None] * share
        constants = -np.tensordot(_divided(self.U, middle, transposed=True)[:, 0], W, 1)
        constants = constants + (model.intercept - mean - constants.sum(axis=1))[:, None] * share
        return LinearModel(W.transpose(0, 2, 1).reshape(len(W), -1), constants.T.ravel())

    def _times(self, W: np.ndarray, weights: np.ndarray, lam: float) -> np.ndarray:
        """Return the product with the normal equations."""
        T = self.images(W)
        return self._adjoint(weights[:, None] * (T - weights @ T / weights.sum())) + lam * W

    def _adjoint(self, T: np.ndarray) -> np.ndarray:
        """Return the sum over rows of their features times T, whose columns sum to zero."""
        return _divided(self.U, self._sums(T), transposed=True)

    def _sums(self, T: np.ndarray) -> np.ndarray:
        """Return the sum over rows of their similarities times T."""
        T, total = T.astype(self.K.dtype), np.zeros((self.K.shape[1], T.shape[1]))
        for start in range(0, len(T), ROWS_SUMMED):
            part, K = T[start : start + ROWS_SUMMED], self.K[start : start + ROWS_SUMMED]
            if T.shape[1] > FEW_COLUMNS:
                total += K.T @ part
            else:
                total += np.column_stack([column @ K for column in part.T])
        return total

    def _sums_of_groups(self, T: np.ndarray, members: Members) -> np.ndarray:
        """Return the sums over the rows of each group of their similarities times T."""
        total = np.zeros((self.K.shape[1], T.shape[1] * members.n_groups))
        for start in range(0, len(T), ROWS_SUMMED):
            some = slice(start, start + ROWS_SUMMED)
            total += sums_of_groups(self.K[some], members[some], list(T[some].T)).T
        return total

    def _precondition(self, G: np.ndarray) -> np.ndarray:
        """Return the inverse of the preconditioner times G."""
        half = _divided(self.factor, G.astype(self.factor.dtype), transposed=True)
        return _divided(self.factor, half).astype(np.float64)


def _factor(gram: np.ndarray, lam: float) -> np.ndarray:
    """Return the upper Cholesky factor of gram + lam; of single precision if that has enough digits."""
    (potrf,) = get_lapack_funcs(("potrf",), (gram,))
    np.fill_diagonal(gram, gram.diagonal() + np.asarray(lam, dtype=gram.dtype))
    found, failed = potrf(gram.T, lower=False)  # symmetric, and in the order of LAPACK
    if failed:
        found = factorize(gram.astype(np.float64), np.finfo(gram.dtype).eps * float(gram.diagonal().max()))
    return np.asfortranarray(found, dtype=gram.dtype)


def _divided(U: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    """Return the inverse of an upper triangle, or of its transpose, times B."""
    trsv, trsm = get_blas_funcs(("trsv", "trsm"), (U, B))
    if B.shape[1] > FEW_COLUMNS:
        return np.asarray(trsm(1.0, U, B, trans_a=transposed))
    return np.column_stack([trsv(U, column, trans=transposed) for column in B.T])


def _products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products of columns."""
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _quotients(a: Any, b: Any) -> np.ndarray:
    """Return a / b, and 0 where b is 0: a column that needs no more steps."""
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)
