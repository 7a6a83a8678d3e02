"""How far objects are from each other by a similarity."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from similitude.compute import FLOATS, Encoding, as_numpy, count
from similitude.compute.engines import Engine, format_bytes
from similitude.learners.kernel_learner import check_at_most
from similitude.learners.neighbors import SquaredLengths
from similitude.scikit import refuse_known
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
        self.rule = rule
        if rule == "auto":
            self.rule = "kernel" if k.proven else "similarity"
        self.lengths = None
        self.largest = 1.0
        if self.rule == "kernel":
            self.lengths = SquaredLengths(k, fixed)
        elif self.rule == "similarity" and UNIT_DIAGONAL not in k.claims:
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

    def ranks(self, values: Any) -> np.ndarray:
        """Return values that increase with the distance of an object from the fixed ones, without K(x, x)."""
        K = as_numpy(values)
        if self.lengths is not None:
            return as_numpy(self.lengths.ranked(K, slice(None)))
        return -K if self.rule == "similarity" else K

    def own(self, which: Any = slice(None)) -> np.ndarray | None:
        """Return K(z, z) of fixed objects, where it is needed."""
        return None if self.lengths is None else self.lengths.values[which]

    def nearest(self, k: Similarity, A: Encoding, fixed: Encoding, engine: Engine) -> np.ndarray:
        """Return which of the fixed objects is nearest to each of others."""
        which = np.empty(count(A), np.intp)
        for part, values in k.blocks(A, fixed, engine).rows():
            which[part] = self.ranks(values).argmin(axis=1)
        return which


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
    return D if other is D else np.divide(np.add(other, D, out=other), 2, out=other)


def towards_medoids(k: Similarity, D: np.ndarray) -> np.ndarray:
    """Return a matrix whose entry (c, o) is the distance of object o from c, with contiguous rows; D if symmetric."""
    return D if SYMMETRIC in k.claims or np.array_equal(D, D.T) else np.ascontiguousarray(D.T)


def check_rule(estimator: Any) -> None:
    """Validate how distances follow from the similarity of an estimator, before it is called."""
    check_choice("distance", estimator.distance, DISTANCES)
    given = estimator.similarity
    if estimator.distance == "kernel" and not (isinstance(given, str) and given in ("auto", "precomputed")):
        refuse_known(as_similarity(given))


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
