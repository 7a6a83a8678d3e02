"""What learners on a kernel share: objects and labels checked, the kernel demanded, what prediction needs kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, as_numpy, check_objects, itemsize, rows, take
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Similarity


class KernelLearner(SimilarityEstimator):
    """A learner whose model is a weighted sum of similarities to some of the training objects.

    A subclass calls `_begin` with checked objects, solves, and calls `_keep`; `_weighted` is then the sum for new
    objects. The model keeps only what has a weight.
    """

    random_state: Any = None

    def _begin(self, X: Any, sample_weight: Any = None) -> tuple[Similarity, Any, Encoding]:
        """Return the resolved kernel, the training objects and their encoding; refuse what is known to be none."""
        k, X, A = self._start(X, self.random_state, sample_weight)
        self.validity_ = self._demand_kernel(k, X, A, self.random_state)
        return k, X, A

    def _keep(self, X: Any, A: Encoding, coefficients: np.ndarray) -> None:
        """Keep the objects that have a weight: coefficients of shape (n,) or (n, outputs)."""
        used = coefficients != 0 if coefficients.ndim == 1 else (coefficients != 0).any(axis=1)
        self.support_ = np.flatnonzero(used)
        self.support_objects_ = take(X, self.support_)
        self.dual_coef_ = coefficients[self.support_]
        self._support = rows(A, self.support_)

    def _weighted(self, X: Any) -> np.ndarray:
        """Return sum_j a_j K(x, x_j) over the kept objects, in float64, without storing K."""
        k, A = self._ask(X)
        if not len(self.support_):
            return np.zeros((check_objects(X), *self.dual_coef_.shape[1:]))
        blocks = Blocks(k, A, self._support, engine=self._engine, itemsize=itemsize(A))
        return as_numpy(blocks.times(self.dual_coef_)).astype(np.float64, copy=False)
