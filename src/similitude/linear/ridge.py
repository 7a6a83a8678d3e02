"""Ridge regression from moments: every penalty from one factorization, and the held-out error of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import LinAlgError, cho_solve
from scipy.linalg.blas import dtrsm, strsm

from similitude.evaluation import Trial
from similitude.linear.lapack import symmetric_eigen, upper_cholesky
from similitude.linear.left_out_groups import residuals_from_halves
from similitude.linear.model import LinearModel
from similitude.linear.moments import Moments
from similitude.linear.penalties import DECADE, PENALTIES, along_path, downhill, nearest_place, smallest

FIRST_PENALTY = 1e-5
"""The penalty that is tried first where each takes a factor, relative to the trace."""

BY_EIGENVECTORS = 2000
"""Features up to which one eigendecomposition serves all penalties; beyond, a Cholesky factor each is cheaper."""


def gram_matrices(width: int) -> int:
    """Return how many matrices of the size of the features' Gram matrix are in memory at once, at most.

    Those are the sums of a pass, the sums of held-out rows and what is left of them when the mean is taken away; then
    the eigenvectors and twice their size for LAPACK to work in, or a Cholesky factor and a copy of it.
    """
    return 7 if width <= BY_EIGENVECTORS else 6


LEVERAGE_STRIP = 2048
"""Rows worked on at once."""

DETERMINED = 1e-8
"""A row whose leverage is this close to one fixes its own prediction and cannot be evaluated by leaving it out."""

OfPenalty = Callable[[float], np.ndarray]

Judge = Callable[[float], Trial | None]
"""Returns the trial of a penalty, or None where it cannot be evaluated."""


class ByEigenvectors:
    """Solutions for all penalties from one eigendecomposition of the Gram matrix."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        values, self.vectors = symmetric_eigen(gram.T.copy(order="F"))
        self.values = np.maximum(values, 0.0)
        self.along = self.vectors.T @ cross

    def solve(self, lam: float) -> np.ndarray:
        """Return (gram + lam)^-1 cross."""
        solution: np.ndarray = self.vectors @ (self.along / (self.values + lam)[:, None])
        return solution

    def divide(self, lam: float, B: np.ndarray) -> np.ndarray:
        """Return (gram + lam)^-1 B."""
        solution: np.ndarray = self.vectors @ ((self.vectors.T @ B) / (self.values + lam)[:, None])
        return solution

    def of_rows(self, F: np.ndarray) -> tuple[OfPenalty, OfPenalty]:
        """Return two functions of lam: f' (gram + lam)^-1 cross and f' (gram + lam)^-1 f for every row f."""
        Z = F @ self.vectors.astype(F.dtype)
        squares = cache(lambda: Z**2)

        def scores(lam: float) -> np.ndarray:
            return Z @ (self.along / (self.values + lam)[:, None]).astype(Z.dtype)

        def leverages(lam: float) -> np.ndarray:
            return squares() @ (1.0 / (self.values + lam)).astype(Z.dtype)

        return scores, leverages

    def halves(self, F: np.ndarray) -> OfPenalty:
        """Return a function of lam: the matrix R with R R' = F (gram + lam)^-1 F'."""
        Z = F.astype(np.float64) @ self.vectors
        return lambda lam: Z / np.sqrt(self.values + lam)


