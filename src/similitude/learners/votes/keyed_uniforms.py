"""Uniform random numbers that depend on a seed and on the key of an object only."""

from __future__ import annotations

import numpy as np

from similitude.support import random_keys


def keyed_uniforms(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each object, determined by the seed, up to 2^64 - 1, and the object's key.

    A key that is repeated gets different numbers, which are practically independent.

    >>> a, b, again = keyed_uniforms(1, np.array([7, 8, 7], dtype=np.uint64))
    >>> bool(a == keyed_uniforms(1, np.array([7], dtype=np.uint64))[0]), bool(a == again)
    (True, False)
    """
    seeds = random_keys(np.zeros(len(keys)), keys ^ np.uint64(seed))
    return (random_keys(occurrences(keys), seeds) >> np.uint64(11)) * 2.0**-53


def occurrences(keys: np.ndarray) -> np.ndarray:
    """Return how often each key has occurred before.

    >>> occurrences(np.array([7, 8, 7, 7], dtype=np.uint64))
    array([0, 0, 1, 2], dtype=uint64)
    """
    order = np.argsort(keys, kind="stable")
    ordered, places = keys[order], np.arange(len(keys))
    first = np.ones(len(keys), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    since = np.empty(len(keys), dtype=np.uint64)
    since[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return since
