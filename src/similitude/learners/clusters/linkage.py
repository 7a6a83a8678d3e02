"""SimilarityLinkage: a hierarchy of clusters by any similarity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from similitude.compute import check_fits, check_objects, itemsize
from similitude.compute.engines import Engine
from similitude.learners.clusters.distances import DistanceClusters, all_distances, check_distinct, symmetric
from similitude.learners.kernel_learner import check_at_most
from similitude.scikit import all_or_nothing, tensors_for_tensors
from similitude.support import check_choice, check_nonnegative

EUCLIDEAN = ("ward", "centroid", "median")
"""Methods that are defined by means of vectors, so that distances must be those of a kernel."""


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
        X = self._checked_objects(X)
        n = check_objects(X)
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
