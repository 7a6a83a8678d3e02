"""Conjugate gradients for several columns at once, on NumPy or on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from similitude.compute import namespace


def conjugate_steps(
    matrix: Callable[[Any], Any], preconditioner: Callable[[Any], Any], goal: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield ever better z with matrix(z) = goal, what z leaves, and the square of that in the preconditioner's norm.

    The first z is zero. The preconditioner is nearly the inverse of the matrix; the caller decides when to stop.
    """
    z = namespace(goal).zeros_like(goal)
    p = preconditioner(goal)
    squares = (goal * p).sum(0)
    while True:
        yield z, goal, squares
        q = matrix(p)
        length = _quotients(squares, (p * q).sum(0))
        z = z + length * p
        goal = goal - length * q
        way = preconditioner(goal)
        before = squares
        squares = (goal * way).sum(0)
        p = way + _quotients(squares, before) * p


def _quotients(a: Any, b: Any) -> Any:
    """Return a / b, and 0 where b is not positive: a column that needs no more steps."""
    where = namespace(a).where
    return where(b > 0, a / where(b > 0, b, 1.0), 0.0)
