"""Sparse histograms over features named by 64-bit keys, and their dot products; shared by graph and set kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import loops
from similitude.kernels.ragged import Ragged, ragged_rows


class Histograms(Ragged):
    """Sparse histograms: histogram g has the increasing ``keys[starts[g]:starts[g + 1]]``, with their ``counts``.

    Keys are digests, equal in all processes and batches, so that histograms from different batches can be compared.

    Examples
    --------
    >>> H = Histograms(np.array([0, 2, 3]), np.array([5, 9, 9], np.uint64), np.array([1.0, 2.0, 4.0]))
    >>> H.products(H)
    array([[ 5.,  8.],
           [ 8., 16.]])
    >>> H.features(H[1:]).toarray()  # the other feature by its norm
    array([[2., 1.],
           [4., 0.]])
    """

    def __init__(self, starts: np.ndarray, keys: np.ndarray, counts: np.ndarray) -> None:
        self.starts = starts
        self.keys = keys
        self.counts = counts

    def __getitem__(self, which: slice | np.ndarray) -> Histograms:
        starts, entries = ragged_rows(self.starts, which)
        return Histograms(starts, self.keys[entries], self.counts[entries])

    def entries(self) -> tuple[np.ndarray, ...]:
        """Return keys and counts."""
        return self.keys, self.counts

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, keys and counts."""
        return self.starts, self.keys, self.counts

    def scaled(self, scales: np.ndarray) -> Any:
        """Return the histograms with each count multiplied by a number, without those that become zero.

        >>> H = Histograms(np.array([0, 2]), np.array([5, 9], np.uint64), np.array([1.0, 2.0]))
        >>> H.scaled(np.array([0.0, 3.0])).counts
        array([6.])
        """
        kept = scales > 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Histograms(starts, self.keys[kept], self.counts[kept] * scales[kept])

    def table(self) -> tuple[Any, np.ndarray]:
        """Return a sparse row per histogram, and the key of each column, in increasing order."""
        from scipy.sparse import csr_array

        different, columns = np.unique(self.keys, return_inverse=True)
        return csr_array((self.counts, columns.ravel(), self.starts), shape=(len(self), len(different))), different

    def products(self, other: Histograms, out: Any = None) -> np.ndarray:
        """Return the dot products of these histograms (rows) and others (columns)."""
        out = np.empty((len(self), len(other))) if out is None else out
        loops.keyed_products(out, self.arrays, other.arrays)
        return out

    def squared_norms(self) -> np.ndarray:
        """Return the dot product of each histogram with itself."""
        return np.bincount(self.owners, self.counts * self.counts, minlength=len(self))

    def features(self, known: Histograms) -> Any:
        """Return a sparse matrix whose dot products with that of `known` are the products of the histograms.

        It has a column for every key that occurs in `known`, in increasing order, and a last one for the norm of the
        counts of all other keys.
        """
        from scipy.sparse import csr_array

        ordered = np.sort(known.keys)  # several times as quick as np.unique
        vocabulary = ordered[np.diff(ordered, prepend=ordered[:1] + np.uint64(1)) != 0]
        places = np.minimum(np.searchsorted(vocabulary, self.keys), max(0, len(vocabulary) - 1))
        found = vocabulary[places] == self.keys if len(vocabulary) else np.zeros(len(self.keys), dtype=bool)
        places[~found] = len(vocabulary)
        shape = len(self), len(vocabulary) + 1
        features = csr_array((np.where(found, self.counts, self.counts**2), places, self.starts), shape=shape)
        if not found.all():
            features.sum_duplicates()
            last = features.indices == len(vocabulary)
            features.data[last] = np.sqrt(features.data[last])
        return features
