"""SpectralEmbedding: Laplacian eigenmaps of the graph whose weights are similarities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from similitude.compute import Blocks, Encoding, as_numpy, check_fits, check_objects, count, itemsize
from similitude.compute.engines import Engine
from similitude.maps.eigenpairs import Eigenpairs, eigenpairs_of_matrix, flipped, is_dense
from similitude.scikit import SimilarityEstimator, all_or_nothing, tensors_for_tensors, whole_gram
from similitude.similarity import Similarity
from similitude.support import Guarantee, check_integer, check_positive, generator, number_of


class SpectralEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SimilarityEstimator):
    r"""Laplacian eigenmaps: objects in a few dimensions, where similar ones are near each other.

    The similarities are the weights W of a graph, without loops. With degrees :math:`d_i = \sum_j W_{ij}` and the
    eigenpairs :math:`D^{-1/2} W D^{-1/2} v = \mu v` of largest :math:`\mu`, the first of which is trivial, the
    coordinates of object i are :math:`v_{ki} / \sqrt{d_i}`. (Belkin and Niyogi, "Laplacian Eigenmaps for
    Dimensionality Reduction and Data Representation", 2003.) They are those of scikit-learn for a precomputed affinity.
    An object x has the coordinates :math:`\sum_j K(x, x_j) e_{kj} / (\mu_k d(x) + (1 - \mu_k) K(x, x))` with
    :math:`d(x) = \sum_j K(x, x_j)`, where :math:`e_{kj}` are those of the training objects, which keep their places.
    For K(x, x) = 0 this is the extension of Bengio et al. ("Out-of-Sample Extensions for LLE, Isomap, MDS, Eigenmaps,
    and Spectral Clustering", 2004), from which it differs little if :math:`\mu_k d(x)` is large. Coordinates with
    :math:`\mu_k \le 0` cannot be extended; ``notes_`` names them.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any whose values are not negative. An asymmetric one is replaced by its mean with its transpose; ``notes_`` says
        so.
    n_components : int
        Less than the number of objects.
    n_neighbors : int, optional
        Join each object with this number of most similar ones only. The weight is the mean of both directions, and 0
        for a direction that does not exist. Default: all objects are joined.
    tol : float
        The largest residual of an eigenpair of more than 2,000 objects.
    random_state : int, optional
        Chooses the objects with which the eigensolver starts.
    engine : Engine, optional
        Its memory budget must hold the matrix of similarities twice.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        The coordinates of the training objects.
    eigenvalues_ : array
        :math:`1 - \mu`, the eigenvalues of the normalized Laplacian, from the smallest on, without the first.
    n_connected_components_ : int
        The number of parts between which all weights are 0. If there are several, the coordinates tell parts apart, and
        little within them; a warning says so.
    similarity_, notes_
        The similarity with data-dependent parameters resolved, and remarks.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.maps import SpectralEmbedding
    >>> line = np.arange(8.0)[:, None]
    >>> places = SpectralEmbedding("gaussian", n_components=1, n_neighbors=2).fit_transform(line)[:, 0]
    >>> bool((np.diff(places) > 0).all() or (np.diff(places) < 0).all())
    True
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        n_components: int = 2,
        n_neighbors: int | None = None,
        tol: float = 1e-8,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SpectralEmbedding:
        """Embed objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X = self._checked(X, reset=True)
        self._check_params(check_objects(X))
        k, X, A = self._start(X, self.random_state)
        W = self._weights(k, A)
        degrees = W.sum(axis=0)
        if not degrees.all():
            i = int(np.flatnonzero(degrees == 0)[0])
            raise ValueError(f"object {i} has similarity 0 to all others: leave it out, or use another similarity")
        self.n_connected_components_ = 1
        if np.count_nonzero(W, axis=1).max() < len(W) - 1:  # no object is joined with all
            self.n_connected_components_ = int(connected_components(csr_array(W > 0), False)[0])
        if self.n_connected_components_ > 1:
            warnings.warn(
                f"the graph has {number_of(self.n_connected_components_, 'connected component')}: the embedding tells "
                f"them apart, and little within them; use more neighbors or another similarity",
                stacklevel=3,
            )
        roots = np.sqrt(degrees)
        W /= roots
        W /= roots[:, None]
        with self._engine.linear_algebra(f"the spectral embedding of {len(W):,} objects"):
            found = self._eigenpairs(W)
        self.eigenvalues_ = 1.0 - found.values[1:]
        self.embedding_ = flipped(found.vectors / roots[:, None])[:, 1:]
        if (found.values <= 0).any():
            few = int((found.values > 0).sum()) - 1
            self.notes_.append(
                f"only the first {few} coordinates of new objects mean something: the others have mu <= 0"
            )
        self.guarantee_ = Guarantee.none("an embedding keeps neighbors together, but perhaps no margin")
        self.support_objects_ = X
        self._support = A
        return self

    def _check_params(self, n: int) -> None:
        """Validate parameters before the first call of the similarity."""
        d = check_integer("n_components", self.n_components)
        if n < 2:
            raise ValueError("an embedding needs at least two objects, got n_samples = 1")
        if d >= n:
            raise ValueError(f"n_components = {d} must be less than the number of objects (n_samples = {n})")
        if self.n_neighbors is not None and check_integer("n_neighbors", self.n_neighbors, otherwise="None") >= n:
            raise ValueError(f"n_neighbors = {self.n_neighbors} must be less than n_samples = {n}")
        check_positive("tol", self.tol)
        check_fits(2 * n, n, 8, self._engine)

    def _weights(self, k: Similarity, A: Encoding) -> np.ndarray:
        """Return the symmetric matrix of weights in float64, with a diagonal of zeros."""
        W = as_numpy(whole_gram(k, A, self._engine)).astype(np.float64)
        diagonal = W.diagonal()
        self._diagonal = float(diagonal[0]) * bool(np.allclose(diagonal, diagonal[0], rtol=1e-9, atol=0.0))
        np.fill_diagonal(W, 0.0)
        _refuse_negative(W, k)
        if np.abs(W - W.T).max() > (1e-5 if itemsize(A) == 4 else 1e-10) * W.max():  # more than rounding
            self.notes_.append("the similarity is not symmetric: weights are means of both directions")
        if self.n_neighbors is not None:
            W = nearest_only(W, self.n_neighbors)
        return (W + W.T) / 2

    def _eigenpairs(self, S: np.ndarray) -> Eigenpairs:
        """Return the leading eigenpairs; of neighbors, many of which are close to 1, by shift and invert."""
        k = self.n_components + 1
        rng = generator(self.random_state)
        if self.n_neighbors is None or is_dense(len(S), k):
            return eigenpairs_of_matrix(S, k, self.tol, rng, every=False)
        # the shift for eigenvalues near 1, which is one itself
        values, vectors = eigsh(csr_array(S), k, sigma=1.0 + 1e-6, v0=rng.uniform(-1, 1, len(S)), tol=self.tol)
        order = np.argsort(-values)
        return Eigenpairs(values[order], vectors[:, order], self.tol, float(values.min()))

    @tensors_for_tensors
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Embed objects, and return their coordinates; see `fit`."""
        return self.fit(X, y).embedding_

    @tensors_for_tensors
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new objects, of shape (n, n_components).

        An object without any similarity to the training objects has no place, and raises an error. With neighbors, or
        a matrix whose diagonal is not constant, K(x, x) counts as 0.
        """
        k, A = self._ask(X)
        own = np.zeros(count(A))
        if self.n_neighbors is None and self._precomputed:
            own[:] = self._diagonal
        elif self.n_neighbors is None:
            own[:] = as_numpy(k.diagonal(A))
        parts = []
        mu = 1.0 - self.eigenvalues_
        for strip, values in Blocks(k, A, self._support, engine=self._engine).rows():
            W = as_numpy(values).astype(np.float64)
            _refuse_negative(W, k)
            if self.n_neighbors is not None:
                W = nearest_only(W, self.n_neighbors)
            degrees = W.sum(axis=1)
            if not degrees.all():
                i = strip.start + int(np.flatnonzero(degrees == 0)[0])
                raise ValueError(f"object {i} has similarity 0 to all training objects, and so no place among them")
            parts.append((W @ self.embedding_) / (mu * degrees[:, None] + (1.0 - mu) * own[strip, None]))
        return np.vstack(parts)

    @property
    def _n_features_out(self) -> int:
        return self.n_components


def _refuse_negative(W: np.ndarray, k: Similarity) -> None:
    """Raise an error that names a pair if a similarity is negative."""
    if W.min() < 0:
        i, j = (int(place) for place in np.unravel_index(W.argmin(), W.shape))
        raise ValueError(
            f"weights of a graph must not be negative, but {k!r} is {W[i, j]:.6g} for pair ({i}, {j}): "
            f"use for example k.maximum(0.0 * k), k - its smallest value, or KernelPCA"
        )


def nearest_only(W: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the matrix with all but the largest values of each row set to 0."""
    largest = np.argpartition(-W, n_neighbors - 1, axis=1)[:, :n_neighbors]
    kept = np.zeros_like(W)
    np.put_along_axis(kept, largest, np.take_along_axis(W, largest, axis=1), axis=1)
    return kept
