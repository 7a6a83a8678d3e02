"""SimilarityKNeighborsClassifier and SimilarityKNeighborsRegressor: nearest neighbors in feature space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, Encoding, as_numpy, check_objects, count, itemsize
from similitude.compute.engines import Engine, LocalEngine
from similitude.learners.kernel_learner import KernelLearner, check_at_most
from similitude.learners.neighbors.tiles import BoundedSearch, SquaredLengths, nearest_in_tiles
from similitude.scikit import all_or_nothing, check_labels, check_targets, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import NotAKernelError, brief, check_choice
from similitude.validity import Validity

NO_DISTANCE = "the similarity is not a kernel, so that it orders neighbors but gives no distances"


class BaseNeighbors(KernelLearner):
    """What classification and regression share: the nearest training objects and their weights."""

    _takes_tensors = True
    _lengths: SquaredLengths | None

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_neighbors: int = 5,
        weights: str | Callable[[np.ndarray], np.ndarray] = "uniform",
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.engine = engine

    @tensors_for_tensors
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the nearest training objects of every object, nearest first, ties by index.

        Parameters
        ----------
        X : sequence of objects, optional
            Default: the training objects, each without itself.
        n_neighbors : int, optional
            Default: that of the estimator.
        return_distance : bool

        Returns
        -------
        distances : array of shape (n, n_neighbors)
            If `return_distance`.
        indices : array of shape (n, n_neighbors)
        """
        check_is_fitted(self)
        lengths = self._lengths
        if return_distance and lengths is None:
            raise ValueError(f"{NO_DISTANCE}: use return_distance=False")
        if X is not None:
            k, A = self._ask(X)
        elif self._precomputed:
            raise ValueError(
                "the training matrix is not kept: pass K(new, train) as X, or use the kernel Precomputed(M) on indices"
            )
        else:
            k = self.kernel_
            A = self._support
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        wanted = check_at_most("n_neighbors", n_neighbors, self.n_samples_fit_, without_itself=X is None)
        if lengths is None or not return_distance:
            return self._nearest(k, A, wanted, X is None)[1]
        own = lengths.of_new(k, A, self._precomputed, "use return_distance=False and weights='uniform'")
        far, which = self._nearest(k, A, wanted, X is None)
        return lengths.distances(own, far, which, itemsize(A)), which

    def _nearest(self, k: Similarity, A: Encoding, wanted: int, without_itself: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return ranks and indices of the nearest; only these are copied from a device."""
        bounds = None
        by_similarity = self._lengths is None or self._lengths.equal
        if by_similarity and k.hints.heavy and isinstance(self._engine, LocalEngine):
            bounds = k.bounds(self._support)
        if bounds is not None:
            own = None
            if without_itself:
                own = np.arange(count(A))
            which, values, _ = BoundedSearch(k, self._support, bounds, self._engine).nearest(A, wanted, own)
            return -values, which
        there = A
        if k.hints.on_tensors:
            there = self._engine.to_device(A)
        blocks = Blocks(k, there, self._support, engine=self._engine)
        with self._engine.linear_algebra(f"the search for {wanted:,} neighbors of {count(A):,} objects"):
            return nearest_in_tiles(blocks, count(A), wanted, self._ranked, without_itself)

    def _ranked(self, values: Any, columns: slice) -> Any:
        if self._lengths is None:
            return -values
        return self._lengths.ranked(values, columns)

    def _check_params(self) -> None:
        if not callable(self.weights):
            check_choice("weights", self.weights, ("uniform", "distance"), otherwise="a function of distances")

    def _check_training(self, X: Any) -> Any:
        self._check_params()
        X = self._checked(X, reset=True)
        check_at_most("n_neighbors", self.n_neighbors, check_objects(X))
        return X

    def _remember(self, X: Any) -> None:
        try:
            k, X, A = self._start(X, kernel=True)
            self._lengths = SquaredLengths(k, A)
        except NotAKernelError as error:
            if self.weights != "uniform":
                raise ValueError(f"{NO_DISTANCE}: use weights='uniform'") from error
            k, X, A = self._start(X)
            self._lengths = None
            self.validity_ = Validity("INVALID", k.proof(), error.witness)
        self.support_objects_ = X
        self._support = A
        self.n_samples_fit_ = count(A)

    def _weighted_neighbors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training objects of every object and their weights, which sum to one."""
        check_is_fitted(self)
        self._check_params()
        if isinstance(self.weights, str) and self.weights == "uniform":
            which = as_numpy(self.kneighbors(X, return_distance=False))
            return which, np.full(which.shape, 1.0 / which.shape[1])
        distances, which = map(as_numpy, self.kneighbors(X))
        if isinstance(self.weights, str):  # relative to the nearest; objects at distance zero decide alone
            nearest = distances.min(axis=1, keepdims=True)
            weights = np.where(nearest > 0, nearest / np.where(nearest > 0, distances, 1.0), distances == 0)
        else:
            weights = np.asarray(self.weights(distances.copy()), dtype=np.float64)
            if weights.shape != distances.shape or not np.isfinite(weights).all() or (weights < 0).any():
                own = brief(self.weights)
                raise ValueError(f"weights must map an array of distances to as many numbers >= 0: {own} did not")
        totals = weights.sum(axis=1, keepdims=True)
        return which, np.where(totals > 0, weights, 1.0) / np.where(totals > 0, totals, which.shape[1])


class SimilarityKNeighborsClassifier(ClassifierMixin, BaseNeighbors):
    r"""Classification by the nearest training objects.

    The distance is that in the feature space of the kernel,
    :math:`D_K(x, z) = \sqrt{K(x, x) + K(z, z) - 2 K(x, z)}`. (Lecture 6: Kernels, "kernelised distance" and k nearest
    neighbors.) Under a Gaussian kernel the neighbors are the Euclidean ones. Distances are computed in tiles, of which
    only the nearest are kept. A similarity that is not a kernel defines no distance: the neighbors are then the objects
    of the largest similarity s(x, training object). Those of `DTW` and `Edit` are found by bounds, which leave out most
    pairs, with the same result.

    Parameters
    ----------
    kernel : Similarity, str or callable
        If it is not PSD, neighbors are ordered by similarity, and `weights` must be ``"uniform"``. With
        ``"precomputed"``, K(x, x) of new objects is unknown. Ranking does not need it; distances are available only if
        K(x, x) is the same for all training objects, and is then assumed for new ones.
    n_neighbors : int
        Number of neighbors; ties are broken by index.
    weights : {"uniform", "distance"} or callable
        The weight of a neighbor's vote: equal for all, 1 / distance (neighbors at distance zero decide alone), or a
        function of an array of distances (if it is zero for all neighbors, they count equally).
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    support_objects_, n_samples_fit_
        The training objects and their number.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it; if INVALID, its own order is used.

    Examples
    --------
    >>> from similitude.learners import SimilarityKNeighborsClassifier
    >>> words = ["aab", "abab", "xyz", "zzx", "bba"]
    >>> model = SimilarityKNeighborsClassifier(lambda s, t: len(set(s) & set(t)), n_neighbors=3)
    >>> model.fit(words, ["ab", "ab", "xz", "xz", "ab"]).predict(["ba", "zy"])
    array(['ab', 'xz'], dtype='<U2')
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> SimilarityKNeighborsClassifier:
        """Store labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        """
        X = self._check_training(X)
        self.classes_, self._codes = check_labels(self, X, y)
        self._remember(X)
        return self

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class in the votes of the nearest, of shape (n, classes)."""
        which, weights = self._weighted_neighbors(X)
        shares = np.zeros((len(which), len(self.classes_)))
        np.add.at(shares, (np.arange(len(which))[:, None], self._codes[which]), weights)
        return shares

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the most votes; on a tie the first in ``classes_``."""
        shares = as_numpy(self.predict_proba(X))
        return self.classes_[shares.argmax(axis=1)]


class SimilarityKNeighborsRegressor(MultiOutputMixin, RegressorMixin, BaseNeighbors):
    """Regression by the mean target of the nearest training objects, in the feature space of a kernel.

    Parameters
    ----------
    kernel, n_neighbors, weights, engine
        See :class:`SimilarityKNeighborsClassifier`.

    Attributes
    ----------
    support_objects_, n_samples_fit_
        The training objects and their number.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.learners import SimilarityKNeighborsRegressor
    >>> model = SimilarityKNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 5.0])
    >>> model.predict([[0.4], [4.0]])
    array([0.5, 3. ])
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> SimilarityKNeighborsRegressor:
        """Store objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        """
        X = self._check_training(X)
        self._targets = check_targets(self, X, y)
        self._remember(X)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the nearest objects' targets, of shape (n,) or (n, outputs)."""
        which, weights = self._weighted_neighbors(X)
        return np.einsum("nk,nk...->n...", weights, self._targets[which])
