"""Strips of rows: tasks that need whole rows, run strip by strip within the memory budget."""

from __future__ import annotations

from typing import Any

from similitude.compute.blocks import pieces
from similitude.compute.encodings import Encoding, concatenated, count
from similitude.compute.engines import TILE_EDGE, Engine, Tile

STRIP_ROWS = (1024, 4096)
"""Fewest and most rows of a strip: with more columns, more rows make a product of the strip worthwhile."""


def strips(n: int, width: int, itemsize: int, engine: Engine, task: Any) -> list[Tile]:
    """Cut n rows into strips, so that those under way stay within the memory budget."""
    larger = engine.tile_edge // TILE_EDGE
    few, many = (larger * rows for rows in STRIP_ROWS) if task.threadsafe else (128, 128)
    affordable = engine.budget // (8 * engine.workers(task) * max(1, width) * itemsize)
    if affordable == 0:
        raise MemoryError(f"one row of {width:,} similarities does not fit into the memory budget: use fewer landmarks")
    edge = min(max(few, min(width, many)), affordable)
    return [(piece, slice(0, width)) for piece in pieces(n, edge)]


def run_on_strips(task: Any, A: tuple[Encoding, ...], against: Any, engine: Engine, itemsize: int) -> Any:
    """Run a task on strips of rows and return the results as one array, or tensor."""
    tiles = strips(count(A[0]), len(against), itemsize, engine, task)
    return concatenated(list(engine.run(task, A, against, tiles)))
