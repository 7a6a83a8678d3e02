"""The weighted sum of a loss over all rows, as a function of their scores, and the minimum of it along a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import namespace
from similitude.linear.losses import Line, Loss


@dataclass(frozen=True)
class WeightedLoss:
    """The function of scores Z, of shape (n, outputs), that sums weights times losses."""

    loss: Loss
    targets: Any
    weights: Any  # 2 is the same as the row twice, 0 the same as no row

    @classmethod
    def of(cls, loss: Loss, targets: Any, weights: Any) -> WeightedLoss:
        """Take targets of shape (n,) or (n, outputs), in float64."""
        y = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
        return cls(loss, y, np.asarray(weights, dtype=np.float64))

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the best constant scores, and for each output the loss there (of all outputs, where coupled)."""
        constant = self.loss.best_constant(self.targets, self.weights)
        losses = self.weights @ self.loss.value(self.targets, np.broadcast_to(constant, self.targets.shape))
        return constant, np.broadcast_to(losses, constant.shape)

    def value(self, Z: np.ndarray) -> float:
        """Return the weighted sum over rows and outputs."""
        return float(self.weights @ self.loss.value(self.targets, Z).sum(axis=1))

    def slopes(self, Z: Any) -> Any:
        """Return the derivative in each score."""
        return self.weights[:, None] * self.loss.derivative(self.targets, Z)

    def curvatures(self, Z: Any) -> Any:
        """Return the second derivative in each score."""
        return self.weights[:, None] * self.loss.second_derivative(self.targets, Z)

    def conjugate(self, R: np.ndarray) -> float:
        """Return the conjugate at slopes R in each score."""
        s = self.weights[:, None]
        slopes = np.divide(R, s, out=np.zeros_like(R), where=s > 0)
        return float(self.weights @ self.loss.conjugate(self.targets, slopes).sum(axis=1))

    def along(self, Z: Any, D: Any) -> Line:
        """Return the derivatives in t at Z + t D, with one t for each output."""
        return self.loss.along(self.targets, self.weights, Z, D)

    def columns(self, which: Any) -> WeightedLoss:
        """Return the loss of some outputs."""
        return WeightedLoss(self.loss, self.targets[:, which], self.weights)

    def moved(self, move: Callable[[Any], Any]) -> WeightedLoss:
        """Return the same with its arrays passed through `move`."""
        return WeightedLoss(self.loss, move(self.targets), move(self.weights))


def line_minimum(derivatives: Line, start: np.ndarray, flat: float, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """Return a point on each line where the derivative is down to a fraction `flat` of its initial size, or to a floor.

    It is found by Newton steps, with bisection where they leave the bracket.

    >>> line_minimum(lambda t: (t**3 - 8.0, 3 * t**2), np.zeros(1), 1e-12).round(6)
    array([2.])
    """
    xp = namespace(start)
    t = start
    low, high, goal = (xp.full_like(t, value) for value in (-np.inf, np.inf, np.nan))
    # maximum number of evaluations
    for trial in range(60):
        slope, curve = derivatives(t)
        if trial == 0:
            goal = xp.maximum(flat * abs(slope), floor)
        going = abs(slope) > goal
        if not going.any():
            break
        low = xp.where(slope < 0, t, low)
        high = xp.where(slope > 0, t, high)
        newton = t - xp.where(curve > 0, slope / xp.where(curve > 0, curve, 1.0), np.nan)
        inside = (newton > low) & (newton < high)
        if not inside.all():
            newton = xp.where(inside, newton, _between(low, high))
        t = xp.where(going, newton, t)
    return t


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the midpoint of a bracket, or a point well beyond its only finite end."""
    xp = namespace(low)
    with np.errstate(invalid="ignore"):  # both ends may be infinite on a line that needs no search
        middle = low + (high - low) / 2
    return xp.where(xp.isinf(high), 2 * low + 1, xp.where(xp.isinf(low), 2 * high - 1, middle))
