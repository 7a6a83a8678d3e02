"""Similarities of time series by elastic distances: what they share, soft warping, MSM, ERP and TWE."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.series.encoding import Series, as_series, in_common_precision
from similitude.kernels.vectors.pairwise import check_scale, median_distance
from similitude.similarity import BOUNDED, SYMMETRIC, UNIT_DIAGONAL, Similarity
from similitude.support import check_integer, check_nonnegative, check_number, check_positive


def check_window(name: str, window: Any) -> None:
    """Validate a window: None, a number of steps, or a fraction."""
    fraction = isinstance(window, Real) and not isinstance(window, Integral) and 0.0 <= float(window) <= 1.0
    if window is not None and not fraction:
        otherwise = "None or a float from 0.0 to 1.0 (a fraction of the shorter length)"
        check_integer(name, window, 0, otherwise=otherwise)


class SeriesSimilarity(Similarity):
    """A similarity of time series in any of the forms that `as_series` takes."""

    objects = "series"

    def encode(self, objects: Any) -> Encoding:
        """Return the values of all series in one array, and their starts."""
        return as_series(objects)


class ElasticSimilarity(SeriesSimilarity):
    r"""A similarity :math:`K(x, z) = \exp(-d(x, z) / \sigma)` of series by a distance that a table of costs gives."""

    sigma: float | str
    window: float | None
    resolves = ("sigma",)
    stated_for = (*SeriesSimilarity.stated_for, "distance_block", "compared", "_loop")
    _checks: ClassVar = {"sigma": check_scale, "window": check_window}  # of a subclass also its costs
    _loop: str

    @abstractmethod
    def counterexamples(self) -> list[Any]:
        """Return series whose matrix has a negative eigenvalue."""

    def compared(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return what is divided by sigma, by default the distances."""
        return self.distance_block(A, B, out)

    def distance_block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances of two encodings."""
        same = A is B
        A, B = in_common_precision(A, B)
        if out is None:
            out = np.empty((len(A), len(B)), A.dtype)
        costs = [float(getattr(self, name)) for name in self._checks if name not in ElasticSimilarity._checks]
        getattr(loops, self._loop)(out, A.values, A.starts, B.values, B.starts, *costs, self.window, half=same)
        return out

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> ElasticSimilarity:
        """Replace "median" by the median distance of X, or of a sample."""
        if not self.unresolved():
            return self
        A = self.encode(X)
        most = math.isqrt(2 * 10**9) // int(A.lengths.max())  # about 1e9 cells of tables of costs
        sigma = median_distance(A, self.compared, random_state, sample_weight, sample=min(100, max(10, most)))
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

    def __init__(self, k: Similarity) -> None:
        self.k: Any = k

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return self.k.distance_block(A, B, out)


ELASTIC = frozenset({SYMMETRIC, UNIT_DIAGONAL, BOUNDED})
"""What holds for exp(-d / sigma) of a metric d."""


def _refuting(collections: Any, sigma: float | str, least_unit: float = 0.0, zero: float = 0.0) -> list[Any]:
    """Return series in the units of sigma, or of costs that do not depend on it; none while sigma is unresolved."""
    if isinstance(sigma, str):
        return []
    # at a scale of 50 they refute a kernel: their distances are about 10
    unit = max(float(sigma) / 50.0, least_unit)
    return [[[zero + unit * step for step in one] for one in collection] for collection in collections]


def warped_series(unit: float, zeros: Sequence[float] = ()) -> list[list[float]]:
    """Return three series, the first two of which warping makes equal, after some zeros."""
    return [[*zeros, *(unit * step for step in steps)] for steps in ((0, 1, 2, 2), (0, 1, 1, 2), (0, 2, 2, 2))]


class SoftDTW(ElasticSimilarity):
    r"""Soft dynamic time warping, :math:`K(x, z) = \exp(-D(x, z) / \sigma)` with the divergence D of soft-DTW.

    Soft-DTW puts the soft minimum :math:`-\gamma \log \sum_\pi \exp(-c(\pi) / \gamma)` over the costs c of all paths in
    place of the least cost that `DTW` takes; it is a smooth function of the series, and tends to `DTW` with
    :math:`\gamma`. (Cuturi and Blondel, 2017.) It is negative for series that are alike, even for equal ones, so that
    K compares by :math:`D(x, z) = s(x, z) - \frac12 s(x, x) - \frac12 s(z, z)`. (Blondel, Mensch and Vert, 2021.)

    It is symmetric with a unit diagonal, but not known to be a kernel, and for small :math:`\gamma` it is as little one
    as `DTW`. Use `GlobalAlignment` if a kernel is needed.

    Parameters
    ----------
    gamma : float
        The softness, > 0, in units of squared differences.
    sigma, window
        See `DTW`; ``"median"`` is the median of D.

    Examples
    --------
    >>> from similitude.kernels import SoftDTW
    >>> SoftDTW(gamma=0.1).distances([[0., 1., 2.], [0., 0., 1., 3.]]).round(3)
    array([[-0.  ,  1.  ],
           [ 1.  , -0.11]])
    """

    claims = frozenset({SYMMETRIC, UNIT_DIAGONAL})
    reason = (
        "as gamma tends to 0 it tends to DTW, which is not a kernel: for a small gamma, 0, 1, 2, 2 and 0, 1, 1, 2 have "
        "K = 1 nearly, but different similarities to 0, 2, 2, 2; GlobalAlignment() is a kernel"
    )
    hints = Hints(heavy=True)
    _checks: ClassVar = {"gamma": check_positive, **ElasticSimilarity._checks}
    _loop = "soft_dtw"

    def __init__(self, gamma: float = 1.0, sigma: float | str = "median", window: float | None = None) -> None:
        self.gamma = gamma
        self.sigma = sigma
        self.window = window

    def counterexamples(self) -> list[Any]:
        """Return the series that refute `DTW`, if sigma is given; they refute it if gamma is small against sigma."""
        return [] if isinstance(self.sigma, str) else [warped_series(math.sqrt(self.sigma))]

    def encode(self, objects: Any) -> Encoding:
        """Return the values of all series in one array, their starts, and half of soft-DTW of each with itself."""
        A = as_series(objects)
        singles = [A[i : i + 1] for i in range(len(A))]
        halves = np.array([0.5 * self.distance_block(one, one)[0, 0] for one in singles], A.dtype)
        return Series(A.starts, A.values, halves)

    def compared(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the divergences."""
        values = self.distance_block(A, B, out)
        values -= A.norms[:, None] + B.norms  # the same bits if both sides are swapped
        return values


