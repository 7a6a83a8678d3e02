"""Products of a described similarity with vectors, fused: the choice between ways of computing, and what each needs.

Three ways, in single precision and by a bound that is known before anything is computed:

``fp16x3``
    Each number is split into two halves of 11 bits, and dot products are three products on tensor cores, added in
    float32: 22 bits, as with three products in tf32, at twice their rate.
``tf32x3``
    The same with tf32 numbers, where rows differ in length by more than half precision can hold.
``direct``
    Differences feature by feature, where a distance could drown in the rounding of long vectors, and for functions
    of the root of a distance, which magnify rounding near zero. Where few rows are long, only what has to do with them.
"""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from typing import Any

import torch

from similitude.compute.hints import Profile, Term

LOG2E = 1.4426950408889634

LONGEST = 256.0
"""Squared length, in units of the exponent's bits, up to which distances go through dot products.

Rounding in single precision then changes a value by 2e-5 at most, and by 1e-7 times the squared length in general.
"""

UNEVEN = 2.0**10
"""Largest over smallest length of a row from which on half precision would lose digits of the short ones."""

FEW = 0.5
"""The part of the rows up to which long ones are computed apart, so that the others can go another way."""

FAR = 16.0
"""How many times as far from the middle as most rows a row must be to have no part in the mean."""

MOST_FACTORS = 10
"""The largest degree of a polynomial that is multiplied out."""

APART, NARROW = 3, 64
"""Outputs and features up to which outputs come one after another: products with several are padded to 16."""

OF_DOTS = ("gaussian", "rational_quadratic")
"""Functions of squared distances that are smooth at zero: these may go through dot products."""


@functools.lru_cache(maxsize=1)
def kernels() -> Any:
    """Return the Triton kernels; None where Triton cannot be imported."""
    try:
        from similitude.compute.engines.torch import kernels
    except ImportError:
        return None
    return kernels


def can_fuse(profile: Profile | None, device: torch.device, dtype: torch.dtype) -> bool:
    """Tell whether there are fused products of this similarity here."""
    runs = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    if profile is None or dtype != torch.float32 or not runs or kernels() is None:
        return False
    return all(_is_known(term) for term in profile.terms)


def _is_known(term: Term) -> bool:
    name = term.form[0]
    if term.sums != "product":
        return name in kernels().SUM_FORMS
    return name in ("identity", "sigmoid") or (name == "polynomial" and term.form[3] <= MOST_FACTORS)


@dataclass(frozen=True)
class Split:
    """Rows as the kernel of dot products takes them."""

    high: torch.Tensor
    low: torch.Tensor
    offset: torch.Tensor
    n: int


@dataclass(frozen=True)
class Direct:
    """Rows as the kernel of differences takes them: a feature in each row."""

    features: torch.Tensor
    n: int


class Rows:
    """Vectors on the device, made ready for one term of a profile; each form is made when it is asked for.

    Parameters
    ----------
    X : tensor of shape (n, d), float32
    term : Term
    center : tensor of shape (d,)
        Taken off before distances are computed, the same on both sides.
    """

    def __init__(self, X: torch.Tensor, term: Term, center: torch.Tensor | None) -> None:
        self.X, self.term = X, term
        self.center = None if term.sums == "product" else center
        self._made: dict[str, Any] = {}

    def only(self, which: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[which], self.term, self.center)

    def forget(self) -> None:
        """Drop the forms that were made."""
        self._made.clear()
        self.__dict__.pop("by_length", None)

    def _scaled(self) -> torch.Tensor:
        """Return the vectors in units in which the dot product is what the function needs."""
        if self.center is None:
            return self.X
        return (self.X - self.center) * _unit(self.term)

    @functools.cached_property
    def _norms(self) -> torch.Tensor:
        return torch.linalg.vector_norm(self._scaled(), dim=1)

    @functools.cached_property
    def n_long(self) -> int:
        """How many rows are so long that their distances do not go through dot products."""
        return int((self._norms.square() > LONGEST).sum())

    @functools.cached_property
    def by_length(self) -> tuple[tuple[Any, Rows], tuple[Any, Rows]]:
        """Where the short rows are, and they themselves; the same of the long ones."""
        if not self.n_long:
            return (slice(None), self), (slice(0, 0), self.only(slice(0, 0)))
        long = self._norms.square() > LONGEST
        short, far = torch.nonzero(~long)[:, 0], torch.nonzero(long)[:, 0]
        return (short, self.only(short)), (far, self.only(far))

    @functools.cached_property
    def lengths(self) -> tuple[float, float]:
        """The smallest and largest length of a row, but for rows of zeros."""
        some = self._norms[self._norms > 0]
        return (float(some.min()), float(some.max())) if len(some) else (1.0, 1.0)

    @functools.cached_property
    def largest(self) -> float:
        """The largest entry in absolute value."""
        return float(self.X.abs().max())

    def split(self, way: str, power: float) -> Split:
        """Return the rows divided by a power of two, in the precision of a way."""
        key = f"{way} {power}"
        if key not in self._made:
            self._made[key] = _split(self._scaled() / power, way)
        return self._made[key]

    def direct(self) -> Direct:
        """Return the features, one in each row."""
        if "direct" not in self._made:
            X = self.X if self.center is None else self.X - self.center
            wide = torch.zeros(X.shape[1], kernels().padded(len(X)), device=X.device)
            wide[:, : len(X)] = X.T
            self._made["direct"] = Direct(wide, len(X))
        return self._made["direct"]


