"""Random frequencies whose mean cosine is a kernel of differences: their laws, and three ways to draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, is_sparse
from similitude.compute.engines import one_blas_thread
from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.vectors import IDENTITY, pairwise
from similitude.maps.sketches import hadamard, padded, random_signs, strips
from similitude.similarity import Scaled

MIN_DIMENSION = 64
"""Dimension to which shorter vectors are padded before structured transforms: their directions are then many."""

FASTEST = 1e18
"""Largest factor by which a heavy-tailed law increases a frequency: larger angles have no correct digits."""


@dataclass(frozen=True)
class Law:
    """The law of frequencies whose mean cosine is a kernel: a normal vector times `scale` times a random factor.

    ``stretch(rng, m)`` draws m of these factors. Without `radial` the entries are independent Cauchy variables.
    """

    scale: float
    stretch: Callable[[np.random.Generator, int], Any] = lambda rng, m: 1.0
    radial: bool = True
    factor: float = 1.0


def law_of(kernel: Any) -> Law:
    """Return the law of frequencies of a kernel; a scale that is not resolved counts as 1."""
    kind = type(kernel)  # a subclass may compute something else
    if kind is Scaled and kernel.factor > 0:
        inside = law_of(kernel.k)
        return replace(inside, factor=inside.factor * float(kernel.factor))
    if kind is Gaussian:
        return Law(1.0 / _number(kernel.sigma))
    if kind is Laplace:
        sigma = _number(kernel.sigma)
        rate = 0.5 / sigma**2 if kernel.squared_scale else 1.0 / sigma
        return Law(rate, _student(1.0)) if kernel.norm == 2 else Law(rate, radial=False)
    if kind is Matern:
        scale = 1.0 / _number(kernel.length)
        return Law(scale) if kernel.nu == math.inf else Law(scale, _student(2.0 * kernel.nu))
    if kind is RationalQuadratic:
        alpha = float(kernel.alpha)
        return Law(1.0 / _number(kernel.length), lambda rng, m: np.sqrt(rng.gamma(alpha, 1.0 / alpha, m)))
    raise TypeError(
        f"FourierMap knows the frequencies of Gaussian, Laplace, Matern and RationalQuadratic kernels and of positive "
        f"multiples of them, not of their subclasses, got {kernel!r}: ProjectionMap takes any kernel, "
        f"PolynomialSketchMap polynomial ones"
    )


def base_kernel(kernel: Any) -> Any:
    """Return the kernel below positive factors, which encodes the vectors that frequencies are drawn for."""
    return base_kernel(kernel.k) if type(kernel) is Scaled else kernel


def _number(scale: Any) -> float:
    return 1.0 if isinstance(scale, str) else float(scale)


def _student(degrees: float) -> Callable[[np.random.Generator, int], Any]:
    """Return what makes a normal vector one of the multivariate Student law."""
    return lambda rng, m: np.sqrt(np.minimum(degrees / np.maximum(rng.chisquare(degrees, m), 1e-300), FASTEST**2))


@dataclass(frozen=True)
class Draw:
    """A draw of m frequencies for vectors of dimension d."""

    law: Law
    d: int
    m: int
    rng: np.random.Generator

    def plain(self) -> Matrix:
        """Return independent frequencies."""
        shape = (self.d, self.m)
        directions = self.rng.standard_normal(shape) if self.law.radial else self.rng.standard_cauchy(shape)
        return Matrix(directions * self._scales())

    def orthogonal(self) -> Matrix:
        """Return frequencies whose directions are orthogonal in blocks of d; each alone follows the law.

        The signs of the directions are those that the factorization gives: cosines and pairs do not depend on them.
        """
        blocks, rest = divmod(self.m, self.d)
        with one_blas_thread:  # several would wait for each other more than they work
            directions = list(np.linalg.qr(self.rng.standard_normal((blocks, self.d, self.d)))[0]) if blocks else []
            if rest:
                directions.append(_orthonormal(self.rng.standard_normal((self.d, rest))))
        lengths = np.sqrt(self.rng.chisquare(self.d, self.m)) * self._scales()
        return Matrix(np.concatenate(directions, axis=1) * lengths)

    def structured(self) -> Structured:
        """Return frequencies whose directions are rows of products H D H D H D."""
        size = max(MIN_DIMENSION, padded(self.d))
        signs = random_signs(self.rng, (3, size * math.ceil(self.m / size)), np.dtype(np.float64))
        lengths = np.sqrt(self.rng.chisquare(size, self.m)) * self._scales()
        return Structured(signs, size, lengths / size**1.5)

    def _scales(self) -> Any:
        return self.law.stretch(self.rng, self.m) * (self.law.scale * 2.0 / math.pi)


def _orthonormal(G: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the span of normal columns; few of them, far from dependent, need no pivots."""
    if 2 * G.shape[1] > G.shape[0]:
        return np.linalg.qr(G)[0]
    from scipy.linalg import solve_triangular

    return solve_triangular(np.linalg.cholesky(G.T @ G), G.T, lower=True, check_finite=False).T


@dataclass(frozen=True, eq=False)
class Matrix:
    """Frequencies in quarter turns, as the columns of a matrix."""

    weights: np.ndarray

    def astype(self, dtype: np.dtype) -> Matrix:
        """Return them in another precision."""
        return Matrix(self.weights.astype(dtype, copy=False))

    def strips(self, n: int) -> Iterable[slice]:
        """Return all rows at once, for one matrix product."""
        return [slice(0, n)]

    def write_turns(self, A: Encoding, out: np.ndarray) -> None:
        """Write the angle of every row at every frequency, in quarter turns."""
        if is_sparse(A):
            pairwise(A, self.weights.T, "product", IDENTITY, out)
        else:
            np.matmul(A, self.weights, out=out)


@dataclass(frozen=True, eq=False)
class Structured:
    """Frequencies as products of signs and Walsh-Hadamard matrices of a size, times their lengths in quarter turns."""

    signs: np.ndarray
    size: int
    lengths: np.ndarray

    def astype(self, dtype: np.dtype) -> Structured:
        """Return them in another precision."""
        return replace(self, signs=self.signs.astype(dtype, copy=False), lengths=self.lengths.astype(dtype, copy=False))

    def strips(self, n: int) -> Iterable[slice]:
        """Return rows few enough for the cache."""
        return strips(n, self.signs.shape[1] * self.signs.itemsize)

    def write_turns(self, A: Encoding, out: np.ndarray) -> None:
        """Write the angle of every row at every frequency, in quarter turns."""
        np.multiply(hadamard(A, self.signs, self.size)[:, : len(self.lengths)], self.lengths, out=out)
