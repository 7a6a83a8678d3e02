"""Similarities of vectors by their distance: Gaussian, Laplace, Matern, rational quadratic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, namespace
from similitude.compute.engines.profiles import Profile
from similitude.kernels.checking import check_positive, check_scale
from similitude.kernels.distances import OfDistances
from similitude.kernels.matrix import as_matrix
from similitude.kernels.median import median_distance
from similitude.kernels.products import IDENTITY, Form, into, of_squared_distances, of_sums
from similitude.kernels.vectors import VectorSimilarity
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL

UNIT_KERNEL = frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})


class Gaussian(OfDistances, VectorSimilarity):
    r"""The Gaussian kernel, :math:`K(x, z) = \exp(-|x - z|^2 / (2\sigma^2))`.

    (Balcan, lecture notes 10-315, section 1.2.1.) Other texts write the width otherwise: see `from_gamma` and
    `from_c`.

    Parameters
    ----------
    sigma : float or "median"
        The width; ``"median"`` takes the median distance between the vectors it is resolved on (of more than
        1,000, of a random sample of 1,000).

    Examples
    --------
    >>> from similitude.kernels import Gaussian
    >>> Gaussian(sigma=1.0)([0., 0.], [1., 1.])
    0.36787944
    >>> Gaussian().resolve([[0.], [1.], [3.]])
    Gaussian(sigma=2.0)
    """

    claims = UNIT_KERNEL
    finite = True
    reason = "exp(-t |x - z|^2) with t > 0, and |x - z|^2 is conditionally negative definite (Schoenberg, 1938)"
    resolves = ("sigma",)

    def __init__(self, sigma: float | str = "median") -> None:
        self.sigma = sigma

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

    def check_params(self) -> None:
        """Refuse a sigma that is neither "median" nor positive."""
        check_scale("sigma", self.sigma)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Gaussian:
        """Fix sigma at the median distance of X."""
        if not self.unresolved():
            return self
        return self._with(sigma=median_distance(as_matrix(X), euclidean, random_state, sample_weight))

    def _form(self) -> Form:
        p = -0.5 / float(self.sigma) ** 2
        return Form(("gaussian", p), lambda x: namespace(x).exp(p * x))

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return ones(A)


class Laplace(OfDistances, VectorSimilarity):
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

    Examples
    --------
    >>> from similitude.kernels import Laplace
    >>> Laplace(sigma=1.0)([0., 0.], [1., 1.])
    0.49306869
    >>> Laplace(sigma=1.0, squared_scale=False)([0., 0.], [1., 1.])
    0.24311673
    """

    claims = UNIT_KERNEL
    finite = True
    reason = "exp(-t |x - z|) with t > 0, and the norm is conditionally negative definite (Schoenberg, 1938)"
    resolves = ("sigma",)

    def __init__(self, sigma: float | str = "median", norm: int = 2, squared_scale: bool = True) -> None:
        self.sigma = sigma
        self.norm = norm
        self.squared_scale = squared_scale

    def check_params(self) -> None:
        """Refuse a sigma that is neither "median" nor positive, and other norms."""
        check_scale("sigma", self.sigma)
        if self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2, got {self.norm!r}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Laplace:
        """Fix sigma by the median distance of X."""
        if not self.unresolved():
            return self
        median = median_distance(as_matrix(X), self._distances, random_state, sample_weight)
        return self._with(sigma=math.sqrt(median) if self.squared_scale else median)

    def _distances(self, A: Any, B: Any) -> Any:
        return euclidean(A, B) if self.norm == 2 else manhattan(A, B)

    @property
    def terms(self) -> str:
        """Absolute or squared differences, as the norm is."""
        return "absolute_difference" if self.norm == 1 else "squared_difference"

    def _form(self) -> Form:
        p = -0.5 / float(self.sigma) ** 2 if self.squared_scale else -1.0 / float(self.sigma)
        if self.norm == 1:
            return Form(("gaussian", p), lambda x: namespace(x).exp(p * x))
        return Form(("laplace", p), lambda x: namespace(x).exp(p * namespace(x).sqrt(x)))

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return ones(A)


