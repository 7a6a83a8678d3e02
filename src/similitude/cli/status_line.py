"""The last line of a terminal while a command works: what it does, for how many seconds, and how far it is."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, TextIO

from similitude.support import printable

REDRAW_SECONDS = 0.3
"""Seconds until the line is shown, since what is done by then needs none, and between two updates."""

CLEAR = "\r\033[K"


class StatusLine:
    """Show what is being done in the last line of a terminal, in the place of `sys.stderr`.

    A progress line of an engine (a text that begins with a carriage return) becomes the end of this line, and other
    text appears above it. Nothing is locked, so that a process that is forked meanwhile may write as well.
    """

    def __init__(self, stream: TextIO, what: str) -> None:
        self.stream = stream
        self.what = what
        self.detail = self.phase = ""
        self._start = time.monotonic()
        self._drawn = False
        self._may_draw = True
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._draw_again, daemon=True)

    def __enter__(self) -> StatusLine:
        sys.stderr = self
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        sys.stderr = self.stream
        self._clear()

    def say(self, what: str) -> None:
        """Change what is being done."""
        self.what = what
        self.phase = ""

    def begin(self, phase: str) -> None:
        """Show which phase of it begins."""
        self.phase = phase

    def write(self, text: str) -> int:
        """Write text above the line; a text that begins with a carriage return is the progress of an engine."""
        if text.startswith("\r"):
            self.detail = text.replace("\033[K", "").strip().removeprefix("similitude:").strip()
            return len(text)
        self._clear()
        self._may_draw = text.endswith("\n")
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def text(self, seconds: float) -> str:
        """Return the line after some seconds."""
        text = f"similitude: {self.what}, {int(seconds)} s"
        if self.phase:
            text += f": {self.phase}"
        if self.detail:
            text += f" ({self.detail})"
        return printable(text)

    def _draw_again(self) -> None:
        while not self._end.wait(REDRAW_SECONDS):
            if self._may_draw:
                text = self.text(time.monotonic() - self._start)
                self._drawn = True
                self.stream.write(f"{CLEAR}{text[: _width(self.stream) - 1]}")
                self.stream.flush()

    def _clear(self) -> None:
        if self._drawn:
            self._drawn = False
            self.stream.write(CLEAR)
            self.stream.flush()


def _width(stream: TextIO) -> int:
    """Return the number of characters in a line of the terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
