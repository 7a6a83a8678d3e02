"""What learners on a kernel share: objects and labels checked, the kernel demanded, what prediction needs kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array, check_consistent_length, column_or_1d

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, as_numpy, check_objects, is_tensor, itemsize, rows, take
from similitude.scikit.estimator import SimilarityEstimator
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


def check_labels(learner: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and the class number of each example; refuse fewer than two classes."""
    classes, numbers = np.unique(check_label_column(learner, X, y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{type(learner).__name__} needs two classes at least, y holds one class only: {classes[0]!r}")
    return classes, numbers


def check_label_column(learner: Any, X: Any, y: Any) -> np.ndarray:
    """Return the labels as one column; refuse missing ones, and numbers that are no labels."""
    y = _demand_target(learner, y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype == object and any(label is None or label != label for label in y):
        raise ValueError("y holds missing labels: leave those examples out")
    check_classification_targets(y)
    return np.asarray(y)


def check_targets(learner: Any, X: Any, y: Any) -> np.ndarray:
    """Return the targets as float64, one column or several; refuse what is not finite."""
    y = _demand_target(learner, y)
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if y.ndim > 2:
        raise ValueError(f"y must have one row per example, got an array of shape {y.shape}")
    check_consistent_length(X, y)
    return y


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return the weights of n examples as float64; ones where none are given."""
    if sample_weight is None:
        return np.ones(n)
    sample_weight = as_numpy(sample_weight) if is_tensor(sample_weight) else sample_weight
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n},)")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds {weights.min()}: weights must not be negative")
    if not weights.any():
        raise ValueError("every weight in sample_weight is zero: there is nothing to learn from")
    return weights


def _demand_target(learner: Any, y: Any) -> Any:
    if y is None:
        name = learner if isinstance(learner, str) else type(learner).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    return as_numpy(y) if is_tensor(y) else y
