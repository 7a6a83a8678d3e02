"""The separator with the largest margin in a kernel's feature space: what ``similitude.margin`` computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.blocks import Blocks, check_fits
from similitude.compute.encodings import Encoding, check_objects, count, rows, take
from similitude.compute.engines import Engine
from similitude.learners.base import inseparable, shrunk
from similitude.learners.polytope import Place, nearest_point
from similitude.scikit import CHECKED_OBJECTS, SimilarityEstimator, demand_valid, two_classes, whole_gram
from similitude.similarity import Similarity
from similitude.validity import Validity, check_gram

ROUNDING = 32
"""Units of relative rounding below which a squared margin counts as zero: in float64 a margin below 1e-7."""


class LargestMargin(SimilarityEstimator):
    """The separator of two classes with the largest margin; see `similitude.margin` for what it maximizes.

    Attributes
    ----------
    value_, gap_, intercept_ : float
    dual_coef_ : array of shape (n,)
    support_ : array of int
    classes_ : array of shape (2,)
    validity_ : Validity
    kernel_ : Similarity

    Examples
    --------
    >>> from similitude.learners.largest_margin import LargestMargin
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
        """Find the separator; raise InseparableError if there is none, NotAKernelError if it is no kernel."""
        X = self._checked(X, reset=True)
        n = check_objects(X)
        self.classes_, signs = two_classes(y, n)
        check_fits(n, n, np.dtype(np.float64).itemsize, self._engine)
        k, X, A = self._start(X)
        K, self.validity_ = self._gram(k, X, A)
        rounding = ROUNDING * float(np.finfo(K.dtype).eps)
        Q = K.astype(np.float64, copy=False)  # the matrix is ours: what follows is done in place
        scale = signs * self._scale(k, X, A, Q.diagonal().copy(), rounding, signs)
        Q *= scale[:, None]
        Q *= scale
        groups = signs if self.bias else np.zeros(n)
        place = nearest_point(Q, groups)
        if not separates(place, rounding):
            examples = conflict(Q, groups, place, rounding)
            if not self.validity_.proof.holds:
                self._judge(k, X, A, np.union1d(examples, place.corners) if place.square < 0 else examples)
            raise self._inseparable(examples, signs)
        self._keep(place, scale, X, A)
        return self

    def normalized_margin(self, X: Any) -> np.ndarray:
        """Return the signed scores of new objects divided by the lengths of w and phi(x), a bias as in `Margin`."""
        if self._precomputed:
            raise ValueError(
                "rows K(new, train) of a precomputed matrix do not tell K(x, x) of new objects, which a normalized "
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
        """Return the Gram matrix and the verdict on the kernel: on all objects, or on some where there are many."""
        n = count(A)
        if k.proof().holds or n > CHECKED_OBJECTS:
            validity = self._demand_kernel(k, X, A)
            return np.asarray(k.blocks(A, engine=self._engine).whole()), validity
        K = np.asarray(whole_gram(k, A, self._engine))
        return K, demand_valid(check_gram(k, K, X, np.arange(n), n))

    def _judge(self, k: Similarity, X: Any, A: Encoding, which: np.ndarray) -> None:
        """Raise with a witness if it lies among these objects."""
        which = np.sort(which)
        values = np.asarray(whole_gram(k, rows(A, which), self._engine))
        demand_valid(check_gram(k, values, take(X, which), which, count(A)))

    def _scale(
        self, k: Similarity, X: Any, A: Encoding, squares: np.ndarray, rounding: float, signs: np.ndarray
    ) -> np.ndarray:
        """Return by what each feature vector is multiplied; refuse those without a length or a direction."""
        negative = np.flatnonzero(squares < -rounding * np.abs(squares).max())
        if len(negative):
            self._judge(k, X, A, negative)
        zero = np.flatnonzero(squares <= 0)
        if len(zero) and (self.normalized or not self.bias):
            raise self._inseparable(zero, signs, ", for where K(x, x) = 0 no margin is positive")
        return 1 / np.sqrt(squares) if self.normalized else np.ones(len(squares))

    def _inseparable(self, conflicts: np.ndarray, signs: np.ndarray, why: str = "") -> Exception:
        where = "" if self.bias else " through the origin"
        what = f"a hyperplane{where} of the kernel's feature space with a margin above rounding{why}"
        return inseparable(what, conflicts, self.classes_[(signs > 0).astype(int)])

    def _keep(self, place: Place, scale: np.ndarray, X: Any, A: Encoding) -> None:
        length, parts = float(np.sqrt(place.square)), len(place.lows)
        self.value_ = float(place.lows.sum()) / (parts * length)
        self.gap_ = max(0.0, place.gap / place.square)
        self.intercept_ = float(place.lows[0] - place.lows[-1]) / (2 * length)
        self.dual_coef_ = np.zeros(len(scale))
        self.dual_coef_[place.corners] = place.weights * scale[place.corners] / length
        self.support_ = np.sort(place.corners)
        self.support_objects_ = take(X, self.support_)
        self._support = rows(A, self.support_)


def separates(place: Place, rounding: float) -> bool:
    """Tell whether the nearest point is off the origin, beyond rounding: then its direction separates."""
    return place.square > rounding * place.reach and place.lows.sum() > 0


def conflict(Q: np.ndarray, groups: np.ndarray, place: Place, rounding: float) -> np.ndarray:
    """Return a few corners whose hull holds the origin (for two groups: whose hulls meet), within rounding."""
    pair = _pair(Q, groups, rounding)
    if pair is not None:
        return pair

    def in_conflict(some: np.ndarray) -> bool:
        whole = len(np.unique(groups[some])) == len(np.unique(groups))
        return whole and not separates(nearest_point(Q[np.ix_(some, some)], groups[some]), rounding)

    points = np.sort(place.corners)
    if not in_conflict(points):  # the search ended for lack of precision: add what it could not bring to its side
        points = np.union1d(points, np.flatnonzero(place.products <= 0))
    return shrunk(points, in_conflict)


def _pair(Q: np.ndarray, groups: np.ndarray, rounding: float) -> np.ndarray | None:
    """Return two corners in opposite directions, or for two groups a point that both have in common."""
    squares = Q.diagonal()
    lengths = np.sqrt(np.maximum(squares, 0.0))
    if len(np.unique(groups)) == 1:
        excess = (1 + Q / lengths[:, None] / lengths) / 2 - rounding
    else:
        apart = squares[:, None] + squares + 2 * Q  # the second group's corners are negated
        excess = apart - rounding * (lengths[:, None] + lengths) ** 2
        excess[groups[:, None] == groups] = np.inf
    i, j = divmod(int(excess.argmin()), len(Q))
    return np.array([i, j]) if excess[i, j] <= 0 else None
