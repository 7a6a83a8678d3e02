r"""Ridge regression on similarities to m landmarks, by preconditioned conjugate gradients on fused products.

Minimises :math:`\sum_i s_i |y_i - K(x_i, L) a - b|^2 + \lambda\, a^\top K(L, L) a` over a and a free b. With
:math:`K(L, L) = T^\top T` the matrix of the normal equations is close to
:math:`T^\top (\frac{n}{m} T T^\top + \lambda) T = (A T)^\top (A T)`, so that in the coordinates
:math:`z = A T a` it is close to the identity and a few steps are enough. (Rudi, Carratino and Rosasco, "FALKON: an
optimal large scale kernel method", 2017.) Factorisations are in float64; the inverses of both triangles are made once,
so that a step is products of matrices with vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from similitude.encodings import Encoding, count, moved, rows
from similitude.engines.base import format_bytes
from similitude.engines.torch_moves import back
from similitude.engines.torch_products import CELLS, Product

TOLERANCE = 1e-3
"""The gradient at which steps end, over the one at zero, both in the coordinates of the preconditioner."""

MOST_STEPS = 50
"""Steps at most."""

JITTER = {torch.float32: 1e-8, torch.float64: 1e-15}
"""What is added to the diagonal of K(L, L), times its sum: inverses of smaller numbers would magnify rounding."""

NEAR = 0.3
"""The logarithm of the ratio of penalties up to which one's preconditioner serves the other."""

MATRICES = 6
"""Matrices of m x m values in float64 that are on the device at once."""


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
    steps: int
    residual: float


