"""How much memory and time a saved model may ask for, whatever its file says.

A value that several nodes refer to is stored once, so that a few lines can hold lists of lists with more items than
any computer can visit. Each value has an *extent*: its size if everything that is shared is written out, and its depth.
Work that visits what is inside is paid for by extents, before it is done, from a budget that grows with the file;
`save` keeps the same account.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from similitude.support import SavedModelError

WORK_PER_BYTE = 128
"""Bytes that may be visited or made for each byte of the file."""

WORK_FOR_ALL = 2**20
"""Bytes that may be visited or made for every file, however small."""

MOST_NESTED = 100
"""Maximum depth of a key, and of what an object of another library is made from: these are visited by recursion."""

MOST_VALUES = 10**6
"""Values that a model may have written out, whatever its file has stored."""

MOST_ALIKE = 1000
"""Different keys of one set, dict or index that may have the same hash: each is compared with all others."""

ITEM_SIZE = 16
"""Bytes that a plain value counts as, beside what it contains."""

PLAIN_PACKAGES = ("builtins", "datetime", "decimal", "fractions", "numpy", "zoneinfo")


class Extent(NamedTuple):
    """The size of a value in bytes, its depth, and the number of values in it, all written out."""

    size: int
    depth: int = 0
    n_values: int = 1


def extent_of(value: Any, parts: Sequence[Extent] = ()) -> Extent:
    """Return the extent of a value, given those of its parts."""
    size = _size(value)
    if not parts:
        return Extent(size)
    for one in parts:
        size += one.size
    return Extent(size, 1 + max([one.depth for one in parts]), 1 + sum([one.n_values for one in parts]))


def extent_of_simple(items: Sequence[Any]) -> Extent:
    """Return the extent of many numbers, strings and constants together."""
    letters = sum([len(one) for one in items if type(one) is str])
    return Extent(ITEM_SIZE * len(items) + letters, 0, len(items))


def _size(value: Any) -> int:
    """Return the size of a value without its parts, but with rows that take no space in a file."""
    name = type(value).__name__
    package = type(value).__module__.partition(".")[0]
    if package not in PLAIN_PACKAGES:  # an instance takes 512 bytes
        if (package, name) == ("pandas", "RangeIndex"):
            return 512 + ITEM_SIZE * len(value)
        if package == "scipy":
            return 512 + 8 * int(value.shape[0])
        return 512 + (int(value.estimated_size()) if (package, name) == ("polars", "Series") else 0)
    if isinstance(value, (str, bytes, bytearray)):
        return ITEM_SIZE + len(value)
    if isinstance(value, int):
        return ITEM_SIZE + value.bit_length() // 8
    if isinstance(value, np.ndarray):  # one without rows may still have an enormous width
        return ITEM_SIZE + value.itemsize * math.prod([max(1, n) for n in value.shape])
    if isinstance(value, range):  # its length may be more than Python can count
        return ITEM_SIZE * max(1, (value.stop - value.start) // value.step + 1)
    if isinstance(value, Decimal) and value.is_finite():
        return ITEM_SIZE + abs(value.adjusted())  # as a fraction it has all its digits
    return ITEM_SIZE


class Budget:
    """The account of the work that loading a model takes."""

    def __init__(self) -> None:
        self._spent = 0
        self._n_stored = 0

    def pay_for(self, node: dict[str, Any], parts: Sequence[Any], extents: Sequence[Extent], work: Any = None) -> None:
        """Pay for making the value of the next node from its parts; `work` is that of a type of another library."""
        self._n_stored += 1 + len(parts)
        kind = node["is"]
        visited = extents
        if work is not None:
            size = sum([one.size for one in extents])
            self._spent += work(dict(zip(node["names"], parts, strict=True)), size)
        elif kind in ("set", "frozenset", "texts", "packed", "dict"):
            if kind == "dict":  # only keys are hashed
                visited = extents[: len(extents) // 2]
            self._spent += sum([one.size for one in visited])
        else:
            visited = ()
            self._spent += self._encoding(dict(zip(node.get("names", ()), extents, strict=False)))
        if any([one.depth > MOST_NESTED for one in visited]):
            raise SavedModelError(
                f"a {kind} contains values that are nested too deeply, more than {MOST_NESTED} levels"
            )

    def _encoding(self, extents: dict[str, Extent]) -> int:
        """Return the work of encoding the objects of an instance: each part of its similarity visits them."""
        similarity = next((extents[name] for name in ("kernel_", "similarity_", "similarity") if name in extents), None)
        objects = sum([extents[name].size for name in ("support_objects_", "landmarks") if name in extents])
        if similarity is None or not objects:
            return 0
        times = -(-similarity.n_values // self._n_stored)  # 1 if no part of it is shared
        return similarity.size + times * objects // 4  # several parts of a model may share their objects

    def check(self, file_size: int) -> None:
        """Refuse work that a file of this size cannot need."""
        if self._spent > WORK_PER_BYTE * file_size + WORK_FOR_ALL:
            raise SavedModelError(
                "the model would take far more memory and time to load than the size of its file accounts for: its "
                "parts contain each other too often"
            )

    def check_whole(self, model: Extent) -> None:
        """Refuse a model whose parts contain each other so often that nothing could ever visit all of it."""
        if model.n_values > self._n_stored**2 + MOST_VALUES:
            raise SavedModelError("the parts of the model contain each other too often: nothing could visit all of it")


def check_hashes(keys: Iterable[Any]) -> None:
    """Refuse keys of which too many different ones have the same hash: each is compared with all others."""
    keys = list(keys)
    if _most_alike(keys) > MOST_ALIKE and _most_alike({repr(key): key for key in keys}.values()) > MOST_ALIKE:
        raise SavedModelError(
            f"more than {MOST_ALIKE:,} different keys have the same hash: to tell them apart would take too long"
        )


def _most_alike(keys: Iterable[Any]) -> int:
    return max(Counter(map(hash, keys)).values(), default=0)
