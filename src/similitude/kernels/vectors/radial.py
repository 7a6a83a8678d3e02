"""Kernels that are functions of a distance between vectors: Gaussian, Laplace, Matern, rational quadratic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, as_matrix, beside, in_precision, is_sparse, loops, namespace
from similitude.kernels.vectors.pairwise import (
    IDENTITY,
    ROOT,
    Form,
    VectorSimilarity,
    apply_form,
    check_scale,
    median_distance,
    pairwise,
    squared_norms,
    vector_profile,
)
from similitude.similarity import UNIT_KERNEL, Bounds, stated
from similitude.support import brief, check_positive, digest, written

AXES_FROM = 2000
"""Most vectors that the axes are computed from."""


class DistanceBounds(Bounds):
    """The distance along some axes, and the difference of the distances from these, are at most the distance.

    With P the projection on the axes, |x - z|^2 >= |Px - Pz|^2 + (|x - Px| - |z - Pz|)^2, by the triangle inequality.
    """

    def __init__(self, k: VectorSimilarity, A: Encoding) -> None:
        self.form = k.form()
        self.eps = 64 * float(np.finfo(A.dtype).eps)
        sample = A[:: max(1, len(A) // AXES_FROM)].astype(np.float64)
        self.center = sample.mean(axis=0)
        _, vectors = np.linalg.eigh((sample - self.center).T @ (sample - self.center))
        self.axes = vectors[:, ::-1][:, :32]

    def sketch(self, A: Encoding) -> np.ndarray:
        """Return the coordinates along the axes, and the distance from them."""
        out = np.empty((len(A), self.axes.shape[1] + 1))
        for first in range(0, len(A), AXES_FROM):
            some = A[first : first + AXES_FROM] - self.center
            along = some @ self.axes
            beside_axes = np.sqrt(np.maximum(squared_norms(some) - squared_norms(along), 0.0))
            out[first : first + AXES_FROM] = np.column_stack([along, beside_axes])
        return out

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarities at these smaller distances, with room for rounding."""
        squares = pairwise(A, B, "squared_difference", IDENTITY)
        squares -= self.eps * (squared_norms(A)[:, None] + squared_norms(B))
        return np.asarray(apply_form(self.form, np.maximum(squares, 0.0, out=squares)))


def bounds_by_axes(k: VectorSimilarity, A: Encoding) -> Bounds | None:
    """Return bounds by the main principal axes of long dense vectors; None for others."""
    return DistanceBounds(k, A) if isinstance(A, np.ndarray) and A.shape[1] >= 64 else None  # else they do not pay


FINITE = Hints(finite=True, on_tensors=True, profile=vector_profile)


class DistanceSimilarity(VectorSimilarity):
    """A similarity of vectors that is a function of their distance, with a scale that may be the median distance.

    A `metric` maps the vectors once, when they are encoded. ``k.of_distances(k.distances(A, B))`` is ``k.block(A, B)``.
    """

    sums: str = "squared_difference"
    metric: Any = None
    _quiet = ("metric",)
    _writers: ClassVar = {"metric": lambda metric: written_metric(metric)}

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors under the metric's linear map, as the rows of one float matrix."""
        vectors = as_matrix(objects)
        return vectors if self.metric is None else transformed(vectors, self.metric)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        if namespace(A) is np:
            return np.ones(A.shape[0], A.dtype)
        return namespace(A).ones_like(A[:, 0])

    def check_params(self) -> None:
        """Validate the scale and the metric."""
        super().check_params()
        (name,) = self.resolves
        check_scale(name, getattr(self, name))
        if self.metric is not None:
            check_metric(self.metric, vector_only=self.sums == "absolute_difference")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Replace the scale "median" by the median distance of X."""
        (name,) = self.resolves
        if not isinstance(getattr(self, name), str):
            return self
        root = ROOT if self.sums == "squared_difference" else IDENTITY
        distances = partial(pairwise, sums=self.sums, form=root)
        median = median_distance(self.encode(X), distances, random_state, sample_weight)
        return self.with_params(**{name: median})

    def distances(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the argument of `of_distances`: squared Euclidean distances, or sums of absolute differences."""
        return pairwise(A, B, self.sums, IDENTITY, out)

    def of_distances(self, D: Any) -> Any:
        """Return the similarities of pairs with known distances; D is overwritten."""
        return apply_form(self.form(), D)

    def shared_distances(self) -> str | None:
        """Return the name of the distances, equal for all that can share them; None if a subclass changes them."""
        methods = ("encode", "block", "distances", "of_distances")
        if any(getattr(type(self), name) is not getattr(DistanceSimilarity, name) for name in methods):
            return None
        return self.sums if self.metric is None else f"{self.sums} {digest(self.metric).hex()}"


