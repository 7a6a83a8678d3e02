"""k-medoids of a matrix of distances by FasterPAM; and how many clusters there are, by what two halves agree on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from similitude.compute import as_matrix, check_objects, loops, take
from similitude.compute.engines import engine_for
from similitude.learners.clusters.distances import DISTANCES, all_distances, towards_medoids
from similitude.learners.limits import (
    MOST_CLUSTERS,
    MOST_OBJECTS,
    REFERENCE_SPLITS,
    REFERENCES,
    SPLITS,
    STABLE,
)
from similitude.scikit import refuse_known
from similitude.similarity import Precomputed, Similarity, as_similarity
from similitude.support import Result, check_choice, check_integer, generator, number_of


@dataclass(frozen=True)
class Medoids:
    """Medoids, the sum of the distances of all objects from the nearest one, and how they were found."""

    indices: np.ndarray
    loss: float
    n_iter: int  # passes over all candidates
    converged: bool


def best_medoids(far: np.ndarray, k: int, rng: np.random.Generator, n_init: int, max_iter: int) -> Medoids:
    """Return the best of several local optima; see `improved`."""
    n = len(far)
    runs = (improved(far, rng.choice(n, k, replace=False), max_iter) for _ in range(n_init))
    return min(runs, key=lambda found: found.loss)


def improved(far: np.ndarray, start: Any, max_iter: int) -> Medoids:
    """Return a local optimum of swaps from given medoids; entry (c, o) of `far` is the distance of o from medoid c."""
    n = len(far)
    medoids = np.array(start, np.int64)
    if len(medoids) == 1:
        best = far.sum(axis=1, dtype=np.float64).argmin()
        return Medoids(np.array([best]), float(far[best].sum(dtype=np.float64)), 1, True)
    tried = failed = 0
    most = max(1, 2 * 10**8 // n)  # candidates of one call of the loop: Ctrl-C is handled between calls
    while failed < n and tried < max_iter * n:
        step = min(most, max_iter * n - tried)
        failed = loops.swap_medoids(far, medoids, tried % n, step, failed)
        tried += step
    loss = float(far[medoids].min(axis=0).sum(dtype=np.float64))
    return Medoids(medoids, loss, min(max_iter, -(-tried // n)), failed >= n)


@dataclass(frozen=True)
class ClusterNumber(Result):
    """How many clusters are stable.

    Attributes
    ----------
    n_clusters : int
        The largest stable number, 1 if no number is stable.
    stability : dict of int to float
        For each number, the mean agreement (adjusted Rand index) of the clusters found in two halves of the objects: 1
        if they are the same, about 0 if they have nothing in common.
    reference : dict of int to float
        For each number whose stability is at least 0.9, the largest one among single clusters of like extent.
    reason : str

    Examples
    --------
    >>> print(ClusterNumber(1, {2: 0.4, 3: 0.3}, {}, "no number of clusters is stable"))
    1 cluster: no number of clusters is stable (stability 2: 0.40, 3: 0.30)
    """

    n_clusters: int
    stability: dict[int, float]
    reference: dict[int, float]
    reason: str

    def __str__(self) -> str:
        figures = ", ".join(f"{k}: {value:.2f}" for k, value in self.stability.items())
        return f"{number_of(self.n_clusters, 'cluster')}: {self.reason} (stability {figures})"


def choose_clusters(
    similarity: Any,
    X: Any,
    *,
    n_clusters: Iterable[int] = range(2, MOST_CLUSTERS + 1),
    distance: str = "auto",
    random_state: Any = None,
) -> ClusterNumber:
    """Choose the number of clusters by stability.

    The objects are split into halves twenty times; k-medoids of each half labels all objects, and a number of clusters
    is stable if the two labelings agree: their adjusted Rand index is at least 0.9 on average. (Ben-Hur, Elisseeff and
    Guyon, 2002; Lange, Roth, Braun and Buhmann, 2004; halves share no objects, and the index is corrected for chance.)
    A long single cluster is cut stably in the middle, too: the agreement must also exceed that of each of 19 samples
    of a Gaussian distribution with the same extent in all directions, the reference of a single cluster. The largest
    number that passes both is chosen, and 1 if none does: then there is no evidence for clusters of the kind that
    k-medoids finds, compact ones. Evenly filled long shapes may still pass.

    Parameters
    ----------
    similarity : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(x_i, x_j).
    X : sequence of objects
        Of more than 500, a random sample is used, as ``reason`` says.
    n_clusters : iterable of int
        The numbers that are considered, each at least 2.
    distance : {"auto", "kernel", "similarity", "values"}
        See :class:`SimilarityKMedoids`.
    random_state : int, optional

    Returns
    -------
    ClusterNumber

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.learners import choose_clusters
    >>> rng = np.random.default_rng(0)
    >>> blob = rng.normal(size=(60, 2))
    >>> choose_clusters("auto", np.concatenate([blob, blob + 9.0]), n_clusters=range(2, 5)).n_clusters
    2
    >>> print(choose_clusters("auto", blob, n_clusters=[2, 3]))
    1 cluster: no number of clusters is stable (stability 2: 0.23, 3: 0.42)
    """
    numbers = sorted({check_integer("n_clusters", k, 2) for k in n_clusters})
    check_choice("distance", distance, DISTANCES)
    n = check_objects(X)
    rng = generator(random_state)
    _check_halves(numbers, n)
    which = np.sort(rng.permutation(n)[:MOST_OBJECTS])
    if isinstance(similarity, str) and similarity == "precomputed":
        k: Similarity = Precomputed(as_matrix(X))
        objects = which
    else:
        k = as_similarity(similarity)
        objects = take(X, which)
    if distance == "kernel":
        refuse_known(k)
    k, A = k.prepare(objects, random_state)
    return _chosen(towards_medoids(k, all_distances(distance, k, A, engine_for(A))[1]), numbers, rng, n)


def number_of_clusters(far: np.ndarray, rng: np.random.Generator) -> ClusterNumber:
    """Choose among 2 to 10 clusters by a matrix of distances, whose rows are those from candidates for medoids."""
    n = len(far)
    numbers = [k for k in range(2, MOST_CLUSTERS + 1) if 2 * k <= n]
    _check_halves(numbers, n)
    if n > MOST_OBJECTS:
        which = np.sort(rng.permutation(n)[:MOST_OBJECTS])
        far = far[np.ix_(which, which)]
    return _chosen(far, numbers, rng, n)


def _check_halves(numbers: list[int], n: int) -> None:
    largest = max(numbers, default=2)
    if not numbers or n < 2 * largest:
        raise ValueError(f"{largest} clusters need halves of at least {largest} objects (n_samples = {n})")


def _chosen(far: np.ndarray, numbers: list[int], rng: np.random.Generator, n: int) -> ClusterNumber:
    """Return the largest number that is stable, more than in any single cluster of like extent."""
    sampled = ""
    if len(far) < n:
        sampled = f", by a sample of {len(far):,} of {n:,} objects"
    stability = {k: _agreement(far, k, rng, SPLITS) for k in numbers}
    reference: dict[int, float] = {}
    extents = _extents(far)
    for k in sorted(numbers, reverse=True):
        if stability[k] < STABLE:
            continue
        single = (_single_cluster(extents, len(far), rng) for _ in range(REFERENCES))
        reference[k] = max(_agreement(one, k, rng, REFERENCE_SPLITS) for one in single)
        if stability[k] > reference[k]:
            reason = f"the largest number on which halves agree, more than in a single cluster of like extent{sampled}"
            return ClusterNumber(k, stability, reference, reason)
    reason = "no number of clusters is stable"
    if reference:
        reason = "halves agree no more than in a single cluster of like extent"
    return ClusterNumber(1, stability, reference, reason + sampled)


def _agreement(far: np.ndarray, k: int, rng: np.random.Generator, splits: int) -> float:
    """Return the mean adjusted Rand index of the labels that medoids of two halves give to all objects."""
    n = len(far)
    found = []
    for _ in range(splits):
        order = rng.permutation(n)
        labels = (_labels(far, half, k, rng) for half in (order[: n // 2], order[n // 2 :]))
        found.append(adjusted_rand_score(*labels))
    return float(np.mean(found))


def _labels(far: np.ndarray, some: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nearest medoid of every object, with medoids of some of them."""
    medoids = best_medoids(far[np.ix_(some, some)], k, rng, n_init=2, max_iter=100)
    return far[some[medoids.indices]].argmin(axis=0)


def _extents(far: np.ndarray) -> np.ndarray:
    """Return the positive eigenvalues of classical scaling, the variances along the principal axes."""
    squares = 0.5 * far.astype(np.float64) ** 2
    squares = -(squares + squares.T) / 2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    variances = np.linalg.eigvalsh(centered) / len(far)
    return variances[variances > 0]


def _single_cluster(extents: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the distances of a sample of a Gaussian distribution with these variances."""
    Z = rng.standard_normal((n, len(extents))) * np.sqrt(extents)
    return squareform(pdist(Z))
