"""A Gram or cross matrix as tiles under a memory budget.

The matrix is never whole unless :meth:`Blocks.whole` is asked for, and then its size is checked first.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from similitude.compute import loops
from similitude.compute.encodings import Encoding, as_numpy, count, namespace, rows, tensor_in
from similitude.compute.engines import TILE_EDGE, Engine, Target, Tile, current_engine, format_bytes
from similitude.support.errors import PairError, brief

T = TypeVar("T")

WIDE_TILE = (512, 4096)
"""Rows and columns of a tile that is written in place and not mirrored: long stretches of rows are filled at once."""

HEAVY_TILE_EDGE = 64
"""The least rows and columns of a tile of a similarity whose values take long, where several workers share them."""

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

    def __call__(self, a: Encoding, b: Encoding, out: Any = None) -> Any:
        """Return the block of finite real numbers, in `out` where it is given, or raise naming the pair."""
        block = self.similarity.block
        values = block(a, b) if out is None else block(a, b, out=out)
        if self.similarity.is_finite():
            return values
        return finite_block(values, (count(a), count(b)), lambda: repr(self.similarity))

    @property
    def on_tensors(self) -> bool:
        """Whether a device can run it."""
        return bool(getattr(self.similarity, "works_on_tensors", lambda: False)())

    def joined(self, parts: list[Any]) -> Any:
        """Return the block of all rows from those of some rows after another."""
        xp = namespace(parts[0])
        return np.concatenate(parts) if xp is np else xp.concat(parts)

    @property
    def heavy(self) -> bool:
        """Whether the similarity, or a part of it, takes long for one value."""
        return _is_heavy(self.similarity)

    @property
    def fills(self) -> bool:
        """Whether the similarity's ``block`` takes ``out=`` and writes there."""
        return self.threadsafe and "out" in inspect.signature(self.similarity.block).parameters


def _is_heavy(similarity: Any) -> bool:
    """Tell whether a similarity or a part of it is heavy; what maps a row to features is not, unless it says so."""
    parts = similarity.parts() if hasattr(similarity, "parts") else ()
    return bool(getattr(similarity, "heavy", False)) or any(map(_is_heavy, parts))


def finite_block(values: Any, shape: tuple[int, int], name: Callable[[], str]) -> Any:
    """Return `values` if it is a block of finite real numbers of the right shape; raise otherwise."""
    if tuple(getattr(values, "shape", ())) != shape:
        raise ValueError(f"{name()} gave a block of shape {getattr(values, 'shape', None)}, expected {shape}")
    if getattr(values.dtype, "kind", "f") not in "fiub" or "complex" in str(values.dtype):
        raise TypeError(f"{name()} gave values of type {values.dtype}, expected real numbers")
    with np.errstate(all="ignore"):  # the sum of finite values may overflow: look closer then
        total = float(values.sum())
    if not math.isfinite(total):
        bad = np.argwhere(~np.isfinite(as_numpy(values)))
        if len(bad):
            i, j = (int(position) for position in bad[0])
            raise PairError(i, j, f"{name()} is {float(values[i, j])}, not a finite number")
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
    whole_rows : bool
        Cut no row: each tile holds all columns of some rows, as what maps a row to its features needs.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.compute.blocks import Blocks
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
    whole_rows: bool = False

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
        target = _Target(self, out)
        with closing(self._run(self._all_tiles(), target)) as tiles:
            for _ in tiles:
                pass
        return target.out

    def rows(self) -> Iterator[tuple[slice, Any]]:
        """Yield strips of whole rows from the top, each with its slice of row numbers."""
        with closing(self._run(self._strips())) as tiles:
            for tile, values in tiles:
                yield tile[0], values

    def times(self, v: Any) -> Any:
        """Return the matrix times `v` (a vector or a matrix of columns), without storing the matrix."""
        return self._times(as_numpy(v), transposed=False)

    def transposed_times(self, w: Any) -> Any:
        """Return the transposed matrix times `w` (a vector or a matrix of columns), without storing the matrix."""
        return self._times(as_numpy(w), transposed=True)

    def _times(self, v: np.ndarray, transposed: bool) -> Any:
        rows_out, rows_in = self.shape[::-1] if transposed else self.shape
        if v.shape[0] != rows_in:
            raise ValueError(f"the vector has {v.shape[0]} rows, the matrix of shape {self.shape} needs {rows_in}")
        operator = self.engine.operator(self.similarity, self.A, self._columns)
        if operator is not None:
            return operator.product(v, transposed)
        total = np.zeros((rows_out, *v.shape[1:]))
        with closing(self.tiles()) as tiles:
            for (down, right), values in tiles:
                tile = as_numpy(values)
                if not transposed or self._mirrored((down, right)):
                    total[down] += tile @ v[right]
                if transposed or self._mirrored((down, right)):
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
        return self._run(self._all_tiles())

    def _all_tiles(self) -> list[Tile]:
        if self.whole_rows:
            return self._strips()
        n, m = self.shape
        edge_down, edge_right = WIDE_TILE if self._may_be_wide else (self._edge(n), self._edge(m))
        tiles = [(down, right) for down in _pieces(n, edge_down) for right in _pieces(m, edge_right)]
        return [tile for tile in tiles if tile[1].start >= tile[0].start] if self._half else tiles

    def _strips(self) -> list[Tile]:
        n, m = self.shape
        strip = self._affordable_cells() // m
        if strip == 0:
            raise MemoryError(
                f"one row of {m:,} values does not fit into the memory budget of "
                f"{format_bytes(self.engine.budget)}: give the engine more memory"
            )
        return [(down, slice(0, m)) for down in _pieces(n, min(strip, self._edge(n)))]

    @property
    def _may_be_wide(self) -> bool:
        fits = math.prod(WIDE_TILE) <= self._affordable_cells()
        task = BlockTask(self.similarity)
        usual = self.engine.tile_edge == TILE_EDGE < self.shape[1]
        return fits and usual and not self._half and task.fills and not task.heavy

    @property
    def _columns(self) -> Encoding:
        return self.A if self.B is None else self.B

    @property
    def _half(self) -> bool:
        return self.symmetric and self._columns is self.A

    def _mirrored(self, tile: Tile) -> bool:
        return self._half and tile[0] != tile[1]

    def _run(self, tiles: list[Tile], target: Target | None = None) -> Generator[tuple[Tile, Any], None, None]:
        """Yield tiles with their values; closing it, as every reader here does, stops the engine at once."""
        results = self.engine.run(BlockTask(self.similarity), self.A, self._columns, tiles, target)
        yield from zip(tiles, results, strict=True)

    def _affordable_cells(self) -> int:
        workers = self.engine.workers(BlockTask(self.similarity))
        return self.engine.budget // (TILES_PER_WORKER * workers * self.itemsize)

    def _edge(self, size: int) -> int:
        task = BlockTask(self.similarity)
        affordable = max(1, math.isqrt(self._affordable_cells()))
        if task.threadsafe:
            workers, edge = self.engine.workers(task), self.engine.tile_edge
            shared = max(HEAVY_TILE_EDGE, math.ceil(size / (workers + 1))) if workers > 1 and task.heavy else edge
            return min(edge, affordable, shared)
        enough_for_all = math.ceil(size / (2 * math.sqrt(self.engine.workers(task))))
        return min(PYTHON_TILE_EDGE, affordable, max(16, enough_for_all))

    def _into_file(self, path: Path) -> np.memmap[Any, Any]:
        if path.exists():
            raise FileExistsError(f"{path} exists already: choose another path or remove it first")
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        target = _Target(self, None, part)
        try:
            with closing(self._run(self._all_tiles(), target)) as tiles:
                for _ in tiles:
                    pass
            target.out.flush()
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
        return np.lib.format.open_memmap(path, mode="r+")


