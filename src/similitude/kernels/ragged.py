"""Rows of different lengths, stored consecutively; 64-bit keys of items, and sparse histograms over such keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from similitude.compute import keys, loops, mixed, mixed_entries, rows
from similitude.support import digest


def item_keys(items: Iterable[Any]) -> np.ndarray:
    """Return a 64-bit digest per item, never 0; two of N different items have the same one below N^2 / 2^65."""
    items = list(items)
    if set(map(type, items)) <= {str, int, float, bool, bytes}:  # then equal items are hashed once
        known = {item: _key(item) for item in set(items)}
        return np.fromiter(map(known.__getitem__, items), np.uint64, len(items))
    return np.fromiter(map(_key, items), np.uint64, len(items))


def _key(item: Any) -> int:
    if isinstance(item, str):  # also a NumPy string or a member of an enumeration, which are equal to a plain one
        spelled = hashlib.blake2b(b"text" + str.encode(item, "utf-8", "surrogatepass"), digest_size=8).digest()
    else:
        spelled = digest(item)
    return int.from_bytes(spelled, "little") or 1


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the starts of rows of these lengths, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64, copy=False)


def starts_of_kept(starts: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the starts of rows of which only the marked entries are kept."""
    return np.concatenate([[0], np.cumsum(kept)])[starts]


def ragged_rows(starts: np.ndarray, which: Any) -> tuple[np.ndarray, Any]:
    """Return the starts of the chosen rows after selection, and the positions of their entries before it."""
    if isinstance(which, slice) and which.step in (None, 1):
        first, last, _ = which.indices(len(starts) - 1)
        chosen = starts[first : max(first, last) + 1]
        return chosen - chosen[0], slice(int(chosen[0]), int(chosen[-1]))
    lengths = np.diff(starts)[which]
    new = starts_of(lengths)
    return new, np.arange(new[-1]) + np.repeat(starts[:-1][which] - new[:-1], lengths)


def places_of(known: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each key among known keys, which are increasing, and whether it is one of them."""
    places = np.searchsorted(known, keys)
    found = places < len(known)
    found[found] = known[places[found]] == keys[found]
    return places, found


def listed(values: Any) -> list[Any]:
    """Return values of an array, a column or a sequence as Python objects."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


class Ragged:
    """Rows of different lengths, stored consecutively: row i is ``starts[i]:starts[i + 1]`` of arrays of entries."""

    of_entries: ClassVar[tuple[str, ...]] = ()
    of_rows: ClassVar[tuple[str, ...]] = ()
    described_by: ClassVar[tuple[str, ...]] = ()  # arrays of entries that say all about the rows

    def __init__(self, starts: np.ndarray, *arrays: Any) -> None:
        self.starts = starts
        for name, values in zip_longest(self.of_entries + self.of_rows, arrays):
            setattr(self, name, values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, which: slice | np.ndarray) -> Any:
        starts, entries = ragged_rows(self.starts, which)
        return self._with_rows(starts, entries, which)

    def _with_rows(self, starts: np.ndarray, entries: Any, which: Any) -> Any:
        """Return the same with other starts, some of the entries, and what each row has."""
        found = object.__new__(type(self))
        vars(found).update(vars(self), starts=starts)
        for names, some in ((self.of_entries, entries), (self.of_rows, which)):
            for name in names:
                values = getattr(self, name)
                setattr(found, name, None if values is None else rows(values, some))
        return found

    def only(self, kept: np.ndarray) -> Any:
        """Return the same without the entries that a boolean array does not mark."""
        return self._with_rows(starts_of_kept(self.starts, kept), kept, slice(None))

    @property
    def lengths(self) -> np.ndarray:
        """The number of entries of each row."""
        return np.diff(self.starts)

    @property
    def owners(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def places(self) -> np.ndarray:
        """The place of each entry in its row."""
        return np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.lengths)

    def fingerprints(self) -> np.ndarray:
        """Return a 64-bit number per row, equal for equal rows: a sum over entries and their places in the row."""
        if not self.described_by:
            return keys(self)
        found = self.places.astype(np.uint64)
        for name in self.described_by:
            found = mixed(found + mixed_entries(getattr(self, name)))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(found, dtype=np.uint64)])
        return mixed(np.diff(sums[self.starts]) + self.lengths.astype(np.uint64))


class Histograms(Ragged):
    """Sparse histograms with counts of increasing keys: digests, equal in all processes and batches."""

    of_entries = ("keys", "counts")
    described_by = ("keys", "counts")
    keys: np.ndarray
    counts: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, keys and counts."""
        return self.starts, self.keys, self.counts

    def scaled(self, scales: np.ndarray) -> Any:
        """Return the histograms with each count multiplied by a number, without those that become zero."""
        kept = scales > 0
        found = self.only(kept)
        found.counts *= scales[kept]
        return found

    def table(self) -> tuple[Any, np.ndarray]:
        """Return a sparse row per histogram, and the key of each column, in increasing order."""
        from scipy.sparse import csr_array

        different, columns = np.unique(self.keys, return_inverse=True)
        return csr_array((self.counts, columns.ravel(), self.starts), shape=(len(self), len(different))), different

    def products(self, other: Histograms, out: Any = None) -> np.ndarray:
        """Return the dot products of these histograms (rows) and others (columns)."""
        if out is None:
            out = np.empty((len(self), len(other)))
        loops.keyed_products(out, self.arrays, other.arrays)
        return out

    def squared_norms(self) -> np.ndarray:
        """Return the dot product of each histogram with itself."""
        return np.bincount(self.owners, self.counts * self.counts, minlength=len(self))

    def features(self, known: Histograms) -> Any:
        """Return the counts in a column for each key of `known`, in increasing order, and the norm of all others."""
        ordered = np.sort(known.keys)  # several times as quick as np.unique
        vocabulary = ordered[np.diff(ordered, prepend=ordered[:1] + np.uint64(1)) != 0]
        places, found = places_of(vocabulary, self.keys)
        places[~found] = len(vocabulary)
        return with_norm_of_others(self.counts, places, self.starts, len(vocabulary))


def with_norm_of_others(values: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int) -> Any:
    """Return sparse rows with one more column, the last: the norm of the values that are in it."""
    from scipy.sparse import csr_array

    squared = np.where(columns == width, values**2, values)
    features = csr_array((squared, columns, starts), shape=(len(starts) - 1, width + 1))
    features.sum_duplicates()
    last = features.indices == width
    features.data[last] = np.sqrt(features.data[last])
    return features