def values_at_scales(
    k: DistanceSimilarity, scales: Sequence[float], distances: Sequence[np.ndarray]
) -> Sequence[np.ndarray]:
    """Return the similarities of several sets of pairs, each at a scale of its own; the distances are overwritten."""
    (name,) = k.resolves
    forms = [k.with_params(**{name: scale}).form() for scale in scales]
    if not all(isinstance(form, tuple) for form in forms):
        return [apply_form(form, D) for form, D in zip(forms, distances, strict=True)]
    loops.apply_each(distances, forms)
    return distances


def proof_with_metric(reason: str) -> Any:
    """Return the property `reason` of a kernel that is proven by this text, and with a metric as its pullback."""
    pullback = "a kernel of T'x and T'z, for any linear map T, is one of x and z: its features are phi(T'x)"
    return stated("metric", reason, lambda k, text: f"{text}; {pullback}")


class Gaussian(DistanceSimilarity):
    r"""The Gaussian kernel, :math:`K(x, z) = \exp(-|x - z|^2 / (2\sigma^2))`.

    (Balcan, lecture notes 10-315, section 1.2.1.) For other conventions of the width see `from_gamma` and `from_c`.

    Parameters
    ----------
    sigma : float or "median"
        The width; ``"median"`` takes the median distance between the vectors it is resolved on (of more than
        1,000 vectors, of a random sample of 1,000).
    metric : array of shape (d,) or (d, r), optional
        A linear map under which vectors are compared: weights of the columns, or a matrix T that takes x to T'x. See
        `learn_kernel`, which learns it.

    Examples
    --------
    >>> from similitude.kernels import Gaussian
    >>> Gaussian(sigma=1.0)([0., 0.], [1., 1.])
    0.36787944
    >>> Gaussian().resolve([[0.], [1.], [3.]])
    Gaussian(sigma=2.0)

    The second column counts for nothing, and the first for twice as much:

    >>> k = Gaussian(sigma=1.0, metric=[2.0, 0.0])
    >>> k([0., 0.], [0.5, 7.])
    0.60653066
    >>> k.proven
    True
    """

    claims = UNIT_KERNEL
    reason = proof_with_metric(
        "exp(-t |x - z|^2) with t > 0, and |x - z|^2 is conditionally negative definite (Schoenberg, 1938)"
    )
    hints = FINITE
    resolves = ("sigma",)
    bounds = bounds_by_axes

    def __init__(self, sigma: float | str = "median", metric: Any = None) -> None:
        self.sigma = sigma
        self.metric = metric

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """Return the kernel ``exp(-gamma |x - z|^2)``, as scikit-learn and LIBSVM write it.

        >>> Gaussian.from_gamma(0.5)
        Gaussian(sigma=1.0)
        """
        return cls(sigma=1.0 / math.sqrt(2.0 * check_positive("gamma", gamma)))

    @classmethod
    def from_c(cls, c: float) -> Gaussian:
        """Return the kernel ``exp(-|x - z|^2 / c^2)``, as in Lecture 6: Kernels.

        >>> Gaussian.from_c(1.0)([0., 0.], [1., 1.])
        0.13533528
        """
        return cls(sigma=check_positive("c", c) / math.sqrt(2.0))

    def form(self) -> Form:
        """Return the function of the distance."""
        return "gaussian", -0.5 / float(self.sigma) ** 2


