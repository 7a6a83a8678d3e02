"""Loops over time series: dynamic time warping, global alignment, convolutions and signatures.

Collections of series are given as ``A, a``: an array of shape (times of all series, channels), and the starts of the
series; series i has the rows ``a[i]`` to ``a[i + 1]``.
"""

import itertools
import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from similitude.compute.loops.arguments import (
    FLOAT32_OR_64,
    FLOAT64,
    INT64,
    Array,
    array,
    checked,
    inside,
    number,
    out_matrix,
    out_row,
    require,
    same_values,
    starts_to,
    whole,
)


def _require_series(values: Any, starts: Any, *types: Any) -> None:
    array("values", values, 2, *types)
    require(values.shape[1] >= 1, "series need at least one channel")
    starts_to(starts, len(values))


def _require_pairs(out: Array, A: Any, a: Any, B: Any, b: Any, half: bool) -> None:
    _require_series(A, a, *FLOAT32_OR_64)
    _require_series(B, b, A.dtype)
    require(A.shape[1] == B.shape[1], "A and B need the same number of channels")
    require(out.shape == (len(a) - 1, len(b) - 1), "one row of out for each series of A, one column for B")
    require(not half or (same_values(a, b) and same_values(A, B)), "half needs A and B to be the same")


def _require_window(window: Any) -> None:
    if isinstance(window, Real) and not isinstance(window, Integral):
        require(0 <= float(window) <= 1, f"a window that is a fraction must be from 0.0 to 1.0, got {window}")
    elif window is not None:
        whole("window", window, 0)


def dtw_domain(out: Any, A: Any, a: Any, B: Any, b: Any, window: Any = None, half: bool = False) -> None:
    """Require two collections of series with the same channels, and a place for a distance of each pair."""
    out_matrix("out", out, *FLOAT32_OR_64)
    _require_pairs(out, A, a, B, b, half)
    require(out.dtype == A.dtype, "out must have the precision of the series")
    _require_window(window)


@checked(dtw_domain)
def dtw(out: Array, A: Array, a: Array, B: Array, b: Array, window: float | None = None, half: bool = False) -> None:
    """Write the dynamic time warping distances of the series of A to those of B, in their precision.

    The distance is the smallest sum of squared differences along a path through both series that starts and ends with
    both, and in each step advances one or both. In series of lengths n and m the path may pair entries i and j if
    min(0, n - m) - r <= i - j <= max(0, n - m) + r, where r is the window in steps, or as a float the fraction of the
    shorter length, rounded down; None is no limit. The distance is infinite if one of the two is empty. If A and B are
    the same, `half` of the pairs suffice.

    >>> out = np.empty((1, 2))
    >>> query, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [1.0], [2.0], [3.0], [3.0], [5.0]])
    >>> dtw(out, query, np.array([0, 3]), targets, np.array([0, 5, 6]))
    >>> out
    array([[ 0., 29.]])
    """
    for i, j, x, z in pairs_of_series(A, a, B, b):
        D = np.full((len(x) + 1, len(z) + 1), np.inf, out.dtype)
        D[0, 0] = 0
        low, high = band(len(x), len(z), window)
        for s in range(len(x)):
            for t in range(max(0, s - high), min(len(z), s - low + 1)):
                D[s + 1, t + 1] = ((x[s] - z[t]) ** 2).sum() + min(D[s, t], D[s, t + 1], D[s + 1, t])
        out[i, j] = D[-1, -1]


def _dtw_pairs_domain(
    out: Any, A: Any, a: Any, B: Any, b: Any, i: Any, j: Any, limits: Any, window: Any = None
) -> None:
    _require_series(A, a, *FLOAT32_OR_64)
    _require_series(B, b, A.dtype)
    out_row("out", out, A.dtype)
    array("limits", limits, 1, A.dtype)
    for name, given, starts in (("i", i, a), ("j", j, b)):
        array(name, given, 1, INT64)
        inside(given, len(starts) - 1, f"{name} must number series")
    require(A.shape[1] == B.shape[1], "A and B need the same number of channels")
    require(len(out) == len(i) == len(j) == len(limits), "one entry of out, i, j and limits for each pair")
    _require_window(window)