class MSM(ElasticSimilarity):
    r"""Move-split-merge, :math:`K(x, z) = \exp(-\mathrm{msm}(x, z) / \sigma)`.

    msm(x, z) is the least cost of turning one series into the other: to move a value costs the difference, to split
    one in two equal values or to merge two costs c. It does not depend on a constant that is added to both series, and
    it is a metric. (Stefan, Athitsos and Das, 2013.) Several channels are compared one by one, and the distances are
    added up, as aeon does by default; that is a metric, too.

    It is symmetric and at most 1, but not a kernel.

    Parameters
    ----------
    c : float
        The cost of a split or a merge, >= 0, in the units of the series.
    sigma, window
        See `DTW`. With a window, the triangle inequality need not hold.

    Examples
    --------
    >>> from similitude.kernels import MSM
    >>> MSM(c=0.5).distances([[0., 1., 2.], [0., 0., 1., 3.]])
    array([[0. , 1.5],
           [1.5, 0. ]])
    """

    claims = ELASTIC
    reason = "a metric, but not of negative type: there are series on which exp(-msm / sigma) has negative eigenvalues"
    hints = Hints(finite=True, heavy=True)
    _checks: ClassVar = {"c": check_nonnegative, **ElasticSimilarity._checks}
    _loop = "msm"

    def __init__(self, c: float = 1.0, sigma: float | str = "median", window: float | None = None) -> None:
        self.c = c
        self.sigma = sigma
        self.window = window

    def counterexamples(self) -> list[Any]:
        """Return series whose matrix has a negative eigenvalue, if sigma is given and not small against the costs."""
        small_c = [[0, 3, 0], [3, 0, 3], [0, 0, 3, 3], [0, 3, 0, 3], [3, 0, 3, 0], [3, 3, 0, 0]]
        c_of_one = [[1, 0, 3], [1, 3, 3], [3, 0, 1], [3, 3, 1], [1, 1, 3, 1], [1, 3, 1, 1]]
        return _refuting([small_c, c_of_one], self.sigma, float(self.c))


