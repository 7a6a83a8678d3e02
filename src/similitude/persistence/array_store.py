"""The arrays of a model: one ``.npy`` entry per dtype, read back as views in the order of writing."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from similitude.persistence.container import Entry
from similitude.support.errors import SavedModelError

ALIGNMENT = 16
"""Every array starts at a multiple of this number of bytes, as NumPy's own do."""

Spec = dict[str, Any]


def _header(dtype: np.dtype, count: int) -> bytes:
    """Return the header of a ``.npy`` file of one-dimensional data."""
    written = io.BytesIO()
    fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(written, fields)
    return written.getvalue()


def _padded(count: int, dtype: np.dtype) -> int:
    """Return the first position from `count` on, in items, where an array may start."""
    step = ALIGNMENT // math.gcd(ALIGNMENT, dtype.itemsize)
    return -(-count // step) * step


class ArrayWriter:
    """Collects arrays for a file, those of one dtype in one pool."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[np.ndarray]] = {}
        self._dtypes: list[np.dtype] = []
        self._counts: list[int] = []

    def add(self, array: np.ndarray, path: str) -> Spec:
        """Add an array; return the node fields by which it is found again."""
        if array.dtype.kind in "US" and not array.dtype.itemsize:
            array = array.astype(f"{array.dtype.kind}1")  # of empty strings, whose items would have no size
        dtype = array.dtype
        is_plain = dtype.names or np.dtype(dtype.str) == dtype
        if dtype.hasobject or not dtype.itemsize or dtype.metadata or not is_plain:
            raise SavedModelError(f"{path} is an array of {dtype}, which cannot be stored: convert it, e.g. to float64")
        descr = np.lib.format.dtype_to_descr(dtype)
        key = repr(descr)
        if key not in self._arrays:
            self._arrays[key] = []
            self._dtypes.append(dtype)
            self._counts.append(0)
        pool = list(self._arrays).index(key)
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self._arrays[key].append(array.T if fortran else array)
        self._counts[pool] = _padded(self._counts[pool], dtype) + array.size
        return {"pool": pool, "shape": list(array.shape), **({"order": "F"} if fortran else {})}

    def described(self) -> list[Spec]:
        """Return the dtype and the number of items of every pool."""
        descrs = map(np.lib.format.dtype_to_descr, self._dtypes)
        return [{"dtype": d, "count": n} for d, n in zip(descrs, self._counts, strict=True)]

    def entries(self) -> Iterator[Entry]:
        """Yield one entry per pool."""
        for pool, arrays in enumerate(self._arrays.values()):
            dtype, count = self._dtypes[pool], self._counts[pool]
            size = len(_header(dtype, count)) + count * dtype.itemsize
            yield Entry(f"arrays/{pool}.npy", size, self._pieces(pool, arrays))

    def _pieces(self, pool: int, arrays: list[np.ndarray]) -> Iterator[Any]:
        dtype, at = self._dtypes[pool], 0
        yield _header(dtype, self._counts[pool])
        for array in arrays:
            start = _padded(at, dtype)
            yield bytes((start - at) * dtype.itemsize)
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            at = start + array.size


class ArrayReader:
    """Returns the arrays of a file one after the other, without copying."""

    def __init__(self, described: Any, entries: dict[str, memoryview]) -> None:
        names = [name for name in entries if name.startswith("arrays/")]
        if not isinstance(described, list) or names != [f"arrays/{pool}.npy" for pool in range(len(described))]:
            raise SavedModelError("the arrays in the file are not those that its model describes")
        pairs = zip(described, names, strict=True)
        self._pools = [_pool(one, entries[name], name) for one, name in pairs]
        self._at = [0] * len(names)

    def take(self, spec: Any) -> np.ndarray:
        """Return the next array of a pool."""
        try:
            pool, shape, order = spec["pool"], spec["shape"], spec.get("order", "C")
            sizes_fit = all(type(size) is int and 0 <= size < 2**62 for size in shape) and len(shape) <= 32
            known = type(pool) is int and 0 <= pool < len(self._pools) and order in ("C", "F")
        except (TypeError, KeyError, AttributeError) as error:
            raise SavedModelError("an array has no shape, or is in none of the pools") from error
        if not known or not sizes_fit:
            raise SavedModelError("an array has an impossible shape, or is in none of the pools")
        flat = self._pools[pool]
        start = _padded(self._at[pool], flat.dtype)
        stop = start + math.prod(shape)
        if stop > len(flat):
            raise SavedModelError(f"an array of shape {tuple(shape)} is larger than what the file contains")
        self._at[pool] = stop
        return flat[start:stop].reshape(shape, order=order)

    def check_used_up(self) -> None:
        """Refuse a file with more arrays than its model uses."""
        if any(at != len(flat) for at, flat in zip(self._at, self._pools, strict=True)):
            raise SavedModelError("the file holds more arrays than its model uses: similitude did not write it")


def _pool(described: Any, entry: memoryview, name: str) -> np.ndarray:
    """Return an entry as a flat array; its header must be exactly the one that would be written for it."""
    try:
        dtype, count = np.lib.format.descr_to_dtype(_as_descr(described["dtype"])), described["count"]
        header = _header(dtype, count)
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise SavedModelError(f"{name}: there are no such arrays ({error})") from error
    fits = type(count) is int and len(header) + count * dtype.itemsize == len(entry)
    if dtype.hasobject or not dtype.itemsize or not fits or bytes(entry[: len(header)]) != header:
        raise SavedModelError(f"{name} does not contain the array that model.json describes")
    return np.frombuffer(entry, dtype, count, len(header)) if count else np.empty(0, dtype)


def _as_descr(read: Any) -> Any:
    """Turn the lists of JSON into the tuples that describe structured dtypes."""
    if not isinstance(read, list):
        return read
    return [tuple(_as_descr(part) if i == 1 else _shaped(part) for i, part in enumerate(field)) for field in read]


def _shaped(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part
