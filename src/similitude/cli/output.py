"""Results on standard output, for people or as JSON; notes and progress on standard error."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from similitude.cli.errors import UsageError
from similitude.support import for_people, plain

if TYPE_CHECKING:
    from similitude.compute.engines import LocalEngine
    from similitude.support import Estimate

IN_ASCII = str.maketrans({"…": "...", "²": "^2", "≥": ">=", "≤": "<=", "±": "+-"})
"""Signs of the library's own sentences for streams that take no other letters than ASCII."""

MIN_WIDTH = 72
"""On narrower terminals, the cells of a table are written one below the other."""


@dataclass
class Output:
    """Options of the output, and the output: results, and notes on what was inferred, left out or chosen."""

    json: bool = False
    notes: list[str] = field(default_factory=list, init=False)

    def note(self, *sentences: str) -> None:
        """Write notes to standard error, each once."""
        for sentence in map(in_options, sentences):
            if sentence not in self.notes:
                self.notes.append(sentence)
                Terminal(sys.stderr).say(f"note: {sentence}", "dim")

    def result(self, document: dict[str, Any], show: Callable[[Terminal], None]) -> None:
        """Write the result: the document as JSON, or what `show` prints."""
        if self.json:
            print(
                json.dumps(plain({**document, "notes": self.notes}, finite=True), indent=2, allow_nan=False), flush=True
            )
        else:
            show(Terminal(sys.stdout))
            sys.stdout.flush()

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show on a terminal what is being done, and for how long; yield a function that changes the text."""
        if not is_animated(sys.stderr):
            yield lambda what: None
            return
        from similitude.cli.status_line import StatusLine
        from similitude.similarity import phases_reported_to

        with StatusLine(sys.stderr, what) as line, phases_reported_to(line.begin):
            yield line.say


@dataclass
class Computation(Output):
    """Options of the output and the engine."""

    engine: str = ""

    def __post_init__(self) -> None:
        self._engine = engine_of(self.engine, is_animated(sys.stderr))  # an error is reported before any work

    @contextmanager
    def computing(self, what: str) -> Iterator[Callable[[str], None]]:
        """Use the engine, show what is being done as `working` does, and write the library's warnings as notes."""
        from similitude.compute.engines import use_engine

        with use_engine(self._engine), warnings.catch_warnings(record=True) as caught, self.working(what) as say:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield say
        self.note(*(str(one.message).removeprefix("choose_kernel: ") for one in caught))


def engine_of(settings: str, progress: bool = False) -> LocalEngine:
    """Return the engine with settings such as ``threads=2,memory=4GiB,processes=4``."""
    from similitude.compute.engines import LocalEngine

    types: dict[str, Callable[[str], Any]] = {"threads": int, "processes": int, "memory": str, "checkpoint": str}
    found: dict[str, Any] = {}
    for part in filter(None, map(str.strip, settings.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in types or not value:
            known = "threads=NUMBER, processes=NUMBER, memory=SIZE, checkpoint=FILE"
            raise UsageError(f"--engine: {part!r} is none of {known}")
        try:
            found[name] = types[name](value)
        except ValueError:
            raise UsageError(f"--engine: {name} must be an integer, got {value!r}") from None
    try:
        return LocalEngine(**found, progress=progress)
    except ValueError as error:
        raise UsageError(f"--engine: {error}") from None


class Terminal(Console):
    """A console that writes control characters only to terminals, and never those in the data."""

    def __init__(self, stream: TextIO) -> None:
        bare = not is_animated(stream)
        super().__init__(
            file=stream,
            highlight=False,
            markup=False,
            emoji=False,
            color_system=None if bare or "NO_COLOR" in os.environ else "auto",
            force_terminal=False if bare else None,
        )

    def shown(self, text: object) -> str:
        """Return text without control characters, with short numbers, in ASCII if the stream has no other letters."""
        shown = for_people(text)
        if not self.is_unicode:
            shown = shown.translate(IN_ASCII)
        return shown

    @property
    def is_unicode(self) -> bool:
        """Whether the stream takes any letters."""
        return str(self.encoding).lower().replace("-", "").startswith("utf")

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the caller."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def say(self, text: object, style: str | None = None) -> None:
        """Print text, wrapped at words to the width of a terminal; elsewhere lines are kept whole."""
        shown = self.shown(text)
        if self.is_terminal:
            shown = "\n".join([_wrapped(line, self.width) for line in shown.split("\n")])
        self.print(shown, style=style, soft_wrap=True)

    def drawing(self, text: str) -> None:
        """Print lines that belong below each other, as they are."""
        self.print(self.shown(text), soft_wrap=True)

    def sentence(self, text: object, style: str | None = None) -> None:
        """Print text, wrapped at the width of the terminal, or of 80 letters elsewhere."""
        self.print(self.shown(text), style=style)

    def facts(self, facts: Iterable[tuple[str, object]]) -> None:
        """Print names and values side by side."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in facts:
            grid.add_row(name, self.shown(value))
        self.print(grid)

    def table(self, columns: Mapping[str, str], rows: Sequence[Sequence[str]], style_first: str | None = None) -> None:
        """Print a table; each column is aligned "left" or "right", or is to "fold" over several lines."""
        if self.is_terminal and self.width < MIN_WIDTH:
            for cells in rows:
                named = [f"{title}: {cell}" for title, cell in zip(columns, cells, strict=True) if cell]
                self.say("- " + "\n  ".join(named).removeprefix(": "))
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title, how in columns.items():
            fold = how == "fold"
            table.add_column(title, justify="right" if how == "right" else "left", no_wrap=not fold, overflow="fold")
        for i, cells in enumerate(rows):
            table.add_row(*map(self.shown, cells), style=style_first if i == 0 else None)
        width = self.width
        self.width = max(width, MIN_WIDTH)
        self.print(table)
        self.width = width


def _wrapped(line: str, width: int) -> str:
    """Return a line wrapped at words, as far indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def is_animated(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that understands control characters."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


ARGUMENTS = "label|object|kind|separator|decimal|encoding|missing|unlabeled|keep|ignore|sheet|image-size"
"""Arguments of `read` that are options."""


def in_options(sentence: str) -> str:
    """Replace the parameters of Python in a sentence about reading files by command-line options."""
    sentence = re.sub(r"\bcolor=True\b", "--color", sentence)
    sentence = sentence.replace("image_size=", "image-size=")
    sentence = re.sub(rf"\b({ARGUMENTS})=(?=')", r"--\1 ", sentence)
    return re.sub(rf"\b({ARGUMENTS})=(?=[\s,:;.)]|$)", r"--\1", sentence)


def with_interval(estimate: Estimate, share: bool = False) -> str:
    """Return an estimate with its interval, in per cent if it is a share."""
    figures = (estimate.value, estimate.low, estimate.high)
    value, low, high = (f"{100 * one:.1f} %" if share else f"{one:.3g}" for one in figures)
    return f"{value} ({100 * estimate.level:g} % interval: {low} to {high})"
