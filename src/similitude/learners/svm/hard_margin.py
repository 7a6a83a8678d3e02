"""The hard margin: separation without violations, or a small set of conflicting examples that shows there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute import as_numpy, check_objects
from similitude.compute.engines import Engine
from similitude.learners.gram_matrix import Objects
from similitude.learners.kernel_learner import KernelLearner
from similitude.learners.limits import DOUBLE_EPS, MARGIN_ROUNDING
from similitude.learners.svm.dual import GramRows, SVMSolution, span_distances
from similitude.learners.svm.min_norm_point import HullPoint, nearest_point
from similitude.scikit import two_classes
from similitude.support import InseparableError


def inseparable(what: str, conflicts: np.ndarray, labels: np.ndarray) -> InseparableError:
    """Return the error that names the conflicting examples and their labels.

    >>> print(inseparable("a line", np.array([1, 4]), np.array(["a", "a", "b", "b", "b"])))
    The classes cannot be separated by a line. Examples in conflict: 1 ('a'), 4 ('b').
    """
    conflicts = np.sort(conflicts)
    named = ", ".join(f"{i} ({labels[i].item()!r})" for i in conflicts[:10])
    if len(conflicts) > 10:
        named += f" and {len(conflicts) - 10} more"
    problem = f"The classes cannot be separated by {what}. Examples in conflict: {named}."
    return InseparableError(problem, conflicts.tolist())


def smallest_conflict(points: np.ndarray, in_conflict: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Remove examples one by one as long as the others are still in conflict; of more than 100, none.

    >>> smallest_conflict(np.arange(6), lambda some: {1, 4} <= set(some.tolist()))
    array([1, 4])
    """
    if len(points) > 100:
        return points
    for point in points:
        fewer = points[points != point]
        if len(fewer) and in_conflict(fewer):
            points = fewer
    return points


def solve_hard(
    K: np.ndarray, sign: np.ndarray, fit_intercept: bool, members: np.ndarray, labels: np.ndarray
) -> SVMSolution:
    """Minimize |w| subject to sign_i f(x_i) >= 1 for all i; raise InseparableError if that is infeasible.

    w points to the point of a convex hull that is nearest to the origin; with an intercept it is the shortest
    connection of two hulls. `members` are the positions of the examples among all, which `labels` belong to.
    """
    Q = K * sign[:, None] * sign
    groups = sign if fit_intercept else np.zeros(len(sign))
    point = nearest_point(Q, groups)
    if not separates(point):
        raise not_separable(fit_intercept, members[conflict(Q, groups, point)], labels)
    stretch = len(point.lows) / point.square
    coefficients = np.zeros(len(sign))
    coefficients[point.corners] = stretch * point.weights * sign[point.corners]
    intercept = 1 - stretch * float(point.lows[-1]) if fit_intercept else 0.0  # the last group is the positive one
    scores = K @ coefficients + intercept
    squared = float(coefficients @ (scores - intercept))
    gap = max(0.0, float(point.gap / point.square)) * squared / 2
    spans = span_distances(GramRows(K), np.sort(point.corners), coefficients, fit_intercept)
    return SVMSolution(coefficients, intercept, squared, squared / 2, gap, scores - coefficients * spans, 1)


def not_separable(intercept: bool, conflicts: np.ndarray, labels: np.ndarray, why: str = "") -> InseparableError:
    """Return the error that names conflicting examples, for a hyperplane with or without an intercept."""
    hyperplane = "a hyperplane" if intercept else "a hyperplane through the origin"
    what = f"{hyperplane} of the kernel's feature space with a margin above rounding{why}"
    return inseparable(what, conflicts, labels)


def separates(point: HullPoint, eps: float = DOUBLE_EPS) -> bool:
    """Whether the nearest point is off the origin by more than rounding, so that its direction separates."""
    return point.square > MARGIN_ROUNDING * eps * point.reach and point.lows.sum() > 0


def conflict(Q: np.ndarray, groups: np.ndarray, point: HullPoint, eps: float = DOUBLE_EPS) -> np.ndarray:
    """Return a few corners whose hull contains the origin (for two groups: whose hulls meet), within rounding."""
    pair = _opposite_pair(Q, groups, MARGIN_ROUNDING * eps)
    if pair is not None:
        return pair

    def in_conflict(some: np.ndarray) -> bool:
        every_group = len(np.unique(groups[some])) == len(np.unique(groups))
        return every_group and not separates(nearest_point(Q[np.ix_(some, some)], groups[some]), eps)

    points = np.sort(point.corners)
    if not in_conflict(points):  # the search ended for lack of precision: add the corners on the wrong side
        points = np.union1d(points, np.flatnonzero(point.products <= 0))
    return smallest_conflict(points, in_conflict)


def _opposite_pair(Q: np.ndarray, groups: np.ndarray, rounding: float) -> np.ndarray | None:
    """Return two corners in opposite directions, or for two groups a corner that both have in common."""
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
        length = float(np.sqrt(point.square))
        self.value_ = float(point.lows.sum()) / (len(point.lows) * length)
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
