"""The dual of support vector machines: a quadratic program over a box, solved a working set at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.compute.loops import smo
from similitude.learners.kernel_rows import KernelRows

WORKING_SET = 1024
"""Variables that move at once: their rows come as tiles, and their square fits into the cache."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""A gain of less than this part of the objective is none."""

MOST_STEPS = 10_000_000
"""Steps in all before the search is given up, with a warning."""

STEPS_PER_VARIABLE = 50
"""Steps within a working set before all residuals are looked at again."""


@dataclass(frozen=True)
class BoxProblem:
    r"""Minimize :math:`\frac12 \beta^\top K \beta - t^\top \beta` with :math:`l \le \beta \le h`.

    Attributes
    ----------
    target, low, high : array of float64
        t, l and h, one entry per variable.
    example : array of int
        The row of K that each variable belongs to; several may share one.
    keep_sum : bool
        Also ask that the sum of beta is 0, which is what an intercept asks.
    """

    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    example: np.ndarray
    keep_sum: bool


@dataclass(frozen=True)
class Solution:
    """What the solver found.

    Attributes
    ----------
    beta : array
        The variables.
    residual : array
        t - K beta.
    violation : float
        By how much the conditions of optimality are missed.
    rounds, steps : int
        Working sets, and steps within them.
    """

    beta: np.ndarray
    residual: np.ndarray
    violation: float
    rounds: int
    steps: int

    def offset(self, problem: BoxProblem) -> float:
        """Return the intercept: the residual that all free variables share."""
        if not problem.keep_sum:
            return 0.0
        free = (self.beta > problem.low) & (self.beta < problem.high)
        if free.any():
            return float(self.residual[free].mean())
        top, bottom = _extremes(problem, self.beta, self.residual)
        ends = [end for end in (top, bottom) if np.isfinite(end)]
        return float(np.mean(ends))


def solve(
    problem: BoxProblem, K: KernelRows, tolerance: float, look: Callable[[np.ndarray, np.ndarray], None] | None = None
) -> Solution:
    """Return the minimizer, to a violation of at most the tolerance.

    Each round takes the variables that violate optimality most, keeps half of the last round's, minimizes over these
    alone, and brings every residual up to date with the rows of those that moved. It ends early where rounding leaves
    nothing to gain, or with a warning after ten million steps; the solution says by how much optimality is missed.

    Parameters
    ----------
    problem : BoxProblem
    K : KernelRows
    tolerance : float
    look : callable, optional
        Called with beta and the residual after each round; it may raise.
    """
    n = len(problem.target)
    beta, residual, score = np.zeros(n), problem.target.copy(), np.zeros(len(K))
    size, last = min(WORKING_SET, n, K.room), np.empty(0, np.int64)
    steps = rounds = 0
    violation, value = _violation(problem, beta, residual), 0.0
    while violation > tolerance:
        working = _choose(problem, beta, residual, last, size)
        before = beta[working]
        steps += _within(problem, K, working, beta, residual, max(tolerance * 0.5, violation * 0.1))
        change = np.bincount(problem.example[working], beta[working] - before, minlength=len(K))
        moved = np.flatnonzero(change)
        score[:] = 0.0
        K.add_to(score, moved, change[moved])
        residual -= score[problem.example]
        violation, value, old = _violation(problem, beta, residual), _value(problem, beta, residual), value
        rounds += 1
        if look is not None:
            look(beta, residual)
        if steps > MOST_STEPS:
            _warn(violation, tolerance)
            break
        if value - old <= ROUNDING * abs(value):
            if not len(last):
                break  # the worst violators, and nothing gained
            working = working[:0]
        last = working
    return Solution(beta, residual, violation, rounds, steps)


def _warn(violation: float, tolerance: float) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"stopped after {MOST_STEPS:,} steps: optimality is missed by {violation:.2g}, not {tolerance:.2g}; bring the "
        f"kernel's values to about 1 (scale the vectors, or use kernel.normalized()), or lower C",
        ConvergenceWarning,
        stacklevel=2,
    )


def _within(
    problem: BoxProblem, K: KernelRows, working: np.ndarray, beta: np.ndarray, residual: np.ndarray, tolerance: float
) -> int:
    """Minimize over the working set alone, and return the number of steps."""
    examples, place = np.unique(problem.example[working], return_inverse=True)
    square = K.square(examples)
    if len(examples) < len(working) or not (place == np.arange(len(working))).all():
        square = np.ascontiguousarray(square[np.ix_(place, place)])
    u, moving = residual[working], beta[working]
    most = STEPS_PER_VARIABLE * len(working)
    steps = smo(square, u, moving, problem.low[working], problem.high[working], tolerance, most, problem.keep_sum)
    beta[working] = moving
    return steps


def _choose(problem: BoxProblem, beta: np.ndarray, residual: np.ndarray, last: np.ndarray, size: int) -> np.ndarray:
    """Return the working set: half of the last one, and the variables that violate optimality most."""
    kept = last[-(size // 2) :] if size >= 4 else last[:0]
    taken = np.zeros(len(beta), bool)
    taken[kept] = True
    rising = np.where((beta < problem.high) & ~taken, residual, -np.inf)
    falling = np.where((beta > problem.low) & ~taken, -residual, -np.inf)
    half = (size - len(kept) + 1) // 2
    up = _largest(rising, half)
    falling[up] = -np.inf
    down = _largest(falling, size - len(kept) - len(up))
    return np.concatenate([kept, up, down])


def _largest(values: np.ndarray, size: int) -> np.ndarray:
    size = min(size, int(np.isfinite(values).sum()))
    return np.argpartition(-values, size - 1)[:size] if size else np.empty(0, np.int64)


def _value(problem: BoxProblem, beta: np.ndarray, residual: np.ndarray) -> float:
    """Return t' beta - beta' K beta / 2, which every step raises."""
    return 0.5 * float(beta @ (problem.target + residual))


def _violation(problem: BoxProblem, beta: np.ndarray, residual: np.ndarray) -> float:
    top, bottom = _extremes(problem, beta, residual)
    return max(0.0, top - bottom if problem.keep_sum else max(top, -bottom))


def _extremes(problem: BoxProblem, beta: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
    """Return the largest residual of a variable that can rise, and the smallest of one that can fall."""
    top = residual[beta < problem.high].max(initial=-np.inf)
    bottom = residual[beta > problem.low].min(initial=np.inf)
    return float(top), float(bottom)
