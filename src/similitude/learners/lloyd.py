"""Lloyd's algorithm in a feature space that is known by inner products only, from seeds drawn far apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from similitude.maps.pivots import draw

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Share of the squared lengths involved below which a squared distance is rounding."""


class Space(Protocol):
    """Objects as vectors of some space, reached through their inner products."""

    lengths: np.ndarray
    """The squared length of every object."""

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return the inner products of some objects with all objects, of shape (len(which), n)."""

    def towards(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the inner products of all objects with sums of some of them, weights of shape (len(which), sums)."""


class GramSpace:
    """A feature space by the Gram matrix of the objects."""

    def __init__(self, K: np.ndarray) -> None:
        self.K, self.lengths = K, K.diagonal()

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return rows of K."""
        return self.K[which]

    def towards(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return columns of K, added up."""
        return (self.K if len(which) == len(self.K) else self.K[which]).T @ weights


class ExplicitSpace:
    """A space of explicit features."""

    def __init__(self, F: np.ndarray) -> None:
        self.F, self.lengths = F, np.einsum("ij,ij->i", F, F)

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return inner products of features."""
        return self.F[which] @ self.F.T

    def towards(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return inner products with sums of features."""
        return self.F @ (self.F[which].T @ weights)


@dataclass(frozen=True)
class Clustering:
    """A partition, and centres that it is nearest to.

    Attributes
    ----------
    labels : array of int
        The nearest centre of each object.
    members : array of int
        The labels that the centres are the weighted means of; at convergence those above.
    norms : array
        The squared length of each centre, infinite where a cluster has no members.
    squares : array
        The squared distance of each object from its centre.
    inertia : float
        The weighted sum of these.
    n_iter : int
    """

    labels: np.ndarray
    members: np.ndarray
    norms: np.ndarray
    squares: np.ndarray
    inertia: float
    n_iter: int

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return what each object adds to each centre, of shape (n, clusters)."""
        total = np.bincount(self.members, weights, len(self.norms))
        members = self.members[:, None] == np.arange(len(total))
        return np.where(members, weights[:, None], 0.0) / np.where(total > 0, total, 1.0)


def cluster(
    space: Space, weights: np.ndarray, k: int, rng: np.random.Generator, max_iter: int, tol: float
) -> Clustering:
    """Return a local optimum from seeds drawn at random.

    The objective never grows: means are the best centres of a partition, the nearest centre the best label of an
    object, and a cluster left empty gets the object that is farthest from its centre. Stops when no label changes or
    the objective falls by no more than the share `tol`.
    """
    sums = _Sums(space, weights, k, seeded(space, weights, k, rng))
    before = math.inf
    for step in range(1, max_iter + 1):
        found = sums.assign(step)
        after = _filled(found, weights, k, space.lengths)
        settled = before - found.inertia <= tol * found.inertia and (after == found.labels).all()
        if settled or step == max_iter or (after == sums.labels).all():
            return found
        before = found.inertia
        sums.move(after)
    raise AssertionError("max_iter is positive")


class _Sums:
    """The inner products of all objects with the weighted sum of each cluster, brought up to date as labels change."""

    def __init__(self, space: Space, weights: np.ndarray, k: int, labels: np.ndarray) -> None:
        self.space, self.weights, self.k, self.labels = space, weights, k, labels
        self._start()

    def _start(self) -> None:
        everyone = np.arange(len(self.labels))
        self.inner = self.space.towards(everyone, self._weights_of(everyone, self.labels))

    def _weights_of(self, which: np.ndarray, labels: np.ndarray) -> np.ndarray:
        Z = np.zeros((len(which), self.k))
        Z[np.arange(len(which)), labels[which]] = self.weights[which]
        return Z

    def move(self, labels: np.ndarray) -> None:
        """Change the labels; where fewer than a third differ, only their rows are looked at."""
        moved = np.flatnonzero(labels != self.labels)
        if 3 * len(moved) < len(labels):
            self.inner += self.space.towards(
                moved, self._weights_of(moved, labels) - self._weights_of(moved, self.labels)
            )
            self.labels = labels
        else:
            self.labels = labels
            self._start()

    def assign(self, step: int) -> Clustering:
        """Return the nearest centre of every object."""
        labels, weights, n = self.labels, self.weights, np.arange(len(self.labels))
        total = np.bincount(labels, weights, self.k)
        own = np.bincount(labels, weights * self.inner[n, labels], self.k)
        full = total > 0
        norms = np.full(self.k, np.inf)
        norms[full] = own[full] / total[full] ** 2
        apart = norms - 2 * self.inner / np.where(full, total, 1.0)
        nearest = apart.argmin(axis=1)
        squares = self.space.lengths + apart[n, nearest]
        inertia = float(weights @ np.maximum(squares, 0.0))
        return Clustering(nearest, labels, norms, squares, inertia, step)


def _filled(found: Clustering, weights: np.ndarray, k: int, lengths: np.ndarray) -> np.ndarray:
    """Return the labels, with the farthest objects moved to clusters that have none."""
    empty = np.flatnonzero(np.bincount(found.labels, weights, k) == 0)
    if not len(empty):
        return found.labels
    far = np.where((weights > 0) & (found.squares > ROUNDING * lengths), found.squares, 0.0)
    farthest = np.argsort(-far, kind="stable")[: len(empty)]
    farthest = farthest[far[farthest] > 0]
    labels = found.labels.copy()
    labels[farthest] = empty[: len(farthest)]
    return labels


def seeded(space: Space, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nearest of k seeds for each object.

    Each seed is drawn with probability proportional to the squared distance from those before it (Arthur and
    Vassilvitskii, k-means++, 2007); of a few drawn, the one that leaves the smallest sum of squares is kept. Where all
    objects coincide with seeds already, there are no more.
    """
    trials, lengths = 2 + int(math.log(k)), space.lengths
    labels = np.zeros(len(weights), np.intp)
    nearest = np.full(len(weights), np.inf)
    chances = weights
    for label in range(k):
        drawn = draw(chances, 1 if label == 0 else trials, rng)
        squares = lengths + lengths[drawn, None] - 2 * space.rows(drawn)
        squares[squares <= ROUNDING * (lengths + lengths[drawn, None])] = 0.0
        best = squares[int((np.minimum(squares, nearest) @ weights).argmin())]
        labels[best < nearest] = label
        nearest = np.minimum(nearest, best)
        chances = weights * nearest
        if not chances.any():
            break
    return labels
