"""Contract 2: the engine interface, the computation of one tile that all engines share, and memory sizes."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
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

    def put(self, tile: Tile, result: Any) -> None:
        """Store a result, which is the view itself if the task wrote into it."""


class Task(Protocol):
    """The computation of one tile: picklable, holding no data.

    A task that a GPU can run also has ``on_tensors = True`` and ``joined(parts)``, which joins the results of
    consecutive rows.
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
    """Return the encoded rows and columns of one tile; the same object twice on the diagonal of a Gram matrix."""
    down, right = tile
    a = rows(A, down)
    return a, (a if A is B and down == right else rows(B, right))


def compute_tile(task: Task, A: Encoding, B: Encoding, tile: Tile, target: Target | None = None) -> Any:
    """Run the task on one tile; errors name their pair by its position in the whole matrix."""
    down, right = tile
    a = rows(A, down)
    b = a if A is B and down == right else rows(B, right)
    out = None if target is None else target.view(tile)
    try:
        result = task(a, b) if out is None else task(a, b, out)
    except PairError as error:
        raise error.moved(down.start, right.start) from error.__cause__
    if target is None:
        return result
    target.put(tile, result)
    return None


def compute_piece(task: Callable[..., Any], a: Encoding, b: Encoding, tile: Tile) -> Any:
    """Run the task where only the rows and columns of one tile are; errors are those of `compute_tile`."""
    try:
        return task(a, b)
    except PairError as error:
        raise error.moved(tile[0].start, tile[1].start) from error.__cause__


def deliver(result: Any, tile: Tile, target: Target | None) -> Any:
    """Return a result, or store it in the target and return None."""
    if target is None:
        return result
    target.put(tile, result)
    return None


_UNITS = {
    "": 1,
    **{letter: 1000**i for i, letter in enumerate("KMGT", 1)},
    **{f"{letter}I": 1024**i for i, letter in enumerate("KMGT", 1)},
}


@lru_cache(maxsize=64)
def parse_bytes(size: float | str) -> int:
    """Return a memory size in bytes.

    >>> parse_bytes("2GiB"), parse_bytes("1.5 MB"), parse_bytes(4096)
    (2147483648, 1500000, 4096)
    """
    if isinstance(size, float):
        size = int(size)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", str(size).upper())
    number = float(match[1]) * _UNITS.get(match[2], 0) if match and match[1].count(".") <= 1 else 0
    if number < 1:
        raise ValueError(f"a memory size is a number of bytes or a text such as '2GiB', got {brief(size)}")
    return int(number)


def format_bytes(size: float) -> str:
    """Return a memory size as a person reads it.

    >>> format_bytes(3 * 2**30), format_bytes(512)
    ('3.0 GiB', '512 bytes')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
