"""Fused products of kernels of vectors: the choice between three methods, and the vectors in the form each needs.

The methods work in single precision, within an error bound that is known in advance:

``fp16x3``
    Each number is split into two half-precision numbers of 11 bits, and a dot product is three products on tensor
    cores, added in float32: 22 bits, as with three products in tf32, at twice their rate.
``tf32x3``
    The same with tf32 numbers, if the norms of the rows differ by more than half precision can represent.
``direct``
    Differences feature by feature, if a distance could be lost in the rounding of large norms, and for functions of the
    square root of a distance, which amplify rounding near zero. If few rows have large norms, only those.
"""

from __future__ import annotations

import functools
import math
import os
from functools import partial
from typing import Any

import torch

from similitude.compute.hints import Profile, Term

LOG2E = 1.4426950408889634

MAX_SQUARED_NORM = 10.0
"""Squared norm, in bits of the exponent, up to which distances are computed from dot products.

Rounding in single precision changes a value by up to 1e-7 times the squared norm. Vectors of larger norm that are close
to others lie in clusters: those of vectors far from all others are below 1e-3.
"""


FUSED_OUTPUTS = 32
"""Outputs that are computed at once: more need longer compilation, and at last more shared memory than there is."""

SMOOTH_AT_ZERO = ("gaussian", "rational_quadratic")
"""Functions of squared distances that are smooth at zero: these may be computed from dot products."""


@functools.lru_cache(maxsize=1)
def kernels() -> Any:
    """Return the module of Triton kernels, or None if Triton cannot be imported."""
    try:
        from similitude.compute.engines.torch import triton_kernels
    except ImportError:
        return None
    return triton_kernels


def can_fuse(profile: Profile | None, device: torch.device, dtype: torch.dtype) -> bool:
    """Tell whether this device has fused products of a similarity."""
    runs = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    if profile is None or dtype != torch.float32 or not runs or kernels() is None:
        return False
    return all(_is_known(term) for term in profile.terms)


def _is_known(term: Term) -> bool:
    name = term.form[0]
    if term.sums != "product":
        return name in kernels().SUM_FORMS
    # the largest degree of a polynomial that is multiplied out
    return name in ("identity", "sigmoid") or (name == "polynomial" and term.form[3] <= 10)


