"""Loops over time series: dynamic time warping, global alignment, convolutions and signatures.

Collections of series are given as ``A, a``: an array of shape (times of all series, channels), and the starts of the
series; series i has the rows ``a[i]`` to ``a[i + 1]``.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from similitude.compute.loops.arguments import Array

Cell = Callable[[Array, Array, Array, int, int], Any]


def dtw(out: Array, A: Array, a: Array, B: Array, b: Array, window: float | None = None, half: bool = False) -> None:
    """Write the dynamic time warping distances of the series of A to those of B, in their precision.

    The distance is the smallest sum of squared differences along a path through both series that starts and ends with
    both, and in each step advances one or both. In series of lengths n and m the path may pair entries i and j if
    min(0, n - m) - r <= i - j <= max(0, n - m) + r, where r is the window in steps, or as a float the fraction of the
    shorter length, rounded down; None is no limit. The distance is infinite if one of the two is empty. If A and B are
    the same, `half` of the pairs suffice.
    """

    def cell(x: Array, z: Array, D: Array, s: int, t: int) -> Any:
        return ((x[s - 1] - z[t - 1]) ** 2).sum() + min(D[s - 1, t - 1], D[s - 1, t], D[s, t - 1])

    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = filled(x, z, window, cell, dtype=out.dtype)


def dtw_pairs(
    out: Array, A: Array, a: Array, B: Array, b: Array, i: Array, j: Array, limits: Array, window: float | None = None
) -> None:
    """Write the `dtw` of series i[p] of A and j[p] of B; a distance above limits[p] may be infinite instead."""
    for p, (s, t) in enumerate(zip(i, j, strict=True)):
        x = A[a[s] : a[s + 1]]
        z = B[b[t] : b[t + 1]]
        one = np.empty((1, 1), out.dtype)
        dtw(one, x, np.array([0, len(x)]), z, np.array([0, len(z)]), window)
        out[p] = one[0, 0] if one[0, 0] <= limits[p] else np.inf


def outside_ranges(out: Array, A: Array, low: Array, high: Array) -> None:
    """Write the sum of squares by which each row of A leaves each row of ranges.

    If the ranges are the least and largest values of a series within the window around each time, this is at most its
    dynamic time warping distance to the row, if both have one length (Keogh and Ratanamahatana, 2005).
    """
    for row, x in zip(out, A, strict=True):
        row[...] = (np.maximum(np.maximum(low - x, x - high), 0) ** 2).sum(axis=1)


def band(n: int, m: int, window: float | None) -> tuple[int, int]:
    """Return the smallest and the largest i - j on a path of entries i of n and j of m."""
    if window is None:
        return -m, n
    radius = window if isinstance(window, (int, np.integer)) else int(window * min(n, m))
    return min(0, n - m) - int(radius), max(0, n - m) + int(radius)


def global_alignment(out: Array, A: Array, a: Array, B: Array, b: Array, scale: float, half: bool = False) -> None:
    """Write the logarithms of the global alignment kernel of the series of A with those of B, in float64.

    The kernel is the sum over all paths, as in `dtw`, of the product of k / (2 - k) of the paired entries, with k =
    exp(-scale * squared distance).
    """
    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = _log_sum_of_paths(x, z, scale)


def self_alignment(A: Array, a: Array, scale: float) -> Array:
    """Return the logarithms of the global alignment kernel of each series with itself."""
    return np.array([_log_sum_of_paths(A[s:t], A[s:t], scale) for s, t in itertools.pairwise(a)])


def _log_sum_of_paths(x: Array, z: Array, scale: float) -> float:
    M = np.full((len(x) + 1, len(z) + 1), -np.inf)
    M[0, 0] = 0.0
    for s in range(len(x)):
        for t in range(len(z)):
            exponent = -scale * float(((x[s].astype(float) - z[t]) ** 2).sum())
            ways = np.logaddexp(M[s, t], np.logaddexp(M[s, t + 1], M[s + 1, t]))
            M[s + 1, t + 1] = ways + exponent - math.log(2.0 - math.exp(exponent))
    return float(M[-1, -1])


def convolutions(out: Array, A: Array, a: Array, shapes: Array, mix: Array, biases: Array, starts: Array) -> None:
    """Write the shares of values above biases of dilated convolutions, as in MiniRocket.

    A row of `shapes` is the number of a kernel, its dilation, and whether the series is padded with zeros. The kernels
    have nine taps, three of weight 2, which `kernel_taps` gives, and six of weight -1. The channels are added up with
    the weights in a row of `mix`, and biases ``starts[g]`` to ``starts[g + 1]`` belong to row g. Without padding only
    times at which all taps lie in the series count; if there is none, the series is padded.
    """
    for i, (begin, end) in enumerate(itertools.pairwise(a)):
        for g, (kernel, dilation, padded) in enumerate(shapes.tolist()):
            of_group = slice(int(starts[g]), int(starts[g + 1]))
            values = convolved(A[begin:end], kernel, dilation, bool(padded), mix[g])
            out[i, of_group] = (values[:, None] > biases[of_group]).mean(0) if len(values) else 0


def kernel_taps() -> list[tuple[int, int, int]]:
    """Return the positions of weight 2 in each of the 84 kernels; the other six of nine have weight -1."""
    return list(itertools.combinations(range(9), 3))


def convolved(x: Array, kernel: int, dilation: int, padded: bool, mix: Array) -> Array:
    """Return a dilated convolution of one series, its channels added up with the weights `mix`."""
    n = len(x)
    step = min(dilation, len(x))
    padding = np.zeros(4 * step, x.dtype)
    mixed = np.zeros(n, x.dtype)
    for c in np.flatnonzero(mix):
        mixed += mix[c] * x[:, c]
    series = np.concatenate([padding, mixed, padding])
    shifted = [series[k * step : k * step + n] for k in range(9)]
    first, second, third = kernel_taps()[kernel]
    three = shifted[first] + shifted[second] + shifted[third]
    values: Array = ((three + three) + three) - sum(shifted[1:], start=shifted[0])
    edge = 4 * step
    return values if padded or 2 * edge >= n else values[edge : n - edge]


def signatures(out: Array, A: Array, a: Array, level: int) -> None:
    """Write the signatures of series, levels 1 to `level` one after the other, each in lexicographic order.

    Level m holds the iterated integrals along the lines between neighboring times, one for each m-tuple of channels. By
    Chen's identity a step x multiplies the signature by exp(x) = 1 + x + x ⊗ x / 2! + …; a series without a step has
    zeros.
    """
    d = A.shape[1]
    for i, (begin, end) in enumerate(itertools.pairwise(a)):
        levels = [np.ones(1, A.dtype), *(np.zeros(d**m, A.dtype) for m in range(1, level + 1))]
        for x in np.diff(A[begin:end], axis=0):
            powers = [np.ones(1, A.dtype)]
            for m in range(1, level + 1):
                powers.append(np.multiply.outer(powers[-1], x).ravel() / A.dtype.type(m))
            for m in range(level, 0, -1):
                levels[m] += sum(np.multiply.outer(levels[m - j], powers[j]).ravel() for j in range(1, m + 1))
        out[i] = np.concatenate(levels[1:])


def filled(
    x: Array,
    z: Array,
    window: float | None,
    cell: Cell,
    borders: tuple[Any, Any] = (np.inf, np.inf),
    dtype: Any = float,
) -> Any:
    """Return the last cell of a table of costs; ``cell(x, z, D, s, t)`` gives the cost of s entries of x and t of z."""
    D = np.zeros((len(x) + 1, len(z) + 1), dtype)
    D[1:, 1:] = np.inf
    D[1:, 0] = borders[0]
    D[0, 1:] = borders[1]
    low, high = band(len(x), len(z), window)
    for s in range(1, len(x) + 1):
        for t in range(max(1, s - high), min(len(z), s - low) + 1):
            D[s, t] = cell(x, z, D, s, t)
    return D[-1, -1]


def pairs_of_series(A: Array, a: Array, B: Array, b: Array) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield the positions and the series of every pair."""
    for i in range(len(a) - 1):
        for j in range(len(b) - 1):
            yield i, j, A[a[i] : a[i + 1]], B[b[j] : b[j + 1]]
