"""A linear function of features, and products with a tall matrix of features in strips of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from similitude.compute.encodings import as_numpy, beside, in_precision, namespace
from similitude.linear.factors import Factors

STRIP_BYTES = 2**22
"""Bytes of a strip of rows in float64: it stays in the cache while it is used."""

CELLS = 2**24
"""Values of a tensor that are widened at once."""

OFF_CENTER = 100.0
"""Squared mean over variance of a feature from which on strips are centered before they are multiplied."""


@dataclass(frozen=True)
class Linear:
    """The scores f(x) = x' w + b of some outputs.

    Attributes
    ----------
    weights : array of shape (features, outputs), float64
        w, one column per output.
    intercept : array of shape (outputs,), float64
        b.
    gap : float
        How far the objective may be above its minimum, over its value at w = 0; where outputs were fitted apart, the
        largest. Whether it is an estimate or a certificate, the solver says.

    Examples
    --------
    >>> import numpy as np
    >>> Linear(np.array([[1.0], [2.0]]), np.array([0.5])).scores(np.eye(2, dtype=np.float32))
    array([[1.5],
           [2.5]])
    """

    weights: np.ndarray
    intercept: np.ndarray
    gap: float = 0.0

    def scores(self, F: Any) -> np.ndarray:
        """Return f at each row of F, an array or a tensor, in float64, whatever the precision of F."""
        if not isinstance(F, np.ndarray):
            W, b = beside(self.weights, F), beside(self.intercept, F)
            return as_numpy(namespace(F).concat([strip @ W + b for _, strip in stretches(F)]))
        answer = np.empty((len(F), len(self.intercept)))
        for rows, strip in strips(F):
            np.matmul(strip, self.weights, out=answer[rows])
        answer += self.intercept
        return answer


def strips(
    F: np.ndarray, mean: np.ndarray | None = None, kind: type[np.floating] = np.float64
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the rows of F in some precision, a cacheful at a time, less a mean; the next strip may overwrite one."""
    height = max(1, min(len(F), STRIP_BYTES // (8 * max(1, F.shape[1]))))
    as_they_are = F.dtype == kind and mean is None
    room = np.empty((0 if as_they_are else height, F.shape[1]), dtype=kind)
    for first in range(0, len(F), height):
        rows = slice(first, min(first + height, len(F)))
        strip = F[rows]
        if not as_they_are:
            room[: len(strip)] = strip
            strip = room[: len(strip)]
        if mean is not None:
            strip -= mean
        yield rows, strip


def stretches(F: Any, mean: Any = None, *, rough: bool = False) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of a tensor in float64, or roughly in their own precision, some at a time, less a mean."""
    xp, height = namespace(F), max(1, CELLS // F.shape[1])
    for first in range(0, len(F), height):
        rows = slice(first, min(first + height, len(F)))
        strip = F[rows] if rough else in_precision(F[rows], xp.float64)
        yield rows, strip if mean is None else strip - in_precision(mean, strip.dtype)


class Features:
    """Weighted rows of features, seen from their weighted mean m; w and b are stacked, b in the last row.

    With x - m for x, the best intercept hardly depends on the weights, and the Gram matrix models well how losses
    bend. The minimum is the same: b grows by m' w.

    Products are in float64, a strip of rows at a time, and so are the results of all solvers: for float32 features
    they are those of the same numbers in float64. Rough products, in the precision of the features, only serve for
    what a step adds to scores and gradients; their error, some 1e-6 of it, vanishes with the steps.

    Parameters
    ----------
    F : array of shape (n, d), float32 or float64
    weights : array of shape (n,)
        s, not negative, not all zero: 2 is the same as the row twice, 0 the same as no row.
    gram : array of shape (d, d), optional
        The sum of s_i x_i x_i', where it is known.
    """

    def __init__(self, F: np.ndarray, weights: np.ndarray, gram: np.ndarray | None = None) -> None:
        self.F = check_features(F)
        self.weights = check_weights(weights, len(F))
        if gram is not None and gram.shape != (F.shape[1], F.shape[1]):
            raise ValueError(f"the Gram matrix of {F.shape[1]} features cannot have shape {gram.shape}")
        self._given = gram
        self.total = float(self.weights.sum())
        self.mean = sum((strip.T @ self.weights[rows] for rows, strip in strips(F)), np.zeros(F.shape[1]))
        self.mean /= self.total

    @cached_property
    def gram(self) -> np.ndarray:
        """The sum of s_i (x_i - m)(x_i - m)' in float64, an upper triangle in the order of Fortran."""
        if self._given is not None:
            known = np.array(self._given, dtype=np.float64, order="F")
            known -= self.total * np.outer(self.mean, self.mean)
            return known
        d = self.F.shape[1]
        total, root = np.zeros((d, d), order="F"), np.sqrt(self.weights)
        for rows, strip in strips(self.F, self.mean):
            strip *= root[rows, None]
            total = dsyrk(1.0, strip.T, beta=1.0, c=total, overwrite_c=1)
        return total

    @property
    def single(self) -> bool:
        """Whether the features are in single precision, so that rough products differ from others."""
        return bool(self.F.dtype == np.float32)

    def placed(self, array: np.ndarray) -> np.ndarray:
        """Return the array where the features are: as it is."""
        return array

    @cached_property
    def factors(self) -> Factors:
        """The Gram matrix as a preconditioner."""
        return Factors(self.gram)

    @cached_property
    def spread(self) -> np.ndarray:
        """The diagonal of the Gram matrix."""
        if "gram" in vars(self) or self._given is not None:
            return np.maximum(self.gram.diagonal(), 0.0)
        total = np.zeros(self.F.shape[1])
        for rows, strip in strips(self.F, self.mean):
            np.multiply(strip, strip, out=strip)
            total += strip.T @ self.weights[rows]
        return total

    @cached_property
    def off_center(self) -> np.ndarray | None:
        """The mean, where it dwarfs the spread of a feature: rows are then centered before they are multiplied."""
        far = self.total * self.mean**2 > OFF_CENTER * self.spread
        return self.mean if bool(far.any()) else None

    def scores(self, V: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Return (x - m)' w + b for each row; roughly, in the precision of the rows (float32: 1e-6 of |x| |w|)."""
        kind = self.F.dtype.type if rough else np.float64
        answer = np.empty((len(self.F), V.shape[1]))
        narrow = V[:-1].astype(kind, copy=False)
        for rows, strip in strips(self.F, self.off_center, kind):
            answer[rows] = strip @ narrow
        answer += V[-1] if self.off_center is not None else V[-1] - self.mean @ V[:-1]
        return answer

    def combine(self, R: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Return the sums of r_i (x_i - m), and below them those of r_i.

        Roughly, each strip is summed in the precision of the rows, and strips in float64.
        """
        kind = self.F.dtype.type if rough else np.float64
        answer = np.zeros((self.F.shape[1] + 1, R.shape[1]))
        narrow = R.astype(kind, copy=False)
        for rows, strip in strips(self.F, self.off_center, kind):
            answer[:-1] += strip.T @ narrow[rows]
        answer[-1] = R.sum(axis=0)
        if self.off_center is None:
            answer[:-1] -= np.outer(self.mean, answer[-1])
        return answer

    def bent(self, seconds: np.ndarray) -> np.ndarray:
        """Return the sum of c_i (x_i - m, 1)(x_i - m, 1)' for second derivatives c, an upper triangle like `gram`."""
        d = self.F.shape[1]
        total = np.zeros((d + 1, d + 1), order="F")
        for rows, strip in strips(self.F, self.mean):
            bending = np.flatnonzero(seconds[rows])
            wide = np.ones((len(bending), d + 1))
            wide[:, :-1] = strip[bending]
            wide *= np.sqrt(seconds[rows][bending, None])
            total = dsyrk(1.0, wide.T, beta=1.0, c=total, overwrite_c=1)
        return total

    def columns(self, chosen: np.ndarray) -> Features:
        """Return some of the features, copied."""
        few = object.__new__(Features)
        few.F, few.weights, few.total = self.F.take(chosen, axis=1), self.weights, self.total
        few.mean, few.spread = self.mean[chosen], self.spread[chosen]
        few._given = None if self._given is None else self._given[np.ix_(chosen, chosen)]
        return few

    def linear(self, V: np.ndarray, gap: float) -> Linear:
        """Return the function of the features themselves."""
        return Linear(V[:-1] + 0.0, V[-1] - self.mean @ V[:-1], gap)  # + 0.0: no negative zeros

    def stacked(self, start: Linear) -> np.ndarray:
        """Return w and b of a function of the features, as seen from the mean."""
        if start.weights.shape[0] != self.F.shape[1]:
            raise ValueError(f"a start for {self.F.shape[1]} features cannot have {start.weights.shape[0]} weights")
        return np.vstack([start.weights, start.intercept + self.mean @ start.weights])


def check_features(F: Any) -> Any:
    """Return F if it is a matrix of floats with at least a row and a column."""
    if F.ndim != 2 or str(F.dtype).rsplit(".", 1)[-1] not in ("float32", "float64"):
        raise ValueError(f"features must be a matrix of float32 or float64, got shape {tuple(F.shape)} of {F.dtype}")
    if min(F.shape) == 0:
        raise ValueError(f"features need a row and a column at least, got shape {tuple(F.shape)}")
    return F


def check_weights(weights: np.ndarray, n: int) -> np.ndarray:
    """Return the weights of n rows in float64, or raise if one is negative or none is positive."""
    s = np.asarray(weights, dtype=np.float64)
    if s.shape != (n,):
        raise ValueError(f"{n} rows need {n} weights, got shape {s.shape}")
    if not (np.isfinite(s).all() and (s >= 0).all() and s.any()):
        raise ValueError("weights must be finite and not negative, and one at least positive")
    return s


def check_penalties(penalties: object) -> np.ndarray:
    """Return positive penalties as an array, or raise."""
    path = np.atleast_1d(np.asarray(penalties, dtype=np.float64))
    if path.ndim != 1 or not (np.isfinite(path).all() and (path > 0).all()):
        raise ValueError(f"penalties must be positive numbers, got {penalties!r}")
    return path
