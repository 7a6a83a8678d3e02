"""Two samples compared under all permutations: by the similarities of all pairs, or by sums over landmarks.

Sums of similarities to landmarks take one pass over the objects: blocks of consecutive rows are permuted instead of
single rows, a subgroup of all permutations, so that the level stays exact, with a few thousand sums to permute however
many rows there are (Domingo-Enrich, Dwivedi and Mackey, "Cheap Permutation Testing", 2025).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from similitude.compute import as_numpy, take
from similitude.compute.engines import Engine, format_bytes
from similitude.hypotheses.p_values import standardized
from similitude.hypotheses.samples import PooledObjects, centered
from similitude.landmarks import rounding_of
from similitude.similarity import Similarity
from similitude.support import pairs_at


class PermutedSamples(NamedTuple):
    """Two samples compared under permutations; the first column, or row, is the observed one."""

    statistics: np.ndarray  # a row for each kernel
    positions: np.ndarray  # of some objects in the pool
    witness: np.ndarray  # by how many standard errors each of them is more similar to the first sample
    largest: np.ndarray  # the largest magnitude of that among them, for each permutation


class AllPairs:
    """The matrices of all pairs of a pool, one for each kernel, and its samples."""

    def __init__(self, pool: PooledObjects, samples: list[np.ndarray]) -> None:
        self.samples = samples
        self.grams = [pool.gram(k) for k in pool.kernels]

    def compare(self, second: int, n_permutations: int, rng: np.random.Generator) -> PermutedSamples:
        """Compare the first sample with another one."""
        positions = np.concatenate([self.samples[0], self.samples[second]])
        members = permuted_members(len(self.samples[0]), len(positions), n_permutations, rng)
        matrices = [centered(K if len(K) == len(positions) else K[np.ix_(positions, positions)]) for K in self.grams]
        statistics = np.array([squared_discrepancies(A, members) for A in matrices])
        mean = np.asarray(sum(A / (float(np.linalg.norm(A)) or 1.0) for A in matrices))
        return PermutedSamples(statistics, positions, *witnesses(mean, members))


def permuted_members(size: int, n: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """Return who is in the first sample of this size: the first `size`, and in the other rows random ones."""
    members = np.zeros((1 + n_permutations, n), dtype=bool)
    members[:, :size] = True
    rng.permuted(members[1:], axis=1, out=members[1:])
    return members


def squared_discrepancies(A: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the unbiased estimate of the squared MMD for each row of members, from a U-centered matrix."""
    # its rows sum to zero, so that the pairs inside of the first sample give the sums of the others too
    sums = np.concatenate([np.einsum("ij,ij->i", U @ A, U) for U in parts(members)])
    n = int(members[0].sum())
    m = members.shape[1] - n
    return np.asarray(sums * (1 / (n * (n - 1)) + 1 / (m * (m - 1)) + 2 / (n * m)))


