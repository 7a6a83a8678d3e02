"""Where the minimizer is searched: the span of all training objects, or explicit features of landmarks.

By the representer theorem w = sum_i a_i phi(x_i): a point of the span is its n coefficients, and its scores are G a. In
a space of features a point is w itself, and its scores are F w. Both are scaled so that the longest phi(x_i) has
length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from similitude.compute import Encoding, as_numpy, check_objects, itemsize
from similitude.compute.engines import Engine, one_blas_thread
from similitude.learners.kernel_learner import Objects
from similitude.learners.limits import DOUBLE_EPS
from similitude.learners.svm.dual import GramRows, KernelRows
from similitude.maps import ProjectionMap
from similitude.scikit import CHECKED_OBJECTS
from similitude.similarity import Similarity, as_similarity
from similitude.validity import Validity


class GramSpan:
    """The span of all training objects, by their Gram matrix in float64, which is scaled in place."""

    def __init__(self, G: np.ndarray) -> None:
        self.scale = float(G.diagonal().max(initial=0.0)) or 1.0
        self.G = np.divide(G, self.scale, out=G)
        self.origin = np.zeros(len(G))  # the point w = 0
        self.described = f"exact: the span of all {len(G):,} objects"

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the point sum_i a_i phi(x_i)."""
        return a

    def scores(self, point: np.ndarray) -> np.ndarray:
        """Return <w, phi(x_i)> for every training object."""
        return self.G @ point

    def inner(self, point: np.ndarray, other: np.ndarray, other_scores: np.ndarray) -> float:
        """Return the inner product of two points, given the scores of the second."""
        return float(point @ other_scores)

    def newton(self, curvature: np.ndarray, b: np.ndarray, mu: float) -> np.ndarray:
        """Return the minimizer of sum_i (curvature_i f_i^2 / 2 - b_i f_i) + mu |w|^2; no curvature, no equation."""
        curved = curvature > 1e-30 * curvature.max(initial=0.0)
        a = b / (2 * mu)
        if not curved.any():
            return a
        root = np.sqrt(curvature[curved])
        B = self.G[np.ix_(curved, curved)]
        B *= root
        B *= root[:, None]
        pull = b[curved] - curvature[curved] * (self.G[np.ix_(curved, ~curved)] @ a[~curved])
        a[curved] = root * _solve_shifted(B, pull / root, 2 * mu)
        return a

    def rows(self) -> GramRows:
        """Return the rows of the Gram matrix."""
        return GramRows(self.G)

    def coefficients(self, points: np.ndarray) -> np.ndarray:
        """Return the coefficients of all training objects, for points in columns."""
        return points / self.scale


class LandmarkSpan:
    """The span of landmarks, with features in an orthonormal basis of it by a ProjectionMap fitted to X."""

    def __init__(self, X: Any, landmarks: ProjectionMap, engine: Engine) -> None:
        F = np.array(landmarks.transform(X), dtype=np.float64)
        self.scale = float(np.einsum("ij,ij->i", F, F).max(initial=0.0)) or 1.0
        self.F = np.divide(F, np.sqrt(self.scale), out=F)
        self.origin = np.zeros(F.shape[1])
        self.landmarks = landmarks
        self.engine = engine
        self.described = (
            f"the span of {landmarks.rank_:,} landmarks among {len(F):,} objects, chosen by randomly pivoted Cholesky"
        )

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the point sum_i a_i phi(x_i)."""
        return self.F.T @ a

    def scores(self, point: np.ndarray) -> np.ndarray:
        """Return <w, phi(x_i)> for every training object."""
        return self.F @ point

    def inner(self, point: np.ndarray, other: np.ndarray, other_scores: np.ndarray) -> float:
        """Return the inner product of two points, given the scores of the second."""
        return float(point @ other)

    def newton(self, curvature: np.ndarray, b: np.ndarray, mu: float) -> np.ndarray:
        """Return the minimizer of sum_i (curvature_i f_i^2 / 2 - b_i f_i) + mu |w|^2: (F' D F + 2 mu) w = F' b."""
        H = np.zeros((self.F.shape[1],) * 2)
        for start in range(0, len(self.F), 8192):  # a weighted copy of all rows would need as much memory again
            some = slice(start, start + 8192)
            H += (self.F[some].T * curvature[some]) @ self.F[some]
        return _solve_shifted(H, self.F.T @ b, 2 * mu)

    def rows(self) -> KernelRows:
        """Return the rows of the Gram matrix F F', computed as they are needed."""
        return KernelRows(as_similarity("linear"), self.F, self.engine, np.dtype(np.float64), np.arange(len(self.F)))

    def coefficients(self, points: np.ndarray) -> np.ndarray:
        """Return the coefficients of all training objects, for points in columns."""
        weights = np.zeros((len(self.F), points.shape[1]))
        weights[self.landmarks.landmark_indices_] = solve_triangular(
            self.landmarks.factor_, points / np.sqrt(self.scale)
        )
        return weights


Span = GramSpan | LandmarkSpan


def span_of_objects(k: Similarity, X: Any, A: Encoding, engine: Engine) -> tuple[GramSpan, Validity]:
    """Return the span of all objects and the verdict on the kernel; refuse an indefinite Gram matrix."""
    if k.objects == "vectors" and itemsize(A) == 4:
        A = k.encode(X.astype(np.float64))
    n = check_objects(X)
    objects = Objects(k, X, A, np.arange(n), engine)
    gram, _, validity = objects.gram()
    G = as_numpy(gram)
    if n > CHECKED_OBJECTS and not k.proven:
        shift = 64 * n * DOUBLE_EPS * float(np.abs(G).max())
        with one_blas_thread:
            try:
                cholesky(G + shift * np.eye(n), lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                objects.refuse_negative(eigh(G, subset_by_index=[0, 0])[1][:, 0])
    return GramSpan(G), validity


def _solve_shifted(M: np.ndarray, b: np.ndarray, shift: float) -> np.ndarray:
    """Solve (M + shift) x = b for a PSD M; a shift that is lost in rounding is replaced by a larger one."""
    diagonal = M.diagonal().copy()
    trial = M.copy()
    rounding = DOUBLE_EPS * len(M) * max(float(diagonal.max()), shift)
    for least in (0.0, *(rounding * 10.0 ** np.arange(0, 9, 2))):
        np.fill_diagonal(trial, diagonal + max(shift, least))
        try:
            with one_blas_thread:  # several threads would wait for each other more than they work
                factor = cho_factor(trial, lower=True, overwrite_a=True, check_finite=False)
                return cho_solve(factor, b, check_finite=False)
        except LinAlgError:
            trial = M.copy()
    raise LinAlgError("the kernel matrix is far from positive semi-definite: see check_kernel(kernel, X)")
