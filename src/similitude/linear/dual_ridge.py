"""Ridge regression in its dual form, on a Gram matrix: one penalty by Cholesky, many by one eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_numpy, beside, namespace
from similitude.linear.cholesky import solve, upper_factor
from similitude.linear.lapack import symmetric_eigen
from similitude.linear.strips import zeros

PENALTY_GRID = np.geomspace(1e-6, 1e4, 20)
"""The penalties that are tried if none is given, relative to the mean eigenvalue of the centered Gram matrix."""

GRAM_STRIP = 512
"""Rows of an n x n matrix that are worked on at once."""

IN_SPAN = 1e-10
"""Squared share of an example outside the span of the features up to which it counts as inside."""


@dataclass(frozen=True)
class DualRidge:
    """A fitted model sum_i a_i K(x, x_i) + b."""

    coefficients: np.ndarray  # a, of shape (n, outputs)
    intercept: np.ndarray  # b
    lam: float  # the penalty
    lams: np.ndarray  # all penalties that were tried
    loo_errors: np.ndarray | None  # their mean squared leave-one-out errors per output; None without a choice


def fit_dual_ridge(
    K: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    lam: float | np.ndarray | None,
    *,
    fit_intercept: bool,
    eps: float,
    refuse_negative: Callable[[np.ndarray], None],
) -> DualRidge:
    """Minimize the weighted squared errors plus lam |w|^2, given a Gram matrix in float64, which is overwritten.

    Of several `lam` the one with the smallest leave-one-out error is chosen, the largest one on a tie; None: of a grid.
    `eps` is the relative rounding error of K; `refuse_negative` is called with an eigenvector of a negative eigenvalue
    that is too large for rounding, and may raise.
    """
    kernel, weight, target = unit_of(as_numpy(K.diagonal())), unit_of(weights), unit_of(Y)
    if kernel != 1.0:
        K /= kernel
    Y, weights = Y / target, weights / weight
    mean = Y[0] + np.average(Y - Y[0], axis=0, weights=weights) if fit_intercept else np.zeros(Y.shape[1])
    problem = Centered.of(K, Y - mean, weights, fit_intercept)
    del K
    with np.errstate(over="ignore", under="ignore"):
        lams = PENALTY_GRID * (problem.mean_eigenvalue() * (kernel * weight)) if lam is None else np.atleast_1d(lam)
        scaled, chosen, errors = np.minimum(lams / kernel / weight, 1e300), 0, None
        single = isinstance(lam, float)
        solution = problem.solve(float(scaled[0])) if single else None
        if solution is None:
            solution, chosen, errors = problem.solve_all(scaled, eps, refuse_negative, choose=not single)
        coefficients = as_numpy(problem.root[:, None] * problem.reflected(solution)) * target / kernel
        intercept = (problem.intercept(solution) + mean) * target
        errors = None if errors is None else errors * target * target
    return DualRidge(coefficients, intercept, float(lams[chosen]), lams, errors)


@dataclass(frozen=True)
class Centered:
    r"""A weighted least-squares problem with its intercept eliminated.

    With weights :math:`s`, :math:`r = \sqrt s` and :math:`u = r / |r|`, the problem is that of the matrix
    :math:`M = \operatorname{diag}(r) K \operatorname{diag}(r)` and the targets :math:`t = r y`. The intercept may
    add any multiple of u. A reflection H with :math:`H u = -e_1` makes that the first coordinate, which fits exactly;
    what remains is plain ridge regression in the others. Without an intercept there is nothing to reflect.
    """

    matrix: Any  # H M H, without its first row and column if there is an intercept
    targets: Any  # H t, likewise
    mirror: Any  # the unit vector v with H = I - 2 v v', or None
    corner: float  # the first entry of H M H, ...
    coupling: Any  # ... and the rest of its first row, which determine the intercept
    root: Any  # r

    @classmethod
    def of(cls, K: Any, Y: np.ndarray, weights: np.ndarray, fit_intercept: bool) -> Centered:
        """Eliminate the intercept; K is overwritten."""
        xp, root = namespace(K), beside(np.sqrt(weights), K)
        if bool((root != 1.0).any()):
            K *= root[:, None]
            K *= root
        targets = root[:, None] * beside(Y, K)
        if not fit_intercept:
            return cls(K, targets, None, 0.0, None, root)
        mirror = root / _norm(root)
        mirror[0] += 1.0
        mirror /= _norm(mirror)
        image = K @ mirror
        half = 2.0 * image - 2.0 * (mirror @ image) * mirror
        left, right = xp.stack([mirror, half], axis=1), xp.stack([half, mirror])
        for start in range(0, len(K), GRAM_STRIP):
            K[start : start + GRAM_STRIP] -= left[start : start + GRAM_STRIP] @ right
        targets = targets - 2.0 * xp.outer(mirror, mirror @ targets)
        matrix = np.array(K[1:, 1:], order="F") if isinstance(K, np.ndarray) else K[1:, 1:].clone()
        return cls(matrix, targets[1:], mirror, float(K[0, 0]), K[0, 1:] + 0.0, root)

    def mean_eigenvalue(self) -> float:
        """Return the mean eigenvalue of the matrix; 1 if it is zero up to rounding."""
        trace = float(self.matrix.trace())
        return trace / len(self.matrix) if trace > np.finfo(float).eps * len(self.matrix) * self.corner else 1.0

    def reflected(self, V: Any) -> Any:
        """Return H V: columns in the coordinates of the examples, divided by r."""
        if self.mirror is None:
            return V
        full = zeros((len(self.mirror), V.shape[1]), V)
        full[1:] = V
        along = self.mirror[1:] @ V
        for start in range(0, len(full), GRAM_STRIP):
            full[start : start + GRAM_STRIP] -= namespace(V).outer(2.0 * self.mirror[start : start + GRAM_STRIP], along)
        return full

    def intercept(self, solution: Any) -> np.ndarray:
        """Return the intercept, for targets with a weighted mean of zero."""
        if self.mirror is None:
            return np.zeros(solution.shape[1])
        return as_numpy(self.coupling @ solution / _norm(self.root))

    def solve(self, lam: float) -> Any:
        """Return (matrix + lam)^-1 targets by Cholesky; None if the matrix may be singular up to rounding."""
        M = self.matrix
        if not len(M):  # a single example, which the intercept fits
            return self.targets
        if not lam > len(M) * np.finfo(float).eps * (float(M.diagonal().sum()) + self.corner):
            return None
        in_order = isinstance(M, np.ndarray) and M.flags.c_contiguous
        factor = upper_factor(M.T if in_order else M, M.diagonal() + lam)
        return None if factor is None else solve(factor, self.targets)

    def solve_all(
        self, lams: np.ndarray, eps: float, refuse_negative: Callable[[np.ndarray], None], *, choose: bool
    ) -> tuple[Any, int, np.ndarray | None]:
        """Return the solution for the lam with the smallest leave-one-out error, which lam, and all errors.

        Directions in which matrix and lam together vanish up to rounding are left out: for lam = 0 that is the
        pseudo-inverse. The matrix is overwritten.
        """
        values, V = _eigen(self.matrix)
        xp = namespace(V)
        largest = max(float(values[-1]), 0.0) + self.corner
        if float(values[0]) < -np.sqrt(eps) * max(largest, -float(values[0])):
            refuse_negative(as_numpy(self.root * self.reflected(V[:, :1])[:, 0]))
        total = values.clip(0.0)[:, None] + beside(lams, V)
        spanned = total > max(len(values) * np.finfo(float).eps, eps) * largest
        inverses = xp.where(spanned, 1.0 / xp.where(spanned, total, 1.0), 0.0)
        along = V.T @ self.targets
        errors, chosen = None, 0
        if choose:
            residuals = _left_out(self.reflected(V), inverses, spanned, along)
            errors = as_numpy(xp.einsum("nlt,nlt->lt", residuals, residuals) / (self.root @ self.root))
            order = np.argsort(-lams, kind="stable")
            chosen = int(order[errors.mean(axis=1)[order].argmin()])
        return V @ (inverses[:, chosen, None] * along), chosen, errors


def _eigen(M: Any) -> tuple[Any, Any]:
    """Return eigenvalues in increasing order and eigenvectors; M is overwritten."""
    if isinstance(M, np.ndarray):
        return symmetric_eigen(M.T if M.flags.c_contiguous else M)
    values, V = namespace(M).linalg.eigh(M)
    return values, V


def _left_out(W: Any, inverses: Any, spanned: Any, along: Any) -> Any:
    r"""Return the residual of each example in a fit without it, times r, of shape (n, lams, outputs).

    With the eigenvectors :math:`w_j` and eigenvalues :math:`\mu_j` of the centered problem, the leave-one-out residual
    of example i is :math:`c_i / G_{ii}` with :math:`c = G t` and :math:`G = \sum_j w_j w_j^\top / (\mu_j + \lambda)`.
    If some :math:`\mu_j + \lambda` vanish, these directions alone decide; an example that has no part in them is
    predicted by the minimum-norm solution for the others.
    """
    xp, n, lams, outputs = namespace(W), len(W), inverses.shape[1], along.shape[1]
    c = (W @ (inverses[:, :, None] * along[:, None, :]).reshape(-1, lams * outputs)).reshape(n, lams, outputs)
    own, outside = xp.empty_like(c[:, :, 0]), xp.empty_like(c[:, :, 0])
    missing = xp.where(spanned, xp.zeros_like(inverses), 1.0)
    for start in range(0, n, GRAM_STRIP):
        strip = slice(start, start + GRAM_STRIP)
        squares = W[strip] ** 2
        own[strip] = squares @ inverses
        outside[strip] = squares @ missing
    residuals = xp.where(own[:, :, None] > 0, c / xp.where(own > 0, own, 1.0)[:, :, None], 0.0)
    for column in np.flatnonzero(~as_numpy(spanned).all(axis=0)):
        missed = ~spanned[:, column]
        off = outside[:, column] > IN_SPAN
        residuals[off, column] = (W[off][:, missed] @ along[missed]) / outside[off, column, None]
    return residuals


def unit_of(values: np.ndarray) -> float:
    """Return a power of four near the largest magnitude: a unit that avoids overflow, with an exact square root.

    >>> unit_of(np.array([3.0, -70.0]))
    64.0
    """
    largest = float(np.abs(values).max(initial=0.0))
    return 4.0 ** min(int(np.frexp(largest)[1]) // 2, 511) if largest > 0 else 1.0


def _norm(v: Any) -> float:
    """Return the Euclidean norm of a vector."""
    return float(v @ v) ** 0.5
