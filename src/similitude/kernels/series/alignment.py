"""Similarities of time series by alignment: dynamic time warping and the global alignment kernel."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.series.elastic import ElasticSimilarity, SeriesSimilarity, warped_series
from similitude.kernels.series.encoding import Series, as_series, in_common_precision
from similitude.kernels.vectors.pairwise import check_scale, euclidean, median_distance, repeated
from similitude.similarity import BOUNDED, SYMMETRIC, UNIT_DIAGONAL, UNIT_KERNEL, Bounds, Similarity


class DTW(ElasticSimilarity):
    r"""Dynamic time warping, :math:`K(x, z) = \exp(-\mathrm{dtw}(x, z) / \sigma)`.

    dtw(x, z) is the smallest sum of squared differences (of several channels: squared Euclidean distances, "dependent"
    warping) along a path that pairs the times of both series, starts and ends with both, and in each step advances one
    or both. No root is taken, as in aeon; tslearn's distance is the root. (Sakoe and Chiba, 1978.)

    It is symmetric and at most 1, but not a kernel: there are series whose matrix has negative eigenvalues. Use
    `GlobalAlignment` if a kernel is needed. With ``window=0`` series of equal length are compared time by time, which
    is a Gaussian kernel; series of different lengths are still warped, and their matrix may be indefinite.

    Parameters
    ----------
    sigma : float or "median"
        The scale; ``"median"`` takes the median distance between the series it is resolved on (of more than 100
        series, or of fewer long ones, of a random sample).
    window : int, float or None
        The band of Sakoe and Chiba around the diagonal: an integer is its radius r in steps (tslearn's
        ``sakoe_chiba_radius``), a float in [0, 1] is the fraction of the shorter length (aeon's ``window``), rounded
        down. Times i and j of series of lengths n and m may be paired if
        min(0, n - m) - r <= i - j <= max(0, n - m) + r. None: no limit.

    Examples
    --------
    >>> from similitude.kernels import DTW
    >>> DTW(sigma=2.0)([0., 1., 2.], [0., 0., 1., 3.])
    0.60653066
    >>> DTW().distances([[0., 1., 2.], [0., 0., 1., 3.]])
    array([[0., 1.],
           [1., 0.]])
    """

    claims = frozenset({SYMMETRIC, UNIT_DIAGONAL, BOUNDED})
    reason = (
        "0, 1, 2 and its stretch 0, 1, 1, 2 have K = 1, so a kernel could not tell them apart, but their similarities "
        "to 0, 2 differ; GlobalAlignment() is a kernel"
    )
    hints = Hints(finite=True, heavy=True)
    _loop = "dtw"

    def __init__(self, sigma: float | str = "median", window: float | None = None) -> None:
        self.sigma = sigma
        self.window = window

    def counterexamples(self) -> list[Any]:
        """Return three series of equal length at distances 0, 1 and 2 sigma; none for a window of 0.

        A window that is a fraction allows no warping of short series: they begin with as many zeros as it needs.
        """
        if self.window == 0:
            return []
        fraction = self.window is not None and not isinstance(self.window, Integral)
        zeros = [0.0] * min(math.ceil(1 / self.window), 10_000) if fraction else []  # type: ignore
        return [warped_series(1.0 if isinstance(self.sigma, str) else math.sqrt(self.sigma), zeros)]

    def bounds(self, A: Encoding) -> Bounds | None:
        """Return bounds by the ends of series and by envelopes."""
        return WarpingBounds(float(self.sigma), self.window)


class GlobalAlignment(SeriesSimilarity):
    r"""The global alignment kernel: a sum over all alignments of two series, of which DTW takes the best.

    :math:`k(x, z) = \sum_\pi \prod_{(i, j) \in \pi} \kappa(x_i, z_j)` over all paths :math:`\pi` as in `DTW`, with
    the local similarity :math:`\kappa = g / (2 - g)`, :math:`g(s, t) = \exp(-|s - t|^2 / (2 \sigma^2))`; normalized,
    :math:`K(x, z) = k(x, z) / \sqrt{k(x, x)\,k(z, z)}`. (Cuturi, Vert, Birkenes and Matsui, 2007; Cuturi, "Fast global
    alignment kernels", 2011, whose exp(-phi_sigma) is this local similarity; ``tslearn.metrics.gak`` is the same.)

    Sums are rescaled, so they neither overflow nor underflow at lengths of 10,000 and more. Series in float32 (up to
    512 times; longer ones are summed in float64) take about half the time; the error of their values is at most about
    1e-4. Series whose lengths differ by more than a factor of two are nearly orthogonal for this kernel.

    Parameters
    ----------
    sigma : float or "median"
        The width of g; ``"median"`` takes the median distance of two entries (of a sample of 1,000) times the root
        of the median length, as Cuturi advises and ``tslearn.metrics.sigma_gak`` does with 100 entries.

    Examples
    --------
    >>> from similitude.kernels import GlobalAlignment
    >>> GlobalAlignment(sigma=2.0)([1., 2., 3.], [1., 2., 2., 3.])
    0.83933691
    """

    claims = UNIT_KERNEL
    reason = (
        "kappa / (1 + kappa) = g / 2 is a kernel, as the Gaussian g is; then the sum over alignments is a kernel "
        "(Cuturi, Vert, Birkenes and Matsui, 2007, theorem 1), and so is its normalization"
    )
    hints = Hints(heavy=True)
    resolves = ("sigma",)

    def __init__(self, sigma: float | str = "median") -> None:
        self.sigma = sigma

    _checks: ClassVar = {"sigma": check_scale}

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> GlobalAlignment:
        """Replace "median" by a width that follows from the median distance of entries and the median length of X."""
        if not self.unresolved():
            return self
        A = as_series(X)
        distance = median_distance(A.values, euclidean, random_state, repeated(sample_weight, A.lengths))
        return self.with_params(sigma=distance * math.sqrt(float(np.median(A.lengths))))

    def encode(self, objects: Any) -> Encoding:
        """Return the values of all series in one array, their starts, and half the logarithm of k(x, x)."""
        A = as_series(objects)
        logs = loops.self_alignment(_summable(A), A.starts, 0.5 / float(self.sigma) ** 2)
        return Series(A.starts, A.values, 0.5 * logs)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the kernel of all pairs."""
        same = A is B
        A, B = in_common_precision(A, B)
        both = np.result_type(_summable(A).dtype, _summable(B).dtype)
        logs = np.empty((len(A), len(B)))
        first, second = (one.values.astype(both, copy=False) for one in (A, B))
        scale = 0.5 / float(self.sigma) ** 2
        loops.global_alignment(logs, first, A.starts, second, B.starts, scale, half=same)
        logs -= A.norms[:, None] + B.norms  # the same bits if both sides are swapped
        np.minimum(logs, 0.0, out=logs)  # positive only by rounding (Cauchy-Schwarz)
        return np.exp(logs, out=logs).astype(A.dtype, copy=False)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A), A.dtype)


