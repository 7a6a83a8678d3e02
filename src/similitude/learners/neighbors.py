"""SimilarityKNeighborsClassifier and SimilarityKNeighborsRegressor: the nearest objects in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, as_numpy, check_objects, count, is_tensor, itemsize
from similitude.compute.engines import Engine, Tile
from similitude.learners.grams import positive_whole
from similitude.learners.kernel_learner import KernelLearner, check_labels, check_targets
from similitude.learners.nearest import Lengths, Nearest, NearestThere
from similitude.scikit.estimator import all_or_nothing, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support.errors import brief


class Neighbors(KernelLearner):
    """What classification and regression share: the nearest training objects and their weights."""

    _takes_tensors = True
    n_neighbors: int
    weights: str | Callable[[np.ndarray], np.ndarray]

    @tensors_for_tensors
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the nearest training objects of every object, nearest first, equally near ones by index.

        Parameters
        ----------
        X : sequence of objects, optional
            Default: the training objects, none of which is its own neighbor.
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
        k, A = self._training() if X is None else self._ask(X)
        wanted = self._check_number(self.n_neighbors if n_neighbors is None else n_neighbors, X is None)
        instead = "ask with return_distance=False and weights='uniform'"
        own = self._lengths.of_new(k, A, self._precomputed, instead) if return_distance else None
        far, which = self._nearest(k, A, wanted, X is None)
        return which if own is None else (self._lengths.distances(own, far, which, itemsize(A) == 4), which)

    def _nearest(self, k: Similarity, A: Encoding, wanted: int, without_itself: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return ranks and indices of the nearest; on a device no more than these comes back from there."""
        there = self._engine.to_device(A) if k.hints.on_tensors else A
        nearest: Nearest | NearestThere | None = None
        with (
            self._engine.linear_algebra(f"the search for {wanted:,} neighbors of {count(A):,} objects"),
            closing(Blocks(k, there, self._support, engine=self._engine, itemsize=itemsize(A)).tiles()) as tiles,
        ):
            for tile, values in tiles:
                far = self._lengths.ranked(values, tile[1])
                if without_itself:
                    _leave_out_itself(far, tile)
                if nearest is None:
                    nearest = NearestThere(count(A), wanted, far) if is_tensor(far) else Nearest(count(A), wanted)
                nearest.look_at(tile, far)
        assert nearest is not None
        return as_numpy(nearest.far), as_numpy(nearest.which)

    def _training(self) -> tuple[Similarity, Encoding]:
        if self._precomputed:
            raise ValueError(
                "the training matrix is not kept: pass K(new, train) as X, or use the kernel Precomputed(M) on indices"
            )
        return self.kernel_, self._support

    def _check_params(self) -> None:
        if not (callable(self.weights) or (isinstance(self.weights, str) and self.weights in ("uniform", "distance"))):
            raise ValueError(
                f"weights must be 'uniform', 'distance' or a function of distances, got {brief(self.weights)}"
            )

    def _check_number(self, wanted: Any, without_itself: bool = False, n: int | None = None) -> int:
        wanted = positive_whole("n_neighbors", wanted)
        n = self.n_samples_fit_ if n is None else n
        if wanted > n - without_itself:
            others = " besides the object itself" if without_itself else ""
            raise ValueError(
                f"n_neighbors = {wanted} is more than there are objects{others} (n_samples = {n}): ask for fewer"
            )
        return wanted

    def _remember(self, X: Any) -> None:
        """Keep the training objects, which prediction compares with."""
        k, X, A = self._begin(X)
        self._lengths = Lengths(k, A)
        self.support_objects_, self._support, self.n_samples_fit_ = X, A, count(A)

    def _weighted_neighbors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training objects of every object and their weights, which add up to one."""
        check_is_fitted(self)
        self._check_params()
        if isinstance(self.weights, str) and self.weights == "uniform":
            which = as_numpy(self.kneighbors(X, return_distance=False))
            return which, np.full(which.shape, 1.0 / which.shape[1])
        distances, which = map(as_numpy, self.kneighbors(X))
        weights = _inverse(distances) if isinstance(self.weights, str) else _given(self.weights, distances)
        totals = weights.sum(axis=1, keepdims=True)
        return which, np.where(totals > 0, weights, 1.0) / np.where(totals > 0, totals, which.shape[1])


def _leave_out_itself(far: Any, tile: Tile) -> None:
    """Put every object infinitely far from itself."""
    down, right = tile
    here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
    far[here - down.start, here - right.start] = np.inf


def _inverse(distances: np.ndarray) -> np.ndarray:
    """Return 1 / distance in units of the nearest; where that is zero, ones for the zeros and nothing for others."""
    nearest = distances.min(axis=1, keepdims=True)
    return np.where(nearest > 0, nearest / np.where(nearest > 0, distances, 1.0), distances == 0)


def _given(function: Callable[[np.ndarray], np.ndarray], distances: np.ndarray) -> np.ndarray:
    weights = np.asarray(function(distances.copy()), dtype=np.float64)
    if weights.shape != distances.shape or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"weights must turn an array of distances into as many numbers >= 0: {brief(function)} did not"
        )
    return weights


class SimilarityKNeighborsClassifier(ClassifierMixin, Neighbors):
    r"""The class that prevails among the nearest training objects.

    Near is what the kernel says: :math:`D_K(x, z) = \sqrt{K(x, x) + K(z, z) - 2 K(x, z)}` is the distance of x and z
    in feature space. (Lecture 6: Kernels, "kernelised distance" and k nearest neighbors.) Under a Gaussian kernel the
    neighbors are the Euclidean ones. Distances are computed tile by tile, and never is more kept than the nearest.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD is refused with its witness. With ``"precomputed"`` new objects come without K(x, x), which
        ranking does not need; distances are then known only where K(x, x) is the same for all training objects, and
        taken to be so for new ones.
    n_neighbors : int
        How many; equally near ones are taken by index.
    weights : {"uniform", "distance"} or callable
        What a neighbor's vote counts: the same for all, 1 / distance (neighbors at distance zero, if any, decide
        alone), or what a function makes of an array of distances (where that is zero for all neighbors, they count
        the same).
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    support_objects_, n_samples_fit_
        The training objects and their number.
    kernel_, validity_
        With what data had to fix; what is known of the kernel.

    Examples
    --------
    >>> from similitude.learners.neighbors import SimilarityKNeighborsClassifier
    >>> words = ["aab", "abab", "xyz", "zzx", "bba"]
    >>> model = SimilarityKNeighborsClassifier(lambda s, t: len(set(s) & set(t)), n_neighbors=3)
    >>> model.fit(words, ["ab", "ab", "xz", "xz", "ab"]).predict(["ba", "zy"])
    array(['ab', 'xz'], dtype='<U2')
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_neighbors: int = 5,
        weights: str | Callable[[np.ndarray], np.ndarray] = "uniform",
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> SimilarityKNeighborsClassifier:
        """Remember labeled objects.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        """
        self._check_params()
        X = self._checked(X, reset=True)
        self._check_number(self.n_neighbors, n=check_objects(X))
        self.classes_, self._numbers = check_labels(self, X, y)
        self._remember(X)
        return self

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of every class in the votes of the nearest.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        which, weights = self._weighted_neighbors(X)
        n, classes = len(which), len(self.classes_)
        cells = np.arange(n)[:, None] * classes + self._numbers[which]
        return np.bincount(cells.ravel(), weights.ravel(), minlength=n * classes).reshape(n, classes)

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the class with most votes; of equal ones the first in ``classes_``.

        Parameters
        ----------
        X : sequence of objects
        """
        shares = as_numpy(self.predict_proba(X))
        return self.classes_[shares.argmax(axis=1)]


class SimilarityKNeighborsRegressor(RegressorMixin, Neighbors):
    """The mean target of the nearest training objects, near in the feature space of a kernel.

    Parameters
    ----------
    kernel, n_neighbors, weights, engine
        See :class:`SimilarityKNeighborsClassifier`.

    Attributes
    ----------
    support_objects_, n_samples_fit_
        The training objects and their number.
    kernel_, validity_
        With what data had to fix; what is known of the kernel.

    Examples
    --------
    >>> from similitude.learners.neighbors import SimilarityKNeighborsRegressor
    >>> model = SimilarityKNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 5.0])
    >>> model.predict([[0.4], [4.0]])
    array([0.5, 3. ])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_neighbors: int = 5,
        weights: str | Callable[[np.ndarray], np.ndarray] = "uniform",
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> SimilarityKNeighborsRegressor:
        """Remember objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        """
        self._check_params()
        X = self._checked(X, reset=True)
        self._check_number(self.n_neighbors, n=check_objects(X))
        self._targets = check_targets(self, X, y)
        self._remember(X)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the nearest objects' targets.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n,) or (n, outputs)
        """
        which, weights = self._weighted_neighbors(X)
        return np.einsum("nk,nk...->n...", weights, self._targets[which])
