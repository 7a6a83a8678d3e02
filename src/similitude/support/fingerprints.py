"""Digests of any value that are the same in every process, and equal for equal values."""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import weakref
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from types import CodeType
from typing import Any


def digest(value: Any, size: int = 8) -> bytes:
    """Return a digest, equal for equal values; a function enters by its code, its defaults and its closure."""
    spelled = hashlib.blake2b(digest_size=size)
    for piece in _spell(value):
        spelled.update(_framed(piece))
    return spelled.digest()


def _framed(piece: bytes) -> bytes:
    """Return a piece after its length, so that no other sequence of pieces gives the same bytes."""
    return len(piece).to_bytes(8, "little") + piece


def _spell(value: Any, seen: tuple[int, ...] = ()) -> Iterator[bytes]:
    """Yield a value in pieces; a container starts with its number of items, so that ((1,), 2) is not ((1, 2),)."""
    import numpy as np

    if isinstance(value, (Real, Decimal, np.bool_)):
        yield _spell_number(value)
        return
    yield b"set" if isinstance(value, frozenset) else type(value).__qualname__.encode()
    if id(value) in seen:
        return
    inner = functools.partial(_spell, seen=(*seen, id(value)))
    if isinstance(value, (set, frozenset)):
        yield str(len(value)).encode()
        yield from sorted(b"".join(map(_framed, inner(item))) for item in value)
    elif hasattr(value, "shape") and hasattr(value, "dtype") and (hasattr(value, "tocsr") or np.ndim(value)):
        yield from _spell_array(value)
    elif value is None or isinstance(value, (str, bytes, type)):
        yield repr(value).encode()
    elif isinstance(value, weakref.ReferenceType):
        return  # its target is not part of it
    else:
        parts = list(_ingredients(value))
        yield str(len(parts)).encode()
        for part in parts:
            yield from inner(part)


def _spell_number(value: Any) -> bytes:
    """Return equal bytes for equal numbers of any type: as a float where one holds the number, else as a fraction."""
    if isinstance(value, Integral):
        value = int(value)  # NumPy would compare it as a float
    try:
        number = float(value)
    except OverflowError:
        number = float("nan")
    if number == value:
        return repr(number + 0.0).encode()
    if isinstance(value, (Rational, Decimal)) and value == value:
        exact = Fraction(value)
        return f"{exact.numerator:x}/{exact.denominator:x}".encode()
    return repr(value).encode()


def _spell_array(value: Any) -> Iterator[bytes]:
    import numpy as np

    csr = value.tocsr() if hasattr(value, "tocsr") else None
    for array in (np.asarray(value),) if csr is None else (csr.data, csr.indices, csr.indptr):
        yield f"{array.dtype} {tuple(value.shape)}".encode()
        yield pickle.dumps(array.tolist(), protocol=4) if array.dtype == object else array.tobytes()


def _ingredients(value: Any) -> Iterator[Any]:
    """Yield the parts of a container, a function or an object."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        yield value.get_params(deep=False)
    elif isinstance(value, dict):
        for key in sorted(value, key=digest):
            yield from (key, value[key])
    elif isinstance(value, (list, tuple)):
        yield from value
    elif isinstance(value, CodeType):
        yield from (value.co_code, value.co_consts, value.co_names, value.co_varnames)
    elif inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        yield from (value.__code__, value.__defaults__, value.__kwdefaults__, cells)
    elif inspect.ismethod(value):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif getattr(value, "__dict__", None) and not inspect.isbuiltin(value) and not inspect.ismodule(value):
        yield vars(value)
    elif hasattr(value, "__qualname__"):
        yield f"{getattr(value, '__module__', '')}.{value.__qualname__}"
    else:
        yield pickle.dumps(value, protocol=4)
