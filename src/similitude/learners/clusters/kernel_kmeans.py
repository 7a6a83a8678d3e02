"""KernelKMeans: k-means in the feature space of a kernel."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from similitude.compute import Encoding, as_numpy, beside, check_fits, check_objects, in_precision, itemsize, namespace
from similitude.compute.engines import Engine
from similitude.landmarks import draw
from similitude.learners.clusters.distances import landmarks_or_all
from similitude.learners.kernel_learner import KernelLearner, Objects, check_at_most
from similitude.learners.limits import SAME_POINT
from similitude.learners.neighbors import SquaredLengths, squared_lengths
from similitude.linear import unit_of
from similitude.maps import ProjectionMap
from similitude.scikit import all_or_nothing, check_weights, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import NotAKernelError, check_integer, check_nonnegative, generator


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelLearner):
    r"""k-means in the feature space of a kernel.

    Minimizes the inertia :math:`\sum_i s_i \, |\phi(x_i) - c_{l(i)}|^2`, where the squared distance from the center c
    of a cluster C is
    :math:`K(x, x) - \frac{2}{|C|} \sum_{j \in C} K(x, x_j) + \frac{1}{|C|^2} \sum_{j, l \in C} K(x_j, x_l)`. (Balcan,
    lecture notes 10-315, on what can be kernelised.) Seeds are drawn by k-means++, and Lloyd's iterations need one Gram
    matrix and products with it. If that matrix exceeds the memory budget, features are projected onto the span of
    landmarks first.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD; otherwise the objective might increase.
    n_clusters : int
    n_init : int
        Number of runs from different seeds; the one with the smallest inertia is kept.
    max_iter : int
        Maximum number of iterations of a run.
    tol : float
        A run ends when no label changes, or when the inertia decreases by at most this share.
    n_landmarks : int, optional
        Work on the span of this number of landmarks. Default: on all objects if their Gram matrix fits into the memory
        budget of the engine, else on 500 landmarks.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    labels_ : array of int
    inertia_ : float
        The minimized function, by distances in the whole feature space also with landmarks.
    n_iter_ : int
        Iterations of the run that was kept.
    solver_ : str
        Whether all objects or landmarks were used, and why.
    support_, support_objects_, dual_coef_, center_norms_
        Center c is sum_j dual_coef_jc phi(support_j), with squared length center_norms_c. The length is infinite for a
        cluster without members, which occurs only if there are fewer distinct objects than clusters.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.learners import KernelKMeans
    >>> model = KernelKMeans("linear", n_clusters=2).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> model.predict([[0.0], [1.0], [10.0], [11.0]]) == model.predict([[0.5], [0.5], [12.0], [9.0]])
    array([ True,  True,  True,  True])
    >>> model.inertia_
    1.0
    """

    _takes_tensors = True

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_clusters: int = 8,
        n_init: int = 4,
        max_iter: int = 300,
        tol: float = 1e-6,
        n_landmarks: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find clusters of objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        sample_weight : sequence of float, optional
            Weight of each object; an integer equals repetition, up to the draw of seeds.
        """
        X = self._checked(X, reset=True)
        n = check_objects(X)
        check_at_most("n_clusters", self.n_clusters, n)
        check_integer("n_init", self.n_init)
        check_integer("max_iter", self.max_iter)
        check_nonnegative("tol", self.tol)
        m, self.solver_ = landmarks_or_all(self.n_landmarks, n, self._engine, matrix="Gram matrix")
        weights = check_weights(sample_weight, n)
        if np.count_nonzero(weights) < self.n_clusters:
            raise ValueError(f"n_clusters = {self.n_clusters}, but fewer objects have a positive weight: ask for fewer")
        k, X, A = self._start(X, self.random_state, sample_weight)
        rng = generator(self.random_state)
        try:
            with self._engine.linear_algebra(f"k-means of {n:,} objects"):
                if m is None:
                    found, coefficients, beyond, unit = self._of_all(k, X, A, weights, rng)
                else:
                    found, coefficients, beyond, unit = self._of_landmarks(k, X, A, weights, rng, m)
        except NotAKernelError as error:
            advice = "SimilarityKMedoids finds clusters by any similarity."
            raise NotAKernelError(f"{error.problem} {advice}", error.witness) from None
        self._keep(X, A, coefficients)
        with np.errstate(over="ignore"):
            self.inertia_ = float((found.inertia + beyond) * unit)
            self.center_norms_ = found.norms * unit
        self.labels_ = found.labels
        self.n_iter_ = found.n_iter
        self._lengths = SquaredLengths(k, A) if self._precomputed else None
        filled = len(np.unique(found.labels))
        if filled < self.n_clusters:
            problem = f"only {filled} of {self.n_clusters} clusters have members: X holds no more distinct objects"
            warnings.warn(problem, ConvergenceWarning, stacklevel=3)
        return self

    def _of_all(
        self, k: Similarity, X: Any, A: Encoding, weights: np.ndarray, rng: np.random.Generator
    ) -> tuple[Clustering, np.ndarray, float, float]:
        """Return clusters, coefficients of the centers, what the inertia leaves out, and the unit of squares."""
        objects = Objects(k, X, A, np.arange(len(weights)), self._engine)
        K, eps, self.validity_ = objects.gram()
        unit = unit_of(as_numpy(K.diagonal()))
        K /= unit
        space = GramInnerProducts(K)
        found = self._best(space, weights, rng)
        coefficients = found.shares(weights)
        worst = int(found.squares.argmin())
        if found.squares[worst] < -np.sqrt(eps) * float(space.lengths.max()):
            objects.refuse_negative(coefficients[:, found.labels[worst]] - (np.arange(len(weights)) == worst))
        return found, coefficients, 0.0, unit

    def _of_landmarks(
        self, k: Similarity, X: Any, A: Encoding, weights: np.ndarray, rng: np.random.Generator, m: int
    ) -> tuple[Clustering, np.ndarray, float, float]:
        """Return the same in the span of landmarks."""
        check_fits(len(weights), m, 8, self._engine)
        projection = ProjectionMap(
            k, n_components=m, landmarks="rpcholesky", random_state=self.random_state, engine=self._engine
        ).fit(X)
        F = projection.transform(X)
        F = self._engine.to_device(in_precision(F, namespace(F).float64))
        unit = unit_of(np.array([float(abs(F).max()) ** 2]))
        F = F / np.sqrt(unit)
        space = FeatureInnerProducts(F)
        found = self._best(space, weights, rng)
        centers = as_numpy(F.T @ beside(found.shares(weights), F))
        coefficients = np.zeros((len(weights), self.n_clusters))
        coefficients[projection.landmark_indices_] = solve_triangular(projection.factor_, centers) * np.sqrt(unit)
        beyond = squared_lengths(k, A) / unit - as_numpy(space.lengths)
        self.validity_ = projection.validity_
        return found, coefficients, float(weights @ np.maximum(beyond, 0.0)), unit

    @tensors_for_tensors
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find clusters of objects, and return the cluster of each; see `fit`."""
        return self.fit(X, y, sample_weight).labels_

    def _best(self, space: InnerProducts, weights: np.ndarray, rng: np.random.Generator) -> Clustering:
        if isinstance(space.lengths, np.ndarray):
            self._note_cpu("Lloyd's iterations were done")
        runs = (Clustering(space, weights, self.n_clusters, rng, self.max_iter, self.tol) for _ in range(self.n_init))
        return min(runs, key=lambda found: found.inertia)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest cluster of every object."""
        k, A = self._ask(X)
        return self._apart(k, A).argmin(axis=1)

    @tensors_for_tensors
    def transform(self, X: Any) -> np.ndarray:
        """Return the distances from every object to every center, of shape (n, n_clusters).

        With ``"precomputed"``, K(x, x) of new objects is unknown; the value of the training objects is used if it is
        the same for all of them, otherwise an error is raised.
        """
        k, A = self._ask(X)
        if self._lengths is None:
            own = squared_lengths(k, A)
        else:
            own = self._lengths.of_new(k, A, True, "use predict, which does not need it")
        squares = own[:, None] + self._apart(k, A)
        norms = self.center_norms_[np.isfinite(self.center_norms_)]
        if squares.min() < -(1e-4 if itemsize(A) == 4 else 1e-10) * (own.max() + norms.max()):
            i, c = (int(place) for place in np.unravel_index(squares.argmin(), squares.shape))
            problem = f"the squared distance from object {i} to center {c} would be {squares[i, c]:.6g}"
            raise NotAKernelError(f"{k!r} is not a kernel: {problem}.")
        return np.sqrt(np.maximum(squares, 0.0))

    def _apart(self, k: Similarity, A: Encoding) -> np.ndarray:
        """Return the squared distances from every object to every center, minus K(x, x)."""
        return self.center_norms_ - 2 * self._sums(k, A)