class ByCholesky:
    """Solutions from a Cholesky factor of the Gram matrix for each penalty as it is needed; the last factor is kept."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        self.gram, self.cross = gram, cross
        self._latest: tuple[float, np.ndarray] | None = None
        self._solutions: dict[float, np.ndarray] = {}

    def solve(self, lam: float) -> np.ndarray:
        """Return (gram + lam)^-1 cross; raise LinAlgError if the matrix is singular up to rounding."""
        if lam not in self._solutions:
            self._solutions[lam] = self.divide(lam, self.cross)
        return self._solutions[lam]

    def divide(self, lam: float, B: np.ndarray) -> np.ndarray:
        """Return (gram + lam)^-1 B."""
        solution: np.ndarray = cho_solve((self._factor(lam), False), B, check_finite=False)
        return solution

    def _factor(self, lam: float) -> np.ndarray:
        """Return U with U'U = gram + lam."""
        if self._latest is None or self._latest[0] != lam:
            shifted = self.gram.T.copy(order="F")  # of a symmetric matrix in C order, the quicker copy
            shifted[np.diag_indices(len(shifted))] += lam
            self._latest = lam, upper_cholesky(shifted)
        return self._latest[1]

    def of_rows(self, F: np.ndarray) -> tuple[OfPenalty, OfPenalty]:
        """Return two functions of lam: f' (gram + lam)^-1 cross and f' (gram + lam)^-1 f for every row f."""

        def scores(lam: float) -> np.ndarray:
            return F @ self.solve(lam).astype(F.dtype)

        def leverages(lam: float) -> np.ndarray:
            solve = strsm if F.dtype == np.float32 else dtrsm
            U, found = self._factor(lam).astype(F.dtype, order="F"), np.empty(len(F), F.dtype)
            for start in range(0, len(F), LEVERAGE_STRIP):
                V = solve(1.0, U, F[start : start + LEVERAGE_STRIP].T, trans_a=1)  # |U'^-1 f|^2
                found[start : start + LEVERAGE_STRIP] = np.einsum("ij,ij->j", V, V)
            return found

        return scores, leverages

    def halves(self, F: np.ndarray) -> OfPenalty:
        """Return a function of lam: the matrix R with R R' = F (gram + lam)^-1 F'."""
        columns = F.T.astype(np.float64)
        return lambda lam: np.asarray(dtrsm(1.0, self._factor(lam), columns, trans_a=1)).T


@dataclasses.dataclass(frozen=True, eq=False)
class Validation:
    """The targets on which choices are validated: by leave-one-out, or on held-out rows, which come last.

    Attributes
    ----------
    Y : array of shape (n, k)
    weights : array of shape (n,)
    n_train : int
        Number of training rows; n under leave-one-out.
    n_judged : int
        Number of rows at the end that no choice is made on.
    groups : array of int, or None
        Under leave-one-out these are left out instead of rows.
    """

    Y: np.ndarray
    weights: np.ndarray
    n_train: int
    n_judged: int = 0
    groups: np.ndarray | None = None

    def ridge(self, F: np.ndarray, near: float | None) -> tuple[Ridge, Trial]:
        """Return ridge regression on the training rows, and the trial of its best penalty on other rows."""
        n = self.n_train
        ridge = Ridge(Moments.of(F[:n], self.Y[:n], self.weights[:n]))
        if n == len(self.Y):
            judge = ridge.left_out(F[:n], self.Y, self.weights, self.groups)
            return ridge, ridge.best(judge, near, descend=self.groups is not None)
        chosen_on = slice(n, len(self.Y) - self.n_judged)
        judge = ridge.held_out(F[chosen_on], self.Y[chosen_on], self.weights[chosen_on])
        return ridge, ridge.best(judge, near)


