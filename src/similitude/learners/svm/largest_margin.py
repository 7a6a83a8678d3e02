"""LargestMargin, the separator with the largest margin in a kernel's feature space, behind `similitude.margin`."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Blocks, Encoding, check_fits, check_objects, count, rows, take
from similitude.compute.engines import Engine
from similitude.learners.svm.hard_margin import MARGIN_ROUNDING, conflict, not_separable, separates
from similitude.learners.svm.min_norm_point import HullPoint, nearest_point
from similitude.scikit import (
    CHECKED_OBJECTS,
    SimilarityEstimator,
    demand_kernel_on,
    demand_valid,
    proven,
    two_classes,
    whole_gram,
)
from similitude.similarity import Similarity
from similitude.validity import Validity, check_gram


class LargestMargin(SimilarityEstimator):
    """The separator of two classes with the largest margin; `similitude.margin` documents the problem.

    >>> model = LargestMargin("linear").fit([[0.0, 1.0], [0.0, -2.0]], ["a", "b"])
    >>> model.normalized_margin([[3.0, -4.0]])
    array([0.8])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
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
        check_fits(n, n, np.dtype(np.float64).itemsize, self._engine)
        k, X, A = self._start(X)
        K, self.validity_ = self._gram(k, X, A)
        eps = float(np.finfo(K.dtype).eps)
        Q = K.astype(np.float64, copy=False)  # not shared with anyone: scaled in place
        scale = signs * self._scale(k, X, A, Q.diagonal().copy(), eps, signs)
        Q *= scale[:, None]
        Q *= scale
        groups = signs if self.bias else np.zeros(n)
        point = nearest_point(Q, groups)
        if not separates(point, eps):
            examples = conflict(Q, groups, point, eps)
            if not self.validity_.proof.holds:
                self._judge(k, X, A, np.union1d(examples, point.corners) if point.square < 0 else examples)
            raise not_separable(self.bias, examples, self.classes_[(signs > 0).astype(int)])
        self._keep(point, scale, X, A)
        return self

    def normalized_margin(self, X: Any) -> np.ndarray:
        """Return the signed scores of new objects divided by the lengths of w and phi(x); a bias as in `Margin`."""
        if self._precomputed:
            raise ValueError(
                "rows K(new, train) of a precomputed matrix do not contain K(x, x) of new objects, which a normalized "
                "margin needs: use margin(Precomputed(M), indices, y), and indices here too"
            )
        k, B = self._ask(X)
        scores = Blocks(k, B, self._support, engine=self._engine).times(self.dual_coef_[self.support_])
        lengths = np.sqrt(np.maximum(np.asarray(k.diagonal(B), dtype=np.float64), 0.0))
        if self.normalized or not self.bias:
            scores = np.divide(scores, lengths, out=np.zeros(len(scores)), where=lengths > 0)
        if self.bias:
            sizes = np.full(len(scores), np.sqrt(2.0)) if self.normalized else np.sqrt(1 + lengths**2)
            scores = (scores + self.intercept_) / (np.sqrt(1 + self.intercept_**2) * sizes)
        zero = (lengths == 0) & (self.normalized or not self.bias)
        return np.where(zero, 0.0, np.clip(scores, -1.0, 1.0))

    def _gram(self, k: Similarity, X: Any, A: Encoding) -> tuple[np.ndarray, Validity]:
        """Return the Gram matrix, and the verdict on the kernel from all objects, or from a sample of many."""
        n = count(A)
        if proven(k) or n > CHECKED_OBJECTS:
            validity = self._demand_kernel(k, X, A)
            return np.asarray(k.blocks(A, engine=self._engine).whole()), validity
        K = np.asarray(whole_gram(k, A, self._engine))
        return K, demand_valid(check_gram(k, K, X, np.arange(n), n))

    def _judge(self, k: Similarity, X: Any, A: Encoding, which: np.ndarray) -> None:
        """Raise NotAKernelError if there is a witness among these objects."""
        which = np.sort(which)
        demand_kernel_on(k, rows(A, which), take(X, which), which, count(A), self._engine)

    def _scale(
        self, k: Similarity, X: Any, A: Encoding, squares: np.ndarray, eps: float, signs: np.ndarray
    ) -> np.ndarray:
        """Return the factor of each feature vector; objects with K(x, x) <= 0 are refused."""
        negative = np.flatnonzero(squares < -MARGIN_ROUNDING * eps * np.abs(squares).max())
        if len(negative):
            self._judge(k, X, A, negative)
        zero = np.flatnonzero(squares <= 0)
        if len(zero) and (self.normalized or not self.bias):
            labels = self.classes_[(signs > 0).astype(int)]
            raise not_separable(self.bias, zero, labels, ", for no margin is positive where K(x, x) = 0")
        return 1 / np.sqrt(squares) if self.normalized else np.ones(len(squares))

    def _keep(self, point: HullPoint, scale: np.ndarray, X: Any, A: Encoding) -> None:
        length, parts = float(np.sqrt(point.square)), len(point.lows)
        self.value_ = float(point.lows.sum()) / (parts * length)
        self.gap_ = max(0.0, point.gap / point.square)
        self.intercept_ = float(point.lows[0] - point.lows[-1]) / (2 * length)
        self.dual_coef_ = np.zeros(len(scale))
        self.dual_coef_[point.corners] = point.weights * scale[point.corners] / length
        self.support_ = np.sort(point.corners)
        self.support_objects_ = take(X, self.support_)
        self._support = rows(A, self.support_)
