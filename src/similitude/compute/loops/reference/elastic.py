"""Loops over time series: elastic distances other than dynamic time warping. Series are given as in `series`."""

from collections.abc import Callable

import numpy as np

from similitude.compute.loops.arguments import Array
from similitude.compute.loops.reference.series import band, pairs_of_series

Cell = Callable[[Array, int, int], float]


def soft_dtw(
    out: Array, A: Array, a: Array, B: Array, b: Array, gamma: float, window: float | None = None, half: bool = False
) -> None:
    """Write `dtw` with the soft minimum -gamma log(sum of exp(-cost / gamma)) in place of the minimum."""
    for i, j, x, z in pairs_of_series(A, a, B, b):

        def cell(D: Array, s: int, t: int, x: Array = x, z: Array = z) -> float:
            costs = np.array([D[s - 1, t - 1], D[s - 1, t], D[s, t - 1]], float)
            soft = -gamma * np.logaddexp.reduce(-costs / gamma) if np.isfinite(costs).any() else np.inf
            return float(((x[s - 1] - z[t - 1]) ** 2).sum() + soft)

        out[i, j] = _filled(len(x), len(z), window, cell)


def msm(
    out: Array, A: Array, a: Array, B: Array, b: Array, cost: float, window: float | None = None, half: bool = False
) -> None:
    """Write the move-split-merge distances of the series of A to those of B; channels are compared one by one.

    A pair of values costs their difference. To go on in one series only costs `cost`, and how far the new value lies
    outside of the interval between the value before and the value of the other series. The window is that of `dtw`.
    """
    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = sum(_msm_of_channel(x[:, c], z[:, c], cost, window) for c in range(A.shape[1]))


def _msm_of_channel(x: Array, z: Array, cost: float, window: float | None) -> float:
    def split(value: float, before: float, other: float) -> float:
        low = min(before, other)
        high = max(before, other)
        return cost + max(low - value, value - high, 0.0)

    def cell(D: Array, s: int, t: int) -> float:
        u = float(x[s - 1])
        v = float(z[t - 1])
        by_x = D[s - 1, t] + split(u, float(x[s - 2]), v) if s > 1 else np.inf
        by_z = D[s, t - 1] + split(v, float(z[t - 2]), u) if t > 1 else np.inf
        return float(min(D[s - 1, t - 1] + abs(u - v), by_x, by_z))

    return _filled(len(x), len(z), window, cell)


def erp(
    out: Array, A: Array, a: Array, B: Array, b: Array, gap: float, window: float | None = None, half: bool = False
) -> None:
    """Write the edit distances with real penalty: an entry that is left out costs its distance to the value `gap`."""
    for i, j, x, z in pairs_of_series(A, a, B, b):
        x = x.astype(float)
        z = z.astype(float)
        left_out = [np.sqrt(((one - gap) ** 2).sum(1)) for one in (x, z)]

        def cell(D: Array, s: int, t: int, x: Array = x, z: Array = z, left_out: list[Array] = left_out) -> float:
            both = np.sqrt(((x[s - 1] - z[t - 1]) ** 2).sum())
            by_x, by_z = (costs[at - 1] for costs, at in zip(left_out, (s, t), strict=True))
            return float(min(D[s - 1, t - 1] + both, D[s - 1, t] + by_x, D[s, t - 1] + by_z))

        out[i, j] = _filled(len(x), len(z), window, cell, *map(np.cumsum, left_out))


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
    for i, j, x, z in pairs_of_series(A, a, B, b):
        x, z = (np.concatenate([np.zeros((1, A.shape[1])), one]) for one in (x, z))

        def distance(u: Array, v: Array) -> float:
            return float(np.sqrt(((u - v) ** 2).sum()))

        def cell(D: Array, s: int, t: int, x: Array = x, z: Array = z) -> float:
            both = distance(x[s], z[t]) + distance(x[s - 1], z[t - 1]) + 2 * stiffness * abs(s - t)
            by_x = D[s - 1, t] + distance(x[s], x[s - 1]) + stiffness + penalty
            by_z = D[s, t - 1] + distance(z[t], z[t - 1]) + stiffness + penalty
            return float(min(D[s - 1, t - 1] + both, by_x, by_z))

        out[i, j] = _filled(len(x) - 1, len(z) - 1, window, cell)


def _filled(
    n: int, m: int, window: float | None, cell: Cell, x_border: Array | None = None, z_border: Array | None = None
) -> float:
    """Return the last cell of a table of costs; ``cell(D, s, t)`` gives the cost of s entries of x and t of z."""
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    if x_border is not None and z_border is not None:
        D[1:, 0] = x_border
        D[0, 1:] = z_border
    low, high = band(n, m, window)
    for s in range(1, n + 1):
        for t in range(max(1, s - high), min(m, s - low) + 1):
            D[s, t] = cell(D, s, t)
    return float(D[-1, -1])
