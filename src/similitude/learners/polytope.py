"""The point of a polytope nearest to the origin: what every separator with the largest margin comes down to.

The corners are known by their dot products only. The method is Wolfe's (Finding the nearest point in a polytope,
Mathematical Programming 11, 1976), with corners entering in batches where that brings the point nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack

EPS = float(np.finfo(np.float64).eps)

SMALLEST_PIVOT = 10 * EPS
"""Squared distance, times the number of corners, from the hull of the others below which a corner of unit length
counts as lying in it."""

NOISE = 4 * EPS
"""Relative rounding of a squared distance."""

FIRST_BATCH = 16
"""Corners that enter at once in the first step; the number doubles with success and falls to a quarter without."""

GAP = 1e-10
"""Relative duality gap at which the search ends."""


@dataclass(frozen=True)
class Place:
    """A point of the polytope.

    Attributes
    ----------
    corners : array of int
        The corners whose combination it is.
    weights : array
        Their positive weights, with sum 1 in each group.
    products : array
        Its dot product with every corner.
    lows : array
        The smallest of these in each group.
    square : float
        Its squared distance from the origin.
    reach : float
        The square that its corners would make if nothing cancelled: rounding is relative to this.
    """

    corners: np.ndarray
    weights: np.ndarray
    products: np.ndarray
    lows: np.ndarray
    square: float
    reach: float

    @property
    def gap(self) -> float:
        """The duality gap: the square of the nearest point lies between `square` minus this and `square`."""
        return self.square - float(self.lows.sum())

    def improves(self, other: Place) -> bool:
        """Tell whether it is nearer than another place; with equal distance, whether its gap is smaller."""
        noise = NOISE * max(self.reach, other.reach)
        return self.square < other.square - noise or (self.square <= other.square + noise and self.gap < other.gap)


def nearest_point(Q: np.ndarray, groups: np.ndarray, gap: float = GAP) -> Place:
    r"""Return the point nearest to the origin.

    Minimize :math:`\lambda' Q \lambda` over :math:`\lambda \ge 0` with sum 1 in each group: one group gives the
    nearest point of a convex hull, two (with the second one's corners negated) the shortest connection of two hulls.
    The optimum is approached from above; at it :math:`(Q\lambda)_i` is smallest, in each group, on the support.

    Parameters
    ----------
    Q : array of shape (n, n)
        Dot products of the corners, positive semi-definite.
    groups : array of int
        The group of each corner.
    gap : float
        Relative duality gap to reach; where rounding forbids, the search ends when it makes no more headway.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.learners.polytope import nearest_point
    >>> place = nearest_point(np.eye(4), np.zeros(4, dtype=int))
    >>> place.square, place.weights
    (0.25, array([0.25, 0.25, 0.25, 0.25]))
    """
    hull = _Hull(Q, groups)
    place, batch = hull.start(), FIRST_BATCH
    for _ in range(1000 + 10 * len(Q)):
        if place.gap <= gap * place.square or place.square <= NOISE * place.reach:
            break
        better, batch = hull.improved(place, batch, gap)
        if better is None:
            break
        place = better
    return place


class _Hull:
    def __init__(self, Q: np.ndarray, groups: np.ndarray) -> None:
        self.Q = Q
        self.groups = np.unique(groups, return_inverse=True)[1]
        self.members = (self.groups[:, None] == np.arange(self.groups.max() + 1)).astype(float)
        self.lengths = np.sqrt(np.maximum(Q.diagonal(), 0.0))
        positive = self.lengths[self.lengths > 0]
        self.lift = float(np.exp(2 * np.log(positive).mean())) if len(positive) else 1.0

    def start(self) -> Place:
        """Return the shortest corner of each group."""
        inside = (np.flatnonzero(member) for member in self.members.T)
        corners = np.array([group[self.lengths[group].argmin()] for group in inside])
        return self.at(corners, np.ones(len(corners)))

    def at(self, corners: np.ndarray, weights: np.ndarray) -> Place:
        if 4 * len(corners) < len(self.Q):
            products = weights @ self.Q[corners]
        else:
            spread = np.zeros(len(self.Q))
            spread[corners] = weights
            products = self.Q @ spread
        lows = np.array([products[member > 0].min() for member in self.members.T])
        reach = float(weights @ self.lengths[corners]) ** 2
        return Place(corners, weights, products, lows, float(weights @ products[corners]), reach)

    def improved(self, place: Place, batch: int, gap: float) -> tuple[Place | None, int]:
        """Return a better place, by the largest batch of corners that brings one, and the batch to try next."""
        entering = self.entering(place, gap)
        batch = min(batch, len(entering))
        while batch:
            new = self.at(*self.corral(np.concatenate([place.corners, entering[:batch]])))
            if new.improves(place):
                return new, 2 * batch
            batch //= 4
        if not len(entering):
            return None, 0
        new = self.at(*self.step(place, int(entering[0])))
        return (new if new.improves(place) else None), 1

    def entering(self, place: Place, gap: float) -> np.ndarray:
        """Return the corners on the near side of the plane through the place, the farthest from it first."""
        levels = (place.weights * place.products[place.corners]) @ self.members[place.corners]
        short = levels[self.groups] - place.products
        short[place.corners] = 0.0
        candidates = np.flatnonzero(short > gap * place.square / 4)
        return candidates[np.argsort(-short[candidates], kind="stable")]

    def corral(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some of the corners whose hull holds the point of its affine hull that is nearest to the origin."""
        while True:
            kept, weights = self.flat(corners)
            corners = corners[kept]
            if (weights > 0).all():
                return corners, weights
            corners = corners[weights > 0]

    def step(self, place: Place, corner: int) -> tuple[np.ndarray, np.ndarray]:
        """Take Wolfe's step: let one corner in, and those out that run out of weight on the way to the optimum."""
        corners, weights = np.append(place.corners, corner), np.append(place.weights, 0.0)
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
            corners, weights = corners[stays], weights[stays]

    def flat(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which corners are affinely independent, and the weights of their affine hull's nearest point.

        The weights solve Q w = e nu, e'w = 1, where e tells the groups; Q + lift e e' is positive definite on
        affinely independent corners. A second pass takes back most of the rounding of the first.
        """
        e, gram = self.members[corners], self.Q[np.ix_(corners, corners)]
        lifted = gram + self.lift * (e @ e.T)
        scale = 1 / np.sqrt(lifted.diagonal())
        kept, U = _factor(lifted * scale[:, None] * scale)
        if len(kept) < len(corners):
            e, gram, scale = e[kept], gram[np.ix_(kept, kept)], scale[kept]

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
    smallest = SMALLEST_PIVOT * len(M)
    if info == 0 and float(np.abs(U.diagonal()).min()) ** 2 > smallest:
        return np.arange(len(M)), U
    U, pivots, rank, _ = lapack.dpstrf(M, tol=smallest)
    return pivots[:rank] - 1, U[:rank, :rank]