class _Target:
    """Where the tiles of a whole matrix go: the user's array, or one made when the first tile shows its precision."""

    def __init__(self, blocks: Blocks, out: Any, path: Path | None = None) -> None:
        self.blocks, self.out, self.path = blocks, out, path
        self.lock = threading.Lock()
        self.sample: Any = None
        tensors = tensor_in(blocks.A) is not None or tensor_in(blocks._columns) is not None
        if BlockTask(blocks.similarity).fills and not tensors:
            columns = blocks._columns if blocks.whole_rows else rows(blocks._columns, slice(0, 1))
            self.sample = blocks.similarity.block(rows(blocks.A, slice(0, 1)), columns)

    def view(self, tile: Tile) -> Any:
        """Return the place of a tile, if the similarity can write into an array like this one."""
        if not isinstance(self.sample, np.ndarray):
            return None
        self._make(self.sample)
        fits = self.out.dtype == self.sample.dtype and self.out.strides[-1] == self.out.itemsize
        return self.out[tile] if fits else None

    def _make(self, like: Any) -> None:
        with self.lock:
            if self.out is None:
                self.out = self._new(like)

    def put(self, tile: Tile, values: Any) -> None:
        """Copy a tile to its place, unless it was written there, and mirror it."""
        self._make(values)
        values = as_numpy(values) if isinstance(self.out, np.ndarray) else values
        if isinstance(self.out, np.ndarray) and not np.can_cast(values.dtype, self.out.dtype, "same_kind"):
            raise TypeError(f"out holds {self.out.dtype}, the values are {values.dtype}: they would be cut off")
        down, right = tile
        if not (isinstance(values, np.ndarray) and np.may_share_memory(values, self.out)):
            self.out[down, right] = values
        if self.blocks._mirrored(tile):
            _mirror(self.out[right, down], values)

    def _new(self, like: Any) -> Any:
        shape, xp = self.blocks.shape, namespace(like)
        if self.path is not None:
            return np.lib.format.open_memmap(self.path, mode="w+", dtype=np.asarray(like).dtype, shape=shape)
        check_fits(*shape, like.dtype.itemsize, self.blocks.engine)
        return np.empty(shape, like.dtype) if xp is np else xp.empty(shape, dtype=like.dtype, device=like.device)


def _mirror(to: Any, values: Any) -> None:
    """Write the transposed values."""
    both = [one for one in (to, values) if isinstance(one, np.ndarray) and one.strides[-1] == one.itemsize]
    if len(both) == 2 and to.dtype == values.dtype and to.dtype in (np.float32, np.float64):
        loops.mirror(to, values)
    else:
        to[...] = values.T


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
