"""One pass over batches of encoded objects: what a task makes of each strip is added up, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from similitude.compute.encodings import Encoding
from similitude.compute.engines.checkpoints import Checkpoint
from similitude.compute.engines.engine import Engine, Task, Tile
from similitude.compute.engines.progress import with_rows
from similitude.support.errors import PairError


class Sums(Protocol):
    """What can be added up, and written as arrays."""

    def __iadd__(self, other: Any) -> Any:
        """Add."""

    def to_arrays(self) -> Mapping[str, Any]:
        """Return everything it holds."""


@dataclass(frozen=True)
class Encoded:
    """A batch that is ready for a task: its encoding and its rows in the whole."""

    encoding: Encoding
    start: int
    stop: int


@dataclass(frozen=True)
class Pass:
    """One pass over batches.

    Parameters
    ----------
    task : Task
        Makes sums of the encoded rows of a strip.
    against : encoding
        The second argument of the task, which is never cut.
    strips : callable
        Cuts a number of rows into tiles.
    batches : callable
        Gives the batches from a row on, in the same order and with the same bounds at every call.
    n : int
        How many rows there are.
    """

    task: Task
    against: Encoding
    strips: Callable[[int], Sequence[Tile]]
    batches: Callable[[int], Iterator[Encoded]]
    n: int

    def run(self, engine: Engine, read: Callable[[Mapping[str, Any]], Any], marks: Callable[[], dict[str, str]]) -> Any:
        """Return the sum over all strips; with a checkpoint, go on from there and keep it up to date.

        Parameters
        ----------
        engine : Engine
        read : callable
            Makes sums of the arrays of a checkpoint.
        marks : callable
            Says what the sums belong to, where a checkpoint needs to know.
        """
        return folded(lambda start: self._summed(engine.quiet(), start), self.n, engine, read, marks)

    def _summed(self, engine: Engine, start: int) -> Iterator[Summed]:
        with closing(self.batches(start)) as batches:  # type: ignore[type-var]
            for batch in batches:
                yield Summed(self._parts(engine, batch), batch.start, batch.stop)

    def _parts(self, engine: Engine, batch: Encoded) -> Iterator[Any]:
        try:
            yield from engine.run(self.task, batch.encoding, self.against, self.strips(batch.stop - batch.start))
        except PairError as error:
            raise error.moved(batch.start, 0) from error.__cause__


@dataclass(frozen=True)
class Summed:
    """The sums that a batch is made into, and its rows in the whole."""

    parts: Iterable[Any]
    start: int
    stop: int


def folded(
    batches: Callable[[int], Iterator[Summed]],
    n: int,
    engine: Engine,
    read: Callable[[Mapping[str, Any]], Any],
    marks: Callable[[], dict[str, str]],
) -> Any:
    """Return the sum over all batches, in their order; with a checkpoint, go on from there and keep it up to date.

    Parameters
    ----------
    batches : callable
        Gives the sums of batches from a row on; the first of them is added to, and must be nobody else's.
    n : int
        How many rows there are.
    engine, read, marks
        As for `Pass.run`.
    """
    checkpoint = None if engine.checkpoint is None else Checkpoint(engine.checkpoint, marks())
    start, total = _begun(checkpoint, read)
    with closing(batches(start)) as summed:  # type: ignore[type-var]
        shown = with_rows(summed, lambda one: one.stop - one.start, start, n) if engine.progress else summed
        for batch in shown:
            for part in batch.parts:
                if total is None:
                    total = part
                else:
                    total += part
            if checkpoint is not None:
                checkpoint.keep(batch.stop, total.to_arrays())
    return total


def _begun(checkpoint: Checkpoint | None, read: Callable[[Mapping[str, Any]], Any]) -> tuple[int, Any]:
    """Return the row to begin with, and the sums of the rows before."""
    if checkpoint is None:
        return 0, None
    found = checkpoint.read()
    if found is None:
        checkpoint.start(0, {})
        return 0, None
    rows, arrays = found
    return rows, read(arrays) if arrays else None


def forget_checkpoint(engine: Engine) -> None:
    """Remove the file of an engine's checkpoint: what it was kept for is done."""
    if engine.checkpoint is not None:
        Path(engine.checkpoint).unlink(missing_ok=True)
