"""Rows of a Gram matrix, computed as tiles when they are first needed and kept while there is room."""

from __future__ import annotations

import numpy as np

from similitude.compute.blocks import check_fits
from similitude.compute.encodings import Encoding, count, rows
from similitude.compute.engines import Engine, format_bytes
from similitude.compute.loops import add_rows
from similitude.similarity import Similarity
from similitude.support.errors import PairError

LARGEST = 1e15
"""Entries up to which squared lengths of any dimension stay finite in single precision."""

MANY_ROWS = 2048
"""Rows that are kept in any case: two working sets of the solver. More of them save little, as measured."""

ENOUGH_BYTES = 2**27
"""Memory up to which more rows are kept."""

SAMPLE = 200
"""Objects on which single precision is compared with double."""


class KernelRows:
    """K(x_i, x_j) for all j, a row at a time; those used last are kept, in half of the engine's memory at most.

    Parameters
    ----------
    kernel : Similarity
        Symmetric.
    encoding : encoding
        All n objects.
    engine : Engine
    dtype : dtype
        The precision of the rows.
    positions : array of int, optional
        Where the objects stand among more of them, for errors that name a pair.
    """

    def __init__(
        self,
        kernel: Similarity,
        encoding: Encoding,
        engine: Engine,
        dtype: np.dtype,
        positions: np.ndarray | None = None,
    ) -> None:
        self.kernel: Similarity | None = kernel
        self.encoding, self.engine, self.positions = encoding, engine, positions
        n = count(encoding)
        row = n * dtype.itemsize
        room = min(n, engine.budget // (2 * row), max(MANY_ROWS, ENOUGH_BYTES // row))
        if room < min(n, 2):
            raise MemoryError(
                f"two rows of {n:,} values do not fit into half of the memory budget of {format_bytes(engine.budget)}: "
                f"give the engine more memory"
            )
        self.store = np.empty((room, n), dtype)
        self.slot = np.full(n, -1, np.int64)
        self.owner = np.full(room, -1, np.int64)
        self.used = np.full(room, -1, np.int64)
        self.clock = 0
        self.computed = 0

    @classmethod
    def of_matrix(cls, K: np.ndarray) -> KernelRows:
        """Return the rows of a Gram matrix that has been computed already."""
        made = cls.__new__(cls)
        made.kernel = None
        made.store, made.slot, made.owner = K, np.arange(len(K)), np.arange(len(K))
        made.used, made.clock, made.computed = np.zeros(len(K), np.int64), 0, 0
        return made

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def room(self) -> int:
        """How many rows can be held at once."""
        return len(self.store)

    def square(self, which: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i and j in `which`."""
        return self.between(which, which)

    def between(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for i in `which` and j in `columns`."""
        if len(which) > self.room and self.kernel is not None:  # more than can be kept: only what is asked for
            few, others = rows(self.encoding, which), rows(self.encoding, columns)
            return np.asarray(self.kernel.blocks(few, others, self.engine).whole())
        return self.store[np.ix_(self._slots(which), columns)]

    def whole(self) -> np.ndarray:
        """Return the whole matrix in float64; its size is checked first."""
        if self.kernel is None:
            return self.store.astype(np.float64)
        check_fits(len(self), len(self), 8, self.engine)
        return np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole(), dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of all objects in float64."""
        own = self.store.diagonal() if self.kernel is None else self.kernel.diagonal(self.encoding)
        return np.asarray(own, dtype=np.float64)

    def add_to(self, out: np.ndarray, which: np.ndarray, weights: np.ndarray) -> None:
        """Add the sum of weights[k] K(x_which[k], x_j) to out[j]."""
        add_rows(self.store, self._slots(which), weights, out)

    def _slots(self, which: np.ndarray) -> np.ndarray:
        """Return where these rows are kept, after computing those that are not."""
        self.clock += 1
        held = self.slot[which]
        self.used[held[held >= 0]] = self.clock
        missing = which[held < 0]
        if len(missing):
            self._compute(missing)
        return self.slot[which]

    def _compute(self, missing: np.ndarray) -> None:
        free = np.sort(np.argsort(self.used, kind="stable")[: len(missing)])  # never used, or used longest ago
        self.slot[self.owner[free][self.owner[free] >= 0]] = -1
        self.slot[missing], self.owner[free], self.used[free] = free, missing, self.clock
        self.computed += len(missing)
        assert self.kernel is not None, "a stored matrix has every row"
        blocks = self.kernel.blocks(rows(self.encoding, missing), self.encoding, self.engine)
        try:
            if free[-1] - free[0] + 1 == len(free):
                blocks.whole(out=self.store[free[0] : free[-1] + 1])
            else:
                self.store[free] = np.asarray(blocks.whole())
        except PairError as error:
            raise PairError(self._place(missing[error.i]), self._place(error.j), error.problem) from error.__cause__

    def _place(self, i: int) -> int:
        """Return where an object stands among all that the user gave."""
        return int(i if self.positions is None else self.positions[i])


def in_single_precision(kernel: Similarity, encoding: Encoding, tolerance: float) -> Encoding | None:
    """Return the encoding in float32 if the kernel's values are then off by at most the tolerance, else None.

    Of vectors a sample is compared, spread over all of them; other objects stay as they are.
    """
    if kernel.objects != "vectors" or getattr(encoding, "dtype", None) != np.float64:
        return None
    if np.abs(encoding).max() > LARGEST:
        return None
    single = encoding.astype(np.float32)
    some = np.unique(np.linspace(0, count(encoding) - 1, SAMPLE).astype(int))
    exact, rough = (np.asarray(kernel.block(rows(E, some), rows(E, some)), float) for E in (encoding, single))
    return single if np.abs(exact - rough).max() <= tolerance else None
