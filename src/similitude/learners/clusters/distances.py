"""Clusters by distances that follow from any similarity."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin

from similitude.compute import FLOATS, Encoding, as_numpy, count, rows, take
from similitude.compute.engines import Engine, format_bytes
from similitude.learners.kernel_learner import check_at_most
from similitude.learners.neighbors import SquaredLengths
from similitude.scikit import SimilarityEstimator, refuse_known, tensors_for_tensors
from similitude.similarity import SYMMETRIC, UNIT_DIAGONAL, Similarity, as_similarity, finite_diagonal, kernel_distance
from similitude.support import PairError, check_choice

DISTANCES = ("auto", "kernel", "similarity", "values")
"""How distances follow from the values of a similarity."""


class Distances:
    r"""Distances by a similarity, from any objects to some that are fixed.

    ``"kernel"``: :math:`\sqrt{K(x, x) + K(z, z) - 2 K(x, z)}`. ``"similarity"``: c - K(x, z), where c is the largest
    K(z, z). ``"values"``: K(x, z) itself. ``"auto"``: the first if K is proven to be a kernel, else the second.
    """

    def __init__(self, rule: str, k: Similarity, fixed: Encoding) -> None:
        if rule == "auto":
            rule = "similarity"
            if k.proven:
                rule = "kernel"
        self.rule = rule
        self.lengths = None
        self.largest = 1.0
        if rule == "kernel":
            self.lengths = SquaredLengths(k, fixed)
        elif rule == "similarity" and UNIT_DIAGONAL not in k.claims:
            self.largest = float(as_numpy(finite_diagonal(k, fixed)).max())

    def to_some(self, which: np.ndarray) -> Distances:
        """Return the distances to some of the fixed objects."""
        made = copy.deepcopy(self)
        if made.lengths is not None:
            made.lengths.values = made.lengths.values[which]
        return made

    def of_block(self, values: Any, own: np.ndarray | None, same: bool = False) -> np.ndarray:
        """Return the distances for a block of similarities, in place if possible; `own` is K(x, x) of the rows."""
        K = as_numpy(values)
        if K.dtype not in FLOATS:
            K = K.astype(np.float64)
        K = np.require(K, requirements=["C", "W"])
        if self.lengths is not None:
            return np.asarray(kernel_distance(K, own, self.lengths.values, same))
        if self.rule == "similarity":
            return np.subtract(self.largest, K, out=K)
        if K.min() < 0:
            i, j = (int(place) for place in np.unravel_index(K.argmin(), K.shape))
            raise PairError(i, j, f"the distance is {K[i, j]:.6g} < 0: use distance='similarity' for a similarity")
        return K

    def own(self, which: Any = slice(None)) -> np.ndarray | None:
        """Return K(z, z) of fixed objects, where it is needed."""
        if self.lengths is None:
            return None
        return self.lengths.values[which]

    def nearest(self, k: Similarity, A: Encoding, fixed: Encoding, engine: Engine) -> np.ndarray:
        """Return which of the fixed objects is nearest to each of others, whose K(x, x) is not needed."""
        which = np.empty(count(A), np.intp)
        for part, values in k.blocks(A, fixed, engine).rows():
            far = as_numpy(values)
            if self.lengths is not None:
                far = self.lengths.ranked(far, slice(None))
            elif self.rule == "similarity":
                far = -far
            which[part] = far.argmin(axis=1)
        return which


class DistanceClusters(ClusterMixin, SimilarityEstimator):
    """Clusters by distances that follow from a similarity as the parameter `distance` says."""

    similarity: Any
    distance: str

    def _checked_objects(self, X: Any) -> Any:
        """Validate the objects, and how distances follow from the similarity, before it is called."""
        X = self._checked(X, reset=True)
        check_choice("distance", self.distance, DISTANCES)
        if self.distance == "kernel" and not (self._is_automatic or self._precomputed):
            refuse_known(as_similarity(self.similarity))
        return X

    def _keep(self, X: Any, A: Encoding, which: np.ndarray, distances: Distances) -> None:
        """Keep the objects from which distances of new ones are computed."""
        self.support_objects_ = take(X, which)
        self._support = rows(A, which)
        self._distances = distances.to_some(which)
        self.distance_ = distances.rule

    fit_predict = tensors_for_tensors(ClusterMixin.fit_predict)


def all_distances(
    rule: str, k: Similarity, A: Encoding, engine: Engine, given: np.ndarray | None = None
) -> tuple[Distances, np.ndarray]:
    """Return the distances of all objects i (rows) to all j; `given`, a user's matrix, is not copied."""
    distances = Distances(rule, k, A)
    if given is not None and distances.rule == "values":
        return distances, distances.of_block(given, None)
    return distances, distances.of_block(k.blocks(A, engine=engine).whole(), distances.own(), same=True)


def symmetric(k: Similarity, D: np.ndarray) -> np.ndarray:
    """Return a matrix of distances with the mean of d(x, z) and d(z, x) for both, which may be the given one."""
    other = towards_medoids(k, D)
    if other is not D:
        other += D
        other /= 2
    return other


def towards_medoids(k: Similarity, D: np.ndarray) -> np.ndarray:
    """Return a matrix whose entry (c, o) is the distance of object o from c, with contiguous rows; D if symmetric."""
    if SYMMETRIC in k.claims or np.array_equal(D, D.T):
        return D
    return np.ascontiguousarray(D.T)


def check_distinct(values: np.ndarray, n_clusters: Any) -> None:
    """Refuse a matrix in which all pairs of different objects have the same value."""
    n = len(values)
    if n_clusters == 1 or n < 3:
        return
    first = values[0, 1]
    if all((row[:i] == first).all() and (row[i + 1 :] == first).all() for i, row in enumerate(values)):
        raise ValueError(
            f"all pairs of the {n:,} objects have the same similarity, so that no clusters can be told apart: "
            f"use another similarity or other parameters of it"
        )


def landmarks_or_all(
    wanted: Any, n: int, engine: Engine, clusters: int = 1, matrix: str = "matrix"
) -> tuple[int | None, str]:
    """Return the number of landmarks, at least that of clusters, None for all objects; and why."""
    if wanted is not None:
        check_at_most("n_landmarks", wanted, n)
        if clusters > wanted:
            raise ValueError(f"n_clusters = {clusters} is more than n_landmarks = {wanted}")
        return wanted, f"landmarks: n_landmarks is {wanted:,}"
    size = 8 * n * n
    budget = engine.budget
    figures = f"the {matrix} of {n:,} objects takes {format_bytes(size)}, the budget is {format_bytes(budget)}"
    if size <= budget:
        return None, f"all objects: {figures}"
    return max(1, min(500, n, budget // (16 * n))), f"landmarks: {figures}"
