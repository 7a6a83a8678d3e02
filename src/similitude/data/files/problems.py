"""What can be wrong with a file, and how it is said."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from similitude.support.errors import FileError, brief


@contextmanager
def about(name: str) -> Iterator[None]:
    """Put the name of the file before what went wrong in it."""
    try:
        yield
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileError(f"{name}: the gzip data is cut off or damaged: copy or download the file again") from None
    except MemoryError:
        raise FileError(f"{name}: reading it needs more memory than there is: take a sample of its rows") from None
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror or error}") from None


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Write names in one line: the first few, and how many there are.

    >>> listed(["a", "b"]), listed("abcdefghijkl", most=3)
    ("'a', 'b'", "'a', 'b', 'c', … (12)")
    """
    names = list(names)
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, … ({len(names)})"


def near(name: str, names: Iterable[str]) -> str:
    """Return a question that names what may have been meant, or nothing.

    >>> near("labels", ["label", "x"])
    " (did you mean 'label'?)"
    """
    known = {one.lower(): one for one in names}
    close = get_close_matches(name.lower(), known, n=2)
    return f" (did you mean {' or '.join(repr(known[one]) for one in close)}?)" if close else ""


def unknown_column(name: str, names: Iterable[str], what: str = "column") -> FileError:
    """Say that there is no such column, and which there are."""
    names = list(names)
    hint = other_separator(names)
    return FileError(f"there is no {what} {name!r}{near(name, names)}: it has {listed(names)}{hint}")


def other_separator(names: Sequence[str]) -> str:
    """Return a hint where the one column of a header looks like several, or nothing.

    >>> other_separator(["age;job"])
    ': these look like several columns, but a CSV file is separated by commas, a TSV file by tabs'
    """
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        return ": these look like several columns, but a CSV file is separated by commas, a TSV file by tabs"
    return ""


def wrong_cell(name: str, row: int, value: Any, wanted: str) -> FileError:
    """Say which cell is not what it should be."""
    return FileError(f"column {name!r} is {brief(value)} in row {row}: {wanted}")


def needed(module: str, what: str) -> Any:
    """Import an optional package, or say in one line how to install it."""
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError:
        raise FileError(f"{what} needs {package}: pip install 'similitude[cli]' (or pip install {package})") from None
