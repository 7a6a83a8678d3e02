r"""The projection onto the span of landmarks: whether a similarity is projected, the Cholesky factor, and its solves.

Features are :math:`f = k\,U^{-1}`. As :math:`\sum f f^\top = U^{-\top} (\sum k k^\top)\,U^{-1}`, sums of similarities
would be enough for the normal equations, were it not for rounding, which dividing by U amplifies: most in the few
directions in which all objects are similar, and a few landmarks span these. So in a partial projection the features of
the first `leading` landmarks are computed for every row and subtracted from its similarities to the others; only the
rest waits until after the sum.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_lapack_funcs

from similitude.compute.engines import factorizing
from similitude.similarity import Similarity
from similitude.support import Result, paragraph
from similitude.validity import stored_witness

PROJECTION = "projection"
SIMILARITIES = "similarities"

EXAMINED = 500
"""Most landmarks whose Gram matrix is examined if there is no proof that the similarity is a kernel."""

UNPROVEN = 1e-10
"""Relative error allowed in double-precision values of a similarity that is not proven to be a kernel."""

PANEL = 128
"""Columns solved at once: wide enough for BLAS, narrow enough that inverting the diagonal triangle costs nothing."""

SINGLE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Representation(Result):
    """Which features a model uses, and why.

    Attributes
    ----------
    name : str
        ``projection``: the kernel's feature space projected onto the span of the landmarks; needs a kernel.
        ``similarities``: the similarities to the landmarks themselves; needs nothing.
    reason : str
    side : str
        Which similarities are used: ``left`` K(x, l), ``right`` K(l, x), or ``both``.
    normalized : bool
        Whether each object's similarities are divided by their Euclidean length, because this lowered the held-out
        loss.
    """

    name: str
    reason: str
    side: str = "left"
    normalized: bool = False

    def __str__(self) -> str:
        what = "features projected onto the landmarks"
        if self.name != PROJECTION:
            sides = {"left": "K(x, l)", "right": "K(l, x)", "both": "K(x, l) and K(l, x)"}[self.side]
            length = ", divided by their length for each object (lower held-out loss)" * self.normalized
            what = f"similarities {sides}{length}"
        return f"{self.name}: {what}, because {self.reason}"

    def html_parts(self) -> Sequence[object]:
        """Return the features, and why they were chosen."""
        title, _, reason = str(self).partition(", because ")
        return title, paragraph(f"Because {reason}.")


def choose_representation(
    k: Similarity, M: np.ndarray | None, side: str, sparse: bool, single: bool = False
) -> Representation:
    """Choose the representation of a similarity, which is never projected if it is known not to be a kernel.

    M is the Gram matrix of some landmarks with every pair computed, `single` if its values came in single precision. It
    is None for a kernel by proof, and where objects and landmarks are of different kinds.
    """
    if side in ("right", "both"):
        return Representation(SIMILARITIES, f"side={side!r} was asked for", side)
    if sparse:
        return Representation(SIMILARITIES, "penalty='l1' chooses among landmarks")  # a weight of 0 saves a call
    if M is None and k.proven:
        return Representation(PROJECTION, f"{k!r} is a kernel by proof")
    if M is None:
        return Representation(SIMILARITIES, "there is no Gram matrix of the landmarks")
    apart = np.abs(M - M.T)
    rounding = rounding_of(M, single)
    if apart.max() > rounding:
        i, j = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
        differ = f"it is not symmetric: K(l{i}, l{j}) = {M[i, j]:.4g} and K(l{j}, l{i}) = {M[j, i]:.4g}"
        return Representation(SIMILARITIES, differ, "both" if side == "auto" else "left")
    if float(np.linalg.eigvalsh(M)[0]) < -rounding:
        return not_projected(M)
    known = stored_witness(k) if k.counterexamples() else None
    if known is not None:
        sides = "left" if known.coefficients or side != "auto" else "both"
        reason = f"it is not a kernel: a counterexample of {len(known.objects)} objects is known"
        return Representation(SIMILARITIES, reason, sides)
    return Representation(PROJECTION, f"there is no proof, but it is positive semi-definite on {len(M)} landmarks")


def not_projected(M: np.ndarray) -> Representation:
    """Return the representation after the Gram matrix of more landmarks proved to be indefinite or zero."""
    if not M.any():
        return Representation(SIMILARITIES, f"it is zero on {len(M)} landmarks")
    lowest = float(np.linalg.eigvalsh(M)[0])
    return Representation(SIMILARITIES, f"it is not a kernel: an eigenvalue on {len(M)} landmarks is {lowest:.4g}")


@dataclass(frozen=True)
class Factor:
    """The Cholesky factor of the Gram matrix of the pivots, M[pivots][:, pivots] = U'U."""

    U: np.ndarray  # upper triangular
    pivots: np.ndarray  # positions of objects whose features span those of all
    residual: float  # the largest absolute entry left unexplained beyond rounding: zero unless M is indefinite


