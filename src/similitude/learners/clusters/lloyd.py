"""k-means by Lloyd's algorithm, in a space that is known by inner products only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_numpy, beside, namespace
from similitude.landmarks import draw
from similitude.learners.limits import SAME_POINT


class GramInnerProducts:
    """Inner products of objects by their Gram matrix, an array or a tensor; ``lengths`` are squared lengths."""

    def __init__(self, K: Any) -> None:
        self.K = K
        self.lengths = K.diagonal()

    def rows(self, which: Any) -> Any:
        """Return the inner products of some objects with all objects, of shape (len(which), n)."""
        return self.K[which]

    def with_sums(self, which: Any, weights: Any) -> Any:
        """Return the inner products of all objects with weighted sums of some; weights of shape (len(which), sums)."""
        return (self.K if len(which) == len(self.K) else self.K[which]).T @ weights


class FeatureInnerProducts:
    """Inner products of objects by explicit features, an array or a tensor."""

    def __init__(self, F: Any) -> None:
        self.F = F
        self.lengths = namespace(F).einsum("ij,ij->i", F, F)

    def rows(self, which: Any) -> Any:
        """Return inner products of features."""
        return self.F[which] @ self.F.T

    def with_sums(self, which: Any, weights: Any) -> Any:
        """Return inner products with weighted sums of features."""
        return self.F @ (self.F[which].T @ weights)


InnerProducts = GramInnerProducts | FeatureInnerProducts


@dataclass(frozen=True)
class Clustering:
    """A partition, and the centers that its objects are nearest to."""

    labels: Any  # the nearest center of each object
    members: Any  # the partition whose weighted means are the centers; equal to `labels` at convergence
    norms: Any  # the squared length of each center, infinite for a cluster without members
    squares: Any  # the squared distance of each object from its center
    inertia: float  # the weighted sum of these
    n_iter: int

    def as_arrays(self) -> Clustering:
        """Return the same as NumPy arrays."""
        labels, members, norms, squares = map(as_numpy, (self.labels, self.members, self.norms, self.squares))
        return Clustering(labels, members, norms, squares, self.inertia, self.n_iter)

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the share of each object in each center, of shape (n, clusters)."""
        total = np.bincount(self.members, weights, len(self.norms))
        members = self.members[:, None] == np.arange(len(total))
        return np.where(members, weights[:, None], 0.0) / np.where(total > 0, total, 1.0)


def cluster(
    space: InnerProducts, weights: np.ndarray, k: int, rng: np.random.Generator, max_iter: int, tol: float
) -> Clustering:
    """Return a local optimum from random seeds.

    The objective never increases: means are the best centers of a partition, the nearest center is the best label of
    an object, and an empty cluster gets the object that is farthest from its center. It stops when no label changes or
    the objective decreases by at most the share `tol`. Everything but the draw of seeds is computed on the device.
    """
    weights = beside(weights, space.lengths)
    sums = _ClusterSums(space, weights, k, seeded(space, weights, k, rng))
    before = math.inf
    for step in range(1, max_iter + 1):
        found = sums.assign(step)
        after = _filled(found, weights, k, space.lengths)
        settled = before - found.inertia <= tol * found.inertia and bool((after == found.labels).all())
        if settled or step == max_iter or bool((after == sums.labels).all()):
            return found.as_arrays()
        before = found.inertia
        sums.move(after)
    raise AssertionError("max_iter is positive")


class _ClusterSums:
    """The inner products of all objects with the weighted sum of each cluster, updated as labels change."""

    def __init__(self, space: InnerProducts, weights: Any, k: int, labels: Any) -> None:
        self.space = space
        self.weights = weights
        self.labels = labels
        self.xp = namespace(weights)
        self.clusters = beside(np.arange(k), weights)
        self.everyone = beside(np.arange(len(labels)), weights)
        self.inner = space.with_sums(self.everyone, self._weights_of(self.everyone, labels))

    def _weights_of(self, which: Any, labels: Any) -> Any:
        """Return the weight of some objects in each cluster."""
        return (labels[which, None] == self.clusters) * self.weights[which, None]

    def move(self, labels: Any) -> None:
        """Change the labels; if less than a third of them differ, only their rows are used."""
        moved = self.xp.nonzero(labels != self.labels)[0]
        if 3 * len(moved) < len(labels):
            change = self._weights_of(moved, labels) - self._weights_of(moved, self.labels)
            self.inner += self.space.with_sums(moved, change)
        else:
            self.inner = self.space.with_sums(self.everyone, self._weights_of(self.everyone, labels))
        self.labels = labels

    def assign(self, step: int) -> Clustering:
        """Return the nearest center of every object."""
        xp = self.xp
        members = self._weights_of(self.everyone, self.labels)
        total = members.sum(0)
        own = xp.einsum("ij,ij->j", members, self.inner)
        divisor = xp.where(total > 0, total, 1.0)
        norms = xp.where(total > 0, own / divisor**2, np.inf)
        apart = norms - 2 * self.inner / divisor
        nearest = apart.argmin(1)
        squares = self.space.lengths + xp.min(apart, axis=1)
        inertia = float(self.weights @ squares.clip(0.0))
        return Clustering(nearest, self.labels, norms, squares, inertia, step)


def _filled(there: Clustering, weights: Any, k: int, lengths: Any) -> Any:
    """Return the labels, with the farthest objects moved to empty clusters."""
    members = (there.labels[:, None] == beside(np.arange(k), weights)) * weights[:, None]
    empty = np.flatnonzero(as_numpy(members.sum(0)) == 0)
    if not len(empty):
        return there.labels
    found = there.as_arrays()
    apart = (as_numpy(weights) > 0) & (found.squares > SAME_POINT * as_numpy(lengths))
    far = np.where(apart, found.squares, 0.0)
    farthest = np.argsort(-far, kind="stable")[: len(empty)]
    farthest = farthest[far[farthest] > 0]
    labels = found.labels.copy()
    labels[farthest] = empty[: len(farthest)]
    return beside(labels, there.labels)


def seeded(space: InnerProducts, weights: Any, k: int, rng: np.random.Generator) -> Any:
    """Return the nearest of k seeds for each object.

    Each seed is drawn with probability proportional to the squared distance from those before it (Arthur and
    Vassilvitskii, k-means++, 2007); of several candidates, the one that leaves the smallest sum of squares is kept.
    There are fewer seeds if all objects coincide with seeds.
    """
    lengths = space.lengths
    xp = namespace(lengths)
    labels = beside(np.zeros(len(weights), np.intp), lengths)
    nearest = beside(np.full(len(weights), np.inf), lengths)
    chances = as_numpy(weights)
    for label in range(k):
        drawn = draw(chances, 1 if label == 0 else 2 + int(math.log(k)), rng)
        squares = lengths + lengths[drawn, None] - 2 * space.rows(drawn)
        squares[squares <= SAME_POINT * (lengths + lengths[drawn, None])] = 0.0
        best = squares[int((xp.minimum(squares, nearest) @ weights).argmin())]
        labels[best < nearest] = label
        nearest = xp.minimum(nearest, best)
        chances = as_numpy(weights * nearest)
        if not chances.any():
            break
    return labels
