r"""Influence of training rows in a blend of exact models, each of which has a kernel and a penalty of its own.

The model of one kernel is :math:`f(x) = k(x)^\top G^{-1} (y - \bar y)` with :math:`G = K + \lambda
\operatorname{diag}(1/w)`, so that the influence of row i is :math:`(G^{-1} k(x))_i (y_i - \bar y)`; that in the blend
is the weighted sum over its models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from similitude.compute import Encoding
from similitude.estimators.model import LandmarkModel
from similitude.scikit import class_codes


@dataclass(frozen=True, eq=False)
class BlendInfluence:
    """What every training row adds to the scores.

    Attributes
    ----------
    labels : array
        The class number of each row, or its targets, one column per output.
    weights : array of shape (n,)
        Of the rows.
    base : array of shape (outputs,)
        The weighted mean of the targets.
    penalties, shares : tuple of float
        The penalty of each model, and its weight in the blend.
    """

    labels: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    penalties: tuple[float, ...]
    shares: tuple[float, ...]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_factors"}

    @property
    def heads(self) -> np.ndarray:
        """The landmarks themselves."""
        return np.arange(len(self.labels))

    @property
    def counts(self) -> np.ndarray:
        """One row each."""
        return np.ones(len(self.labels), dtype=np.intp)

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return what each row adds to each output, (objects, rows, outputs), and the similarity to it."""
        factors = vars(self).get("_factors")
        if factors is None:  # computed once; not a field, so that it is not saved
            from similitude.kernel_learning import ridge_factor

            own = [part.blocks(part.features.landmarks.encoding)[0] for part in model.parts]
            diagonals = [penalty * self.weights.mean() / self.weights for penalty in self.penalties]
            factors = vars(self)["_factors"] = list(map(ridge_factor, own, diagonals))
        blocks = [part.blocks(A)[0] for part, A in zip(model.parts, encodings, strict=True)]
        parts = zip(self.shares, factors, blocks, strict=True)
        smoother = sum([share * cho_solve((L, True), K.T, check_finite=False).T for share, L, K in parts], 0.0)
        Y = self.labels if self.labels.ndim == 2 else class_codes(self.labels, max(2, len(self.base)))
        return np.asarray(smoother)[:, :, None] * (Y - self.base), blocks[0]
