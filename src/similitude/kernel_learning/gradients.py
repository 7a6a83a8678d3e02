"""Gradients of kernel models, and the metric that their average outer product gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.kernel_learning.limits import MOST_SIGNS
from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic, values_at_scales

LEARNABLE = (Gaussian, Laplace, Matern, RationalQuadratic)
"""The kernels whose metric can be learned."""


def is_city_block(k: Any) -> bool:
    """Whether a kernel is one of absolute differences, whose metric is a vector."""
    return isinstance(k, Laplace) and k.norm == 1


def model_gradients(k: Any, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    r"""Return the gradients of :math:`f(x) = \sum_j a_j K(x, b_j)` at encoded rows: (rows, outputs, columns)."""
    (name,) = k.resolves
    (found,) = gradients_at(k, [getattr(k, name)], [(A, B)], [coefficients])
    return found


def gradients_at(
    k: Any, scales: list[float], pairs: list[tuple[np.ndarray, np.ndarray]], coefficients: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the gradients of several models, each at a scale of the kernel; see `model_gradients`."""
    distances = [k.distances(A, B) for A, B in pairs]
    if is_city_block(k):
        parts = zip(scales, pairs, values_at_scales(k, scales, distances), coefficients, strict=True)
        return [_of_absolute_differences(_rate(k, s), A, B, K, a) for s, (A, B), K, a in parts]
    factors, slopes = slopes_at(k, scales, distances)
    parts = zip(factors, pairs, slopes, coefficients, strict=True)
    return [_of_slopes(factor, A, B, S, a) for factor, (A, B), S, a in parts]


def _of_slopes(factor: float, A: np.ndarray, B: np.ndarray, slopes: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    n_outputs = coefficients.shape[1]
    width = B.shape[1]
    pulled = (coefficients[:, :, None] * B[:, None, :]).reshape(len(B), n_outputs * width)
    gradients = (slopes @ pulled).reshape(len(A), n_outputs, width)
    gradients -= (slopes @ coefficients)[:, :, None] * A[:, None, :]
    gradients *= factor
    return gradients


def slopes_at(k: Any, scales: list[float], distances: list[np.ndarray]) -> tuple[list[float], Sequence[np.ndarray]]:
    r"""Return c and S with :math:`\nabla_x K(x, z) = -c\,S(x, z)\,(x - z)` at each scale; distances are overwritten.

    The slope of each family is a kernel of the same kind, except at a kink.
    """
    if isinstance(k, RationalQuadratic):
        alpha = float(k.alpha)
        ratio = math.sqrt(alpha / (alpha + 1.0))
        steeper = RationalQuadratic(alpha + 1.0)
        return [1.0 / s**2 for s in scales], values_at_scales(steeper, [s * ratio for s in scales], distances)
    if isinstance(k, Gaussian) or (isinstance(k, Matern) and k.nu == math.inf):
        return [1.0 / s**2 for s in scales], values_at_scales(k, scales, distances)
    if isinstance(k, Matern) and k.nu > 1.0:
        nu = float(k.nu)
        ratio = math.sqrt((nu - 1.0) / nu)
        rougher = Matern(nu - 1.0)
        slopes = values_at_scales(rougher, [s * ratio for s in scales], distances)
        return [nu / ((nu - 1.0) * s**2) for s in scales], slopes
    rates = [_rate(k, s) for s in scales]
    roots = [np.sqrt(D) for D in distances]
    slopes = values_at_scales(k, scales, distances)
    for values, r, rate in zip(slopes, roots, rates, strict=True):  # of exp(-c r), divided by r and 0 at r = 0
        near = r * rate < 1e-7
        values /= np.where(near, 1.0, r)
        values[near] = 0.0
    return rates, slopes


def _rate(k: Any, scale: float) -> float:
    """Return c of the kernel exp(-c r) at a scale."""
    return 0.5 / scale**2 if isinstance(k, Laplace) and k.squared_scale else 1.0 / scale


def _of_absolute_differences(
    rate: float, A: np.ndarray, B: np.ndarray, values: np.ndarray, coefficients: np.ndarray
) -> np.ndarray:
    gradients = np.empty((len(A), coefficients.shape[1], A.shape[1]), values.dtype)
    for column in range(A.shape[1]):
        signs = np.sign(A[:, column, None] - B[:, column])
        signs *= values
        gradients[:, :, column] = signs @ coefficients
    gradients *= -rate
    return gradients


def gradient_rows(k: Any, n_rows: int, n_fitted: int, width: int) -> int:
    """Return the number of rows at which gradients are computed, fewer where these are expensive."""
    if not is_city_block(k):
        return n_rows
    return min(n_rows, max(50, int(MOST_SIGNS / (n_fitted * width))))


def metric_of(outer: np.ndarray) -> np.ndarray:
    """Return the metric T = Q^(1/2) of an average outer product Q, scaled to trace d; of a diagonal, a vector.

    >>> metric_of(np.array([4.0, 0.0])).round(3)
    array([1.414, 0.   ])
    """
    identity: np.ndarray = np.ones(len(outer))
    diagonal = outer
    if outer.ndim == 2:
        identity = np.eye(len(outer))
        diagonal = outer.diagonal()
    total = float(diagonal.sum())
    if not total > 0:
        return identity
    return root_of(outer * (len(outer) / total))


def root_of(outer: np.ndarray) -> np.ndarray:
    """Return T with TT' equal to a positive semi-definite matrix; of a diagonal, a vector."""
    if outer.ndim == 1:
        return np.sqrt(outer)
    values, vectors = np.linalg.eigh(outer)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