class Ridge:
    r"""Minimize :math:`\sum_i s_i |y_i - w^\top f_i - b|^2 + \lambda |w|^2`, from moments, for any :math:`\lambda`.

    `only` is the only penalty that will be used, if known, and `smallest` a lower bound of the eigenvalues of the
    centered Gram matrix.

    >>> F, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> Ridge(Moments.of(F, Y, np.ones(3))).fit(lam=1.0).scores(np.array([[4.0]])).round(4)
    array([[2.3333]])
    """

    def __init__(self, moments: Moments, only: float | None = None, smallest: float = 0.0) -> None:
        self.moments = moments
        self.mean, self.target_mean = moments.means()
        gram, cross = moments.centered()
        rounding = moments.eps * float(np.trace(moments.gram))
        self.unit = max(float(np.trace(gram)), rounding) or 1.0
        by_cholesky = len(gram) > BY_EIGENVECTORS or (only is not None and only + smallest > rounding)
        self.factorization = (ByCholesky if by_cholesky else ByEigenvectors)(gram, cross)

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue of the centered Gram matrix, or zero if unknown; more rows do not lower it."""
        return float(self.factorization.values[0]) if isinstance(self.factorization, ByEigenvectors) else 0.0

    def fit(self, lam: float) -> LinearModel:
        """Return the minimizer."""
        W = self.factorization.solve(lam)
        return LinearModel(W, self.target_mean - self.mean @ W)

    def of_groups(self, lam: float) -> LinearModel:
        r"""Return what the targets of groups of rows add to the scores: the model is linear in the targets.

        An output is :math:`(f - m)^\top A^{-1} \sum_i s_i (f_i - m)\, t_i` with the mean m of the features and
        :math:`A = \sum_i s_i (f_i - m)(f_i - m)^\top + \lambda`: the score less the mean target, had the rows the
        targets t. With :math:`t_i = y_i - \bar y` for the rows of a group and zero for all others, the outputs of all
        groups sum to :math:`f(x) - \bar y`.
        """
        groups = self.moments.groups
        assert groups is not None
        cross = groups.cross - np.outer(self.moments.features, groups.targets / self.moments.weight)
        W = self.factorization.divide(lam, cross)
        return LinearModel(W, -(self.mean @ W))

    def left_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None = None) -> Judge:
        r"""Evaluate every row by the model fitted to all others: its residual divided by :math:`1 - h_i`.

        With groups the others are those of other groups. The features and targets are those of the moments. None if a
        row or a group alone determines its prediction.
        """
        if groups is not None:
            return self._left_out_groups(F, Y, weights, groups)
        scores, leverages = self.factorization.of_rows(F - self.mean.astype(F.dtype))

        def judge(lam: float) -> Trial | None:
            left = 1.0 - weights * (leverages(lam).astype(np.float64) + 1.0 / self.moments.weight)
            if left.min(initial=1.0, where=weights > 0) < DETERMINED:
                return None
            residuals = (scores(lam) + self.target_mean - Y) / np.maximum(left, DETERMINED)[:, None]
            return Trial.of(lam, Y + residuals, Y, weights)

        return judge

    def _left_out_groups(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> Judge:
        """Evaluate every group of rows with positive weights by the model fitted to all other groups."""
        centered = F - self.mean.astype(F.dtype)
        scores, _ = self.factorization.of_rows(centered)
        halves, root = self.factorization.halves(centered), np.sqrt(weights)[:, None]
        constant = np.full((len(F), 1), 1.0 / np.sqrt(self.moments.weight))

        def judge(lam: float) -> Trial | None:
            Z = root * np.concatenate([halves(lam), constant], axis=1)
            left = residuals_from_halves(Z, root * (scores(lam) + self.target_mean - Y), groups, DETERMINED)
            return None if left is None else Trial.of(lam, Y + left / root, Y, weights)

        return judge

    def predictions(self, F: np.ndarray) -> OfPenalty:
        """Return a function of lam: the scores of rows."""
        scores, _ = self.factorization.of_rows(F - self.mean.astype(F.dtype))
        return lambda lam: scores(lam) + self.target_mean

    def held_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Judge:
        """Evaluate rows that are not part of the moments."""
        scores = self.predictions(F)
        return lambda lam: Trial.of(lam, scores(lam), Y, weights)

    def judged(self, lam: float, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Trial:
        """Evaluate one penalty on rows that are not part of the moments."""
        return Trial.of(lam, self.fit(lam).scores(F), Y, weights)

    def best(self, judge: Judge, near: float | None = None, descend: bool = False) -> Trial:
        """Return the trial of the penalty with the smallest loss; the larger penalty wins a tie.

        `near` is a penalty, relative to the trace, from which to descend. Without it all penalties are tried if an
        eigendecomposition makes that cheap; else, and to `descend` where leaving out groups takes a factor for each
        penalty, the descent starts in the middle.
        """
        trials: dict[int, Trial | None] = {}

        def loss(i: int) -> float:
            trials[i] = trial = _evaluated(judge, self.unit * float(PENALTIES[i]))
            return np.inf if trial is None else trial.loss

        if isinstance(self.factorization, ByEigenvectors) and not descend:
            place = smallest(np.array([loss(i) for i in range(len(PENALTIES))]))
        else:
            known = along_path(loss)
            place = nearest_place(near or FIRST_PENALTY)
            while np.isinf(known(place)) and place + 1 < len(PENALTIES):
                place += 1
            place = downhill(known, place if near else downhill(known, place, DECADE))
        found = trials[place]
        if found is None:
            raise ValueError("no penalty can be evaluated: give more examples, or less uneven weights")
        return found


def _evaluated(judge: Judge, lam: float) -> Trial | None:
    """Return the trial of a penalty; None if the penalty is too small for the precision of the moments."""
    try:
        trial = judge(lam)
    except LinAlgError:
        return None
    return trial if trial is not None and np.isfinite(trial.loss) else None
