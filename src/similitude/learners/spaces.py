"""Where the minimizer lives: the span of all training objects, by their Gram matrix, or a space of explicit features.

By the representer theorem w = sum_i a_i phi(x_i), so a point is its n coefficients and its scores are G a. In a space
of features a point is w itself and its scores are F w. Both are scaled so that the longest phi(x_i) has length 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from similitude.compute.blocks import check_fits
from similitude.compute.encodings import Encoding, as_numpy, check_objects, itemsize
from similitude.compute.engines import Engine, one_blas_thread
from similitude.learners.gram_matrix import Objects
from similitude.learners.svm.row_cache import KernelRows
from similitude.maps import ProjectionMap
from similitude.scikit import CHECKED_OBJECTS
from similitude.similarity import Similarity, as_similarity
from similitude.validity import Validity

STRIP = 8192
"""Rows of features that are weighted at once."""

LARGER_SHIFTS = 10.0 ** np.arange(0, 9, 2)
"""What is added to a diagonal where a factorization fails, times rounding."""


class Space(Protocol):
    """Points, their scores, and the one linear system that a Newton step solves."""

    scale: float
    """The largest K(x, x), by which the kernel was divided."""

    def __len__(self) -> int:
        """Return the number of training objects."""

    def origin(self) -> np.ndarray:
        """Return the point w = 0."""

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the point sum_i a_i phi(x_i)."""

    def scores(self, point: np.ndarray) -> np.ndarray:
        """Return <w, phi(x_i)> for every training object."""

    def inner(self, point: np.ndarray, other: np.ndarray, other_scores: np.ndarray) -> float:
        """Return the inner product of two points; the scores of the second are known."""

    def newton(self, curvature: np.ndarray, b: np.ndarray, mu: float) -> np.ndarray:
        """Return the minimizer of sum_i (curvature_i f_i^2 / 2 - b_i f_i) + mu |w|^2."""

    def rows(self) -> KernelRows:
        """Return the rows of the Gram matrix."""


class GramSpace:
    """The span of the training objects.

    Parameters
    ----------
    G : array of shape (n, n)
        Their Gram matrix in float64; it is scaled in place.
    """

    def __init__(self, G: np.ndarray) -> None:
        self.scale = _positive(G.diagonal().max())
        self.G = np.divide(G, self.scale, out=G)

    def __len__(self) -> int:
        return len(self.G)

    def origin(self) -> np.ndarray:
        """Return the point w = 0."""
        return np.zeros(len(self.G))

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return a: a point is its coefficients."""
        return a

    def scores(self, point: np.ndarray) -> np.ndarray:
        """Return G a."""
        return self.G @ point

    def inner(self, point: np.ndarray, other: np.ndarray, other_scores: np.ndarray) -> float:
        """Return a' G b."""
        return float(point @ other_scores)

    def newton(self, curvature: np.ndarray, b: np.ndarray, mu: float) -> np.ndarray:
        """Solve (D G + 2 mu) a = b; objects without curvature only pull, and are left out of the system.

        With S = sqrt(D) it is (S G S + 2 mu) S^-1 a = S^-1 b, which is symmetric and far from singular (Rasmussen and
        Williams, Gaussian Processes for Machine Learning, section 3.4).
        """
        curved = curvature > 1e-30 * curvature.max(initial=0.0)
        a = b / (2 * mu)
        if not curved.any():
            return a
        root = np.sqrt(curvature[curved])
        if curved.all():
            B, pull = self.G * root, b
        else:
            B = self.G[np.ix_(curved, curved)] * root
            pull = b[curved] - curvature[curved] * (self.G[np.ix_(curved, ~curved)] @ a[~curved])
        B *= root[:, None]
        a[curved] = root * _solve(B, pull / root, 2 * mu)
        return a

    def rows(self) -> KernelRows:
        """Return the rows of G."""
        return KernelRows.of_matrix(self.G)


