"""Uniform random numbers that depend on a seed and on the key of an object only."""

from __future__ import annotations

import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def keyed_uniforms(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each object, determined by the seed, up to 2^64 - 1, and the object's key.

    A key that is repeated gets different numbers, which are practically independent. (The mixing of bits is that of
    Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.)

    >>> a, b, again = keyed_uniforms(1, np.array([7, 8, 7], dtype=np.uint64))
    >>> bool(a == keyed_uniforms(1, np.array([7], dtype=np.uint64))[0]), bool(a == again)
    (True, False)

    """
    bits = _mixed(_mixed(keys ^ np.uint64(seed)) + occurrences(keys) * _STEP)
    return (bits >> np.uint64(11)) * 2.0**-53


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


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Return bits each of which depends on all input bits."""
    bits = bits + _STEP
    for shift, factor in _MIXERS:
        bits = (bits ^ (bits >> shift)) * factor
    return bits ^ (bits >> np.uint64(31))
