"""Keys of equal hashes: each is compared with all others, so that many of them would take quadratic time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from similitude.support import SavedModelError

MOST_ALIKE = 1000
"""Different keys of one set, dict or index that may have the same hash. Those of numbers can be chosen."""


def check_hashes(keys: Iterable[Any]) -> None:
    """Refuse keys of which too many different ones have the same hash.

    >>> check_hashes(range(10**5))
    >>> check_hashes([i * (2**61 - 1) for i in range(10**5)])
    Traceback (most recent call last):
        ...
    similitude.support.errors.SavedModelError: more than 1,000 different keys have the same hash: to tell them apart ...
    """
    keys = list(keys)
    if _most_alike(keys) > MOST_ALIKE and _most_alike({repr(key): key for key in keys}.values()) > MOST_ALIKE:
        raise SavedModelError(
            f"more than {MOST_ALIKE:,} different keys have the same hash: to tell them apart would take too long"
        )


def _most_alike(keys: Iterable[Any]) -> int:
    """Return how many of the keys have the most frequent hash."""
    return max(Counter(map(hash, keys)).values(), default=0)
