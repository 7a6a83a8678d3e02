r"""A loss of linear scores plus the sparsity penalty :math:`\lambda \sum_j |w_j|`, and its duality gap.

:math:`w_j` holds the weights of feature j for all outputs, so that a feature is dropped for all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.linear.cholesky import EPS
from similitude.linear.features import Features
from similitude.linear.line_search import line_minimum
from similitude.linear.weighted_loss import WeightedLoss

TINY = float(np.finfo(np.float64).tiny)


def row_norms(W: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row."""
    if W.shape[1] == 1:
        return np.abs(W[:, 0])
    return np.sqrt(np.einsum("ij,ij->i", W, W))


@dataclass(frozen=True)
class L1Point:
    """Weights with intercepts in the last row, V; their scores Z; the slopes R of the loss there; the objective."""

    V: np.ndarray
    Z: np.ndarray
    R: np.ndarray
    objective: float


@dataclass(frozen=True)
class L1Objective:
    """The loss and the penalty on some features."""

    features: Features
    loss: WeightedLoss
    penalty: float

    def at(self, V: np.ndarray, Z: np.ndarray) -> L1Point:
        """Return the point with the best intercepts for its weights: the slopes of each output sum to zero."""
        rounding = 4 * EPS * np.abs(self.loss.slopes(Z)).sum(axis=0)
        more = line_minimum(self.loss.along(Z, np.ones_like(Z)), np.zeros(Z.shape[1]), 1e-13, rounding)
        V, Z = V.copy(), Z + more
        V[-1] += more
        return L1Point(V, Z, self.loss.slopes(Z), self.loss.value(Z) + self.penalty * float(row_norms(V[:-1]).sum()))

    def gap(self, point: L1Point, gradient: np.ndarray) -> float:
        """Return the duality gap: the objective less the dual objective at the slopes, scaled to be feasible."""
        largest = float(row_norms(gradient[:-1]).max(initial=0.0))
        return point.objective + self.loss.conjugate(point.R * (self.penalty / max(largest, self.penalty)))
