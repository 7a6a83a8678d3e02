"""Bounds on dynamic time warping: by the ends of both series, and by the envelope of one around the other."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from similitude.compute import Encoding, loops
from similitude.kernels.series.encoding import in_common_precision
from similitude.similarity import Bounds, Similarity

Sketch = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""The values of series of one length as rows, the least and largest values around each, and both ends."""


class WarpingBounds(Bounds):
    r"""Upper bounds on :math:`\exp(-\mathrm{dtw}(x, z) / \sigma)`.

    Every path pairs the first values and the last values of both series (Kim, Park and Chu, 2001), and every value of
    one with a value of the other that is no farther away than the window (Keogh and Ratanamahatana, 2005). The second
    bound, which contains the first, is for series of one length, and is taken both ways.
    """

    def __init__(self, sigma: float, window: float | None) -> None:
        self.sigma = sigma
        self.window = window

    def sketch(self, A: Encoding) -> Sketch:
        """Return series as rows with their envelopes, empty rows if lengths differ, and the ends of each."""
        first = A.values[A.starts[:-1]]
        last = A.values[A.starts[1:] - 1]
        lengths = A.lengths
        if len(np.unique(lengths)) != 1:
            none = np.empty((len(A), 0), A.dtype)
            return none, none, none, np.concatenate([first, last], axis=1)
        time = int(lengths[0])
        values = A.values.reshape(len(A), time, A.channels)
        reach = 2 * self._radius(time) + 1
        from scipy.ndimage import maximum_filter1d, minimum_filter1d

        low = minimum_filter1d(values, reach, axis=1)
        high = maximum_filter1d(values, reach, axis=1)
        for at in (0, -1):
            low[:, at] = high[:, at] = values[:, at]
        flat, low, high = (np.ascontiguousarray(one.reshape(len(A), -1)) for one in (values, low, high))
        return flat, low, high, np.concatenate([first, last], axis=1)

    def _radius(self, time: int) -> int:
        """Return the largest number of steps between paired times of series of this length."""
        if self.window is None:
            return time
        return min(int(self.window), time) if isinstance(self.window, Integral) else int(self.window * time)

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarities at distances that are smaller, with room for rounding."""
        slack = 1 - 4 * max(A[0].shape[1], 8) * float(np.finfo(A[0].dtype).eps)
        return np.exp(-self._least(A, B) * (slack / self.sigma))

    def _least(self, A: Sketch, B: Sketch) -> np.ndarray:
        """Return lower bounds on the distances."""
        both = np.result_type(A[0], B[0])
        width = A[0].shape[1]
        if width == B[0].shape[1] and width > 0:
            one, other = (tuple(part.astype(both, copy=False) for part in sketch) for sketch in (A, B))
            there = np.empty((len(one[0]), len(other[0])), both)
            back = np.empty((len(other[0]), len(one[0])), both)
            loops.outside_ranges(there, one[0], other[1], other[2])
            loops.outside_ranges(back, other[0], one[1], one[2])
            return np.maximum(there, back.T)
        channels = A[3].shape[1] // 2
        first, last = (
            ((A[3][:, None, part] - B[3][None, :, part]) ** 2).sum(axis=2)
            for part in (slice(None, channels), slice(channels, None))
        )
        return np.asarray(np.maximum(first, last))

    def values(
        self, k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, floors: np.ndarray
    ) -> np.ndarray:
        """Return the similarities, minus infinity where the distance was found to be too large on the way."""
        first, second = in_common_precision(A, B)
        with np.errstate(divide="ignore"):
            # Share by which a limit is raised, so that rounding gives up no pair that is needed
            limits = self.sigma * (1e-5 - np.log(np.clip(floors, 0.0, 1.0)) * (1 + 1e-5))
        distances = np.empty(len(i), first.dtype)
        i = np.ascontiguousarray(i)
        j = np.ascontiguousarray(j)
        limits = limits.astype(first.dtype)
        x = (first.values, first.starts)
        z = (second.values, second.starts)
        loops.dtw_pairs(distances, x[0], x[1], z[0], z[1], i, j, limits, self.window)
        given_up = np.isinf(distances)
        out = distances[None, :]
        factor = min(1.0 / self.sigma, float(np.finfo(out.dtype).max))
        loops.apply(out, "gaussian", -factor)
        return np.where(given_up, -np.inf, out[0])
