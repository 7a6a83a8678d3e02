"""Ridge regression from moments: every penalty from one factorization, and the error that each would have had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh
from scipy.linalg.blas import dtrsm, strsm

from similitude.linear.linear import Linear
from similitude.linear.moments import Moments

PENALTIES = 10.0 ** np.arange(-9.0, 1.01, 0.5)
"""Penalties that are tried, as parts of the trace of the features' Gram matrix."""

BY_EIGENVECTORS = 2000
"""Features up to which one eigendecomposition serves all penalties; above, a Cholesky factor for each costs less."""

STRIP = 2048
"""Rows worked on at once."""

DETERMINED = 1e-8
"""An example that is this near to fixing its own prediction leaves nothing to judge it by when it is left out."""


class Seen(Protocol):
    """Rows of features as a factorization sees them."""

    def scores(self, lam: float) -> np.ndarray:
        """Return f' (gram + lam)^-1 cross for every row f."""

    def leverages(self, lam: float) -> np.ndarray:
        """Return f' (gram + lam)^-1 f for every row f."""


class ByEigenvectors:
    """One eigendecomposition of the Gram matrix, for all penalties."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        values, self.vectors = eigh(gram, check_finite=False, driver="evd")
        self.values = np.maximum(values, 0.0)
        self.along = self.vectors.T @ cross

    def solve(self, lam: float) -> np.ndarray:
        """Return (gram + lam)^-1 cross."""
        solution: np.ndarray = self.vectors @ (self.along / (self.values + lam)[:, None])
        return solution

    def seen(self, F: np.ndarray) -> Seen:
        """Return rows along the eigenvectors."""
        return _AlongEigenvectors(self, F @ self.vectors.astype(F.dtype))


@dataclass(frozen=True)
class _AlongEigenvectors:
    by: ByEigenvectors
    Z: np.ndarray

    @cached_property
    def _squares(self) -> np.ndarray:
        return self.Z**2

    def scores(self, lam: float) -> np.ndarray:
        return self.Z @ (self.by.along / (self.by.values + lam)[:, None]).astype(self.Z.dtype)

    def leverages(self, lam: float) -> np.ndarray:
        return self._squares @ (1.0 / (self.by.values + lam)).astype(self.Z.dtype)


class ByCholesky:
    """A triangular factor of the Gram matrix for each penalty as it is asked for."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        self.gram, self.cross = gram, cross
        self._latest: tuple[float, np.ndarray, np.ndarray] | None = None

    def solve(self, lam: float) -> np.ndarray:
        """Return (gram + lam)^-1 cross; raise LinAlgError where that is singular up to rounding."""
        return self.factor(lam)[1]

    def factor(self, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """Return U with U'U = gram + lam, and the solution."""
        if self._latest is None or self._latest[0] != lam:
            shifted = self.gram.copy(order="F")
            shifted[np.diag_indices(len(shifted))] += lam
            U = cholesky(shifted, overwrite_a=True, check_finite=False)
            self._latest = lam, U, cho_solve((U, False), self.cross, check_finite=False)
        return self._latest[1:]

    def seen(self, F: np.ndarray) -> Seen:
        """Return the rows themselves."""
        return _ByTriangles(self, F)


@dataclass(frozen=True)
class _ByTriangles:
    by: ByCholesky
    F: np.ndarray

    def scores(self, lam: float) -> np.ndarray:
        return self.F @ self.by.solve(lam).astype(self.F.dtype)

    def leverages(self, lam: float) -> np.ndarray:
        solve = strsm if self.F.dtype == np.float32 else dtrsm
        U = self.by.factor(lam)[0].astype(self.F.dtype, order="F")
        found = np.empty(len(self.F), self.F.dtype)
        for start in range(0, len(self.F), STRIP):
            V = solve(1.0, U, self.F[start : start + STRIP].T, trans_a=1)  # |U'^-1 f|^2
            found[start : start + STRIP] = np.einsum("ij,ij->j", V, V)
        return found


def factorized(gram: np.ndarray, cross: np.ndarray) -> ByEigenvectors | ByCholesky:
    """Return whichever factorization costs less."""
    return (ByEigenvectors if len(gram) <= BY_EIGENVECTORS else ByCholesky)(gram, cross)


@dataclass(frozen=True)
class Trial:
    """What examples would have got from a model that was not fitted to them.

    Attributes
    ----------
    lam : float
        The penalty.
    scores : array of shape (n, k)
        Their scores.
    losses : array of shape (n,)
        Their squared errors, summed over targets.
    loss, deviation : float
        The weighted mean of these, and its standard error.
    """

    lam: float
    scores: np.ndarray
    losses: np.ndarray
    loss: float
    deviation: float

    @classmethod
    def of(cls, lam: float, scores: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Trial:
        """Judge scores by the targets."""
        losses = ((scores - Y) ** 2).sum(axis=1)
        loss = float(weights @ losses / weights.sum())
        deviation = float(np.sqrt(weights**2 @ (losses - loss) ** 2) / weights.sum())
        return cls(lam, scores, losses, loss, deviation)


Judge = Callable[[float], Trial | None]
"""Gives the trial of a penalty, or None where there is no verdict."""


class Ridge:
    r"""Minimize :math:`\sum_i s_i |y_i - w^\top f_i - b|^2 + \lambda |w|^2`, from moments, for any :math:`\lambda`.

    Parameters
    ----------
    moments : Moments
    only : float, optional
        The one penalty that will be asked for, where it is known.

    Examples
    --------
    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> Ridge(Moments.of(F, Y, np.ones(3))).fit(lam=1.0).scores(np.array([[4.0]])).round(4)
    array([[2.3333]])
    """

    def __init__(self, moments: Moments, only: float | None = None) -> None:
        self.moments = moments
        self.mean, self.middle = moments.means()
        gram, cross = moments.centered()
        self.unit = max(float(np.trace(gram)), moments.eps * float(np.trace(moments.gram))) or 1.0
        above_rounding = only is not None and only > moments.eps * float(np.trace(moments.gram))
        self.factorization = (ByCholesky if above_rounding else factorized)(gram, cross)

    def fit(self, lam: float) -> Linear:
        """Return the minimizer."""
        W = self.factorization.solve(lam)
        return Linear(W, self.middle - self.mean @ W)

    def left_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Judge:
        r"""Judge every example by the model fitted to all others: its residual divided by :math:`1 - h_i`.

        The features and targets are those of the moments. No verdict where an example decides its prediction alone.
        """
        seen = self.factorization.seen(F - self.mean.astype(F.dtype))

        def judge(lam: float) -> Trial | None:
            left = 1.0 - weights * (seen.leverages(lam).astype(np.float64) + 1.0 / self.moments.weight)
            if left.min(initial=1.0, where=weights > 0) < DETERMINED:
                return None
            residuals = (seen.scores(lam) + self.middle - Y) / np.maximum(left, DETERMINED)[:, None]
            return Trial.of(lam, Y + residuals, Y, weights)

        return judge

    def held_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Judge:
        """Judge examples that have no part in the moments."""
        seen = self.factorization.seen(F - self.mean.astype(F.dtype))
        return lambda lam: Trial.of(lam, seen.scores(lam) + self.middle, Y, weights)

    def best(self, judge: Judge, near: float | None = None) -> Trial:
        """Return the trial of the penalty with the smallest loss; a tie goes to the larger penalty.

        Parameters
        ----------
        judge : callable
            Gives the trial of a penalty.
        near : float, optional
            A penalty, as a part of the trace, from which to walk downhill; without one all are tried where that is
            cheap, and where it is not the walk begins in the middle.
        """
        trials: dict[int, Trial | None] = {}

        def loss(i: int) -> float:
            if not 0 <= i < len(PENALTIES):
                return np.inf
            if i not in trials:
                trials[i] = _judged(judge, self.unit * float(PENALTIES[i]))
            trial = trials[i]
            return np.inf if trial is None else trial.loss

        if isinstance(self.factorization, ByEigenvectors):
            place = min(reversed(range(len(PENALTIES))), key=loss)
        else:
            start = 1e-5 if near is None else near
            place = int(np.abs(np.log(PENALTIES / start)).argmin())
            while np.isinf(loss(place)) and place + 1 < len(PENALTIES):
                place += 1
            place = downhill(loss, place if near is not None else downhill(loss, place, 2), 1)
        found = trials[place]
        if found is None:
            raise ValueError("no penalty leaves anything to judge by: give more examples, or less uneven weights")
        return found


def _judged(judge: Judge, lam: float) -> Trial | None:
    """Return the trial of a penalty; None where it is too small for the precision of the moments."""
    try:
        trial = judge(lam)
    except LinAlgError:
        return None
    return trial if trial is not None and np.isfinite(trial.loss) else None


def downhill(loss: Callable[[int], float], place: int, step: int) -> int:
    """Return where neither neighbor is better."""
    for direction in (step, -step):
        while loss(place + direction) < loss(place):
            place += direction
    return place