class Factors:
    """The triangles of K(L, L) and of the preconditioner.

    Parameters
    ----------
    product : Product
        Of any examples with the landmarks.
    """

    def __init__(self, product: Product) -> None:
        self.product, self.m = product, product.shape[1]
        needed, budget = MATRICES * 8 * self.m**2, product.engine.budget
        if needed > budget:
            raise MemoryError(
                f"{self.m:,} landmarks need {format_bytes(needed)} for their factors, the budget of "
                f"{product.engine.device} is {format_bytes(budget)}: use fewer landmarks"
            )
        self._ready: tuple[float, torch.Tensor, torch.Tensor] | None = None

    @cached_property
    def gram(self) -> torch.Tensor:
        """K(L, L) in float64."""
        b: Encoding = moved(self.product.b, lambda tensor: tensor.to(torch.float64))
        step = max(1, CELLS[self.product.engine.place.type] // self.m)
        block = self.product.similarity.block
        parts = [block(rows(b, slice(start, start + step)), b) for start in range(0, count(b), step)]
        return torch.cat(parts)

    @cached_property
    def _triangle(self) -> tuple[torch.Tensor, torch.Tensor]:
        """T T' and the inverse of T, for K(L, L) = T'T."""
        M = self.gram.clone()
        jitter = JITTER[self.product.dtype] * float(M.diagonal().sum())
        M.diagonal().add_(jitter)
        T, failed = torch.linalg.cholesky_ex(M, upper=True)
        while bool(failed):
            M.diagonal().add_(9 * jitter)
            jitter *= 10
            T, failed = torch.linalg.cholesky_ex(M, upper=True)
        return T @ T.T, _inverse(T)

    def preconditioner(self, per_example: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (A T)^-1 and A^-1 for a penalty on examples of weight one, in the precision of the products.

        Those of the latest penalty are kept, and serve for others near it.
        """
        if self._ready is None or abs(math.log(per_example / self._ready[0])) > NEAR:
            self._ready = None
            TT, T_inverse = self._triangle
            inside = TT / self.m
            inside.diagonal().add_(per_example)
            A_inverse = _inverse(torch.linalg.cholesky(inside, upper=True))
            both = (T_inverse @ A_inverse).to(self.product.dtype)
            self._ready = per_example, both, A_inverse.to(self.product.dtype)
        return self._ready[1:]


class LeastSquares:
    """Ridge regression on K(A, B), for any targets, weights and penalties.

    Parameters
    ----------
    product : Product
        K of all examples with the landmarks.
    factors : Factors, optional
        Those of the landmarks, where they are known.
    """

    def __init__(self, product: Product, factors: Factors | None = None) -> None:
        self.product, self.factors = product, factors or Factors(product)
        product.keep()

    def of(self, A: Encoding) -> LeastSquares:
        """Return the same for other examples."""
        product = self.product
        return LeastSquares(Product(product.engine, product.similarity, A, product.b), self.factors)

    @property
    def spread(self) -> float:
        """The mean squared length of an example's features about their mean, as the landmarks tell."""
        gram = self.factors.gram
        return float(gram.diagonal().mean() - gram.mean()) or float(gram.diagonal().mean()) or 1.0

    def problem(self, Y: Any, weights: Any) -> Problem:
        """Return the problem of targets (rows, outputs) and weights (rows,), for any penalty."""
        return Problem(self, Y, weights)


def _inverse(T: torch.Tensor) -> torch.Tensor:
    """Return the inverse of an upper triangle."""
    one = torch.eye(len(T), dtype=T.dtype, device=T.device)
    return torch.linalg.solve_triangular(T, one, upper=True)


class Problem:
    """Least squares for targets and weights: one pass over the examples, then any penalty."""

    def __init__(self, solver: LeastSquares, Y: Any, weights: Any) -> None:
        self.solver, product = solver, solver.product
        here = product.move
        self.weights = here(weights).to(product.dtype)
        Y = here(Y).to(torch.float64)
        self.total = float(self.weights.sum(dtype=torch.float64))
        self.middle = (self.weights.to(torch.float64) @ Y) / self.total
        wanted = ((Y - self.middle) * self.weights[:, None]).to(product.dtype)
        both = product.transposed_times(torch.cat([wanted, self.weights[:, None]], dim=1))
        self.right, self.sums = both[:, :-1], both[:, -1]

    def solve(
        self, lam: float, start: Solution | None = None, steps: int = MOST_STEPS, tolerance: float = TOLERANCE
    ) -> Solution:
        """Return the minimiser for a penalty, sought from zero or from another solution."""
        return self.path([lam], start, steps, tolerance)[0]

    def path(
        self,
        lams: Sequence[float],
        start: Solution | None = None,
        steps: int = MOST_STEPS,
        tolerance: float = TOLERANCE,
    ) -> list[Solution]:
        """Return the minimisers for several penalties by the same products, best when they are near one another.

        All are preconditioned for the one in their middle.
        """
        product, k = self.solver.product, self.right.shape[1]
        both, inner = self.solver.factors.preconditioner(float(np.sqrt(min(lams) * max(lams))) / self.total)
        each = torch.tensor(lams, dtype=product.dtype, device=both.device).repeat_interleave(k)

        def bent(p: torch.Tensor) -> torch.Tensor:
            p = p.to(product.dtype)
            G, sums = product.normal(both @ p, self.weights)
            G -= self.sums[:, None] * (sums / self.total)
            return (both.T @ G.to(product.dtype) + each * (inner.T @ (inner @ p))).to(torch.float64)

        with product.engine.products():
            goal = (both.T @ self.right.to(product.dtype)).to(torch.float64).repeat(1, len(lams))
            a = None if start is None else product.move(start.weights).repeat(1, len(lams))
            left = goal if a is None else (both.T @ self._left(a, each).to(product.dtype)).to(torch.float64)
            z, taken, residuals = conjugate_gradients(bent, goal, left, steps, tolerance)
            weights = (both @ z.to(product.dtype)).to(torch.float64) + (0.0 if a is None else a)
        intercept = self.middle.repeat(len(lams)) - self.sums @ weights / self.total
        cuts = [slice(i * k, (i + 1) * k) for i in range(len(lams))]
        return [Solution(back(weights[:, i]), back(intercept[i]), taken, float(residuals[i].max())) for i in cuts]

    def _left(self, a: torch.Tensor, lams: torch.Tensor) -> torch.Tensor:
        """Return what weights of the landmarks leave to do: the gradient there, turned round."""
        product = self.solver.product
        G, sums = product.normal(a.to(product.dtype), self.weights)
        G -= self.sums[:, None] * (sums / self.total)
        return self.right.repeat(1, a.shape[1] // self.right.shape[1]) - G - lams * (self.solver.factors.gram @ a)


def conjugate_gradients(
    bent: Any, goal: torch.Tensor, left: torch.Tensor, steps: int, tolerance: float
) -> tuple[torch.Tensor, int, torch.Tensor]:
    """Return z with bent(z) = left, the steps taken, and the residuals over the goals; a column each.

    `left` is the goal itself, or what a first guess leaves of it.
    """
    z, r = torch.zeros_like(goal), left.clone()
    p, squares, enough = r.clone(), (r * r).sum(0), tolerance**2 * (goal * goal).sum(0)
    taken = 0
    while taken < steps and bool((squares > enough).any()):
        q = bent(p)
        along = (p * q).sum(0)
        length = torch.where(along > 0, squares / along, 0.0)
        z += length * p
        r -= length * q
        before, squares = squares, (r * r).sum(0)
        p = r + torch.where(before > 0, squares / before, 0.0) * p
        taken += 1
    reference = torch.clamp((goal * goal).sum(0), min=1e-300)
    return z, taken, (squares / reference).sqrt()
