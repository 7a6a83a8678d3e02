r"""What the sparse head minimizes: a loss of linear scores plus :math:`\lambda \sum_j |w_j|`, and how near it is.

w_j holds the weights of feature j for all outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from similitude.linear.factors import EPS
from similitude.linear.line_search import Along, least
from similitude.linear.linear import Features

TINY = float(np.finfo(np.float64).tiny)


class Loss(Protocol):
    """The weighted losses of all rows as a function of their scores (n, outputs), quadratic or less."""

    @property
    def targets(self) -> np.ndarray:
        """The y of each row and output."""

    @property
    def quadratic(self) -> bool:
        """Whether it is s (y - f)^2 everywhere."""

    def constant(self) -> tuple[np.ndarray, float]:
        """Return the best constants, and the loss there."""

    def value(self, Z: np.ndarray) -> float:
        """Return the sum of the losses."""

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return the derivative in each score."""

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return the second derivative in each score."""

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return a function of t, one for each output: first and second derivative in t of the loss at Z + t D."""

    def nearest(self, Z: np.ndarray, tie: float) -> np.ndarray:
        """Return the f with the least loss, for weight 1, plus tie / 2 times the squared distance from Z."""


def lengths(W: np.ndarray) -> np.ndarray:
    """Return the norm of each row."""
    return np.sqrt(np.einsum("ij,ij->i", W, W))


@dataclass(frozen=True)
class Point:
    """Weights and, in the last row, intercepts V; their scores Z; the slopes R there; the objective."""

    V: np.ndarray
    Z: np.ndarray
    R: np.ndarray
    objective: float


@dataclass(frozen=True)
class Objective:
    """The loss and the penalty on some features."""

    features: Features
    loss: Loss
    penalty: float

    def at(self, V: np.ndarray, Z: np.ndarray) -> Point:
        """Return the point with the best intercepts for its weights: the slopes of each output add up to zero."""
        rounding = 4 * EPS * np.abs(self.loss.slopes(Z)).sum(axis=0)
        more = least(self.loss.along(Z, np.ones_like(Z)), np.zeros(Z.shape[1]), 1e-13, rounding)
        V, Z = V.copy(), Z + more
        V[-1] += more
        return Point(V, Z, self.loss.slopes(Z), self.loss.value(Z) + self.penalty * float(lengths(V[:-1]).sum()))

    def gap(self, point: Point, gradient: np.ndarray) -> float:
        """Return the objective less that of the dual at the slopes, made so small that they are feasible.

        The conjugate of s (y - f)^2, and of s max(0, 1 - y f)^2 where y r <= 0, is y r + r^2 / (4 s).
        """
        s, largest = self.features.weights, float(lengths(gradient[:-1]).max(initial=0.0))
        part = self.penalty / max(largest, self.penalty)
        squares = np.einsum("ij,ij->i", point.R, point.R)
        quarter = np.divide(0.25, s, out=np.zeros_like(s), where=s > 0) @ squares
        return point.objective + part * float(np.vdot(self.loss.targets, point.R)) + part**2 * float(quarter)
