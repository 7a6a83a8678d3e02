"""Weighted least squares with an unpenalized intercept on a Gram matrix: one penalty by Cholesky, many by `eigh`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from similitude.compute import as_numpy, beside, namespace
from similitude.learners.gram_matrix import Objects, unit_of

STRIP = 512
"""Rows of an n x n matrix that are worked on at once."""

ON_THE_SPAN = 1e-10
"""Share of an example outside the span of the features, squared, up to which it counts as inside."""


@dataclass(frozen=True)
class Centered:
    r"""A weighted least-squares problem with its intercept taken out.

    With weights :math:`s`, :math:`r = \sqrt s` and :math:`u = r / |r|`, the problem is that of the matrix
    :math:`M = \operatorname{diag}(r) K \operatorname{diag}(r)` and the targets :math:`t = r y`. The intercept may
    add any multiple of u. A reflection H with :math:`H u = -e_1` makes that the first coordinate, which fits exactly;
    what remains is plain ridge regression in the others. Without an intercept there is nothing to reflect.

    Attributes
    ----------
    matrix : array
        H M H, without its first row and column where there is an intercept.
    targets : array of shape (len(matrix), outputs)
        H t, likewise.
    mirror : array or None
        The unit vector v with H = I - 2 v v'.
    corner, coupling : float, array
        The first entry of H M H, and the rest of its first row, from which the intercept is read.
    root : array
        r.

    All of these are arrays, or tensors on the device where K is.
    """

    matrix: Any
    targets: Any
    mirror: Any
    corner: float
    coupling: Any
    root: Any

    @classmethod
    def of(cls, K: Any, Y: np.ndarray, weights: np.ndarray, fit_intercept: bool) -> Centered:
        """Take out the intercept; K is overwritten."""
        xp, root = namespace(K), beside(np.sqrt(weights), K)
        if bool((root != 1.0).any()):
            K *= root[:, None]
            K *= root
        targets = root[:, None] * beside(Y, K)
        if not fit_intercept:
            return cls(K, targets, None, 0.0, None, root)
        mirror = root / _length(root)
        mirror[0] += 1.0
        mirror /= _length(mirror)
        image = K @ mirror
        half = 2.0 * image - 2.0 * (mirror @ image) * mirror
        left, right = xp.stack([mirror, half], axis=1), xp.stack([half, mirror])
        for start in range(0, len(K), STRIP):
            K[start : start + STRIP] -= left[start : start + STRIP] @ right
        targets = targets - 2.0 * xp.outer(mirror, mirror @ targets)
        matrix = np.array(K[1:, 1:], order="F") if isinstance(K, np.ndarray) else K[1:, 1:].clone()
        return cls(matrix, targets[1:], mirror, float(K[0, 0]), K[0, 1:] + 0.0, root)

    def mean_eigenvalue(self) -> float:
        """Return the mean eigenvalue of the matrix; 1 where it is zero up to rounding."""
        trace = float(self.matrix.trace())
        return trace / len(self.matrix) if trace > np.finfo(float).eps * len(self.matrix) * self.corner else 1.0

    def back(self, V: Any) -> Any:
        """Return H V: columns in the coordinates of the examples, times r still to go."""
        if self.mirror is None:
            return V
        xp = namespace(V)
        full = xp.empty_like(self.mirror[:, None] + V[:1])
        full[1:], full[0] = V, 0.0
        along = self.mirror[1:] @ V
        for start in range(0, len(full), STRIP):
            full[start : start + STRIP] -= xp.outer(2.0 * self.mirror[start : start + STRIP], along)
        return full

    def intercept(self, solution: Any) -> np.ndarray:
        """Return what is left to fit along u, for targets with a weighted mean of zero."""
        if self.mirror is None:
            return np.zeros(solution.shape[1])
        return as_numpy(self.coupling @ solution / _length(self.root))


def _length(v: Any) -> float:
    """Return the length of a vector."""
    return float(v @ v) ** 0.5


@dataclass(frozen=True)
class Fit:
    """What the solver found.

    Attributes
    ----------
    coefficients : array of shape (n, outputs)
    intercept : array of shape (outputs,)
    chosen : int
        Which lam.
    loo_errors : array of shape (number of lams, outputs), or None
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    chosen: int = 0
    loo_errors: np.ndarray | None = None


def solve_one(problem: Centered, lam: float) -> Fit | None:
    """Return the fit for one lam by Cholesky; None where the matrix may be singular up to rounding."""
    M = problem.matrix
    if not len(M):  # a single example, which the intercept fits
        return Fit(np.zeros((1, problem.targets.shape[1])), np.zeros(problem.targets.shape[1]))
    if not lam > len(M) * np.finfo(float).eps * (float(M.diagonal().sum()) + problem.corner):
        return None
    solution = _by_cholesky(M, lam, problem.targets)
    if solution is None:
        return None
    return Fit(as_numpy(problem.root[:, None] * problem.back(solution)), problem.intercept(solution))


