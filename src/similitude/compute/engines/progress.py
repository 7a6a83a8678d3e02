"""Progress of a computation: a line on the terminal, a bar in a notebook, or calls of a user's function."""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, TextIO, TypeVar

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
    """Return an iterator over the items that shows the progress, where there is somebody to show it to.

    An item counts as done, with its ``size(item)``, when the next one is requested; `total` is the size of all, if
    known, and `done` what was done before. The speed is shown if the `unit` is rows.
    """
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
        close = getattr(items, "close", None)
        if close is not None:  # also after an error in a user's function: no further tile is started
            close()


def _message(done: int, total: int | None, unit: str, rate: float) -> str:
    speed = f", {rate:,.0f} a second" if unit == "rows" else ""
    if total is None:
        return f"{done:,} {unit}{speed}"
    return f"{done / total:4.0%} of {total:,} {unit}{speed}, {(total - done) / max(rate, 1e-9):.0f} s left"


class Display(ABC):
    """Where progress is shown: by the thread that began, and not more often than every `REFRESH` seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._thread = threading.get_ident()

    def update(self, done: int, total: int | None, text: Callable[[], str]) -> None:
        """Show how much is done, if an update is due; the last one always is."""
        now = time.monotonic()
        if threading.get_ident() == self._thread and (now - self._last > REFRESH or done == total):
            self._last = now
            self.show(done, total, text())

    @abstractmethod
    def show(self, done: int, total: int | None, text: str) -> None:
        """Show how much is done."""

    def end(self) -> None:
        """Remove what is shown."""
        return


class _FunctionCalls(Display):
    """Calls of a user's function."""

    def __init__(self, function: ProgressFunction) -> None:
        super().__init__()
        self._function = function

    def show(self, done: int, total: int | None, text: str) -> None:
        self._function(done, total, text.strip())


class _TerminalLine(Display):
    """A line on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def show(self, done: int, total: int | None, text: str) -> None:
        self._write(f"\rsimilitude: {text} \033[K")

    def end(self) -> None:
        self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class _NotebookBar(Display):
    """A bar in the output of a notebook's cell, which changes in place and is gone at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._last
        self._handle: Any = None

    def show(self, done: int, total: int | None, text: str) -> None:
        if time.monotonic() - self._began < UNSEEN:
            return
        bar = progress_bar(done, total)
        self._put({"text/plain": f"similitude: {text}", "text/html": card(escaped(text.strip()), bar)})

    def end(self) -> None:
        if self._handle is not None:
            self._put({"text/plain": "", "text/html": ""})

    def _put(self, bundle: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = import_module("IPython.display").display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def display_for(progress: bool | ProgressFunction) -> Display | None:
    """Return where progress is shown: by a function, on a terminal, in a notebook; None if nowhere."""
    if callable(progress):
        return _FunctionCalls(progress)
    if not progress:
        return None
    if sys.stderr.isatty():
        return _TerminalLine(sys.stderr)
    return _NotebookBar() if in_notebook() else None


def in_notebook() -> bool:
    """Tell whether the output of this process goes to the cells of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
