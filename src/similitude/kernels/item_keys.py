"""64-bit keys of items and cells: equal for equal items, in all processes; shared by sets, tables and graphs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from similitude.support import digest

PLAIN = frozenset({str, int, float, bool, bytes})
"""Types whose values are hashed once for all equal values."""


def item_keys(items: Iterable[Any]) -> np.ndarray:
    """Return a key per item.

    A key is a 64-bit digest of the value, never Python's ``hash``, which differs between processes. Equal items have
    equal keys. Two different items among N have the same key with probability below N^2 / 2^65: 3e-8 for a million
    different items. No key is 0.

    Examples
    --------
    >>> a, b, c, d = item_keys(["kernel", 1, 1.0, "1"]).tolist()
    >>> b == c, b == d
    (True, False)
    """
    items = list(items)
    plain = set(map(type, items)) <= PLAIN
    known = {item: _key(item) for item in (set(items) if plain else {item for item in items if type(item) in PLAIN})}
    keys = map(known.__getitem__, items) if plain else (known[x] if type(x) in PLAIN else _key(x) for x in items)
    return np.fromiter(keys, np.uint64, len(items))


def _key(item: Any) -> int:
    if isinstance(item, str):  # also a NumPy string or a member of an enumeration, which are equal to a plain one
        spelled = hashlib.blake2b(b"text" + str.encode(item, "utf-8", "surrogatepass"), digest_size=8).digest()
    else:
        spelled = digest(item)
    return int.from_bytes(spelled, "little") or 1
