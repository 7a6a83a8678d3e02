"""Gradients of kernel models, and the metric that their average outer product gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic

LEARNABLE = (Gaussian, Laplace, Matern, RationalQuadratic)
"""The kernels whose metric can be learned."""

NEAR = 1e-7
"""Distances below this multiple of the length scale count as zero where the kernel has a kink."""

MOST_SIGNS = 3e7
"""Most comparisons of coordinates for the gradients of a kernel of absolute differences."""

FEWEST_GRADIENTS = 50
"""Fewest rows at which gradients are computed, however expensive."""


def is_city_block(k: Any) -> bool:
    """Tell whether a kernel is one of absolute differences, whose metric is a vector."""
    return isinstance(k, Laplace) and k.norm == 1


def model_gradients(k: Any, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    r"""Return the gradients of :math:`f(x) = \sum_j a_j K(x, b_j)` at the rows of A, of shape (rows, outputs, columns).

    The rows of A and B are encoded: gradients are those in the coordinates under the metric.
    """
    if is_city_block(k):
        return _of_absolute_differences(k, A, B, coefficients)
    factor, weights = radial_slopes(k, A, B)
    n_outputs, width = coefficients.shape[1], B.shape[1]
    pulled = (coefficients[:, :, None] * B[:, None, :]).reshape(len(B), n_outputs * width)
    gradients = (weights @ pulled).reshape(len(A), n_outputs, width)
    gradients -= (weights @ coefficients)[:, :, None] * A[:, None, :]
    gradients *= factor
    return gradients


def radial_slopes(k: Any, A: np.ndarray, B: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Return c and a matrix S with :math:`\nabla_x K(x, z) = -c\,S(x, z)\,(x - z)`, of a kernel of the distance.

    The slope of each family is a kernel of the same kind, except at a kink.
    """
    if isinstance(k, Gaussian):
        return 1.0 / float(k.sigma) ** 2, k.block(A, B)
    if isinstance(k, RationalQuadratic):
        alpha, length = float(k.alpha), float(k.length)
        steeper = RationalQuadratic(alpha + 1.0, length * math.sqrt(alpha / (alpha + 1.0)))
        return 1.0 / length**2, steeper.block(A, B)
    if isinstance(k, Matern) and k.nu == math.inf:
        return radial_slopes(Gaussian(k.length), A, B)
    if isinstance(k, Matern) and k.nu > 1.0:
        nu, length = float(k.nu), float(k.length)
        rougher = Matern(nu - 1.0, length * math.sqrt((nu - 1.0) / nu))
        return nu / ((nu - 1.0) * length**2), rougher.block(A, B)
    return _slopes_with_kink(k, A, B)


def _slopes_with_kink(k: Any, A: np.ndarray, B: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the slopes of exp(-r / L), divided by r and zero at r = 0."""
    length = -1.0 / float(k.form()[1])
    distances = np.sqrt(k.distances(A, B))
    values = k.block(A, B)
    near = distances < NEAR * length
    values /= np.where(near, 1.0, distances)
    values[near] = 0.0
    return 1.0 / length, values


def _of_absolute_differences(k: Any, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    length = -1.0 / float(k.form()[1])
    values = k.block(A, B)
    gradients = np.empty((len(A), coefficients.shape[1], A.shape[1]), values.dtype)
    for column in range(A.shape[1]):
        signs = np.sign(A[:, column, None] - B[:, column])
        signs *= values
        gradients[:, :, column] = signs @ coefficients
    gradients *= -1.0 / length
    return gradients


def gradient_rows(k: Any, n_rows: int, n_fitted: int, width: int) -> int:
    """Return the number of rows at which gradients are computed, fewer where these are expensive."""
    if not is_city_block(k):
        return n_rows
    return min(n_rows, max(FEWEST_GRADIENTS, int(MOST_SIGNS / (n_fitted * width))))


def metric_of(outer: np.ndarray) -> np.ndarray:
    """Return the metric T = Q^(1/2) of an average outer product Q, scaled to trace d; of a diagonal, a vector.

    >>> metric_of(np.array([4.0, 0.0])).round(3)
    array([1.414, 0.   ])
    """
    total = float(outer.sum() if outer.ndim == 1 else np.trace(outer))
    if not total > 0:
        return np.ones(len(outer)) if outer.ndim == 1 else np.eye(len(outer))
    outer = outer * (len(outer) / total)
    if outer.ndim == 1:
        return np.sqrt(outer)
    values, vectors = np.linalg.eigh(outer)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
