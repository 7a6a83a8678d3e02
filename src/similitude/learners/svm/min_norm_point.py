"""The point of a polytope nearest to the origin, which gives the separator with the largest margin.

Only the dot products of the corners are used. The method is that of Wolfe (Finding the nearest point in a polytope,
Mathematical Programming 11, 1976), except that corners enter in batches as long as that brings the point nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack

from similitude.learners.limits import DISTANCE_ROUNDING, DOUBLE_EPS


@dataclass(frozen=True)
class HullPoint:
    """A point of the polytope, as a combination of corners."""

    corners: np.ndarray  # those with a positive weight
    weights: np.ndarray  # their weights, with sum 1 in each group
    products: np.ndarray  # the dot product of the point with every corner
    lows: np.ndarray  # the smallest of these in each group
    square: float  # the squared distance from the origin
    reach: float  # the squared length if nothing cancelled; rounding errors are relative to this

    @property
    def gap(self) -> float:
        """The duality gap: the squared distance of the nearest point is between `square` minus this and `square`."""
        return self.square - float(self.lows.sum())

    def improves(self, other: HullPoint) -> bool:
        """Whether it is nearer than another point, or equally near with a smaller gap."""
        noise = DISTANCE_ROUNDING * max(self.reach, other.reach)
        return self.square < other.square - noise or (self.square <= other.square + noise and self.gap < other.gap)


def nearest_point(Q: np.ndarray, groups: np.ndarray, gap: float = 1e-10) -> HullPoint:
    r"""Return the point nearest to the origin, given the dot products Q of the corners and the group of each.

    Minimizes :math:`\lambda' Q \lambda` over :math:`\lambda \ge 0` with sum 1 in each group: one group gives the
    nearest point of a convex hull, two groups (with the corners of one negated) the shortest connection of two hulls.
    At the optimum the support has, in each group, the smallest values of :math:`Q\lambda`. The search ends at a
    relative duality gap, or earlier if rounding prevents further progress.

    >>> point = nearest_point(np.eye(4), np.zeros(4, dtype=int))
    >>> point.square, point.weights
    (0.25, array([0.25, 0.25, 0.25, 0.25]))
    """
    hull = _Hull(Q, groups)
    point = hull.start()
    batch = 16  # corners that enter at once: twice as many after a success, a quarter after a failure
    for _ in range(1000 + 10 * len(Q)):
        if point.gap <= gap * point.square or point.square <= DISTANCE_ROUNDING * point.reach:
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
        self.lift = float(np.exp(2 * np.log(positive).mean())) if len(positive) else 1.0

    def start(self) -> HullPoint:
        """Return the shortest corner of each group."""
        inside = (np.flatnonzero(member) for member in self.members.T)
        corners = np.array([group[self.lengths[group].argmin()] for group in inside])
        return self.at(corners, np.ones(len(corners)))

    def at(self, corners: np.ndarray, weights: np.ndarray) -> HullPoint:
        if 4 * len(corners) < len(self.Q):
            products = weights @ self.Q[corners]
        else:
            spread = np.zeros(len(self.Q))
            spread[corners] = weights
            products = self.Q @ spread
        lows = np.array([products[member > 0].min() for member in self.members.T])
        reach = float(weights @ self.lengths[corners]) ** 2
        return HullPoint(corners, weights, products, lows, float(weights @ products[corners]), reach)

    def improved(self, point: HullPoint, batch: int, gap: float) -> tuple[HullPoint | None, int]:
        """Return a nearer point, by the largest batch of corners that gives one, and the batch size to try next."""
        entering = self.entering(point, gap)
        batch = min(batch, len(entering))
        while batch:
            new = self.at(*self.corral(np.concatenate([point.corners, entering[:batch]])))
            if new.improves(point):
                return new, 2 * batch
            batch //= 4
        if not len(entering):
            return None, 0
        new = self.at(*self.step(point, int(entering[0])))
        return (new if new.improves(point) else None), 1

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
        """Return which corners are affinely independent, and the weights of their affine hull's nearest point.

        The weights solve Q w = e nu, e'w = 1, where e indicates the groups; Q + lift e e' is positive definite on
        affinely independent corners. One step of iterative refinement reduces the rounding error.
        """
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
