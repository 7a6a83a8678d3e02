"""SpectralClusters: normalized cuts of a nonnegative similarity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, qr
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans

from similitude.compute import Encoding, as_numpy, check_fits, check_objects, itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.clusters.distances import check_distinct, landmarks_or_all, symmetric
from similitude.learners.kernel_learner import KernelLearner, check_at_most
from similitude.maps import local_eigenpairs
from similitude.scikit import all_or_nothing, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import PairError, check_integer, generator


class SpectralClusters(ClusterMixin, KernelLearner):
    r"""Normalized cuts: clusters of any shape, by a similarity that is nowhere negative.

    Objects are the nodes of a graph whose edges have the weights W = K(x, z). Cutting it into parts that are balanced
    and little connected is relaxed to eigenvectors: those of the k largest eigenvalues of
    :math:`D^{-1/2} W D^{-1/2}`, D the row sums of W, divided by the roots of D, are coordinates of the objects, in
    which k-means finds the clusters (Shi and Malik, 2000; Ng, Jordan and Weiss, 2001). A new object gets coordinates as
    the mean of those of all objects, weighted by its similarities (Nyström; Bengio et al., 2004), which for the
    training objects are their own. If K is not symmetric, W is the mean of K(x, z) and K(z, x).

    The similarity must be local: nearly zero between clusters. For vectors under a Gaussian kernel that means a width
    like the distance of neighbors. K(x, x) counts in D, as an edge of an object to itself; it is cut by no part, and
    makes it costlier to cut off single objects.

    If W exceeds the memory budget, it is approximated from similarities to landmarks,
    :math:`W \approx C M^+ C^\top`, C the similarities to the landmarks and M those among them (Fowlkes, Belongie, Chung
    and Malik, 2004); ``solver_`` says so. Landmarks must lie as densely as the similarity is local: a cut near objects
    that are unlike all landmarks may be anywhere, and ``notes_`` says how many there are.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Need not be a kernel.
    n_clusters : int
    n_init : int
        Number of runs of k-means.
    n_landmarks : int, optional
        Number of landmarks, drawn by chance. Default: all objects if W fits into the memory budget of the engine, else
        500.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    labels_ : array of int
    embedding_ : array of shape (n, n_clusters)
        The coordinates.
    eigenvalues_ : array
        The largest eigenvalues; as many are close to 1 as there are parts that are nearly unconnected.
    solver_ : str
        Whether all objects or landmarks were used, and why.
    support_, support_objects_, dual_coef_
        The objects whose similarities give the coordinates of a new one.
    similarity_
        The similarity with data-dependent parameters resolved.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian
    >>> from similitude.learners import SpectralClusters
    >>> angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> model = SpectralClusters(Gaussian(0.3), n_clusters=2).fit(np.concatenate([ring, 4 * ring]))
    >>> len(set(model.labels_[:40])), len(set(model.labels_[40:])), len(set(model.labels_))
    (1, 1, 2)
    >>> model.predict([[1.1, 0.0], [0.0, 3.9]]) == model.labels_[[0, 40]]
    array([ True,  True])
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        n_clusters: int = 8,
        n_init: int = 10,
        n_landmarks: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SpectralClusters:
        """Find clusters of objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X = self._checked(X, reset=True)
        n = check_objects(X)
        check_at_most("n_clusters", self.n_clusters, n)
        check_integer("n_init", self.n_init)
        m, self.solver_ = landmarks_or_all(self.n_landmarks, n, self._engine, self.n_clusters)
        check_fits(n, m or n, itemsize(X), self._engine)
        k, X, A = self._start(X, self.random_state)
        rng = generator(self.random_state)
        coefficients = np.zeros((n, self.n_clusters + 1))
        if m is None:
            W = symmetric(k, self._similarities(k, A, None))
            self.embedding_, self.eigenvalues_, coefficients[:] = self._of_all(W, rng)
        else:
            which = np.sort(rng.choice(n, m, replace=False))
            C = self._similarities(k, A, rows(A, which))
            self.embedding_, self.eigenvalues_, coefficients[which] = self._of_landmarks(C, which, k, A)
        self._keep(X, A, coefficients)
        means = KMeans(self.n_clusters, n_init=self.n_init, random_state=int(rng.integers(2**31))).fit(self.embedding_)
        self._centers = means.cluster_centers_
        self.labels_ = self._nearest(self.embedding_)
        return self

    def _similarities(self, k: Similarity, A: Encoding, landmarks: Encoding | None) -> np.ndarray:
        """Return the similarities to all objects or to landmarks in float64; a negative one is refused."""
        C = as_numpy(k.blocks(A, landmarks, self._engine).whole())
        if C.min() < -1e-12 * max(C.max(), -C.min()):
            i, j = (int(place) for place in np.unravel_index(C.argmin(), C.shape))
            raise PairError(
                i,
                j,
                f"the similarity is {C[i, j]:.6g} < 0, and a cut needs weights >= 0: use a similarity that is nowhere "
                f"negative, KernelKMeans or SimilarityKMedoids",
            )
        return np.maximum(C, 0.0, dtype=np.float64)

    def _of_all(self, W: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coordinates, eigenvalues, and coefficients of coordinates and row sums; W is overwritten."""
        check_distinct(W, self.n_clusters)
        roots = np.sqrt(self._degrees(W.sum(axis=1)))
        W /= roots[:, None]
        W /= roots
        found = local_eigenpairs(W, self.n_clusters, rng)
        values = found.values
        self._check_rank(values)
        vectors = found.vectors * (np.sqrt((roots**2).sum()) / roots[:, None])
        return vectors, values, np.column_stack([vectors / values, np.ones(len(roots))])

    def _of_landmarks(
        self, C: np.ndarray, which: np.ndarray, k: Similarity, A: Encoding
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same for the approximation by landmarks."""
        M = (C[which] + C[which].T) / 2
        m = len(M)
        values, vectors = np.linalg.eigh(M)
        large = abs(values) > 1e-10 * abs(values).max()
        inverse = (vectors[:, large] / values[large]) @ vectors[:, large].T
        explained = np.einsum("ij,ij->i", C @ inverse, C)
        far = np.flatnonzero(explained < 0.1 * as_numpy(k.diagonal(A)))
        if len(far):
            self.notes_.append(
                f"{len(far):,} objects, the first at {far[0]}, are unlike all landmarks, so that the cut near them may "
                "be anywhere: use more landmarks, or a similarity that reaches farther"
            )
        check_distinct(M, self.n_clusters)
        towards = inverse @ C.sum(axis=0)
        roots = np.sqrt(self._degrees(C @ towards))
        R = qr(C / roots[:, None], mode="r", overwrite_a=True)[0][:m]
        small = R @ inverse @ R.T
        values, inner = eigh((small + small.T) / 2, subset_by_index=(m - self.n_clusters, m - 1))
        values = values[::-1]
        self._check_rank(values)
        scaled = inverse @ (R.T @ inner[:, ::-1]) / values * np.sqrt((roots**2).sum())
        coefficients = np.column_stack([scaled, towards])
        return self._coordinates(C @ coefficients), values, coefficients

    def _degrees(self, sums: np.ndarray) -> np.ndarray:
        """Return row sums, with 1 for objects without any similarity, which are noted."""
        alone = sums <= 1e-12 * sums.max()
        if alone.all():
            raise ValueError("all similarities are zero, so that no clusters can be told apart")
        if alone.any():
            some = f"{int(alone.sum()):,} objects, the first at {int(alone.argmax())}"
            self.notes_.append(f"{some}, have no similarity to any other: their coordinates are zero")
        return np.where(alone, 1.0, sums)

    def _check_rank(self, values: np.ndarray) -> None:
        enough = int((values > 1e-8).sum())
        if enough < self.n_clusters:
            raise ValueError(
                f"n_clusters = {self.n_clusters}, but only {enough} eigenvalues of the normalized similarity are "
                f"positive: ask for fewer clusters"
            )

    def _coordinates(self, sums: np.ndarray) -> np.ndarray:
        """Return coordinates from weighted sums of similarities, whose last column is the sum of similarities."""
        degrees = sums[:, -1:]
        alone = degrees <= 1e-12 * abs(degrees).max()
        return np.where(alone, 0.0, sums[:, :-1] / np.where(alone, 1.0, degrees))

    def _nearest(self, vectors: np.ndarray) -> np.ndarray:
        return ((vectors[:, None] - self._centers) ** 2).sum(axis=2).argmin(axis=1)

    fit_predict = tensors_for_tensors(ClusterMixin.fit_predict)

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of every object."""
        k, A = self._ask(X)
        return self._nearest(self._coordinates(self._sums(k, A)))
