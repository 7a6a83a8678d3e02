"""What similarities of time series by an elastic distance share: the scale, the window and the distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.series.encoding import as_series, in_common_precision
from similitude.kernels.vectors.pairwise import check_scale, median_distance
from similitude.similarity import SYMMETRIC, Similarity
from similitude.support import brief, check_integer


class SeriesSimilarity(Similarity):
    """A similarity of time series.

    Series are given as a matrix (one per row), an array of shape (series, time, channel), a table (one per row), or a
    list of series of any length, each a list of numbers or an array of shape (time, channel). Values are float64, or
    float32 if all series are.
    """

    objects = "series"

    def encode(self, objects: Any) -> Encoding:
        """Return the values of all series in one array, and their starts."""
        return as_series(objects)


class ElasticSimilarity(SeriesSimilarity):
    r"""A similarity :math:`K(x, z) = \exp(-d(x, z) / \sigma)` of series by a distance that a table of costs gives."""

    sigma: float | str
    window: float | None
    resolves = ("sigma",)
    stated_for = (*SeriesSimilarity.stated_for, "write_distances", "compared", "_loop")

    _costs: tuple[tuple[str, Callable[[str, Any], Any]], ...] = ()  # what the loop takes, and how it is validated
    _loop: str

    def write_distances(self, out: Any, A: Encoding, B: Encoding, half: bool) -> None:
        """Write the distances of two encodings of one precision; if `half`, both are the same."""
        costs = [float(getattr(self, name)) for name, _ in self._costs]
        getattr(loops, self._loop)(out, A.values, A.starts, B.values, B.starts, *costs, self.window, half=half)

    def compared(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return what is divided by sigma, by default the distances."""
        return self.distance_block(A, B, out)

    def distance_block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances of two encodings."""
        same = A is B
        A, B = in_common_precision(A, B)
        out = np.empty((len(A), len(B)), A.dtype) if out is None else out
        self.write_distances(out, A, B, same)
        return out

    def check_params(self) -> None:
        """Validate the costs, the scale and the window."""
        for name, check in self._costs:
            check(name, getattr(self, name))
        check_scale("sigma", self.sigma)
        check_window(self.window)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> ElasticSimilarity:
        """Replace "median" by the median distance of X, or of a sample."""
        if not self.unresolved():
            return self
        A = self.encode(X)
        most = math.isqrt(2 * 10**9) // int(A.lengths.max())  # about 1e9 cells of tables of costs
        sample = min(100, max(10, most))
        sigma = median_distance(A, self.compared, random_state, sample_weight, sample=sample)
        return self.with_params(sigma=sigma)

    def distances(self, X: Any, Z: Any = None) -> Any:
        """Return the distances of the series of X to those of Z, by default of X; they do not depend on sigma."""
        distance = ElasticDistance(self.with_params(sigma=1.0))
        return distance.gram(X) if Z is None else distance.cross(X, Z)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return exp of the scaled distances."""
        values = self.compared(A, B, out)
        factor = min(1.0 / float(self.sigma), float(np.finfo(values.dtype).max))  # infinity times 0 would be nan
        loops.apply(values, "gaussian", -factor)
        return values

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A), A.dtype)


class ElasticDistance(SeriesSimilarity):
    """The distance of an elastic similarity, for its `distances`: large for dissimilar series."""

    claims = frozenset({SYMMETRIC})
    hints = Hints(heavy=True)

    def __init__(self, k: ElasticSimilarity) -> None:
        self.k = k

    def check_params(self) -> None:
        """Validate the similarity."""
        if not isinstance(self.k, ElasticSimilarity):
            raise TypeError(f"k of ElasticDistance must be an elastic similarity such as DTW(), got {brief(self.k)}")
        super().check_params()

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return self.k.distance_block(A, B, out)


def check_window(window: Any) -> None:
    """Validate a window: None, a number of steps, or a fraction."""
    if window is None:
        return
    fraction = isinstance(window, Real) and not isinstance(window, Integral) and 0.0 <= float(window) <= 1.0
    if not fraction:
        otherwise = "None or a float from 0.0 to 1.0 (a fraction of the shorter length)"
        check_integer("window", window, 0, otherwise=otherwise)