class FeatureSpace:
    """A space of explicit features.

    Parameters
    ----------
    F : array of shape (n, d)
        The features of the training objects in float64; they are scaled in place.
    engine : Engine
    """

    def __init__(self, F: np.ndarray, engine: Engine) -> None:
        self.scale = _positive(np.einsum("ij,ij->i", F, F).max())
        self.F = np.divide(F, np.sqrt(self.scale), out=F)
        self.engine = engine

    def __len__(self) -> int:
        return len(self.F)

    def origin(self) -> np.ndarray:
        """Return the point w = 0."""
        return np.zeros(self.F.shape[1])

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return F' a."""
        return self.F.T @ a

    def scores(self, point: np.ndarray) -> np.ndarray:
        """Return F w."""
        return self.F @ point

    def inner(self, point: np.ndarray, other: np.ndarray, other_scores: np.ndarray) -> float:
        """Return the inner product of the vectors."""
        return float(point @ other)

    def newton(self, curvature: np.ndarray, b: np.ndarray, mu: float) -> np.ndarray:
        """Solve (F' D F + 2 mu) w = F' b."""
        H = np.zeros((self.F.shape[1],) * 2)
        for start in range(0, len(self.F), STRIP):
            some = slice(start, start + STRIP)
            H += (self.F[some].T * curvature[some]) @ self.F[some]
        return _solve(H, self.F.T @ b, 2 * mu)

    def rows(self) -> KernelRows:
        """Return the rows of F F', computed as they are needed."""
        return KernelRows(as_similarity("linear"), self.F, self.engine, np.dtype(np.float64))


@dataclass(frozen=True)
class Place:
    """Where a minimizer is searched for.

    Attributes
    ----------
    space : Space
    coefficients : callable
        Makes points, one in each column, weights of all training objects.
    solver : str
        Which space, in words.
    validity : Validity
        What is known of the kernel.
    """

    space: Space
    coefficients: Callable[[np.ndarray], np.ndarray]
    solver: str
    validity: Validity


def check_room(n: int, n_landmarks: int | None, engine: Engine) -> None:
    """Refuse, before the first kernel call, what does not fit into memory."""
    check_fits(n, n if n_landmarks is None else n_landmarks, 8, engine)


def all_objects(k: Similarity, X: Any, A: Encoding, engine: Engine) -> Place:
    """Return the span of all objects, by their Gram matrix in double precision; refuse an indefinite one."""
    if k.objects == "vectors" and itemsize(A) == 4:
        A = k.encode(X.astype(np.float64))
    n = check_objects(X)
    objects = Objects(k, X, A, np.arange(n), engine)
    gram = objects.gram()
    G = as_numpy(gram.values)
    if n > CHECKED_OBJECTS and not k.proof().holds:
        _demand_definite(objects, G)
    space = GramSpace(G)
    return Place(space, lambda points: points / space.scale, f"exact: the span of all {n:,} objects", gram.validity)


def _demand_definite(objects: Objects, G: np.ndarray) -> None:
    shift = 64 * len(G) * np.finfo(np.float64).eps * float(np.abs(G).max())
    with one_blas_thread:
        try:
            cholesky(G + shift * np.eye(len(G)), lower=True, overwrite_a=True, check_finite=False)
            return
        except LinAlgError:
            lowest = eigh(G, subset_by_index=[0, 0])[1][:, 0]
    objects.refuse_negative(lowest)


def landmarked(k: Similarity, X: Any, n_landmarks: int, random_state: Any, engine: Engine) -> Place:
    """Return the span of landmarks, chosen by randomly pivoted Cholesky, in an orthonormal basis."""
    n = check_objects(X)
    m = ProjectionMap(k, n_components=n_landmarks, landmarks="rpcholesky", random_state=random_state, engine=engine)
    space = FeatureSpace(np.array(m.fit(X).transform(X), dtype=np.float64), engine)

    def coefficients(points: np.ndarray) -> np.ndarray:
        weights = np.zeros((n, points.shape[1]))
        weights[m.landmark_indices_] = solve_triangular(m.factor_, points / np.sqrt(space.scale))
        return weights

    solver = f"the span of {m.rank_:,} landmarks among {n:,} objects, chosen by randomly pivoted Cholesky"
    return Place(space, coefficients, solver, m.validity_)


def _positive(scale: float) -> float:
    return float(scale) if scale > 0 else 1.0


def _solve(M: np.ndarray, b: np.ndarray, shift: float) -> np.ndarray:
    """Solve (M + shift) x = b for a positive semi-definite M.

    Where the shift is lost in rounding, a larger one takes its place: the step is then shorter than it should be.
    """
    diagonal, trial = M.diagonal().copy(), M.copy()
    rounding = np.finfo(float).eps * len(M) * max(float(diagonal.max()), shift)
    for least in (0.0, *(rounding * LARGER_SHIFTS)):
        np.fill_diagonal(trial, diagonal + max(shift, least))
        try:
            with one_blas_thread:  # several would wait for each other more than they work
                factor = cho_factor(trial, lower=True, overwrite_a=True, check_finite=False)
                return cho_solve(factor, b, check_finite=False)
        except LinAlgError:
            trial = M.copy()
    raise LinAlgError("the kernel's matrix is far from positive semi-definite: check_kernel(kernel, X) may say why")
