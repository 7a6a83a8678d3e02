"""One support vector machine: a box problem on some of the objects, solved, with what theory speaks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.learners.dual import BoxProblem, Solution, solve
from similitude.learners.kernel_rows import KernelRows

MOST_FREE = 500
"""Free support objects at most whose Gram matrix is inverted for leave-one-out scores."""


@dataclass(frozen=True)
class Machine:
    """A solved problem: f(x) = sum_i coefficients_i K(x, x_i) + intercept.

    Attributes
    ----------
    coefficients : array
        One per object.
    intercept : float
    scores : array
        f of the training objects.
    squared_norm : float
        |w|^2.
    objective : float
        |w|^2 / 2 plus the losses, which is minimized.
    gap : float
        The objective minus the dual's: how far from the minimum it may be at most.
    leave_one_out : array
        What f would be at each object without it, as far as the other support objects stay what they are.
    solution : Solution
    """

    coefficients: np.ndarray
    intercept: float
    scores: np.ndarray
    squared_norm: float
    objective: float
    gap: float
    leave_one_out: np.ndarray
    solution: Solution


def separate(K: KernelRows, sign: np.ndarray, C: np.ndarray, keep_sum: bool, tolerance: float) -> Machine:
    """Return the machine with hinge loss for labels +1 and -1, loss i times C_i."""
    zero = np.zeros(len(sign))
    low, high = np.where(sign > 0, zero, -C), np.where(sign > 0, C, zero)
    problem = BoxProblem(sign, low, high, np.arange(len(sign)), keep_sum)
    return _machine(K, problem, tolerance, lambda f: _total(C, np.maximum(0, 1 - sign * f)))


def fit_tube(K: KernelRows, y: np.ndarray, C: np.ndarray, epsilon: float, keep_sum: bool, tolerance: float) -> Machine:
    """Return the machine with the loss max(0, |y - f| - epsilon), loss i times C_i."""
    n, zero = len(y), np.zeros(len(y))
    target = np.concatenate([y - epsilon, y + epsilon])
    low, high = np.concatenate([zero, -C]), np.concatenate([C, zero])
    problem = BoxProblem(target, low, high, np.tile(np.arange(n), 2), keep_sum)
    return _machine(K, problem, tolerance, lambda f: _total(C, np.maximum(0, np.abs(y - f) - epsilon)))


def _total(C: np.ndarray, losses: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.where(losses > 0, C * losses, 0.0).sum())


def _machine(K: KernelRows, problem: BoxProblem, tolerance: float, losses: Callable[[np.ndarray], float]) -> Machine:
    solution = solve(problem, K, tolerance)
    coefficients = np.bincount(problem.example, solution.beta, minlength=len(K))
    f = problem.target[: len(K)] - solution.residual[: len(K)]  # the first variables stand for one object each
    intercept = solution.offset(problem)
    squared = float(coefficients @ f)
    objective = 0.5 * squared + losses(f + intercept)
    dual = float(problem.target @ solution.beta) - 0.5 * squared
    free = problem.example[(solution.beta > problem.low) & (solution.beta < problem.high)]
    alone = f + intercept - coefficients * spans(K, np.unique(free), coefficients, problem.keep_sum)
    return Machine(coefficients, intercept, f + intercept, squared, objective, objective - dual, alone, solution)


def spans(K: KernelRows, free: np.ndarray, coefficients: np.ndarray, keep_sum: bool) -> np.ndarray:
    """Return the squared distance of each support object to the span of the free ones (Vapnik and Chapelle, 2000).

    Where an intercept is learned, the span is of sums whose weights add up to one.
    """
    squares = np.zeros(len(coefficients))
    free = free[:MOST_FREE]
    others = np.setdiff1d(np.flatnonzero(coefficients), free)
    if not len(free):
        return squares
    square = K.square(free).astype(np.float64)
    square[np.diag_indices(len(free))] *= 1 + 1e-8  # equal objects would make it singular
    H = np.pad(square, (0, int(keep_sum)), constant_values=1.0)
    H[len(free) :, len(free) :] = 0.0
    inverse = np.linalg.pinv(H, hermitian=True) if len(free) < 50 else np.linalg.inv(H)
    squares[free] = 1 / np.maximum(inverse.diagonal()[: len(free)], 1e-300)
    V = np.pad(K.between(free, others).astype(np.float64), ((0, int(keep_sum)), (0, 0)), constant_values=1.0)
    own = K.diagonal()[others]
    squares[others] = np.maximum(own - np.einsum("ij,ij->j", V, inverse @ V), 0.0)
    return squares
