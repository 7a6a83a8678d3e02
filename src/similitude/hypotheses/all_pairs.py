"""Two samples compared by the similarities of all pairs, under all permutations at once: products with a 0/1 matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.hypotheses.samples import PooledObjects, centered

PRODUCT_ROWS = 250
"""Permutations in one matrix product."""


@dataclass(frozen=True)
class PermutedSamples:
    """Two samples compared under permutations; the first column, or row, is the observed one.

    ``statistics`` has a row for each kernel. ``witness`` is, for some objects at ``positions`` of the pool, by how many
    standard errors they are more similar to the first sample than to the second, and ``largest`` the largest magnitude
    of that among the objects, for each permutation.
    """

    statistics: np.ndarray
    positions: np.ndarray
    witness: np.ndarray
    largest: np.ndarray


class AllPairs:
    """The matrices of all pairs of a pool, one for each kernel."""

    def __init__(self, pool: PooledObjects) -> None:
        self.grams = [pool.gram(k) for k in pool.kernels]

    def compare(
        self, first: np.ndarray, second: np.ndarray, n_permutations: int, rng: np.random.Generator
    ) -> PermutedSamples:
        """Compare the objects at two sets of positions."""
        positions = np.concatenate([first, second])
        members = permuted_members(len(first), len(positions), n_permutations, rng)
        matrices = [centered(K if len(K) == len(positions) else K[np.ix_(positions, positions)]) for K in self.grams]
        statistics = np.array([squared_discrepancies(A, members) for A in matrices])
        lengths = [float(np.sqrt(np.einsum("ij,ij->", A, A))) or 1.0 for A in matrices]
        mean = sum(A / length for A, length in zip(matrices, lengths, strict=True))
        witness, largest = witnesses(np.asarray(mean), members)
        return PermutedSamples(statistics, positions, witness, largest)


def permuted_members(size: int, n: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """Return who is in the first sample of this size: the first `size`, and in the other rows random ones."""
    members = np.zeros((1 + n_permutations, n), dtype=bool)
    members[:, :size] = True
    rng.permuted(members[1:], axis=1, out=members[1:])
    return members


def squared_discrepancies(A: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the unbiased estimate of the squared MMD for each row of members, from a U-centered matrix.

    The rows of A sum to zero, so that one sum, over the pairs inside of the first sample, tells those of the other
    pairs as well.
    """
    sums = np.concatenate([_inside(A, part) for part in parts(members)])
    n, m = int(members[0].sum()), int((~members[0]).sum())
    return np.asarray(sums * (1 / (n * (n - 1)) + 1 / (m * (m - 1)) + 2 / (n * m)))


def _inside(A: np.ndarray, members: np.ndarray) -> np.ndarray:
    U = members.astype(np.float64)
    return np.einsum("ij,ij->i", U @ A, U)


def parts(members: np.ndarray) -> list[np.ndarray]:
    """Cut the rows of members into those of one matrix product each."""
    return [members[start : start + PRODUCT_ROWS] for start in range(0, len(members), PRODUCT_ROWS)]


def witnesses(A: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardized witness of each object, and its largest magnitude for each row of members.

    The witness is the mean similarity to the first sample less that to the second, without the object itself.
    """
    n, m = int(members[0].sum()), int((~members[0]).sum())
    spread = np.sqrt(np.einsum("ij,ij->i", A, A) / max(len(A) - 2, 1)) * np.sqrt(1 / n + 1 / m)
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    largest, observed = [], np.zeros(0)
    for part in parts(members):
        U = part.astype(np.float64)
        t = (U @ A) * (1 / (n - U) + 1 / (m - 1 + U)) * scale
        observed = observed if len(observed) else t[0].copy()
        largest.append(np.abs(t).max(axis=1))
    return observed, np.concatenate(largest)
