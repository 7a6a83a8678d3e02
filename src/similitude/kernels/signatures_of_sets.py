"""Bounds on similarities of sets by rows of bits: how many items two sets can have in common at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, loops, rows
from similitude.kernels.ragged import Ragged, places_of, starts_of
from similitude.similarity import Bounds, Candidates, Similarity

SIGNATURE_BITS = 256
"""Bits that stand for the items of a set; frequent items have one of their own."""

ROUNDING_ROOM = 1e-12
"""Share by which bounds are raised: similarities are rounded in another way."""


class Items(Ragged):
    """Sets as the 64-bit keys of their items."""

    of_entries: ClassVar[tuple[str, ...]] = ("keys",)
    keys: np.ndarray


class SetBounds(Bounds):
    """Bounds on a share of common items by sizes of sets, and by the bits that only one of two sets has."""

    def __init__(self, A: Encoding, items: Callable[[Encoding], Items], bound: str) -> None:
        self.items = items
        self.bound = bound
        keys, counts = np.unique(items(A).keys, return_counts=True)
        ranks = np.empty(len(keys), np.int64)
        ranks[np.argsort(-counts, kind="stable")] = np.arange(len(keys))
        self.keys = keys
        self.bits = ranks % SIGNATURE_BITS

    def sketch(self, A: Encoding) -> Any:
        """Return the bits as words, the sizes, and the numbers of items beyond the bits."""
        sets = self.items(A)
        sizes = sets.lengths
        places, known = places_of(self.keys, sets.keys)
        bits = (sets.keys % np.uint64(SIGNATURE_BITS)).astype(np.int64)
        bits[known] = self.bits[places[known]]
        signs = np.zeros((len(sizes), SIGNATURE_BITS), bool)
        signs[sets.owners, bits] = True
        words = np.packbits(signs, axis=1, bitorder="little").view(np.uint64)
        return words, sizes.astype(float), sizes - signs.sum(axis=1).astype(float)

    def common(self, A: Any, B: Any) -> np.ndarray:
        """Return the largest possible numbers of common items."""
        common = np.empty((len(A[0]), len(B[0])))
        loops.common_bits(common, *map(np.ascontiguousarray, (A[0], B[0])))
        common += np.minimum(A[2][:, None], B[2])
        return common

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the share that the largest possible number of common items is."""
        common = self.common(A, B)
        of_larger = self.bound == "share_of_larger"
        total = np.maximum(A[1][:, None], B[1]) if of_larger else A[1][:, None] + B[1] - common
        common[total == 0] = total[total == 0] = 1.0
        return np.divide(common, total, out=common) * (1 + ROUNDING_ROOM)

    def candidates(self, A: Any, B: Any, floors: np.ndarray) -> Candidates:
        """Return pairs by sizes first, then by bits."""
        by_size = np.argsort(A[1], kind="stable")
        columns = np.argsort(B[1], kind="stable")
        B = rows(B, columns)
        found = []
        for first in range(0, len(by_size), 256):
            some = by_size[first : first + 256]  # of similar size
            a = A[1][some]
            floor = max(float(floors[some].min()), 0.0) * (1 - ROUNDING_ROOM)
            low = np.searchsorted(B[1], a[0] * floor)
            high = len(columns)
            if floor > ROUNDING_ROOM:
                high = int(np.searchsorted(B[1], a[-1] / floor, side="right"))
            one = rows(A, some)
            other = rows(B, slice(int(low), high))
            limits = np.ascontiguousarray(floors[some], np.float64)
            i, j, upper = loops.candidates(one[0], one[1], one[2], other[0], other[1], other[2], limits, self.bound)
            found.append((some[i], columns[low + j], upper * (1 + ROUNDING_ROOM)))
        i, j, upper = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return i, j, upper

    def values(
        self, k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, floors: np.ndarray
    ) -> np.ndarray:
        """Return the shares of common items, each pair by itself."""
        first = self.items(A)[i]
        second = self.items(B)[j]
        pair = np.concatenate([first.owners, second.owners])
        key = np.concatenate([first.keys, second.keys])
        order = np.lexsort((key, pair))
        twice = (pair[order][1:] == pair[order][:-1]) & (key[order][1:] == key[order][:-1])
        common = np.bincount(pair[order][1:][twice], minlength=len(i))
        total = first.lengths + second.lengths - common
        return np.where(total > 0, common / np.where(total > 0, total, 1), 1.0)


def as_counted(sizes: np.ndarray, keys: np.ndarray) -> Items:
    """Return multisets of these sizes as sets: the second occurrence of a key below 2^42 is another item."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    keys = keys[np.lexsort((keys, owners))].astype(np.uint64)
    new = np.ones(len(keys), bool)
    new[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
    starts = np.flatnonzero(new)
    occurrence = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return Items(starts_of(sizes), (keys << np.uint64(22)) | occurrence.astype(np.uint64))
