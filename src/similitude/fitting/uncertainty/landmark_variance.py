r"""What the rows leave open of a Gaussian process, in a fit on landmarks.

Projected features :math:`f(x)` have :math:`f(x) \cdot f(z) = q(x, z)`, the kernel as far as landmarks tell. Ridge
regression on them is the mean of a Gaussian process with the kernel q (the deterministic training conditional;
Quiñonero-Candela and Rasmussen, "A Unifying View of Sparse Approximate Gaussian Process Regression", 2005), and what
the landmarks do not tell is added to its variance:

.. math:: k(x, x) - |f(x)|^2 + \lambda\, (f(x) - m)^\top A^{-1} (f(x) - m), \qquad
          A = \sum_i s_i (f_i - m)(f_i - m)^\top + \lambda.

Far from all rows f is zero and the variance k(x, x). With all rows as landmarks it is that of the exact fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.fitting.blend_influence import VARIANCE_ROWS
from similitude.fitting.model import WeightedLandmarks
from similitude.fitting.uncertainty.spread import MOST_NOISE_FEATURES, RATIOS, MarginalRatio
from similitude.landmarks import LandmarkFeatures
from similitude.linear import Moments
from similitude.similarity import Precomputed

MAY_LOSE = 0.01
"""By how much the marginal likelihood may lower the log likelihood of a left-out row, if it knows not all landmarks."""


@dataclass(frozen=True, eq=False)
class LandmarkVariance:
    r"""The variance that rows leave open, by the first landmarks.

    Attributes
    ----------
    triangle : array
        U with :math:`K(L, L) = U^\top U`, the rows of its upper triangle one after the other.
    mean : array of shape (p,)
        Of the features.
    shrunk : array of shape (p, p)
        B with :math:`B B^\top = \lambda A^{-1}`, in single precision: no entry is larger than 1.
    scale : float
        What features are divided by.
    """

    triangle: np.ndarray
    mean: np.ndarray
    shrunk: np.ndarray
    scale: float

    def __call__(self, part: WeightedLandmarks, A: Encoding) -> np.ndarray:
        """Return the variance of each object, in units of the features."""
        k, p, found = part.features.similarity, len(self.mean), np.empty(count(A))
        U, landmarks = np.zeros((p, p)), rows(part.features.landmarks.encoding, slice(p))
        U[np.triu_indices(p)] = self.triangle
        for start in range(0, len(found), VARIANCE_ROWS):
            some = rows(A, slice(start, start + VARIANCE_ROWS))
            K = as_numpy(k.block(some, landmarks)).astype(np.float64)
            F = solve_triangular(U, K.T, trans=1, check_finite=False).T / self.scale
            unseen, uncertain = self.parts(F, as_numpy(k.diagonal(some)))
            found[start : start + VARIANCE_ROWS] = unseen + uncertain
        return found

    def parts(self, F: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what landmarks do not tell of objects, and what rows leave open of the rest."""
        unseen = np.asarray(diagonal, dtype=np.float64) / self.scale**2 - np.einsum("ij,ij->i", F, F)
        along = (F - self.mean) @ self.shrunk.astype(np.float64)
        return np.maximum(unseen, 0.0), np.einsum("ij,ij->i", along, along)


class OpenVariance(NamedTuple):
    """The variance that rows leave open, its values for the rows that calibrate, each without itself, and its size."""

    variance: LandmarkVariance
    left_out: np.ndarray
    marginal: MarginalRatio


def open_variance_of(
    features: tuple[LandmarkFeatures, ...],
    moments: Moments,
    lam: float,
    A: Encoding,
    F: np.ndarray,
    weights: np.ndarray,
    squares: np.ndarray,
) -> OpenVariance | None:
    """Return the variance that rows leave open; None unless a single kernel is projected onto landmarks.

    Parameters
    ----------
    features : tuple of LandmarkFeatures
    moments : Moments
        Of the features of all rows.
    lam : float
        The penalty.
    A, F, weights
        The rows that calibrate, which are among them: encoded, their features, and their weights.
    squares : array of shape (outputs,)
        The weighted variance of the targets.
    """
    first = features[0]
    if len(features) > 1 or first.factor is None or first.normalized or first.side != "left":
        return None
    if isinstance(first.similarity, Precomputed) or not first.similarity.proven:
        return None
    p = min(len(first.factor), MOST_NOISE_FEATURES)
    mean, middle = (one / moments.weight for one in (moments.features[:p], moments.targets))
    values, vectors = np.linalg.eigh(moments.gram[:p, :p] - np.outer(moments.features[:p], mean))
    values = np.maximum(values, 0.0)
    shrunk = (vectors / np.sqrt(1.0 + values / lam)).astype(np.float32)
    variance = LandmarkVariance(first.factor[:p, :p][np.triu_indices(p)], mean, shrunk, first.scale)
    unseen, uncertain = variance.parts(
        np.asarray(as_numpy(F)[:, :p], dtype=np.float64), as_numpy(first.similarity.diagonal(A))
    )
    others = 1.0 - np.minimum(weights * uncertain / lam, 1.0 - 1e-6)
    along = vectors.T @ (moments.cross[:p] - np.outer(moments.features[:p], middle))
    ratio = [
        marginal_ratio(values, one, total * moments.weight, moments.weight, lam)
        for one, total in zip(along.T, squares, strict=True)
    ]
    may_lose = np.inf if p == len(first.factor) else MAY_LOSE
    return OpenVariance(variance, unseen + uncertain / others, MarginalRatio(np.array(ratio), may_lose))


def marginal_ratio(values: np.ndarray, along: np.ndarray, squares: float, n: float, lam: float) -> float:
    r"""Return the ratio r of the variances of function and noise under which the targets are most likely.

    With targets of the covariance :math:`s^2 (I + r F F^\top)` and the best :math:`s^2`, from the eigenvalues of
    :math:`F^\top F`, :math:`F^\top y` along its eigenvectors, and :math:`|y|^2` (Rasmussen and Williams 2006,
    section 5.4.1).
    """

    def likelihood(r: float) -> float:
        left = squares - float(np.sum(r * along**2 / (1.0 + r * values)))
        return -float(np.log1p(r * values).sum()) - n * float(np.log(max(left, 1e-12 * squares, 1e-300)))

    return max(RATIOS / lam, key=likelihood)
