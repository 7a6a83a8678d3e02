"""How similarities agree with labels as a whole: alignment, and a permutation test for exchangeable examples."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.goodness.resampling import by_jackknife, effective_size, jackknife_variance
from similitude.scikit import encode_labels, read_labels
from similitude.support import ESTIMATE, Estimate, PairError, brief
from similitude.theory import LEVEL, clopper_pearson

CENTERING_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""A centered matrix counts as zero if its norm is below this part of the norm of the matrix."""


def alignment(K: Any, target: Any, *, centered: bool = True) -> float:
    r"""Return the cosine of a matrix of similarities and the matrix of the labels, or of another matrix.

    .. math:: \frac{\langle HKH, HTH\rangle}{\lVert HKH\rVert\,\lVert HTH\rVert}, \qquad H = I - \frac{1}{n} 11'

    with the Frobenius inner product and norm; without centering, H is left out. T is the second matrix, or
    :math:`l l'` for labels :math:`l = \pm 1`. With k classes, it is 1 for equal classes and :math:`-1/(k - 1)` for
    different ones, which agrees with :math:`l l'` for two classes. (Cristianini, Shawe-Taylor, Elisseeff and Kandola,
    "On Kernel-Target Alignment", 2001; centered: Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based
    on Centered Alignment", 2012, Definition 4.) Without centering a constant K is well aligned with labels that are
    nearly all equal.

    All pairs count, including those of an object with itself; `similitude.assess` leaves these out, as they carry no
    information about new objects.

    Parameters
    ----------
    K : array of shape (n, n)
        Need be neither symmetric nor PSD.
    target : sequence of n labels, or array of shape (n, n)
    centered : bool

    Returns
    -------
    float
        From -1 to 1; 0, with a warning, if one of the matrices is zero (after centering).

    Examples
    --------
    >>> from similitude.goodness import alignment
    >>> K = [[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> round(alignment(K, [1, 1, -1], centered=False), 6), round(alignment(K, [1, 1, -1]), 6)
    (0.637091, 0.980102)
    """
    first = _matrix("K", K)
    shape = _dense(target).shape
    if len(shape) == 2 and shape[1] != 1:
        second = _matrix("target", target)
        if second.shape != first.shape:
            raise ValueError(f"K has shape {first.shape} and the target {second.shape}: they must be of one shape")
    else:
        second = ideal_matrix(encode_labels(read_labels(target, len(first)))[1])
    after = ""
    if centered:
        first = centered_matrix(first)
        second = centered_matrix(second)
        after = " after centering"
    for name, matrix in (("K", first), ("the target", second)):
        if not matrix.any():
            warnings.warn(f"{name} is zero{after}: the alignment is 0 / 0 and taken as 0", UserWarning, stacklevel=2)
            return 0.0
    cosine = np.vdot(first, second) / np.linalg.norm(first) / np.linalg.norm(second)
    return float(np.clip(cosine, -1.0, 1.0))


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _matrix(name: str, values: Any) -> np.ndarray:
    matrix = _dense(values)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"{name} must be a square matrix of similarities, got {brief(values)}")
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, it holds {matrix.dtype}")
    matrix = matrix.astype(np.float64)
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = (int(place) for place in bad[0])
        raise PairError(i, j, f"{name} is {matrix[i, j]}, not a finite number")
    return matrix / (float(np.abs(matrix).max()) or 1.0)


def centered_matrix(K: np.ndarray) -> np.ndarray:
    """Return HKH, the matrix without its row and column means; exactly zero if it is zero up to rounding."""
    C = K - K.mean(axis=1, keepdims=True)
    C -= C.mean(axis=0)
    return C if np.linalg.norm(C) > CENTERING_ROUNDING * np.linalg.norm(K) else np.zeros_like(C)


def ideal(n_classes: int) -> tuple[float, float]:
    """Return s and c of the ideal kernel s 1[equal] + c: 1 for equal classes and -1 / (k - 1) for different ones."""
    return (n_classes / (n_classes - 1), -1 / (n_classes - 1)) if n_classes > 1 else (0.0, 1.0)


def ideal_matrix(codes: np.ndarray) -> np.ndarray:
    """Return the ideal kernel of examples of these classes."""
    scale, constant = ideal(int(codes.max()) + 1)
    return np.where(codes[:, None] == codes, scale + constant, constant)


def estimated_alignments(K: np.ndarray, codes: np.ndarray) -> tuple[Estimate, Estimate]:
    r"""Return estimates of the plain and centered alignment of a similarity with the labels, for the distribution.

    Estimated are :math:`E[K T] / \sqrt{E[K^2] E[T^2]}` over two independent examples, T as in `alignment`, and the same
    with K and T centered. Each expectation is a mean over tuples of different examples (for centered ones: Song, Smola,
    Gretton, Bedo and Borgwardt, "Feature Selection via Dependence Maximization", 2012, Theorem 2, here for any K):
    pairs of an object with itself have probability zero. The interval is Student's, by the jackknife over examples.
    """
    pairs = K.copy()
    T = ideal_matrix(codes)
    for matrix in (pairs, T):
        np.fill_diagonal(matrix, 0.0)
    pairs /= float(np.abs(pairs).max()) or 1.0
    size = effective_size(codes)
    return _ratio(pairs, T, _plain_product, size, 2), _ratio(pairs, T, _centered_product, size, 4)


