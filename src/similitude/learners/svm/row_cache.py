"""Rows of a Gram matrix, computed in tiles when they are first needed, with the least recently used ones evicted."""

from __future__ import annotations

import math

import numpy as np

from similitude.compute import Blocks, Encoding, check_fits, count, rows
from similitude.compute.engines import Engine, format_bytes
from similitude.compute.loops import add_rows, mirror, pick
from similitude.learners.limits import CACHE_BYTES, CACHED_ROWS
from similitude.similarity import Similarity
from similitude.support import pairs_at


class KernelRows:
    """Rows of K(x_i, x_j) for a symmetric kernel, cached in half of the engine's memory; errors name `positions`."""

    def __init__(
        self,
        kernel: Similarity,
        encoding: Encoding,
        engine: Engine,
        dtype: np.dtype,
        positions: np.ndarray | None = None,
    ) -> None:
        self.kernel = kernel
        self.encoding = encoding
        self.engine = engine
        self.n = n = count(encoding)
        self.positions = np.arange(n)
        if positions is not None:
            self.positions = positions
        row = n * dtype.itemsize
        budget = engine.budget
        self.room = min(n, budget // (2 * row), max(CACHED_ROWS, CACHE_BYTES // row))
        if self.room < min(n, 2):
            raise MemoryError(
                f"two rows of {n:,} values do not fit into half of the memory budget of {format_bytes(budget)}: "
                f"give the engine more memory"
            )
        self.most_free = max(2, math.isqrt(budget // (9 * dtype.itemsize)))
        self.store = np.empty((self.room, n), dtype)
        self.slot = np.full(n, -1, np.int64)
        self.owner = np.full(self.room, -1, np.int64)
        self.used = np.full(self.room, -1, np.int64)
        self.clock = 0

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        if not (len(which) and len(columns)):
            return np.empty((len(which), len(columns)), self.store.dtype)
        some = rows(self.encoding, which)
        return np.asarray(self.kernel.blocks(some, rows(self.encoding, columns), self.engine).whole())

    def cached_first(self, which: np.ndarray) -> np.ndarray:
        """Return the positions in `which` of rows that are cached, then those of the others."""
        return np.argsort(self.slot[which] < 0, kind="stable")

    def square(self, which: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i and j in `which`, where rows that are cached come first."""
        values = np.empty((len(which), len(which)), self.store.dtype)
        n = int(np.count_nonzero(self.slot[which] >= 0))
        pick(self.store, self.slot[which[:n]], which, values[:n])
        if n < len(which):
            mirror(values[n:, :n], values[:n, n:])
            self.kernel.blocks(rows(self.encoding, which[n:]), engine=self.engine).whole(out=values[n:, n:])
        return values

    def of(self, which: np.ndarray) -> KernelRows:
        """Return the rows of the Gram matrix of some of the objects."""
        if len(which) == self.n:
            return self
        some = rows(self.encoding, which)
        return KernelRows(self.kernel, some, self.engine, self.store.dtype, self.positions[which])

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64; its size is checked first."""
        check_fits(self.n, self.n, 8, self.engine)
        return np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole(), dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        return np.asarray(self.kernel.diagonal(self.encoding), dtype=np.float64)

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j]; rows that do not fit into the cache are not kept."""
        missing = np.flatnonzero(self.slot[which] < 0)
        rest = missing[self.room - len(which) + len(missing) :]
        stored = np.setdiff1d(np.arange(len(which)), rest)
        add_rows(self.store, self.load(which[stored]), weights[stored], out)
        if len(rest):
            with pairs_at(self.positions[which[rest]], self.positions):
                out += self._rows(which[rest]).transposed_times(weights[rest])

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
        self.slot[missing] = free
        self.owner[free] = missing
        self.used[free] = self.clock
        with pairs_at(self.positions[missing], self.positions):
            if free[-1] - free[0] + 1 == len(free):
                self._rows(missing).whole(out=self.store[free[0] : free[-1] + 1])
            else:
                self.store[free] = np.asarray(self._rows(missing).whole())
        return self.slot[which]

    def _rows(self, which: np.ndarray) -> Blocks:
        return self.kernel.blocks(rows(self.encoding, which), self.encoding, self.engine)
