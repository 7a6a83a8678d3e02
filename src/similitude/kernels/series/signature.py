"""A kernel of time series by their signatures: the iterated integrals of a path up to a level, as explicit features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.compute import first_nonfinite, loops
from similitude.kernels.series.encoding import Series, as_series
from similitude.kernels.vectors.pairwise import ExplicitFeatures, checked_weights, squared_norms, weighted_median
from similitude.similarity import KERNEL
from similitude.support import brief, check_integer


class Signature(ExplicitFeatures):
    r"""The truncated signature kernel: a dot product of the iterated integrals of two series up to a level.

    Level m of the signature of a series has one feature for every m-tuple of channels, the integral along the lines
    between neighboring times:

    .. math:: S^m_{c_1 \dots c_m}(x) = \int_{t_1 < \dots < t_m} dx_{c_1}(t_1) \cdots dx_{c_m}(t_m), \qquad
        K(x, z) = \frac{1}{L} \sum_{m=1}^{L} \frac{\langle S^m(x), S^m(z) \rangle}{r_m^2}.

    Level 1 is the whole change of each channel, level 2 adds the areas between two channels, and so on: what happens
    in which order. (Chen, 1957; Király and Oberhauser, 2019.) :math:`r_m` is the median of :math:`|S^m|` over training
    series, so that all levels count alike and K(x, x) is about 1. Level 0, the constant 1, is left out.

    It costs time in proportion to the length of a series, and no pair of series is aligned. A constant that is added to
    a series changes nothing, and a series of one time is similar to none, not even to itself. Without `time`, the speed
    at which the path is followed changes nothing either: a time may be repeated.

    Parameters
    ----------
    level : int
        The highest level L. With d channels, time included, there are :math:`d + d^2 + \dots + d^L` features, at most
        100,000.
    time : bool
        Whether time, from 0 to 1 in every series, is added as the first channel. Without it, series of one channel
        differ in their whole change only.
    scales : array, optional
        What each channel is divided by. `resolve` finds the median over training series of its largest value minus
        its smallest.
    norms : array, optional
        The norm :math:`r_m` of each level, as `resolve` finds it.

    Examples
    --------
    >>> from similitude.kernels import Signature, explicit_map
    >>> early, late = [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    >>> k = Signature(level=2).resolve([early, late])
    >>> k.gram([early, late]).round(2)
    array([[1.  , 0.82],
           [0.82, 1.  ]])
    >>> explicit_map(k, [early, late]).shape
    (2, 6)
    """

    objects = "series"
    claims = KERNEL
    reason = "the dot product of explicit features: signatures up to a level, each level divided by a number"
    resolves = ("scales", "norms")

    def __init__(self, level: int = 3, time: bool = True, scales: Any = None, norms: Any = None) -> None:
        self.level = level
        self.time = time
        self.scales = scales
        self.norms = norms

    def width(self, channels: int) -> int:
        """Return the number of features for a number of channels; once resolved, for the number of scales."""
        return sum(self._sizes(channels if self.scales is None else len(self.scales)))

    def check_params(self) -> None:
        """Validate the level, and the scales and norms if there are any."""
        level = check_integer("level", self.level, 1, 63)
        norms = f"{level}, one for each level"
        for name, value, many in (("scales", self.scales, "one for each channel"), ("norms", self.norms, norms)):
            is_list = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f" and len(value) > 0
            fits = is_list and np.isfinite(value).all() and (value > 0).all() and (many != norms or len(value) == level)
            if value is not None and not fits:
                raise ValueError(f"{name} must be an array of positive numbers, {many}, not {brief(value)}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Signature:
        """Choose the scales of channels and the norms of levels as medians over the series X."""
        if not self.unresolved():
            return self
        A = as_series(X)
        weight = checked_weights(sample_weight, len(A))
        k = self
        if k.scales is None:
            first = A.starts[:-1]
            with np.errstate(over="ignore"):
                ranges = np.maximum.reduceat(A.values, first) - np.minimum.reduceat(A.values, first)
            k = k.with_params(scales=np.array([weighted_median(one.astype(float), weight) for one in ranges.T]))
        if k.norms is None:
            levels = np.split(k._signatures(A), np.cumsum(k._sizes(A.channels))[:-1], axis=1)
            norms = [weighted_median(np.sqrt(squared_norms(one.astype(float))), weight) for one in levels]
            k = k.with_params(norms=np.array(norms))
        return k

    def features(self, X: Any, like: Any = None) -> np.ndarray:
        """Return the signatures, each level divided by its norm and the root of their number, whatever is in `like`."""
        A = as_series(X)
        features = self._signatures(A)
        factors = 1.0 / (np.asarray(self.norms, float) * math.sqrt(self.level))
        features *= np.repeat(factors, self._sizes(A.channels)).astype(A.dtype)
        bad = first_nonfinite(features)
        if bad is not None:
            raise ValueError(f"the signature of series {bad[0]} overflows: series need values of the size of scales")
        return features

    def _sizes(self, channels: int) -> list[int]:
        return [(channels + bool(self.time)) ** m for m in range(1, int(self.level) + 1)]

    def _signatures(self, A: Series) -> np.ndarray:
        if A.channels != len(self.scales):
            raise ValueError(f"series of {len(self.scales)} channels are expected, these have {A.channels}")
        sizes = self._sizes(A.channels)
        totals = np.cumsum(np.array(sizes, dtype=object))
        if len(sizes) > 1 and totals[-1] > 100_000:  # one level always fits
            included = ", time included," * bool(self.time)
            largest = max(1, int(np.sum(totals <= 100_000)))
            raise ValueError(
                f"level={len(sizes)} of {sizes[0]} channels{included} has {totals[-1]:,} features, more than "
                f"100,000: the largest level that fits is {largest}"
            )
        path = np.empty((len(A.values), sizes[0]), A.dtype)
        if self.time:
            path[:, 0] = A.places / np.repeat(np.maximum(A.lengths - 1, 1), A.lengths)
        for c, scale in enumerate(self.scales):  # NumPy is slow at rows of a few channels
            np.divide(A.values[:, c], A.dtype.type(scale), out=path[:, c - A.channels])
        signatures = np.empty((len(A), sum(sizes)), A.dtype)
        loops.signatures(signatures, path, A.starts, int(self.level))
        return signatures
