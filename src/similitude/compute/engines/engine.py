"""Contract 2: the engine interface, the computation of one tile that all engines share, and memory sizes."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from similitude.compute.encodings import Encoding, rows
from similitude.compute.engines.progress import ProgressFunction
from similitude.support import PairError, brief

Tile = tuple[slice, slice]
"""The rows and the columns of one tile of a matrix; both slices have integer start and stop."""

TILE_EDGE = 1024
"""Rows and columns of a tile on a CPU: large enough for BLAS, small enough for the cache."""


class Target(Protocol):
    """An output array that workers fill tile by tile; tiles never overlap."""

    def view(self, tile: Tile) -> Any:
        """Return the part of the output that the task may write into, or None if it must return its result."""

    def put(self, tile: Tile, result: Any) -> Any:
        """Store a result, which is the view itself if the task wrote into it."""


class Task(Protocol):
    """The computation of one tile: picklable, holding no data.

    A task that a GPU can run has ``on_tensors = True``, and ``joined(parts)`` for the results of consecutive rows.
    """

    @property
    def threadsafe(self) -> bool:
        """Whether several threads may call it at once and gain from it."""

    def __call__(self, a: Encoding, b: Encoding, out: Any = None) -> Any:
        """Compute the tile of the encoded rows `a` and the encoded columns `b`, into `out` if it is given."""


class Engine(ABC):
    """Where tiles of a matrix and passes over rows are computed.

    A subclass writes `run` and `workers`; the other methods have defaults that suit a CPU. An engine is configuration:
    it pickles, and copies share it.

    Attributes
    ----------
    memory : int or str
        Memory budget for results and for tiles in flight, in bytes or as a text such as ``"2GiB"``.
    progress : bool or callable
        Whether to show progress, or the function that does.
    checkpoint : path or None
        The file in which a pass over many rows saves its partial sums.
    """

    memory: int | str
    progress: bool | ProgressFunction = False
    checkpoint: Any = None
    tile_edge = TILE_EDGE
    products_from: int | None = None  # landmarks from which ridge regression is fitted by products, with an operator

    @abstractmethod
    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield ``task(rows of A, rows of B)`` for each tile, in order, at most 2 x workers tiles ahead of the reader.

        On a diagonal tile of a Gram matrix (`A` is `B`) the task gets the same object twice. With a `target`, each
        result goes there and None is yielded in its place: workers that share memory with the caller write into it
        directly, others leave that to the caller.
        """

    @abstractmethod
    def workers(self, task: Task) -> int:
        """Return the number of tiles of this task that are computed at once."""

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        return parse_bytes(self.memory)

    def without_progress(self) -> Engine:
        """Return the same engine without a progress line, for the parts of a computation that shows its own."""
        return replace(self, progress=False) if self.progress else self  # type: ignore[type-var]

    def operator(self, similarity: Any, A: Encoding, B: Encoding) -> Any:
        """Return K(A, B) as a linear operator that is never stored, or None if tiles are the best way to multiply."""
        return None

    def to_device(self, encoding: Encoding, reserve: int = 0) -> Encoding:
        """Return an encoding on the device of this engine, so that results computed from it stay there.

        It is returned unchanged if the device cannot hold it, or has no `reserve` further bytes free beside it.
        """
        return encoding

    def linear_algebra(self, what: str) -> AbstractContextManager[None]:
        """Return a context in which matrix products have the precision of this engine.

        Running out of device memory in it raises a MemoryError that names `what`.
        """
        return nullcontext()

    def fallback_note(self, similarity: Any) -> str | None:
        """Explain that a similarity is not computed on the device of this engine; None if it is."""
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        return self


def check_checkpoint(path: Any) -> None:
    """Validate the path of a checkpoint."""
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"checkpoint must be the path of a file or None, got {brief(path)}")


def tile_inputs(A: Encoding, B: Encoding, tile: Tile) -> tuple[Encoding, Encoding]:
    """Return the encoded rows and columns of one tile; None for columns that are the rows of a Gram matrix."""
    down, right = tile
    if A is B and down == right:
        return rows(A, down), None
    return rows(A, down), rows(B, right)


def compute_tile(task: Task, A: Encoding, B: Encoding, tile: Tile, target: Target | None = None) -> Any:
    """Run the task on one tile; an error names its pair by the position in the whole matrix."""
    down, right = tile
    a = rows(A, down)
    b = a if A is B and down == right else rows(B, right)
    out = None if target is None else target.view(tile)
    try:
        result = task(a, b) if out is None else task(a, b, out)
    except PairError as error:
        raise error.moved(down.start, right.start) from error.__cause__
    return result if target is None else target.put(tile, result)


def compute_piece(task: Callable[..., Any], inputs: tuple[Encoding, Encoding | None], tile: Tile) -> Any:
    """Run the task where only the inputs of one tile are, see `tile_inputs`; errors are those of `compute_tile`."""
    a, b = inputs
    try:
        return task(a, a if b is None else b)
    except PairError as error:
        raise error.moved(tile[0].start, tile[1].start) from error.__cause__


def delivered(results: Iterable[Any], tiles: Sequence[Tile], target: Target | None) -> Iterator[Any]:
    """Yield the results of tiles; with a target store each there, and yield None."""
    for tile, result in zip(tiles, results, strict=True):
        if target is None:
            yield result
        else:
            yield target.put(tile, result)


@lru_cache(maxsize=64)
def parse_bytes(size: float | str) -> int:
    """Return a memory size in bytes."""
    if isinstance(size, float):
        size = int(size)
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([KMGT]?)(I?)B?\s*", str(size).upper())
    number = 0.0
    if match and (match[2] or not match[3]):
        number = float(match[1]) * {"": 1000, "I": 1024}[match[3]] ** " KMGT".index(match[2] or " ")
    if number < 1:
        raise ValueError(f"a memory size is a number of bytes or a text such as '2GiB', got {brief(size)}")
    return int(number)


def format_bytes(size: float) -> str:
    """Return a memory size as a person reads it."""
    if size < 1024:
        return f"{size:.0f} bytes"
    power = min(4, int(math.log2(size)) // 10)
    return f"{size / 1024**power:.1f} {'KMGT'[power - 1]}iB"
