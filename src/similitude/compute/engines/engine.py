"""The engine contract, and the one step that every engine takes: compute one tile."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

from similitude.compute.encodings import Encoding, rows
from similitude.support.errors import PairError

Tile = tuple[slice, slice]
"""Which rows and which columns of the matrix; both slices have integer start and stop."""


TILE_EDGE = 1024
"""Rows and columns of a tile: large enough for BLAS, small enough for the cache."""


class Target(Protocol):
    """Where results go, where they are not read one after another; tiles never overlap."""

    def view(self, tile: Tile) -> Any:
        """Return the place of a tile, for the task to write into; None where it cannot."""

    def put(self, tile: Tile, result: Any) -> None:
        """Take a result, which is the view itself where the task wrote into it."""


class Task(Protocol):
    """What is done with one tile: picklable, holding no data."""

    @property
    def threadsafe(self) -> bool:
        """Whether several threads may call it at once and gain from it."""

    def __call__(self, a: Encoding, b: Encoding, out: Any = None) -> Any:
        """Compute the tile of the encoded queries `a` and the encoded objects `b`, into `out` where it is given."""


class Engine(ABC):
    """Where tiles are computed.

    Attributes
    ----------
    memory : int or str
        Budget for results and tiles in flight, in bytes or as text such as ``"2GiB"``.
    progress : bool
        Whether it says how far it is.
    checkpoint : path or None
        Where a pass over many rows writes what it has added up so far.
    has_products : bool
        Whether it has `product`, for similarities that it can compute.
    """

    memory: int | str
    progress: bool = False
    checkpoint: Any = None
    has_products: ClassVar[bool] = False

    @abstractmethod
    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield ``task(rows of A, rows of B)`` for each tile, in order, at most 2 x workers ahead of the reader.

        Where `A` is `B` and a tile lies on the diagonal, the task gets the same object twice. With a `target`, each
        result goes there and None is yielded in its place: workers that share memory with the caller write side by
        side, others leave it to the caller.
        """

    @abstractmethod
    def workers(self, task: Task) -> int:
        """Return how many tiles of this task are computed at once."""

    def times(self, similarity: Any, A: Encoding, B: Encoding, v: Any, transposed: bool = False) -> Any:
        """Return K(A, B) v, or K(A, B)' v, without storing K; None where tiles are the best there is."""
        return None

    def product(self, similarity: Any, A: Encoding, B: Encoding) -> Any:
        """Return K(A, B) as an operator with products, without storing it; None if tiles are the best there is."""
        return None

    def note(self, similarity: Any) -> str | None:
        """Say where a similarity is computed, if not where this engine is asked for."""
        return None

    def here(self, encoding: Encoding, room: int = 0) -> Encoding:
        """Return an encoding where this engine computes, so that what is computed from it stays there.

        Tensors on its device, where that can hold them and has room for so many bytes more; else as it is.
        """
        return encoding

    def algebra(self, what: str) -> AbstractContextManager[None]:
        """While it lasts, products have the precision asked for; what does not fit is refused by its name."""
        return nullcontext()

    @property
    def edge(self) -> int:
        """Rows and columns of a tile."""
        return TILE_EDGE

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        return parse_bytes(self.memory)

    def quiet(self) -> Engine:
        """Return the same engine without progress of its own, for the parts of something that shows its progress."""
        return self


def cut(A: Encoding, B: Encoding, tile: Tile) -> tuple[Encoding, Encoding]:
    """Return the encoded rows and columns of one tile; the same object twice on the diagonal of a Gram."""
    down, right = tile
    a = rows(A, down)
    return a, (a if A is B and down == right else rows(B, right))


def compute(task: Task, a: Encoding, b: Encoding, tile: Tile, target: Target | None = None) -> Any:
    """Run the task on one cut tile; an error names its pair by the place in the whole matrix."""
    out = None if target is None else target.view(tile)
    try:
        result = task(a, b) if out is None else task(a, b, out)
    except PairError as error:
        raise error.moved(tile[0].start, tile[1].start) from error.__cause__
    return deliver(result, tile, target)


def deliver(result: Any, tile: Tile, target: Target | None) -> Any:
    """Return a result, or give it to the target and return None."""
    if target is None:
        return result
    target.put(tile, result)
    return None


_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def parse_bytes(size: float | str) -> int:
    """Read a size in bytes.

    >>> parse_bytes("2GiB"), parse_bytes("1.5 MB"), parse_bytes(4096)
    (2147483648, 1500000, 4096)
    """
    if isinstance(size, float):
        size = int(size)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", str(size).upper())
    number = float(match[1]) * _UNITS.get(match[2], 0) if match and match[1].count(".") <= 1 else 0
    if number < 1:
        raise ValueError(f"a memory size is a number of bytes or text such as '2GiB', got {size!r}")
    return int(number)


def format_bytes(size: float) -> str:
    """Write a size in bytes for a person.

    >>> format_bytes(3 * 2**30), format_bytes(512)
    ('3.0 GiB', '512 bytes')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
