"""One line on the terminal that says how far a long computation is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

T = TypeVar("T")


class Line:
    """A line that is written over and over, where the stream is a terminal; cleared at the end."""

    def __init__(self, stream: TextIO | None) -> None:
        self.out = sys.stderr if stream is None else stream
        self.start = self.shown = time.monotonic()

    def show(self, said: Callable[[float], str], last: bool = False) -> None:
        """Write what is said of the seconds passed, ten times a second at most."""
        now = time.monotonic()
        if now - self.shown > 0.1 or last:
            self.out.write(f"\rsimilitude: {said(now - self.start)} \033[K")
            self.out.flush()
            self.shown = now

    def clear(self) -> None:
        """Leave the terminal as it was."""
        self.out.write("\r\033[K")
        self.out.flush()


def with_progress(results: Iterator[Any], total: int, stream: TextIO | None = None) -> Iterator[Any]:
    """Pass results on, and write the share done and the time left when the stream is a terminal."""
    line = Line(stream)
    if not line.out.isatty():
        yield from results
        return

    def said(seconds: float) -> str:
        return f"{done / total:4.0%} of {total} tiles, {seconds / done * (total - done):.0f} s left"

    try:
        for done, result in enumerate(results, start=1):
            line.show(said, done == total)
            yield result
    finally:
        line.clear()


def with_rows(
    batches: Iterator[T], rows: Callable[[T], int], first: int, total: int | None, stream: TextIO | None = None
) -> Iterator[T]:
    """Pass batches on, and write the rows done, how many there are a second, and the time left.

    Parameters
    ----------
    batches : iterator
        A batch is done when the next one is asked for.
    rows : callable
        Gives the number of rows of a batch.
    first : int
        Rows that were done before.
    total : int or None
        All rows, where known.
    stream : file, optional
        Default: standard error.
    """
    line, done = Line(stream), 0
    if not line.out.isatty():
        yield from batches
        return

    def said(seconds: float) -> str:
        rate = max(done, 1) / max(seconds, 1e-9)
        if total is None:
            return f"{first + done:,} rows, {rate:,.0f} a second"
        left = (total - first - done) / rate
        return f"{(first + done) / total:4.0%} of {total:,} rows, {rate:,.0f} a second, {left:.0f} s left"

    try:
        for batch in batches:
            yield batch
            done += rows(batch)
            line.show(said, first + done == total)
    finally:
        line.clear()
