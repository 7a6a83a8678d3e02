"""Clusters by distances that follow from any similarity: hierarchies, and dense regions with noise between them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.base import ClusterMixin

from similitude.compute import FLOATS, Encoding, as_numpy, check_fits, check_objects, count, itemsize, rows, take
from similitude.compute.engines import Engine, format_bytes
from similitude.learners.kernel_learner import check_at_most
from similitude.learners.neighbors import SquaredLengths
from similitude.scikit import SimilarityEstimator, all_or_nothing, refuse_known, tensors_for_tensors
from similitude.similarity import SYMMETRIC, UNIT_DIAGONAL, Similarity, as_similarity, finite_diagonal, kernel_distance
from similitude.support import PairError, check_choice, check_nonnegative, check_positive, generator

EUCLIDEAN = ("ward", "centroid", "median")
"""Methods that are defined by means of vectors, so that distances must be those of a kernel."""

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

    def _checked_objects(self, X: Any) -> tuple[Any, int]:
        """Validate the objects, and how distances follow from the similarity, before it is called; count them."""
        X = self._checked(X, reset=True)
        check_choice("distance", self.distance, DISTANCES)
        if self.distance == "kernel" and not (self._is_automatic or self._precomputed):
            refuse_known(as_similarity(self.similarity))
        return X, check_objects(X)

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


class SimilarityLinkage(DistanceClusters):
    """Hierarchical clusters: the two nearest clusters are merged, again and again.

    By scipy's ``linkage``; ``linkage_`` is what its ``dendrogram`` draws. All distances are in memory: of n objects
    they need 8 n^2 bytes, and more than the memory budget is refused. If K is not symmetric, distances are the means of
    both directions.

    Parameters
    ----------
    similarity : Similarity, str or callable
    method : {"average", "single", "complete", "weighted", "ward", "centroid", "median"}
        The distance of two clusters; see ``scipy.cluster.hierarchy.linkage``. The last three need a kernel.
    n_clusters : int, optional
        Cut the hierarchy into this number of clusters.
    distance_threshold : float, optional
        Or merge clusters up to this distance. One of the two must be None.
    distance : {"auto", "kernel", "similarity", "values"}
        How distances follow from the similarity; see :class:`SimilarityKMedoids`.
    engine : Engine, optional

    Attributes
    ----------
    linkage_ : array of shape (n - 1, 4)
        In each row the two clusters that are merged, their distance, and the size of the new one.
    labels_ : array of int
    n_clusters_ : int
    distance_ : str
        What ``"auto"`` stands for.
    support_objects_
        The training objects.
    similarity_
        The similarity with data-dependent parameters resolved.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> from similitude.learners import SimilarityLinkage
    >>> model = SimilarityLinkage(Edit(), n_clusters=2).fit(["house", "mouse", "houses", "graph", "graphs"])
    >>> model.labels_
    array([0, 0, 0, 1, 1])
    >>> model.linkage_[:, 2].round(2)
    array([0.17, 0.17, 0.27, 0.97])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        method: str = "average",
        n_clusters: int | None = 2,
        distance_threshold: float | None = None,
        distance: str = "auto",
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.method = method
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.distance = distance
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SimilarityLinkage:
        """Find the hierarchy of clusters, and cut it.

        Parameters
        ----------
        X : sequence of objects, at least two
        y : ignored
        """
        X, n = self._checked_objects(X)
        check_choice("method", self.method, ("single", "complete", "average", "weighted", *EUCLIDEAN))
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError("give either n_clusters or distance_threshold, and None for the other")
        if self.n_clusters is not None:
            check_at_most("n_clusters", self.n_clusters, n)
        else:
            check_nonnegative("distance_threshold", self.distance_threshold)
        if n < 2:
            raise ValueError("a hierarchy needs at least two objects, got n_samples = 1")
        check_fits(n, n, itemsize(X), self._engine)
        k, X, A = self._start(X)
        distances, D = all_distances(self.distance, k, A, self._engine)
        if self.method in EUCLIDEAN and distances.rule != "kernel":
            raise ValueError(
                f"method = {self.method!r} is defined by means of vectors and needs distances of a kernel, but "
                f"{k!r} is not known to be one: use distance='kernel' if it is, or method='average'"
            )
        D = symmetric(k, D)
        check_distinct(D, self.n_clusters)
        np.fill_diagonal(D, 0.0)
        self.linkage_ = linkage(squareform(D, checks=False), self.method)
        if self.distance_threshold is None:
            labels = fcluster(self.linkage_, self.n_clusters, "maxclust")
        else:
            labels = fcluster(self.linkage_, self.distance_threshold, "distance")
        _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        self.labels_ = first.argsort().argsort()[codes]  # in the order of the objects
        self.n_clusters_ = len(first)
        self._keep(X, A, np.arange(n), distances)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of the nearest training object of every object."""
        k, A = self._ask(X)
        return self.labels_[self._distances.nearest(k, A, self._support, self._engine)]


class SimilarityDensityClusters(DistanceClusters):
    """Dense regions of any shape, and noise: DBSCAN by any similarity.

    An object is a core object if at least `min_samples` objects, itself included, are within the radius `eps`. Core
    objects within the radius of each other are in the same cluster; another object is in the cluster of the nearest
    core object if that is within the radius, and noise (label -1) otherwise. (Ester, Kriegel, Sander and Xu, 1996;
    there the first cluster that reaches an object at the border gets it.) If K is not symmetric, d(x, z) within the
    radius makes z a neighbor of x, and core objects are connected if one is a neighbor of the other.

    If the matrix of all distances exceeds the memory budget, only landmarks drawn by chance may be core objects; their
    neighbors are counted among all objects (DBSCAN++: Jang and Jiang, 2019), and ``solver_`` says so.

    Parameters
    ----------
    similarity : Similarity, str or callable
    eps : float, optional
        The radius. Default: the one within which 90 % of the objects are core objects, by the distances from their
        neighbor number `min_samples`; ``eps_`` is its value.
    min_samples : int
    distance : {"auto", "kernel", "similarity", "values"}
        How distances follow from the similarity; see :class:`SimilarityKMedoids`.
    n_landmarks : int, optional
        Number of landmarks. Default: all objects if their matrix fits into the memory budget of the engine, else 500.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    labels_ : array of int
        The cluster of each object, -1 for noise.
    core_sample_indices_, support_objects_
        Which objects are core objects, and these objects.
    n_clusters_ : int
    eps_ : float
    distance_ : str
        What ``"auto"`` stands for.
    solver_ : str
        Whether all objects or landmarks were used, and why.
    similarity_
        The similarity with data-dependent parameters resolved.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> from similitude.learners import SimilarityDensityClusters
    >>> words = ["house", "mouse", "louse", "graph", "graphs", "graphed", "kernel"]
    >>> SimilarityDensityClusters(Edit(), eps=0.3, min_samples=2).fit(words).labels_
    array([ 0,  0,  0,  1,  1,  1, -1])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        eps: float | None = None,
        min_samples: int = 5,
        distance: str = "auto",
        n_landmarks: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.eps = eps
        self.min_samples = min_samples
        self.distance = distance
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SimilarityDensityClusters:
        """Find clusters of objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X, n = self._checked_objects(X)
        if self.eps is not None:
            check_positive("eps", self.eps, otherwise="None")
        check_at_most("min_samples", self.min_samples, n)
        m, self.solver_ = landmarks_or_all(self.n_landmarks, n, self._engine)
        check_fits(m or n, n, itemsize(X), self._engine)
        k, X, A = self._start(X, self.random_state)
        distances = Distances(self.distance, k, A)
        which = np.arange(n)
        some = A
        if m is not None:
            which = np.sort(generator(self.random_state).choice(n, m, replace=False))
            some = rows(A, which)
        values = k.blocks(some, A, self._engine).whole()
        D = distances.of_block(values, distances.own(which), same=m is None)
        farthest = np.partition(D, self.min_samples - 1, axis=1)[:, self.min_samples - 1]
        self.eps_ = float(self.eps or np.quantile(farthest, 0.9, method="higher"))
        is_core = farthest <= self.eps_
        self.core_sample_indices_ = which[is_core]
        D = D[is_core]
        connected = csr_array(D[:, self.core_sample_indices_] <= self.eps_)
        self.n_clusters_, self._core_labels = connected_components(connected, directed=False)
        self._keep(X, A, self.core_sample_indices_, distances)
        self.labels_ = self._labels(D.T)
        return self

    def _labels(self, far: np.ndarray) -> np.ndarray:
        """Return the cluster of the nearest core object, given the distances from all of them."""
        if not len(self._core_labels):
            return np.full(len(far), -1)
        nearest = far.argmin(axis=1)
        near = far[np.arange(len(far)), nearest] <= self.eps_
        return np.where(near, self._core_labels[nearest], -1).astype(np.intp)

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of the nearest core object of every object, -1 if none is within the radius."""
        k, A = self._ask(X)
        labels = np.full(count(A), -1)
        if not len(self._core_labels):
            return labels
        own = np.zeros(count(A))
        if self._distances.lengths is not None:
            own = self._distances.lengths.of_new(k, A, self._precomputed, "use distance='similarity'")
        for part, values in k.blocks(A, self._support, self._engine).rows():
            labels[part] = self._labels(self._distances.of_block(values, own[part]))
        return labels
