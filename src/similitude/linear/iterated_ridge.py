r"""Ridge regression on the projected features of many landmarks, by conjugate gradients on their similarities.

With :math:`K(L, L) = U^\top U` the features of a row with similarities k are :math:`f = U^{-\top} k`. They are never
computed but for some rows S, the landmarks among them, whose weighted, centered Gram matrix, enlarged to the weight of
all rows, is the preconditioner :math:`P = \rho \sum_{i \in S} s_i (f_i - m_S)(f_i - m_S)^\top + \lambda`. The features
of the landmarks are the columns of U, so that their part of it is a product of triangles. Then a step costs two
products with the similarities, and about ten steps suffice, where the Gram matrix of all rows would take as long as
hundreds.

The model is linear in the targets, so that what groups of rows add to it are the minimizers for the targets of one
group each, less the mean, and zero elsewhere. Their steps are those of a block of columns. The same preconditioner
serves for other penalties nearby.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from similitude.linear.lapack import conjugate_steps, factorize
from similitude.linear.moments import LinearModel, Members, sums_of_groups

MOST_STEPS = 60
"""The most steps of conjugate gradients."""

FEW_COLUMNS = 4
"""Number of outputs up to which products with vectors are faster than products of matrices."""

ROWS_SUMMED = 512
"""Rows whose sums are computed in the precision of the similarities, and which are multiplied twice while in cache."""


class IteratedRidge:
    r"""Minimize :math:`\sum_i s_i |y_i - w^\top f_i - b|^2 + \lambda |w|^2` over w and b.

    K, of shape (n, m), are the similarities of rows to landmarks, in either precision, and :math:`K(L, L) = U^\top U`.
    The landmarks are the rows `own`; F are the features of the `others` in the preconditioner, which is for the penalty
    `lam`.

    >>> K, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> ridge = IteratedRidge(K, np.eye(1), np.array([0]), np.array([1]), K[1:2], np.ones(3), lam=1.0)
    >>> ridge.fit(Y, np.ones(3), lam=1.0).scores(np.array([[4.0]])).round(4)
    array([[2.3333]])
    """

    def __init__(
        self,
        K: np.ndarray,
        U: np.ndarray,
        own: np.ndarray,
        others: np.ndarray,
        F: np.ndarray,
        weights: np.ndarray,
        lam: float,
    ) -> None:
        self.K = K
        self.U = np.asfortranarray(U)
        self.lam = lam
        s = weights * (weights.sum() / (weights[own].sum() + weights[others].sum()))
        self.factor = _factor(_centered_gram(U, F, s[own], s[others]), lam)

    def fit(
        self,
        Y: np.ndarray,
        weights: np.ndarray,
        lam: float,
        start: LinearModel | None = None,
        tolerance: float = 5e-4,
    ) -> LinearModel:
        """Return the minimizer for rows of which some may have no weight, and a penalty, from a start.

        Steps end when the relative error of the objective is at most the tolerance, as they estimate it.
        """
        mean = weights @ Y / weights.sum()
        center = self._center(weights)
        right = self._adjoint(weights[:, None] * (Y - mean))
        squares = weights @ (Y - mean) ** 2
        first = np.zeros_like(right)
        if start:
            first = start.weights
        W = self._solve(right, squares, weights, center, lam, first, tolerance)
        return LinearModel(W, mean - center @ W)

    def _solve(
        self,
        right: np.ndarray,
        squares: np.ndarray,
        weights: np.ndarray,
        center: np.ndarray,
        lam: float,
        first: np.ndarray,
        tolerance: float,
    ) -> np.ndarray:
        """Solve the normal equations for the columns of a right-hand side, given the sums of the squared targets.

        A gradient's square in the norm of the preconditioner is about how far the objective is above its minimum.
        """

        def matrix(D: np.ndarray) -> np.ndarray:
            return self._times(D, weights, center, lam)

        rest = right
        if first.any():
            rest = right - matrix(first)
        for taken, (step, G, size) in enumerate(conjugate_steps(matrix, self._precondition, rest)):
            W = first + step
            objective = squares - np.einsum("ij,ij->j", W, right + G)
            # part of the squared targets below which an objective is rounding
            if taken == MOST_STEPS or (size <= tolerance * np.maximum(objective, 1e-12 * squares)).all():
                break
        return W

    def scores(self, model: LinearModel, rows: slice) -> np.ndarray:
        """Return the scores of some rows."""
        V = _divided(self.U, model.weights).astype(self.K.dtype)
        return _times(self.K[rows], V).astype(np.float64) + model.intercept

    def of_groups(
        self,
        model: LinearModel,
        Y: np.ndarray,
        weights: np.ndarray,
        lam: float,
        members: Members,
        tolerance: float = 3e-5,
    ) -> LinearModel:
        """Return what groups of rows add to the model: a column for each group, and in it for each output.

        What steps leave of the model less the mean target is added in proportion to the groups' weights.
        """
        n = members.n_groups
        outputs = Y.shape[1]
        total = weights.sum()
        inside = members.group[:, None] == np.arange(n)
        mean = weights @ Y / total
        share = weights @ inside / total
        targets = weights[:, None] * (Y - mean)
        center = self._center(weights)
        right = _divided(self.U, self._sums_of_groups(targets, members), transposed=True)
        right -= np.outer(center, (targets.T @ inside).ravel())
        squares = ((weights[:, None] * (Y - mean) ** 2).T @ inside).ravel()
        W = self._solve(right, squares, weights, center, lam, np.zeros_like(right), tolerance)
        W = W.reshape(-1, outputs, n)
        W = W + (model.weights - W.sum(axis=2))[:, :, None] * share
        constants = -np.tensordot(center, W, 1)
        constants = constants + (model.intercept - mean - constants.sum(axis=1))[:, None] * share
        return LinearModel(W.transpose(0, 2, 1).reshape(len(W), -1), constants.T.ravel())

    def _center(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted mean of the features."""
        return self._adjoint(weights[:, None] / weights.sum())[:, 0]

    def _times(self, W: np.ndarray, weights: np.ndarray, center: np.ndarray, lam: float) -> np.ndarray:
        """Return the product with the normal equations, in one pass over the similarities."""
        V = _divided(self.U, W).astype(self.K.dtype)
        mean = center @ W
        total = np.zeros_like(W)
        for rows in self._strips():
            T = weights[rows, None] * (_times(self.K[rows], V) - mean)
            total += _times(self.K[rows].T, T.astype(self.K.dtype))
        return _divided(self.U, total, transposed=True) + lam * W

    def _adjoint(self, T: np.ndarray) -> np.ndarray:
        """Return the sum over rows of their features times T."""
        T = T.astype(self.K.dtype)
        total = np.zeros((self.K.shape[1], T.shape[1]))
        for rows in self._strips():
            total += _times(self.K[rows].T, T[rows])
        return _divided(self.U, total, transposed=True)

    def _strips(self) -> list[slice]:
        """Return slices of a few rows each that make up all rows."""
        return [slice(start, start + ROWS_SUMMED) for start in range(0, len(self.K), ROWS_SUMMED)]

    def _sums_of_groups(self, T: np.ndarray, members: Members) -> np.ndarray:
        """Return the sums over the rows of each group of their similarities times T."""
        total = np.zeros((self.K.shape[1], T.shape[1] * members.n_groups))
        for rows in self._strips():
            total += sums_of_groups(self.K[rows], members[rows], list(T[rows].T)).T
        return total

    def _precondition(self, G: np.ndarray) -> np.ndarray:
        """Return the inverse of the preconditioner times G."""
        half = _divided(self.factor, G.astype(self.factor.dtype), transposed=True)
        return _divided(self.factor, half).astype(np.float64)


