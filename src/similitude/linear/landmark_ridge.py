r"""Ridge regression on similarities to many landmarks, by products with a matrix of similarities that is never stored.

Minimizes :math:`\sum_i s_i |y_i - K(x_i, L) a - b|^2 + \lambda\, a^\top K(L, L) a` over a and a free b. The normal
equations of a few rows per landmark, in float64, are solved directly for any penalty; their Cholesky factor is the
preconditioner of conjugate gradients on all rows, of which only fused products are computed. With c rows per landmark
the condition number is at most about :math:`((1 + c^{-1/2}) / (1 - c^{-1/2}))^2`, 9 for c = 4, so that a few steps
suffice. (Rudi, Carratino and Rosasco, "FALKON: an optimal large scale kernel method", 2017, where the rows are the
landmarks themselves, c = 1, which mostly takes two to five times as many steps.)

What groups of rows add to the model are the minimizers for targets that are zero outside of one group: steps for a
block of columns, one for each group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, as_numpy, count, in_precision, moved, namespace, rows
from similitude.compute.engines import format_bytes
from similitude.evaluation import DECADE, PENALTIES, Search, Trial, downhill, nearest_place
from similitude.linear.lapack import conjugate_steps, solve
from similitude.linear.moments import LinearModel, Members, Moments

DIRECTLY = 8
"""Rows per landmark up to which the normal equations of all rows are solved directly."""

DIRECT_WORK = {"cuda": 3e11, "cpu": 0.0}
"""Rows times squared landmarks up to which they are solved directly in any case, by the type of the device."""

CHOSEN_ON = 20
"""Rows per landmark on which the penalty is chosen."""

GROUP_JITTER = {4: 1e-9, 8: 0.0}
"""Added to the preconditioner for sums over groups, relative to its diagonal: it must not enlarge their rounding."""

CELLS = {"cuda": 2**26, "cpu": 2**20}
"""Values of a block of similarities in float64, by the type of the device."""


def fit_by_products(
    operator: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
    start: float | None = None,
) -> tuple[LinearModel, Trial, Equations]:
    """Return the model of all rows, the trial of rows held out from it and from choices, and the equations.

    The operator is K(rows, landmarks). `order` holds the rows with a weight in random order; the last ones are held
    out: those on which the penalty is chosen, then those of the trial. As a noise level of the targets the penalty does
    not depend on the number of rows; those near `start`, if given, are tried first.
    """
    ridge = LandmarkRidge(operator, Y, weights)
    m = operator.shape[1]
    last = np.concatenate(held)
    learned = order[: len(order) - len(last)]
    compared = ridge.only(held[0])

    def loss(model: LinearModel) -> float:
        return compared.trial(0.0, model).loss

    work = len(learned) * m**2
    if len(learned) <= DIRECTLY * m or work <= DIRECT_WORK[operator.engine.torch_device.type]:
        moments = ridge.only(np.sort(learned)).moments
        unit = ridge.spread * moments.weight
        lam, without = _best_penalty(lambda lam, _: ridge.solve(moments, ridge.factor(moments, lam)), loss, unit, start)
        moments += ridge.only(np.sort(last)).moments
        equations = Equations(ridge, lam, None, ridge.factor(moments, lam))
        return ridge.solve(moments, equations.factor), ridge.only(held[1]).trial(lam, without), equations
    some = np.sort(learned[: 4 * m])
    moments = ridge.only(some).moments
    part = ridge.only(np.sort(learned[: CHOSEN_ON * m]))

    def approximate(lam: float, nearest: LinearModel | None) -> LinearModel:
        factor = ridge.factor(moments, lam * moments.weight / part.total)
        return part.iterate(lam, factor, nearest or ridge.solve(moments, factor), steps=10, tolerance=1e-2)

    lam, without = _best_penalty(approximate, loss, ridge.spread * part.total, start)
    fitted = weights.copy()
    fitted[last] = 0.0
    times = float(fitted.sum()) / moments.weight
    factor = ridge.factor(moments, lam / times, GROUP_JITTER[operator.dtype.itemsize])
    without = LandmarkRidge(operator, Y, fitted, ridge.gram).iterate(lam, factor, without, steps=10, tolerance=1e-2)
    model = ridge.iterate(lam, factor, without)
    return model, ridge.only(held[1]).trial(lam, without), Equations(ridge, lam, some, factor)


def _best_penalty(
    fit: Callable[[float, LinearModel | None], LinearModel],
    loss: Callable[[LinearModel], float],
    unit: float,
    start: float | None,
) -> tuple[float, LinearModel]:
    """Return a penalty better than its neighbors, and its model; each fit starts from that of the nearest penalty."""
    search = Search(lambda place: fit(unit * float(PENALTIES[place]), search.nearest(place)), loss=loss)
    # the penalty that is tried first, relative to the trace
    place = downhill(search.loss, nearest_place((start or 1e-6 * unit) / unit), DECADE)
    return unit * float(PENALTIES[place]), search[place]


class Equations(NamedTuple):
    """The normal equations of all rows for a penalty, with their factor; that of some rows is a preconditioner."""

    ridge: LandmarkRidge
    lam: float
    some: np.ndarray | None
    factor: Any

    @classmethod
    def of(cls, operator: Any, Y: np.ndarray, weights: np.ndarray, lam: float, some: np.ndarray | None) -> Equations:
        """Compute them again."""
        ridge = LandmarkRidge(operator, Y, weights)
        if some is None:
            return cls(ridge, lam, None, ridge.factor(ridge.moments, lam))
        moments = ridge.only(some).moments
        part = moments.weight / float(weights.sum())
        return cls(ridge, lam, some, ridge.factor(moments, lam * part, GROUP_JITTER[operator.dtype.itemsize]))

    def of_groups(self, model: LinearModel, members: Members) -> LinearModel:
        """Return what groups of rows add to the model: a column for each group, and in it for each output."""
        return self.ridge.of_groups(model, self.factor, members, None if self.some is None else self.lam)


class LandmarkRidge:
    """Ridge regression on K(rows, landmarks) on a device; `gram` is K(L, L) in float64, if known."""

    def __init__(self, operator: Any, Y: Any, weights: Any, gram: Any = None) -> None:
        self.operator = operator
        self.Y = Y
        self.weights = weights
        self.m = operator.shape[1]
        # matrices of m x m values in float64 that are on the device at once
        needed = 5 * 8 * self.m**2
        budget = operator.engine.budget
        if needed > budget:
            raise MemoryError(
                f"{self.m:,} landmarks need {format_bytes(needed)} for their factors, the budget of "
                f"{operator.engine.device} is {format_bytes(budget)}: use fewer landmarks"
            )
        self._landmarks = _in_double(operator.b)
        self.gram = gram
        if gram is None:
            blocks = [block for _, block in self._blocks(operator.b)]
            self.gram = namespace(blocks[0]).concat(blocks)

    def only(self, which: Any) -> LandmarkRidge:
        """Return the same for some of the rows."""
        return LandmarkRidge(self.operator.subset(which), self.Y[which], self.weights[which], self.gram)

    @cached_property
    def spread(self) -> float:
        """The mean squared distance of the features of a row from their mean, estimated from the landmarks."""
        return float(self.gram.diagonal().mean() - self.gram.mean()) or float(self.gram.diagonal().mean()) or 1.0

    @cached_property
    def jitter(self) -> float:
        """What is added to the diagonal of K(L, L), by the bytes of a value: anything smaller is rounding."""
        return {4: 1e-8, 8: 1e-15}[self.operator.dtype.itemsize] * float(self.gram.diagonal().sum())

    def scores(self, model: LinearModel) -> np.ndarray:
        """Return the scores of all rows, in float64."""
        V = in_precision(self.operator.move(model.weights), self.operator.dtype)
        return as_numpy(_double(self.operator.times(V))) + model.intercept

    def trial(self, lam: float, model: LinearModel) -> Trial:
        """Evaluate a model on the rows."""
        return Trial.of(lam, self.scores(model), self.Y, self.weights)

    def _blocks(self, A: Encoding) -> Iterator[tuple[slice, Any]]:
        """Yield the similarities of some rows to all landmarks in float64, block by block."""
        step = max(1, CELLS[self.operator.engine.torch_device.type] // self.m)
        for start in range(0, count(A), step):
            cut = slice(start, min(start + step, count(A)))
            part = _in_double(moved(rows(A, cut), self.operator.move))
            yield cut, self.operator.similarity.block(part, self._landmarks)

    @cached_property
    def moments(self) -> Moments:
        """The normal equations: weighted sums over all rows; of the Gram matrix, the upper triangle."""
        Y, weights = (_double(self.operator.move(array)) for array in (self.Y, self.weights))
        xp = namespace(Y)
        roots = weights.sqrt()
        with_one = xp.concat([Y, xp.ones_like(Y[:, :1])], axis=1) * roots[:, None]
        G = xp.zeros((self.m, self.m), dtype=Y.dtype, device=Y.device)
        right = xp.zeros((self.m, with_one.shape[1]), dtype=Y.dtype, device=Y.device)
        for cut, K in self._blocks(self.operator.A):
            K = K * roots[cut, None]
            _add_gram(G, K)
            right += K.T @ with_one[cut]
        sums = roots @ with_one
        return Moments(float(sums[-1]), right[:, -1], sums[:-1], G, right[:, :-1])

    def factor(self, moments: Moments, lam: float, more: float = 0.0) -> Any:
        """Return the upper Cholesky factor for a penalty, without the intercept; the diagonal grows by a share."""
        M = moments.gram.add(self.gram, alpha=lam)  # type: ignore[attr-defined]
        M.addr_(moments.features, moments.features, alpha=-1.0 / moments.weight)
        M.diagonal().add_(lam * self.jitter + more * float(M.diagonal().mean()))
        cholesky = namespace(M).linalg.cholesky_ex
        T, failed = cholesky(M.T)  # the lower triangle of M' is the upper triangle of M, where the values are
        jitter = 1e-15 * float(M.diagonal().sum())
        if not math.isfinite(jitter):
            raise ValueError(f"squares of {self.operator.similarity!r} overflow when they are added: scale it down")
        while bool(failed):
            M.diagonal().add_(jitter)
            jitter *= 10
            T, failed = cholesky(M.T)
        return T.T

    def solve(self, moments: Moments, factor: Any) -> LinearModel:
        """Return the minimizer for the rows of the moments, by the factor for a penalty."""
        means = moments.targets / moments.weight
        a = solve(factor, moments.cross - moments.features[:, None] * means)
        return LinearModel(as_numpy(a), as_numpy(means - moments.features @ a / moments.weight))

    def of_groups(self, model: LinearModel, factor: Any, members: Members, lam: float | None = None) -> LinearModel:
        """Return what groups of rows add to the model, by the factor of all rows or, with a penalty, by steps.

        What steps or rounding leave of the model is added in proportion to the weights of the groups.
        """
        s = self.weights
        n = members.n_groups
        targets = s[:, None] * (self.Y - s @ self.Y / s.sum())
        R = self._sums_of_groups(targets, members.group, n, precisely=lam is None)
        if lam is None:
            found = solve(factor, R)
        else:
            R = R / self.total
            curvature = partial(self._curvature, lam)
            found, _ = conjugate_gradients(curvature, partial(solve, factor), R, R, steps=15, tolerance=1e-2)
        W = as_numpy(found).reshape(self.m, n, -1)
        left = model.weights - W.sum(axis=1)
        share = np.bincount(members.group, s, n) / s.sum()
        W = (W + left[:, None] * share[:, None]).reshape(self.m, -1)
        return LinearModel(W, -(as_numpy(self._mean) @ W))

    def _sums_of_groups(self, targets: np.ndarray, group: np.ndarray, n_groups: int, precisely: bool = False) -> Any:
        """Return the sums of centered similarities, in float64 if `precisely`, times targets over each group."""
        values = _double(self.operator.move(targets))
        xp, (n, outputs), device = namespace(values), values.shape, values.device
        columns = self.operator.move(group)[:, None] * outputs + xp.arange(outputs, device=device)
        apart = xp.zeros((n, n_groups * outputs), dtype=values.dtype, device=device).scatter_(1, columns, values)
        if not precisely:
            sums = self.operator.transposed_times(in_precision(apart, self.operator.dtype))
            return sums - self._mean[:, None] * apart.sum(0)
        sums = xp.zeros((self.m, apart.shape[1]), dtype=apart.dtype, device=device)
        mean = xp.zeros_like(sums[:, 0])
        weights = _double(self._weights)
        for cut, K in self._blocks(self.operator.A):
            sums += K.T @ apart[cut]
            mean = mean + weights[cut] @ K
        return sums - (mean / self.total)[:, None] * apart.sum(0)

    @cached_property
    def _mean(self) -> Any:
        """The weighted means of the similarities."""
        return self.operator.transposed_times(self._weights[:, None])[:, 0] / self.total

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(_double(self._weights).sum())

    @cached_property
    def _weights(self) -> Any:
        return in_precision(self.operator.move(self.weights), self.operator.dtype)

    @cached_property
    def _sides(self) -> tuple[Any, Any]:
        """The right-hand side of the centered normal equations, and the means of the targets."""
        self.operator.store_if_faster()
        Y = _double(self.operator.move(self.Y))
        s = self._weights
        middle = (_double(s) @ Y) / self.total
        wanted = in_precision((Y - middle) * s[:, None], self.operator.dtype)
        right = self.operator.transposed_times(wanted) / self.total
        return right, middle

    def _curvature(self, lam: float, p: Any) -> Any:
        """Return the covariance of the similarities, plus the penalty, times p."""
        means = self._mean
        dtype = self.operator.dtype
        G, rest = self.operator.normal(in_precision(p, dtype), self._weights, in_precision(means @ p, dtype))
        covariance = (G - means[:, None] * rest) / self.total
        return covariance + lam / self.total * (self.gram @ p + self.jitter * p)

    def iterate(
        self, lam: float, factor: Any, start: LinearModel, steps: int = 50, tolerance: float = 1e-3
    ) -> LinearModel:
        """Return the minimizer by conjugate gradients from another model; `gap` is the relative gradient.

        The factor is that of some of the rows, for the penalty times their part of all weights. Losses are off by about
        the square of the gap.
        """
        right, middle = self._sides
        curvature = partial(self._curvature, lam)
        a = self.operator.move(start.weights)
        left = right - curvature(a)
        z, residual = conjugate_gradients(curvature, partial(solve, factor), right, left, steps, tolerance)
        a = a + z
        return LinearModel(as_numpy(a), as_numpy(middle - self._mean @ a), residual)


def conjugate_gradients(
    matrix: Callable[[Any], Any],
    preconditioner: Callable[[Any], Any],
    goal: Any,
    residual: Any,
    steps: int,
    tolerance: float,
) -> tuple[Any, float]:
    """Return z with matrix(z) = residual, what a guess leaves of the goal, and the largest relative residual left."""
    reference = (goal * preconditioner(goal)).sum(0).clamp(min=1e-300)
    best = math.inf
    for taken, (z, _, squares) in enumerate(conjugate_steps(matrix, preconditioner, residual)):
        worst = float((squares / reference).max())
        if taken == 0 or worst < best:
            best = worst
            found = taken, z
        # 8 steps without a smaller gradient: only rounding is left
        if taken == steps or not best > tolerance**2 or taken - found[0] == 8:
            break
    return found[1], max(best, 0.0) ** 0.5


def _double(tensor: Any) -> Any:
    return in_precision(tensor, namespace(tensor).float64)


def _in_double(encoding: Encoding) -> Encoding:
    """Return an encoding with its floats in float64."""
    return moved(encoding, lambda tensor: _double(tensor) if tensor.is_floating_point() else tensor)


def _add_gram(G: Any, K: Any) -> None:
    """Add K'K to G, on and above the diagonal: of four blocks of columns, only the products above it are computed."""
    step = max(1, -(-K.shape[1] // 4))
    for start in range(0, K.shape[1], step):
        G[start : start + step, start:].addmm_(K[:, start : start + step].T, K[:, start:])