def parts(members: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of members in numbers, at most 250 for one matrix product."""
    return (members[start : start + 250].astype(np.float64) for start in range(0, len(members), 250))


def witnesses(A: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardized witness of each object, and its largest magnitude for each row of members.

    The witness is the mean similarity to the first sample less that to the second, without the object itself.
    """
    n = int(members[0].sum())
    m = members.shape[1] - n
    spread = np.sqrt(np.einsum("ij,ij->i", A, A) / max(len(A) - 2, 1)) * np.sqrt(1 / n + 1 / m)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    observed = []
    largest = []
    for U in parts(members):
        t = (U @ A) * (1 / (n - U) + 1 / (m - 1 + U)) * scale
        observed.append(t[0].copy())
        largest.append(np.abs(t).max(axis=1))
    return observed[0], np.concatenate(largest)


class LandmarkSums:
    """Sums of similarities to landmarks for each sample of a pool; the columns are landmarks, kernel by kernel."""

    def __init__(self, pool: PooledObjects, samples: list[np.ndarray], number: int) -> None:
        self.samples = samples
        self.landmarks = pool.order[:number]
        self.columns = LandmarkColumns(pool, number)
        self.block_size = max(1, min(map(len, samples)) // 500)  # the smallest sample has as many blocks
        blocks = sum(map(self._number_of_blocks, samples))
        check_sums_fit(2 * 8 * blocks * self.columns.width, pool.engine)
        self.sums = list(map(self._summed, samples))

    def _summed(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return similarities to the landmarks, summed over blocks of as many rows, and over all other rows."""
        number = self._number_of_blocks(sample)
        sums = np.zeros((number + 1, self.columns.width))
        step = self.columns.rows_at_once
        for start in range(0, len(sample), step):
            values = self.columns.values(sample[start : start + step])
            block = np.minimum(np.arange(start, start + len(values)) // self.block_size, number)
            starts = np.flatnonzero(np.diff(block, prepend=-1))
            sums[block[starts]] += np.add.reduceat(values, starts)
        return sums[:-1], sums[-1]

    def _number_of_blocks(self, sample: np.ndarray) -> int:
        return min(len(sample) // self.block_size, 10_000)  # the sums of all blocks are kept

    def compare(self, second: int, n_permutations: int, rng: np.random.Generator) -> PermutedSamples:
        """Compare the first sample with another one."""
        X, rest_x = self.sums[0]
        Z, rest_z = self.sums[second]
        blocks = np.concatenate([X, Z])
        members = permuted_members(len(X), len(blocks), n_permutations, rng)
        inside = np.concatenate([part @ blocks for part in parts(members)])
        outside = blocks.sum(axis=0) - inside
        means = (inside + rest_x) / len(self.samples[0]) - (outside + rest_z) / len(self.samples[second])
        means[np.abs(means) <= 1e-12 * np.abs(blocks).max(axis=0) / self.block_size] = 0.0
        by_kernel = np.split(means, len(self.columns.kernels), axis=1)
        features = [D @ T for D, T in zip(by_kernel, self.columns.projections, strict=True)]
        statistics = np.array([np.einsum("ij,ij->i", F, F) for F in features])
        t = sum(standardized(D.T) for D in by_kernel) / len(by_kernel)
        return PermutedSamples(statistics, self.landmarks, np.asarray(t)[:, 0], np.abs(t).max(axis=0))


class LandmarkColumns:
    """Similarities of the objects of a pool to landmarks, in chunks of rows, and what makes features of them.

    With K(L, L) = V D V', the features K(x, L) V D^(-1/2) are those of the kernel projected onto the landmarks. They
    are linear in the similarities, so that sums of similarities are enough. A similarity whose K(L, L) is not symmetric
    and positive semi-definite is not projected: its features are the similarities themselves.
    """

    def __init__(self, pool: PooledObjects, number: int) -> None:
        self.pool = pool
        self.kernels = pool.kernels
        self.number = number
        objects = take(pool.objects, np.arange(number))
        self.landmarks = [k.encode_checked(objects) for k in self.kernels]
        self.projections = [self._projection(k, L) for k, L in zip(self.kernels, self.landmarks, strict=True)]
        edges = np.cumsum([0, *[T.shape[1] for T in self.projections]]).tolist()
        self.n_features = edges[-1]
        self.feature_columns = [slice(a, b) for a, b in itertools.pairwise(edges)]  # of each kernel
        self.width = number * len(self.kernels)
        # objects that are encoded at a time: eight matrices of their similarities fit the budget
        self.rows_at_once = max(1, min(4000, pool.engine.budget // (8 * 8 * self.width)))

    def _projection(self, k: Similarity, L: object) -> np.ndarray:
        M = np.asarray(as_numpy(k.blocks(L, L, self.pool.engine).whole()), dtype=np.float64)
        rounding = rounding_of(M, single=False)
        values, vectors = np.linalg.eigh((M + M.T) / 2)
        if np.abs(M - M.T).max() > rounding or (values[0] < -rounding and not k.proven):
            return np.eye(self.number)
        kept = values > 1e-10 * max(values[-1], 0.0)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    def values(self, positions: np.ndarray) -> np.ndarray:
        """Return the similarities of the objects at positions, side by side for the kernels."""
        objects = self.pool.chunk(positions)
        pairs = zip(self.kernels, self.landmarks, strict=True)
        with pairs_at(positions, self.pool.order):
            parts = [as_numpy(k.blocks(k.encode_checked(objects), L, self.pool.engine).whole()) for k, L in pairs]
        return np.concatenate(parts, axis=1).astype(np.float64, copy=False)

    def features(self, positions: np.ndarray) -> np.ndarray:
        """Return the features of the objects at positions, side by side for the kernels."""
        by_kernel = np.split(self.values(positions), len(self.kernels), axis=1)
        return np.concatenate([K @ T for K, T in zip(by_kernel, self.projections, strict=True)], axis=1)


def check_sums_fit(size: int, engine: Engine) -> None:
    """Refuse sums of similarities to landmarks that exceed the memory budget, given in bytes."""
    if size > engine.budget:
        raise MemoryError(
            f"sums of similarities to landmarks take {format_bytes(size)}, the memory budget is "
            f"{format_bytes(engine.budget)}: use fewer landmarks or kernels, or give the engine more memory"
        )
