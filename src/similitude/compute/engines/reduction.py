"""One pass over batches: partial sums added in a fixed order, and saved to a checkpoint on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from similitude.compute.encodings import Encoding
from similitude.compute.engines.checkpoints import Checkpoint
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
    start = 0
    total: Any = None
    if checkpoint is not None:
        start, arrays = checkpoint.resume()
        total = read(arrays) if arrays else None
    with closing(batches(start)) as summed:  # type: ignore[type-var]
        for batch in with_progress(summed, engine.progress, n, _n_rows, start, "rows"):
            for part in batch.parts:
                if total is None:
                    total = part
                else:
                    total += part
            if checkpoint is not None:
                checkpoint.write_if_due(batch.stop, total.to_arrays())
    return total


def _n_rows(batch: PartialSums) -> int:
    return batch.stop - batch.start
