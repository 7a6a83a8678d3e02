"""The arrays of a model: one entry with their bytes, from which they are read as views in the order of writing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from similitude.persistence.container import ALIGNMENT, ARRAYS, Entry
from similitude.support import SavedModelError


def _aligned(position: int) -> int:
    """Return the first position from here on where an array may start."""
    return -(-position // ALIGNMENT) * ALIGNMENT


class ArrayWriter:
    """Collects the arrays of a model."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._size = 0

    def add(self, array: np.ndarray, path: str) -> dict[str, Any]:
        """Add an array; return the fields of its node."""
        if array.dtype.kind in "US" and not array.dtype.itemsize:
            array = array.astype(f"{array.dtype.kind}1")  # of empty strings, whose items would have no size
        dtype = array.dtype
        is_plain = dtype.names or np.dtype(dtype.str) == dtype
        if dtype.hasobject or not dtype.itemsize or dtype.metadata or not is_plain:
            raise SavedModelError(f"{path} is an array of {dtype}, which cannot be stored: convert it, e.g. to float64")
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self._arrays.append(array.T if is_fortran else array)
        self._size = _aligned(self._size) + array.nbytes
        order = {"order": "F"} if is_fortran else {}
        return {"dtype": np.lib.format.dtype_to_descr(dtype), "shape": list(array.shape), **order}

    def entry(self) -> Entry:
        """Return the entry with all arrays."""
        return Entry(ARRAYS, self._size, self._pieces())

    def _pieces(self) -> Iterator[Any]:
        at = 0
        for array in self._arrays:
            yield bytes(_aligned(at) - at)
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            at = _aligned(at) + array.nbytes


class ArrayReader:
    """Returns the arrays of a file one after the other, without copying."""

    def __init__(self, entry: memoryview) -> None:
        self._entry = entry
        self._at = 0

    def take(self, node: Any) -> np.ndarray:
        """Return the next array, with the dtype and shape of its node."""
        try:
            dtype = np.lib.format.descr_to_dtype(_as_descr(node["dtype"]))
            shape, order = node["shape"], node.get("order", "C")
            fits = all(type(size) is int and 0 <= size < 2**62 for size in shape) and len(shape) <= 32
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise SavedModelError(f"an array has no valid dtype and shape: {error}") from error
        if not fits or order not in ("C", "F") or dtype.hasobject or not dtype.itemsize:
            raise SavedModelError("an array has an impossible dtype or shape")
        start = _aligned(self._at)
        stop = start + math.prod(shape) * dtype.itemsize
        if stop > len(self._entry):
            raise SavedModelError(f"an array of shape {tuple(shape)} is larger than what the file contains")
        self._at = stop
        flat = np.frombuffer(self._entry[start:stop], dtype) if stop > start else np.empty(0, dtype)
        return flat.reshape(shape, order=order)

    def check_used_up(self) -> None:
        """Refuse a file with more arrays than its model uses."""
        if self._at != len(self._entry):
            raise SavedModelError("the file contains more arrays than its model uses: similitude did not write it")


def _as_descr(read: Any) -> Any:
    """Turn the lists of JSON into the tuples that describe structured dtypes."""
    if not isinstance(read, list):
        return read
    return [tuple(_as_descr(part) if i == 1 else _shaped(part) for i, part in enumerate(field)) for field in read]


def _shaped(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part
