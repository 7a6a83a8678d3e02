"""LargestMargin, the separator with the largest margin in a kernel's feature space, behind `similitude.margin`."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import as_numpy, check_objects
from similitude.compute.engines import Engine
from similitude.learners.gram_matrix import Objects
from similitude.learners.kernel_learner import KernelLearner
from similitude.learners.svm.hard_margin import MARGIN_ROUNDING, conflict, not_separable, separates
from similitude.learners.svm.min_norm_point import nearest_point
from similitude.scikit import two_classes


class LargestMargin(KernelLearner):
    """The separator of two classes with the largest margin; `similitude.margin` documents the problem.

    >>> model = LargestMargin("linear").fit([[0.0, 1.0], [0.0, -2.0]], ["a", "b"])
    >>> model.normalized_margin([[3.0, -4.0]])
    array([0.8])
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        bias: bool = False,
        normalized: bool = True,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.bias = bias
        self.normalized = normalized
        self.engine = engine

    def fit(self, X: Any, y: Any) -> LargestMargin:
        """Compute the separator; raise InseparableError or NotAKernelError if there is none."""
        X = self._checked(X, reset=True)
        n = check_objects(X)
        self.classes_, signs = two_classes(y, n)
        labels = self.classes_[(signs > 0).astype(int)]
        k, X, A = self._start(X)
        objects = Objects(k, X, A, np.arange(n), self._engine)
        gram, eps, self.validity_ = objects.gram()
        Q = as_numpy(gram)  # not shared with anyone: scaled in place
        scale = signs * self._scale(objects, Q.diagonal().copy(), eps, labels)
        Q *= scale[:, None]
        Q *= scale
        groups = signs if self.bias else np.zeros(n)
        point = nearest_point(Q, groups)
        if not separates(point, eps):
            examples = conflict(Q, groups, point, eps)
            suspects = np.union1d(examples, point.corners) if point.square < 0 else examples
            objects.refuse_negative(np.isin(objects.used, suspects))
            raise not_separable(self.bias, examples, labels)
        length, parts = float(np.sqrt(point.square)), len(point.lows)
        self.value_ = float(point.lows.sum()) / (parts * length)
        self.gap_ = max(0.0, point.gap / point.square)
        self.intercept_ = float(point.lows[0] - point.lows[-1]) / (2 * length)
        coefficients = np.zeros(n)
        coefficients[point.corners] = point.weights * scale[point.corners] / length
        self._keep(X, A, coefficients)
        return self

    def normalized_margin(self, X: Any) -> np.ndarray:
        """Return the signed scores of new objects divided by the lengths of w and phi(x); a bias as in `Margin`."""
        if self._precomputed:
            raise ValueError(
                "rows K(new, train) of a precomputed matrix do not contain K(x, x) of new objects, which a normalized "
                "margin needs: use margin(Precomputed(M), indices, y), and indices here too"
            )
        k, B = self._ask(X)
        scores = self._sums(k, B)
        lengths = np.sqrt(np.maximum(np.asarray(k.diagonal(B), dtype=np.float64), 0.0))
        if self.normalized or not self.bias:
            scores = np.divide(scores, lengths, out=np.zeros(len(scores)), where=lengths > 0)
        if self.bias:
            sizes = np.full(len(scores), np.sqrt(2.0)) if self.normalized else np.sqrt(1 + lengths**2)
            scores = (scores + self.intercept_) / (np.sqrt(1 + self.intercept_**2) * sizes)
        zero = (lengths == 0) & (self.normalized or not self.bias)
        return np.where(zero, 0.0, np.clip(scores, -1.0, 1.0))

    def _scale(self, objects: Objects, squares: np.ndarray, eps: float, labels: np.ndarray) -> np.ndarray:
        """Return the factor of each feature vector; objects with K(x, x) <= 0 are refused."""
        negative = squares < -MARGIN_ROUNDING * eps * np.abs(squares).max()
        if negative.any():
            objects.refuse_negative(negative)
        zero = np.flatnonzero(squares <= 0)
        if len(zero) and (self.normalized or not self.bias):
            raise not_separable(self.bias, zero, labels, ", for no margin is positive where K(x, x) = 0")
        return 1 / np.sqrt(squares) if self.normalized else np.ones(len(squares))
