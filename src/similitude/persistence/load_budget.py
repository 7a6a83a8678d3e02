"""How much memory and time a saved model may ask for, whatever its file says.

A value that several nodes refer to is stored once, so a file of a few lines can hold lists of lists with more items
than any computer can visit. Each value therefore has an *extent*: its size if everything that is shared is written out
wherever it occurs, and how deeply it is nested. A value that only refers to others costs nothing. Work that visits what
is inside them (hashing a key, making a table, encoding objects) is paid for by their extents, before it is done, from a
budget that grows with the file. `save` keeps the same account, so that it refuses what `load` would refuse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from similitude.persistence.known_forms import FORMS
from similitude.support import SavedModelError

WORK_PER_BYTE, WORK_FOR_ALL = 128, 2**20
"""The budget, in bytes that are visited or made: for each byte of the file, and for every file."""

MOST_NESTED = 100
"""Maximum depth of a key, and of what an object of another library is made from: these are visited by recursion."""

ITEM_SIZE, INSTANCE_SIZE = 16, 512
"""Bytes that a plain value and an instance of a class count as, beside what they contain."""

ENCODING_DISCOUNT = 4
"""The budget for encoding objects is larger by this factor: several parts of a model may share their objects."""

PLAIN_PACKAGES = ("builtins", "datetime", "decimal", "fractions", "numpy", "zoneinfo")


MOST_VALUES = 10**6
"""Values that a model may have written out, whatever its file has stored."""


class Extent(NamedTuple):
    """The size of a value in bytes, its depth, and the number of values in it, all written out."""

    size: int
    depth: int = 0
    n_values: int = 1


def extent_of(value: Any, parts: Sequence[Extent] = ()) -> Extent:
    """Return the extent of a value, given those of its parts."""
    if type(value).__module__.partition(".")[0] in PLAIN_PACKAGES:
        own = _plain_size(value, not parts)
    else:
        own = INSTANCE_SIZE + _expanded_size(value)
    if not parts:
        return Extent(own)
    depth, n_values = max([one.depth for one in parts]), sum([one.n_values for one in parts])
    return Extent(own + _total(parts), 1 + depth, 1 + n_values)


def _total(extents: Sequence[Extent]) -> int:
    return sum([one.size for one in extents])


def _plain_size(value: Any, is_packed: bool) -> int:
    """Return the size of a plain value without its parts, or with its items if it is packed."""
    if isinstance(value, (str, bytes, bytearray)):
        return ITEM_SIZE + len(value)
    if isinstance(value, int):
        return ITEM_SIZE + value.bit_length() // 8
    if isinstance(value, np.ndarray):  # one without rows may still have an enormous width
        return ITEM_SIZE + value.itemsize * math.prod([max(1, n) for n in value.shape])
    if isinstance(value, (list, tuple, set, frozenset)) and is_packed:
        is_text = isinstance(next(iter(value), None), (str, bytes))
        return ITEM_SIZE * (1 + len(value)) + (sum(map(len, value)) if is_text else 0)
    if isinstance(value, range):  # its length may be more than Python can count
        return ITEM_SIZE * max(1, (value.stop - value.start) // value.step + 1)
    if isinstance(value, Decimal) and value.is_finite():
        return ITEM_SIZE + abs(value.adjusted())  # as a fraction it has all its digits
    return ITEM_SIZE


def _expanded_size(value: Any) -> int:
    """Return the memory of rows that are not stored in a file: of ranges, sparse matrices, and missing values."""
    package, name = type(value).__module__.partition(".")[0], type(value).__name__
    if package == "pandas" and name == "RangeIndex":
        return ITEM_SIZE * len(value)
    if package == "scipy":
        return 8 * int(value.shape[0])
    return int(value.estimated_size()) if package == "polars" and name == "Series" else 0


class Budget:
    """The account of the work that loading a model takes."""

    def __init__(self) -> None:
        self._spent = self._n_stored = 0

    def pay_for(self, node: dict[str, Any], parts: Sequence[Any], extents: Sequence[Extent]) -> None:
        """Pay for making the value of the next node from its parts."""
        self._n_stored += 1 + len(parts)
        kind, visited = node["is"], extents
        if kind in FORMS:
            self._spent += FORMS[kind].work(dict(zip(node["names"], parts, strict=True)), _total(extents))
        elif kind in ("set", "frozenset", "texts", "dict"):
            visited = extents[: len(extents) // 2] if kind == "dict" else extents  # only keys are hashed
            self._spent += _total(visited)
        else:
            visited = ()
            if "names" in node:
                self._spent += self._encoding(dict(zip(node["names"], extents, strict=True)))
        if any([one.depth > MOST_NESTED for one in visited]):
            raise SavedModelError(
                f"a {kind} contains values that are nested too deeply, more than {MOST_NESTED} levels"
            )

    def _encoding(self, extents: dict[str, Extent]) -> int:
        """Return the work of encoding the objects of an instance: each part of its similarity visits them."""
        similarity = next((extents[name] for name in ("kernel_", "similarity_", "similarity") if name in extents), None)
        objects = [extents[name] for name in ("support_objects_", "landmarks") if name in extents]
        if similarity is None or not objects:
            return 0
        times = -(-similarity.n_values // self._n_stored)  # 1 if no part of it is shared
        return similarity.size + times * _total(objects) // ENCODING_DISCOUNT

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
