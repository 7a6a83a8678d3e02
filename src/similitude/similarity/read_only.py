"""Objects that a user's function may read but not change, for they are the caller's own.

Arrays are handed over as views that cannot be written to. What cannot be protected without a copy is compared before
and after the calls of a block: of each argument the first 64 lists, dicts, sets, tuples and bytearrays of plain values
and arrays, and of the first 8 other objects what can change. That is the content of the other containers of the
standard library (deque, Counter, OrderedDict, defaultdict, UserList, UserDict) and of arrays of objects; of an object
of another class, its attributes without a leading underscore that hold such values. A changed container is an error,
a changed attribute a warning, because some attributes are meant to change. Not noticed are changes of later objects, of
private attributes and of new ones, which may be caches, and inside of lists and dicts that hold objects of these other
kinds.
"""

from __future__ import annotations

import inspect
import marshal
import warnings
from collections import UserDict, UserList, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_table
from similitude.support import brief, user_stacklevel

QUICK_TYPES = frozenset({list, dict, set, bytearray, tuple})
UNCHANGING_TYPES = frozenset({str, bytes, int, float, bool, complex, frozenset, type(None)})
COMPARED_CONTAINERS = (list, tuple, set, frozenset, bytearray, dict, deque, UserList, UserDict, np.ndarray)


def read_only(value: Any) -> Any:
    """Return an array or a sparse matrix as a view that cannot be written to, a table as a copy, others unchanged."""
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
    for kind in set(map(type, objects)):
        if hasattr(kind, "shape"):
            return [read_only(one) for one in objects]
    return objects


@contextmanager
def unchanged(f: Any, *arguments: Sequence[Any]) -> Iterator[None]:
    """Raise if some objects of the lists of arguments are not what they were at the beginning."""
    before = []
    for objects in arguments:
        if isinstance(objects, np.ndarray) and objects.dtype.kind == "O":
            objects = list(objects[:64])
        if isinstance(objects, list) and not set(map(type, objects[:64])) <= UNCHANGING_TYPES:
            quick = [one for one in objects[:64] if type(one) in QUICK_TYPES]
            others = [one for one in objects[:64] if type(one) not in QUICK_TYPES and not _is_protected(one)]
            before += [(one, _contents(one)) for one in quick + others[:8]]
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError or not _hint(error):
            raise
        raise ValueError(f"{_name(f)}: {error}{_hint(error)}") from error
    for one, contents in before:
        for name, content in contents.items():
            if not name and _content(one) != content:
                raise ValueError(
                    f"{_name(f)} changed an object that it was given, which is now {brief(one)}: objects are the "
                    f"caller's own; let the function work on a copy (copy.deepcopy(x)), and pass the original objects "
                    f"again"
                )
            if name and _content(getattr(one, name, None)) != content:  # which may be meant to count or to remember
                warnings.warn(
                    f"{_name(f)} changed the attribute {name} of an object that it was given ({brief(one)}): if its "
                    f"similarities depend on that, they depend on the order of the calls; let the function work on a "
                    f"copy (copy.deepcopy(x)), or begin the name with an underscore",
                    stacklevel=user_stacklevel(),
                )


def _is_protected(value: Any) -> bool:
    """Tell whether a value cannot change: plain ones, and arrays of numbers, which are read-only."""
    return type(value) in UNCHANGING_TYPES or (isinstance(value, np.ndarray) and value.dtype.kind != "O")


def _contents(value: Any) -> dict[str, bytes]:
    """Return what is compared of an object: all of a container, as "", or the public attributes of another object."""
    parts = {"": value}
    if not isinstance(value, COMPARED_CONTAINERS):
        names = list(getattr(value, "__dict__", ()))
        for cls in type(value).__mro__:
            own = vars(cls).get("__slots__", ())
            names += [own] if isinstance(own, str) else own
        parts = {name: getattr(value, name) for name in names if name[:1] != "_" and hasattr(value, name)}
    found = {name: _content(part) for name, part in parts.items()}
    return {name: content for name, content in found.items() if content is not None}


def is_async(f: Any) -> bool:
    """Whether a function, or the call of an object, must be awaited."""
    return inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(getattr(f, "__call__", None))  # noqa: B004


def with_hint(error: BaseException) -> str:
    """Return the type and message of an error of a user's function, with a hint if it wrote to an argument."""
    return f"{type(error).__name__}: {error}{_hint(error)}"


def _hint(error: BaseException) -> str:
    if isinstance(error, ValueError) and "read-only" in str(error):
        return " (a function may not change its arguments, which are the caller's own: let it work on x.copy())"
    return ""


def _content(value: Any) -> bytes | None:
    """Return a plain value or a container as bytes; None if it holds objects of other classes."""
    is_quick = type(value) in QUICK_TYPES or type(value) in UNCHANGING_TYPES
    try:
        return marshal.dumps(value if is_quick else _plain(value), 2)
    except ValueError:
        return None


def _plain(value: Any, depth: int = 8) -> Any:
    """Return containers of the standard library and arrays of objects as lists down to a depth, others as they are."""
    if depth == 0 or not isinstance(value, COMPARED_CONTAINERS) or _is_protected(value):
        return value
    if isinstance(value, (UserList, UserDict)):
        return _plain(value.data, depth)
    if isinstance(value, dict):
        return [[_plain(key, depth - 1), _plain(one, depth - 1)] for key, one in value.items()]
    if isinstance(value, (set, frozenset, bytearray)):
        return list(value)
    return [_plain(one, depth - 1) for one in value]


def _name(f: Any) -> str:
    return f"the function {getattr(f, '__qualname__', None) or brief(f)}"
