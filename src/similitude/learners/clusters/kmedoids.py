"""SimilarityKMedoids: k-medoids by any similarity."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Encoding, check_fits, check_objects, count, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.learners.clusters.distances import (
    Distances,
    all_distances,
    check_distinct,
    check_rule,
    landmarks_or_all,
    towards_medoids,
)
from similitude.learners.clusters.medoids import Medoids, best_medoids, improved, number_of_clusters
from similitude.learners.kernel_learner import check_at_most
from similitude.scikit import SimilarityEstimator, all_or_nothing, tensors_for_tensors
from similitude.similarity import SYMMETRIC, Similarity
from similitude.support import brief, check_choice, check_integer, generator, is_integer, user_stacklevel


class SimilarityKMedoids(ClusterMixin, SimilarityEstimator):
    r"""k-medoids: every cluster is represented by one of its objects.

    Minimizes the inertia :math:`\sum_i \min_{m} d(x_i, m)` over k of the objects, the medoids, by swaps of a medoid
    with another object until none lowers it (FasterPAM: Schubert and Rousseeuw, Fast and eager k-medoids clustering,
    Information Systems 101, 2021). The similarity need not be a kernel. If it is not symmetric, an object is the query
    and the medoid comes second: d(x, m) follows from K(x, m).

    The matrix of all distances is computed once. If it exceeds the memory budget, medoids are searched in `n_init`
    random samples and judged by all objects (CLARA: Kaufman and Rousseeuw, 1990); ``solver_`` says so.

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
        X = self._checked(X, reset=True)
        n = check_objects(X)
        self._check_params(n)
        wanted, self.solver_ = landmarks_or_all(self.n_landmarks, n, self._engine, self._least)
        if wanted is not None and self.n_landmarks is None:
            wanted = min(n, max(2_000, 80 + 4 * self._least))  # a sample, of which the whole matrix is computed
        size = wanted or n
        given = X
        check_fits(size, size, itemsize(X), self._engine)
        k, X, A = self._start(X, self.random_state)
        if SYMMETRIC not in k.claims:  # a transposed copy is needed
            check_fits(2 * size, size, itemsize(given), self._engine)
        rng = generator(self.random_state)
        if wanted is None:
            distances, D = all_distances(self.distance, k, A, self._engine, given if self._precomputed else None)
            found = self._search(k, D, rng, self._given_medoids(n), self.n_init)
        else:
            distances = Distances(self.distance, k, A)
            found = self._search_samples(k, A, rng, wanted, distances)
        self._keep_medoids(k, X, A, found, distances)
        return self

    def _check_params(self, n: int) -> None:
        check_rule(self)
        for name in ("n_init", "max_iter"):
            check_integer(name, getattr(self, name))
        if not (isinstance(self.n_clusters, str) and self.n_clusters == "auto"):
            check_at_most("n_clusters", self.n_clusters, n, otherwise="'auto'")
        if isinstance(self.init, str):
            check_choice("init", self.init, ("random",), otherwise="an array of indices")
        else:
            self._given_medoids(n)

    @property
    def _least(self) -> int:
        """The number of clusters that is asked for, 1 if it is to be chosen."""
        return self.n_clusters if isinstance(self.n_clusters, int) else 1

    def _given_medoids(self, n: int) -> np.ndarray | None:
        if isinstance(self.init, str):
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
            chosen = number_of_clusters(far, rng)
            self.notes_.append(str(chosen))
            number = chosen.n_clusters
        return best_medoids(far, int(number), rng, n_init, self.max_iter)

    def _search_samples(
        self, k: Similarity, A: Encoding, rng: np.random.Generator, size: int, distances: Distances
    ) -> Medoids:
        """Return the best medoids of several samples, by the distances of all objects from them."""
        n = count(A)
        start = self._given_medoids(n)
        best = Medoids(np.empty(0, np.int64), np.inf, 0, True)
        for _ in range(self.n_init):
            sample = np.sort(rng.choice(n, size, replace=False))
            inside = None
            if start is not None:  # the best medoids so far compete in the next sample
                sample = np.union1d(sample, start)
                inside = np.searchsorted(sample, start)
            values = k.blocks(rows(A, sample), engine=self._engine).whole()
            D = distances.to_some(sample).of_block(values, distances.own(sample), same=True)
            found = self._search(k, D, rng, inside, 1)
            medoids = sample[found.indices]
            loss = float(self._nearest(k, A, medoids, distances)[1].sum())
            if loss < best.loss:
                best = Medoids(medoids, loss, found.n_iter, found.converged)
                start = medoids
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

    def _keep_medoids(self, k: Similarity, X: Any, A: Encoding, found: Medoids, distances: Distances) -> None:
        self.medoid_indices_ = found.indices
        self.n_iter_ = found.n_iter
        self.n_clusters_ = len(found.indices)
        self.support_objects_ = take(X, found.indices)
        self._support = rows(A, found.indices)
        self._distances = distances.to_some(found.indices)
        self.distance_ = distances.rule
        self.labels_, nearest = self._nearest(k, A, found.indices, distances)
        self.inertia_ = float(nearest.sum())
        filled = len(np.unique(self.labels_))
        if filled < self.n_clusters_:
            self._warn(f"only {filled} of {self.n_clusters_} clusters have members: the other medoids are not needed")
        if not found.converged:
            self._warn(f"{self.max_iter} passes did not end in a local optimum: increase max_iter")

    @property
    def medoids_(self) -> Any:
        """The objects that represent the clusters."""
        check_is_fitted(self)
        return self.support_objects_

    def _warn(self, problem: str) -> None:
        warnings.warn(problem, ConvergenceWarning, stacklevel=user_stacklevel())

    fit_predict = tensors_for_tensors(ClusterMixin.fit_predict)

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of the nearest medoid of every object."""
        k, A = self._ask(X)
        return self._distances.nearest(k, A, self._support, self._engine)
