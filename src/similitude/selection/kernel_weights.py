"""The weights of a sum of kernels, computed from features, without a matrix of examples by examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from similitude.linear import SquaredHinge, l2_path

CONSTANT_SHARE = 1e-10
"""If centered features are shorter than this share of the features, they are rounding: the kernel is constant."""

SMOOTHING = 0.1
"""The share of the objective of EasyMKL that spreads the weights of examples."""

EASYMKL_TOLERANCE = 1e-8
"""Relative tolerance of the objective of EasyMKL."""


def alignment_weights(features: Sequence[np.ndarray], Y: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    r"""Return the weights of the sum of kernels with the largest centered alignment with the targets.

    .. math:: \min_{v \ge 0} v^\top M v - 2 v^\top a, \qquad
              M_{kl} = \langle HK_kH, HK_lH \rangle, \quad a_k = \langle HK_kH, YY^\top \rangle

    with :math:`H = I - \frac{1}{n} 11^\top`: the direction v maximizes the centered alignment of :math:`\sum_k v_k K_k`
    with :math:`YY^\top` (Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment",
    2012, Proposition 9). With :math:`K_k = F_k F_k^\top`, :math:`M_{kl} = |F_k^\top H F_l|^2` and :math:`a_k =
    |F_k^\top H Y|^2`, in the Frobenius norm. The weight of a kernel that is constant on these examples is zero. With
    groups, the dot products leave out pairs of examples of one group.

    >>> y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> alignment_weights([y, np.array([[1.0], [-1.0], [1.0], [-1.0]])], y)
    array([0.25, 0.  ])
    """
    from scipy.optimize import nnls

    Y = _centered(Y / max(float(np.abs(Y).max()), np.finfo(np.float64).tiny))
    if not Y.any():
        raise ValueError("y is constant: kernels cannot be aligned with it")
    pairs, centered, lengths = AlignedPairs.of(groups), [], np.ones(len(features))
    for k, F in enumerate(features):
        C = _centered(F)
        length = np.sqrt(np.linalg.norm(C.T @ C))
        lengths[k] = length if length > 0 else 1.0
        C = C / lengths[k]
        centered.append(C if pairs.product(C, C) > CONSTANT_SHARE else np.zeros_like(C))
    M = np.zeros((len(centered), len(centered)))
    for k, C in enumerate(centered):
        for j in range(k + 1):
            M[k, j] = M[j, k] = pairs.product(C, centered[j])
    a = np.array([pairs.product(C, Y) for C in centered])
    if not a.any():
        raise ValueError("no kernel varies with y: every one is constant on these examples")
    if a.max() <= 0:
        raise ValueError("no kernel is aligned with y across groups: there is nothing to add")
    a /= a.max()
    values, vectors = np.linalg.eigh(M)
    kept = values > len(M) * np.finfo(float).eps * values[-1]
    root = np.sqrt(values[kept])
    v, _ = nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ a) / root)
    return np.asarray(v) / lengths**2


@dataclass(frozen=True)
class AlignedPairs:
    """The pairs of examples whose similarities are aligned: all, or those of different groups."""

    groups: Sequence[np.ndarray]  # the rows of each

    @classmethod
    def of(cls, groups: np.ndarray | None) -> AlignedPairs:
        """Return the pairs of examples of different groups, given the group of each."""
        if groups is None:
            return cls(())
        order = np.argsort(groups, kind="stable")
        return cls(np.split(order, np.flatnonzero(np.diff(groups[order])) + 1))

    def product(self, A: np.ndarray, B: np.ndarray) -> float:
        """Return the dot product of AA' and BB' over the pairs; with groups, minus that of their means.

        >>> A, B = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [0.0], [1.0]])
        >>> AlignedPairs(()).product(A, B), AlignedPairs.of(np.array([0, 0, 1])).product(A, B)
        (16.0, -3.0)
        """
        if not self.groups:
            return self._sum(A, B)
        ones = np.ones((len(A), 1))
        return self._sum(A, B) - self._sum(A, ones) * self._sum(B, ones) / self._sum(ones, ones)

    def _sum(self, A: np.ndarray, B: np.ndarray) -> float:
        within = sum(float(np.linalg.norm(A[rows].T @ B[rows]) ** 2) for rows in self.groups)
        return float(np.linalg.norm(A.T @ B) ** 2) - within


def _centered(F: np.ndarray) -> np.ndarray:
    """Return features minus their mean; exactly zero if only rounding remains."""
    C = F - F.mean(axis=0)
    return C if np.linalg.norm(C) > CONSTANT_SHARE * np.linalg.norm(F) else np.zeros_like(C)


def easymkl_weights(features: Sequence[np.ndarray], signs: np.ndarray) -> np.ndarray:
    r"""Return the weights of EasyMKL, which add up to one; one-vs-rest for several classes.

    Over weights of the examples, which add up to one in each class, it minimizes

    .. math:: \min_\gamma (1 - \Lambda)\, \gamma^\top Y \bar K Y \gamma + \Lambda |\gamma|^2

    where :math:`\bar K` is the mean of the kernels and :math:`\Lambda = 0.1`: the squared distance of two points in the
    hulls of the classes, pulled towards the means of the classes. A kernel then weighs as much as it contributes,
    :math:`\gamma^\top Y K_k Y \gamma`. (Aiolli and Donini, "EasyMKL: a scalable multiple kernel learning algorithm",
    2015, section 3.) This is the dual of a support vector machine with squared hinge, :math:`\sum_i \max(0, 1 - y_i
    f(x_i))^2 + \frac{\Lambda}{1 - \Lambda} |w|^2`, whose residuals are in proportion to :math:`\gamma`; so it is solved
    in the features, which must be those of kernels with the same mean K(x, x).

    >>> y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> easymkl_weights([y, np.array([[1.0], [-1.0], [1.0], [-1.0]])], y).round(4)
    array([1., 0.])
    """
    features = [_centered(F) for F in features]  # distances between points of the two hulls stay the same
    F = np.concatenate(features, axis=1) / np.sqrt(len(features))
    if F.shape[0] < F.shape[1]:
        F = np.ascontiguousarray(np.asarray(np.linalg.qr(F.T, mode="r")).T)  # the same dot products in fewer features
    penalty = SMOOTHING / (1 - SMOOTHING)
    linear = next(l2_path(F, signs, np.ones(len(F)), [penalty], SquaredHinge(), tolerance=EASYMKL_TOLERANCE))
    residuals = np.maximum(0.0, 1.0 - signs * linear.scores(F))
    weights = np.zeros(len(features))
    for column in range(signs.shape[1]):
        y, gamma = signs[:, column], residuals[:, column]
        directed = np.where(y > 0, gamma / gamma[y > 0].sum(), -gamma / gamma[y < 0].sum())
        contributed = np.array([np.sum((part.T @ directed) ** 2) for part in features])
        if contributed.sum() > 0:
            weights += contributed / contributed.sum()
    if not weights.any():
        raise ValueError("no kernel tells the classes apart: every one is constant on these examples")
    return weights / weights.sum()
