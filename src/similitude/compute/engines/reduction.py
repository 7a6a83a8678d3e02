"""One pass over batches: partial sums added in a fixed order, and saved to a checkpoint on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.compute.engines.checkpoints import Checkpoint, damaged_checkpoint
from similitude.compute.engines.engine import Engine, Task, Tile
from similitude.compute.engines.progress import with_progress
from similitude.support import PairError


@dataclass(frozen=True)
class EncodedBatch:
    """An encoded batch, and its rows in the whole data set."""

    encoding: Encoding
    start: int
    stop: int


@dataclass(frozen=True)
class PartialSums:
    """The sums of a batch, in one or several parts, and its rows in the whole data set."""

    parts: Iterable[Any]
    start: int
    stop: int


def partial_sums(
    task: Task,
    fixed: Encoding,
    strips: Callable[[int], Sequence[Tile]],
    batches: Iterator[EncodedBatch],
    engine: Engine,
) -> Iterator[PartialSums]:
    """Yield the sums of each batch, which the engine computes strip by strip.

    The task returns the sums of the encoded rows of one strip; `fixed` is its second argument, which is never sliced,
    and `strips` returns the tiles for a number of rows.
    """
    engine = engine.without_progress()

    def parts(batch: EncodedBatch) -> Iterator[Any]:
        try:
            yield from engine.run(task, batch.encoding, fixed, strips(batch.stop - batch.start))
        except PairError as error:
            raise error.moved(batch.start, 0) from error.__cause__

    with closing(batches):  # type: ignore[type-var]
        for batch in batches:
            yield PartialSums(parts(batch), batch.start, batch.stop)


def sum_batches(
    batches: Callable[[int], Iterator[PartialSums]],
    n: int,
    engine: Engine,
    read: Callable[[Mapping[str, Any]], Any],
    fingerprints: Callable[[], dict[str, str]],
) -> Any:
    """Return the sum over all batches of n rows, in their order; with a checkpoint, resume from it and update it.

    `batches` returns the sums of the batches from a row on, with the same bounds at every call; the first sum is
    modified in place. Sums have ``+=`` and ``to_arrays``; `read` makes one from the arrays of a checkpoint.
    `fingerprints` returns what identifies the sums (see `Checkpoint`), and is called only if there is a checkpoint.
    """
    checkpoint = None if engine.checkpoint is None else Checkpoint(engine.checkpoint, fingerprints())
    start, resumed = (0, None) if checkpoint is None else _resumed(checkpoint, n, read)
    total: Any = resumed
    with closing(batches(start)) as summed:  # type: ignore[type-var]
        for batch in with_progress(summed, engine.progress, n, _n_rows, start, "rows"):
            for part in batch.parts:
                if resumed is not None:
                    _check_continues(engine.checkpoint, start, resumed, batch.start, part)
                    resumed = None
                if total is None:
                    total = part
                else:
                    total += part
            if checkpoint is not None:
                checkpoint.write_if_due(batch.stop, total.to_arrays())
    return total


def _resumed(checkpoint: Checkpoint, n: int, read: Callable[[Mapping[str, Any]], Any]) -> tuple[int, Any]:
    """Return the number of rows that are done, at most n, and their sums."""
    start, arrays = checkpoint.resume()
    if not arrays:
        return 0, None
    try:
        total = read(arrays)
    except (TypeError, ValueError, AttributeError) as error:
        raise damaged_checkpoint(checkpoint.path) from error
    if start > n:
        raise damaged_checkpoint(checkpoint.path)
    return start, total


def _check_continues(path: Any, start: int, total: Any, next_start: int, part: Any) -> None:
    """Refuse a checkpoint that ends within a batch, or whose sums have other shapes than the next ones."""
    if next_start != start or _shapes(part) != _shapes(total):
        raise damaged_checkpoint(path)


def _shapes(sums: Any) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(array) for name, array in sums.to_arrays().items()}


def _n_rows(batch: PartialSums) -> int:
    return batch.stop - batch.start
