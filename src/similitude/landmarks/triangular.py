"""The factor of a Gram matrix, M = U'U with U upper triangular, and features F from F U = K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PANEL = 128
"""Columns solved for at once: wide enough for BLAS, narrow enough that inverting its triangle costs nothing."""


@dataclass(frozen=True)
class Factor:
    """The factor of the Gram matrix of the pivots, M[pivots][:, pivots] = U'U.

    Attributes
    ----------
    U : array of shape (rank, rank)
    pivots : array of int
        Positions whose features span those of all.
    residual : float
        The largest |entry| of what the pivots leave unexplained: rounding, unless M is indefinite.
    """

    U: np.ndarray
    pivots: np.ndarray
    residual: float


def factorize(M: np.ndarray, tolerance: float) -> Factor:
    """Return the Cholesky factor of M, with pivots only where its rows depend on one another.

    Parameters
    ----------
    M : array of shape (m, m)
        Symmetric, float64.
    tolerance : float
        A squared length below this counts as zero.
    """
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.lapack import dpstrf

    try:
        U = cholesky(M, check_finite=False)
        if U.diagonal().min() ** 2 > tolerance:
            return Factor(U, np.arange(len(M)), 0.0)
    except LinAlgError:
        pass
    packed, order, rank, _ = dpstrf(M, tol=tolerance)
    order = order - 1
    rank = int(rank) if packed[0, 0] ** 2 > tolerance else 0
    head = np.triu(packed[:rank])
    rest = order[rank:]
    left = M[np.ix_(rest, rest)] - head[:, rank:].T @ head[:, rank:]
    return Factor(np.ascontiguousarray(head[:, :rank]), order[:rank], float(np.abs(left).max(initial=0.0)))


def solver(U: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return U with each triangle on its diagonal inverted, which is all that :func:`solve_rows` needs."""
    from scipy.linalg.lapack import dtrtri

    T = U.copy()
    for start in range(0, len(U), PANEL):
        panel = slice(start, start + PANEL)
        T[panel, panel] = np.triu(dtrtri(U[panel, panel])[0])
    return T.astype(dtype, copy=False)


def solve_rows(K: np.ndarray, T: np.ndarray, leading: int | None = None) -> np.ndarray:
    """Turn the rows k of K into the solutions f of f U = k, in place, with T from :func:`solver`.

    The first half of the columns is solved, taken out of the second, and the second solved: nearly all of the work is
    products of large matrices. Where only the first `leading` columns are to be solved, a multiple of `PANEL`, the
    others are left as what remains when these are taken out.

    >>> U = np.array([[1., 1.], [0., 1.]])
    >>> solve_rows(np.array([[2., 5.]]), solver(U, U.dtype))
    array([[2., 3.]])
    """
    with np.errstate(invalid="ignore"):  # OpenBLAS sometimes reports one that is none, for a single float32 row
        if leading is None:
            _solve(K, T)
        elif leading:
            _solve(K[:, :leading], T[:leading, :leading])
            K[:, leading:] -= K[:, :leading] @ T[:leading, leading:]
    return K


def _solve(K: np.ndarray, T: np.ndarray) -> None:
    if len(T) <= PANEL:
        K[...] = K @ T
        return
    half = (len(T) // PANEL + 1) // 2 * PANEL
    _solve(K[:, :half], T[:half, :half])
    K[:, half:] -= K[:, :half] @ T[:half, half:]
    _solve(K[:, half:], T[half:, half:])
