"""A permutation test of whether the similarity is related to the labels, for exchangeable examples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from similitude.goodness.alignments import centered_matrix
from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson

SIGNIFICANT = 0.05
"""Largest p-value at which a similarity is called related to the labels."""

PERMUTATIONS = 999
"""Number of permutations of the labels."""

PERMUTATIONS_AT_ONCE = 250


@dataclass(frozen=True)
class PermutationTest(Estimate):
    """The p-value of the hypothesis that the similarity is unrelated to the labels.

    Attributes
    ----------
    value : float
        (1 + b) / (1 + B), where b of B permutations of the labels have at least the observed alignment. Under the
        hypothesis it is at most a with probability at most a, for every a.
    low, high : float
        The exact interval for the share among all permutations.
    level, grade
    statistic : str
        The test statistic.
    permutations : int
        B.
    """

    statistic: str
    permutations: int

    def __str__(self) -> str:
        return f"p = {self.value:.4g} ({self.statistic}, {self.permutations} permutations)"


def permutation_test(
    K: np.ndarray, codes: np.ndarray, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> PermutationTest:
    """Permute the labels and count how often they are as well aligned as the true ones.

    The norms in the centered alignment do not depend on the order of labels, so the test statistic is its numerator:
    the sum of the centered K(x, x') over pairs of one class. K may be any matrix.

    Examples
    --------
    >>> codes = np.arange(40) % 2
    >>> test = permutation_test(np.where(codes[:, None] == codes, 1.0, 0.0), codes, np.random.default_rng(0))
    >>> test.value
    0.001
    """
    pairs = K.copy()
    np.fill_diagonal(pairs, 0.0)
    C = centered_matrix(pairs)
    observed = _within(C, codes[:, None])[0]
    rounding = 1e-12 * len(C) ** 2 * float(np.abs(C).max())
    reached = 0
    left = permutations
    while left:
        size = min(PERMUTATIONS_AT_ONCE, left)
        left -= size
        shuffled = rng.permuted(np.broadcast_to(codes[:, None], (len(codes), size)), axis=0)
        reached += int((_within(C, shuffled) >= observed - rounding).sum())
    low, high = clopper_pearson(reached, permutations, LEVEL)
    value = (1 + reached) / (1 + permutations)
    return PermutationTest(
        value, min(float(low), value), max(float(high), value), LEVEL, ESTIMATE, "centered alignment", permutations
    )


def _within(C: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the sum of C over pairs of the same class, for each column of class numbers."""
    n_classes = int(codes.max()) + 1
    if n_classes == 2:  # 1[equal] = (1 + l l') / 2, and C sums to zero
        signs = 2.0 * codes - 1.0
        return (signs * (C @ signs)).sum(axis=0) / 2
    if n_classes > 16:  # then sums over blocks are cheaper than products with the whole matrix
        return np.array([_blocks_sum(C, own, n_classes) for own in codes.T])
    total = np.zeros(codes.shape[1])
    for c in range(n_classes):
        inside = (codes == c).astype(float)
        total += (inside * (C @ inside)).sum(axis=0)
    return total


def _blocks_sum(C: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Return the sum of C over pairs of the same class, block by block."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(n_classes + 1))
    return float(sum(C[np.ix_(own, own)].sum() for own in (order[a:b] for a, b in pairwise(edges))))
