"""Results on standard output, for a person or as JSON; notes and progress on standard error."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from similitude.support.results import Estimate

NARROWEST = 72
"""Letters that a line of a table may have, however narrow the terminal."""


class Output:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        One JSON document on standard output instead of text; the notes go into it too.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        """Say on standard error what was inferred, left out or chosen."""
        sentence = in_options(sentence)
        self.notes.append(sentence)
        console(sys.stderr).print(f"note: {printable(sentence)}", style="dim", soft_wrap=True)

    def result(self, document: dict[str, Any], show: Callable[[Console], None]) -> None:
        """Write the result: the document as JSON, or what `show` prints."""
        if self.as_json:
            text = json.dumps(plain({**document, "notes": self.notes}), indent=2, allow_nan=False)
            print(text, flush=True)
        else:
            show(console(sys.stdout))
            sys.stdout.flush()

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """While it lasts, show on a terminal's standard error what is being done; yield what changes the text."""
        with console(sys.stderr).status(printable(what)) as status:
            yield lambda text: status.update(printable(text))

    def note_each(self, sentences: Iterable[str]) -> None:
        """Say several sentences, each once."""
        for sentence in dict.fromkeys(sentences):
            self.note(sentence)


@contextmanager
def warnings_caught() -> Iterator[list[str]]:
    """Yield a list that holds, in the end, what the library warned of meanwhile."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield sentences
    sentences += [str(one.message) for one in caught]


def console(stream: TextIO) -> Console:
    """Return a console that writes no colors and no control characters where they are not wanted."""
    from rich.console import Console

    class Plain(Console):
        """A console that leaves a closed pipe to the caller."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    bare = not animated(stream)
    return Plain(
        file=stream,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if bare or "NO_COLOR" in os.environ else "auto",
        force_terminal=False if bare else None,
    )


def animated(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that understands control characters."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def in_options(sentence: str) -> str:
    """Return a sentence about reading files with options in place of the parameters of Python.

    >>> in_options("as vectors; kind='series' takes them as series"), in_options("choose it with object=, one of")
    ("as vectors; --kind 'series' takes them as series", 'choose it with --object, one of')
    """
    sentence = re.sub(r"\b(label|object|kind)=(?=')", r"--\1 ", sentence)
    return re.sub(r"\b(label|object|kind)=(?=[\s,:;.)]|$)", r"--\1", sentence)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    r"""Return text without characters that command a terminal; tabs and line ends stay.

    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's as Python's, what is not finite as null, the rest as text.

    >>> plain({"a": float("nan"), 2: (1.5, {"b"})})
    {'a': None, '2': [1.5, ['b']]}
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [plain(item) for item in sorted(value, key=str)]
    return str(value)


def percent(estimate: Estimate) -> str:
    """Write an estimated share for a person.

    >>> from similitude.support.results import Estimate
    >>> percent(Estimate(0.1523, 0.1486, 0.16, 0.95, "ESTIMATE"))
    '15.2 % (95 % interval: 14.9 % to 16.0 %)'
    """
    value, low, high = (f"{100 * share:.1f} %" for share in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({100 * estimate.level:g} % interval: {low} to {high})"


def around(estimate: Estimate) -> str:
    """Write a figure with its interval for a person.

    >>> from similitude.support.results import Estimate
    >>> around(Estimate(0.75801, 0.68661, 0.8293, 0.95, "ESTIMATE"))
    '0.758 (95 % interval: 0.687 to 0.829)'
    """
    return f"{estimate.value:.3g} ({100 * estimate.level:g} % interval: {estimate.low:.3g} to {estimate.high:.3g})"


def show_table(console: Console, table: Table) -> None:
    """Print a table; past the edge where the terminal is so narrow that cells would be cut off."""
    width = console.width
    console.width = max(width, NARROWEST)
    console.print(table)
    console.width = width


def show_facts(console: Console, facts: Iterable[tuple[str, object]]) -> None:
    """Print names and what there is to say of each, side by side."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, printable(value))
    console.print(grid)
