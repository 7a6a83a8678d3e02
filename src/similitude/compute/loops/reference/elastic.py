"""Loops over time series: elastic distances other than dynamic time warping. Series are given as in `series`."""

import numpy as np

from similitude.compute.loops.arguments import Array
from similitude.compute.loops.reference.series import filled, pairs_of_series


def soft_dtw(
    out: Array, A: Array, a: Array, B: Array, b: Array, gamma: float, window: float | None = None, half: bool = False
) -> None:
    """Write `dtw` with the soft minimum -gamma log(sum of exp(-cost / gamma)) in place of the minimum."""

    def cell(x: Array, z: Array, D: Array, s: int, t: int) -> float:
        costs = np.array([D[s - 1, t - 1], D[s - 1, t], D[s, t - 1]], float)
        soft = -gamma * np.logaddexp.reduce(-costs / gamma) if np.isfinite(costs).any() else np.inf
        return float(((x[s - 1] - z[t - 1]) ** 2).sum() + soft)

    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = filled(x, z, window, cell)


def msm(
    out: Array, A: Array, a: Array, B: Array, b: Array, cost: float, window: float | None = None, half: bool = False
) -> None:
    """Write the move-split-merge distances of the series of A to those of B; channels are compared one by one.

    A pair of values costs their difference. To go on in one series only costs `cost`, and how far the new value lies
    outside of the interval between the value before and the value of the other series. The window is that of `dtw`.
    """

    def split(value: float, before: float, other: float) -> float:
        low = min(before, other)
        high = max(before, other)
        return cost + max(low - value, value - high, 0.0)

    def cell(x: Array, z: Array, D: Array, s: int, t: int) -> float:
        by_x = by_z = np.inf
        if s > 1:
            by_x = D[s - 1, t] + split(x[s - 1], x[s - 2], z[t - 1])
        if t > 1:
            by_z = D[s, t - 1] + split(z[t - 1], z[t - 2], x[s - 1])
        return min(D[s - 1, t - 1] + abs(x[s - 1] - z[t - 1]), by_x, by_z)

    for i, j, x, z in pairs_of_series(A.astype(float), a, B.astype(float), b):
        out[i, j] = sum(filled(x[:, c], z[:, c], window, cell) for c in range(A.shape[1]))


def erp(
    out: Array, A: Array, a: Array, B: Array, b: Array, gap: float, window: float | None = None, half: bool = False
) -> None:
    """Write the edit distances with real penalty: an entry that is left out costs its distance to the value `gap`."""

    def left_out(x: Array) -> Array:
        costs: Array = np.sqrt(((x - gap) ** 2).sum(-1))
        return costs

    def cell(x: Array, z: Array, D: Array, s: int, t: int) -> float:
        both = np.sqrt(((x[s - 1] - z[t - 1]) ** 2).sum())
        by_x = D[s - 1, t] + left_out(x[s - 1])
        by_z = D[s, t - 1] + left_out(z[t - 1])
        return float(min(D[s - 1, t - 1] + both, by_x, by_z))

    for i, j, x, z in pairs_of_series(A.astype(float), a, B.astype(float), b):
        out[i, j] = filled(x, z, window, cell, (np.cumsum(left_out(x)), np.cumsum(left_out(z))))


def twe(
    out: Array,
    A: Array,
    a: Array,
    B: Array,
    b: Array,
    stiffness: float,
    penalty: float,
    window: float | None = None,
    half: bool = False,
) -> None:
    """Write the time warp edit distances.

    A pair of entries costs their distance, that of the two entries before, and 2 `stiffness` times the difference of
    their times; an entry that is left out costs its distance to the one before, `stiffness` and `penalty`. Before the
    first entry there is a zero.
    """

    def entry(x: Array, s: int) -> Array:
        return x[s - 1] if s else np.zeros(A.shape[1])

    def distance(u: Array, v: Array) -> float:
        return float(np.sqrt(((u - v) ** 2).sum()))

    def cell(x: Array, z: Array, D: Array, s: int, t: int) -> float:
        both = distance(entry(x, s), entry(z, t)) + distance(entry(x, s - 1), entry(z, t - 1))
        by_x = D[s - 1, t] + distance(entry(x, s), entry(x, s - 1)) + stiffness + penalty
        by_z = D[s, t - 1] + distance(entry(z, t), entry(z, t - 1)) + stiffness + penalty
        return float(min(D[s - 1, t - 1] + both + 2 * stiffness * abs(s - t), by_x, by_z))

    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = filled(x, z, window, cell)
