"""A kernel of time series by random dilated convolutions, whose features are explicit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.compute import Hints, loops
from similitude.kernels.series.encoding import Series, as_series
from similitude.kernels.vectors.pairwise import ExplicitFeatures, checked_weights, drawn
from similitude.similarity import KERNEL
from similitude.support import brief, check_integer, generator

N_KERNELS = 84
"""Number of ways to place three taps of weight 2 among nine."""

BIAS, MEAN, DEVIATION, FIRST_CHANNEL = range(3, 7)
"""The columns of a table of filters after kernel, dilation and whether it is padded; the channels are the last ones."""


class Convolutions(ExplicitFeatures):
    r"""Random convolutions: a dot product of many explicit features, each the share of time that a pattern is present.

    A feature is the share of times at which a dilated convolution of the series exceeds a bias: nine taps, three of
    weight 2 and six of weight -1, which lie 1, 2, 4, … times apart. There are 84 such kernels, each with up to 32
    dilations; the biases are quantiles of the convolutions of training series. Half of the convolutions pad the series
    with zeros. The features are standardized on the training series, and

    .. math:: K(x, z) = \frac{1}{D} \sum_{j=1}^{D} \frac{f_j(x) - m_j}{s_j} \cdot \frac{f_j(z) - m_j}{s_j}.

    (Dempster, Schmidt and Webb, "MiniRocket", 2021.) It costs time in proportion to the length of a series, and no
    pair of series is aligned. Series may differ in length; of several channels, each convolution adds up a random
    subset of at most nine. A constant that is added to a series is seen at its padded ends only.

    Parameters
    ----------
    n_features : int
        The number D of features, at least 84, rounded down to a multiple of 84.
    filters : array, optional
        The features, as `resolve` finds them on training series: one row for each, with its kernel, dilation, whether
        it is padded, bias, mean m, deviation s, and a 1 or 0 for each channel. Dilations follow from the median
        length; means and deviations are those of all series (of more than 1,000, of a random sample).

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Convolutions, explicit_map
    >>> waves = np.sin(np.arange(50) / np.array([[2.0], [2.1], [5.0], [5.2]]))
    >>> k = Convolutions(n_features=840).resolve(waves)
    >>> k.gram(waves).round(1)
    array([[ 1.1,  0.5, -0.8, -0.9],
           [ 0.5,  1. , -0.7, -0.8],
           [-0.8, -0.7,  0.9,  0.6],
           [-0.9, -0.8,  0.6,  1. ]])
    >>> explicit_map(k, waves).shape
    (4, 840)
    """

    objects = "series"
    claims = KERNEL
    reason = "the dot product of explicit features: standardized shares of positive values of convolutions"
    hints = Hints(finite=True)
    resolves = ("filters",)

    def __init__(self, n_features: int = 9996, filters: Any = None) -> None:
        self.n_features = n_features
        self.filters = filters

    @property
    def width(self) -> int:
        """The number of features."""
        if self.filters is None:
            return int(self.n_features) // N_KERNELS * N_KERNELS
        return len(self.filters)

    def check_params(self) -> None:
        """Validate the number of features, and the filters if there are any."""
        check_integer("n_features", self.n_features, N_KERNELS, 10**6)
        filters = self.filters
        if filters is None:
            return
        is_matrix = isinstance(filters, np.ndarray) and filters.ndim == 2 and len(filters)
        if not is_matrix or filters.shape[1] <= FIRST_CHANNEL:
            what = "filters are an array that k.resolve(X) finds, with a row per feature"
            raise ValueError(f"{what}, not {brief(filters)}")
        shapes = filters[:, :BIAS]
        inside = (shapes >= (0, 1, 0)) & (shapes <= (N_KERNELS - 1, np.inf, 1)) & (shapes == np.floor(shapes))
        if not (np.isfinite(filters).all() and inside.all() and (filters[:, DEVIATION] > 0).all()):
            raise ValueError("filters need kernels from 0 to 83, dilations >= 1, padding 0 or 1, and deviations > 0")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Convolutions:
        """Choose dilations, channels and biases for the series X, and standardize the features on them."""
        if self.filters is not None:
            return self
        A = as_series(X)
        rng = generator(random_state)
        weight = checked_weights(sample_weight, len(A))
        filters = _random_filters(A, weight, self.width, rng)
        A, weight = drawn(A, weight, 1000, rng, "means of convolutions from %d of %d series")
        shares = _shares(A, filters).astype(float, copy=False)
        mean = np.average(shares, axis=0, weights=weight)
        deviation = np.sqrt(np.average((shares - mean) ** 2, axis=0, weights=weight))
        filters[:, MEAN] = mean
        filters[:, DEVIATION] = np.where(deviation > 1e-9, deviation, 1.0)  # a constant feature tells nothing apart
        return self.with_params(filters=filters)

    def features(self, X: Any, like: Any = None) -> np.ndarray:
        """Return the standardized features divided by the root of their number, whatever is in `like`."""
        A = as_series(X)
        filters = self.filters
        if A.channels != filters.shape[1] - FIRST_CHANNEL:
            raise ValueError(
                f"series of {filters.shape[1] - FIRST_CHANNEL} channels are expected, these have {A.channels}"
            )
        features = _shares(A, filters)
        features -= filters[:, MEAN].astype(A.dtype)
        features *= (1.0 / (filters[:, DEVIATION] * math.sqrt(len(filters)))).astype(A.dtype)
        return features


def _random_filters(A: Series, weight: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return filters without means and deviations; their biases are quantiles of convolutions of random series."""
    number = width // N_KERNELS
    most = min(number, 32)
    longest = math.log2(max(1.0, (float(np.median(A.lengths[weight > 0])) - 1.0) / 8.0))  # nine taps fit
    dilations, repeats = np.unique(np.logspace(0.0, longest, most, base=2.0).astype(np.int64), return_counts=True)
    numbers = repeats * number // most
    numbers[: number - numbers.sum()] += 1
    chosen = rng.choice(len(A), (len(dilations), N_KERNELS), p=weight / weight.sum()).tolist()
    golden = (math.sqrt(5.0) + 1.0) / 2.0  # its multiples modulo 1 are spread evenly over [0, 1]
    quantiles = np.arange(1, width + 1) * golden % 1.0
    filters = np.zeros((width, FIRST_CHANNEL + A.channels))
    end = 0
    for place, (step, number) in enumerate(zip(dilations.tolist(), numbers.tolist(), strict=True)):
        for kernel in range(N_KERNELS):
            begin = end
            end += number
            padded = (kernel + place) % 2 == 0
            mix = np.ones(A.channels)
            if A.channels > 1:  # a random subset; small ones are more likely
                size = int(2.0 ** rng.uniform(0.0, math.log2(min(A.channels, 9) + 1)))
                mix[:] = 0.0
                mix[rng.choice(A.channels, min(size, A.channels), replace=False)] = 1.0
            one = A.values[A.starts[chosen[place][kernel]] : A.starts[chosen[place][kernel] + 1]]
            values = np.sort(loops.convolved(one, kernel, step, padded, mix.astype(A.dtype)))
            filters[begin:end, :BIAS] = kernel, step, padded
            at = quantiles[begin:end] * (len(values) - 1)
            filters[begin:end, BIAS] = np.interp(at, np.arange(len(values)), values)
            filters[begin:end, FIRST_CHANNEL:] = mix
    return filters


def _shares(A: Series, filters: np.ndarray) -> np.ndarray:
    """Return the share of values above the bias of each filter."""
    whole = np.delete(filters, (BIAS, MEAN, DEVIATION), axis=1)
    first = np.flatnonzero(np.append(True, (whole[1:] != whole[:-1]).any(1)))
    starts = np.append(first, len(filters)).astype(np.int64)
    shapes = np.ascontiguousarray(filters[first, :BIAS]).astype(np.int64)
    mix = filters[first, FIRST_CHANNEL:].astype(A.dtype)
    biases = filters[:, BIAS].astype(A.dtype)
    out = np.empty((len(A), len(filters)), A.dtype)
    loops.convolutions(out, A.values, A.starts, shapes, mix, biases, starts)
    return out