def _centered_gram(U: np.ndarray, F: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the weighted, centered Gram matrix of the columns of U and the rows of F, in the upper triangle."""
    (lauum,) = get_lapack_funcs(("lauum",), (U,))
    (syr2,) = get_blas_funcs(("syr2",), (U,))
    (syrk,) = get_blas_funcs(("syrk",), (F,))
    sums = U @ own
    mean = (sums + others.astype(F.dtype) @ F) / (own.sum() + others.sum())
    gram, _ = lauum(np.asfortranarray(U * np.sqrt(own)), lower=False, overwrite_c=True)
    gram = syr2(-1.0, sums - own.sum() / 2 * mean, mean, lower=False, a=gram, overwrite_a=True)
    centered = (F - mean.astype(F.dtype)) * np.sqrt(others).astype(F.dtype)[:, None]
    found = syrk(1.0, centered.T, beta=1.0, c=gram.astype(F.dtype), lower=False, overwrite_c=True)
    return np.asarray(found)


def _factor(gram: np.ndarray, lam: float) -> np.ndarray:
    """Return the upper Cholesky factor of gram + lam, given above the diagonal; of single precision if that will do."""
    (potrf,) = get_lapack_funcs(("potrf",), (gram,))
    np.fill_diagonal(gram, gram.diagonal() + np.asarray(lam, dtype=gram.dtype))
    found, failed = potrf(gram, lower=False)
    if failed:
        whole = np.triu(gram) + np.triu(gram, 1).T
        found = factorize(whole.astype(np.float64), np.finfo(gram.dtype).eps * float(gram.diagonal().max()))
    return np.asfortranarray(found, dtype=gram.dtype)


def _times(K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return K V, column by column if there are few; otherwise V' K', which takes less time if K is in rows."""
    if V.shape[1] > FEW_COLUMNS:
        return np.asarray(np.ascontiguousarray(V.T) @ K.T).T
    return np.column_stack([K @ column for column in V.T])


def _divided(U: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    """Return the inverse of an upper triangle, or of its transpose, times B."""
    trsv, trsm = get_blas_funcs(("trsv", "trsm"), (U, B))
    if B.shape[1] > FEW_COLUMNS:
        return np.asarray(trsm(1.0, U, B, trans_a=transposed))
    return np.column_stack([trsv(U, column, trans=transposed) for column in B.T])
