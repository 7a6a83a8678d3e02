"""Gram and cross matrices, and tasks on whole rows, computed tile by tile within a memory budget."""

from __future__ import annotations

import inspect
import itertools
import math
import shutil
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import loops
from similitude.compute.encodings import (
    FLOATS,
    Encoding,
    as_numpy,
    concatenated,
    count,
    first_nonfinite,
    namespace,
    rows,
    tensor_in,
)
from similitude.compute.encodings import itemsize as itemsize_of
from similitude.compute.engines import TILE_EDGE, Engine, Tile, current_engine, format_bytes
from similitude.support import PairError, brief, check_place, complete_file, pairs_at

WIDE_TILE = (2048, 4096)
"""Most rows and columns of a tile that is written in place and not mirrored: the loops then fill long pieces of rows,
and matrix products of many rows rearrange the columns less often."""

PYTHON_TILE_EDGE = 128
"""The largest edge of a tile of a user's Python function: progress is shown and Ctrl-C is handled between tiles."""

ALIGNED = 96
"""Rows and columns of tiles begin at multiples of this, so that BLAS adds up each product in the same order."""


class BlockTask:
    """The task that an engine runs on each tile: ``block`` of any object with ``hints``, and checks of the values."""

    def __init__(self, similarity: Any) -> None:
        hints = similarity.hints
        self.similarity = similarity
        self.finite = hints.finite
        self.heavy = hints.heavy
        self.on_tensors = hints.on_tensors
        self.threadsafe = hints.threadsafe
        self.fills = hints.threadsafe and _takes_out(type(similarity).block)  # values into ``out=``

    def __call__(self, a: Encoding, b: Encoding, out: Any = None) -> Any:
        """Return the block of finite real numbers, in `out` if that is given; an error names the pair."""
        values = self.similarity.block(a, b) if out is None else self.similarity.block(a, b, out=out)
        if self.finite:
            return values
        return finite_block(values, a, b, self.similarity)

    def joined(self, parts: list[Any]) -> Any:
        """Return the block of all rows, given the blocks of consecutive rows."""
        return concatenated(parts)


def filled(task: BlockTask, A: Encoding, B: Encoding, out: np.ndarray) -> np.ndarray:
    """Return the array `out` with the values of a block, which are written there at once if the similarity can."""
    if task.fills:
        task(A, B, out)
    else:
        out[...] = as_numpy(task(A, B))
    return out


class ProductTask:
    """The task of a tile of a matrix times vectors, whose rows are the last part of each encoding."""

    def __init__(self, task: BlockTask, transposed: bool, half: bool) -> None:
        self.task = task
        self.transposed = transposed
        self.half = half
        self.threadsafe = task.threadsafe

    def __call__(self, a: tuple[Any, ...], b: tuple[Any, ...], out: Any = None) -> tuple[Any, Any]:
        """Return the products of the tile and of the transposed tile; None for one that is not needed."""
        tile = as_numpy(self.task(a[0], b[0]))
        both = self.half and a is not b  # of a symmetric matrix, a tile beside the diagonal stands for two
        return (
            tile @ b[-1] if both or not self.transposed else None,
            tile.T @ a[-1] if both or self.transposed else None,
        )


@lru_cache(maxsize=256)
def _takes_out(block: Callable[..., Any]) -> bool:
    return "out" in inspect.signature(block).parameters


def finite_block(values: Any, a: Encoding, b: Encoding, similarity: Any) -> Any:
    """Validate the block of two encodings, finite real numbers, and return it; an error names the pair."""
    shape = (count(a), count(b))
    if tuple(getattr(values, "shape", ())) != shape:
        raise ValueError(f"{similarity!r} gave a block of shape {getattr(values, 'shape', None)}, expected {shape}")
    if getattr(values.dtype, "kind", "f") not in "fiub" or "complex" in str(values.dtype):
        raise TypeError(f"{similarity!r} gave values of type {values.dtype}, expected real numbers")
    bad = first_nonfinite(values)
    if bad is not None:
        i, j = bad
        raise PairError(i, j, f"{similarity!r} is {float(values[i, j])}, not a finite number")
    return values


