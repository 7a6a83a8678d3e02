"""The dual of support vector machines: a quadratic program over a box, solved by working sets of kernel rows."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from similitude.compute import Blocks, Encoding, check_fits, rows
from similitude.compute.engines import Engine, format_bytes
from similitude.compute.loops import add_rows, mirror, pick, smo
from similitude.learners.limits import CACHE_BYTES, CACHED_ROWS, DOUBLE_EPS, MAX_STEPS, SAMPLED_FROM, WORKING_SET
from similitude.similarity import Similarity
from similitude.support import pairs_at


class KernelRows:
    """Rows of K(x_i, x_j) for a symmetric kernel, cached in half of the engine's memory; errors name `positions`."""

    def __init__(
        self, kernel: Similarity, encoding: Encoding, engine: Engine, dtype: np.dtype, positions: np.ndarray
    ) -> None:
        self.kernel = kernel
        self.encoding = encoding
        self.engine = engine
        self.positions = positions
        self.n = n = len(positions)
        row = n * dtype.itemsize
        budget = engine.budget
        self.room = min(n, budget // (2 * row), max(CACHED_ROWS, CACHE_BYTES // row))
        if self.room < min(n, 2):
            raise MemoryError(
                f"two rows of {n:,} values do not fit into half of the memory budget of {format_bytes(budget)}: "
                f"give the engine more memory"
            )
        self.most_free = max(2, math.isqrt(budget // (9 * dtype.itemsize)))
        self.store = np.empty((self.room, n), dtype)
        self.slot = np.full(n, -1, np.int64)  # where the row of each object is cached, -1 if it is not
        self.owner = np.full(self.room, -1, np.int64)
        self.used = np.full(self.room, -1, np.int64)
        self.clock = 0

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        if not (len(which) and len(columns)):
            return np.empty((len(which), len(columns)), self.store.dtype)
        some = rows(self.encoding, which)
        return np.asarray(self.kernel.blocks(some, rows(self.encoding, columns), self.engine).whole())

    def square(self, which: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i and j in `which`, in which rows that are cached come first."""
        values = np.empty((len(which), len(which)), self.store.dtype)
        n = int(np.count_nonzero(self.slot[which] >= 0))
        pick(self.store, self.slot[which[:n]], which, values[:n])
        if n < len(which):
            mirror(values[n:, :n], values[:n, n:])
            self.kernel.blocks(rows(self.encoding, which[n:]), engine=self.engine).whole(out=values[n:, n:])
        return values

    def of(self, which: np.ndarray) -> KernelRows:
        """Return the rows of the Gram matrix of some of the objects."""
        if len(which) == self.n:
            return self
        some = rows(self.encoding, which)
        return KernelRows(self.kernel, some, self.engine, self.store.dtype, self.positions[which])

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64; its size is checked first."""
        check_fits(self.n, self.n, 8, self.engine)
        return np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole(), dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        return np.asarray(self.kernel.diagonal(self.encoding), dtype=np.float64)

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j]; rows that do not fit into the cache are not kept."""
        missing = np.flatnonzero(self.slot[which] < 0)
        rest = missing[self.room - len(which) + len(missing) :]
        stored = np.setdiff1d(np.arange(len(which)), rest)
        add_rows(self.store, self.load(which[stored]), weights[stored], out)
        if len(rest):
            with pairs_at(self.positions[which[rest]], self.positions):
                out += self._rows(which[rest]).transposed_times(weights[rest])

    def prefetch(self, which: np.ndarray) -> None:
        """Compute those of these rows that are not cached as one block, at most half of the cache."""
        missing = which[self.slot[which] < 0]
        if len(missing):
            self.load(missing[: max(1, self.room // 2)])

    def part(self, i: int, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for j in `columns`."""
        if self.slot[i] < 0:
            self.load(np.array([i]))
        self.used[self.slot[i]] = self.clock
        return self.store[self.slot[i]][columns]

    def load(self, which: np.ndarray) -> np.ndarray:
        """Return the slots of these rows in the cache, after computing those that are missing."""
        self.clock += 1
        held = self.slot[which]
        self.used[held[held >= 0]] = self.clock
        missing = which[held < 0]
        if not len(missing):
            return held
        free = np.sort(np.argsort(self.used, kind="stable")[: len(missing)])  # never used, or least recently used
        self.slot[self.owner[free][self.owner[free] >= 0]] = -1
        self.slot[missing] = free
        self.owner[free] = missing
        self.used[free] = self.clock
        with pairs_at(self.positions[missing], self.positions):
            if free[-1] - free[0] + 1 == len(free):
                self._rows(missing).whole(out=self.store[free[0] : free[-1] + 1])
            else:
                self.store[free] = np.asarray(self._rows(missing).whole())
        return self.slot[which]

    def _rows(self, which: np.ndarray) -> Blocks:
        return self.kernel.blocks(rows(self.encoding, which), self.encoding, self.engine)


class GramRows(KernelRows):
    """The rows of a Gram matrix that has been computed already."""

    def __init__(self, K: np.ndarray) -> None:
        self.n = self.room = len(K)
        self.most_free = sys.maxsize
        self.store = K
        self.slot = np.arange(self.n)

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        return self.store[np.ix_(which, columns)]

    def of(self, which: np.ndarray) -> GramRows:
        """Return the rows of the Gram matrix of some of the objects."""
        if len(which) == self.n:
            return self
        return GramRows(self.square(which))

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j]."""
        add_rows(self.store, which, weights, out)

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64."""
        return self.store.astype(np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        return self.store.diagonal().astype(np.float64)


# The solver.


@dataclass(frozen=True)
class BoxProblem:
    """Minimize b' K b / 2 - t' b subject to l <= b <= h, with `keep_sum` sum(b) = 0: an unpenalized intercept."""

    target: np.ndarray  # t, one entry per variable
    low: np.ndarray  # l
    high: np.ndarray  # h
    example: np.ndarray  # the row of K that each variable belongs to; several variables may share one
    keep_sum: bool


Look = Callable[[np.ndarray, np.ndarray], bool]

Solution = tuple[np.ndarray, np.ndarray, float, int]
"""beta, the residual t - K beta, the intercept (0 without the constraint on the sum), and the number of rounds."""


def solve(
    problem: BoxProblem, K: KernelRows, tolerance: float, look: Look | None = None, start: np.ndarray | None = None
) -> Solution:
    """Return the minimizer, to a violation of the optimality conditions of at most `tolerance`.

    Each round minimizes over the free variables and those that violate optimality most, and updates every residual
    with the rows of the variables that moved, until only rounding is left to gain or `look` is true after a round.
    The default start is 0, or, where rows of K must be computed, the minimizer for every fourth example.
    """
    beta = np.zeros(len(problem.target))
    if start is not None:
        beta = start
    elif K.n >= SAMPLED_FROM and (K.slot < 0).any():
        chosen = np.arange(0, K.n, 4)  # a sample shows which rows of the kernel are needed at all
        place = np.full(K.n, -1)
        place[chosen] = np.arange(len(chosen))
        inside = place[problem.example] >= 0
        target, low, high = (part[inside] for part in (problem.target, problem.low, problem.high))
        fewer = BoxProblem(target, low, high, place[problem.example[inside]], problem.keep_sum)
        beta[inside] = solve(fewer, K.of(chosen), tolerance)[0]
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
        working = working[np.argsort(K.slot[problem.example[working]] < 0, kind="stable")]  # cached rows first
        moving = beta[working]
        low = problem.low[working]
        high = problem.high[working]
        block = K.square(problem.example[working])
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


def _update(residual: np.ndarray, problem: BoxProblem, K: KernelRows, moved: np.ndarray, variables: np.ndarray) -> None:
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


def solve_one_class(K: KernelRows, most: np.ndarray, nu: float, tolerance: float) -> Solution:
    """Minimize a' K a / 2 over 0 <= a <= `most` with the sum of a equal to `nu` times that of `most`."""
    n = len(most)
    order = np.arange(n)
    if n >= SAMPLED_FROM and (K.slot < 0).any():
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


def solve_svc(K: KernelRows, sign: np.ndarray, C: np.ndarray, fit_intercept: bool, tolerance: float) -> SVMSolution:
    """Minimize |w|^2 / 2 plus the hinge losses of labels +1 and -1, loss i multiplied by C_i."""
    low = np.minimum(sign * C, 0.0)
    high = np.maximum(sign * C, 0.0)
    problem = BoxProblem(sign, low, high, np.arange(len(sign)), fit_intercept)
    return _solved(K, problem, tolerance)


def solve_svr(
    K: KernelRows, y: np.ndarray, C: np.ndarray, epsilon: float, fit_intercept: bool, tolerance: float
) -> SVMSolution:
    """Minimize |w|^2 / 2 plus the losses max(0, |y_i - f(x_i)| - epsilon), loss i multiplied by C_i."""
    zero = np.zeros(len(y))
    target = np.concatenate([y - epsilon, y + epsilon])
    low = np.concatenate([zero, -C])
    high = np.concatenate([C, zero])
    problem = BoxProblem(target, low, high, np.tile(np.arange(len(y)), 2), fit_intercept)
    return _solved(K, problem, tolerance)


def _solved(K: KernelRows, problem: BoxProblem, tolerance: float) -> SVMSolution:
    """Return the solution with its duality gap and leave-one-out scores."""
    beta, residual, intercept, rounds = solve(problem, K, tolerance)
    scores = (problem.target - residual)[: K.n]
    coefficients = np.bincount(problem.example, beta, minlength=K.n)
    squared = float(coefficients @ scores)
    losses = np.maximum(problem.low * (residual - intercept), problem.high * (residual - intercept))
    objective = 0.5 * squared + float(losses.sum())
    dual = float(problem.target @ beta) - 0.5 * squared
    free = np.unique(problem.example[(beta > problem.low) & (beta < problem.high)])
    left_out = scores + intercept - coefficients * span_distances(K, free, coefficients, problem.keep_sum)
    return SVMSolution(coefficients, intercept, squared, objective, objective - dual, left_out, rounds)


def span_distances(K: KernelRows, free: np.ndarray, coefficients: np.ndarray, keep_sum: bool) -> np.ndarray:
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
