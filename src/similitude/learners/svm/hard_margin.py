"""The hard margin: separation without violations, or a small set of conflicting examples."""

from __future__ import annotations

import numpy as np

from similitude.learners.conflicts import inseparable, smallest_conflict
from similitude.learners.svm.dual import GramRows, SVMSolution, span_distances
from similitude.learners.svm.min_norm_point import DOUBLE_EPS, HullPoint, nearest_point
from similitude.support import InseparableError

MARGIN_ROUNDING = 32
"""A squared margin below this many machine epsilons of the squared lengths counts as zero (1e-7 in float64)."""


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
    where = "" if intercept else " through the origin"
    what = f"a hyperplane{where} of the kernel's feature space with a margin above rounding{why}"
    return inseparable(what, conflicts, labels)


def separates(point: HullPoint, eps: float = DOUBLE_EPS) -> bool:
    """Tell whether the nearest point is off the origin by more than rounding, so that its direction separates."""
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