def _by_cholesky(M: Any, lam: float, targets: Any) -> Any:
    """Return (M + lam)^-1 targets; None where there is no factor."""
    if not isinstance(M, np.ndarray):
        linalg, shifted = namespace(M).linalg, M.clone()
        shifted.diagonal().add_(lam)
        factor, failed = linalg.cholesky_ex(shifted)
        half = None if bool(failed) else linalg.solve_triangular(factor, targets, upper=False)
        return None if half is None else linalg.solve_triangular(factor.T, half, upper=True)
    place, diagonal = np.diag_indices(len(M)), M.diagonal().copy()
    M[place] += lam
    try:
        factor = cho_factor(M.T if M.flags.c_contiguous else M, check_finite=False)
    except LinAlgError:
        return None
    finally:
        M[place] = diagonal
    return cho_solve(factor, targets, check_finite=False)


def _eigen(M: Any) -> tuple[Any, Any]:
    """Return eigenvalues, smallest first, and eigenvectors; M is overwritten."""
    if not isinstance(M, np.ndarray):
        values, V = namespace(M).linalg.eigh(M)
    else:
        values, V = eigh(M.T if M.flags.c_contiguous else M, overwrite_a=True, check_finite=False, driver="evd")
    return values, V


def solve_all(problem: Centered, lams: np.ndarray, eps: float, objects: Objects, choose: bool) -> Fit:
    """Return the fit for the lam with the smallest leave-one-out error, from one eigendecomposition.

    Directions in which matrix and lam together vanish up to rounding are left out: for lam = 0 that is the
    pseudo-inverse. The matrix is overwritten. Ties go to the largest lam.
    """
    values, V = _eigen(problem.matrix)
    xp = namespace(V)
    largest = max(float(values[-1]), 0.0) + problem.corner
    if float(values[0]) < -np.sqrt(eps) * max(largest, -float(values[0])):
        objects.refuse_negative(as_numpy(problem.root * problem.back(V[:, :1])[:, 0]))
    total = values.clip(0.0)[:, None] + beside(lams, V)
    spanned = total > max(len(values) * np.finfo(float).eps, eps) * largest
    inverses = xp.where(spanned, 1.0 / xp.where(spanned, total, 1.0), 0.0)
    along = V.T @ problem.targets
    errors, chosen = None, 0
    if choose:
        residuals = _left_out(problem.back(V), inverses, spanned, along)
        errors = as_numpy(xp.einsum("nlt,nlt->lt", residuals, residuals) / (problem.root @ problem.root))
        order = np.argsort(-lams, kind="stable")
        chosen = int(order[errors.mean(axis=1)[order].argmin()])
    solution = V @ (inverses[:, chosen, None] * along)
    coefficients = as_numpy(problem.root[:, None] * problem.back(solution))
    return Fit(coefficients, problem.intercept(solution), chosen, errors)


def _left_out(W: Any, inverses: Any, spanned: Any, along: Any) -> Any:
    r"""Return the residuals that each example would have had without itself, times r, of shape (n, lams, outputs).

    With the eigenvectors :math:`w_j` and eigenvalues :math:`\mu_j` that the intercept leaves, the residual of example
    i, left out, is :math:`c_i / G_{ii}` with :math:`c = G t` and
    :math:`G = \sum_j w_j w_j^\top / (\mu_j + \lambda)`. Where :math:`\mu_j + \lambda` vanishes, these directions
    alone decide; an example that has no part in them is predicted by the shortest solution for the others.
    """
    xp, n, lams, outputs = namespace(W), len(W), inverses.shape[1], along.shape[1]
    c = (W @ (inverses[:, :, None] * along[:, None, :]).reshape(-1, lams * outputs)).reshape(n, lams, outputs)
    own, outside = xp.empty_like(c[:, :, 0]), xp.empty_like(c[:, :, 0])
    missing = xp.where(spanned, xp.zeros_like(inverses), 1.0)
    for start in range(0, n, STRIP):
        strip = slice(start, start + STRIP)
        squares = W[strip] ** 2
        own[strip] = squares @ inverses
        outside[strip] = squares @ missing
    residuals = xp.where(own[:, :, None] > 0, c / xp.where(own > 0, own, 1.0)[:, :, None], 0.0)
    for column in np.flatnonzero(~as_numpy(spanned).all(axis=0)):
        missed = ~spanned[:, column]
        off = outside[:, column] > ON_THE_SPAN
        residuals[off, column] = (W[off][:, missed] @ along[missed]) / outside[off, column, None]
    return residuals


@dataclass(frozen=True)
class Units:
    """Powers of four in which kernel values, weights and targets are near one, so that nothing overflows."""

    kernel: float
    weight: float
    target: float

    @classmethod
    def of(cls, K: Any, weights: np.ndarray, Y: np.ndarray) -> Units:
        """Return the units of a problem."""
        return cls(unit_of(as_numpy(K.diagonal())), unit_of(weights), unit_of(Y))

    def lam(self, lams: np.ndarray) -> np.ndarray:
        """Return lams in these units."""
        return np.minimum(lams / self.kernel / self.weight, 1e300)

    def given(self, fit: Fit, middle: np.ndarray) -> Fit:
        """Return the fit in the units of the user, for targets from which `middle` was taken."""
        errors = None if fit.loo_errors is None else fit.loo_errors * self.target * self.target
        coefficients = fit.coefficients * self.target / self.kernel
        return Fit(coefficients, (fit.intercept + middle) * self.target, fit.chosen, errors)
