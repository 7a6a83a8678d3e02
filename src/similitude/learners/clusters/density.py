"""SimilarityDensityClusters: dense regions by any similarity, and noise between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from similitude.compute import check_fits, check_objects, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.clusters.distances import DistanceClusters, Distances, landmarks_or_all
from similitude.learners.kernel_learner import check_at_most
from similitude.scikit import all_or_nothing, tensors_for_tensors
from similitude.support import check_positive, generator


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
        X = self._checked_objects(X)
        n = check_objects(X)
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