class Laplace(DistanceSimilarity):
    r"""The Laplace kernel, :math:`K(x, z) = \exp(-|x - z| / (2\sigma^2))` or :math:`\exp(-|x - z| / \sigma)`.

    (Balcan, lecture notes 10-315, section 1.2.1, prints the first scale; the second is the usual one.)

    Parameters
    ----------
    sigma : float or "median"
        The width; ``"median"`` makes the exponent at the median distance -1/2 (squared scale) or -1.
    norm : {1, 2}
        The distance: sum of absolute differences, or Euclidean.
    squared_scale : bool
        Divide by 2 sigma^2 rather than by sigma.
    metric : array of shape (d,) or (d, r), optional
        Weights of the columns; with ``norm=2`` also a matrix T that takes x to T'x.

    Examples
    --------
    >>> from similitude.kernels import Laplace
    >>> Laplace(sigma=1.0)([0., 0.], [1., 1.])
    0.49306869
    >>> Laplace(sigma=1.0, squared_scale=False)([0., 0.], [1., 1.])
    0.24311673
    """

    claims = UNIT_KERNEL
    reason = proof_with_metric(
        "exp(-t |x - z|) with t > 0, and the norm is conditionally negative definite (Schoenberg, 1938)"
    )
    hints = FINITE
    resolves = ("sigma",)

    def __init__(
        self, sigma: float | str = "median", norm: int = 2, squared_scale: bool = True, metric: Any = None
    ) -> None:
        self.sigma = sigma
        self.norm = norm
        self.squared_scale = squared_scale
        self.metric = metric

    def check_params(self) -> None:
        """Validate the norm, the width and the metric."""
        if self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2, got {brief(self.norm)}")
        super().check_params()

    @property
    def sums(self) -> str:
        """Absolute or squared differences, depending on the norm."""
        return "absolute_difference" if self.norm == 1 else "squared_difference"

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Replace "median" by a width that follows from the median distance of X."""
        resolved = super().resolve(X, random_state, sample_weight)
        if resolved is self or not self.squared_scale:
            return resolved
        return resolved.with_params(sigma=math.sqrt(resolved.sigma))

    def form(self) -> Form:
        """Return the function of the distance."""
        p = -0.5 / float(self.sigma) ** 2 if self.squared_scale else -1.0 / float(self.sigma)
        return "gaussian" if self.norm == 1 else "laplace", p


class Matern(DistanceSimilarity):
    r"""The Matern kernel of smoothness nu, which leads from Laplace (nu = 1/2) to Gaussian (nu = inf).

    :math:`K(x, z) = \frac{2^{1-\nu}}{\Gamma(\nu)} u^\nu K_\nu(u)` with :math:`u = \sqrt{2\nu}\,|x - z| / \ell` and
    the modified Bessel function :math:`K_\nu`. (Rasmussen and Williams, Gaussian Processes for Machine Learning,
    2006, section 4.2.1.)

    Parameters
    ----------
    nu : float
        Smoothness; 1/2, 3/2, 5/2 and infinity have closed forms and are fast.
    length : float or "median"
        The length scale.
    metric : array of shape (d,) or (d, r), optional
        Weights of the columns, or a matrix T that takes x to T'x.

    Examples
    --------
    >>> from similitude.kernels import Matern
    >>> Matern(nu=0.5, length=1.0)([0.], [1.])
    0.36787944
    """

    claims = UNIT_KERNEL
    reason = proof_with_metric("its spectral density is positive (a Student t), so it is a kernel by Bochner's theorem")
    resolves = ("length",)
    bounds = bounds_by_axes

    def __init__(self, nu: float = 1.5, length: float | str = "median", metric: Any = None) -> None:
        self.nu = nu
        self.length = length
        self.metric = metric

    @property
    def hints(self) -> Hints:
        """On tensors only with a closed form."""
        return FINITE if self.nu in (0.5, 1.5, 2.5, math.inf) else Hints(finite=True)

    def check_params(self) -> None:
        """Validate the smoothness and the length scale."""
        if not (isinstance(self.nu, float) and self.nu == math.inf) and check_positive("nu", self.nu) > 300:
            raise ValueError(f"nu must be at most 300, or inf for the Gaussian limit, got {brief(self.nu)}")
        super().check_params()

    def form(self) -> Form:
        """Return the closed form for this nu, or the one with the Bessel function."""
        if self.nu == math.inf:
            return "gaussian", -0.5 / float(self.length) ** 2
        p = math.sqrt(2.0 * self.nu) / float(self.length)
        closed = {0.5: ("laplace", -p), 1.5: ("matern3", p), 2.5: ("matern5", p)}
        return closed.get(self.nu, lambda x: _bessel_matern(namespace(x).sqrt(x) * p, float(self.nu)))


def _bessel_matern(u: Any, nu: float) -> Any:
    """Return the Matern function of u in logarithms, and by its power series where the Bessel function overflows."""
    from scipy.special import gammaln, kve

    if not isinstance(u, np.ndarray):
        raise TypeError(f"Matern with nu={nu} works on NumPy arrays only; nu = 0.5, 1.5, 2.5 and inf work on tensors")
    u64 = u.astype(np.float64)
    with np.errstate(all="ignore"):
        values = np.exp((1.0 - nu) * math.log(2.0) - gammaln(nu) + nu * np.log(u64) + np.log(kve(nu, u64)) - u64)
    close = ~np.isfinite(values) | ((u64 < 1e-3) & (nu > 2.5))
    small = u64[close]  # the leading terms of sum_k (u^2/4)^k / (k! (1-nu) ... (k-nu))
    term = total = np.ones_like(small)
    for k in range(1, min(math.ceil(nu), 60)):
        term = term * (small * small / 4.0) / (k * (k - nu))
        total = total + term
    values[close] = total
    return values.astype(u.dtype)


class RationalQuadratic(DistanceSimilarity):
    r"""A mixture of Gaussians of many widths, :math:`K(x, z) = (1 + |x - z|^2 / (2 \alpha \ell^2))^{-\alpha}`.

    (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 4.2.1.)

    Parameters
    ----------
    alpha : float
        How close the widths are to each other; infinity would be a single Gaussian.
    length : float or "median"
        The length scale.
    metric : array of shape (d,) or (d, r), optional
        Weights of the columns, or a matrix T that takes x to T'x.

    Examples
    --------
    >>> from similitude.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0, length=1.0)([0., 0.], [1., 1.])
    0.5
    """

    claims = UNIT_KERNEL
    reason = proof_with_metric("a mixture with weights >= 0 of Gaussian kernels of different widths")
    hints = FINITE
    resolves = ("length",)
    bounds = bounds_by_axes

    def __init__(self, alpha: float = 1.0, length: float | str = "median", metric: Any = None) -> None:
        self.alpha = alpha
        self.length = length
        self.metric = metric

    _checks: ClassVar = {"alpha": check_positive}

    def form(self) -> Form:
        """Return the function of the distance."""
        alpha = float(self.alpha)
        return "rational_quadratic", 1.0 / (2.0 * alpha * float(self.length) ** 2), alpha


def check_metric(metric: Any, vector_only: bool = False) -> None:
    """Validate a metric: weights of the columns, or a matrix with one row per column."""
    T = as_array(metric)
    if T.ndim not in (1, 2) or T.size == 0:
        raise ValueError(
            f"metric must be a vector with one weight per column, or a matrix with one row per column, "
            f"got {brief(metric)} of shape {T.shape}"
        )
    if vector_only and T.ndim == 2:
        remedy = "use norm=2, or a Gaussian, for a matrix"
        raise ValueError(f"with norm=1 metric must be a vector, one weight per column: {remedy}")
    if not np.isfinite(T).all():
        at = tuple(np.argwhere(~np.isfinite(T))[0].tolist())
        raise ValueError(f"metric must consist of finite numbers, but entry {str(at).strip('(,)')} is {float(T[at])}")
    if not T.any():
        raise ValueError("metric is zero in every column, so that all vectors would be equal")


def as_array(metric: Any, name: str = "metric") -> np.ndarray:
    """Return a metric, or another array of a kernel, as floats."""
    try:
        T = np.asarray(metric)
        if T.dtype.kind not in "fiub":
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {brief(metric)}") from None
    return np.asarray(T, dtype=np.float64)


def transformed(A: Any, metric: Any) -> Any:
    """Return the rows of A under the linear map; sparse ones stay sparse under weights, but not under a matrix."""
    T = as_array(metric)
    if T.shape[0] != A.shape[1]:
        what = ("weights", "rows")[T.ndim - 1]
        raise ValueError(f"metric has {T.shape[0]} {what}, one per column, but the vectors have {A.shape[1]} columns")
    if is_sparse(A):
        if T.ndim == 1:
            return A.multiply(T[None, :]).tocsr().astype(A.dtype, copy=False)
        return A @ T.astype(A.dtype)
    T = in_precision(beside(T, A), A.dtype)
    return A * T if T.ndim == 1 else A @ T


def written_metric(metric: Any) -> str:
    """Return a metric as `repr` shows it."""
    T = as_array(metric)
    if T.ndim != 1:
        return f"<{' x '.join(map(str, T.shape))} matrix>"
    if len(T) > 8:
        return f"<{len(T)} weights>"
    if isinstance(metric, (list, tuple)):
        return written(metric)
    return f"[{', '.join(repr(float(f'{value:.4g}')) for value in T)}]"
