"""The hard margin: separation without violations, or a small set of conflicting examples that shows there is none.

The separator with the largest margin comes from the point of a polytope nearest to the origin, of which only the dot
products of the corners are used. The method is that of Wolfe (Finding the nearest point in a polytope, Mathematical
Programming 11, 1976), except that corners enter in batches as long as that brings the point nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lapack

from similitude.compute import as_numpy, check_objects
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, Objects
from similitude.learners.limits import DOUBLE_EPS, MARGIN_ROUNDING
from similitude.learners.svm.dual import GramRows, SVMSolution, span_distances
from similitude.scikit import two_classes
from similitude.support import InseparableError


def inseparable(what: str, conflicts: np.ndarray, labels: np.ndarray) -> InseparableError:
    """Return the error that names the conflicting examples and their labels."""
    conflicts = np.sort(conflicts)
    named = ", ".join(f"{i} ({labels[i].item()!r})" for i in conflicts[:10])
    if len(conflicts) > 10:
        named += f" and {len(conflicts) - 10} more"
    problem = f"The classes cannot be separated by {what}. Examples in conflict: {named}."
    return InseparableError(problem, conflicts.tolist())


def smallest_conflict(points: np.ndarray, in_conflict: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Remove examples one by one as long as the others are still in conflict; of more than 100, none."""
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
    """Minimize |w| subject to sign_i f(x_i) >= 1 for all i, or raise InseparableError; `labels` are of all examples."""
    Q = K * sign[:, None] * sign
    groups = sign * fit_intercept
    point = nearest_point(Q, groups)
    if not separates(point):
        raise not_separable(fit_intercept, members[conflict(Q, groups, point)], labels)
    stretch = len(point.lows) / point.square
    coefficients = np.zeros(len(sign))
    coefficients[point.corners] = stretch * point.weights * sign[point.corners]
    intercept = 0.0
    if fit_intercept:
        intercept = 1 - stretch * float(point.lows[-1])  # the last group is the positive one
    scores = K @ coefficients + intercept
    squared = float(coefficients @ (scores - intercept))
    gap = max(0.0, float(point.gap / point.square)) * squared / 2
    spans = span_distances(GramRows(K), np.sort(point.corners), coefficients, fit_intercept)
    return SVMSolution(coefficients, intercept, squared, squared / 2, gap, scores - coefficients * spans, 1)


def not_separable(intercept: bool, conflicts: np.ndarray, labels: np.ndarray, why: str = "") -> InseparableError:
    """Return the error that names conflicting examples, for a hyperplane with or without an intercept."""
    hyperplane = "a hyperplane" + " through the origin" * (not intercept)
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
    if excess[i, j] > 0:
        return None
    return np.array([i, j])