class Blocks:
    """The matrix K(a_i, b_j) of two encodings, or of one with itself, computed tile by tile.

    Of a `symmetric` Gram matrix only the tiles on and above the diagonal are computed. An error names a row and a
    column by the `positions` of A and of B in a larger data set, if given. `itemsize` is the number of bytes of a value
    to plan with; with `whole_rows` each tile has all columns of its rows, as feature maps need it.
    """

    def __init__(
        self,
        similarity: Any,
        A: Encoding,
        B: Encoding = None,
        symmetric: bool = False,
        engine: Engine | None = None,
        itemsize: int | None = None,
        whole_rows: bool = False,
        positions: tuple[Any, Any] = (None, None),
    ) -> None:
        self.task = BlockTask(similarity)
        self.A = A
        self.B = A if B is None else B
        self.engine = engine or current_engine()
        self.itemsize = itemsize or itemsize_of(A)
        self.whole_rows = whole_rows
        self.shape = (count(self.A), count(self.B))
        self.half = symmetric and self.B is self.A
        self.positions = positions

    def whole(self, out: Any = None) -> Any:
        """Return the whole matrix.

        Parameters
        ----------
        out : array or path, optional
            Where to store it: an array of the right shape, or the path of a new ``.npy`` file, which is then
            memory-mapped and may exceed the memory budget. The file appears only when it is complete.
        """
        if isinstance(out, (str, Path)):
            return self._into_file(Path(out))
        if out is None:
            check_fits(*self.shape, self.itemsize, self.engine)
        elif tuple(getattr(out, "shape", ())) != self.shape:
            raise ValueError(f"out must be an array of shape {self.shape} or a path, got {brief(out)}")
        tiles = self._tiling(self.whole_rows)
        try:
            if out is None and len(tiles) == 1 and self.task.fills and not self.whole_rows:
                return next(iter(self.engine.run(self.task, self.A, self.B, tiles)))  # the tile is the matrix
            matrix = _Matrix(self, out)
            for _ in self.engine.run(self.task, self.A, self.B, tiles, matrix):
                pass
        except PairError as error:
            raise error.at(*self.positions) from error.__cause__
        return matrix.values

    def _into_file(self, path: Path) -> np.memmap[Any, Any]:
        if path.exists():
            raise FileExistsError(f"{path} exists already: choose another path or remove it first")
        place = check_place(path)
        needed = self.shape[0] * self.shape[1] * self.itemsize
        free = shutil.disk_usage(place.parent).free
        if needed > free:
            raise ValueError(
                f"{place}: the matrix of shape {self.shape} takes {format_bytes(needed)}, and {format_bytes(free)} are "
                f"free there"
            )
        dtype = as_numpy(self.corner()).dtype
        with complete_file(path) as file:
            out = np.lib.format.open_memmap(file.name, mode="w+", dtype=dtype, shape=self.shape)
            self.whole(out)
            out.flush()
        return np.lib.format.open_memmap(path, mode="r+")

    def corner(self) -> Any:
        """Return the first value, or the first row where rows are computed whole, which shows the type of all."""
        columns = self.B if self.whole_rows else rows(self.B, slice(0, 1))
        return self.task.similarity.block(rows(self.A, slice(0, 1)), columns)

    def rows(self) -> Iterator[tuple[slice, Any]]:
        """Yield strips of whole rows from the top, each with its slice of row numbers."""
        with closing(self._run(self.task, self.A, self.B, strips=True)) as tiles:
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
        operator = self.engine.operator(self.task.similarity, self.A, self.B)
        if operator is not None:
            return operator.product(v, transposed)
        total = np.zeros((rows_out, *v.shape[1:]))
        A: Any = (self.A, v)
        B = A
        if self.B is not self.A:
            A, B = ((self.A, v), (self.B,)) if transposed else ((self.A,), (self.B, v))
        task = ProductTask(self.task, transposed, self.half)
        with closing(self._run(task, A, B, self.whole_rows)) as products:
            for (down, right), (product, transposed_product) in products:
                if product is not None:
                    total[down] += product
                if transposed_product is not None:
                    total[right] += transposed_product
        return total

    def tiles(self) -> Generator[tuple[Tile, Any], None, None]:
        """Yield each tile with its values; of a symmetric Gram matrix only those on and above the diagonal."""
        return self._run(self.task, self.A, self.B, self.whole_rows)

    def _run(self, task: Any, A: Encoding, B: Encoding, strips: bool) -> Generator[tuple[Tile, Any], None, None]:
        """Yield tiles with their results; closing the generator stops the engine."""
        tiles = self._tiling(strips)
        with pairs_at(*self.positions):
            yield from zip(tiles, self.engine.run(task, A, B, tiles), strict=True)

    def _tiling(self, strips: bool) -> list[Tile]:
        """Return the tiles that the matrix is cut into, or strips of whole rows, as large as the budget allows."""
        n, m = self.shape
        budget = self.engine.budget
        workers = self.engine.workers(self.task)
        # tiles that one worker may hold in memory: two results in flight, and intermediate arrays
        cells = budget // (5 * workers * self.itemsize)
        usual = self.engine.tile_edge if self.task.threadsafe else PYTHON_TILE_EDGE
        largest = min(usual, max(1, math.isqrt(cells)))
        down = right = largest
        if not self.task.threadsafe or (workers > 1 and self.task.heavy):
            parts = 2 * (workers if self.task.threadsafe else math.sqrt(workers))
            # values are expensive: workers share tiles, which have at least 16 rows and columns
            down = min(largest, max(16, math.ceil(n / parts)))
            right = min(largest, max(16, math.ceil(m / parts)))
        if strips:
            if cells < m:
                raise MemoryError(
                    f"one row of {m:,} values does not fit into the memory budget of {format_bytes(budget)}: "
                    f"give the engine more memory"
                )
            return list(itertools.product(pieces(n, min(cells // m, down)), [slice(0, m)]))
        if self.half:
            return list(itertools.combinations_with_replacement(pieces(n, down), 2))
        fits = math.prod(WIDE_TILE) <= cells and usual == TILE_EDGE < m
        if fits and self.task.fills and not self.task.heavy:
            down = min(WIDE_TILE[0], max(down, math.ceil(n / (2 * workers))))
            right = WIDE_TILE[1]
            if n <= down:  # one strip: as many tiles for each worker
                right = _shared(m, right, workers)
            else:
                down = _shared(n, down, workers)
        return list(itertools.product(pieces(n, down), pieces(m, right)))


def _shared(size: int, edge: int, workers: int) -> int:
    """Return an edge of at most `edge` with which each worker gets as many pieces."""
    even = math.ceil(size / (workers * math.ceil(size / (workers * edge))))
    return min(edge, math.ceil(even / ALIGNED) * ALIGNED)


class _Matrix:
    """The output of `Blocks.whole`: the user's array, or one that is allocated when the type of the values is known."""

    def __init__(self, blocks: Blocks, values: Any) -> None:
        self.blocks = blocks
        self.values = values
        self.lock = threading.Lock()
        self.in_place = False
        if blocks.task.fills and tensor_in(blocks.A) is None and tensor_in(blocks.B) is None:
            corner = blocks.corner()
            if isinstance(corner, np.ndarray):
                self._allocate(corner)
                same = self.values.dtype == corner.dtype
                self.in_place = same and self.values.strides[-1] == self.values.itemsize

    def _allocate(self, like: Any) -> None:
        with self.lock:
            if self.values is None:
                if like.dtype.itemsize > self.blocks.itemsize:  # more than was planned with
                    check_fits(*self.blocks.shape, like.dtype.itemsize, self.blocks.engine)
                if isinstance(like, np.ndarray):
                    self.values = np.empty(self.blocks.shape, like.dtype)
                else:
                    self.values = namespace(like).empty(self.blocks.shape, dtype=like.dtype, device=like.device)

    def view(self, tile: Tile) -> Any:
        """Return the part of the array that the similarity may write a tile into, or None."""
        return self.values[tile] if self.in_place else None

    def put(self, tile: Tile, values: Any) -> None:
        """Store a tile, unless it was written in place, and mirror it."""
        self._allocate(values)
        if isinstance(self.values, np.ndarray):
            values = as_numpy(values)
            if not np.can_cast(values.dtype, self.values.dtype, "same_kind"):
                raise TypeError(f"out holds {self.values.dtype}, the values are {values.dtype}: they would be cut off")
        down, right = tile
        if not (isinstance(values, np.ndarray) and np.may_share_memory(values, self.values)):
            self.values[tile] = values
        if self.blocks.half and down != right:
            to = self.values[right, down]
            dense = [one for one in (to, values) if isinstance(one, np.ndarray) and one.strides[-1] == one.itemsize]
            if len(dense) == 2 and to.dtype == values.dtype and to.dtype in FLOATS:
                loops.mirror(to, values)
            else:
                to[...] = values.T


def check_fits(n: int, m: int, itemsize: int, engine: Engine) -> None:
    """Refuse a matrix that exceeds the memory budget, before anything is computed."""
    if n * m * itemsize > engine.budget:
        raise MemoryError(
            f"a matrix of {n:,} x {m:,} values takes {format_bytes(n * m * itemsize)}, the memory budget is "
            f"{format_bytes(engine.budget)}: use fewer objects, write it to a file with out='matrix.npy', or raise "
            f"the budget with use_engine(LocalEngine(memory='{math.ceil(n * m * itemsize / 2**30)}GiB'))"
        )


def pieces(size: int, edge: int) -> list[slice]:
    """Return slices of nearly equal lengths, at most `edge`, that begin at multiples of `ALIGNED` if it is as large."""
    unit = ALIGNED if edge >= ALIGNED else 1
    number = max(1, math.ceil(size / (edge // unit * unit)))
    step = max(1, math.ceil(size / (number * unit))) * unit
    starts = range(0, size, step)
    return list(map(slice, starts, [*starts[1:], size]))


# Tasks that need whole rows.


def strips(n: int, width: int, itemsize: int, engine: Engine, task: Any) -> list[Tile]:
    """Cut n rows into strips, so that those under way stay within the memory budget."""
    edge = PYTHON_TILE_EDGE
    if task.threadsafe:  # with more columns, more rows make a product of the strip worthwhile
        larger = engine.tile_edge // TILE_EDGE
        edge = max(larger * 2048, min(width, larger * 4096))
    affordable = engine.budget // (8 * engine.workers(task) * max(1, width) * itemsize)
    if affordable == 0:
        raise MemoryError(f"one row of {width:,} similarities does not fit into the memory budget: use fewer landmarks")
    return list(itertools.product(pieces(n, min(edge, affordable)), [slice(0, width)]))


def run_on_strips(task: Any, A: tuple[Encoding, ...], against: Any, engine: Engine, itemsize: int) -> Any:
    """Run a task on strips of rows and return the results as one array, or tensor."""
    tiles = strips(count(A[0]), len(against), itemsize, engine, task)
    return concatenated(list(engine.run(task, A, against, tiles)))
