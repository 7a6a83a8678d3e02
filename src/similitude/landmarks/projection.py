"""The projection onto the span of landmarks: a Cholesky factor of their Gram matrix, and triangular solves with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UNPROVEN = 1e-10
"""Relative error allowed in double-precision values of a similarity that is not proven to be a kernel."""

PANEL = 128
"""Columns solved at once: wide enough for BLAS, narrow enough that inverting the diagonal triangle costs nothing."""

SINGLE = float(np.finfo(np.float32).eps)
DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Factor:
    """The Cholesky factor of the Gram matrix of the pivots, M[pivots][:, pivots] = U'U.

    Attributes
    ----------
    U : array of shape (rank, rank)
        Upper triangular.
    pivots : array of int
        Positions of objects whose features span those of all.
    residual : float
        The largest absolute entry that the pivots leave unexplained: rounding, unless M is indefinite.
    """

    U: np.ndarray
    pivots: np.ndarray
    residual: float


def factorize(M: np.ndarray, tolerance: float) -> Factor:
    """Return the Cholesky factor of M, with pivoting only where its rows depend on one another.

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
    kept = np.triu(packed[:rank])
    rest = order[rank:]
    left = M[np.ix_(rest, rest)] - kept[:, rank:].T @ kept[:, rank:]
    return Factor(np.ascontiguousarray(kept[:, :rank]), order[:rank], float(np.abs(left).max(initial=0.0)))


def rounding_of(M: np.ndarray, single: bool) -> float:
    """Return how far rounding alone may take a matrix of unproven similarities from symmetric and PSD."""
    return float((SINGLE if single else UNPROVEN) * len(M) * np.abs(M).max(initial=0.0))


def factor_of_landmarks(M: np.ndarray, single: bool, proven: bool = True) -> Factor | None:
    """Return the factor of the landmarks' Gram matrix; None if the matrix is indefinite beyond rounding, or zero.

    Parameters
    ----------
    M : array
        The Gram matrix of the landmarks in float64.
    single : bool
        Whether K(x, l) comes in single precision: squared lengths below that precision are rounding.
    proven : bool
        Whether the similarity is proven to be a kernel, so that an indefinite M can only be rounding.
    """
    M = (M + M.T) / 2
    precision = max(len(M) * DOUBLE, SINGLE if single else 0.0)
    precision = precision if proven else max(precision, UNPROVEN)
    factor = factorize(M, precision * max(float(M.diagonal().max()), 0.0))
    indefinite = not proven and factor.residual > max(rounding_of(M, single), 16 * precision * float(np.abs(M).max()))
    return None if indefinite or not len(factor.pivots) else factor


def solver(U: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return U with each triangle on its block diagonal inverted, as :func:`solve_rows` needs it."""
    from scipy.linalg.lapack import dtrtri

    T = U.copy()
    for start in range(0, len(U), PANEL):
        panel = slice(start, start + PANEL)
        T[panel, panel] = np.triu(dtrtri(U[panel, panel])[0])
    return T.astype(dtype, copy=False)


def solve_rows(K: np.ndarray, T: np.ndarray, leading: int | None = None) -> np.ndarray:
    """Replace each row k of K by the solution f of f U = k, in place, with T from :func:`solver`.

    The left half of the columns is solved, subtracted from the right half, and the right half solved: nearly all work
    is products of large matrices. With `leading`, a multiple of `PANEL`, only the first columns are solved, and the
    others hold what remains after these are subtracted.

    >>> U = np.array([[1., 1.], [0., 1.]])
    >>> solve_rows(np.array([[2., 5.]]), solver(U, U.dtype))
    array([[2., 3.]])
    """
    with np.errstate(invalid="ignore"):  # OpenBLAS sometimes sets this flag without cause for a single float32 row
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
