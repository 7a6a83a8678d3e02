"""Ridge regression from moments: the path of penalties, each from one factorization, and its held-out error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, get_blas_funcs
from scipy.linalg.blas import dtrsm

from similitude.evaluation import DECADE, PENALTIES, Search, Trial, downhill, nearest_place, smallest
from similitude.linear.lapack import symmetric_eigen, upper_cholesky
from similitude.linear.left_out_groups import DETERMINED, residuals_from_halves
from similitude.linear.moments import LinearModel, Moments

BY_EIGENVECTORS = 2000
"""Features up to which one eigendecomposition serves all penalties; beyond, a Cholesky factor each is cheaper."""


def gram_matrices(width: int) -> int:
    """Return how many matrices of the size of the features' Gram matrix are in memory at once, at most.

    Those are three sums of rows, and eigenvectors and twice their size for LAPACK, or a Cholesky factor and a copy.
    """
    return 7 if width <= BY_EIGENVECTORS else 6


Penalties = Sequence[float]

Trials = Callable[[Penalties], list[Trial]]
"""Evaluates penalties on rows that no model was fitted to; a loss is NaN where a penalty cannot be evaluated."""


class ByEigenvectors:
    """Solutions for all penalties from one eigendecomposition of the Gram matrix."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        values, self.vectors = symmetric_eigen(gram.T.copy(order="F"))
        self.values = np.maximum(values, 0.0)
        self.along = self.vectors.T @ cross

    def solve(self, lam: float, B: np.ndarray | None = None) -> np.ndarray:
        """Return (gram + lam)^-1 B, by default of the cross products."""
        along = self.along if B is None else self.vectors.T @ B
        solution: np.ndarray = self.vectors @ (along / (self.values + lam)[:, None])
        return solution

    def of_rows(self, F: np.ndarray, lams: Penalties, leverages: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
        """Return f' (gram + lam)^-1 cross and f' (gram + lam)^-1 f for each penalty and row f."""
        Z = F @ self.vectors.astype(F.dtype)
        outputs = self.along.shape[1]
        scores = np.empty((len(lams), len(Z), outputs), Z.dtype)
        step = max(1, 64 // max(1, outputs))  # penalties at once: a product with many columns reads the rows once
        for start in range(0, len(lams), step):
            shifted = self.values[:, None] + np.asarray(lams[start : start + step])
            solutions = (self.along[:, None] / shifted[:, :, None]).reshape(len(shifted), -1).astype(Z.dtype)
            scores[start : start + step] = (Z @ solutions).reshape(len(Z), -1, outputs).swapaxes(0, 1)
        if not leverages:
            return scores, None
        return scores, (Z**2 @ (1.0 / (self.values[:, None] + np.asarray(lams))).astype(Z.dtype)).T

    def halves(self, F: np.ndarray) -> Callable[[float], np.ndarray]:
        """Return a function of lam: the matrix R with R R' = F (gram + lam)^-1 F'."""
        Z = F.astype(np.float64) @ self.vectors
        return lambda lam: Z / np.sqrt(self.values + lam)


class ByCholesky:
    """Solutions from a Cholesky factor of the Gram matrix for each penalty as it is needed; the last factor is kept."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray) -> None:
        self.gram = gram
        self.cross = cross
        self._latest: tuple[float, np.ndarray] | None = None
        self._solutions: dict[float, np.ndarray] = {}

    def solve(self, lam: float, B: np.ndarray | None = None) -> np.ndarray:
        """Return (gram + lam)^-1 B, by default of the cross products; raise LinAlgError if the matrix is singular."""
        if B is not None:
            return np.asarray(cho_solve((self._factor(lam), False), B, check_finite=False))
        if lam not in self._solutions:
            self._solutions[lam] = self.solve(lam, self.cross)
        return self._solutions[lam]

    def _factor(self, lam: float) -> np.ndarray:
        """Return U with U'U = gram + lam."""
        if self._latest is None or self._latest[0] != lam:
            shifted = self.gram.T.copy(order="F")  # of a symmetric matrix in C order, the quicker copy
            shifted[np.diag_indices(len(shifted))] += lam
            self._latest = lam, upper_cholesky(shifted)
        return self._latest[1]

    def of_rows(self, F: np.ndarray, lams: Penalties, leverages: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
        """Return f' (gram + lam)^-1 cross and f' (gram + lam)^-1 f for each penalty and row f."""
        scores = np.empty((len(lams), len(F), self.cross.shape[1]), F.dtype)
        own = np.empty((len(lams), len(F)), F.dtype)
        (divide,) = get_blas_funcs(("trsm",), (F,))
        for i, lam in enumerate(lams):
            scores[i] = F @ self.solve(lam).astype(F.dtype)
            if leverages:
                U = self._factor(lam).astype(F.dtype, order="F")
                for start in range(0, len(F), 2048):
                    V = divide(1.0, U, F[start : start + 2048].T, trans_a=1)  # |U'^-1 f|^2
                    own[i, start : start + 2048] = np.einsum("ij,ij->j", V, V)
        return scores, own

    def halves(self, F: np.ndarray) -> Callable[[float], np.ndarray]:
        """Return a function of lam: the matrix R with R R' = F (gram + lam)^-1 F'."""
        columns = F.T.astype(np.float64)
        return lambda lam: np.asarray(dtrsm(1.0, self._factor(lam), columns, trans_a=1)).T


@dataclasses.dataclass(frozen=True, eq=False)
class Validation:
    """The targets on which choices are validated: by leave-one-out, or on held-out rows, which come last.

    The first `n_train` rows are fitted to, and no choice is made on the last `n_evaluating` rows.
    """

    Y: np.ndarray
    weights: np.ndarray
    n_train: int
    n_evaluating: int = 0
    groups: np.ndarray | None = None

    def ridge(self, F: np.ndarray, near: float | None) -> tuple[Ridge, Trial]:
        """Return ridge regression on the training rows, and the trial of its best penalty on other rows."""
        n = self.n_train
        ridge = Ridge(Moments.of(F[:n], self.Y[:n], self.weights[:n]))
        if n == len(self.Y):
            trials = ridge.left_out(F[:n], self.Y, self.weights, self.groups)
            return ridge, ridge.best(trials, near, descend=self.groups is not None)
        chosen_on = slice(n, len(self.Y) - self.n_evaluating)
        return ridge, ridge.best(ridge.held_out(F[chosen_on], self.Y[chosen_on], self.weights[chosen_on]), near)


class Ridge:
    r"""Minimize :math:`\sum_i s_i |y_i - w^\top f_i - b|^2 + \lambda |w|^2`, from moments, for any :math:`\lambda`.

    `only` is the only penalty, if known, and `smallest` a lower bound of the eigenvalues of the centered Gram matrix.

    >>> F, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> Ridge(Moments.of(F, Y, np.ones(3))).fit(lam=1.0).scores(np.array([[4.0]])).round(4)
    array([[2.3333]])
    """

    def __init__(self, moments: Moments, only: float | None = None, smallest: float = 0.0) -> None:
        self.moments = moments
        self.mean = moments.features / moments.weight
        self.target_mean = moments.targets / moments.weight
        gram, cross = moments.centered()
        rounding = moments.eps * float(np.trace(moments.gram))
        self.unit = max(float(np.trace(gram)), rounding) or 1.0
        by_cholesky = len(gram) > BY_EIGENVECTORS or (only is not None and only + smallest > rounding)
        self.factorization = (ByCholesky if by_cholesky else ByEigenvectors)(gram, cross)

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue of the centered Gram matrix, or zero if unknown; more rows do not lower it."""
        if isinstance(self.factorization, ByEigenvectors):
            return float(self.factorization.values[0])
        return 0.0

    def fit(self, lam: float) -> LinearModel:
        """Return the minimizer."""
        W = self.factorization.solve(lam)
        return LinearModel(W, self.target_mean - self.mean @ W)

    def of_groups(self, lam: float) -> LinearModel:
        r"""Return what the targets of groups of rows add to the scores: the model is linear in the targets.

        With :math:`A = \sum_i s_i (f_i - m)(f_i - m)^\top + \lambda` an output is :math:`(f - m)^\top A^{-1} \sum_i s_i
        (f_i - m)\, t_i`, where :math:`t_i = y_i - \bar y` in the group and zero elsewhere.
        """
        groups = self.moments.groups
        assert groups is not None
        cross = groups.cross - np.outer(self.moments.features, groups.targets / self.moments.weight)
        W = self.factorization.solve(lam, cross)
        return LinearModel(W, -(self.mean @ W))

    def left_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None = None) -> Trials:
        """Evaluate every row under the model fitted to all others: its residual divided by :math:`1 - h_i`.

        With groups the others are those of other groups. Losses are NaN if a row or a group alone determines its
        prediction.
        """
        centered = F - self.mean.astype(F.dtype)

        def trials(lams: Penalties) -> list[Trial]:
            if groups is None:
                return Trial.of_path(lams, self._without_own(centered, Y, weights, lams), Y, weights)
            return Trial.of_path(lams, self._without_groups(centered, Y, weights, lams, groups), Y, weights)

        return trials

    def _without_own(self, centered: np.ndarray, Y: np.ndarray, weights: np.ndarray, lams: Penalties) -> np.ndarray:
        found, leverages = self.factorization.of_rows(centered, lams)
        assert leverages is not None
        left = 1.0 - weights * (leverages.astype(np.float64) + 1.0 / self.moments.weight)
        scores = found + self.target_mean
        scores -= Y
        scores /= np.maximum(left, DETERMINED)[:, :, None]
        scores += Y
        scores[left.min(axis=1, initial=1.0, where=weights > 0) < DETERMINED] = np.nan
        return np.asarray(scores)

    def _without_groups(
        self, centered: np.ndarray, Y: np.ndarray, weights: np.ndarray, lams: Penalties, groups: np.ndarray
    ) -> np.ndarray:
        """Return the scores of rows with positive weights by the models of all other groups."""
        halves = self.factorization.halves(centered)
        root = np.sqrt(weights)[:, None]
        constant = np.full((len(Y), 1), 1.0 / np.sqrt(self.moments.weight))
        scores = self.factorization.of_rows(centered, lams, leverages=False)[0] + self.target_mean
        for one, lam in zip(scores, lams, strict=True):
            Z = root * np.concatenate([halves(lam), constant], axis=1)
            one[:] = Y + residuals_from_halves(Z, root * (one - Y), groups) / root
        return np.asarray(scores)

    def predictions(self, F: np.ndarray, lams: Penalties) -> np.ndarray:
        """Return the scores of rows for each penalty."""
        scores, _ = self.factorization.of_rows(F - self.mean.astype(F.dtype), lams, leverages=False)
        return np.asarray(scores + self.target_mean)

    def held_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Trials:
        """Evaluate rows that are not part of the moments."""
        return lambda lams: Trial.of_path(lams, self.predictions(F, lams), Y, weights)

    def trial(self, lam: float, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Trial:
        """Evaluate one penalty on rows that are not part of the moments."""
        return Trial.of(lam, self.fit(lam).scores(F), Y, weights)

    def best(self, trials: Trials, near: float | None = None, descend: bool = False) -> Trial:
        """Return the trial of the penalty with the smallest loss; the larger penalty wins a tie.

        All penalties are tried where an eigendecomposition makes that cheap; leaving out groups takes a factor for
        each, and a descent. `near` is a penalty, relative to the trace, from which to descend.
        """
        lams = (self.unit * PENALTIES).tolist()
        if isinstance(self.factorization, ByEigenvectors) and not descend:
            found = trials(lams)
            losses = np.array([one.loss for one in found])
            best: Trial | None = found[smallest(np.where(np.isfinite(losses), losses, np.inf))]
        else:
            best = self._downhill(trials, lams, near)
        if best is None or not np.isfinite(best.loss):
            raise ValueError("no penalty can be evaluated: give more examples, or less uneven weights")
        return best

    def _downhill(self, trials: Trials, lams: list[float], near: float | None) -> Trial | None:
        """Return a trial that is no worse than those of the penalties around it."""

        def trial(place: int) -> Trial | None:
            try:
                return trials([lams[place]])[0]
            except LinAlgError:  # the penalty is too small for the precision of the moments
                return None

        search = Search(trial)
        # the penalty that is tried first where each takes a factor, relative to the trace
        start = nearest_place(near or 1e-5)
        while start < len(lams) - 1 and np.isinf(search.loss(start)):
            start += 1
        found: Trial | None = search[downhill(search.loss, start if near else downhill(search.loss, start, DECADE))]
        return found
