"""Items as 64-bit keys: equal for equal items, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from similitude.support.fingerprints import digest


class Keys:
    """Gives every item its key, and remembers those of plain strings and whole numbers.

    A key is a 64-bit digest of what the item says, never Python's ``hash``, which differs between processes. Equal
    items have equal keys. Two different ones among N have the same key with probability below N^2 / 2^65: 3e-8 for a
    million different items. No key is 0.

    Examples
    --------
    >>> key = Keys()
    >>> key.of("kernel") == key.of("kernel"), key.of(1) == key.of(1.0), key.of("1") == key.of(1)
    (True, True, False)
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, item: Any) -> int:
        """Return the key of one item."""
        if type(item) is str or type(item) is int:
            if item not in self._known:
                self._known[item] = _key(item)
            return self._known[item]
        return _key(item)

    def all(self, items: Iterable[Any]) -> np.ndarray:
        """Return the keys of many items."""
        items = list(items)
        if set(map(type, items)) <= {str, int}:
            known = {item: self.of(item) for item in set(items)}
            return np.fromiter(map(known.__getitem__, items), np.uint64, len(items))
        return np.fromiter(map(self.of, items), np.uint64, len(items))


def _key(item: Any) -> int:
    if isinstance(item, str):  # also a NumPy string or a member of an enumeration, which are equal to a plain one
        spelled = hashlib.blake2b(b"text" + str.encode(item, "utf-8", "surrogatepass"), digest_size=8).digest()
    else:
        spelled = digest(item)
    return int.from_bytes(spelled, "little") or 1
