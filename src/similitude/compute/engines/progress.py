"""Progress of a computation: a line on the terminal, a bar in a notebook, or calls of a user's function."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from similitude.support import brief, card, escaped, progress_bar

T = TypeVar("T")

ProgressFunction = Callable[[int, "int | None", str], Any]
"""``f(done, total, text)``: how much is done, of how much (None if that is unknown), and both in words."""

REFRESH = 0.1
"""Seconds between two updates."""

UNSEEN = 0.5
"""Seconds of a computation before a notebook shows a bar: what is shorter shows none."""


def check_progress(progress: Any) -> None:
    """Validate how progress is shown."""
    if not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress must be True, False or a function f(done, total, text), got {brief(progress)}")


def with_progress(
    items: Iterator[T],
    progress: bool | ProgressFunction,
    total: int | None,
    size: Callable[[Any], int] = lambda item: 1,
    done: int = 0,
    unit: str = "tiles",
) -> Iterator[T]:
    """Return an iterator that shows the progress: an item counts, with its size, when the next one is requested."""
    display = display_for(progress)
    return items if display is None else _shown(items, display, total, size, done, unit)


def _shown(
    items: Iterator[T], display: Display, total: int | None, size: Callable[[Any], int], done: int, unit: str
) -> Iterator[T]:
    before = done
    start = time.monotonic()
    try:
        for item in items:
            yield item
            done += size(item)
            rate = (done - before) / max(time.monotonic() - start, 1e-9)
            display.update(done, total, partial(_message, done, total, unit, rate))
    finally:
        display.end()
        if isinstance(items, Generator):  # also after an error in a user's function: no further tile is started
            items.close()


def _message(done: int, total: int | None, unit: str, rate: float) -> str:
    speed = f", {rate:,.0f} a second" if unit == "rows" else ""
    if total is None:
        return f"{done:,} {unit}{speed}"
    return f"{done / total:4.0%} of {total:,} {unit}{speed}, {(total - done) / max(rate, 1e-9):.0f} s left"


class Display:
    """Where progress is shown: by the thread that began, and not more often than every `REFRESH` seconds."""

    def __init__(self, show: Callable[[int, int | None, str], Any], end: Callable[[], Any] = lambda: None) -> None:
        self._show = show
        self.end = end  # removes what is shown
        self._last = time.monotonic()
        self._thread = threading.get_ident()

    def update(self, done: int, total: int | None, text: Callable[[], str]) -> None:
        """Show how much is done, if an update is due; the last one always is."""
        now = time.monotonic()
        if threading.get_ident() == self._thread and (now - self._last > REFRESH or done == total):
            self._last = now
            self._show(done, total, text())


class _NotebookBar:
    """A bar in the output of a notebook's cell, which changes in place and is gone at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._handle: Any = None

    def show(self, done: int, total: int | None, text: str) -> None:
        if time.monotonic() - self._began < UNSEEN:
            return
        html = card(escaped(text.strip()), progress_bar(done, total))
        bundle = {"text/plain": f"similitude: {text}", "text/html": html}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def end(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def display_for(progress: bool | ProgressFunction) -> Display | None:
    """Return where progress is shown: by a function, on a terminal, in a notebook; None if nowhere."""
    if callable(progress):
        return Display(lambda done, total, text: progress(done, total, text.strip()))
    if progress and sys.stderr.isatty():
        write = partial(print, end="", flush=True, file=sys.stderr)
        return Display(lambda done, total, text: write(f"\rsimilitude: {text} \033[K"), partial(write, "\r\033[K"))
    shell = sys.modules.get("IPython")
    if progress and shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        bar = _NotebookBar()
        return Display(bar.show, bar.end)
    return None
