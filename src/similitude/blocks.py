"""A Gram or cross matrix as tiles under a memory budget.

The matrix is never whole unless :meth:`Blocks.whole` is asked for, and then its size is checked first.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from similitude.encodings import Encoding, count, namespace
from similitude.engines import Engine, Tile, current_engine
from similitude.engines.base import format_bytes
from similitude.errors import PairError, brief

T = TypeVar("T")

TILE_EDGE = 768
"""Rows and columns of a tile: large enough for BLAS, small enough for the cache."""

PYTHON_TILE_EDGE = 128
"""The same for similarities that call a user's Python function: progress and Ctrl-C come between tiles."""

TILES_PER_WORKER = 5
"""Tiles of memory that one worker may hold: two results on their way and room for intermediate arrays."""


@dataclass(frozen=True)
class BlockTask:
    """Evaluate a similarity on one tile and vouch for every value."""

    similarity: Any

    @property
    def threadsafe(self) -> bool:
        """Whether several threads gain from running it at once."""
        return bool(self.similarity.threadsafe)

    def __call__(self, a: Encoding, b: Encoding) -> Any:
        """Return the block of finite real numbers, or raise naming the pair."""
        return finite_block(self.similarity.block(a, b), (count(a), count(b)), repr(self.similarity))


def finite_block(values: Any, shape: tuple[int, int], name: str) -> Any:
    """Return `values` if it is a block of finite real numbers of the right shape; raise otherwise."""
    if tuple(getattr(values, "shape", ())) != shape:
        raise ValueError(f"{name} gave a block of shape {getattr(values, 'shape', None)}, expected {shape}")
    if getattr(values.dtype, "kind", "f") not in "fiub" or "complex" in str(values.dtype):
        raise TypeError(f"{name} gave values of type {values.dtype}, expected real numbers")
    with np.errstate(all="ignore"):  # the sum of finite values may overflow: look closer then
        total = float(values.sum())
    if not math.isfinite(total):
        bad = np.argwhere(~np.isfinite(np.asarray(values)))
        if len(bad):
            i, j = (int(position) for position in bad[0])
            raise PairError(i, j, f"{name} is {float(values[i, j])}, not a finite number")
    return values


