"""A fitted linear model, and products with a tall matrix of features, a strip of rows at a time, on any device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_numpy, beside, in_precision, namespace

STRIP_BYTES = 2**22
"""Bytes of a strip of rows in float64: it stays in the CPU cache while it is used."""

DEVICE_CELLS = 2**24
"""Values of a strip of rows on a device."""

OFF_CENTER = 100.0
"""Ratio of squared mean to variance of a feature above which features are centered before they are multiplied."""


def strips(F: Any, mean: Any = None, *, rough: bool = False) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of F, less a mean, in float64 or, roughly, in their own precision.

    The next strip may overwrite this one. With a mean, a strip may be written to.
    """
    on_host = isinstance(F, np.ndarray)
    if on_host:
        dtype = F.dtype if rough else np.dtype(np.float64)
        height = STRIP_BYTES // (8 * max(1, F.shape[1]))
    else:
        dtype = F.dtype if rough else namespace(F).float64
        height = DEVICE_CELLS // F.shape[1]
    height = max(1, min(len(F), height))
    copied = mean is not None or F.dtype != dtype
    buffer = np.empty((height, F.shape[1]), dtype=dtype) if on_host and copied else None
    for first in range(0, len(F), height):
        rows = slice(first, min(first + height, len(F)))
        strip = F[rows]
        if buffer is not None:
            buffer[: len(strip)] = strip
            strip = buffer[: len(strip)]
            if mean is not None:
                strip -= mean
        elif not on_host:
            strip = in_precision(strip, dtype)
            if mean is not None:
                strip = strip - in_precision(mean, dtype)
        yield rows, strip


def products(F: Any, W: Any, mean: Any = None, *, rough: bool = False) -> Any:
    """Return (F - mean) W in float64; roughly, with products in the precision of F."""
    answer = zeros((len(F), W.shape[1]), F)
    narrow = in_precision(W, F.dtype) if rough else W
    for rows, strip in strips(F, mean, rough=rough):
        answer[rows] = strip @ narrow
    return answer


def zeros(shape: tuple[int, ...], beside: Any) -> Any:
    """Return zeros in float64, where another array or tensor is."""
    if isinstance(beside, np.ndarray):
        return np.zeros(shape)
    return namespace(beside).zeros(shape, dtype=namespace(beside).float64, device=beside.device)


@dataclass(frozen=True)
class LinearModel:
    """The scores f(x) = x' w + b of one or several outputs.

    The gap is how far the objective may be above its minimum, relative to its value at w = 0; the largest over outputs
    that were fitted separately. Whether it is an estimate or a bound depends on the solver.

    >>> LinearModel(np.array([[1.0], [2.0]]), np.array([0.5])).scores(np.eye(2, dtype=np.float32))
    array([[1.5],
           [2.5]])
    """

    weights: np.ndarray  # w, of shape (features, outputs), float64
    intercept: np.ndarray  # b, of shape (outputs,)
    gap: float = 0.0

    def scores(self, F: Any) -> np.ndarray:
        """Return f at each row of F, an array or a tensor, as float64 whatever the precision of F."""
        if not isinstance(F, np.ndarray):
            return as_numpy(products(F, beside(self.weights, F))) + self.intercept
        if F.dtype == np.float64:
            return np.asarray(F @ self.weights + self.intercept)
        return np.asarray(products(F, self.weights) + self.intercept)
