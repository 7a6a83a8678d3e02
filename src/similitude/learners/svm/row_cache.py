"""Rows of a Gram matrix, computed in tiles when they are first needed, with the least recently used ones evicted."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding, check_fits, count, rows
from similitude.compute.engines import Engine, format_bytes
from similitude.compute.loops import add_rows
from similitude.similarity import Similarity
from similitude.support import PairError

CACHED_ROWS = 2048
"""Number of rows cached regardless of their size: two working sets of the solver. More rows save little time."""

CACHE_BYTES = 2**27
"""More rows are cached up to this size."""


class KernelRows:
    """Rows of K(x_i, x_j) for a symmetric kernel, cached in at most half of the engine's memory.

    `positions` are those of the objects in the user's X, for errors that name a pair.
    """

    def __init__(
        self,
        kernel: Similarity,
        encoding: Encoding,
        engine: Engine,
        dtype: np.dtype,
        positions: np.ndarray | None = None,
    ) -> None:
        self.kernel, self.encoding, self.engine, self.positions = kernel, encoding, engine, positions
        n = count(encoding)
        row, budget = n * dtype.itemsize, engine.budget
        self.room = min(n, budget // (2 * row), max(CACHED_ROWS, CACHE_BYTES // row))
        if self.room < min(n, 2):
            raise MemoryError(
                f"two rows of {n:,} values do not fit into half of the memory budget of {format_bytes(budget)}: "
                f"give the engine more memory"
            )
        self.store = np.empty((self.room, n), dtype)
        self.slot = np.full(n, -1, np.int64)
        self.owner = np.full(self.room, -1, np.int64)
        self.used = np.full(self.room, -1, np.int64)
        self.clock = 0

    def __len__(self) -> int:
        return len(self.slot)

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        if len(which) > self.room:  # too many to cache: compute only these entries
            few, others = rows(self.encoding, which), rows(self.encoding, columns)
            return np.asarray(self.kernel.blocks(few, others, self.engine).whole())
        return self.store[np.ix_(self.load(which), columns)]

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64; its size is checked first."""
        check_fits(len(self), len(self), 8, self.engine)
        return np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole(), dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        return np.asarray(self.kernel.diagonal(self.encoding), dtype=np.float64)

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j], with as many rows at a time as the cache holds."""
        for start in range(0, len(which), self.room):
            some = slice(start, start + self.room)
            add_rows(self.store, self.load(which[some]), weights[some], out)

    def prefetch(self, which: np.ndarray) -> None:
        """Compute those of these rows that are not cached as one block, at most half of the cache."""
        missing = which[self.slot[which] < 0]
        if len(missing):
            self.load(missing[: max(1, self.room // 2)])

    def part(self, i: int, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for j in `columns`."""
        if self.slot[i] < 0:
            self.load(np.array([i]))
        self.used[self.slot[i]] = self.clock
        return self.store[self.slot[i]][columns]

    def load(self, which: np.ndarray) -> np.ndarray:
        """Return the slots of these rows in the cache, after computing those that are missing."""
        self.clock += 1
        held = self.slot[which]
        self.used[held[held >= 0]] = self.clock
        missing = which[held < 0]
        if not len(missing):
            return held
        free = np.sort(np.argsort(self.used, kind="stable")[: len(missing)])  # never used, or least recently used
        self.slot[self.owner[free][self.owner[free] >= 0]] = -1
        self.slot[missing], self.owner[free], self.used[free] = free, missing, self.clock
        blocks = self.kernel.blocks(rows(self.encoding, missing), self.encoding, self.engine)
        try:
            if free[-1] - free[0] + 1 == len(free):
                blocks.whole(out=self.store[free[0] : free[-1] + 1])
            else:
                self.store[free] = np.asarray(blocks.whole())
        except PairError as error:
            i, j = missing[error.i], error.j
            i, j = (i, j) if self.positions is None else (self.positions[i], self.positions[j])
            raise PairError(int(i), int(j), error.problem) from error.__cause__
        return self.slot[which]
