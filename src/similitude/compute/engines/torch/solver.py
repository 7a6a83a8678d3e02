r"""Ridge regression on similarities to m landmarks: normal equations of some rows, conjugate gradients for all.

Minimizes :math:`\sum_i s_i |y_i - K(x_i, L) a - b|^2 + \lambda\, a^\top K(L, L) a` over a and a free b. The equations
of a few rows for each landmark, in float64, are solved at once for any penalty; their Cholesky factor is the
preconditioner for all rows, of which only fused products are taken. With c rows for each landmark the condition number
is at most about :math:`((1 + c^{-1/2}) / (1 - c^{-1/2}))^2`, 9 for c = 4, so that a few steps are enough.
(Rudi, Carratino and Rosasco, "FALKON: an optimal large scale kernel method", 2017, where the rows are the landmarks
themselves, c = 1, which mostly takes two to five times as many steps.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from similitude.compute.encodings import Encoding, as_numpy, count, moved, rows
from similitude.compute.engines.engine import format_bytes
from similitude.compute.engines.torch.kernel_operator import BLOCK_CELLS, KernelOperator

TOLERANCE = 1e-3
"""The gradient at which steps end, over the one at zero, both in the norm of the preconditioner."""

MOST_STEPS = 50
"""Steps at most."""

PATIENCE = 8
"""Steps without a smaller gradient after which there is nothing to be gained but rounding."""

JITTER = {torch.float32: 1e-8, torch.float64: 1e-15}
"""What is added to the diagonal of K(L, L), times its sum: inverses of smaller numbers would magnify rounding."""

MATRICES = 5
"""Matrices of m x m values in float64 that are on the device at once."""

STRIPES = 4
"""Into how many stretches of columns a symmetric product is cut, of which those above the diagonal are computed."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of the landmarks.

    Attributes
    ----------
    weights : array of shape (m, outputs)
    intercept : array of shape (outputs,)
    steps : int
        Of conjugate gradients.
    residual : float
        The gradient left, over the one at zero.
    """

    weights: np.ndarray
    intercept: np.ndarray
    steps: int = 0
    residual: float = 0.0


class LeastSquares:
    """Ridge regression on K(A, B), for any targets, weights and penalties.

    Parameters
    ----------
    product : KernelOperator
        K of the examples with the landmarks.
    gram : tensor, optional
        K(L, L) in float64, where it is known.
    """

    def __init__(self, product: KernelOperator, gram: torch.Tensor | None = None) -> None:
        self.product, self.m = product, product.shape[1]
        needed, budget = MATRICES * 8 * self.m**2, product.engine.budget
        if needed > budget:
            raise MemoryError(
                f"{self.m:,} landmarks need {format_bytes(needed)} for their factors, the budget of "
                f"{product.engine.device} is {format_bytes(budget)}: use fewer landmarks"
            )
        self._b = _doubled(product.b)
        self.gram = torch.cat([self._block(part) for part in self._pieces(product.b)]) if gram is None else gram
        self.jitter = JITTER[product.dtype] * float(self.gram.diagonal().sum())

    def only(self, which: np.ndarray) -> LeastSquares:
        """Return the same for some of the examples."""
        return LeastSquares(self.product.subset(which), self.gram)

    @cached_property
    def spread(self) -> float:
        """The mean squared length of an example's features about their mean, as the landmarks tell."""
        return float(self.gram.diagonal().mean() - self.gram.mean()) or float(self.gram.diagonal().mean()) or 1.0

    def values(self, found: Solution) -> np.ndarray:
        """Return what a solution gives for every example, in float64."""
        V = self.product.move(found.weights).to(self.product.dtype)
        return as_numpy(self.product.times(V).to(torch.float64)) + found.intercept

    def _block(self, a: Encoding) -> torch.Tensor:
        """Return the similarities of a few objects on the device to all landmarks, in float64."""
        values: torch.Tensor = self.product.similarity.block(_doubled(a), self._b)
        return values

    def _pieces(self, A: Encoding) -> list[Encoding]:
        step = max(1, BLOCK_CELLS[self.product.engine.torch_device.type] // self.m)
        return [rows(A, slice(start, start + step)) for start in range(0, count(A), step)]

    def equations(self, Y: Any, weights: Any) -> Equations:
        """Return the normal equations of the examples, for targets (rows, outputs) and weights (rows,)."""
        move = self.product.move
        Y, roots = move(Y).to(torch.float64), move(weights).to(torch.float64).sqrt()
        with_one = torch.cat([Y, torch.ones_like(Y[:, :1])], dim=1) * roots[:, None]
        G = torch.zeros(self.m, self.m, dtype=torch.float64, device=Y.device)
        right = torch.zeros(self.m, with_one.shape[1], dtype=torch.float64, device=Y.device)
        start = 0
        for part in self._pieces(self.product.A):
            cut = slice(start, start + count(part))
            K = self._block(moved(part, move)) * roots[cut, None]
            _add_square(G, K)
            right += K.T @ with_one[cut]
            start = cut.stop
        return Equations(self, G, right, roots @ with_one)

    def problem(self, Y: Any, weights: Any) -> Problem:
        """Return the same equations, to be solved by steps on products, for targets and weights as above."""
        return Problem(self, Y, weights)


def _doubled(encoding: Encoding) -> Encoding:
    return moved(encoding, lambda tensor: tensor.to(torch.float64) if tensor.is_floating_point() else tensor)


def _add_square(G: torch.Tensor, K: torch.Tensor) -> None:
    """Add K'K to G, on and above the diagonal."""
    m = K.shape[1]
    step = max(1, -(-m // STRIPES))
    for start in range(0, m, step):
        G[start : start + step, start:].addmm_(K[:, start : start + step].T, K[:, start:])


@dataclass(frozen=True, eq=False)
class Equations:
    """The normal equations of some examples.

    Attributes
    ----------
    solver : LeastSquares
    G : tensor of shape (m, m)
        The weighted sum of K(x, L)' K(x, L), on and above the diagonal.
    right : tensor of shape (m, outputs + 1)
        The weighted sum of K(x, L)' y, and of K(x, L)'.
    sums : tensor of shape (outputs + 1,)
        The weighted sum of y, and of weights.
    """

    solver: LeastSquares
    G: torch.Tensor
    right: torch.Tensor
    sums: torch.Tensor

    def __add__(self, other: Equations) -> Equations:
        return Equations(self.solver, self.G + other.G, self.right + other.right, self.sums + other.sums)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.sums[-1])

    def factor(self, lam: float) -> torch.Tensor:
        """Return the Cholesky factor of the equations for a penalty, the intercept eliminated."""
        M = torch.add(self.G, self.solver.gram, alpha=lam)
        M.addr_(self.right[:, -1], self.right[:, -1], alpha=-1.0 / self.total)
        M.diagonal().add_(lam * self.solver.jitter)
        T, failed = torch.linalg.cholesky_ex(M.T)  # its lower triangle is above the diagonal of M, where the values are
        jitter = 1e-15 * float(M.diagonal().sum())
        if not math.isfinite(jitter):
            raise ValueError(f"squares of {self.solver.product.similarity!r} add up to no finite number: scale it down")
        while bool(failed):
            M.diagonal().add_(jitter)
            jitter *= 10
            T, failed = torch.linalg.cholesky_ex(M.T)
        return T.T

    def solve(self, lam: float) -> Solution:
        """Return the minimizer for these examples."""
        return self.solution(self.factor(lam))

    def solution(self, factor: torch.Tensor) -> Solution:
        """Return the minimizer for these examples, by the factor for a penalty."""
        means = self.sums[:-1] / self.total
        a = _solved(factor, self.right[:, :-1] - self.right[:, -1:] * means)
        return Solution(as_numpy(a), as_numpy(means - self.right[:, -1] @ a / self.total))


def _solved(T: torch.Tensor, R: torch.Tensor) -> torch.Tensor:
    """Return (T'T)^-1 R for an upper triangle."""
    return torch.linalg.solve_triangular(T, torch.linalg.solve_triangular(T.T, R, upper=False), upper=True)


class Problem:
    """Least squares on all examples, for their targets and weights."""

    def __init__(self, solver: LeastSquares, Y: Any, weights: Any) -> None:
        self.solver, product = solver, solver.product
        product.store_if_faster()
        self.weights = product.move(weights).to(product.dtype)
        Y = product.move(Y).to(torch.float64)
        self.total = float(self.weights.sum(dtype=torch.float64))
        self.middle = (self.weights.to(torch.float64) @ Y) / self.total
        wanted = ((Y - self.middle) * self.weights[:, None]).to(product.dtype)
        self.right = product.transposed_times(wanted) / self.total
        self.means = product.transposed_times(self.weights[:, None])[:, 0] / self.total

    def solve(
        self, lam: float, near: torch.Tensor, start: Solution, steps: int = MOST_STEPS, tolerance: float = TOLERANCE
    ) -> Solution:
        """Return the minimizer for a penalty, sought from another solution.

        `near` is the factor of the equations of some of the examples, for that penalty times the part of all weights
        that is theirs: it shows the way.
        """

        def bent(p: torch.Tensor) -> torch.Tensor:
            return self._spread(p) + lam / self.total * (self.solver.gram @ p + self.solver.jitter * p)

        def eased(r: torch.Tensor) -> torch.Tensor:
            return _solved(near, r)

        a = self.solver.product.move(start.weights)
        z, taken, residual = conjugate_gradients(bent, eased, self.right, self.right - bent(a), steps, tolerance)
        a = a + z
        return Solution(as_numpy(a), as_numpy(self.middle - self.means @ a), taken, residual)

    def _spread(self, a: torch.Tensor) -> torch.Tensor:
        """Return the covariance of the similarities times a."""
        product = self.solver.product
        G, rest = product.normal(a.to(product.dtype), self.weights, (self.means @ a).to(product.dtype))
        return (G - self.means[:, None] * rest) / self.total


def conjugate_gradients(
    bent: Callable[[torch.Tensor], torch.Tensor],
    eased: Callable[[torch.Tensor], torch.Tensor],
    goal: torch.Tensor,
    left: torch.Tensor,
    steps: int,
    tolerance: float,
) -> tuple[torch.Tensor, int, float]:
    """Return z with bent(z) = left, the steps taken, and the largest residual of a column over its goal.

    `eased` is nearly the inverse of `bent`; `left` is what a first guess leaves of the goal.
    """
    z, r, p = torch.zeros_like(goal), left.clone(), eased(left)
    squares, reference = (r * p).sum(0), (goal * eased(goal)).sum(0).clamp(min=1e-300)
    best, found, since, taken = float((squares / reference).max()), z, 0, 0
    while taken < steps and best > tolerance**2 and since < PATIENCE:
        q = bent(p)
        along = (p * q).sum(0)
        length = torch.where(along > 0, squares / along, 0.0)
        z = z + length * p
        r = r - length * q
        way = eased(r)
        before, squares = squares, (r * way).sum(0)
        p = way + torch.where(before > 0, squares / before, 0.0) * p
        taken, since = taken + 1, since + 1
        worst = float((squares / reference).max())
        if worst < best:
            best, found, since = worst, z, 0
    return found, taken, max(best, 0.0) ** 0.5
