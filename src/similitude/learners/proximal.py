"""Any convex loss made smooth: its Moreau envelope."""

from __future__ import annotations

import numpy as np

from similitude.linear.losses import Loss

HALVINGS = 1100
"""Halvings at most of the interval in which the nearest score is sought; about 55 unless slopes are absurd."""

EPS = np.finfo(np.float64).eps


class Envelope(Loss):
    r"""The envelope :math:`M(f) = \min_z L(y, z) + (f + w s - z)^2 / (2w)` of a loss shifted along slopes s.

    It is convex and smooth whatever L is; its derivative is :math:`(f + w s - z) / w` at the minimizing z, which is a
    slope of L at z.

    Parameters
    ----------
    loss : Loss
    width : float
        w; the smaller, the closer to the loss.
    slopes : array
        s, one per example.
    """

    smooth = True

    def __init__(self, loss: Loss, width: float, slopes: np.ndarray) -> None:
        self.loss = loss
        self.width = width
        self.slopes = slopes
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def nearest(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the minimizing z; asked again for the same array, it remembers."""
        if self._last is None or self._last[0] is not f:
            self._last = f, self._sought(y, f)
        return self._last[1]

    def _sought(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the root of z + w L'(y, z) = f + w s, which lies between two known ends."""
        c = f + self.width * self.slopes
        other = c - self.width * self.loss.derivative(y, c)
        low, high = np.minimum(c, other), np.maximum(c, other)
        least = np.minimum(np.abs(c), np.abs(other)) + 1e-3 * np.abs(c).mean()
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            if (high - low <= EPS * np.maximum(least, np.maximum(np.abs(low), np.abs(high)))).all():
                break
            above = middle + self.width * self.loss.derivative(y, middle) > c
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return low + (high - low) / 2

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the envelope."""
        z = self.nearest(y, f)
        return self.loss.value(y, z) + (f + self.width * self.slopes - z) ** 2 / (2 * self.width)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the slope of the loss at the nearest score."""
        return (f + self.width * self.slopes - self.nearest(y, f)) / self.width

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return L'' / (1 + w L'') with L'' by differences: about 1 / w at a kink."""
        z = self.nearest(y, f)
        step = 1e-6 * (np.abs(z) + self.width * np.abs(self.derivative(y, f)) + 1e-9)
        rise = self.loss.derivative(y, z + step) - self.loss.derivative(y, z - step)
        curvature = np.maximum(rise / (2 * step), 0.0)
        return curvature / (1 + self.width * curvature)
