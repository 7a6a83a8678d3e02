"""The dual of support vector machines: a quadratic program over a box, solved by working sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.compute.loops import add_rows, pick, smo
from similitude.learners.limits import DOUBLE_EPS, MAX_STEPS, SAMPLED_FROM, WORKING_SET
from similitude.learners.svm.row_cache import KernelRows


class GramRows:
    """The rows of a Gram matrix that has been computed already, with the methods of KernelRows."""

    def __init__(self, K: np.ndarray) -> None:
        self.K = K
        self.n = len(K)
        self.most_free = len(K) + WORKING_SET

    def of(self, which: np.ndarray) -> GramRows:
        """Return the rows of the Gram matrix of some of the objects."""
        return self if len(which) == self.n else GramRows(self.square(which))

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        return self.K[np.ix_(which, columns)]

    def square(self, which: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i and j in `which`."""
        values = np.empty((len(which), len(which)), self.K.dtype)
        pick(self.K, which, which, values)
        return values

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64."""
        return self.K.astype(np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        return self.K.diagonal().astype(np.float64)

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j]."""
        add_rows(self.K, which, weights, out)


Rows = GramRows | KernelRows


@dataclass(frozen=True)
class BoxProblem:
    """Minimize b' K b / 2 - t' b subject to l <= b <= h, with `keep_sum` sum(b) = 0: an unpenalized intercept."""

    target: np.ndarray  # t, one entry per variable
    low: np.ndarray  # l
    high: np.ndarray  # h
    example: np.ndarray  # the row of K that each variable belongs to; several variables may share one
    keep_sum: bool

    def restricted(self, inside: np.ndarray, place: np.ndarray) -> BoxProblem:
        """Return the problem of some variables, with the others at 0; `place` gives the new numbers of examples."""
        example = place[self.example[inside]]
        return BoxProblem(self.target[inside], self.low[inside], self.high[inside], example, self.keep_sum)


Look = Callable[[np.ndarray, np.ndarray], bool]

Solution = tuple[np.ndarray, np.ndarray, float, int]
"""beta, the residual t - K beta, the intercept (0 without the constraint on the sum), and the number of rounds."""