class ERP(ElasticSimilarity):
    r"""Edit distance with real penalty, :math:`K(x, z) = \exp(-\mathrm{erp}(x, z) / \sigma)`.

    erp(x, z) is the least cost of an alignment in which an entry of one series stands beside one of the other, at the
    cost of their distance, or beside a gap, at the cost of its distance to g. It is a metric of series without entries
    equal to g, which cost nothing to leave out. (Chen and Ng, 2004.) Entries before the first pair cost what they cost
    one by one, as published; aeon 1.6 charges the whole series, and its values are larger where an alignment begins
    with a gap.

    It is symmetric and at most 1, but not a kernel.

    Parameters
    ----------
    g : float
        The value that a gap stands for, the same in all channels.
    sigma, window
        See `DTW`. With a window, the triangle inequality need not hold.

    Examples
    --------
    >>> from similitude.kernels import ERP
    >>> ERP().distances([[0., 1., 2.], [0., 0., 1., 3.]])
    array([[0., 1.],
           [1., 0.]])
    """

    claims = ELASTIC
    reason = "a metric, but not of negative type: there are series on which exp(-erp / sigma) has negative eigenvalues"
    hints = Hints(finite=True, heavy=True)
    _checks: ClassVar = {"g": check_number, **ElasticSimilarity._checks}
    _loop = "erp"

    def __init__(self, g: float = 0.0, sigma: float | str = "median", window: float | None = None) -> None:
        self.g = g
        self.sigma = sigma
        self.window = window

    def counterexamples(self) -> list[Any]:
        """Return series whose matrix has a negative eigenvalue, if sigma is given and not small against the costs."""
        series = [[2, 1, 2], [2, 3, 2], [1, 3, 0, 1], [1, 1, 3, 0], [3, 1, 0, 1]]
        return _refuting([series], self.sigma, zero=float(self.g))


class TWE(ElasticSimilarity):
    r"""Time warp edit distance, :math:`K(x, z) = \exp(-\mathrm{twe}(x, z) / \sigma)`.

    twe(x, z) is the least cost of an alignment of two series as polygons: a pair of times i and j costs the distances
    of the entries there and one step before, and :math:`2 \nu |i - j|`; to leave out an entry costs its distance to the
    one before, and :math:`\nu + \lambda`. Before the first entry there is a zero. It is a metric for
    :math:`\nu > 0`. (Marteau, 2009.)

    It is symmetric and at most 1, but not a kernel.

    Parameters
    ----------
    nu : float
        The stiffness, >= 0: how much it costs to pair entries of different times.
    lmbda : float
        The penalty of an entry that is left out, >= 0.
    sigma, window
        See `DTW`. With a window, the triangle inequality need not hold.

    Examples
    --------
    >>> from similitude.kernels import TWE
    >>> TWE(nu=0.5, lmbda=1.0).distances([[0., 1., 2.], [0., 0., 1., 3.]])
    array([[0. , 4.5],
           [4.5, 0. ]])
    """

    claims = ELASTIC
    reason = "a metric, but not of negative type: there are series on which exp(-twe / sigma) has negative eigenvalues"
    hints = Hints(finite=True, heavy=True)
    _checks: ClassVar = {"nu": check_nonnegative, "lmbda": check_nonnegative, **ElasticSimilarity._checks}
    _loop = "twe"

    def __init__(
        self, nu: float = 0.001, lmbda: float = 1.0, sigma: float | str = "median", window: float | None = None
    ) -> None:
        self.nu = nu
        self.lmbda = lmbda
        self.sigma = sigma
        self.window = window

    def counterexamples(self) -> list[Any]:
        """Return series whose matrix has a negative eigenvalue, if sigma is given and not small against the costs."""
        small_costs = [[0, 0, 3, 0], [3, 0, 3, 0], [0, 0, 3], [0, 3, 0, 3], [3, 3, 0], [3, 3, 0, 3]]
        lambda_of_one = [[3, 0, 3], [0, 0, 3], [0, 3, 1, 1], [0, 3, 0, 3], [3, 0, 3, 1], [3, 3, 1, 1]]
        both_one_half = [[0, 3, 3], [0, 3, 0, 0], [1, 0, 3, 1], [1, 3, 1, 1], [3, 0, 3, 3], [3, 3, 0, 1]]
        costs = float(self.nu) + float(self.lmbda)
        return _refuting([small_costs, lambda_of_one, both_one_half], self.sigma, costs)
