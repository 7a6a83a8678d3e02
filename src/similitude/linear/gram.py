r"""Ridge regression on a Gram matrix: one penalty by a Cholesky factor, a path by one eigendecomposition.

With positive weights s it minimizes :math:`\sum_i s_i (y_i - f(x_i) - b)^2 + \lambda |f|^2` over :math:`f = \sum_i a_i
K(\cdot, x_i)` and a constant b, which is not penalized, or zero. `Gram` takes any penalty, zero as well, and any scale;
`GramFactor` is for kernels with values near one and penalties above rounding, and also knows models of the first rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, get_lapack_funcs, solve_triangular

from similitude.compute import as_numpy, beside, namespace
from similitude.compute.engines import factorizing
from similitude.evaluation import path, smallest
from similitude.linear.lapack import EPS, solve, symmetric_eigen, upper_factor
from similitude.linear.left_out_groups import solved_by_group, with_mean_of_others
from similitude.linear.moments import LinearModel, zeros

GRAM_STRIP = 512
"""Rows of an n x n matrix that are worked on at once."""


PER_DECADE = 4
LOWEST_POWER = -10
"""Penalties in a factor of 10 where one eigendecomposition serves all: the loss of a smooth function with little noise
changes by a tenth in half a decade. And the power of 10 of the smallest one: the eigenvalues of a wide kernel fall
fast. With 1,500 rows of a wave the best penalty is below 1e-9, and learned kernels, which start here too, lost 7 % more
on bike rentals with penalties that ended at 1e-9.
"""

GRAM_PENALTIES = len(path(PER_DECADE, LOWEST_POWER))
"""How many penalties are tried if none is given."""


def gram_precision(penalty: float, n: int | None = None) -> type:
    """Return the precision of a Gram matrix of n rows: single where that is quicker and leaves enough digits.

    In double precision, few rows take no longer where the solution is refined.
    """
    if penalty < 1e-3 or (n is not None and n <= 1_000):
        return np.float64
    return np.float32


class Gram:
    r"""Ridge regression on a Gram matrix in float64, an array or a tensor, which is overwritten.

    With :math:`r = \sqrt s` and :math:`u = r / |r|`, the problem is that of the matrix :math:`M =
    \operatorname{diag}(r) K \operatorname{diag}(r)` and the targets :math:`t = r y`. The constant may add any multiple
    of u. A reflection H with :math:`H u = -e_1` makes that the first coordinate, which fits exactly; what remains is
    plain ridge regression in the others. Without a constant there is nothing to reflect.

    Weights are positive, and `eps` is the relative rounding error of K. `refuse_negative` is called with an eigenvector
    of a negative eigenvalue that is too large for rounding; it may raise.

    >>> x, y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> gram = Gram(x @ x.T, y, np.ones(3), constant=False)
    >>> (gram.fit(1.0).weights.T @ x * 4).round(4)
    array([[2.9333]])
    """

    def __init__(
        self,
        K: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        *,
        constant: bool = True,
        eps: float = EPS,
        refuse_negative: Callable[[np.ndarray], None] | None = None,
    ) -> None:
        self.eps = eps
        self.refuse_negative = refuse_negative
        self.kernel_unit = unit_of(as_numpy(K.diagonal()))
        self.weight_unit = unit_of(weights)
        self.target_unit = unit_of(Y)
        if self.kernel_unit != 1.0:
            K /= self.kernel_unit
        Y = Y / self.target_unit
        weights = weights / self.weight_unit
        self.mean = np.zeros(Y.shape[1])
        if constant:
            self.mean = Y[0] + weights @ (Y - Y[0]) / weights.sum()
        self.root = beside(np.sqrt(weights), K)
        if bool((self.root != 1.0).any()):
            K *= self.root[:, None]
            K *= self.root
        self.matrix = K  # H M H, without its first row and column if there is a constant
        self.targets = self.root[:, None] * beside(Y - self.mean, K)  # H t, likewise
        self.mirror: Any = None  # the unit vector v with H = I - 2 v v'
        self.corner = 0.0  # the first entry of H M H, ...
        self.coupling: Any = None  # ... and the rest of its first row, which determine the constant
        if constant:
            self._reflect()

    def _reflect(self) -> None:
        """Eliminate the constant."""
        K = self.matrix
        mirror = self.root / _norm(self.root)
        mirror[0] += 1.0
        mirror /= _norm(mirror)
        image = K @ mirror
        half = 2.0 * image - 2.0 * (mirror @ image) * mirror
        xp = namespace(K)
        left = xp.stack([mirror, half], axis=1)
        right = xp.stack([half, mirror])
        for start in range(0, len(K), GRAM_STRIP):
            K[start : start + GRAM_STRIP] -= left[start : start + GRAM_STRIP] @ right
        self.mirror = mirror
        self.corner = float(K[0, 0])
        self.coupling = K[0, 1:] + 0.0
        self.targets = (self.targets - 2.0 * mirror[:, None] * (mirror @ self.targets))[1:]
        self.matrix = np.array(K[1:, 1:], order="F") if isinstance(K, np.ndarray) else K[1:, 1:].clone()

    @cached_property
    def unit(self) -> float:
        """The trace of the matrix: what penalties are multiples of. Of a constant kernel it is 1."""
        trace = float(self.matrix.trace())
        with np.errstate(over="ignore", under="ignore"):
            if trace <= EPS * len(self.matrix) * self.corner:
                trace = 1.0
            return trace * (self.kernel_unit * self.weight_unit)

    def path(self) -> np.ndarray:
        """Return the penalties to try."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(path(PER_DECADE, LOWEST_POWER) * self.unit)

    def fit(self, lam: float) -> LinearModel:
        """Return the coefficients of the kernel, and the constant; by a Cholesky factor if possible."""
        with np.errstate(over="ignore", under="ignore"):
            solution = None
            if "_spectrum" not in vars(self):
                solution = self._by_cholesky(self._relative(lam))
            if solution is None:
                inverses, _ = self._inverses(np.array([lam]))
                solution = self._spectrum[1] @ (inverses * self._along)
            coefficients = as_numpy(self.root[:, None] * self._reflected(solution))
            constant = np.zeros(solution.shape[1])
            if self.mirror is not None:
                constant = as_numpy(self.coupling @ solution / _norm(self.root))
            weights = coefficients * self.target_unit / self.kernel_unit
            return LinearModel(weights, (constant + self.mean) * self.target_unit)

    def left_out(self, lams: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
        r"""Return the residual of each example in a fit without it, or its group, of shape (n, penalties, outputs).

        With the eigenvectors :math:`w_j` and eigenvalues :math:`\mu_j` of the centered problem it is :math:`c_i /
        G_{ii}`, divided by r, with :math:`c = G t` and :math:`G = \sum_j w_j w_j^\top / (\mu_j + \lambda)`. If some
        :math:`\mu_j + \lambda` vanish, these directions alone decide: others are predicted by the minimum-norm
        solution.
        """
        with np.errstate(over="ignore", under="ignore"):
            left = self._left_out_groups(lams, groups)
            return as_numpy(left / self.root[:, None, None]) * self.target_unit

    def best(self, lams: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """Return the penalty with the smallest squared left-out residuals, and their means by penalty and output."""
        with np.errstate(over="ignore", under="ignore"):
            residuals = self._left_out_groups(lams, groups)
            errors = namespace(residuals).einsum("nlt,nlt->lt", residuals, residuals) / (self.root @ self.root)
            means = as_numpy(errors)
            increasing = np.argsort(lams, kind="stable")
            place = increasing[smallest(means.mean(axis=1)[increasing])]
            return float(lams[place]), means * self.target_unit * self.target_unit

    def _relative(self, lams: Any) -> Any:
        """Return penalties in the units of the matrix."""
        # penalties relative to the kernel and the weights are at most this large, so that sums with them do not
        # overflow
        return np.minimum(lams / self.kernel_unit / self.weight_unit, 1e300)

    def _by_cholesky(self, lam: float) -> Any:
        """Return (matrix + lam)^-1 targets; None if the matrix may be singular up to rounding."""
        M = self.matrix
        if not len(M):  # a single example, which the constant fits
            return self.targets
        if not lam > len(M) * EPS * (float(M.diagonal().sum()) + self.corner):
            return None
        in_order = isinstance(M, np.ndarray) and M.flags.c_contiguous
        factor = upper_factor(M.T if in_order else M, M.diagonal() + lam)
        return None if factor is None else solve(factor, self.targets)

    @cached_property
    def _spectrum(self) -> tuple[Any, Any]:
        """Eigenvalues in increasing order and eigenvectors; the matrix is overwritten."""
        M = self.matrix
        if isinstance(M, np.ndarray):
            values, V = symmetric_eigen(M.T if M.flags.c_contiguous else M)
        else:
            values, V = namespace(M).linalg.eigh(M)
        largest = max(float(values[-1]), 0.0) + self.corner
        if self.refuse_negative and float(values[0]) < -np.sqrt(self.eps) * max(largest, -float(values[0])):
            self.refuse_negative(as_numpy(self.root * self._reflected(V[:, :1])[:, 0]))
        return values, V

    @cached_property
    def _along(self) -> Any:
        """The targets in the coordinates of the eigenvectors."""
        return self._spectrum[1].T @ self.targets

    def _inverses(self, lams: np.ndarray) -> tuple[Any, Any]:
        """Return the inverse of each eigenvalue plus each penalty, zero where it is rounding, and where it is not."""
        values, V = self._spectrum
        xp = namespace(V)
        largest = max(float(values[-1]), 0.0) + self.corner
        total = values.clip(0.0)[:, None] + beside(self._relative(lams), V)
        spanned = total > max(len(values) * EPS, self.eps) * largest
        return 1.0 / xp.where(spanned, total, math.inf), spanned

    def _left_out(self, lams: np.ndarray) -> Any:
        """Return the residuals of left-out examples times r, in the units of the matrix."""
        inverses, spanned = self._inverses(lams)
        W = self._reflected(self._spectrum[1])
        xp = namespace(W)
        n = len(W)
        shape = (n, len(lams), len(self.mean))
        c = (W @ (inverses[:, :, None] * self._along[:, None, :]).reshape(len(inverses), -1)).reshape(shape)
        own = xp.empty_like(c[:, :, 0])
        for start in range(0, n, GRAM_STRIP):
            own[start : start + GRAM_STRIP] = W[start : start + GRAM_STRIP] ** 2 @ inverses
        residuals = c / xp.where(own > 0, own, math.inf)[:, :, None]
        if bool(spanned.all()):
            return residuals
        for column in np.flatnonzero(~as_numpy(spanned).all(axis=0)):
            missed = ~spanned[:, column]
            outside = (W[:, missed] ** 2).sum(1)
            # squared share of an example outside the span of the features up to which it counts as inside
            off = outside > 1e-10
            residuals[off, column] = (W[off][:, missed] @ self._along[missed]) / outside[off, None]
        return residuals

    def _left_out_groups(self, lams: np.ndarray, groups: np.ndarray | None) -> Any:
        r"""Return the residuals of left-out groups times r, :math:`[G_{GG}]^{-1} c_G`, in the units of the matrix.

        Penalties below rounding count as rounding, so that no block is singular.
        """
        if groups is None:
            return self._left_out(lams)
        values, V = self._spectrum
        rounding = max(len(values) * EPS, self.eps) * (max(float(values[-1]), 0.0) + self.corner)
        inverses = 1.0 / np.maximum(values.clip(0.0)[:, None] + self._relative(lams), rounding)
        W = self._reflected(V)
        found = np.empty((len(W), len(lams), len(self.mean)))
        for i, inverse in enumerate(inverses.T):
            halves = W * np.sqrt(inverse)
            c = W @ (inverse[:, None] * self._along)
            found[:, i] = solved_by_group(halves, c, groups)
        return found

    def _reflected(self, V: Any) -> Any:
        """Return H V: columns in the coordinates of the examples, divided by r."""
        if self.mirror is None:
            return V
        full = zeros((len(self.mirror), V.shape[1]), V)
        full[1:] = V
        along = self.mirror[1:] @ V
        for start in range(0, len(full), GRAM_STRIP):
            full[start : start + GRAM_STRIP] -= 2.0 * self.mirror[start : start + GRAM_STRIP, None] * along
        return full


Rest = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""What coefficients leave of their targets, given both."""


class GramFactor:
    r"""The lower Cholesky factor L of :math:`G = K + \operatorname{diag}(p)`, in the precision of K.

    With weights s the penalty of a row is :math:`p_i = \lambda / s_i`. K is an array in rows, and is overwritten. If
    rounding leaves G indefinite, the penalty is raised. The first block of L is the factor of the first rows.

    >>> factor = GramFactor.of(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5)
    >>> factor.solve(np.array([[1.0], [1.0]]))
    array([[0.5],
           [0.5]])
    """

    def __init__(self, L: np.ndarray) -> None:
        self.L = L  # the values above the diagonal mean nothing
        self.dtype = L.dtype

    @classmethod
    def of(cls, K: np.ndarray, penalty: Any) -> GramFactor:
        """Factorize."""
        with factorizing(len(K)):
            return cls(_lower_factor(K, penalty))

    @staticmethod
    def solve_each(Ks: Sequence[np.ndarray], penalty: float, Ys: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return (K + penalty)^-1 Y of several systems, each in the precision of its matrix, which is overwritten."""
        with factorizing(max(map(len, Ks))):
            return [GramFactor(_lower_factor(K, penalty)).solve(Y) for K, Y in zip(Ks, Ys, strict=True)]

    def first(self, n: int) -> GramFactor:
        """Return the factor of the first rows."""
        return GramFactor(np.array(self.L[:n, :n], order="F"))

    def solve(self, Y: np.ndarray) -> np.ndarray:
        """Return G^-1 Y in the precision of the factor."""
        (potrs,) = get_lapack_funcs(("potrs",), (self.L,))
        found, _ = potrs(self.L, Y.astype(self.dtype, copy=False), lower=True)
        return np.asarray(found)

    def halves(self, Y: np.ndarray) -> np.ndarray:
        """Return L^-1 Y, whose squares sum to the diagonal of Y' G^-1 Y."""
        return np.asarray(solve_triangular(self.L, Y, lower=True, check_finite=False))

    def inverse_diagonal(self, start: int = 0) -> np.ndarray:
        r"""Return the diagonal of :math:`G^{-1}` from a row on: its last block is :math:`(L_{22} L_{22}^\top)^{-1}`."""
        inverse = self._inverse_half(start)
        return np.einsum("ij,ij->j", inverse, inverse).astype(np.float64)

    def _inverse_half(self, start: int = 0) -> np.ndarray:
        """Return the matrix M with M'M the last block of G^-1, from a row on."""
        last = np.array(self.L[start:, start:], order="F")
        if not len(last):
            return last
        for j in range(1, len(last)):
            last[:j, j] = 0.0
        (trtri,) = get_lapack_funcs(("trtri",), (last,))
        inverse, _ = trtri(last, lower=True, overwrite_c=True)
        return np.asarray(inverse)

    def coefficients(self, Y: np.ndarray, rest: Rest | None = None) -> np.ndarray:
        """Return G^-1 Y in double precision, refined once by what a solution leaves of the targets."""
        a = self.solve(Y).astype(np.float64)
        if rest is not None:
            a += self.solve(rest(Y, a))
        return a

    def fit_groups(
        self, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray, rest: Rest | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients, and the residuals of all rows, each under the model of all other groups.

        They are :math:`[(G^{-1})_{GG}]^{-1} a_G`. Targets have the weighted mean zero; a left-out group has that of the
        others.
        """
        a = self.coefficients(np.column_stack([Y, np.ones(len(Y))]), rest)
        columns = self._inverse_half().T.astype(np.float64)
        left = solved_by_group(columns, a, groups)
        return a[:, :-1], with_mean_of_others(left[:, :-1], left[:, -1:], Y, weights, groups)

    def fit(
        self, Y: np.ndarray, constant: bool = False, n: int = 0, rest: Rest | None = None
    ) -> tuple[LinearModel, np.ndarray]:
        r"""Return the coefficients with the constant, and the residuals of the last n rows, each left out alone.

        With :math:`b = 1^\top G^{-1} y / 1^\top G^{-1} 1` the coefficients :math:`a = G^{-1} (y - b)` sum to zero. A
        residual is :math:`a_i / (G^{-1})_{ii}`, from which a constant takes :math:`(G^{-1} 1)_i^2 / 1^\top G^{-1} 1`.
        """
        last = slice(len(Y) - n, None)
        own = self.inverse_diagonal(len(Y) - n)[:, None]
        if not constant:
            a = self.coefficients(Y, rest)
            return LinearModel(a, np.zeros(Y.shape[1])), a[last] / own
        a = self.coefficients(np.column_stack([Y, np.ones(len(Y))]), rest)
        ones = a[:, -1:]
        b = a[:, :-1].sum(axis=0) / ones.sum()
        a = a[:, :-1] - ones * b
        return LinearModel(a, b), a[last] / (own - ones[last] ** 2 / ones.sum())


def exact_ridge(
    k: Any,
    A: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    penalty: float,
    held_out: np.ndarray,
    refined: bool = True,
    constant: bool = False,
    groups: np.ndarray | None = None,
) -> tuple[LinearModel, np.ndarray]:
    r"""Return :math:`f(x) = \sum_i a_i K(x, x_i) + b`, and the predictions for some rows by models without them.

    Encoded rows have positive weights, whose mean counts as 1. A solution in single precision is refined unless the
    model only serves comparisons. With groups all rows are held out, each from the model of all other groups.
    """
    order = np.concatenate([np.delete(np.arange(len(A)), held_out), held_out])
    ridge = penalty * weights.mean() / weights[order]
    A = A[order]
    Y = Y[order]
    rows: np.ndarray = A.astype(gram_precision(penalty, len(A)), copy=False)
    factor = GramFactor.of(k.block(rows, rows), ridge)

    def in_double(Y: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        rest = Y - ridge[:, None] * coefficients
        for start in range(0, len(A), GRAM_STRIP):
            some = slice(start, start + GRAM_STRIP)
            rest[some] -= k.block(A[some], A) @ coefficients
        return rest

    rest = in_double if rows.dtype == np.float32 and refined else None
    if groups is None:
        model, residuals = factor.fit(Y, constant, len(held_out), rest)
    else:
        a, residuals = factor.fit_groups(Y, weights[order], groups[order], rest)
        model = LinearModel(a, np.zeros(Y.shape[1]))
    coefficients = np.empty_like(model.weights)
    coefficients[order] = model.weights
    return LinearModel(coefficients, model.intercept), Y[len(A) - len(held_out) :] - residuals


def _lower_factor(K: np.ndarray, penalty: Any) -> np.ndarray:
    """Return the Cholesky factor of K plus a penalty, which is raised until K is definite."""
    (potrf,) = get_lapack_funcs(("potrf",), (K,))  # without the checks of SciPy, which take longer than few rows
    diagonal = K.diagonal().copy()
    least = 1e-10
    while True:
        np.fill_diagonal(K, diagonal + np.asarray(penalty, K.dtype))
        L, failed = potrf(K.T, lower=True, overwrite_a=True, clean=False)  # K.T is in the order of LAPACK
        if not failed:
            return np.asarray(L)
        if not np.isfinite(K.diagonal()).all():
            raise LinAlgError("the Gram matrix is not finite")
        below = np.tril(K, -1)  # is left as it was
        K[...] = below + below.T
        penalty = np.maximum(10 * np.asarray(penalty), least)
        least = 10 * least


def unit_of(values: np.ndarray) -> float:
    """Return a power of four near the largest magnitude: a unit that avoids overflow, with an exact square root.

    >>> unit_of(np.array([3.0, -70.0]))
    64.0
    """
    largest = float(np.abs(values).max(initial=0.0))
    return 4.0 ** min(math.frexp(largest)[1] // 2, 511) if largest > 0 else 1.0


def _norm(v: Any) -> float:
    """Return the Euclidean norm of a vector."""
    return float(v @ v) ** 0.5