# Lloyd's algorithm, in a space that is known by inner products only.


class GramInnerProducts:
    """Inner products of objects by their Gram matrix, an array or a tensor; ``lengths`` are squared lengths."""

    def __init__(self, K: Any) -> None:
        self.K = K
        self.lengths = K.diagonal()

    def rows(self, which: Any) -> Any:
        """Return the inner products of some objects with all objects, of shape (len(which), n)."""
        return self.K[which]

    def with_sums(self, which: Any, weights: Any) -> Any:
        """Return the inner products of all objects with weighted sums of some; weights of shape (len(which), sums)."""
        return (self.K if len(which) == len(self.K) else self.K[which]).T @ weights


class FeatureInnerProducts:
    """Inner products of objects by explicit features, an array or a tensor."""

    def __init__(self, F: Any) -> None:
        self.F = F
        self.lengths = namespace(F).einsum("ij,ij->i", F, F)

    def rows(self, which: Any) -> Any:
        """Return inner products of features."""
        return self.F[which] @ self.F.T

    def with_sums(self, which: Any, weights: Any) -> Any:
        """Return inner products with weighted sums of features."""
        return self.F @ (self.F[which].T @ weights)


InnerProducts = GramInnerProducts | FeatureInnerProducts


class Clustering:
    """A local optimum of Lloyd's algorithm; an empty cluster gets the object farthest from its center.

    The inner products of all objects with the weighted sum of each cluster are updated as labels change.
    """

    def __init__(
        self, space: InnerProducts, weights: np.ndarray, k: int, rng: np.random.Generator, max_iter: int, tol: float
    ) -> None:
        weights = beside(weights, space.lengths)
        xp = namespace(weights)
        clusters = beside(np.arange(k), weights)
        everyone = beside(np.arange(len(weights)), weights)
        labels = seeded(space, weights, k, rng)

        def members_of(labels: Any, which: Any = everyone) -> Any:
            return (labels[which, None] == clusters) * weights[which, None]

        inner = space.with_sums(everyone, members_of(labels))
        before = math.inf
        for step in range(1, max_iter + 1):
            members = members_of(labels)
            total = members.sum(0)
            divisor = xp.where(total > 0, total, 1.0)
            norms = xp.where(total > 0, xp.einsum("ij,ij->j", members, inner) / divisor**2, np.inf)
            apart = norms - 2 * inner / divisor
            nearest = apart.argmin(1)
            squares = space.lengths + xp.min(apart, axis=1)
            inertia = float(weights @ squares.clip(0.0))
            after = _filled(nearest, as_numpy(members_of(nearest).sum(0)), squares, weights, space.lengths)
            settled = before - inertia <= tol * inertia and bool((after == nearest).all())
            if settled or step == max_iter or bool((after == labels).all()):
                break
            before = inertia
            moved = xp.nonzero(after != labels)[0]
            if 3 * len(moved) < len(labels):  # then only their rows are used
                inner += space.with_sums(moved, members_of(after, moved) - members_of(labels, moved))
            else:
                inner = space.with_sums(everyone, members_of(after))
            labels = after
        self.labels = as_numpy(nearest)  # the nearest center of each object
        self.members = as_numpy(labels)  # the partition whose weighted means are the centers; `labels` at convergence
        self.norms = as_numpy(norms)  # the squared length of each center, infinite for a cluster without members
        self.squares = as_numpy(squares)  # the squared distance of each object from its center
        self.inertia = inertia  # the weighted sum of these
        self.n_iter = step

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the share of each object in each center, of shape (n, clusters)."""
        total = np.bincount(self.members, weights, len(self.norms))
        members = self.members[:, None] == np.arange(len(total))
        return np.where(members, weights[:, None], 0.0) / np.where(total > 0, total, 1.0)


def _filled(labels: Any, totals: np.ndarray, squares: Any, weights: Any, lengths: Any) -> Any:
    """Return the labels, with the farthest objects moved to clusters of no weight."""
    empty = np.flatnonzero(totals == 0)
    if not len(empty):
        return labels
    far, weights, lengths = map(as_numpy, (squares, weights, lengths))
    far = np.where((weights > 0) & (far > SAME_POINT * lengths), far, 0.0)
    farthest = np.argsort(-far, kind="stable")[: len(empty)]
    farthest = farthest[far[farthest] > 0]
    filled = as_numpy(labels).copy()
    filled[farthest] = empty[: len(farthest)]
    return beside(filled, labels)


def seeded(space: InnerProducts, weights: Any, k: int, rng: np.random.Generator) -> Any:
    """Return the nearest of k seeds for each object: greedy k-means++ (Arthur and Vassilvitskii, 2007)."""
    lengths = space.lengths
    xp = namespace(lengths)
    labels = beside(np.zeros(len(weights), np.intp), lengths)
    nearest = beside(np.full(len(weights), np.inf), lengths)
    chances = as_numpy(weights)
    for label in range(k):
        drawn = draw(chances, 1 if label == 0 else 2 + int(math.log(k)), rng)
        squares = lengths + lengths[drawn, None] - 2 * space.rows(drawn)
        squares[squares <= SAME_POINT * (lengths + lengths[drawn, None])] = 0.0
        best = squares[int((xp.minimum(squares, nearest) @ weights).argmin())]
        labels[best < nearest] = label
        nearest = xp.minimum(nearest, best)
        chances = as_numpy(weights * nearest)
        if not chances.any():
            break
    return labels
