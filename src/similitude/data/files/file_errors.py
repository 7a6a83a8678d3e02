"""Error messages about files: their context, lists of names, and suggestions."""

from __future__ import annotations

import gzip
import importlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from similitude.support import FileError, brief


@contextmanager
def errors_in_file(name: str) -> Iterator[None]:
    """Prefix the message of an error with the name of the file."""
    try:
        yield
    except FileError as error:
        raise type(error)(f"{name}: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileError(f"{name}: the gzip data is truncated or damaged: copy or download the file again") from None
    except MemoryError:
        raise FileError(f"{name}: there is too little memory to read it: take a sample of its rows") from None
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror or error}") from None


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Return the first few names in one line, and their number if there are more.

    >>> listed(["a", "b"]), listed("abcdefghijkl", most=3)
    ("'a', 'b'", "'a', 'b', 'c', … (12)")
    """
    names = list(names)
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, … ({len(names)})"


def listed_columns(names: Iterable[Any]) -> str:
    """Return the first few names of columns in one line."""
    names = list(names)
    return f"column{'s' * (len(names) != 1)} {listed(names)}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with similar names, or nothing."""
    known = {one.lower(): one for one in names}
    close = get_close_matches(name.lower(), known, n=2)
    return f" (did you mean {' or '.join(repr(known[one]) for one in close)}?)" if close else ""


def unknown_column(name: str, names: Iterable[str], what: str = "column") -> FileError:
    """Return the error that there is no such column, with those that there are."""
    known = list(names)
    hints = did_you_mean(name, known), header_hint(known)
    return FileError(f"there is no {what} {name!r}{hints[0]}: it has {listed(known)}{hints[1]}")


def separator_hint(names: Sequence[str]) -> str:
    """Return a hint if the only column of a header looks like several, or nothing."""
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        return ": these look like several columns: separator= says what separates them"
    return ""


def are_values(header: Sequence[str]) -> bool:
    """Tell whether the names in a header look like the values of a row."""
    if not any(map(str.isdigit, "".join(header))):
        return False
    if not all(re.fullmatch("-?[0-9]+", name) for name in header):
        return any(re.fullmatch(r"\s*[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*", name) for name in header)
    numbers = list(map(int, header))
    return len(numbers) > 1 and numbers != sorted(set(numbers))


def header_hint(names: Sequence[str]) -> str:
    """Return a hint if a header is no header, or looks like several columns in one, or nothing."""
    if are_values(names):
        return ". These look like values: is the header missing?"
    if sum(name.startswith("Unnamed: ") for name in names) * 2 > len(names):
        return ". Most have no name: if the header is further down, remove the rows above it"
    if len(names) == 1 and any(mark in names[0] for mark in ": "):
        return ": if these are several columns, separator= says what separates them"
    return separator_hint(names)


def column_names(header: Sequence[str]) -> list[str]:
    """Return the names in a header without blanks around, with one for those that have none; raise if two are equal."""
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(header)]
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        first, second, *_ = (place for place, name in enumerate(names, 1) if name == twice)
        advice = "Is the header missing?" if are_values(header) else "Rename one"
        raise FileError(f"two columns are named {twice!r}: columns {first} and {second}. {advice}")
    return names


def wrong_cell(name: str, row: int, value: Any, problem: str) -> FileError:
    """Return the error that a cell has a wrong value."""
    return FileError(f"column {name!r} is {brief(value)} in row {row}: {problem}")


def import_optional(module: str, what: str, extra: str = "cli") -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0].replace("PIL", "pillow")
        how = f"pip install 'similitude[{extra}]' (or pip install {package})"
        raise FileError(f"{what} needs {package}: {how}") from None