def solve(
    problem: BoxProblem, K: Rows, tolerance: float, look: Look | None = None, start: np.ndarray | None = None
) -> Solution:
    """Return the minimizer, to a violation of the optimality conditions of at most `tolerance`.

    Each round minimizes over the free variables and those that violate optimality most, and updates every residual
    with the rows of the variables that moved. The solver stops early if only rounding is left to gain, if `look`
    is true of beta and the residual after a round, or with a warning after ten million steps.

    The default start is 0, or, where rows of K must be computed, the minimizer for every fourth example: few rows are
    then computed of examples that turn out not to matter.
    """
    beta = np.zeros(len(problem.target)) if start is None else start
    if start is None and isinstance(K, KernelRows) and K.n >= SAMPLED_FROM:
        chosen = np.arange(0, K.n, 4)  # a sample shows which rows of the kernel are needed at all
        place = np.full(K.n, -1)
        place[chosen] = np.arange(len(chosen))
        inside = place[problem.example] >= 0
        beta[inside] = solve(problem.restricted(inside, place), K.of(chosen), tolerance)[0]
    residual = problem.target.copy()
    _update(residual, problem, K, beta, np.arange(len(beta)))
    violation, intercept = _optimality(problem, beta, residual)
    size = min(max(WORKING_SET, K.n // 12), K.most_free)
    steps = rounds = 0
    value = -np.inf
    keep_free = True
    while violation > tolerance:
        inner_tolerance = max(tolerance * 0.5, violation * 0.1)
        working = _working_set(problem, beta, residual - intercept, size, tolerance * 0.25, keep_free)
        if isinstance(K, KernelRows):
            working = working[K.cached_first(problem.example[working])]
        moving = beta[working]
        low = problem.low[working]
        high = problem.high[working]
        block = _among(K, problem.example[working])
        most = 50 * len(working)  # then all residuals are updated
        steps += smo(block, residual[working], moving, low, high, inner_tolerance, most, problem.keep_sum)
        _update(residual, problem, K, moving - beta[working], working)
        beta[working] = moving
        violation, intercept = _optimality(problem, beta, residual)
        before = value
        value = 0.5 * float(beta @ (problem.target + residual))  # t' beta - beta' K beta / 2
        rounds += 1
        if look is not None and look(beta, residual):
            break
        if steps > MAX_STEPS:
            warnings.warn(
                f"stopped after {MAX_STEPS:,} steps: optimality is violated by {violation:.2g}, not {tolerance:.2g}; "
                f"bring the kernel's values to about 1 (scale the vectors, or use kernel.normalized()), or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
            break
        gains = value - before > 4 * DOUBLE_EPS * abs(value)
        if not gains and not keep_free:
            break  # even the worst violators bring no gain
        keep_free = gains
    return beta, residual, intercept, rounds


def _among(K: Rows, examples: np.ndarray) -> np.ndarray:
    """Return the block of K between variables of these examples; two variables may share one."""
    each, first, place = np.unique(examples, return_index=True, return_inverse=True)
    if len(each) == len(examples):
        return K.square(examples)
    order = np.argsort(first)
    place = np.argsort(order)[place]
    return np.ascontiguousarray(K.square(each[order])[np.ix_(place, place)])


def _update(residual: np.ndarray, problem: BoxProblem, K: Rows, moved: np.ndarray, variables: np.ndarray) -> None:
    """Update all residuals after these variables moved."""
    per_example = np.bincount(problem.example[variables], moved, minlength=K.n)
    which = np.flatnonzero(per_example)
    change = np.zeros(K.n)
    K.add_to(change, which, per_example[which])
    residual -= change[problem.example]


def _working_set(
    problem: BoxProblem, beta: np.ndarray, slope: np.ndarray, size: int, enough: float, keep_free: bool
) -> np.ndarray:
    """Return at most `size` free variables, and half as many of those with the largest slopes above `enough`."""
    can_rise = beta < problem.high
    can_fall = beta > problem.low
    free = np.flatnonzero(can_rise & can_fall & keep_free)
    if len(free) > size:
        free = free[_largest(np.abs(slope[free]), size)]
    can_rise[free] = can_fall[free] = False
    rising = np.where(can_rise & (slope > enough), slope, -np.inf)
    falling = np.where(can_fall & (slope < -enough), -slope, -np.inf)
    most = max(1, size // 4)
    return np.sort(np.concatenate([free, _largest(rising, most), _largest(falling, most)]))


def _largest(values: np.ndarray, size: int) -> np.ndarray:
    """Return the positions of the largest finite values."""
    size = min(size, int(np.isfinite(values).sum()))
    return np.argpartition(-values, max(0, size - 1))[:size]


def _optimality(problem: BoxProblem, beta: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
    """Return the violation of the optimality conditions, and the intercept."""
    can_rise = beta < problem.high
    can_fall = beta > problem.low
    top = residual[can_rise].max(initial=-np.inf)
    bottom = residual[can_fall].min(initial=np.inf)
    if not problem.keep_sum:
        return max(0.0, float(top), -float(bottom)), 0.0
    shared = residual[can_rise & can_fall]
    if not len(shared):
        shared = np.array([top, bottom])
        shared = shared[np.isfinite(shared)]
    return max(0.0, float(top) - float(bottom)), float(shared.mean())


def solve_one_class(K: Rows, most: np.ndarray, nu: float, tolerance: float) -> Solution:
    """Minimize a' K a / 2 over 0 <= a <= `most` with the sum of a equal to `nu` times that of `most`."""
    n = len(most)
    order = np.arange(n)
    if isinstance(K, KernelRows) and n >= SAMPLED_FROM:
        chosen = np.flatnonzero(most)[::4]
        sample = solve_one_class(K.of(chosen), most[chosen], nu, tolerance)[0]
        used = np.flatnonzero(sample)
        scores = np.zeros(n)
        K.add_to(scores, chosen[used], sample[used])
        order = np.argsort(scores, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(most[order])[:-1]])
    start = np.zeros(n)
    start[order] = np.clip(nu * most.sum() - before, 0.0, most[order])
    problem = BoxProblem(np.zeros(n), np.zeros(n), most, np.arange(n), keep_sum=True)
    return solve(problem, K, tolerance, start=start)


@dataclass(frozen=True)
class SVMSolution:
    """A solved support vector machine: f(x) = sum_i coefficients_i K(x, x_i) + intercept."""

    coefficients: np.ndarray
    intercept: float
    squared_norm: float  # |w|^2
    objective: float  # |w|^2 / 2 plus the losses, the minimized function
    gap: float  # the duality gap: an upper bound on the distance of the objective from its minimum
    leave_one_out: np.ndarray  # approximate scores that each training object would have if it were left out
    rounds: int  # rounds of the solver


def solve_svc(K: Rows, sign: np.ndarray, C: np.ndarray, fit_intercept: bool, tolerance: float) -> SVMSolution:
    """Minimize |w|^2 / 2 plus the hinge losses of labels +1 and -1, loss i multiplied by C_i."""
    problem = BoxProblem(
        sign, np.minimum(sign * C, 0.0), np.maximum(sign * C, 0.0), np.arange(len(sign)), fit_intercept
    )
    solution = solve(problem, K, tolerance)
    _, residual, intercept, _ = solution
    scores = sign - residual
    losses = C * np.maximum(0, 1 - sign * (scores + intercept))
    return _summary(K, problem, solution, scores, losses)


def solve_svr(
    K: Rows, y: np.ndarray, C: np.ndarray, epsilon: float, fit_intercept: bool, tolerance: float
) -> SVMSolution:
    """Minimize |w|^2 / 2 plus the losses max(0, |y_i - f(x_i)| - epsilon), loss i multiplied by C_i."""
    n = len(y)
    zero = np.zeros(n)
    target = np.concatenate([y - epsilon, y + epsilon])
    low = np.concatenate([zero, -C])
    high = np.concatenate([C, zero])
    problem = BoxProblem(target, low, high, np.tile(np.arange(n), 2), fit_intercept)
    solution = solve(problem, K, tolerance)
    _, residual, intercept, _ = solution
    scores = target[:n] - residual[:n]
    losses = C * np.maximum(0, np.abs(y - (scores + intercept)) - epsilon)
    return _summary(K, problem, solution, scores, losses)


def _summary(K: Rows, problem: BoxProblem, solution: Solution, scores: np.ndarray, losses: np.ndarray) -> SVMSolution:
    """Return the solution with its objective, duality gap and leave-one-out scores."""
    beta, _, intercept, rounds = solution
    coefficients = np.bincount(problem.example, beta, minlength=K.n)
    squared = float(coefficients @ scores)
    objective = 0.5 * squared + float(losses.sum())
    dual = float(problem.target @ beta) - 0.5 * squared
    free = np.unique(problem.example[(beta > problem.low) & (beta < problem.high)])
    left_out = scores + intercept - coefficients * span_distances(K, free, coefficients, problem.keep_sum)
    return SVMSolution(coefficients, intercept, squared, objective, objective - dual, left_out, rounds)


def span_distances(K: Rows, free: np.ndarray, coefficients: np.ndarray, keep_sum: bool) -> np.ndarray:
    """Return the squared distance of each support object to the span of the free ones (Vapnik and Chapelle, 2000)."""
    squares = np.zeros(len(coefficients))
    free = free[:500]  # whose Gram matrix is inverted
    others = np.setdiff1d(np.flatnonzero(coefficients), free)
    if not len(free):
        return squares
    square = K.between(free, free).astype(np.float64)
    square[np.diag_indices(len(free))] *= 1 + 1e-8  # equal objects would make it singular
    H = np.pad(square, (0, int(keep_sum)), constant_values=1.0)
    H[len(free) :, len(free) :] = 0.0
    inverse = np.linalg.pinv(H, hermitian=True) if len(free) < 50 else np.linalg.inv(H)
    squares[free] = 1 / np.maximum(inverse.diagonal()[: len(free)], 1e-300)
    V = np.pad(K.between(free, others).astype(np.float64), ((0, int(keep_sum)), (0, 0)), constant_values=1.0)
    own = K.diagonal()[others]
    squares[others] = np.maximum(own - np.einsum("ij,ij->j", V, inverse @ V), 0.0)
    return squares