def factorize(M: np.ndarray, single: bool, proven: bool = True) -> Factor:
    """Return the Cholesky factor of M, with pivoting only where its rows depend on one another.

    Squared lengths below the precision count as zero: that of the factorization, or of K(x, l) if it comes in single
    precision, or of a similarity that is not proven to be a kernel.
    """
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.lapack import dpstrf

    M = (M + M.T) / 2
    precision = max(len(M) * float(np.finfo(np.float64).eps), SINGLE * single, UNPROVEN * (not proven))
    tolerance = precision * max(float(M.diagonal().max()), 0.0)
    try:
        with factorizing(len(M)):
            U = cholesky(M, check_finite=False)
        if U.diagonal().min() ** 2 > tolerance:
            return Factor(U, np.arange(len(M)), 0.0)
    except LinAlgError:
        pass
    packed, order, rank, _ = dpstrf(M, tol=tolerance)
    order = order - 1
    rank = int(rank) * int(packed[0, 0] ** 2 > tolerance)
    kept = np.triu(packed[:rank])
    rest = order[rank:]
    left = float(np.abs(M[np.ix_(rest, rest)] - kept[:, rank:].T @ kept[:, rank:]).max(initial=0.0))
    residual = left * (left > 16 * precision * float(np.abs(M).max()))
    return Factor(np.ascontiguousarray(kept[:, :rank]), order[:rank], residual)


def rounding_of(M: np.ndarray, single: bool) -> float:
    """Return how far rounding alone may take a matrix of unproven similarities from symmetric and PSD."""
    return float((SINGLE if single else UNPROVEN) * len(M) * np.abs(M).max(initial=0.0))


def factor_of_landmarks(M: np.ndarray, single: bool, proven: bool = True) -> Factor | None:
    """Return the factor of the landmarks' Gram matrix; None if it is zero, or is not proven PSD and indefinite."""
    factor = factorize(M, single, proven)
    indefinite = not proven and factor.residual > rounding_of(M, single)
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
    half = (len(T) // PANEL + 1) // 2 * PANEL if leading is None else leading
    with np.errstate(invalid="ignore"):  # OpenBLAS sometimes sets this flag without cause for a single float32 row
        if leading is None and len(T) <= PANEL:
            K[...] = K @ T
        elif half:
            solve_rows(K[:, :half], T[:half, :half])
            K[:, half:] -= K[:, :half] @ T[:half, half:]
            if leading is None:
                solve_rows(K[:, half:], T[half:, half:])
    return K


def n_leading(U: np.ndarray, F: np.ndarray) -> int | None:
    """Return how many features to complete for every row, given those of some rows; None: all of them.

    They are as many as keep the rounding of the completed sums near that of sums of complete features, if these are few
    enough to save time. U is the factor of the landmarks' Gram matrix.

    >>> F = np.random.default_rng(0).standard_normal((50, 4))
    >>> n_leading(np.eye(4), F), n_leading(np.diag([1.0, 1.0, 1.0, 1e-9]), F)
    (0, None)
    """
    # accepted relative error of the sums: a multiple of that of complete features, or harmless
    slack = max(4.0, 1e-12 / float(np.finfo(F.dtype).eps))
    F = F[:: -(-len(F) // 1_000)]  # some rows are enough to decide
    U = U.astype(F.dtype, copy=False)
    inverse = get_lapack_funcs("trtri", (U,))(U)[0]
    rest = np.zeros_like(F)
    left = {}  # the largest mean square of a similarity less its projection, by the number of features that lead
    stop = len(U)
    # at most one landmark in this many leads; more would save too little
    for r in reversed(range(0, len(U) // 3 + 1, PANEL)):
        rest[:, r:] += F[:, r:stop] @ U[r:stop, r:]  # the last are added up first: nothing cancels
        left[r] = float(np.square(rest[:, r:]).mean(axis=0).max())
        stop = r
    allowed = slack * _largest_square(F) / len(F)
    numbers = sorted(left)  # the more, the less is left and the smaller is what remains of the inverse
    place = bisect_left(numbers, True, key=lambda r: left[r] * _largest_square(inverse[r:, r:]) <= allowed)
    return next(iter(numbers[place:]), None)


def _largest_square(A: np.ndarray) -> float:
    """Return the square of the largest singular value, or a little less, by the power method."""
    v = A[np.einsum("ij,ij->i", A, A).argmax()]
    if not v.any():
        return 0.0
    for _ in range(10):
        v = A.T @ (A @ (v / np.linalg.norm(v)))
    return float(np.linalg.norm(v))
