"""Weighted rows of features, centered at their mean: the products that the solvers need, on NumPy or on a device."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from similitude.compute import as_numpy, beside, in_precision, itemsize, namespace
from similitude.linear.lapack import ShiftedFactors
from similitude.linear.moments import OFF_CENTER, STRIP_BYTES, LinearModel, products, strips, zeros

FEWEST_NARROW = 2**16
"""Values of features from which on rough products in single precision save time."""


class Features:
    """Weighted rows x of features, centered at their weighted mean m; weights w and intercept b are stacked, b last.

    With x - m for x, the best intercept hardly depends on w; that of the features themselves is b - m' w. Products are
    accumulated in float64 strip by strip, where F is. Rough products, in the precision of the features, only update
    scores and gradients after a step: their relative error, about 1e-6 of the update, vanishes with the steps.
    """

    def __init__(self, F: Any, weights: np.ndarray) -> None:
        self.F = F
        self.weights = self.placed(np.asarray(weights, dtype=np.float64))
        self.total = float(self.weights.sum())
        self.mean = zeros((F.shape[1],), F)
        for rows, strip in strips(F):
            self.mean += strip.T @ self.weights[rows]
        self.mean /= self.total

    def placed(self, array: np.ndarray) -> Any:
        """Return the array as a tensor on the device of the features, or as it is."""
        return beside(array, self.F)

    @property
    def single(self) -> bool:
        """Whether the features are in single precision, so that rough products differ from exact ones."""
        return itemsize(self.F) == 4

    @cached_property
    def gram(self) -> Any:
        """The sum of s (x - m)(x - m)' in float64; of a NumPy array the upper triangle, in Fortran order."""
        total = zeros((self.F.shape[1],) * 2, self.F).T
        for rows, strip in strips(self.F, self.mean):
            total = _plus_gram(total, strip, self.weights[rows])
        return total

    def hessian(self, curvatures: Any) -> Any:
        """Return the sum of c (x - m, 1)(x - m, 1)' for curvatures c, stored like `gram`."""
        xp = namespace(self.F)
        total = zeros((self.F.shape[1] + 1,) * 2, self.F).T
        for rows, strip in strips(self.F, self.mean):
            c = curvatures[rows]
            if isinstance(strip, np.ndarray):  # on a device, selecting the rows with curvature would cost more
                strip = strip[c != 0]
                c = c[c != 0]
            total = _plus_gram(total, xp.hstack([strip, xp.ones_like(strip[:, :1])]), c)
        return total

    @cached_property
    def factors(self) -> ShiftedFactors:
        """The Gram matrix as a preconditioner."""
        return ShiftedFactors(self.gram)

    @cached_property
    def spread(self) -> Any:
        """The diagonal of the Gram matrix."""
        if "gram" in vars(self):
            return self.gram.diagonal().clip(0.0)
        total = zeros((self.F.shape[1],), self.F)
        for rows, strip in strips(self.F, self.mean):
            strip *= strip
            total += strip.T @ self.weights[rows]
        return total

    @cached_property
    def off_center(self) -> Any:
        """The mean, if it dwarfs the spread of some feature (rows are then centered before products), else None."""
        # `OFF_CENTER` of features in double precision, which then lose three digits of sixteen
        most = OFF_CENTER if self.single else 1e6
        if bool((self.total * self.mean**2 > most * self.spread).any()):
            return self.mean
        return None

    @cached_property
    def centered(self) -> np.ndarray | None:
        """The centered rows in float64, if they are one small strip of a NumPy array; products then need no strips."""
        if not isinstance(self.F, np.ndarray) or 8 * self.F.size > STRIP_BYTES:
            return None
        return self.F - self.mean

    @cached_property
    def narrow(self) -> np.ndarray | None:
        """The centered rows in single precision for rough products, if these save time that way."""
        if self.centered is None or self.centered.size < FEWEST_NARROW:
            return None
        return self.centered.astype(np.float32)

    def scores(self, V: Any, *, rough: bool = False) -> Any:
        """Return (x - m)' w + b for each row; roughly, with products in the precision of the rows, or lower."""
        if rough and self.narrow is not None:
            return self.narrow @ V[:-1].astype(np.float32) + V[-1]
        if self.centered is not None:
            return self.centered @ V[:-1] + V[-1]
        answer = products(self.F, V[:-1], self.off_center, rough=rough)
        answer += V[-1]
        if self.off_center is None:
            answer -= self.mean @ V[:-1]
        return answer

    def combine(self, R: Any, *, rough: bool = False) -> Any:
        """Return the sums of r_i (x_i - m), then those of r_i; roughly, each strip in the precision of the rows."""
        if self.centered is not None:
            answer = np.empty((self.F.shape[1] + 1, R.shape[1]))
            if rough and self.narrow is not None:
                answer[:-1] = self.narrow.T @ R.astype(np.float32)
            else:
                np.matmul(self.centered.T, R, out=answer[:-1])
            np.add.reduce(R, axis=0, out=answer[-1])
            return answer
        answer = zeros((self.F.shape[1] + 1, R.shape[1]), self.F)
        for rows, strip in strips(self.F, self.off_center, rough=rough):
            answer[:-1] += strip.T @ in_precision(R[rows], strip.dtype)
        answer[-1] = R.sum(0)
        if self.off_center is None:
            answer[:-1] -= namespace(R).outer(self.mean, answer[-1])
        return answer

    def columns(self, chosen: np.ndarray) -> Features:
        """Return a copy of some of the features."""
        few = object.__new__(Features)
        few.F = self.F.take(chosen, axis=1)
        few.weights = self.weights
        few.total = self.total
        few.mean = self.mean[chosen]
        few.spread = self.spread[chosen]
        if self.centered is not None:
            few.centered = self.centered.take(chosen, axis=1)
        return few

    def model(self, V: Any, gap: float) -> LinearModel:
        """Return the linear model of the features themselves, as NumPy arrays."""
        return LinearModel(as_numpy(V[:-1]) + 0.0, as_numpy(V[-1] - self.mean @ V[:-1]), gap)  # + 0.0: no -0.0


def _plus_gram(total: Any, strip: Any, weights: Any) -> Any:
    """Return the total plus the weighted Gram matrix of a strip; on NumPy the upper triangle, in place."""
    if isinstance(total, np.ndarray):
        strip *= np.sqrt(weights)[:, None]
        return dsyrk(1.0, strip.T, beta=1.0, c=total, overwrite_c=1)
    return total + (strip * weights[:, None]).T @ strip
