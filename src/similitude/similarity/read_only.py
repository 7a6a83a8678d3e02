"""Objects that a user's function may read but not change, for they are the caller's own.

Arrays are handed over as views that cannot be written to. Lists, dicts, sets and tuples of plain values and arrays
cannot be protected without a copy: a few of them are compared before and after the calls. Objects of other classes are
neither protected nor compared, because their attributes may change without their meaning, as caches do.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_table
from similitude.support import brief

WATCHED = 64
"""Most objects of one argument that are compared before and after the calls of a block."""

COMPARED_TYPES = (list, dict, set, bytearray, tuple)


def read_only(value: Any) -> Any:
    """Return an array or a sparse matrix as a view that cannot be written to, a table as a copy, others unchanged.

    >>> read_only(np.array([1.0, 2.0]))[0] = 3.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return value
        view = value.view()
        view.flags.writeable = False
        return view
    if is_sparse(value) and getattr(value, "format", "") == "csr":
        return type(value)((read_only(value.data), value.indices, value.indptr), shape=value.shape)
    return value.copy() if is_table(value) and hasattr(value, "iloc") else value


def all_read_only(objects: Any) -> Any:
    """Return a list with each object read-only, anything else read-only itself."""
    if not isinstance(objects, list):
        return read_only(objects)
    holds_arrays = any(hasattr(kind, "shape") for kind in set(map(type, objects)))
    return [read_only(one) for one in objects] if holds_arrays else objects


@contextmanager
def unchanged(f: Any, *arguments: Sequence[Any]) -> Iterator[None]:
    """Raise if some objects of the lists of arguments are not what they were at the beginning."""
    watched = [one for listed in arguments if isinstance(listed, list) for one in listed[:WATCHED]]
    before = [(one, _content(one)) for one in watched if isinstance(one, COMPARED_TYPES)]
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError or not _hint(error):
            raise
        raise ValueError(f"{_name(f)}: {error}{_hint(error)}") from error
    for one, content in before:
        if content is not None and _content(one) != content:
            raise ValueError(
                f"{_name(f)} changed an object that it was given, which is now {brief(one)}: objects are the caller's "
                f"own; let the function work on a copy (copy.deepcopy(x)), and pass the original objects again"
            )


def with_hint(error: BaseException) -> str:
    """Return the type and message of an error of a user's function, with a hint if it wrote to an argument."""
    return f"{type(error).__name__}: {error}{_hint(error)}"


def _hint(error: BaseException) -> str:
    if isinstance(error, ValueError) and "read-only" in str(error):
        return " (a function may not change its arguments, which are the caller's own: let it work on x.copy())"
    return ""


def _content(value: Any) -> bytes | None:
    """Return a list, dict, set or tuple as bytes; None if it holds objects of other classes."""
    try:
        return marshal.dumps(value, 2)
    except ValueError:
        return None


def _name(f: Any) -> str:
    return f"the function {getattr(f, '__qualname__', None) or brief(f)}"