class Matern(OfDistances, VectorSimilarity):
    r"""The Matern kernel of smoothness nu, a bridge from Laplace (nu = 1/2) to Gaussian (nu = inf).

    :math:`K(x, z) = \frac{2^{1-\nu}}{\Gamma(\nu)} u^\nu K_\nu(u)` with :math:`u = \sqrt{2\nu}\,|x - z| / \ell` and
    the modified Bessel function :math:`K_\nu`. (Rasmussen and Williams, Gaussian Processes for Machine Learning,
    2006, section 4.2.1.)

    Parameters
    ----------
    nu : float
        Smoothness; 1/2, 3/2, 5/2 and infinity have simple formulas and are fast.
    length : float or "median"
        The length scale.

    Examples
    --------
    >>> from similitude.kernels import Matern
    >>> Matern(nu=0.5, length=1.0)([0.], [1.])
    0.36787944
    """

    claims = UNIT_KERNEL
    finite = True
    reason = "its spectral density is positive (a Student t), so it is a kernel by Bochner's theorem"
    resolves = ("length",)

    def __init__(self, nu: float = 1.5, length: float | str = "median") -> None:
        self.nu = nu
        self.length = length

    def check_params(self) -> None:
        """Refuse a nu that is not positive and a length that is neither "median" nor positive."""
        if not (isinstance(self.nu, float) and self.nu == math.inf) and check_positive("nu", self.nu) > 300:
            raise ValueError(f"nu must be at most 300, or inf for the Gaussian limit, got {self.nu!r}")
        check_scale("length", self.length)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Matern:
        """Fix the length at the median distance of X."""
        if not self.unresolved():
            return self
        return self._with(length=median_distance(as_matrix(X), euclidean, random_state, sample_weight))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the formula for this nu at the scaled distances."""
        if self.nu in self._forms():
            return super().block(A, B, out)
        return into(out, self.of_distances(self.distances(A, B)))

    @property
    def on_tensors(self) -> bool:
        """True for a nu with a simple formula."""
        return self.nu in self._forms()

    def profile(self) -> Profile | None:
        """Return the formula for this nu, where it is a simple one."""
        return super().profile() if self.nu in self._forms() else None

    def of_distances(self, D: Any) -> Any:
        """Return the formula for this nu at the scaled distances; D is overwritten."""
        if self.nu in self._forms():
            return super().of_distances(D)
        return _bessel_matern(namespace(D).sqrt(D) * (math.sqrt(2.0 * self.nu) / float(self.length)), float(self.nu))

    def _form(self) -> Form:
        return self._forms()[self.nu]

    def _forms(self) -> dict[float, Form]:
        length = float(self.length)
        p = math.sqrt(2.0 * self.nu) / length if self.nu != math.inf else -0.5 / length**2
        return {
            0.5: Form(("laplace", -p), lambda x: namespace(x).exp(-p * namespace(x).sqrt(x))),
            1.5: Form(("matern3", p), lambda x: _damped(x, p, lambda u: 1.0 + u)),
            2.5: Form(("matern5", p), lambda x: _damped(x, p, lambda u: 1.0 + u + u * u / 3.0)),
            math.inf: Form(("gaussian", p), lambda x: namespace(x).exp(p * x)),
        }

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return ones(A)


def _damped(x: Any, p: float, polynomial: Callable[[Any], Any]) -> Any:
    u = p * namespace(x).sqrt(x)
    return polynomial(u) * namespace(x).exp(-u)


def _bessel_matern(u: Any, nu: float) -> Any:
    """Return the Matern function of u in logarithms, and by its power series where the Bessel function overflows."""
    from scipy.special import gammaln, kve

    if not isinstance(u, np.ndarray):
        raise TypeError(f"Matern with nu={nu} works on NumPy arrays only; nu = 0.5, 1.5, 2.5 and inf work on tensors")
    u64 = u.astype(np.float64)
    with np.errstate(all="ignore"):
        values = np.exp((1.0 - nu) * math.log(2.0) - gammaln(nu) + nu * np.log(u64) + np.log(kve(nu, u64)) - u64)
    close = ~np.isfinite(values) | ((u64 < 1e-3) & (nu > 2.5))
    values[close] = _matern_series(u64[close], nu)
    return values.astype(u.dtype)


def _matern_series(u: np.ndarray, nu: float) -> np.ndarray:
    """Return the leading terms of the Matern function at a small u: sum of (u^2/4)^k / (k! (1-nu) ... (k-nu))."""
    total, term = np.ones_like(u), np.ones_like(u)
    for k in range(1, min(math.ceil(nu), 60)):
        term = term * (u * u / 4.0) / (k * (k - nu))
        total += term
    return total


class RationalQuadratic(OfDistances, VectorSimilarity):
    r"""A mixture of Gaussians of many widths, :math:`K(x, z) = (1 + |x - z|^2 / (2 \alpha \ell^2))^{-\alpha}`.

    (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 4.2.1.)

    Parameters
    ----------
    alpha : float
        How alike the widths are; infinity would be one Gaussian.
    length : float or "median"
        The length scale.

    Examples
    --------
    >>> from similitude.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0, length=1.0)([0., 0.], [1., 1.])
    0.5
    """

    claims = UNIT_KERNEL
    finite = True
    reason = "a mixture with weights >= 0 of Gaussian kernels of different widths"
    resolves = ("length",)

    def __init__(self, alpha: float = 1.0, length: float | str = "median") -> None:
        self.alpha = alpha
        self.length = length

    def check_params(self) -> None:
        """Refuse an alpha that is not positive and a length that is neither "median" nor positive."""
        check_positive("alpha", self.alpha)
        check_scale("length", self.length)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> RationalQuadratic:
        """Fix the length at the median distance of X."""
        if not self.unresolved():
            return self
        return self._with(length=median_distance(as_matrix(X), euclidean, random_state, sample_weight))

    def _form(self) -> Form:
        alpha = float(self.alpha)
        p = 1.0 / (2.0 * alpha * float(self.length) ** 2)
        return Form(("rational_quadratic", p, alpha), lambda x: (1.0 + p * x) ** -alpha)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return ones(A)


def ones(A: Any) -> Any:
    """Return one 1 per row, in the precision and namespace of A."""
    return np.ones(A.shape[0], A.dtype) if namespace(A) is np else namespace(A).ones_like(A[:, 0])


def euclidean(A: Any, B: Any) -> Any:
    """Return the distances |a_i - b_j|."""
    return of_squared_distances(A, B, Form(("root",), lambda x: namespace(x).sqrt(x)))


def manhattan(A: Any, B: Any) -> Any:
    """Return the distances sum_k |a_ik - b_jk|."""
    return of_sums(A, B, "absolute_difference", IDENTITY)
