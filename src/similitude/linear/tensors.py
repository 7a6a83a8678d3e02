"""Features as a tensor, on whatever device: what the solvers ask of features, computed there."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute.encodings import as_numpy, beside, in_precision, namespace
from similitude.linear.factors import Factors
from similitude.linear.linear import OFF_CENTER, Features, Linear, check_features, check_weights, stretches


class TensorFeatures:
    """Weighted rows of features on a device, seen from their weighted mean, as :class:`Features` sees arrays.

    Products are in float64, or roughly in the precision of the features and added up in float64; weights w and b are
    tensors in float64 beside them.

    Parameters
    ----------
    F : tensor of shape (n, d), float32 or float64
    weights : array of shape (n,)
    gram : array of shape (d, d), optional
        The sum of s_i x_i x_i', where it is known.
    """

    def __init__(self, F: Any, weights: np.ndarray, gram: np.ndarray | None = None) -> None:
        self.F, self.xp = check_features(F), namespace(F)
        self.weights = self.placed(check_weights(weights, len(F)))
        self._given = None if gram is None else self.placed(gram)
        self.total = float(self.weights.sum())
        self.mean = self._sum(strip.T @ self.weights[rows] for rows, strip in stretches(F)) / self.total

    @staticmethod
    def _sum(parts: Any) -> Any:
        first = next(parts)
        return sum(parts, start=first)

    @property
    def single(self) -> bool:
        """Whether the features are in single precision, so that rough products differ from others."""
        return bool(self.F.dtype == self.xp.float32)

    def placed(self, array: np.ndarray) -> Any:
        """Return the array as a tensor beside the features."""
        return beside(array, self.F)

    @cached_property
    def gram(self) -> Any:
        """The sum of s_i (x_i - m)(x_i - m)' in float64."""
        if self._given is not None:
            return self._given - self.total * self.xp.outer(self.mean, self.mean)
        strips = stretches(self.F, self.mean)
        return self._sum((strip * self.weights[rows, None]).T @ strip for rows, strip in strips)

    @cached_property
    def factors(self) -> Factors:
        """The Gram matrix as a preconditioner."""
        return Factors(self.gram)

    @cached_property
    def spread(self) -> Any:
        """The diagonal of the Gram matrix."""
        if "gram" in vars(self) or self._given is not None:
            return self.gram.diagonal().clip(0.0)
        strips = stretches(self.F, self.mean)
        return self._sum((strip * strip).T @ self.weights[rows] for rows, strip in strips)

    @cached_property
    def off_center(self) -> Any:
        """The mean, where it dwarfs the spread of a feature: rows are then centered before they are multiplied."""
        far = self.total * self.mean**2 > OFF_CENTER * self.spread
        return self.mean if bool(far.any()) else None

    def scores(self, V: Any, *, rough: bool = False) -> Any:
        """Return (x - m)' w + b for each row; roughly, in the precision of the rows."""
        narrow = in_precision(V[:-1], self.F.dtype) if rough else V[:-1]
        parts = [strip @ narrow for _, strip in stretches(self.F, self.off_center, rough=rough)]
        answer = in_precision(self.xp.concat(parts), V.dtype)
        answer += V[-1] if self.off_center is not None else V[-1] - self.mean @ V[:-1]
        return answer

    def combine(self, R: Any, *, rough: bool = False) -> Any:
        """Return the sums of r_i (x_i - m), and below them those of r_i; roughly, in the precision of the rows."""
        narrow = in_precision(R, self.F.dtype) if rough else R
        strips = stretches(self.F, self.off_center, rough=rough)
        top = self._sum(in_precision(strip.T @ narrow[rows], R.dtype) for rows, strip in strips)
        sums = R.sum(0)
        if self.off_center is None:
            top -= self.xp.outer(self.mean, sums)
        return self.xp.concat([top, sums[None]])

    def bent(self, seconds: Any) -> Any:
        """Return the sum of c_i (x_i - m, 1)(x_i - m, 1)' for second derivatives c."""

        def part(rows: slice, strip: Any) -> Any:
            wide = self.xp.concat([strip, self.xp.ones_like(strip[:, :1])], axis=1)
            return (wide * seconds[rows, None]).T @ wide

        return self._sum(part(*one) for one in stretches(self.F, self.mean))

    def linear(self, V: Any, gap: float) -> Linear:
        """Return the function of the features themselves, as arrays."""
        return Linear(as_numpy(V[:-1]) + 0.0, as_numpy(V[-1] - self.mean @ V[:-1]), gap)

    def stacked(self, start: Linear) -> Any:
        """Return w and b of a function of the features, as seen from the mean."""
        if start.weights.shape[0] != self.F.shape[1]:
            raise ValueError(f"a start for {self.F.shape[1]} features cannot have {start.weights.shape[0]} weights")
        W = self.placed(start.weights)
        return self.xp.concat([W, (self.placed(start.intercept) + self.mean @ W)[None]])


AnyFeatures = Features | TensorFeatures


def features_of(F: Any, weights: np.ndarray, gram: np.ndarray | None = None) -> AnyFeatures:
    """Return weighted features as the solvers ask for them, where they are."""
    return (Features if isinstance(F, np.ndarray) else TensorFeatures)(F, weights, gram)