class PreparedVectors:
    """Vectors in float32 on the device, prepared for one term of a profile; each form is made when it is first used."""

    def __init__(self, X: torch.Tensor, term: Term, center: torch.Tensor | None) -> None:
        self.X = X
        self.term = term
        self.center = None if term.sums == "product" else center  # subtracted before products, not before differences
        self._made: dict[str, Any] = {}

    def subset(self, which: Any) -> PreparedVectors:
        """Return some of the vectors."""
        return PreparedVectors(self.X[which], self.term, self.center)

    def forget(self) -> None:
        """Free the prepared forms."""
        self._made.clear()
        for name in ("by_norm", "_offset"):
            self.__dict__.pop(name, None)

    @property
    def _unit(self) -> float:
        """The unit in which the dot product of two vectors is the argument of the function."""
        if self.center is None:
            return 1.0
        name, p, *_ = self.term.form
        return math.sqrt(-2.0 * p * LOG2E) if name == "gaussian" else math.sqrt(2.0 * p)

    @functools.cached_property
    def _offset(self) -> torch.Tensor:
        """Minus half the squared norms, with zeros for padding."""
        return kernels().offsets(self.X, self.center, self._unit)

    @property
    def _is_large(self) -> torch.Tensor:
        return self._offset[: len(self.X)] < -0.5 * MAX_SQUARED_NORM

    @functools.cached_property
    def n_large(self) -> int:
        """The number of vectors whose norm is too large for distances from dot products."""
        return int(self._is_large.sum())

    @functools.cached_property
    def by_norm(self) -> tuple[tuple[Any, PreparedVectors], tuple[Any, PreparedVectors]]:
        """The positions of the vectors of small norm, and these vectors; the same for those of large norm."""
        if not self.n_large:
            return (slice(None), self), (slice(0, 0), self.subset(slice(0, 0)))
        is_large = self._is_large
        small = torch.nonzero(~is_large)[:, 0]
        large = torch.nonzero(is_large)[:, 0]
        return (small, self.subset(small)), (large, self.subset(large))

    @functools.cached_property
    def norm_range(self) -> tuple[float, float]:
        """The smallest and largest norm, except for zero vectors."""
        norms = (-2.0 * self._offset[: len(self.X)]).sqrt()
        positive = norms[norms > 0]
        if not len(positive):
            return 1.0, 1.0
        return float(positive.min()), float(positive.max())

    @functools.cached_property
    def largest(self) -> float:
        """The largest entry in absolute value."""
        return float(self.X.abs().max())

    def split(self, method: str, power: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the vectors divided by a power of two, in two parts by a method, and their offsets."""
        key = f"{method} {power}"
        if key not in self._made:
            halves = kernels().halves(self.X, self.center, self._unit / power, method == "fp16x3")
            self._made[key] = *halves, self._offset / power**2
        return self._made[key]

    def feature_rows(self) -> torch.Tensor:
        """Return the vectors transposed, one feature per row, padded to whole tiles."""
        if "direct" not in self._made:
            n, d = self.X.shape
            wide = torch.zeros(d, kernels().padded_rows(n), device=self.X.device, dtype=torch.float32)
            wide[:, :n] = self.X.T
            self._made["direct"] = wide
        return self._made["direct"]


def method_of(x: PreparedVectors, y: PreparedVectors, precision: str) -> str:
    """Return the method by which a term is computed, from the norms of the vectors on both sides."""
    term = x.term
    if term.form[0] == "identity":
        return "two products"
    if _few_large(x, y):
        return f"{method_of(x.by_norm[0][1], y.by_norm[0][1], precision)} and direct"
    if term.sums == "absolute_difference" or (term.sums == "squared_difference" and term.form[0] not in SMOOTH_AT_ZERO):
        return "direct"
    smallest = min(x.norm_range[0], y.norm_range[0])
    largest = max(x.norm_range[1], y.norm_range[1])
    if term.sums == "squared_difference" and largest**2 > MAX_SQUARED_NORM:
        return "direct"
    if precision == "tf32":
        return "tf32"
    # largest over smallest norm of the rows up to which half precision keeps the digits of the small ones
    uneven = term.sums == "product" and largest > (2.0**10) * smallest
    return "tf32x3" if uneven else "fp16x3"


def robust_mean(X: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows without outliers."""
    distance = torch.linalg.vector_norm(X - torch.sort(X, dim=0).values[len(X) // 2], dim=1)
    # distance from the center, over the median distance, from which on a row is left out of the mean
    usual = distance <= 16.0 * torch.sort(distance).values[len(X) // 2]
    return X[usual].mean(0)


def _few_large(x: PreparedVectors, y: PreparedVectors) -> bool:
    """Tell whether distances can be computed from dot products except for those of a few vectors."""
    if x.term.sums != "squared_difference" or x.term.form[0] not in SMOOTH_AT_ZERO or not (x.n_large or y.n_large):
        return False
    # share of rows with large norms up to which these are computed separately by the direct method
    return all(one.n_large <= 0.5 * len(one.X) for one in (x, y))


def _times_by_norm(x: PreparedVectors, y: PreparedVectors, V: torch.Tensor, precision: str) -> torch.Tensor:
    """Return the product, with vectors of small and of large norm computed separately."""
    (small, x_small), (large, x_large) = x.by_norm
    (y_small_at, y_small), (y_large_at, y_large) = y.by_norm
    total = torch.empty(len(x.X), V.shape[1], device=V.device, dtype=torch.float64)
    total[small] = times(x_small, y_small, V[y_small_at], precision)
    if y.n_large:
        total[small] += times(x_small, y_large, V[y_large_at], precision)
    if x.n_large:
        total[large] = times(x_large, y, V, precision)
    return total


def times(x: PreparedVectors, y: PreparedVectors, V: torch.Tensor, precision: str = "float32") -> torch.Tensor:
    """Return the product of the matrix of one term, of the vectors x and y, with V, in float64."""
    if _few_large(x, y):
        return _times_by_norm(x, y, V, precision)
    term = x.term
    method = method_of(x, y, precision)
    if method == "two products":
        return term.weight * (x.X @ (y.X.T @ V)).to(torch.float64)
    name = term.form[0]
    p, q, degree = (*map(float, term.form[1:]), *(0.0, 0.0, 1.0)[len(term.form) - 1 :])
    sizes = len(x.X), len(y.X)
    if method == "direct":
        if name in ("gaussian", "laplace"):
            p *= LOG2E
        vectors = x.feature_rows(), y.feature_rows()
        product = partial(kernels().of_sums, vectors, sizes, term.sums == "absolute_difference", name, p, q)
    else:
        power = 1.0
        if term.sums == "product":
            power = 2.0 ** math.ceil(math.log2(max(x.largest, y.largest, 1e-30)) - 8)
            p *= power**2
        vectors = x.split(method, power), y.split(method, power)
        product = partial(kernels().of_dots, vectors, sizes, name, p, q, int(degree), method)
    width = FUSED_OUTPUTS
    if method != "direct" and V.shape[1] <= 3 and x.X.shape[1] <= 64:  # several at once are padded to 16
        width = 1
    return term.weight * torch.cat([product(part) for part in V.split(width, dim=1)], dim=1)