@checked(_dtw_pairs_domain)
def dtw_pairs(
    out: Array, A: Array, a: Array, B: Array, b: Array, i: Array, j: Array, limits: Array, window: float | None = None
) -> None:
    """Write the dynamic time warping distances of some pairs: series i[p] of A and j[p] of B.

    A distance above limits[p] may be infinite instead, and is found sooner. See `dtw` for the window.

    >>> out, values, starts = np.empty(1), np.array([[1.0], [2.0], [3.0], [5.0]]), np.array([0, 3, 4])
    >>> dtw_pairs(out, values, starts, values, starts, np.array([0]), np.array([1]), np.array([np.inf]))
    >>> out
    array([29.])
    """
    for p, (s, t) in enumerate(zip(i, j, strict=True)):
        x, z, one = A[a[s] : a[s + 1]], B[b[t] : b[t + 1]], np.empty((1, 1), out.dtype)
        dtw(one, x, np.array([0, len(x)]), z, np.array([0, len(z)]), window)
        out[p] = one[0, 0] if one[0, 0] <= limits[p] else np.inf


def _outside_ranges_domain(out: Any, A: Any, low: Any, high: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    for name, given in (("A", A), ("low", low), ("high", high)):
        array(name, given, 2, out.dtype)
    require(low.shape == high.shape, "low and high need the same shape")
    require(A.shape[1] == low.shape[1], "A and the ranges need the same number of columns")
    require(out.shape == (len(A), len(low)), "one row of out for each row of A, one column for each range")


@checked(_outside_ranges_domain)
def outside_ranges(out: Array, A: Array, low: Array, high: Array) -> None:
    """Write the sum of squares by which each row of A leaves each row of ranges.

    If the ranges are the least and largest values of a series within the window around each time, this is at most its
    dynamic time warping distance to the row, if both have one length (Keogh and Ratanamahatana, 2005).

    >>> out = np.empty((1, 1))
    >>> outside_ranges(out, np.array([[0.0, 5.0]]), np.array([[1.0, 1.0]]), np.array([[2.0, 3.0]]))
    >>> out
    array([[5.]])
    """
    for row, x in zip(out, A, strict=True):
        row[...] = (np.maximum(np.maximum(low - x, x - high), 0) ** 2).sum(axis=1)


def band(n: int, m: int, window: float | None) -> tuple[int, int]:
    """Return the smallest and the largest i - j on a path of entries i of n and j of m.

    >>> band(10, 10, 2), band(10, 10, 0.25), band(10, 13, 1)
    ((-2, 2), (-2, 2), (-4, 1))
    """
    if window is None:
        return -m, n
    radius = window if isinstance(window, (int, np.integer)) else int(window * min(n, m))
    return min(0, n - m) - int(radius), max(0, n - m) + int(radius)


def _global_alignment_domain(out: Any, A: Any, a: Any, B: Any, b: Any, scale: Any, half: bool = False) -> None:
    out_matrix("out", out, FLOAT64)
    _require_pairs(out, A, a, B, b, half)
    number("scale", scale)
    require(scale >= 0, f"scale must be at least 0, got {scale}")


@checked(_global_alignment_domain)
def global_alignment(out: Array, A: Array, a: Array, B: Array, b: Array, scale: float, half: bool = False) -> None:
    """Write the logarithms of the global alignment kernel of the series of A with those of B, in float64.

    The kernel is the sum over all paths, as in `dtw`, of the product of k / (2 - k) of the paired entries, with k =
    exp(-scale * squared distance).

    >>> out = np.empty((1, 1))
    >>> zeros = np.zeros((2, 1))
    >>> global_alignment(out, zeros, np.array([0, 2]), zeros, np.array([0, 2]), 1.0)
    >>> np.exp(out)
    array([[3.]])
    """
    for i, j, x, z in pairs_of_series(A, a, B, b):
        out[i, j] = _log_sum_of_paths(x, z, scale)


def _self_alignment_domain(A: Any, a: Any, scale: Any) -> None:
    _require_series(A, a, *FLOAT32_OR_64)
    number("scale", scale)
    require(scale >= 0, f"scale must be at least 0, got {scale}")


@checked(_self_alignment_domain)
def self_alignment(A: Array, a: Array, scale: float) -> Array:
    """Return the logarithms of the global alignment kernel of each series with itself.

    >>> np.exp(self_alignment(np.zeros((3, 1)), np.array([0, 1, 3]), 1.0))
    array([1., 3.])
    """
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


def _convolutions_domain(out: Any, A: Any, a: Any, shapes: Any, mix: Any, biases: Any, starts: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _require_series(A, a, out.dtype)
    array("shapes", shapes, 2, INT64)
    array("mix", mix, 2, A.dtype)
    array("biases", biases, 1, A.dtype)
    starts_to(starts, len(biases))
    require(out.shape == (len(a) - 1, len(biases)), "one row of out for each series, one column for each bias")
    require(shapes.shape[1] == 3, "a shape is a kernel, a dilation, and whether it is padded")
    require(mix.shape == (len(shapes), A.shape[1]), "one row of mix for each shape, one column for each channel")
    require(len(starts) == len(shapes) + 1, "the biases of each shape")
    inside(shapes[:, 0], 84, "kernels are numbered from 0 to 83")
    require((shapes[:, 1] >= 1).all(), "a dilation is at least 1")


@checked(_convolutions_domain)
def convolutions(out: Array, A: Array, a: Array, shapes: Array, mix: Array, biases: Array, starts: Array) -> None:
    """Write the shares of values above biases of dilated convolutions, as in MiniRocket.

    A row of `shapes` is the number of a kernel, its dilation, and whether the series is padded with zeros. The kernels
    have nine taps, three of weight 2, which `kernel_taps` gives, and six of weight -1. The channels are added up with
    the weights in a row of `mix`, and biases ``starts[g]`` to ``starts[g + 1]`` belong to row g. Without padding only
    times at which all taps lie in the series count; if there is none, the series is padded.

    >>> out = np.empty((1, 2))
    >>> one = np.array([[0.0], [0.0], [1.0], [0.0]])
    >>> shapes, biases = np.array([[83, 1, 1]]), np.array([-0.5, 0.5])
    >>> convolutions(out, one, np.array([0, 4]), shapes, np.ones((1, 1)), biases, np.array([0, 2]))
    >>> out
    array([[0.25, 0.25]])
    """
    for i, (begin, end) in enumerate(itertools.pairwise(a)):
        for g, (kernel, dilation, padded) in enumerate(shapes.tolist()):
            of_group = slice(int(starts[g]), int(starts[g + 1]))
            values = convolved(A[begin:end], kernel, dilation, bool(padded), mix[g])
            out[i, of_group] = (values[:, None] > biases[of_group]).mean(0) if len(values) else 0


def kernel_taps() -> list[tuple[int, int, int]]:
    """Return the positions of weight 2 in each of the 84 kernels; the other six of nine have weight -1.

    >>> kernel_taps()[0], kernel_taps()[83]
    ((0, 1, 2), (6, 7, 8))
    """
    return list(itertools.combinations(range(9), 3))


def convolved(x: Array, kernel: int, dilation: int, padded: bool, mix: Array) -> Array:
    """Return a dilated convolution of one series, its channels added up with the weights `mix`.

    >>> convolved(np.array([[1.0], [2.0]]), kernel=83, dilation=1, padded=True, mix=np.ones(1))
    array([-3., -3.])
    """
    n, step = len(x), min(dilation, len(x))  # a longer step leads out of the series as well
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


def _signatures_domain(out: Any, A: Any, a: Any, level: Any) -> None:
    out_matrix("out", out, *FLOAT32_OR_64)
    _require_series(A, a, out.dtype)
    whole("level", level, 1, 63)
    width = sum(A.shape[1] ** m for m in range(1, int(level) + 1))
    require(out.shape == (len(a) - 1, width), "one row of out for each series, one column for each tuple of channels")


@checked(_signatures_domain)
def signatures(out: Array, A: Array, a: Array, level: int) -> None:
    """Write the signatures of series, levels 1 to `level` one after the other, each in lexicographic order.

    Level m holds the iterated integrals along the lines between neighboring times, one for each m-tuple of channels. By
    Chen's identity a step x multiplies the signature by exp(x) = 1 + x + x ⊗ x / 2! + …; a series without a step has
    zeros.

    >>> out = np.empty((1, 6))
    >>> signatures(out, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]), np.array([0, 3]), 2)
    >>> out
    array([[1. , 2. , 0.5, 2. , 0. , 2. ]])
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


def pairs_of_series(A: Array, a: Array, B: Array, b: Array) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield the positions and the series of every pair."""
    for i in range(len(a) - 1):
        for j in range(len(b) - 1):
            yield i, j, A[a[i] : a[i + 1]], B[b[j] : b[j + 1]]
