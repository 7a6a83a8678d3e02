"""Two samples compared by sums of similarities to landmarks, in one pass over the objects: no matrix of all pairs.

Blocks of consecutive rows are permuted instead of single rows: a subgroup of all permutations, so that the level stays
exact, with a few thousand sums to permute however many rows there are (Domingo-Enrich, Dwivedi and Mackey, "Cheap
Permutation Testing", 2025).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from similitude.compute import as_numpy
from similitude.compute.engines import Engine, format_bytes
from similitude.hypotheses.all_pairs import PermutedSamples, parts, permuted_members
from similitude.hypotheses.p_values import standardized
from similitude.hypotheses.samples import PooledObjects
from similitude.landmarks import rounding_of
from similitude.similarity import Similarity
from similitude.support import pairs_at

FEWEST_BLOCKS, MOST_BLOCKS = 500, 10_000
"""Number of blocks that the smallest sample is cut into, and most blocks of a sample that are permuted."""

ROWS_AT_ONCE = 4000
"""Most objects that are encoded at a time."""

BUDGET_SHARE = 8
"""Matrices as large as the similarities of the objects that are encoded at a time, which the memory must hold."""


@dataclass(frozen=True)
class BlockSums:
    """The similarities of one sample to the landmarks, summed over blocks of as many rows, and over all other rows."""

    blocks: np.ndarray
    rest: np.ndarray
    n: int
    block_size: int


class LandmarkSums:
    """Sums of similarities to landmarks for each sample of a pool; the columns are landmarks, kernel by kernel."""

    def __init__(self, pool: PooledObjects, samples: list[np.ndarray], number: int) -> None:
        self.landmarks = pool.order[:number]
        self.columns = LandmarkColumns(pool, number)
        self.block_size = max(1, min(map(len, samples)) // FEWEST_BLOCKS)
        blocks = sum(map(self._number_of_blocks, samples))
        check_sums_fit(2 * 8 * blocks * self.columns.width, pool.engine)
        self.sums = {id(sample): self._summed(sample) for sample in samples}
        self.samples = samples  # kept, so that their ids stay taken

    def _summed(self, sample: np.ndarray) -> BlockSums:
        size, number = self.block_size, self._number_of_blocks(sample)
        sums = np.zeros((number + 1, self.columns.width))
        for start, values in self.columns.chunks(sample):
            block = np.minimum(np.arange(start, start + len(values)) // size, number)
            starts = np.flatnonzero(np.diff(block, prepend=-1))
            sums[block[starts]] += np.add.reduceat(values, starts)
        return BlockSums(sums[:-1], sums[-1], len(sample), size)

    def _number_of_blocks(self, sample: np.ndarray) -> int:
        return min(len(sample) // self.block_size, MOST_BLOCKS)

    def compare(
        self, first: np.ndarray, second: np.ndarray, n_permutations: int, rng: np.random.Generator
    ) -> PermutedSamples:
        """Compare two of the samples."""
        X, Z = self.sums[id(first)], self.sums[id(second)]
        members = permuted_members(len(X.blocks), len(X.blocks) + len(Z.blocks), n_permutations, rng)
        blocks = np.concatenate([X.blocks, Z.blocks])
        inside = np.concatenate([part.astype(np.float64) @ blocks for part in parts(members)])
        apart = (inside + X.rest) / X.n - (blocks.sum(axis=0) - inside + Z.rest) / Z.n
        largest = np.abs(blocks).max(axis=0) / X.block_size
        apart[np.abs(apart) <= 1e-12 * largest] = 0.0
        by_kernel = np.split(apart, len(self.columns.kernels), axis=1)
        features = [D if T is None else D @ T for D, T in zip(by_kernel, self.columns.projections, strict=True)]
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
        self.pool, self.kernels, self.number = pool, pool.kernels, number
        objects = pool.landmarks(number)
        self.landmarks = [k.encode_checked(objects) for k in self.kernels]
        self.projections = [self._projection(k, L) for k, L in zip(self.kernels, self.landmarks, strict=True)]

    def _projection(self, k: Similarity, L: object) -> np.ndarray | None:
        M = np.asarray(as_numpy(k.blocks(L, L, self.pool.engine).whole()), dtype=np.float64)
        if np.abs(M - M.T).max() > rounding_of(M, single=False):
            return None
        values, vectors = np.linalg.eigh((M + M.T) / 2)
        if values[0] < -rounding_of(M, single=False) and not k.proven:
            return None
        kept = values > 1e-10 * max(values[-1], 0.0)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def rows_at_once(self) -> int:
        """The number of objects that are encoded at a time, within the memory budget."""
        return max(1, min(ROWS_AT_ONCE, self.pool.engine.budget // (8 * BUDGET_SHARE * self.width)))

    def chunks(self, positions: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield similarities of the objects at positions, side by side for the kernels, with the first row's number."""
        step = self.rows_at_once
        for start in range(0, len(positions), step):
            yield start, self.values(positions[start : start + step])

    def values(self, positions: np.ndarray) -> np.ndarray:
        """Return the similarities of the objects at positions, side by side for the kernels."""
        objects, pairs = self.pool.chunk(positions), zip(self.kernels, self.landmarks, strict=True)
        with pairs_at(positions, self.pool.order):
            parts = [as_numpy(k.blocks(k.encode_checked(objects), L, self.pool.engine).whole()) for k, L in pairs]
        return np.concatenate(parts, axis=1).astype(np.float64, copy=False)

    def features(self, positions: np.ndarray) -> np.ndarray:
        """Return the features of the objects at positions, side by side for the kernels."""
        by_kernel = np.split(self.values(positions), len(self.kernels), axis=1)
        pairs = zip(by_kernel, self.projections, strict=True)
        return np.concatenate([K if T is None else K @ T for K, T in pairs], axis=1)

    @property
    def width(self) -> int:
        """The number of landmarks of all kernels together."""
        return self.number * len(self.kernels)

    @property
    def n_features(self) -> int:
        """The number of features of all kernels together."""
        return self.feature_columns[-1].stop

    @property
    def feature_columns(self) -> list[slice]:
        """The columns of each kernel among the features."""
        edges = np.cumsum([0, *[self.number if T is None else T.shape[1] for T in self.projections]]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(edges)]


def check_sums_fit(size: int, engine: Engine) -> None:
    """Refuse sums of similarities to landmarks that exceed the memory budget, given in bytes."""
    if size > engine.budget:
        raise MemoryError(
            f"sums of similarities to landmarks take {format_bytes(size)}, the memory budget is "
            f"{format_bytes(engine.budget)}: use fewer landmarks or kernels, or give the engine more memory"
        )