def _split(Z: torch.Tensor, way: str) -> Split:
    """Return rows padded to whole tiles, split where the way needs it, with minus half their squared lengths."""
    n, d = Z.shape
    rows, width = kernels().padded(n), kernels().chunks(d)[0]
    high = torch.zeros(rows, width, device=Z.device, dtype=torch.float16 if way == "fp16x3" else torch.float32)
    high[:n, :d] = Z
    low = high
    if way == "fp16x3":
        low = torch.zeros_like(high)
        low[:n, :d] = Z - high[:n, :d].to(torch.float32)
    offset = torch.zeros(rows, device=Z.device)
    for start in range(0, n, 2**20):  # a few rows at a time in double precision
        some = slice(start, start + 2**20)
        offset[:n][some] = (-0.5 * Z[some].to(torch.float64).square().sum(1)).to(torch.float32)
    return Split(high, low, offset, n)


def _unit(term: Term) -> float:
    """Return by what vectors are multiplied so that half their squared distance is the argument of the function."""
    name, p = term.form[0], float(term.form[1])
    return math.sqrt(-2.0 * p * LOG2E) if name == "gaussian" else math.sqrt(2.0 * p)


def way_of(x: Rows, y: Rows, precision: str) -> str:
    """Return the way in which a term is computed, by the lengths of the rows on both sides."""
    term = x.term
    if term.form[0] == "identity":
        return "two products"
    if _few_long(x, y):
        return f"{way_of(x.by_length[0][1], y.by_length[0][1], precision)} and direct"
    if term.sums == "absolute_difference" or (term.sums == "squared_difference" and term.form[0] not in OF_DOTS):
        return "direct"
    shortest, longest = min(x.lengths[0], y.lengths[0]), max(x.lengths[1], y.lengths[1])
    if term.sums == "squared_difference" and longest**2 > LONGEST:
        return "direct"
    if precision == "tf32":
        return "tf32"
    uneven = term.sums == "product" and longest > UNEVEN * shortest
    return "tf32x3" if uneven else "fp16x3"


def middle(X: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows, but for those that are far from all others."""
    apart = torch.linalg.vector_norm(X - torch.sort(X, dim=0).values[len(X) // 2], dim=1)
    usual = apart <= FAR * torch.sort(apart).values[len(X) // 2]
    return X[usual].mean(0)


def _few_long(x: Rows, y: Rows) -> bool:
    """Tell whether distances could go through dot products, but for those of a few rows."""
    if x.term.sums != "squared_difference" or x.term.form[0] not in OF_DOTS or not (x.n_long or y.n_long):
        return False
    return all(one.n_long <= FEW * len(one.X) for one in (x, y))


def _by_length(x: Rows, y: Rows, V: torch.Tensor, precision: str) -> torch.Tensor:
    """Return the sums, with short and long rows apart."""
    (near, x_short), (far, x_long) = x.by_length
    (y_near, y_short), (y_far, y_long) = y.by_length
    total = torch.empty(len(x.X), V.shape[1], device=V.device, dtype=torch.float64)
    total[near] = times(x_short, y_short, V[y_near], precision)
    if y.n_long:
        total[near] += times(x_short, y_long, V[y_far], precision)
    if x.n_long:
        total[far] = times(x_long, y, V, precision)
    return total


def times(x: Rows, y: Rows, V: torch.Tensor, precision: str = "float32") -> torch.Tensor:
    """Return the sums over the rows of y of the term times V, for every row of x, in float64."""
    if _few_long(x, y):
        return _by_length(x, y, V, precision)
    term, way = x.term, way_of(x, y, precision)
    name, *parameters = term.form
    if way == "two products":
        return term.weight * (x.X @ (y.X.T @ V)).to(torch.float64)
    if way == "direct":
        p, q = _exponents(name, parameters)
        absolute = term.sums == "absolute_difference"
        sums = kernels().of_sums(x.direct(), y.direct(), V, absolute, name, p, q)
        return term.weight * sums
    if term.sums == "product":
        power = 2.0 ** math.ceil(math.log2(max(x.largest, y.largest, 1e-30)) - 8)
        p, q = float(parameters[0]) * power**2, float(parameters[1])
        degree = int(parameters[2]) if name == "polynomial" else 1
    else:
        power, p, q, degree = 1.0, 0.0, float(parameters[1]) if name == "rational_quadratic" else 0.0, 1
    apart = V.split(1, dim=1) if V.shape[1] <= APART and x.X.shape[1] <= NARROW else [V]
    left, right = x.split(way, power), y.split(way, power)
    sums = [kernels().of_dots(left, right, part, name, p, q, degree, way) for part in apart]
    return term.weight * torch.cat(sums, dim=1)


def _exponents(name: str, parameters: list[Any]) -> tuple[float, float]:
    """Return the parameters as the kernel of differences takes them: exponents in powers of two."""
    p = float(parameters[0]) * (LOG2E if name in ("gaussian", "laplace") else 1.0)
    return p, float(parameters[1]) if len(parameters) > 1 else 0.0