@dataclass(frozen=True)
class Blocks:
    """The matrix K(a_i, b_j) of two encodings, tile by tile.

    Parameters
    ----------
    similarity : Similarity
        Gives each tile by its ``block``.
    A : encoding
        Encoded queries: the rows.
    B : encoding, optional
        Encoded objects: the columns. Default: `A`, which makes the matrix a Gram matrix.
    symmetric : bool
        Compute only tiles on and above the diagonal of a Gram matrix and mirror them.
    engine : Engine, optional
        Default: the current one.
    itemsize : int
        Bytes of one value, for planning.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.blocks import Blocks
    >>> from similitude.kernels import Linear
    >>> Blocks(Linear(), np.array([[1., 0.], [1., 1.]])).times(np.array([1., 2.]))
    array([3., 5.])
    """

    similarity: Any
    A: Encoding
    B: Encoding = None
    symmetric: bool = False
    engine: Engine = field(default_factory=current_engine)
    itemsize: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return count(self.A), count(self._columns)

    def whole(self, out: Any = None) -> Any:
        """Return the whole matrix.

        Parameters
        ----------
        out : array or path, optional
            Where to put it: an array of the right shape, or the path of a new ``.npy`` file, which is then
            memory-mapped and may exceed the memory budget. The file appears only when it is complete.
        """
        if isinstance(out, (str, Path)):
            return self._into_file(Path(out))
        if out is None:
            check_fits(*self.shape, self.itemsize, self.engine)
        elif tuple(getattr(out, "shape", ())) != self.shape:
            raise ValueError(f"out must be an array of shape {self.shape} or a path, got {brief(out)}")
        with closing(self.tiles()) as tiles:
            for tile, values in tiles:
                out = self._empty(values) if out is None else out
                self._put(out, tile, values)
        return out

    def rows(self) -> Iterator[tuple[slice, Any]]:
        """Yield strips of whole rows from the top, each with its slice of row numbers."""
        n, m = self.shape
        strip = self._affordable_cells() // m
        if strip == 0:
            raise MemoryError(
                f"one row of {m:,} values does not fit into the memory budget of "
                f"{format_bytes(self.engine.budget)}: give the engine more memory"
            )
        strips = [(down, slice(0, m)) for down in _pieces(n, min(strip, self._edge(n)))]
        with closing(self._run(strips)) as tiles:
            for tile, values in tiles:
                yield tile[0], values

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return the matrix times `v` (a vector or a matrix of columns), without storing the matrix."""
        n, m = self.shape
        v = np.asarray(v)
        if v.shape[0] != m:
            raise ValueError(f"v has {v.shape[0]} rows, the matrix has {m} columns")
        total = np.zeros((n, *v.shape[1:]))
        with closing(self.tiles()) as tiles:
            for (down, right), values in tiles:
                tile = np.asarray(values)
                total[down] += tile @ v[right]
                if self._mirrored((down, right)):
                    total[right] += tile.T @ v[down]
        return total

    def reduce(self, step: Callable[[T, Tile, Any], T], start: T) -> T:
        """Fold ``step(so_far, tile, values)`` over every tile; a symmetric Gram gives each pair once."""
        with closing(self.tiles()) as tiles:
            for tile, values in tiles:
                start = step(start, tile, values)
        return start

    def tiles(self) -> Generator[tuple[Tile, Any], None, None]:
        """Yield each tile with its values; of a symmetric Gram those on and above the diagonal."""
        n, m = self.shape
        edge_down, edge_right = self._edge(n), self._edge(m)
        tiles = [(down, right) for down in _pieces(n, edge_down) for right in _pieces(m, edge_right)]
        if self._half:
            tiles = [(down, right) for down, right in tiles if right.start >= down.start]
        return self._run(tiles)

    @property
    def _columns(self) -> Encoding:
        return self.A if self.B is None else self.B

    @property
    def _half(self) -> bool:
        return self.symmetric and self._columns is self.A

    def _mirrored(self, tile: Tile) -> bool:
        return self._half and tile[0] != tile[1]

    def _run(self, tiles: list[Tile]) -> Generator[tuple[Tile, Any], None, None]:
        """Yield tiles with their values; closing it, as every reader here does, stops the engine at once."""
        yield from zip(tiles, self.engine.run(BlockTask(self.similarity), self.A, self._columns, tiles), strict=True)

    def _affordable_cells(self) -> int:
        workers = self.engine.workers(BlockTask(self.similarity))
        return self.engine.budget // (TILES_PER_WORKER * workers * self.itemsize)

    def _edge(self, size: int) -> int:
        task = BlockTask(self.similarity)
        affordable = max(1, math.isqrt(self._affordable_cells()))
        if task.threadsafe:
            return min(TILE_EDGE, affordable)
        enough_for_all = math.ceil(size / (2 * math.sqrt(self.engine.workers(task))))
        return min(PYTHON_TILE_EDGE, affordable, max(16, enough_for_all))

    def _empty(self, like: Any) -> Any:
        check_fits(*self.shape, like.dtype.itemsize, self.engine)
        xp = namespace(like)
        return (
            np.empty(self.shape, like.dtype) if xp is np else xp.empty(self.shape, dtype=like.dtype, device=like.device)
        )

    def _put(self, out: Any, tile: Tile, values: Any) -> None:
        if isinstance(out, np.ndarray) and not np.can_cast(values.dtype, out.dtype, "same_kind"):
            raise TypeError(f"out holds {out.dtype}, the values are {values.dtype}: they would be cut off")
        down, right = tile
        out[down, right] = values
        if self._mirrored(tile):
            out[right, down] = values.T

    def _into_file(self, path: Path) -> np.memmap[Any, Any]:
        if path.exists():
            raise FileExistsError(f"{path} exists already: choose another path or remove it first")
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        out = None
        try:
            with closing(self.tiles()) as tiles:
                for tile, values in tiles:
                    if out is None:
                        dtype = np.asarray(values).dtype
                        out = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=self.shape)
                    self._put(out, tile, np.asarray(values))
            assert out is not None
            out.flush()
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
        return np.lib.format.open_memmap(path, mode="r+")


def check_fits(n: int, m: int, itemsize: int, engine: Engine) -> None:
    """Refuse a matrix that is larger than the memory budget, before anything is computed."""
    if n * m * itemsize > engine.budget:
        raise MemoryError(
            f"a matrix of {n:,} x {m:,} values takes {format_bytes(n * m * itemsize)}, the memory budget is "
            f"{format_bytes(engine.budget)}: use fewer objects, write it to a file with out='matrix.npy', or raise "
            f"the budget with use_engine(LocalEngine(memory='{math.ceil(n * m * itemsize / 2**30)}GiB'))"
        )


def _pieces(size: int, edge: int) -> list[slice]:
    number = math.ceil(size / edge)
    bounds = [size * piece // number for piece in range(number + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