class LargestMargin(KernelLearner):
    """The separator of two classes with the largest margin; `similitude.margin` documents the problem."""

    def __init__(
        self, kernel: Any = "auto", *, bias: bool = False, normalized: bool = True, engine: Engine | None = None
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
        groups = signs * bool(self.bias)
        point = nearest_point(Q, groups)
        if not separates(point, eps):
            suspects = examples = conflict(Q, groups, point, eps)
            if point.square < 0:
                suspects = np.union1d(examples, point.corners)
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
            sizes = np.sqrt(2.0)
            if not self.normalized:
                sizes = np.sqrt(1 + lengths**2)
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
        if not self.normalized:
            return np.ones(len(squares))
        return 1 / np.sqrt(squares)


# The nearest point of a polytope.


class HullPoint:
    """A combination of corners of a polytope, the positive `weights` of which have the sum 1 in each group."""

    def __init__(self, hull: _Hull, corners: np.ndarray, weights: np.ndarray) -> None:
        self.corners = corners
        self.weights = weights
        self.products = weights @ hull.Q[corners]  # the dot product with every corner
        self.lows = np.array([self.products[member > 0].min() for member in hull.members.T])  # the least in each group
        self.square = float(weights @ self.products[corners])  # the squared distance from the origin
        self.reach = float(weights @ hull.lengths[corners]) ** 2  # that if nothing cancelled, to which rounding adds

    @property
    def gap(self) -> float:
        """The duality gap: the squared distance of the nearest point is between `square` minus this and `square`."""
        return self.square - float(self.lows.sum())

    def improves(self, other: HullPoint) -> bool:
        """Whether it is nearer than another point, or equally near with a smaller gap."""
        noise = 4 * DOUBLE_EPS * max(self.reach, other.reach)
        return self.square < other.square - noise or (self.square <= other.square + noise and self.gap < other.gap)


def nearest_point(Q: np.ndarray, groups: np.ndarray, gap: float = 1e-10) -> HullPoint:
    """Return the point nearest to the origin, given the dot products Q of the corners and the group of each.

    Minimizes w' Q w over w >= 0 with sum 1 in each group: one group gives the nearest point of a convex hull, two
    groups (with the corners of one negated) the shortest connection of two hulls. At the optimum the support has, in
    each group, the smallest values of Q w. The search ends at a relative duality gap, or if only rounding is left.
    """
    hull = _Hull(Q, groups)
    point = hull.start()
    batch = 16  # corners that enter at once: twice as many after a success, a quarter after a failure
    for _ in range(1000 + 10 * len(Q)):
        if point.gap <= gap * point.square or point.square <= 4 * DOUBLE_EPS * point.reach:
            break
        better, batch = hull.improved(point, batch, gap)
        if better is None:
            break
        point = better
    return point


class _Hull:
    def __init__(self, Q: np.ndarray, groups: np.ndarray) -> None:
        self.Q = Q
        self.groups = np.unique(groups, return_inverse=True)[1]
        self.members = (self.groups[:, None] == np.arange(self.groups.max() + 1)).astype(float)
        self.lengths = np.sqrt(np.maximum(Q.diagonal(), 0.0))
        positive = self.lengths[self.lengths > 0]
        self.lift = 1.0
        if len(positive):
            self.lift = float(np.exp(2 * np.log(positive).mean()))

    def start(self) -> HullPoint:
        """Return the shortest corner of each group."""
        inside = (np.flatnonzero(member) for member in self.members.T)
        corners = np.array([group[self.lengths[group].argmin()] for group in inside])
        return HullPoint(self, corners, np.ones(len(corners)))

    def improved(self, point: HullPoint, batch: int, gap: float) -> tuple[HullPoint | None, int]:
        """Return a nearer point, by the largest batch of corners that gives one, and the batch size to try next."""
        entering = self.entering(point, gap)
        batch = min(batch, len(entering))
        while batch:
            new = HullPoint(self, *self.corral(np.concatenate([point.corners, entering[:batch]])))
            if new.improves(point):
                return new, 2 * batch
            batch //= 4
        if not len(entering):
            return None, 0
        new = HullPoint(self, *self.step(point, int(entering[0])))
        if not new.improves(point):
            return None, 1
        return new, 1

    def entering(self, point: HullPoint, gap: float) -> np.ndarray:
        """Return the corners on the origin's side of the plane through the point, the farthest from it first."""
        levels = (point.weights * point.products[point.corners]) @ self.members[point.corners]
        short = levels[self.groups] - point.products
        short[point.corners] = 0.0
        candidates = np.flatnonzero(short > gap * point.square / 4)
        return candidates[np.argsort(-short[candidates], kind="stable")]

    def corral(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Drop corners until the nearest point of their affine hull lies inside their convex hull."""
        while True:
            kept, weights = self.flat(corners)
            corners = corners[kept]
            if (weights > 0).all():
                return corners, weights
            corners = corners[weights > 0]

    def step(self, point: HullPoint, corner: int) -> tuple[np.ndarray, np.ndarray]:
        """Take Wolfe's step: add one corner, and remove those whose weight reaches zero on the way to the optimum."""
        corners = np.append(point.corners, corner)
        weights = np.append(point.weights, 0.0)
        while True:
            target = np.zeros(len(corners))
            kept, target[kept] = self.flat(corners)
            falling = np.flatnonzero(target <= 0)
            if not len(falling):
                return corners, target
            fall = weights[falling] - target[falling]
            ways = np.divide(weights[falling], fall, out=np.zeros(len(falling)), where=fall > 0)
            weights = weights + ways.min() * (target - weights)
            stays = np.ones(len(corners), dtype=bool)
            stays[falling[(ways == ways.min()) | (weights[falling] <= 0)]] = False
            corners = corners[stays]
            weights = weights[stays]

    def flat(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which corners are affinely independent, and the weights of their affine hull's point nearest to 0."""
        e = self.members[corners]
        gram = self.Q[np.ix_(corners, corners)]
        lifted = gram + self.lift * (e @ e.T)
        scale = 1 / np.sqrt(lifted.diagonal())
        kept, U = _factor(lifted * scale[:, None] * scale)
        if len(kept) < len(corners):
            e = e[kept]
            gram = gram[np.ix_(kept, kept)]
            scale = scale[kept]

        def solve(b: np.ndarray) -> np.ndarray:
            return scale[:, None] * cho_solve((U, False), scale[:, None] * b, check_finite=False)

        spread = solve(e)
        sums = e.T @ spread
        weights = spread @ np.linalg.solve(sums, np.ones(e.shape[1]))
        change = solve(-(gram @ weights)[:, None])[:, 0]
        change -= spread @ np.linalg.solve(sums, e.T @ change)
        return kept, weights + change


def _factor(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows of a matrix with unit diagonal are independent, and the Cholesky factor of their block."""
    U, info = lapack.dpotrf(M, clean=0)
    smallest = 10 * DOUBLE_EPS * len(M)  # the squared distance of a corner that depends on the others, by rounding
    if info == 0 and float(np.abs(U.diagonal()).min()) ** 2 > smallest:
        return np.arange(len(M)), U
    U, pivots, rank, _ = lapack.dpstrf(M, tol=smallest)
    return pivots[:rank] - 1, U[:rank, :rank]
