"""The same products in plain torch, as one would write them: distances by a matrix product, a formula, a product.

They use the same blocks of rows as the library, with operations in place where torch has them, and without its
correction of close pairs: the baseline has every advantage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from similitude.compute import profile_of
from similitude.compute.engines.torch.kernel_operator import BLOCK_CELLS, BlockwiseRows, KernelOperator, RowsOperator

Block = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def squares(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return |x - y|^2 by a matrix product."""
    lengths = (Y * Y).sum(1)
    return torch.addmm(lengths, X, Y.T, alpha=-2.0).add_((X * X).sum(1)[:, None]).clamp_min_(0.0)


def block(k: Any) -> Block:
    """Return the block of a kernel in plain torch."""
    term = profile_of(k).terms[0]
    name, *parameters = term.form
    p = float(parameters[0])
    if name == "polynomial":
        q, degree = float(parameters[1]), int(parameters[2])
        return lambda X, Y: (X @ Y.T).mul_(p).add_(q).pow_(degree)
    if term.sums == "absolute_difference":
        return lambda X, Y: torch.cdist(X, Y, p=1.0).mul_(p).exp_()
    if name == "gaussian":
        return lambda X, Y: squares(X, Y).mul_(p).exp_()
    if name == "laplace":
        return lambda X, Y: squares(X, Y).sqrt_().mul_(p).exp_()
    if name == "rational_quadratic":
        return lambda X, Y: squares(X, Y).mul_(p).add_(1.0).pow_(-float(parameters[1]))
    if name == "matern3":
        return lambda X, Y: (u := squares(X, Y).sqrt_().mul_(p)).neg().exp_().mul_(u.add_(1.0))
    raise ValueError(f"there is no plain form of {k!r}")


class PlainOperator(KernelOperator):
    """K(A, B) by blocks of plain torch."""

    def _rows_operator(self, a: Any) -> RowsOperator:
        return BlockwiseRows(block(self.similarity), a, self.b, BLOCK_CELLS[self.engine.torch_device.type])


def plain(operator: KernelOperator) -> PlainOperator:
    """Return the same operator in plain torch."""
    return PlainOperator(operator.engine, operator.similarity, operator.A, operator.b)
