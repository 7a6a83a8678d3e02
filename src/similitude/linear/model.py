"""A fitted linear model of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_numpy, beside
from similitude.linear.strips import products


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
        answer = as_numpy(products(F, beside(self.weights, F)))
        answer += self.intercept
        return answer
