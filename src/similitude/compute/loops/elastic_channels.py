"""What the compiled elastic distances need of each entry of a series, as further channels."""

import numpy as np

from similitude.compute.loops.arguments import Array

MSM, ERP, TWE, SOFT_DTW = range(4)
"""The numbers of the compiled distances."""


def msm_channels(x: Array, starts: Array) -> Array:
    """Return the values of one channel, and the value before each.

    >>> msm_channels(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3])).tolist()
    [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    """
    return np.stack([x, _before(x, starts)], axis=1)


def erp_channels(X: Array, starts: Array, gap: float) -> Array:
    """Return the values, their distance to the gap value, and the sum of these distances up to each entry.

    >>> erp_channels(np.array([[1.0], [-2.0], [3.0]]), np.array([0, 2, 3]), 0.0).tolist()
    [[1.0, 1.0, 1.0], [-2.0, 2.0, 3.0], [3.0, 3.0, 3.0]]
    """
    left_out = np.sqrt(((X.astype(float) - gap) ** 2).sum(1))
    sums = np.concatenate([np.cumsum(one) for one in np.split(left_out, starts[1:-1])])
    return np.column_stack([X, left_out, sums]).astype(X.dtype)


def twe_channels(X: Array, starts: Array, stiffness: float, penalty: float) -> Array:
    """Return the values, those before, the cost of leaving each entry out, and its time.

    >>> twe_channels(np.array([[1.0], [4.0]]), np.array([0, 2]), 0.5, 1.0).tolist()
    [[1.0, 0.0, 2.5, 0.0], [4.0, 1.0, 4.5, 1.0]]
    """
    before = _before(X, starts)
    times = np.arange(len(X)) - np.repeat(starts[:-1], np.diff(starts))
    left_out = np.sqrt(((X.astype(float) - before) ** 2).sum(1)) + (stiffness + penalty)
    return np.column_stack([X, before, left_out, times]).astype(X.dtype)


def _before(X: Array, starts: Array) -> Array:
    """Return the entry before each one in its series; zero before the first."""
    before = np.zeros_like(X)
    before[1:] = X[:-1]
    first = starts[:-1]
    before[first[first < len(X)]] = 0
    return before
