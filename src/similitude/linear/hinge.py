r"""The squared hinge, :math:`\sum_i s_i \max(0, 1 - y_i f(x_i))^2 + \lambda |w|^2`, for many outputs at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import namespace
from similitude.linear.conjugate import TOLERANCE, Move, apart, minimizers
from similitude.linear.line_search import Along
from similitude.linear.linear import Linear, check_weights
from similitude.linear.tensors import features_of

MOST_OUTPUTS = 64
"""Outputs solved together: enough for products of matrices, few enough for the memory of their scores."""


def squared_hinge(
    F: Any,
    signs: np.ndarray,
    weights: np.ndarray,
    penalties: object,
    *,
    gram: np.ndarray | None = None,
    start: Linear | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Linear]:
    r"""Yield the minimizer of :math:`\sum_i s_i \max(0, 1 - y_i f(x_i))^2 + \lambda |w|^2` for each penalty.

    Each output (one against the rest, for several classes) is a problem of its own, with a free intercept.

    Parameters
    ----------
    F : array or tensor of shape (n, d), float32 or float64
        A tensor: the work is done on its device.
    signs : array of shape (n, outputs)
        y, -1 or +1.
    weights : array of shape (n,)
        s, not negative: 2 is the same as the row twice, 0 the same as no row.
    penalties : sequence of float
        Positive; from large to small is fastest, as each minimizer is sought from the one before.
    gram : array of shape (d, d), optional
        The sum of s_i x_i x_i', where it is known; it only serves to take fewer steps.
    start : Linear, optional
        Where to start.
    tolerance : float
        How far the objective of an output may be above its minimum, by an estimate, over its value at w = 0.

    Yields
    ------
    Linear
        Its `gap` is the estimate, the largest over the outputs.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> few, many = squared_hinge(F, np.array([-1, -1, 1, 1]), np.ones(4), [8.0, 1e-6])
    >>> few.weights.round(3), many.weights.round(3)
    (array([[0.333]]), array([[1.]]))
    """
    features, columns, s = features_of(F, weights, gram), check_signs(signs, len(F)), check_weights(weights, len(F))
    paths = []
    for first in range(0, columns.shape[1], MOST_OUTPUTS):
        block = slice(first, first + MOST_OUTPUTS)
        here = None if start is None else Linear(start.weights[:, block], start.intercept[block])
        paths.append(minimizers(features, SquaredHinge(columns[:, block], s), penalties, here, tolerance))
    for parts in zip(*paths, strict=True):
        weight = np.hstack([part.weights for part in parts])
        yield Linear(weight, np.concatenate([part.intercept for part in parts]), max(part.gap for part in parts))


def check_signs(signs: np.ndarray, n: int) -> np.ndarray:
    """Return signs as columns of floats, or raise if one is neither -1 nor +1."""
    columns = np.asarray(signs, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != n or columns.shape[1] == 0:
        raise ValueError(f"{n} rows need signs of shape ({n}, outputs), got {np.shape(signs)}")
    if not (np.abs(columns) == 1).all():
        raise ValueError("signs must be -1 or +1")
    return columns


@dataclass(frozen=True)
class SquaredHinge:
    """The weighted squared hinge of each output."""

    signs: np.ndarray
    weights: np.ndarray
    pooled = False
    quadratic = False

    @property
    def targets(self) -> np.ndarray:
        """The signs."""
        return self.signs

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the best constants, (s+ - s-) / (s+ + s-), and their loss."""
        mean = self.weights @ self.signs / self.weights.sum()
        return mean, self.weights.sum() * np.maximum(0.0, (1 - mean) * (1 + mean))

    def constant(self) -> tuple[np.ndarray, float]:
        """Return the best constants, and their loss over all outputs."""
        mean, losses = self.start()
        return mean, float(losses.sum())

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return -2 s y max(0, 1 - y f)."""
        R = self.signs * Z
        R -= 1.0
        R = R.clip(None, 0.0)
        R *= self.signs
        R *= 2.0 * self.weights[:, None]
        return R

    def value(self, Z: np.ndarray) -> float:
        """Return the sum of s max(0, 1 - y f)^2 over rows and outputs."""
        return float(self.weights @ (np.maximum(0.0, 1.0 - self.signs * Z) ** 2).sum(axis=1))

    def nearest(self, Z: np.ndarray, tie: float) -> np.ndarray:
        """Return the f with the least max(0, 1 - y f)^2 + tie / 2 (f - z)^2."""
        margins = self.signs * Z
        return np.where(margins < 1.0, self.signs * (2.0 + tie * margins) / (2.0 + tie), Z)

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return 2 s where y f < 1."""
        return namespace(Z).where(self.signs * Z < 1.0, 2.0 * self.weights[:, None], 0.0)

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return the derivatives along D: 2 s u v and 2 s v^2, where 1 - y f = u + t v is positive."""
        xp, v = namespace(D), -self.signs * D
        u = 1.0 - self.signs * Z
        sv = 2.0 * self.weights[:, None] * v

        def derivatives(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            short = u + t * v
            steep = xp.where(short > 0, sv, 0.0)
            return apart(short, steep), apart(steep, v)

        return derivatives

    def part(self, columns: np.ndarray) -> SquaredHinge:
        """Return that of some outputs."""
        return SquaredHinge(self.signs[:, columns], self.weights)

    def moved(self, move: Move) -> SquaredHinge:
        """Return the same with its arrays passed through `move`."""
        return SquaredHinge(move(self.signs), move(self.weights))
