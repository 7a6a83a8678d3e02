"""KernelLearner, the base class of learners whose model is a weighted sum of similarities to training objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, rows, take
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Similarity


class KernelLearner(SimilarityEstimator):
    """A learner whose model is a weighted sum of similarities to some of the training objects.

    ``fit`` of a subclass calls `_begin` with validated objects, computes coefficients, and passes them to `_keep`;
    `_weighted` is then the sum for new objects. Only objects with a nonzero coefficient are kept.
    """

    def _keep(self, X: Any, A: Encoding, coefficients: np.ndarray) -> None:
        """Keep the objects with a nonzero coefficient, given coefficients of shape (n,) or (n, outputs)."""
        used = coefficients != 0 if coefficients.ndim == 1 else (coefficients != 0).any(axis=1)
        self.support_ = np.flatnonzero(used)
        self.support_objects_ = take(X, self.support_)
        self.dual_coef_ = coefficients[self.support_]
        self._support = rows(A, self.support_)

    def _weighted(self, X: Any) -> np.ndarray:
        """Return sum_j a_j K(x, x_j) over the kept objects in float64, computed in tiles."""
        return self._sums(*self._ask(X))

    def _sums(self, k: Similarity, A: Encoding) -> np.ndarray:
        """Return the same for encoded objects."""
        if not len(self.support_):
            return np.zeros((count(A), *self.dual_coef_.shape[1:]))
        products = k.blocks(A, self._support, self._engine).times(self.dual_coef_)
        return as_numpy(products).astype(np.float64, copy=False)


def scalar_or_array(values: Sequence[Any]) -> Any:
    """Return a figure of each binary problem: the only value, or an array of several.

    >>> scalar_or_array([1.5]), scalar_or_array([1.5, 2.5])
    (1.5, array([1.5, 2.5]))
    """
    return values[0] if len(values) == 1 else np.array(values)
