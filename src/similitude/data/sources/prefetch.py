"""Prefetching: one batch is read in a thread while the previous one is used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_END = object()

JOIN_TIMEOUT = 0.5
"""Seconds that a reader who stops early waits for the reading thread."""


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, the next one being read in a thread, which ends when this iterator is closed.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(maxsize=1)
    stopped = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            try:
                return ready.put((item, error), timeout=0.1)
            except queue.Full:
                continue

    def read() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_END)
        except BaseException as error:  # raised again in the thread of the caller
            put(_END, error)
        finally:
            if hasattr(items, "close"):
                items.close()

    thread = threading.Thread(target=read, name="similitude-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        thread.join(JOIN_TIMEOUT)