def _ratio(K: np.ndarray, T: np.ndarray, product: Any, size: float, order: int) -> Estimate:
    """Return the product of K and T divided by both norms; the interval is [-1, 1] if a norm is not positive."""
    if len(K) <= order:
        return Estimate(0.0, -1.0, 1.0, LEVEL, ESTIMATE)
    parts = [product(K, T), product(K, K), product(T, T)]
    values, left_out = map(np.stack, zip(*parts, strict=True))
    tiny = CENTERING_ROUNDING * float((K**2).mean())
    if values[1] <= tiny or values[2] <= 0:
        return Estimate(0.0, -1.0, 1.0, LEVEL, ESTIMATE)
    value = float(np.clip(values[0] / math.sqrt(values[1] * values[2]), -1.0, 1.0))
    if (left_out[1:] <= 0).any():
        return Estimate(value, -1.0, 1.0, LEVEL, ESTIMATE)
    return by_jackknife(value, jackknife_variance(left_out[0] / np.sqrt(left_out[1] * left_out[2])), size, 1.0)


def _plain_product(K: np.ndarray, T: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean of K T over pairs of different examples, and the same with each example left out."""
    n = len(K)
    both = K * T
    total = both.sum()
    left_out = (total - both.sum(axis=1) - both.sum(axis=0)) / ((n - 1) * (n - 2))
    return total / (n * (n - 1)), left_out


def _centered_product(K: np.ndarray, T: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Return :math:`E[K_{12} T_{12}] - E[K_{12} T_{13}] - E[K_{12} T_{32}] + E[K_{12} T_{34}]` in the same way."""
    both = K * T
    crossed = K * T.T
    k_out = K.sum(axis=1)
    k_in = K.sum(axis=0)
    t_out = T.sum(axis=1)
    t_in = T.sum(axis=0)
    pairs = both.sum()
    turned = crossed.sum()
    whole = _expected(
        len(K), k_out.sum() * t_out.sum(), pairs, turned, k_out @ t_out, k_in @ t_in, k_out @ t_in + k_in @ t_out
    )
    left_out = _expected(
        len(K) - 1,
        (k_out.sum() - k_out - k_in) * (t_out.sum() - t_out - t_in),
        pairs - both.sum(axis=1) - both.sum(axis=0),
        turned - crossed.sum(axis=1) - crossed.sum(axis=0),
        k_out @ t_out - k_out * t_out - K.T @ t_out - T.T @ k_out + both.sum(axis=0),
        k_in @ t_in - k_in * t_in - K @ t_in - T @ k_in + both.sum(axis=1),
        k_out @ t_in - k_out * t_in - K.T @ t_in - T @ k_out + crossed.sum(axis=0)
        + k_in @ t_out - k_in * t_out - K @ t_out - T.T @ k_in + crossed.sum(axis=1),
    )  # fmt: skip
    return whole, left_out


def _expected(n: int, sums: Any, pairs: Any, turned: Any, out: Any, into: Any, mixed: Any) -> Any:
    three = n * (n - 1) * (n - 2)
    four = n * (n - 1) * (n - 2) * (n - 3)
    disjoint = sums - out - into - mixed + pairs + turned
    return pairs / (n * (n - 1)) - (out - pairs) / three - (into - pairs) / three + disjoint / four


SIGNIFICANT = 0.05
"""Largest p-value at which a similarity is called related to the labels."""


@dataclass(frozen=True)
class PermutationTest(Estimate):
    """The p-value of the hypothesis that the similarity is unrelated to the labels: (1 + b) / (1 + B).

    Here b of B permutations of the labels have at least the observed alignment. Under the hypothesis it is at most a
    with probability at most a, for every a. The interval is exact for the share among all permutations.
    """

    statistic: str
    permutations: int

    def __str__(self) -> str:
        return f"p = {self.value:.4g} ({self.statistic}, {self.permutations} permutations)"


def permutation_test(
    K: np.ndarray, codes: np.ndarray, rng: np.random.Generator, permutations: int = 999
) -> PermutationTest:
    """Permute the labels and count how often they are as well aligned as the true ones.

    The norms do not depend on the order of labels, so the statistic is the sum of the centered K over pairs of one
    class.
    """
    pairs = K.copy()
    np.fill_diagonal(pairs, 0.0)
    C = centered_matrix(pairs)
    observed = _within(C, codes[:, None])[0]
    rounding = 1e-12 * len(C) ** 2 * float(np.abs(C).max())
    reached = 0
    for done in range(0, permutations, 250):
        some = np.broadcast_to(codes[:, None], (len(codes), min(250, permutations - done)))
        reached += int((_within(C, rng.permuted(some, axis=0)) >= observed - rounding).sum())
    low, high = clopper_pearson(reached, permutations, LEVEL)
    value = (1 + reached) / (1 + permutations)
    return PermutationTest(
        value, min(float(low), value), max(float(high), value), LEVEL, ESTIMATE, "centered alignment", permutations
    )


def _within(C: np.ndarray, codes: np.ndarray) -> np.ndarray:
    n_classes = int(codes.max()) + 1
    if n_classes == 2:  # 1[equal] = (1 + l l') / 2, and C sums to zero
        signs = 2.0 * codes - 1.0
        return (signs * (C @ signs)).sum(axis=0) / 2
    if n_classes > 16:  # then sums over blocks are cheaper than products with the whole matrix
        return np.array([_blocks_sum(C, own) for own in codes.T])
    total = np.zeros(codes.shape[1])
    for c in range(n_classes):
        inside = (codes == c).astype(float)
        total += (inside * (C @ inside)).sum(axis=0)
    return total


def _blocks_sum(C: np.ndarray, codes: np.ndarray) -> float:
    blocks = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return float(sum(C[np.ix_(own, own)].sum() for own in blocks))
