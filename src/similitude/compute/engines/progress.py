"""A progress line on the terminal: the share done, rows per second, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

T = TypeVar("T")

REFRESH = 0.1
"""Seconds between two updates of the line."""


def with_progress(
    items: Iterator[T],
    total: int | None,
    size: Callable[[Any], int] = lambda item: 1,
    done: int = 0,
    unit: str = "tiles",
    stream: TextIO | None = None,
) -> Iterator[T]:
    """Yield the items and show the progress while the stream is a terminal; the line is cleared at the end.

    An item counts as done, with its ``size(item)``, when the next one is requested; `total` is the size of all, if
    known, and `done` what was done before. The speed is shown if the `unit` is rows.
    """
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield from items
        return
    before, start = done, time.monotonic()
    shown = start
    try:
        for item in items:
            yield item
            done += size(item)
            now = time.monotonic()
            if now - shown > REFRESH or done == total:
                rate = (done - before) / max(now - start, 1e-9)
                out.write(f"\rsimilitude: {_message(done, total, unit, rate)} \033[K")
                out.flush()
                shown = now
    finally:
        out.write("\r\033[K")
        out.flush()


def _message(done: int, total: int | None, unit: str, rate: float) -> str:
    speed = f", {rate:,.0f} a second" if unit == "rows" else ""
    if total is None:
        return f"{done:,} {unit}{speed}"
    return f"{done / total:4.0%} of {total:,} {unit}{speed}, {(total - done) / max(rate, 1e-9):.0f} s left"
