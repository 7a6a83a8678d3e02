"""SimilarityKMedoids by FasterPAM, and how many clusters there are, by what two halves of the objects agree on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Encoding, as_matrix, check_fits, check_objects, count, itemsize, loops, rows, take
from similitude.compute.engines import Engine, engine_for
from similitude.learners.clusters.distances import (
    DISTANCES,
    DistanceClusters,
    Distances,
    all_distances,
    check_distinct,
    landmarks_or_all,
    towards_medoids,
)
from similitude.learners.kernel_learner import check_at_most
from similitude.learners.limits import MOST_OBJECTS, REFERENCE_SPLITS, REFERENCES, SPLITS, STABLE
from similitude.scikit import all_or_nothing, refuse_known, tensors_for_tensors
from similitude.similarity import SYMMETRIC, Precomputed, Similarity, as_similarity
from similitude.support import (
    Result,
    brief,
    check_choice,
    check_integer,
    generator,
    is_integer,
    number_of,
    user_stacklevel,
)

Medoids = tuple[float, np.ndarray, int, bool]
"""The sum of the distances of all objects from the nearest medoid, the medoids, passes, and whether they sufficed."""


def best_medoids(far: np.ndarray, k: int, rng: np.random.Generator, n_init: int, max_iter: int) -> Medoids:
    """Return the best of several local optima; see `improved`."""
    n = len(far)
    runs = (improved(far, rng.choice(n, k, replace=False), max_iter) for _ in range(n_init))
    return min(runs, key=itemgetter(0))


def improved(far: np.ndarray, start: Any, max_iter: int) -> Medoids:
    """Return a local optimum of swaps from given medoids; entry (c, o) of `far` is the distance of o from medoid c."""
    n = len(far)
    medoids = np.array(start, np.int64)
    if len(medoids) == 1:
        best = far.sum(axis=1, dtype=np.float64).argmin()
        return float(far[best].sum(dtype=np.float64)), np.array([best]), 1, True
    tried = failed = 0
    most = max(1, 2 * 10**8 // n)  # candidates of one call of the loop: Ctrl-C is handled between calls
    while failed < n and tried < max_iter * n:
        step = min(most, max_iter * n - tried)
        failed = loops.swap_medoids(far, medoids, tried % n, step, failed)
        tried += step
    loss = float(far[medoids].min(axis=0).sum(dtype=np.float64))
    return loss, medoids, min(max_iter, -(-tried // n)), failed >= n


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
    n_clusters: Iterable[int] = range(2, 11),
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
    _check_halves(numbers, n)
    rng = generator(random_state)
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


def _check_halves(numbers: list[int], n: int) -> None:
    largest = max(numbers, default=2)
    if not numbers or n < 2 * largest:
        raise ValueError(f"{largest} clusters need halves of at least {largest} objects (n_samples = {n})")


def _chosen(far: np.ndarray, numbers: list[int], rng: np.random.Generator, n: int) -> ClusterNumber:
    """Return the largest number that is stable, more than in any single cluster of like extent, of all n objects.

    The rows of `far` are the distances from candidates for medoids.
    """
    sampled = ""
    if n > MOST_OBJECTS:
        sampled = f", by a sample of {MOST_OBJECTS:,} of {n:,} objects"
    if len(far) > MOST_OBJECTS:
        which = np.sort(rng.permutation(n)[:MOST_OBJECTS])
        far = far[np.ix_(which, which)]
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
    medoids = best_medoids(far[np.ix_(some, some)], k, rng, n_init=2, max_iter=100)[1]
    return far[some[medoids]].argmin(axis=0)


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


class SimilarityKMedoids(DistanceClusters):
    r"""k-medoids: every cluster is represented by one of its objects.

    Minimizes the inertia :math:`\sum_i \min_{m} d(x_i, m)` over k of the objects, the medoids, by swaps of a medoid
    with another object until none lowers it (FasterPAM: Schubert and Rousseeuw, Fast and eager k-medoids clustering,
    Information Systems 101, 2021). The similarity need not be a kernel. If it is not symmetric, an object is the query
    and the medoid comes second: d(x, m) follows from K(x, m).

    The matrix of all distances is computed once. If it exceeds the memory budget, medoids are searched in `n_init`
    random samples and scored by all objects (CLARA: Kaufman and Rousseeuw, 1990); ``solver_`` says so.

    Parameters
    ----------
    similarity : Similarity, str or callable
    n_clusters : int or "auto"
        ``"auto"`` chooses it by stability (see :func:`choose_clusters`); the result and its reason are in ``notes_``.
    distance : {"auto", "kernel", "similarity", "values"}
        What is minimized. ``"kernel"``: the distance in feature space,
        :math:`\sqrt{K(x, x) + K(z, z) - 2 K(x, z)}`; K must be a kernel. ``"similarity"``: c - K(x, z), where c is
        the largest K(x, x), so that the sum of similarities to the medoids is maximized; with K(x, x) = 1 these are
        half the squared distances in feature space. ``"values"``: the function is a distance already, such as
        ``FromBlocks(DTW().distances)``. ``"auto"``: ``"kernel"`` for a proven kernel, else ``"similarity"``.
    init : "random" or array of int
        The first medoids: drawn by chance, or indices of objects (then there is one run).
    n_init : int
        Number of runs, or of samples; the best is kept.
    max_iter : int
        Maximum number of passes over all candidates of a run.
    n_landmarks : int, optional
        Size of the samples. Default: all objects if their matrix fits into the memory budget of the engine.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    medoid_indices_, medoids_
        Which objects represent the clusters, and these objects.
    labels_ : array of int
    inertia_ : float
        The sum of the distances from the nearest medoids.
    n_iter_ : int
        Passes of the run that was kept.
    n_clusters_ : int
    distance_ : str
        What ``"auto"`` stands for.
    solver_ : str
        Whether all objects or samples were used, and why.
    similarity_
        The similarity with data-dependent parameters resolved.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> from similitude.learners import SimilarityKMedoids
    >>> model = SimilarityKMedoids(Edit(), n_clusters=2).fit(["house", "mouse", "houses", "graph", "graphs", "grape"])
    >>> sorted(model.medoids_)
    ['graph', 'house']
    >>> model.predict(["louse", "grasp"]) == model.labels_[[0, 3]]
    array([ True,  True])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        n_clusters: int | str = 8,
        distance: str = "auto",
        init: Any = "random",
        n_init: int = 4,
        max_iter: int = 300,
        n_landmarks: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.n_clusters = n_clusters
        self.distance = distance
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SimilarityKMedoids:
        """Find clusters of objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X, n = self._checked_objects(X)
        for name in ("n_init", "max_iter"):
            check_integer(name, getattr(self, name))
        least = 1  # the number of clusters that is asked for, 1 if it is to be chosen
        if not (isinstance(self.n_clusters, str) and self.n_clusters == "auto"):
            least = check_at_most("n_clusters", self.n_clusters, n, otherwise="'auto'")
        start = self._given_medoids(n)
        wanted, self.solver_ = landmarks_or_all(self.n_landmarks, n, self._engine, least)
        if wanted is not None and self.n_landmarks is None:
            wanted = min(n, max(2_000, 80 + 4 * least))  # a sample, of which the whole matrix is computed
        size = wanted or n
        given = X
        check_fits(size, size, itemsize(X), self._engine)
        k, X, A = self._start(X, self.random_state)
        if SYMMETRIC not in k.claims:  # a transposed copy is needed
            check_fits(2 * size, size, itemsize(given), self._engine)
        rng = generator(self.random_state)
        if wanted is None:
            if not self._precomputed:
                given = None
            distances, D = all_distances(self.distance, k, A, self._engine, given)
            found = self._search(k, D, rng, start, self.n_init)
        else:
            distances = Distances(self.distance, k, A)
            found = self._search_samples(k, A, rng, wanted, distances, start)
        _, medoids, self.n_iter_, converged = found
        self.medoid_indices_ = medoids
        self.n_clusters_ = len(medoids)
        self._keep(X, A, medoids, distances)
        self.labels_, nearest = self._nearest(k, A, medoids, distances)
        self.inertia_ = float(nearest.sum())
        filled = len(np.unique(self.labels_))
        warn = partial(warnings.warn, category=ConvergenceWarning, stacklevel=user_stacklevel())
        if filled < self.n_clusters_:
            warn(f"only {filled} of {self.n_clusters_} clusters have members: the other medoids are not needed")
        if not converged:
            warn(f"{self.max_iter} passes did not end in a local optimum: increase max_iter")
        return self

    def _given_medoids(self, n: int) -> np.ndarray | None:
        if isinstance(self.init, str):
            check_choice("init", self.init, ("random",), otherwise="an array of indices")
            return None
        given = np.asarray(self.init)
        fits = given.ndim == 1 and given.dtype.kind in "iu" and len(given) == self.n_clusters
        if not fits or len(np.unique(given)) < len(given) or given.min() < 0 or given.max() >= n:
            raise ValueError(
                f"init must be 'random' or n_clusters = {self.n_clusters} different indices below {n}, "
                f"got {brief(self.init)}"
            )
        return given.astype(np.int64)

    def _search(self, k: Similarity, D: np.ndarray, rng: np.random.Generator, start: Any, n_init: int) -> Medoids:
        """Return the medoids of some objects by the matrix of their distances."""
        far = towards_medoids(k, D)
        check_distinct(far, self.n_clusters)
        if start is not None:
            return improved(far, start, self.max_iter)
        number = self.n_clusters
        if not is_integer(number):
            numbers = [one for one in range(2, 11) if 2 * one <= len(far)]
            _check_halves(numbers, len(far))
            chosen = _chosen(far, numbers, rng, len(far))
            self.notes_.append(str(chosen))
            number = chosen.n_clusters
        return best_medoids(far, int(number), rng, n_init, self.max_iter)

    def _search_samples(
        self,
        k: Similarity,
        A: Encoding,
        rng: np.random.Generator,
        size: int,
        distances: Distances,
        start: np.ndarray | None,
    ) -> Medoids:
        """Return the best medoids of several samples, by the distances of all objects from them."""
        best: Medoids = (np.inf, np.empty(0, np.int64), 0, True)
        for _ in range(self.n_init):
            sample = np.sort(rng.choice(count(A), size, replace=False))
            inside = None
            if start is not None:  # the best medoids so far compete in the next sample
                sample = np.union1d(sample, start)
                inside = np.searchsorted(sample, start)
            values = k.blocks(rows(A, sample), engine=self._engine).whole()
            D = distances.to_some(sample).of_block(values, distances.own(sample), same=True)
            _, places, passes, converged = self._search(k, D, rng, inside, 1)
            loss = float(self._nearest(k, A, sample[places], distances)[1].sum())
            if loss < best[0]:
                start = sample[places]
                best = (loss, start, passes, converged)
        return best

    def _nearest(
        self, k: Similarity, A: Encoding, medoids: np.ndarray, distances: Distances
    ) -> tuple[np.ndarray, np.ndarray]:
        labels = np.empty(count(A), np.intp)
        nearest = np.empty(count(A))
        some = distances.to_some(medoids)
        for part, values in k.blocks(A, rows(A, medoids), self._engine).rows():
            far = some.of_block(values, distances.own(part))
            labels[part] = far.argmin(axis=1)
            nearest[part] = far.min(axis=1)
        return labels, nearest

    @property
    def medoids_(self) -> Any:
        """The objects that represent the clusters."""
        check_is_fitted(self)
        return self.support_objects_

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of the nearest medoid of every object."""
        k, A = self._ask(X)
        return self._distances.nearest(k, A, self._support, self._engine)
