"""One line on the terminal that says how far a long computation is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO


def with_progress(results: Iterator[Any], total: int, stream: TextIO | None = None) -> Iterator[Any]:
    """Pass results on, and write the share done and the time left when the stream is a terminal."""
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield from results
        return
    start = shown = time.monotonic()
    try:
        for done, result in enumerate(results, start=1):
            now = time.monotonic()
            if now - shown > 0.1 or done == total:
                left = (now - start) / done * (total - done)
                out.write(f"\rsimilitude: {done / total:4.0%} of {total} tiles, {left:.0f} s left \033[K")
                out.flush()
                shown = now
            yield result
    finally:
        out.write("\r\033[K")
        out.flush()