def _summable(A: Series) -> np.ndarray:
    """Return the values in a precision whose range suffices: not float32 for the paths of longer series."""
    return A.values if A.lengths.max(initial=0) <= 512 else A.values.astype(np.float64, copy=False)


class WarpingBounds(Bounds):
    r"""Upper bounds on :math:`\exp(-\mathrm{dtw}(x, z) / \sigma)`: by both ends, and by envelopes.

    Every path pairs the ends of both series (Kim, Park and Chu, 2001), and every value of one with a value of the other
    that is no farther away than the window (Keogh and Ratanamahatana, 2005), which is taken both ways.
    """

    def __init__(self, sigma: float, window: float | None) -> None:
        self.sigma = sigma
        self.window = window

    def sketch(self, A: Encoding) -> tuple[np.ndarray, ...]:
        """Return series as rows with their envelopes, empty rows if lengths differ, and the ends of each."""
        from scipy.ndimage import maximum_filter1d, minimum_filter1d

        ends = np.concatenate([A.values[A.starts[:-1]], A.values[A.starts[1:] - 1]], axis=1)
        if len(np.unique(A.lengths)) != 1:
            none = np.empty((len(A), 0), A.dtype)
            return none, none, none, ends
        time = int(A.lengths[0])
        values = A.values.reshape(len(A), time, A.channels)
        steps: Any = time  # between paired times at most
        if self.window is not None:
            steps = min(self.window, time) if isinstance(self.window, Integral) else self.window * time
        reach = 2 * int(steps) + 1
        low = minimum_filter1d(values, reach, axis=1)
        high = maximum_filter1d(values, reach, axis=1)
        for at in (0, -1):
            low[:, at] = high[:, at] = values[:, at]
        flat, low, high = (np.ascontiguousarray(one.reshape(len(A), -1)) for one in (values, low, high))
        return flat, low, high, ends

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarities at distances that are smaller, with room for rounding."""
        width = A[0].shape[1]
        if 0 < width == B[0].shape[1]:
            both = np.result_type(A[0], B[0])
            one, other = (tuple(part.astype(both, copy=False) for part in sketch) for sketch in (A, B))
            there = np.empty((len(one[0]), len(other[0])), both)
            back = np.empty((len(other[0]), len(one[0])), both)
            loops.outside_ranges(there, one[0], other[1], other[2])
            loops.outside_ranges(back, other[0], one[1], one[2])
            least = np.maximum(there, back.T)
        else:
            squares = (A[3][:, None] - B[3]) ** 2
            least = np.maximum(*(part.sum(axis=2) for part in np.split(squares, 2, axis=2)))
        slack = 1 - 4 * max(width, 8) * float(np.finfo(A[0].dtype).eps)
        return np.asarray(np.exp(-least * (slack / self.sigma)))

    def values(
        self, k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, floors: np.ndarray
    ) -> np.ndarray:
        """Return the similarities, minus infinity where the distance was found to be too large on the way."""
        first, second = in_common_precision(A, B)
        with np.errstate(divide="ignore"):
            # Share by which a limit is raised, so that rounding gives up no pair that is needed
            limits = self.sigma * (1e-5 - np.log(np.clip(floors, 0.0, 1.0)) * (1 + 1e-5))
        distances = np.empty(len(i), first.dtype)
        pairs = np.ascontiguousarray(i), np.ascontiguousarray(j), limits.astype(first.dtype)
        loops.dtw_pairs(distances, first.values, first.starts, second.values, second.starts, *pairs, self.window)
        given_up = np.isinf(distances)
        factor = min(1.0 / self.sigma, float(np.finfo(distances.dtype).max))
        loops.apply(distances[None, :], "gaussian", -factor)
        return np.where(given_up, -np.inf, distances)
